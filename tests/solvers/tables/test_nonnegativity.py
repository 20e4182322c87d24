import dataclasses
import itertools

import numpy as np
import pytest
from cases import disagreement, random_tables, seeds, tables_of
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.solvers import (
    Clip,
    JointProjection,
    Known,
    ProjectionQP,
    ResidualConsistency,
    Ripple,
    Simplex,
    Tables,
)
from margin.solvers.basis import transform
from margin.solvers.known.known import KnownTable
from margin.solvers.tables.consistency import Components
from margin.solvers.tables.nonnegativity import joint_projection, packing, splitting
from margin.solvers.zeros import Zeros

METHODS = [Clip(), Simplex(), Simplex(rounds=100), Ripple(), JointProjection()]


def one_table(value, variance=1.0):
    value = np.asarray(value, dtype=float)
    return Tables(
        sizes=value.shape, views=(tuple(range(value.ndim)),), values=(value,), variances=(variance,)
    )


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@given(seed=seeds, mean=st.sampled_from([-20.0, 0.0, 0.5, 5.0, 100.0]))
@settings(max_examples=25, deadline=None)
def test_no_cell_is_negative_and_totals_stay(method, seed, mean):
    tables = ResidualConsistency()(random_tables(seed, mean=mean))
    result = method(tables)
    slack = 0.01 * np.sqrt(max(tables.variances)) if isinstance(method, Ripple) else 0.0
    for before, after in zip(tables.values, result.values, strict=True):
        assert after.min() >= -slack
        if not isinstance(method, Clip):
            total = before.sum() if before.sum() > 1e-9 else 0.0
            assert after.sum() == pytest.approx(total, abs=1e-6 * max(1.0, abs(total)))
    if method.keeps_consistency:
        assert disagreement(result) < 1e-6


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@given(seed=seeds)
@settings(max_examples=20, deadline=None)
def test_what_is_non_negative_is_left_alone(method, seed):
    tables = ResidualConsistency()(random_tables(seed, mean=100.0, noise=1.0))
    for before, after in zip(tables.values, method(tables).values, strict=True):
        assert after == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize(
    "method", [Simplex(), Ripple(), JointProjection()], ids=lambda method: type(method).__name__
)
def test_a_negative_total_ends_in_zeros(method):
    """The published ripple does not end on such a table."""
    result = method(one_table(np.full((2,) * 8, -3.0)))
    assert not result.values[0].any()


def test_one_step_of_ripple_by_hand():
    """-4 goes to zero, and its three neighbours pay a third each (PriView, section 4.4)."""
    table = np.full((2, 2, 2), 10.0)
    table[0, 0, 0] = -3.0
    result = Ripple()(one_table(table)).values[0]
    expected = np.full((2, 2, 2), 10.0)
    expected[0, 0, 0] = 0.0
    for neighbour in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        expected[neighbour] = 9.0
    assert result == pytest.approx(expected)


def test_ripple_neighbours_of_categories_differ_in_one_attribute():
    """Section 4.7: a 2 x 3 cell has one neighbour along the first axis and two along the second."""
    table = np.full((2, 3), 10.0)
    table[0, 0] = -3.0
    assert Ripple()(one_table(table)).values[0] == pytest.approx(np.array([[0, 9, 9], [9, 10, 10]]))


@given(seed=seeds)
@settings(max_examples=50, deadline=None)
def test_the_order_of_ripple_hardly_matters(seed):
    """One cell at a time, in a random order, as the paper describes it: the same table as the
    threshold goes to zero."""
    rng = np.random.default_rng(seed)
    threshold = 1e-7
    start = rng.normal(1.0, 2.0, 8)
    start += max(0.0, 1.0 - start.sum()) / 8
    cells = start.copy()
    while (negative := np.flatnonzero(cells < -threshold)).size:
        chosen = rng.choice(negative)
        taken, cells[chosen] = cells[chosen] / 3, 0.0
        cells[[chosen ^ 1, chosen ^ 2, chosen ^ 4]] += taken
    together = Ripple(threshold=threshold)(one_table(start.reshape(2, 2, 2))).values[0]
    assert together.ravel() == pytest.approx(cells, abs=100 * threshold)


def test_one_round_of_global_by_hand():
    """-4 goes to zero, and each of the three positive cells pays 4 / 3; the smallest becomes
    negative (PriView, section 5.3)."""
    table = one_table([[-4.0, 1.0], [5.0, 6.0]])
    once = Simplex(rounds=1)(table).values[0]
    assert once == pytest.approx(np.array([[0, -1 / 3], [11 / 3, 14 / 3]]))
    twice = Simplex(rounds=2)(table).values[0]
    assert twice == pytest.approx(np.array([[0, 0], [3.5, 4.5]]))
    assert twice == pytest.approx(Simplex()(table).values[0])


@given(seed=seeds)
@settings(max_examples=50, deadline=None)
def test_rounds_end_in_the_projection(seed):
    tables = random_tables(seed, mean=0.5)
    projected = Simplex()(tables).values
    for value, expected in zip(Simplex(rounds=1000)(tables).values, projected, strict=True):
        assert value == pytest.approx(expected, abs=1e-9)


def test_rounds_respect_required_zeros_and_a_known_total():
    value = np.array([[-4.0, 1.0], [5.0, 6.0]])
    empty = np.array([[False, True], [False, False]])
    tables = Tables(
        sizes=(2, 2),
        views=((0, 1),),
        values=(value,),
        variances=(1.0,),
        zeros=Zeros((2, 2), (((0, (0,)), (1, (1,))),)),
        known=Known.of_total((2, 2), 20.0),
    )
    once = Simplex(rounds=1)(tables).values[0]
    assert once == pytest.approx(np.array([[0, 0], [9.5, 10.5]]))
    lost = tables.with_values([np.full((2, 2), -1.0)])
    for rounds in (None, 1):
        assert Simplex(rounds=rounds)(lost).values[0] == pytest.approx(np.where(empty, 0.0, 20 / 3))


def test_ripple_that_runs_out_of_sweeps_is_finished():
    rng = np.random.default_rng(3)
    table = rng.normal(0.001, 1.0, (2,) * 6)
    table += 0.001 - table.mean()
    result = Ripple(sweeps=2)(one_table(table)).values[0]
    assert result.min() >= 0 and result.sum() == pytest.approx(table.sum())


@given(seed=seeds)
def test_simplex_is_the_euclidean_projection(seed):
    """Its optimality conditions: one number is taken from every positive cell, and zero cells had
    no more than it."""
    table = np.random.default_rng(seed).normal(1.0, 3.0, 12)
    if table.sum() <= 0:
        return
    result = Simplex()(one_table(table)).values[0]
    taken = (table - result)[result > 0]
    assert result.sum() == pytest.approx(table.sum())
    assert taken == pytest.approx(np.full(len(taken), taken[0]), abs=1e-9)
    assert table[result == 0].max(initial=-np.inf) <= taken[0] + 1e-9


def importance(axes, sizes, views, decay, growth):
    """As it is stated."""
    holding = [view for view in views if axes <= set(view)]
    cells = max(np.prod([sizes[axis] for axis in set(view) - axes]) for view in holding)
    by_order, share = (3.0, 2) if len(axes) == 1 else (len(axes) ** -decay, 17)
    return max(by_order, growth * np.sqrt(cells) / share) * np.sqrt(len(holding))


@pytest.mark.parametrize(("decay", "growth"), [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (2.0, 9.0)])
@pytest.mark.parametrize("seed", range(4))
def test_joint_projection_solves_its_programme(decay, growth, seed):
    """Against the same quadratic programme in cvxpy over the cells of all views."""
    cvxpy = pytest.importorskip("cvxpy")
    sizes, views = (2, 3, 2, 2), ((0, 1), (1, 2, 3), (0, 3))
    rng = np.random.default_rng(seed)
    values = tuple(rng.normal(3, 5, [sizes[a] for a in view]) for view in views)
    tables = Tables(sizes=sizes, views=views, values=values, variances=(1.0, 4.0, 2.0))
    result = JointProjection(decay=decay, growth=growth, tolerance=1e-9, iterations=20_000)(tables)

    # |c_S - observed_S|^2 of a component is the same number in every view, up to the cells outside
    # S; and the weighted
    # sum of squares over the views of the component's tables is precision_S times it.
    consistent = ResidualConsistency()(tables)
    cells = [cvxpy.Variable(value.size, nonneg=True) for value in values]
    objective, constraints = 0.0, []
    shared = {}
    for view, value, variance, cell in zip(
        views, consistent.values, tables.variances, cells, strict=True
    ):
        basis = transform(value.shape)
        matrix = basis.analyse(np.eye(value.size)).T
        constraints.append(cvxpy.sum(cell) == tables.total)
        for row in range(1, value.size):
            varying = {
                axis
                for axis, place in zip(view, np.unravel_index(row, value.shape), strict=True)
                if place
            }
            weight = importance(varying, sizes, views, decay, growth) / variance
            objective += weight * cvxpy.square(matrix[row] @ (cell - value.ravel()))
            position = np.unravel_index(row, value.shape)
            key = tuple(
                (axis, int(place)) for axis, place in zip(view, position, strict=True) if place
            )
            outside = np.prod([sizes[axis] for axis in view if axis not in dict(key)])
            shared.setdefault(key, []).append(matrix[row] @ cell * float(np.sqrt(outside)))
    constraints += [first == other for first, *others in shared.values() for other in others]
    best = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
    best.solve(solver="CLARABEL")
    for cell, value in zip(cells, result.values, strict=True):
        assert cell.value == pytest.approx(value.ravel(), abs=1e-4)


def test_sums_of_many_cells_keep_their_place():
    """Few cells of a large table are positive. The mean error of a sum, over many draws of noise,
    is less than a standard deviation of its noise; without growth it is several of them."""
    rng = np.random.default_rng(5)
    truth = np.zeros((4, 12, 10, 20))
    # Four categories with ever fewer rows, in ever fewer cells.
    for code, rows in enumerate([9000, 900, 60, 3]):
        cells = rng.integers(0, truth[code].size, max(1, rows // 30))
        np.add.at(truth[code].reshape(-1), cells, 30.0)
    deviation = np.sqrt(truth[0].size)

    def largest_bias(method):
        errors = []
        for _ in range(12):
            noisy = one_table(truth + rng.normal(size=truth.shape))
            table = method(noisy).values[0]
            errors.append((table - truth).sum(axis=(1, 2, 3)) / deviation)
        return np.abs(np.mean(errors, axis=0)).max()

    # The mean of 12 draws has a standard deviation of 0.29.
    assert largest_bias(JointProjection()) < 1
    assert largest_bias(JointProjection(growth=0.0)) > 2


def survey(rng):
    """A table in which three of five questions are asked only after certain answers."""
    age, sex = rng.integers(0, 4, 20_000), rng.integers(0, 2, 20_000)
    work = np.where(age > 0, 1 + (rng.random(20_000) < 0.3), 0)
    hours = np.where(work == 1, 1 + (rng.random(20_000) < 0.3 + 0.3 * sex), 0)
    care = np.where((hours == 2) & (sex == 1), 1 + (rng.random(20_000) < 0.4), 0)
    truth = np.zeros((4, 2, 3, 3, 3))
    np.add.at(truth, (age, sex, work, hours, care), 1.0)
    return truth


@pytest.mark.parametrize("noisy", [1, 5], ids=["one noisy view", "all noisy views"])
@pytest.mark.parametrize("ratio", [1.0, 1e5, 1e7])
def test_a_view_of_much_noise_moves_no_pair_of_the_others(noisy, ratio):
    """Triples are measured with little noise, and views of four attributes with much. However much
    it is, sums of two attributes move about as far as by their own noise."""
    rng = np.random.default_rng(8)
    truth = survey(rng)
    triples = list(itertools.combinations(range(5), 3))
    views = triples + list(itertools.combinations(range(5), 4))[:noisy]
    variances = [1000.0] * len(triples) + [1000.0 * ratio] * noisy
    values = []
    for view, variance in zip(views, variances, strict=True):
        table = truth.sum(axis=tuple(axis for axis in range(5) if axis not in view))
        values.append(table + np.sqrt(variance) * rng.normal(size=table.shape))
    measured = Tables(
        sizes=truth.shape, views=tuple(views), values=tuple(values), variances=tuple(variances)
    )
    before = ResidualConsistency()(measured)
    after = JointProjection()(before)
    assert after.variances == before.variances
    for pair in itertools.combinations(range(5), 2):
        row = before.covering(pair)
        moved = after.project(row, pair) - before.project(row, pair)
        assert np.sqrt(np.mean(moved**2) / before.variance(pair)) < 1.2


def test_a_view_without_noise_leaves_the_others_their_steps():
    """A view has a millionth of the variance of the others, which share few components with it: the
    objective is that of a general solver."""
    rng = np.random.default_rng(3)
    truth = survey(rng)
    views = tuple(itertools.combinations(range(5), 3))
    variances = (1e-2,) + (1e4,) * (len(views) - 1)
    values = []
    for view, variance in zip(views, variances, strict=True):
        table = truth.sum(axis=tuple(axis for axis in range(5) if axis not in view))
        values.append(table + np.sqrt(variance) * rng.normal(size=table.shape))
    measured = Tables(sizes=truth.shape, views=views, values=tuple(values), variances=variances)
    before = ResidualConsistency()(measured)
    ours, theirs = JointProjection(growth=0.0), ProjectionQP(solver="CLARABEL", growth=0.0)
    least = distance(before, theirs(before), 1.0)
    assert distance(before, ours(before), 1.0) == pytest.approx(least, rel=0.05)


def test_how_much_better_components_are_known_than_by_a_view_alone():
    """Of the components of two axes one view alone measures half, five views the other half; what
    is known counts as by the view alone."""
    square = np.full((2, 2), 25.0)
    views = ((0, 1), (0,), (0,), (0,), (0,))
    tables = Tables(
        sizes=(2, 2),
        views=views,
        values=(square, *[square.sum(axis=1)] * 4),
        variances=(1.0, 2.0, 2.0, 2.0, 2.0),
    )
    assert Components(tables).median_gain == pytest.approx([0.6, *[0.2] * 4])
    known = dataclasses.replace(tables, known=Known.of_total((2, 2), 100.0))
    assert Components(known).median_gain == pytest.approx([1.0, *[0.6] * 4])
    exact = np.array([np.inf, np.inf])
    certain = dataclasses.replace(
        tables, precisions=(np.array([np.inf, np.inf, 0.25, 0.25]), *[exact] * 4)
    )
    assert Components(certain).median_gain == pytest.approx([1.0, *[1.0] * 4])


def test_a_decay_may_be_a_whole_number():
    tables = ResidualConsistency()(random_tables(0, mean=1.0))
    for one, other in zip(
        JointProjection(decay=2)(tables).values,
        JointProjection(decay=2.0)(tables).values,
        strict=True,
    ):
        assert one == pytest.approx(other)


@pytest.mark.parametrize("sizes", [(2,) * 6, (2, 3, 4, 2, 5), (1, 4, 3, 1), (70, 2, 3)], ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_loops_give_numpys_numbers(sizes, threads, monkeypatch):
    """With views that share everything, something and nothing, and any division among threads."""
    tables = random_tables(7, sizes=sizes, count=9, mean=3.0, noise=8.0)
    check_compiled_loops(tables, threads, monkeypatch)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_loops_give_numpys_numbers_for_wide_views(is_known, threads, monkeypatch):
    """Three views have far fewer sums over one axis than cells, and are split.

    Some pairs and triples belong to one view only, some to several, and one view to another.
    """
    sizes = (9, 8, 13, 2, 11, 6)
    views = ((0, 1, 2), (0, 2, 4), (1, 2, 4, 5), (1, 5), (2, 3), (0, 3))
    rng = np.random.default_rng(5)
    exact = rng.poisson(0.01, sizes).astype(float)
    marginals = tables_of(exact, views)
    noisy = [value + rng.normal(0, 4, value.shape) for value in marginals.values]
    pair = KnownTable((0, 2), (None, None), exact.sum((1, 3, 4, 5)))
    tables = dataclasses.replace(
        marginals,
        values=tuple(noisy),
        variances=(16.0, 9.0, 25.0, 16.0, 4.0, 1.0),
        known=Known(sizes, [pair]) if is_known else None,
    )
    components = Components(ResidualConsistency()(tables))
    assert packing.split_views(components, np.ones(len(components.metric))).sum() == 3
    check_compiled_loops(tables, threads, monkeypatch)


def check_compiled_loops(tables, threads, monkeypatch):
    loops = pytest.importorskip("margin.solvers.tables.nonnegativity.projection_loops")
    found = []
    for module in (None, loops):
        monkeypatch.setattr(
            joint_projection, "_compiled_loops", lambda seconds, module=module: module
        )
        monkeypatch.setattr(splitting, "processors", lambda: threads)
        monkeypatch.setattr(splitting, "WORTH_THREADS", 0)
        found.append(JointProjection()(tables))
    for one, other in zip(*(some.values for some in found), strict=True):
        assert other == pytest.approx(one, abs=1e-9)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Ripple(threshold=0.0), "threshold"),
        (lambda: Simplex(rounds=0), "rounds"),
        (lambda: JointProjection(decay=-1.0), "decay"),
        (lambda: JointProjection(growth=-1.0), "growth"),
        (lambda: JointProjection(tolerance=0.0), "tolerance"),
    ],
)
def test_parameters_are_checked(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def distance(before, after, decay):
    """What `JointProjection` minimises, component by component from its definition."""
    components = Components(before)
    change = components.average(
        components.analyse(components.flatten(after.values) - components.flatten(before.values))
    )
    free = components.order > 0
    weight = np.where(components.order == 1, 3.0, np.maximum(components.order, 1) ** -decay)
    weight *= np.sqrt(components.holders) * components.precision
    return (weight[free] * change[free] ** 2).sum()


@pytest.mark.parametrize("solver", ["OSQP", "CLARABEL"])
@pytest.mark.parametrize("seed", range(4))
def test_general_solvers_reach_the_same_objective(solver, seed):
    tables = ResidualConsistency()(
        random_tables(seed, sizes=(2, 3, 2, 3, 2), count=6, mean=4.0, noise=6.0)
    )
    ours, theirs = (
        JointProjection(tolerance=1e-7, iterations=50_000)(tables),
        ProjectionQP(solver=solver)(tables),
    )
    assert distance(tables, ours, 1.0) == pytest.approx(distance(tables, theirs, 1.0), rel=1e-4)
    for one, other in zip(ours.values, theirs.values, strict=True):
        assert one == pytest.approx(other, abs=1e-3)


def test_a_solver_that_is_missing_is_told():
    tables = ResidualConsistency()(random_tables(0, mean=4.0))
    with pytest.raises(RuntimeError, match="not installed"):
        ProjectionQP(solver="NOSUCH")(tables)


def test_a_general_solver_too_ends_a_negative_total_in_zeros():
    assert not ProjectionQP()(one_table(np.full((2, 2), -3.0))).values[0].any()


def test_what_is_mixed_in_has_its_counts_where_cells_are_below_zero():
    """It is compared with the marginals of a table over all axes."""
    sizes = (3, 4, 2, 5)
    views = ((0, 1, 2), (1, 2, 3), (0, 3), (3,))
    rng = np.random.default_rng(7)
    exact = tables_of(rng.poisson(0.5, sizes).astype(float), views)
    noisy = exact.with_values([value + rng.normal(0, 3, value.shape) for value in exact.values])
    tables = ResidualConsistency()(noisy)
    components = Components(tables)
    cells = components.flatten(tables.values)
    total = float(tables.values[0].sum())
    joint = np.zeros(sizes)
    for view, value in zip(views, tables.values, strict=True):
        others = tuple(axis for axis in range(len(sizes)) if axis not in view)
        cells_of_one = np.prod([sizes[axis] for axis in others])
        joint += np.expand_dims(np.maximum(-value, 0.0), others) / cells_of_one
    share, inner = joint_projection._filling(components, cells, total, 1.0, cells)
    assert share <= joint.sum() / (joint.sum() + total)
    expected = tables_of(joint * (total / joint.sum()), views)
    for found, value in zip(components.with_cells(inner).values, expected.values, strict=True):
        assert found == pytest.approx(value, abs=1e-9)
    # No smaller share is enough.
    assert ((1 - share) * cells + share * inner).min() == pytest.approx(0, abs=1e-9)
    # Tables that need a smaller share are kept.
    kept = share / 2
    assert joint_projection._filling(components, cells, total, kept, cells) == (kept, cells)


@pytest.mark.parametrize(("iterations", "left"), [(1, 600), (5, 900)])
def test_a_short_iteration_moves_few_rows_of_sparse_tables(iterations, left):
    """The uniform table would leave 276 or 696 of 1,000 rows in the only cell that holds any."""
    sizes = (20, 15, 30)
    exact = np.zeros(sizes)
    exact[0, 0, 0] = 1000.0
    rng = np.random.default_rng(8)
    marginals = tables_of(exact, ((0, 1, 2), (0, 2), (1,)))
    noisy = [value + rng.normal(0, 0.5, value.shape) for value in marginals.values]
    tables = dataclasses.replace(
        marginals, values=tuple(noisy), variances=(0.25,) * len(marginals.values)
    )
    found = JointProjection(iterations=iterations)(tables)
    assert disagreement(found) < 1e-9
    assert min(value.min() for value in found.values) >= 0
    assert found.values[0][0, 0, 0] > left
