"""Cells that must be zero and totals that are known, through every step: against brute force and by
properties."""

import itertools

import numpy as np
import pytest
from cases import disagreement, random_tables, seeds
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from margin.solvers import (
    AbsoluteConsistency,
    Batch,
    Clip,
    Constraint,
    JointProjection,
    Known,
    LatticeConsistency,
    MaximumConsistency,
    Newton,
    Population,
    Problem,
    ProjectionQP,
    Reconstruction,
    ResidualConsistency,
    Ripple,
    Simplex,
    Tables,
    Zeros,
)
from margin.solvers.basis import transform
from margin.solvers.tables.nonnegativity import joint_projection, splitting
from margin.solvers.zeros import NoCellLeft

CONSISTENCIES = [
    ResidualConsistency(),
    LatticeConsistency(),
    AbsoluteConsistency(),
    MaximumConsistency(),
]


def name_of(method):
    return type(method).__name__


def random_zeros(rng, sizes, count=None, axes=None):
    """Boxes at random; None when they fill the array."""
    boxes = set()
    for _ in range(int(rng.integers(1, 5)) if count is None else count):
        some = sorted(
            rng.choice(
                len(sizes), int(rng.integers(1, min(3, len(sizes)) + 1)), replace=False
            ).tolist()
        )
        boxes.add(
            tuple(
                (
                    a,
                    tuple(
                        sorted(
                            rng.choice(
                                sizes[a], int(rng.integers(1, max(2, sizes[a]))), replace=False
                            ).tolist()
                        )
                    ),
                )
                for a in (some if axes is None else axes)
            )
        )
    try:
        return Zeros(sizes, tuple(sorted(boxes)))
    except ValueError:
        return None


def impossible(zeros):
    """The whole array, cell by cell."""
    cells = np.zeros(zeros.sizes, bool)
    for box in zeros.boxes:
        chosen = dict(box)
        cells[np.ix_(*[chosen.get(axis, range(size)) for axis, size in enumerate(zeros.sizes)])] = (
            True
        )
    return cells


def with_zeros(seed, *, known=None, **options):
    """Random tables with zeros, or None."""
    tables = random_tables(seed, **options)
    zeros = random_zeros(np.random.default_rng(seed), tables.sizes)
    if zeros is None:
        return None
    return Tables(
        sizes=tables.sizes,
        views=tables.views,
        values=tables.values,
        variances=tables.variances,
        zeros=zeros,
        known=None if known is None else Known.of_total(tables.sizes, known, zeros),
    )


def emptiness(tables):
    """The most that a cell holds that must be zero."""
    return max(
        np.abs(value[tables.zeros.cells(view)]).max(initial=0.0)
        for view, value in zip(tables.views, tables.values, strict=True)
    )


@given(seeds)
@settings(max_examples=30)
def test_marginals_of_zeros_are_those_of_the_array(seed):
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(1, 5, rng.integers(2, 6)).tolist())
    zeros = random_zeros(rng, sizes)
    assume(zeros is not None)
    possible = ~impossible(zeros)
    whole = zeros.positive(tuple(range(len(sizes))))
    for count in range(len(sizes) + 1):
        asked = list(itertools.combinations(range(len(sizes)), count))
        for axes in asked:
            dropped = tuple(axis for axis in range(len(sizes)) if axis not in axes)
            assert (zeros.cells(axes) == ~possible.any(axis=dropped)).all()
            assert zeros.uniform(axes) == pytest.approx(possible.sum(axis=dropped) / possible.sum())
            assert zeros.positive(axes) == pytest.approx(whole.sum(axis=dropped))
    assert ((whole > 0) == possible).all()


@given(seeds)
@settings(max_examples=30)
def test_zeros_of_many_marginals_at_once(seed):
    rng = np.random.default_rng(seed)
    zeros = random_zeros(rng, (3,) * 6, count=2)
    assume(zeros is not None)
    asked = np.array([sorted(rng.choice(6, 3, replace=False)) for _ in range(9)])
    one_by_one = np.stack([zeros.cells(tuple(axes)).ravel() for axes in asked.tolist()])
    together = zeros.cells_of_many(asked)
    assert (one_by_one == (together if together is not None else False)).all()


def test_the_uniform_distribution_may_lose_a_category_the_positive_one_does_not():
    zeros = Zeros(
        (2,) + (5,) * 12, tuple(((0, (0,)), (axis, (1, 2, 3, 4))) for axis in range(1, 13))
    )
    assert zeros.uniform((0,))[0] < 1e-8 and zeros.positive((0,))[0] > 0.1
    assert zeros.positive((0, 5)).sum(axis=1) == pytest.approx(zeros.positive((0,)))


@given(seeds)
@settings(max_examples=40)
def test_mended_rows_break_nothing_and_the_others_stay(seed):
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(1, 5, rng.integers(2, 6)).tolist())
    zeros = random_zeros(rng, sizes)
    assume(zeros is not None)
    rows = np.stack([rng.integers(0, size, 100) for size in sizes], axis=1)
    before = rows.copy()
    broken = impossible(zeros)[tuple(rows.T)]
    assert (zeros.broken(rows) == broken).all()
    zeros.mend(rows, rng)
    assert not impossible(zeros)[tuple(rows.T)].any()
    assert (rows[~broken] == before[~broken]).all()


def test_mended_rows_keep_their_shares_and_are_else_independent():
    """Two axes that must be equal, and one that is bound to them where they are zero. Each count
    within six standard deviations of what iterative fitting on the whole array gives, a false alarm
    below 1e-7."""
    unequal = tuple(((0, (code,)), (1, tuple({0, 1, 2} - {code}))) for code in range(3))
    zeros = Zeros((3, 3, 4), (*unequal, ((1, (0,)), (2, (1, 2)))))
    rng = np.random.default_rng(0)
    shares = [np.array(some) for some in ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4])]
    rows = np.stack([rng.choice(len(share), 200_000, p=share) for share in shares], axis=1)
    rows = rows[zeros.broken(rows)]
    margins = [np.bincount(column) for column in rows.T]
    zeros.mend(rows, rng)
    expected = (~impossible(zeros)).astype(float)
    for _ in range(500):
        for axis, margin in enumerate(margins):
            now = expected.sum(axis=tuple({0, 1, 2} - {axis}))
            expected *= (margin / now).reshape([-1 if axis == place else 1 for place in range(3)])
    found = np.zeros(zeros.sizes)
    np.add.at(found, tuple(rows.T), 1)
    assert (np.abs(found - expected) <= 6 * np.sqrt(expected) + 0.005 * len(rows)).all()
    assert not found[impossible(zeros)].any()


@given(seeds)
@settings(max_examples=20)
def test_a_constraint_forbids_a_box(seed):
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(1, 5, rng.integers(2, 6)).tolist())
    zeros = random_zeros(rng, sizes)
    assume(zeros is not None)
    rules = [Constraint.forbid_box(box) for box in zeros.boxes]
    for row in itertools.product(*map(range, sizes)):
        assert all(rule.met(np.array(row)) for rule in rules) == (not impossible(zeros)[row])


@pytest.mark.parametrize(
    ("boxes", "says"),
    [
        ((), "at least one box"),
        (((),), "ascending"),
        ((((1, (0,)), (0, (0,))),), "ascending"),
        ((((2, (0,)),),), "must be ascending numbers from 0 to 1"),
        ((((0, ()),),), "categories"),
        ((((0, (2,)),),), "categories"),
        ((((0, (1, 0)),),), "categories"),
        ((((0, (0, 1)),),), "no cell is left"),
        ((((0, (0,)),), ((0, (1,)), (1, (0,))), ((1, (1, 2)),)), "no cell is left"),
    ],
)
def test_wrong_boxes_are_refused(boxes, says):
    with pytest.raises(ValueError, match=says):
        Zeros((2, 3), boxes)


def test_boxes_that_hold_all_cells_have_an_error_of_their_own():
    with pytest.raises(NoCellLeft):
        Zeros((2, 3), (((0, (0, 1)),),))


@pytest.mark.parametrize("known", [None, 1000.0])
@pytest.mark.parametrize("method", CONSISTENCIES, ids=name_of)
@given(seed=seeds)
@settings(max_examples=12)
def test_consistent_tables_are_zero_where_they_must_be(method, known, seed):
    tables = with_zeros(seed, known=known)
    assume(tables is not None)
    result = method(tables)
    assert disagreement(result) < 1e-6
    assert emptiness(result) <= 1e-9
    if known is not None:
        assert [value.sum() for value in result.values] == pytest.approx(
            [known] * len(tables.views)
        )


def constrained(tables, weights, observed, nonnegative):
    """The nearest consistent tables in cvxpy, component by component over the cells of all views:
    as measured, or as `JointProjection` weighs them."""
    cvxpy = pytest.importorskip("cvxpy")
    cells = [cvxpy.Variable(value.size) for value in tables.values]
    objective, constraints, shared = 0.0, [], {}
    for view, value, variance, cell in zip(
        tables.views, observed, tables.variances, cells, strict=True
    ):
        basis = transform(value.shape)
        matrix = basis.analyse(np.eye(value.size)).T
        for row in range(value.size):
            varying = {
                axis
                for axis, place in zip(view, np.unravel_index(row, value.shape), strict=True)
                if place
            }
            holders = sum(varying <= set(other) for other in tables.views)
            weight = weights[len(varying)] * (np.sqrt(holders) if nonnegative else 1.0)
            if weight < np.inf:
                objective += weight / variance * cvxpy.square(matrix[row] @ (cell - value.ravel()))
            else:
                constraints.append(matrix[row] @ (cell - value.ravel()) == 0)
            position = np.unravel_index(row, value.shape)
            key = tuple(
                (axis, int(place)) for axis, place in zip(view, position, strict=True) if place
            )
            outside = np.prod([tables.sizes[axis] for axis in view if axis not in dict(key)])
            shared.setdefault(key, []).append(matrix[row] @ cell * float(np.sqrt(outside)))
        empty = tables.zeros.cells(view).ravel()
        if empty.any():
            constraints.append(cell[empty] == 0)
        if nonnegative:
            constraints.append(cell >= 0)
    constraints += [first == other for first, *others in shared.values() for other in others]
    cvxpy.Problem(cvxpy.Minimize(objective), constraints).solve(solver="CLARABEL")
    return [cell.value for cell in cells]


@pytest.mark.parametrize("seed", range(6))
def test_linear_estimates_are_the_best_that_have_the_zeros(seed):
    """Generalised least squares under linear constraints."""
    sizes, views = (2, 3, 2, 2), ((0, 1), (1, 2, 3), (0, 3))
    rng = np.random.default_rng(seed)
    values = tuple(rng.normal(3, 5, [sizes[a] for a in view]) for view in views)
    zeros = Zeros(sizes, (((0, (0,)), (1, (0, 2))), ((1, (0,)), (3, (1,)))))
    tables = Tables(sizes=sizes, views=views, values=values, variances=(1.0, 4.0, 2.0), zeros=zeros)
    expected = constrained(tables, np.ones(4), values, nonnegative=False)
    for mine, theirs in zip(ResidualConsistency()(tables).values, expected, strict=True):
        assert mine.ravel() == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("decay", [0.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_joint_projection_solves_its_programme_with_zeros(decay, seed):
    sizes, views = (2, 3, 2, 2), ((0, 1), (1, 2, 3), (0, 3))
    rng = np.random.default_rng(seed)
    values = tuple(rng.normal(3, 5, [sizes[a] for a in view]) for view in views)
    zeros = Zeros(sizes, (((0, (0,)), (1, (0, 2))), ((1, (0,)), (3, (1,)))))
    tables = Tables(sizes=sizes, views=views, values=values, variances=(1.0, 4.0, 2.0), zeros=zeros)
    best = ResidualConsistency()(tables)
    weights = np.array([np.inf, 3.0, *[order**-decay for order in (2.0, 3.0)]])
    expected = constrained(best, weights, best.values, nonnegative=True)
    exact, general = (
        JointProjection(decay=decay, tolerance=1e-9, iterations=20_000),
        ProjectionQP(decay=decay),
    )
    for method, slack in ((exact, 1e-4), (general, 1e-2)):
        for mine, theirs in zip(method(tables).values, expected, strict=True):
            assert mine.ravel() == pytest.approx(theirs, abs=slack)


@pytest.mark.parametrize("known", [None, 300.0])
@pytest.mark.parametrize("method", [Clip(), Simplex(), Ripple(), JointProjection()], ids=name_of)
@given(seed=seeds, mean=st.sampled_from([-20.0, 0.0, 0.5, 5.0, 100.0]))
@settings(max_examples=25)
def test_no_cell_is_positive_that_must_be_zero_and_totals_stay(method, known, seed, mean):
    tables = with_zeros(seed, known=known, mean=mean)
    assume(tables is not None)
    result = method(tables)
    assert emptiness(result) == 0
    slack = 0.01 * np.sqrt(max(tables.variances)) if isinstance(method, Ripple) else 0.0
    for before, after in zip(tables.values, result.values, strict=True):
        assert after.min() >= -slack
        if known is not None:
            assert after.sum() == pytest.approx(known)
        elif not isinstance(method, Clip | JointProjection):
            assert after.sum() == pytest.approx(
                max(before.sum(), 0.0), abs=1e-6 * max(1.0, abs(before.sum()))
            )
    if method.keeps_consistency:
        assert disagreement(result) < 1e-6
        assert [value.sum() for value in result.values] == pytest.approx(
            [max(result.total, 0.0)] * len(tables.views)
        )


@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_projection_gives_numpys_numbers(threads, monkeypatch):
    loops = pytest.importorskip("margin.solvers.tables.nonnegativity.projection_loops")
    sizes = (2, 3, 4, 2, 5)
    tables = random_tables(7, sizes=sizes, count=9, mean=3.0, noise=8.0)
    zeros = random_zeros(np.random.default_rng(3), sizes, count=3)
    tables = Tables(
        sizes=sizes,
        views=tables.views,
        values=tables.values,
        variances=tables.variances,
        zeros=zeros,
    )
    assert tables.empty is not None
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


def test_ripple_passes_over_cells_that_must_be_zero():
    """-4 is paid by the two neighbours that are left; what an impossible cell held goes to all."""
    table = np.array([[-4.0, 10.0, 7.0], [10.0, 10.0, 10.0]])
    zeros = Zeros((2, 3), (((0, (0,)), (1, (2,))),))
    tables = Tables(sizes=(2, 3), views=((0, 1),), values=(table,), variances=(1.0,), zeros=zeros)
    evened = table + 7 / 5
    expected = np.array(
        [[0.0, evened[0, 1] - 1.3, 0.0], [evened[1, 0] - 1.3, evened[1, 1], evened[1, 2]]]
    )
    assert Ripple()(tables).values[0] == pytest.approx(expected)


def test_ripple_leaves_a_cell_without_neighbours_to_the_simplex():
    table = np.array([[-4.0, 3.0], [1.0, 8.0]])
    zeros = Zeros((2, 2), (((0, (0,)), (1, (1,))), ((0, (1,)), (1, (0,)))))
    tables = Tables(sizes=(2, 2), views=((0, 1),), values=(table,), variances=(1.0,), zeros=zeros)
    assert Ripple()(tables).values[0] == pytest.approx(np.diag([0.0, 8.0]))


def estimates(tables):
    return JointProjection()(ResidualConsistency()(tables))


@pytest.mark.parametrize("solver", [Newton(), Newton(context=4)], ids=repr)
@given(seed=seeds)
@settings(max_examples=20)
def test_answers_are_zero_where_they_must_be_and_sure_of_it(solver, seed):
    """Compiled loops or not, whole arrays or not: no count and no variance."""
    tables = with_zeros(seed, known=500.0, noise=30.0)
    assume(tables is not None)
    tables = estimates(tables)
    possible = ~impossible(tables.zeros)
    for count in range(1, len(tables.sizes) + 1):
        for axes in itertools.combinations(range(len(tables.sizes)), count):
            found = Reconstruction(tables, solver).solve([axes])[0]
            empty = ~possible.any(axis=tuple(a for a in range(len(tables.sizes)) if a not in axes))
            assert found.status.ok
            assert not found.table[empty].any() and not found.variance[empty].any()
            assert found.table.sum() == pytest.approx(500.0)


@pytest.mark.parametrize("sizes", [(2,) * 6, (3, 2, 4, 2, 3)], ids=str)
def test_a_batch_with_zeros_is_answered_like_its_problems(sizes, monkeypatch):
    """Compiled loops against numpy, with marginals that have zeros and some that have none."""
    loops = pytest.importorskip("margin.solvers.reconstruct.newton_loops")
    from margin.solvers.reconstruct import newton

    monkeypatch.setattr(newton, "_compiled_loops", lambda seconds: loops)
    zeros = random_zeros(np.random.default_rng(5), sizes, count=2)
    tables = random_tables(5, sizes=sizes, count=6)
    tables = estimates(
        Tables(
            sizes=sizes,
            views=tables.views,
            values=tables.values,
            variances=tables.variances,
            zeros=zeros,
        )
    )
    shapes = {}
    for axes in itertools.combinations(range(len(sizes)), 3):
        shapes.setdefault(tuple(sizes[axis] for axis in axes), []).append(axes)
    some = False
    for asked in shapes.values():
        batch = Batch.of(tables, asked)
        some |= batch.zeros is not None
        solutions = Newton().solve(batch)
        for problem, solution in zip(batch, solutions, strict=True):
            alone = Newton().solve(problem)
            assert solution.table == pytest.approx(alone.table, rel=1e-6, abs=1e-9)
            assert solution.variance == pytest.approx(alone.variance, rel=1e-5, abs=1e-12)
            assert solution.objective == pytest.approx(alone.objective, abs=1e-9)
            assert (
                not solution.table.ravel()[batch.zeros[0] if False else problem.zeros].any()
                if (problem.zeros is not None)
                else True
            )
        again = Batch.pack(list(batch))
        assert (again.zeros is None) == (batch.zeros is None)
    assert some


@pytest.mark.parametrize("known", [None, 20_000.0])
def test_error_bars_with_zeros_are_those_of_repeated_noise(known):
    """The delta method against 400 draws of the targets, a ratio of standard deviations within a
    fifth: a false alarm is below 1e-6 a cell."""
    sizes, views = (2, 3, 2), ((0, 1), (1, 2))
    zeros = Zeros(sizes, (((0, (0,)), (2, (1,))),))
    rng = np.random.default_rng(0)
    array = rng.gamma(2.0, 1000.0, sizes) * ~impossible(zeros)
    values = tuple(array.sum(axis=tuple(a for a in range(3) if a not in view)) for view in views)
    exact = Tables(
        sizes=sizes,
        views=views,
        values=values,
        variances=(100.0, 150.0),
        zeros=zeros,
        known=known and Known.of_total(sizes, array.sum(), zeros),
    )
    problem = Problem.of(exact, (0, 1, 2))
    assert (problem.total_variance == 0) == (known is not None)
    predicted = Newton().solve(problem).variance
    problems = []
    for _ in range(400):
        noise = [
            rng.normal(0, np.sqrt(v), t.shape) for t, v in zip(values, exact.variances, strict=True)
        ]
        noisy = exact.with_values(
            [value + error for value, error in zip(values, noise, strict=True)]
        )
        problems.append(Problem.of(ResidualConsistency()(noisy), (0, 1, 2)))
    draws = Newton(bars=False).solve(Batch.pack(problems)).table
    possible = ~impossible(zeros)
    ratio = np.std(draws, axis=0)[possible] / np.sqrt(predicted[possible])
    assert ratio.max() < 1.2 and ratio.min() > 0.8
    assert not predicted[~possible].any() and not np.std(draws, axis=0)[~possible].any()


def test_problems_check_their_zeros():
    nothing = {"index": np.empty(0, np.int64), "target": np.empty(0), "variance": np.empty(0)}
    for zeros, says in [
        (np.ones(4, bool), "must leave at least one cell"),
        (np.zeros(3, bool), "truth value"),
        (np.zeros(4), "truth"),
    ]:
        with pytest.raises(ValueError, match=says):
            Problem(shape=(2, 2), total=1.0, zeros=zeros, **nothing)
        with pytest.raises(ValueError, match=says):
            Batch(
                shape=(2, 2),
                offsets=np.zeros(2, np.int64),
                total=np.ones(1),
                total_variance=np.zeros(1),
                zeros=zeros[None],
                **nothing,
            )


def test_tables_check_their_zeros_and_total():
    table = {"sizes": (2, 2), "views": ((0,),), "values": (np.ones(2),), "variances": (1.0,)}
    with pytest.raises(ValueError, match="same sizes"):
        Tables(**table, zeros=Zeros((2, 3), (((0, (0,)),),)))
    for total in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="known total"):
            Known.of_total((2, 2), total)
    with pytest.raises(ValueError, match="same sizes"):
        Tables(**table, known=Known.of_total((2, 3), 4.0))


def exact_tables(zeros, views, rows, seed, known=None):
    """The tables of random rows that have nothing where there must be nothing."""
    rng = np.random.default_rng(seed)
    codes = np.stack(
        [rng.integers(0, size, rows) // (1 + rng.integers(0, 2, rows)) for size in zeros.sizes],
        axis=1,
    )
    codes = codes[~zeros.broken(codes)]
    values = [np.zeros([zeros.sizes[axis] for axis in view]) for view in views]
    for view, value in zip(views, values, strict=True):
        np.add.at(value, tuple(codes[:, axis] for axis in view), 1)
    return Tables(
        sizes=zeros.sizes,
        views=views,
        values=tuple(values),
        variances=(1.0,) * len(views),
        zeros=zeros,
    )


@given(seeds, st.integers(1, 200))
@settings(max_examples=20)
def test_no_row_is_what_it_may_not_be(seed, wanted):
    """Also by rules that no view tells, and with tables that contradict them."""
    tables = with_zeros(seed)
    assume(tables is not None)
    told = Population(sweeps=3).fit(estimates(tables), wanted, seed=seed).codes
    untold = (
        Population(sweeps=3)
        .fit(
            Tables(
                sizes=tables.sizes,
                views=tables.views,
                values=tuple(map(np.abs, tables.values)),
                variances=tables.variances,
                zeros=tables.zeros,
            ),
            wanted,
            seed=seed,
        )
        .codes
    )
    for codes in (told, untold):
        assert codes.shape == (wanted, len(tables.sizes))
        assert not impossible(tables.zeros)[tuple(codes.T)].any()


@given(seeds)
@settings(max_examples=20)
def test_no_possible_change_of_one_category_is_better(seed):
    """What coordinate descent promises, among the rows that may be."""
    sizes, views = (2, 3, 2, 3), ((0, 1), (1, 2), (2, 3))
    zeros = random_zeros(np.random.default_rng(seed), sizes)
    assume(zeros is not None)
    tables = exact_tables(zeros, views, 300, seed)
    assume(tables.total > 0)
    found = Population(sweeps=200, gain=0).fit(tables, 50, seed=seed).codes

    def objective(codes):
        worth = 0.0
        for view, value in zip(views, tables.values, strict=True):
            fitted = np.zeros(value.shape)
            np.add.at(fitted, tuple(codes[:, axis] for axis in view), 1)
            worth += ((fitted - value * 50 / tables.total) ** 2).sum()
        return worth

    least = objective(found)
    for row, axis in itertools.product(range(5), range(len(sizes))):
        for code in range(sizes[axis]):
            other = found.copy()
            other[row, axis] = code
            assert zeros.broken(other).any() or objective(other) >= least - 1e-6


def test_rows_fit_closely_although_no_view_tells_the_rule():
    """Two axes that are equal, by a rule, and never in one view."""
    zeros = Zeros(
        (2, 3, 3, 2), tuple(((1, (code,)), (2, tuple({0, 1, 2} - {code}))) for code in range(3))
    )
    tables = exact_tables(zeros, ((0, 1), (2, 3), (0, 3)), 20_000, 1)
    found = Population().fit(tables, int(tables.total), seed=0)
    assert (found.codes[:, 1] == found.codes[:, 2]).all()
    assert found.gaps.max() < 0.01
