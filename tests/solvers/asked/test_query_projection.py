"""Tables without negative counts in the metric of the queries, against general solvers."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from margin.solvers import (
    Known,
    KnownTable,
    OrderMetric,
    QueryProjection,
    ResidualConsistency,
    Tables,
    TreeMetric,
    Zeros,
)
from margin.solvers.asked.told_parts import _extension
from margin.solvers.fitted import SINGLE_AXIS

_GROUPS = [np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 2]), np.arange(5)]


def _metrics(size):
    groups = [np.arange(size) * 2 // max(size, 2), np.arange(size)]
    return [OrderMetric(size), OrderMetric(size, ranges=True), TreeMetric.of(groups)]


@pytest.mark.parametrize("kind", range(3))
@given(size=st.integers(1, 8), seed=st.integers(0, 1000), has_empty=st.booleans())
@settings(max_examples=25)
def test_lines_are_the_nearest_without_negative_cells(kind, size, seed, has_empty):
    rng = np.random.default_rng(seed)
    metric = _metrics(size)[kind]
    gram = metric.gram
    assert np.allclose(gram @ metric.spread, (gram @ metric.spread)[0])
    assert metric.spread.sum() == pytest.approx(1)
    assert metric.price == pytest.approx(metric.spread @ gram @ metric.spread)
    lines = rng.normal(0.3, 2, (3, size))
    empty = rng.random((3, size)) < 0.3 if has_empty else None
    found = metric.nearest(lines, empty)
    root = np.linalg.cholesky(gram).T
    for row, line in enumerate(lines):
        kept = np.ones(size, bool) if empty is None else ~empty[row]
        expected = np.zeros(size)
        if kept.any():
            expected[kept] = nnls(root[:, kept], root @ line)[0]
        assert np.allclose(found[row], expected, atol=1e-7)


def test_metrics_are_the_squares_of_the_queries():
    table = np.random.default_rng(0).normal(size=5)
    sums = table.cumsum()
    assert table @ OrderMetric(5).gram @ table == pytest.approx((sums**2).sum())
    sums = np.concatenate([[0], sums])
    ranges = [(sums[j] - sums[i]) ** 2 for i, j in itertools.combinations(range(6), 2)]
    assert table @ OrderMetric(5, ranges=True).gram @ table == pytest.approx(sum(ranges))
    tree = TreeMetric.of(_GROUPS)
    squares = [
        weight * sum(table[group == node].sum() ** 2 for node in set(group.tolist()))
        for group, weight in zip(_GROUPS, tree.weights, strict=True)
    ]
    assert table @ tree.gram @ table == pytest.approx(sum(squares))


def _noisy(seed, views, sizes, zeros=None, known=None, variances=None):
    """Consistent tables of sparse counts with noise."""
    rng = np.random.default_rng(seed)
    values = []
    for view in views:
        shape = [sizes[axis] for axis in view]
        values.append(rng.poisson(0.7, shape) + rng.normal(0, 1.0, shape) + 0.1)
    tables = Tables(
        sizes=sizes,
        views=views,
        values=tuple(values),
        variances=variances or (1.0,) * len(views),
        zeros=zeros,
        known=None if known is None else Known.of_total(sizes, known, zeros),
    )
    return ResidualConsistency()(tables)


_SIZES = (5, 4, 3)
_PROBLEMS = [
    (((0,),), {0: OrderMetric(5)}),
    (((0, 2),), {0: TreeMetric.of(_GROUPS)}),
    (((0, 1),), {0: OrderMetric(5), 1: OrderMetric(4, ranges=True)}),
    (((0, 1), (1, 2)), {0: TreeMetric.of(_GROUPS), 1: OrderMetric(4)}),
    (((0, 1), (0, 2), (1, 2)), {1: OrderMetric(4, ranges=True)}),
]


def _root(tables, metrics):
    """The matrix whose squared product with the change of all cells is the stated objective."""
    sizes = tables.sizes
    none = {axis: np.eye(size) for axis, size in enumerate(sizes)}
    grams = none | {axis: metric.gram for axis, metric in metrics.items()}
    spreads = {axis: np.full(size, 1 / size) for axis, size in enumerate(sizes)}
    spreads |= {axis: metric.spread for axis, metric in metrics.items()}
    prices = {axis: spreads[axis] @ grams[axis] @ spreads[axis] for axis in grams}
    starts = np.cumsum([0, *(value.size for value in tables.values)])
    blocks = []
    for part in {
        p for v in tables.views for k in range(1, 4) for p in itertools.combinations(v, k)
    }:
        rows = [row for row, view in enumerate(tables.views) if set(part) <= set(view)]
        price = sum(
            math.prod(prices[axis] for axis in tables.views[row] if axis not in part)
            / tables.variances[row]
            for row in rows
        )
        factor = SINGLE_AXIS if len(part) == 1 else 1 / len(part)
        # The component of the first view that holds it, in coordinates in which G is the identity.
        block = np.ones((1, 1))
        for axis in tables.views[rows[0]]:
            alone = np.eye(sizes[axis]) - np.outer(spreads[axis], np.ones(sizes[axis]))
            own = np.linalg.cholesky(grams[axis]).T @ alone
            block = np.kron(block, own if axis in part else np.ones((1, sizes[axis])))
        whole = np.zeros((len(block), starts[-1]))
        whole[:, starts[rows[0]] : starts[rows[0] + 1]] = block
        blocks.append(math.sqrt(factor * math.sqrt(len(rows)) * price) * whole)
    return np.concatenate(blocks)


def _reference(tables, metrics):
    """The cells of all tables at the smallest objective, by a cone solver."""
    import cvxpy

    count = math.prod(tables.sizes)
    whole = np.eye(count).reshape(count, *tables.sizes)
    maps = []
    for view in tables.views:
        others = tuple(1 + axis for axis in range(len(tables.sizes)) if axis not in view)
        maps.append(whole.sum(axis=others).reshape(count, -1))
    stacked = np.concatenate(maps, axis=1).T
    # Tables agree if they are those of one array, whose cells may be negative.
    basis = np.linalg.svd(stacked)[0][:, : np.linalg.matrix_rank(stacked)]
    # Cells are in units of the largest standard deviation, so that the programme is well scaled.
    unit = math.sqrt(max(tables.variances))
    goal = np.concatenate([value.ravel() for value in tables.values]) / unit
    change = cvxpy.Variable(basis.shape[1])
    cells = goal + basis @ change
    signs = [cells >= 0, cvxpy.sum((basis @ change)[: tables.values[0].size]) == 0]
    if tables.known is not None and tables.known.more:
        ends = np.cumsum([value.size for value in tables.values])
        for view, end, value in zip(tables.views, ends, tables.values, strict=True):
            equations, sums = tables.known.equations(view)
            signs.append(equations @ cells[end - value.size : end] == sums / unit)
    root = _root(tables, metrics) @ basis * unit
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(root @ change)), signs)
    problem.solve(solver="CLARABEL")
    return cells.value * unit


_NESTED = [
    (((0, 1), (0, 1, 2)), {0: OrderMetric(5)}),
    (((0, 1), (0, 1, 2)), {0: OrderMetric(5), 1: OrderMetric(4, ranges=True)}),
    (((0,), (1, 2), (0, 1, 2)), {0: TreeMetric.of(_GROUPS)}),
]


def _unequal(seed, views, precisions):
    """Consistent tables of some large counts, with noise of unequal precisions."""
    rng = np.random.default_rng(seed)
    whole = rng.poisson(0.7, _SIZES) * 200.0 * rng.integers(0, 2, _SIZES)
    variances = tuple(100.0 / precision for precision in precisions)
    values = []
    for view, variance in zip(views, variances, strict=True):
        table = whole.sum(axis=tuple(axis for axis in range(3) if axis not in view))
        values.append(table + math.sqrt(variance) * rng.normal(size=table.shape))
    tables = Tables(sizes=_SIZES, views=views, values=tuple(values), variances=variances)
    return ResidualConsistency()(tables)


def _apart(tables, metrics, method):
    """The largest distance from the reference, in standard deviations of each table's noise."""
    found = np.concatenate([value.ravel() for value in method(tables).values])
    sizes = [value.size for value in tables.values]
    deviations = np.sqrt(np.repeat(tables.variances, sizes))
    return np.abs((found - _reference(tables, metrics)) / deviations).max()


@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("number", range(len(_PROBLEMS + _NESTED)))
def test_the_solution_is_that_of_a_cone_solver(number, ratio):
    """The last table has far more or far less noise than the others; none is away from the solution
    by much of its own noise."""
    views, metrics = (_PROBLEMS + _NESTED)[number]
    tables = _unequal(number, views, [ratio] * (len(views) - 1) + [1.0])
    assert _apart(tables, metrics, QueryProjection(metrics=metrics)) < 0.05
    exact = QueryProjection(metrics=metrics, tolerance=1e-8, iterations=20_000)
    assert _apart(tables, metrics, exact) < 1e-3


@pytest.mark.parametrize("number", range(3, len(_PROBLEMS + _NESTED)))
@given(
    seed=st.integers(0, 1000),
    exponents=st.lists(st.floats(-3, 3), min_size=3, max_size=3),
)
@settings(max_examples=10)
def test_any_precisions_have_the_solution_of_a_cone_solver(number, seed, exponents):
    views, metrics = (_PROBLEMS + _NESTED)[number]
    tables = _unequal(seed, views, [10.0**exponent for exponent in exponents[: len(views)]])
    if tables.total > 0:
        assert _apart(tables, metrics, QueryProjection(metrics=metrics)) < 0.1


@pytest.mark.parametrize("known", [None, 30.0])
@pytest.mark.parametrize("number", range(len(_PROBLEMS)))
def test_tables_agree_are_not_negative_and_keep_the_total(number, known):
    views, metrics = _PROBLEMS[number]
    zeros = Zeros(_SIZES, [((0, (1,)), (1, (0, 2)))]) if number == 3 else None
    for seed in range(3):
        tables = _noisy(seed, views, _SIZES, zeros, known)
        found = QueryProjection(metrics=metrics)(tables)
        for value, before in zip(found.values, tables.values, strict=True):
            assert value.min() >= 0
            assert value.sum() == pytest.approx(known or before.sum())
        for one, other in itertools.combinations(range(len(views)), 2):
            shared = tuple(axis for axis in views[one] if axis in views[other])
            assert np.allclose(found.project(one, shared), found.project(other, shared), atol=1e-6)
        if zeros is not None:
            assert (found.values[0][1, [0, 2]] == 0).all()


def test_sums_of_many_sparse_cells_stay_as_good_as_their_noise():
    """Ten thousand leaves of which a hundred, all below one node, hold rows."""
    leaves = 10_000
    rng = np.random.default_rng(5)
    groups = [np.arange(leaves) * 4 // leaves, np.arange(leaves)]
    true = np.zeros(leaves)
    true[rng.choice(leaves // 4, 100, replace=False)] = 300.0
    squares = np.zeros((2, 2))
    for _ in range(4):
        noisy = true + rng.normal(0, 3, leaves)
        tables = Tables(sizes=(leaves,), views=((0,),), values=(noisy,), variances=(9.0,))
        found = QueryProjection(metrics={0: TreeMetric.of(groups)})(tables).values[0]
        for row, value in enumerate((noisy, found)):
            error = value - true
            squares[row] += [np.square(np.bincount(groups[0], error)).sum(), np.square(error).sum()]
    # The clipped leaves alone would raise each node by 1.2 rows a leaf: 60 times the noise.
    assert squares[1, 0] < 1.5 * squares[0, 0]
    assert squares[1, 1] < 0.3 * squares[0, 1]


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("both", [False, True])
def test_a_precise_table_stays_beside_a_noisy_one_that_holds_it(kind, both):
    """The noisy table has many negative cells; their removal must not move the precise one."""
    sizes = (6, 4, 5)
    metrics = {0: _metrics(6)[kind], **({2: _metrics(5)[kind]} if both else {})}
    squares = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        true = rng.poisson(200.0, sizes).astype(float)
        views = ((0, 2), (0, 1, 2))
        precise = true.sum(axis=1) + rng.normal(0, 5.0, (6, 5))
        noisy = true + rng.normal(0, 1000.0, sizes)
        tables = Tables(sizes=sizes, views=views, values=(precise, noisy), variances=(25.0, 1e6))
        found = QueryProjection(metrics=metrics)(ResidualConsistency()(tables))
        squares.append(np.square(found.values[0] - true.sum(axis=1)).mean())
    assert np.mean(squares) < 2 * 25.0


def test_a_table_without_negative_cells_and_one_without_rows():
    tables = Tables(sizes=(3,), views=((0,),), values=(np.arange(3.0),), variances=(1.0,))
    method = QueryProjection(metrics={0: OrderMetric(3)})
    assert method(tables) is tables
    below = tables.with_values([np.array([1.0, -5.0, 1.0])])
    assert method(below).values[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", range(4))
@given(size=st.integers(1, 8), seed=st.integers(0, 1000))
@settings(max_examples=25)
def test_sums_of_groups_are_extended_by_the_smallest_table(kind, size, seed):
    rng = np.random.default_rng(seed)
    group = np.concatenate([[0], np.cumsum(rng.random(size - 1) < 0.4)]).astype(np.int64)
    tree = TreeMetric.of([group, np.minimum.reduce([group + 1, np.arange(size)]), np.arange(size)])
    metric = tree if kind == 2 else (*_metrics(size), None)[kind]
    gram = np.eye(size) if metric is None else metric.gram
    found = _extension(metric, group)
    sums = (np.arange(group[-1] + 1)[:, None] == group).astype(float)
    # The smallest table with some sums has its gradient G x in the span of the sums.
    inverse = np.linalg.inv(gram)
    expected = inverse @ sums.T @ np.linalg.inv(sums @ inverse @ sums.T)
    assert np.allclose(found, expected, atol=1e-9)


def test_groups_must_be_a_level_of_the_tree():
    with pytest.raises(ValueError, match="must be a level of the tree"):
        TreeMetric.of(_GROUPS).extension(np.array([0, 1, 1, 1, 1]))


_STATES = _GROUPS[0]
_KNOWN = {
    "groups": [((0,), (_STATES,))],
    "groups and categories": [((0, 1), (_STATES, None))],
    "two levels": [((0, 1), (_STATES, None)), ((0,), (None,))],
    "categories": [((1,), (None,)), ((2,), (None,))],
}


def _with_known(seed, views, kind):
    """Noisy tables of a sparse array of which some sums are known."""
    rng = np.random.default_rng(seed)
    true = rng.poisson(1.0, _SIZES) + 0.1
    known = []
    for axes, groups in _KNOWN[kind]:
        counts = true.sum(axis=tuple(axis for axis in range(3) if axis not in axes))
        for place, group in enumerate(groups):
            if group is not None:
                starts = np.flatnonzero(np.diff(group, prepend=-1))
                counts = np.add.reduceat(counts, starts, axis=place)
        known.append(KnownTable(axes, groups, counts))
    values = []
    for view in views:
        value = true.sum(axis=tuple(axis for axis in range(3) if axis not in view))
        values.append(value + rng.normal(0, 8.0, value.shape))
    tables = Tables(
        sizes=_SIZES,
        views=views,
        values=tuple(values),
        variances=(64.0,) * len(views),
        known=Known(_SIZES, known),
    )
    return tables.with_known()


@pytest.mark.parametrize("kind", _KNOWN)
@pytest.mark.parametrize("number", range(len(_PROBLEMS)))
def test_tables_agree_with_each_other_and_with_what_is_known(number, kind):
    views, metrics = _PROBLEMS[number]
    negative = 0
    for seed in range(3):
        tables = _with_known(seed, views, kind)
        # Consistent tables that do not agree with what is known.
        without = dataclasses.replace(tables, known=Known.of_total(_SIZES, tables.known.total))
        tables = dataclasses.replace(ResidualConsistency()(without), known=tables.known)
        negative += sum((value < 0).sum() for value in tables.values)
        found = QueryProjection(metrics=metrics)(tables)
        for view, value in zip(found.views, found.values, strict=True):
            assert value.min() >= 0
            equations, sums = tables.known.equations(view)
            assert np.allclose(equations @ value.ravel(), sums, atol=1e-9)
        for one, other in itertools.combinations(range(len(found.views)), 2):
            shared = tuple(axis for axis in found.views[one] if axis in found.views[other])
            assert np.allclose(found.project(one, shared), found.project(other, shared), atol=1e-6)
    # Where all of the only view is known, no count is negative before.
    assert negative > 0 or len(views) == 1


@pytest.mark.parametrize("kind", ["groups and categories", "two levels"])
@pytest.mark.parametrize("number", [2, 3])
def test_the_solution_that_keeps_what_is_known_is_that_of_a_cone_solver(number, kind):
    views, metrics = _PROBLEMS[number]
    tables = ResidualConsistency()(_with_known(0, views, kind))
    found = QueryProjection(metrics=metrics, tolerance=1e-8, iterations=20_000)(tables)
    root = _root(tables, metrics)
    goal = np.concatenate([value.ravel() for value in tables.values])
    cells = np.concatenate([value.ravel() for value in found.values])
    reached = np.square(root @ (cells - goal)).sum()
    least = np.square(root @ (_reference(tables, metrics) - goal)).sum()
    assert least > 0.1
    assert reached == pytest.approx(least, rel=1e-4, abs=1e-6)
