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


def _objective(tables, metrics, values, goal):
    """The stated objective, from dense components."""
    spreads, grams, prices = [], [], []
    for axis, size in enumerate(_SIZES):
        metric = metrics.get(axis)
        spreads.append(np.full(size, 1 / size) if metric is None else metric.spread)
        grams.append(np.eye(size) if metric is None else metric.gram)
        prices.append(1 / size if metric is None else metric.price)
    sets = {
        p for v in tables.views for k in range(len(v) + 1) for p in itertools.combinations(v, k)
    }
    total = 0.0
    for part in sets:
        holders = [view for view in tables.views if set(part) <= set(view)]
        price = sum(
            min(tables.variances)
            / tables.variances[tables.views.index(view)]
            * math.prod(prices[a] for a in view if a not in part)
            for view in holders
        )
        factor = SINGLE_AXIS if len(part) == 1 else 1 / max(1, len(part))
        row = tables.views.index(holders[0])
        apart = values[row] - goal[row]
        own = apart.sum(axis=tuple(p for p, a in enumerate(holders[0]) if a not in part))
        for place, axis in enumerate(part):
            shape = [-1 if p == place else 1 for p in range(len(part))]
            own = own - spreads[axis].reshape(shape) * own.sum(axis=place, keepdims=True)
        weighted = own
        for place, axis in enumerate(part):
            turned = np.tensordot(grams[axis], weighted, axes=(1, place))
            weighted = np.moveaxis(turned, 0, place)
        if part:
            total += factor * math.sqrt(len(holders)) * price * float((own * weighted).sum())
    return total


def _reference(tables, metrics, goal):
    """The smallest objective, by a cone solver on the cells of the whole array."""
    import cvxpy

    cells = math.prod(_SIZES)
    whole = np.eye(cells).reshape(cells, *_SIZES)
    maps = []
    for view in tables.views:
        others = tuple(1 + axis for axis in range(len(_SIZES)) if axis not in view)
        maps.append(whole.sum(axis=others))
    # The objective is quadratic in the whole array, and zero at an array with the goal's tables.
    stacked = np.concatenate([m.reshape(cells, -1) for m in maps], axis=1).T
    aim = np.concatenate([g.ravel() for g in goal])
    start = np.linalg.lstsq(stacked, aim, rcond=None)[0]
    nothing = [np.zeros_like(g) for g in goal]

    def of(x, y):
        both = [np.tensordot(x + y, m, axes=(0, 0)) for m in maps]
        one = [np.tensordot(x - y, m, axes=(0, 0)) for m in maps]
        return (
            _objective(tables, metrics, both, nothing) - _objective(tables, metrics, one, nothing)
        ) / 4

    basis = np.linalg.svd(stacked)[2][: np.linalg.matrix_rank(stacked)]
    gram = np.array([[of(x, y) for y in basis] for x in basis])
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    change = cvxpy.Variable(len(basis))
    tables_of = stacked @ basis.T @ change + aim
    signs = [tables_of >= 0, cvxpy.sum(tables_of[: goal[0].size]) == goal[0].sum()]
    if tables.known is not None and tables.known.more:
        ends = np.cumsum([g.size for g in goal])
        for view, end, g in zip(tables.views, ends, goal, strict=True):
            equations, sums = tables.known.equations(view)
            signs.append(equations @ tables_of[end - g.size : end] == sums)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(root @ change)), signs)
    problem.solve(solver="CLARABEL")
    assert np.allclose(stacked @ start, aim)
    return float(problem.value)


@pytest.mark.slow
@pytest.mark.parametrize("falls", [False, True])
@pytest.mark.parametrize("number", range(len(_PROBLEMS)))
def test_the_solution_is_that_of_a_cone_solver(number, falls):
    views, metrics = _PROBLEMS[number]
    variances = tuple(9.0**-place if falls else 1.0 for place in range(len(views)))
    for seed in range(2):
        tables = _noisy(seed, views, _SIZES, variances=variances)
        found = QueryProjection(metrics=metrics, tolerance=1e-8, iterations=20_000)(tables)
        reached = _objective(tables, metrics, found.values, tables.values)
        least = _reference(tables, metrics, tables.values)
        assert reached == pytest.approx(least, rel=1e-4, abs=1e-6)


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
    reached = _objective(tables, metrics, found.values, tables.values)
    least = _reference(tables, metrics, tables.values)
    assert least > 0.1
    assert reached == pytest.approx(least, rel=1e-4, abs=1e-6)
