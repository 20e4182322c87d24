"""Reconstruction with a base: the stated problem, what is learnt about the base, and the errors."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from margin.solvers import (
    BasedReconstruction,
    BasedStructure,
    Batch,
    CountedBase,
    Evidence,
    JointProjection,
    Known,
    Newton,
    Problem,
    Reconstruction,
    Tables,
    learnt,
    learnt_trust,
    with_total,
)
from margin.solvers.based import beyond
from margin.solvers.based.base import positive_shares
from margin.solvers.based.held import own_covariance
from margin.solvers.based.reconstruction import _with_noise_of_base
from margin.solvers.based.relative import relative
from margin.solvers.based.trust import _components
from margin.solvers.basis import transform
from margin.solvers.reconstruct.structure import Structure
from margin.solvers.testing import examples

EXAMPLES = examples()


def with_base(problem: Problem, seed: int = 0) -> Problem:
    base = np.random.default_rng(seed).gamma(1.0, 1.0, problem.cells) + 0.01
    ridge = np.full(len(problem.index), 1e-3)
    return dataclasses.replace(problem, base=base, ridge=ridge)


@pytest.mark.parametrize("name", EXAMPLES)
def test_newton_minimises_the_divergence_from_the_base(name):
    """Against a general minimiser over the logarithms of the cells."""
    problem = with_base(EXAMPLES[name])
    solution = Newton().solve(problem)
    assert solution.status.ok
    possible = problem.possible

    def primal(logits):
        weights = np.exp(logits - logits.max())
        shares = problem.spread(weights / weights.sum())
        misses = problem.moments(shares) - problem.target
        divergence = shares[possible] @ np.log(shares[possible] / problem.reference[possible])
        return divergence + (misses**2 / problem.ridge).sum() / 2

    found = solution.table.ravel() / problem.total
    start = np.log(problem.reference[possible])
    best = minimize(primal, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    assert solution.objective <= best.fun + 1e-6
    assert Newton().objective(problem, found) == pytest.approx(solution.objective, abs=1e-6)
    logits = np.log(np.maximum(found[possible], 1e-300))
    assert primal(logits) == pytest.approx(solution.objective, abs=1e-6)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_uniform_base_changes_nothing(name):
    problem = EXAMPLES[name]
    uniform = dataclasses.replace(problem, base=np.full(problem.cells, 3.0))
    one, other = Newton().solve(problem), Newton().solve(uniform)
    assert one.table == pytest.approx(other.table, abs=1e-5 * problem.total)
    assert one.objective == pytest.approx(other.objective, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_compiled_loops_give_the_numbers_of_numpy(name):
    loops = pytest.importorskip("margin.solvers.reconstruct.newton_loops")
    problems = [with_base(EXAMPLES[name], seed) for seed in range(3)]
    solver = Newton(threads=1)
    many = solver._many(Batch.pack(problems), loops)
    for row, problem in enumerate(problems):
        one = solver.solve(problem)
        assert many[row].table == pytest.approx(one.table, abs=1e-6 * problem.total)
        assert many[row].objective == pytest.approx(one.objective, abs=1e-6)
        assert many[row].variance == pytest.approx(one.variance, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"base": np.zeros(8)}, "base must hold 8 numbers"),
        ({"base": np.ones(7)}, "base must hold 8 numbers"),
        ({"ridge": np.ones(1)}, "ridge must hold"),
        ({"ridge": np.full(6, -1.0)}, "ridge must hold"),
    ],
)
def test_a_base_that_does_not_fit_is_refused(change, says):
    problem = EXAMPLES["binary pairs"]
    with pytest.raises(ValueError, match=says):
        dataclasses.replace(problem, **change)
    batch = Batch.pack([problem])
    many = {name: value[None] if name == "base" else value for name, value in change.items()}
    with pytest.raises(ValueError, match="must hold"):
        dataclasses.replace(batch, **many)


@pytest.mark.parametrize(
    ("codes", "weights", "says"),
    [
        (np.array([[0, 2]]), np.array([1]), "lie below the sizes"),
        (np.array([[0]]), np.array([1]), "must have shape"),
        (np.array([[0, 1]]), np.array([0]), "weights must be positive"),
        (np.empty((0, 2), int), np.empty(0, int), "n > 0"),
    ],
)
def test_rows_that_do_not_fit_are_refused(codes, weights, says):
    with pytest.raises(ValueError, match=says):
        CountedBase((2, 2), codes, weights)


def test_shares_of_a_base_are_positive_and_near_its_own():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, (2, 3, 4), (5_000, 3))
    base = CountedBase((2, 3, 4), codes, np.ones(len(codes), int))
    for axes in itertools.chain(*(itertools.combinations(range(3), size) for size in range(4))):
        asked = np.array([axes], dtype=np.int64)
        shares = positive_shares(base, asked)
        assert shares.min() > 0 and shares.sum() == pytest.approx(1)
        assert shares.ravel() == pytest.approx(base.marginals(asked).ravel() / 5_000, abs=1e-3)


SIZES = (2, 3, 2, 4, 2, 3)


def population(rows: int, seed: int) -> np.ndarray:
    """Rows of a mixture of four kinds, with interactions of every order."""
    law = np.random.default_rng(11)
    shares = [law.dirichlet(np.ones(size), 4).cumsum(axis=1) for size in SIZES]
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, rows)
    return np.column_stack(
        [(rng.random(rows)[:, None] > share[kind][:, :-1]).sum(axis=1) for share in shares]
    )


def counted(rows, axes):
    shape = [SIZES[axis] for axis in axes]
    places = np.ravel_multi_index(rows[:, list(axes)].T, shape)
    return np.bincount(places, minlength=int(np.prod(shape))).astype(float).reshape(shape)


def measured(rows, views, deviation, seed) -> Tables:
    rng = np.random.default_rng(seed)
    evidence = Evidence(sizes=SIZES)
    for view in views:
        table = counted(rows, view)
        evidence.add_table(view, table + rng.normal(0, deviation, table.shape), deviation**2)
    tables = evidence.tables()
    return dataclasses.replace(JointProjection()(tables), unbiased=tables.values)


def base_of(kind: str) -> CountedBase:
    rows = population(10_000, 2)
    rng = np.random.default_rng(3)
    if kind == "shuffled":
        rows = np.column_stack([rng.permutation(column) for column in rows.T])
    if kind == "reversed":
        rows = np.array(SIZES) - 1 - rows
    return CountedBase(SIZES, rows, np.ones(len(rows), int))


TRUE = population(30_000, 1)
PAIRS = list(itertools.combinations(range(6), 2))
TRIPLES = list(itertools.combinations(range(6), 3))


def reconstructed(kind, deviation, views=PAIRS, seed=4):
    tables = measured(TRUE, views, deviation, seed)
    base = base_of(kind)
    based = BasedReconstruction(tables, base, learnt_trust(tables, base), Newton())
    return tables, based


def errors(solver, asked):
    squares = [((solver.solve([axes]).table[0] - counted(TRUE, axes)) ** 2).sum() for axes in asked]
    return float(np.mean(np.sqrt(squares)))


@pytest.mark.parametrize("deviation", [20.0, 120.0])
@pytest.mark.parametrize(
    ("kind", "pairs", "triples"),
    [("good", 1.0, 0.8), ("shuffled", 1.05, 1.05), ("reversed", 1.05, 1.05)],
)
def test_a_good_base_helps_and_a_biased_one_costs_next_to_nothing(kind, pairs, triples, deviation):
    tables, based = reconstructed(kind, deviation)
    alone = Reconstruction(tables, Newton())
    assert errors(based, PAIRS) <= pairs * covered_error(tables)
    assert errors(based, TRIPLES) <= triples * errors(alone, TRIPLES)


@pytest.mark.parametrize(("kind", "most"), [("good", 0.8), ("shuffled", 1.05), ("reversed", 1.05)])
def test_a_large_array_is_compared_with_the_base_in_contexts(kind, most, monkeypatch):
    monkeypatch.setattr(beyond, "_JOINT_CELLS", 0)
    tables = measured(TRUE, PAIRS, 20.0, 4)
    base = base_of(kind)
    solver = Newton(context=4)
    based = BasedReconstruction(tables, base, learnt_trust(tables, base), solver)
    alone = Reconstruction(tables, solver)
    assert errors(based, TRIPLES) <= most * errors(alone, TRIPLES)
    # The other reconstructions have the whole array as their context.
    assert "_joint" in vars(alone) and "_joint" not in vars(based._beyond._of_base)


def test_without_bars_the_tables_are_the_same():
    _, based = reconstructed("good", 120.0)
    for axes, weight in itertools.product([(0, 1), (0, 1, 3), (1, 2, 5)], [0.5, 1.0]):
        with_bars, plain = (based.fewer(1, weight, bars=bars) for bars in (True, False))
        expected, found = (one.solve([axes]) for one in (with_bars, plain))
        assert found.table == pytest.approx(expected.table)
        assert expected.variance is not None
        assert found.variance is None and found.undetermined is None
        # Variances of the estimates with the base would be computed and thrown away.
        assert not plain.trusting.bars and not plain.solver.bars


@pytest.mark.parametrize("kind", ["good", "reversed"])
def test_without_trust_known_moments_are_those_of_the_estimate_in_context(kind):
    """The context removes noise from them, and a base that is not trusted must not undo it."""
    tables = measured(TRUE, PAIRS, 500.0, 4)
    none = tuple(np.full(value.shape, 10.0) for value in tables.values)
    based = BasedReconstruction(tables, base_of(kind), none, Newton(context=6), weight=1.0)
    asked = [(0, 1, 3)]
    alone = Reconstruction(tables, Newton(context=6)).solve(asked).table[0]
    found = based.solve(asked).table[0]
    own = tables.project(tables.covering((0, 1)), (0, 1))
    noise = np.abs(alone.sum(axis=2) - own).max()
    assert np.abs(found.sum(axis=2) - alone.sum(axis=2)).max() < 0.2 * noise


def test_a_base_of_independent_axes_has_little_weight_for_pairs():
    singles = [(axis,) for axis in range(6)]
    weights = {}
    for kind in ("good", "shuffled"):
        _, based = reconstructed(kind, 200.0, singles)
        weights[kind] = np.mean([based.weights(np.array([pair]))[0] for pair in PAIRS])
    assert weights["good"] > 0.5
    assert weights["shuffled"] < 0.2


TREE = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


def chain(rows: int, seed: int) -> np.ndarray:
    """Rows of a chain: each axis follows the one before, more or less closely."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, SIZES[0], rows)]
    for size in SIZES[1:]:
        follows = rng.random(rows) < 0.8
        columns.append(np.where(follows, columns[-1] % size, rng.integers(0, size, rows)))
    return np.column_stack(columns)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_base_says_nothing_beyond_views_that_tell_all_dependence(shuffled):
    """The views are the strong pairs. They tell all of a chain, and a shuffled base knows no pair.

    The pairs that were measured depend most, so they must not speak for those that were not.
    """
    true, rows = chain(40_000, 1), chain(10_000, 2)
    if shuffled:
        rng = np.random.default_rng(3)
        rows = np.column_stack([rng.permutation(column) for column in rows.T])
    tables = measured(true, TREE, 20.0, 4)
    base = CountedBase(SIZES, rows, np.ones(len(rows), int))
    based = BasedReconstruction(tables, base, learnt(tables, base).trust, Newton(context=6))
    alone = Reconstruction(tables, Newton(context=6))
    others = [pair for pair in PAIRS if pair not in TREE]

    def error(solver):
        misses = [solver.solve([axes]).table[0] - counted(true, axes) for axes in others]
        return float(np.mean([np.sqrt((miss**2).sum()) for miss in misses]))

    assert error(based) <= 1.05 * error(alone)


@pytest.mark.parametrize("kind", ["good", "shuffled", "reversed"])
def test_improved_tables_are_consistent_and_not_less_precise(kind):
    tables, based = reconstructed(kind, 400.0, TRIPLES)
    better = based.better
    assert min(value.min() for value in better.values) >= -1e-9
    for axes in PAIRS:
        holders = [row for row, view in enumerate(better.views) if set(axes) <= set(view)]
        first, *rest = (better.project(row, axes) for row in holders)
        for other in rest:
            assert other == pytest.approx(first, abs=1e-6 * better.total)
        own = tables.component_precision(axes)
        assert (better.component_precision(axes) >= own * (1 - 1e-9)).all()
    true = [counted(TRUE, view) for view in TRIPLES]
    errors = [
        np.mean([((value - one) ** 2).sum() for value, one in zip(some.values, true, strict=True)])
        for some in (better, tables)
    ]
    assert errors[0] <= (0.5 if kind == "good" else 1.05) * errors[1]


def test_a_moment_with_more_trust_is_one_more_measurement_of_the_base():
    """Against the posterior of a normal distribution whose covariance is written out."""
    shape, rng = (2, 3), np.random.default_rng(0)
    shares = rng.dirichlet(np.full(6, 5.0), 1)
    variance = rng.uniform(1e-4, 1e-3, 5)
    scales = rng.uniform(1e-4, 1e-2, 5)
    basis = transform(shape)
    mean = (basis.analyse(shares) * np.sqrt(6))[0, 1:]
    noisy = Batch(
        shape=shape,
        offsets=np.array([0, 5]),
        index=np.arange(1, 6),
        target=mean + rng.normal(0, 0.01, 5),
        variance=variance,
        total=np.array([1000.0]),
        total_variance=np.array([1.0]),
    )
    found = relative(noisy, shares, scales)
    functions = basis.synthesise(np.eye(6))[1:] * np.sqrt(6)
    centred = functions - mean[:, None]
    prior = (centred * shares) @ centred.T
    common = found.scales.min()
    precision = np.maximum(1 / scales - 1 / common, 0) / np.diag(prior)
    # Two measurements of each moment, of the base's value and of the noisy one. Where the scale
    # is larger than the common one, the noise counts less.
    noise = variance * common / np.maximum(scales, common)
    weights = np.diag(1 / noise + precision)
    pulls = noisy.target / noise + mean * precision
    expected = np.linalg.solve(
        weights + np.linalg.inv(common * prior), pulls + np.linalg.solve(common * prior, mean)
    )
    # `Newton` to first order: the prior covariance, and the ridge of the targets.
    ridge = np.diag(found.batch.ridge)
    moved = mean + prior @ np.linalg.solve(prior + ridge, found.batch.target - mean)
    assert moved == pytest.approx(expected, abs=1e-9)
    assert (found.follows <= 1).all() and (found.scales >= scales - 1e-12).all()


def test_weights_are_learnt_from_tables_before_negative_counts_were_removed():
    tables, based = reconstructed("good", 400.0, TRIPLES)
    removed = dataclasses.replace(tables, unbiased=None)
    biased = BasedReconstruction(removed, based.base, based.trust, Newton())
    part = (1, 3, 5)
    fewer = based.fewer(2, 1.0)
    without, using = fewer.alone.solve([part]).table[0], fewer.solve([part]).table[0]
    own = based.tables.unbiased[TRIPLES.index(part)]
    basis = transform(own.shape)
    unknown = basis.order > 2
    missed = basis.analyse((own - without).ravel())[unknown]
    change = basis.analyse((using - without).ravel())[unknown]
    variance = 1 / (tables.component_precision(part)[basis.component[unknown]] * own.size)
    told = (missed**2 - variance).sum() - 2 * np.sqrt(2 * (variance**2).sum())
    most = max(change @ change, told)
    slope, noise = based._slope(part, 2, without, using)
    assert slope == pytest.approx(change @ missed / most)
    assert noise == pytest.approx(change**2 @ variance / most**2)
    assert biased._slope(part, 2, without, using)[0] != pytest.approx(slope)


def covered_error(tables):
    squares = []
    for axes in PAIRS:
        row = tables.covering(axes)
        squares.append(((tables.project(row, axes) - counted(TRUE, axes)) ** 2).sum())
    return float(np.mean(np.sqrt(squares)))


def test_the_trust_is_the_size_of_a_sample_and_little_for_another_table():
    tables = measured(TRUE, PAIRS, 20.0, 4)
    worth = {}
    for kind in ("good", "reversed"):
        trust = learnt_trust(tables, base_of(kind))
        worth[kind] = 1 / np.median(np.concatenate([scales.ravel()[1:] for scales in trust]))
    # A sample of 10,000 for a table of 30,000: at most 1 / (1 / 10,000 + 1 / 30,000).
    assert 2_000 < worth["good"] <= 7_500 * 1.001
    assert worth["reversed"] < 500


def test_views_share_the_trust_of_a_common_component():
    tables = measured(TRUE, [(0, 1, 2), (1, 2, 3)], 20.0, 4)
    one, other = learnt_trust(tables, base_of("good"))
    assert np.array_equal(one[0, 1:, 1:], other[1:, 1:, 0])
    assert len(_components((0, 1, 2))) == 8


def test_tables_without_a_positive_total_trust_nothing():
    tables = Tables(sizes=SIZES, views=((0,),), values=(np.array([-1.0, -2.0]),), variances=(1.0,))
    assert learnt_trust(tables, base_of("good"))[0].min() > 1


@pytest.mark.parametrize("kind", ["good", "shuffled"])
@pytest.mark.parametrize("axes", [(0, 1), (0, 1, 3)])
def test_sums_of_single_cells_are_the_cells(kind, axes):
    tables, based = reconstructed(kind, 60.0)
    solution = based.solve([axes])
    cells = solution.table.size
    sums = based.sums(axes, np.eye(cells))
    structure = BasedStructure(based)
    asked = np.array([axes])
    assert sums.estimate == pytest.approx(solution.table.ravel(), rel=1e-4, abs=0.05)
    assert np.diag(sums.variance) == pytest.approx(solution.variance.ravel(), rel=0.05, abs=1.0)
    missed = structure.missed_covariance(axes, np.eye(cells), sums)
    one_by_one = (solution.variance + structure.missed_variance(asked, solution)).ravel()
    whole = np.diag(sums.variance + missed)
    # Sums within views add the even part to the rest: they are a little wider, never narrower.
    assert (whole >= 0.95 * one_by_one - 0.5).all() and (whole <= 1.5 * one_by_one + 0.5).all()
    assert tables.total == pytest.approx(solution.table.sum(), rel=1e-6)


@pytest.mark.parametrize("axes", [(0, 1), (0, 1, 3)])
def test_sums_together_are_the_sums_one_by_one(axes):
    _, based = reconstructed("good", 60.0)
    cells = int(np.prod([SIZES[axis] for axis in axes]))
    weights = np.random.default_rng(0).integers(0, 2, (cells, 3)).astype(float)
    together = based.sums(axes, weights)
    for place in range(3):
        alone = based.sums(axes, weights[:, [place]])
        assert together.estimate[place] == pytest.approx(alone.estimate[0])
        assert together.variance[place, place] == pytest.approx(alone.variance[0, 0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["good", "shuffled", "reversed"])
def test_intervals_hold_the_truth(kind):
    """Over three draws of the noise, about 470 cells each. In the mean of ten draws .964 of the
    cells are inside for each base."""
    inside = []
    for seed in range(3):
        _, based = reconstructed(kind, 60.0, seed=seed)
        structure = BasedStructure(based)
        for axes in [*PAIRS, *TRIPLES]:
            solution = based.solve([axes])
            missed = structure.missed_variance(np.array([axes]), solution)
            width = 1.96 * np.sqrt(solution.variance + missed) + 0.5
            inside.append((np.abs(solution.table[0] - counted(TRUE, axes)) <= width[0]).ravel())
    assert np.concatenate(inside).mean() >= 0.92


@pytest.mark.parametrize("deviation", [20.0, 120.0])
@pytest.mark.parametrize("kind", ["good", "shuffled", "reversed"])
def test_what_a_view_holds_is_never_less_certain_than_its_own_table(kind, deviation):
    tables, based = reconstructed(kind, deviation)
    structure = BasedStructure(based)
    for axes in PAIRS:
        asked = np.array([axes])
        own = tables.covered_variances(asked)[0]
        solutions = based.solve(asked)
        whole = solutions.variance + structure.missed_variance(asked, solutions)
        assert whole.max() <= own * (1 + 1e-9)
        # Sums of two and of three cells.
        cells = int(np.prod([SIZES[axis] for axis in axes]))
        weights = np.array([np.arange(cells) < 2, np.arange(cells) >= cells - 3], float).T
        sums = based.sums(axes, weights)
        of_sums = sums.variance + structure.missed_covariance(axes, weights, sums)
        batch = Batch.of(tables, asked)
        assert (of_sums.diagonal() <= own_covariance(batch, weights).diagonal() * (1 + 1e-9)).all()


def test_a_base_may_move_answers_away_from_the_views(monkeypatch):
    """The distance from the views is no error here, so it is not looked at."""
    _, based = reconstructed("good", 60.0)
    structure = BasedStructure(based)
    axes = (0, 1, 3)
    asked = np.array([axes])
    cells = np.eye(int(np.prod([SIZES[axis] for axis in axes])))
    solutions = based.solve(asked)
    sums = based.sums(axes, cells)
    expected = structure.missed_variance(asked, solutions)
    of_sums = structure.missed_covariance(axes, cells, sums)
    for name in ("misfit_variance", "misfit_covariance"):
        monkeypatch.setattr(f"margin.solvers.reconstruct.structure.{name}", lambda *_: np.inf)
    assert structure.missed_variance(asked, solutions) == pytest.approx(expected)
    assert structure.missed_covariance(axes, cells, sums) == pytest.approx(of_sums)


def test_beyond_the_views_the_scale_is_that_of_the_mixture():
    """No view tells of triples. The base has less weight there than in pairs, so more is missed
    than the scale of pairs says, and no more than without the base."""
    _, based = reconstructed("good", 60.0)
    structure = BasedStructure(based)
    without = Structure(based.better, based.solver)
    weight = based.weight(2, 3)
    assert 0.1 < weight < 0.9
    using = Structure.scale(structure, 2, 3)
    expected = np.hypot((1 - weight) * without.scale(2, 3), weight * using)
    assert structure.scale(2, 3) == pytest.approx(expected)
    assert using < structure.scale(2, 3) < without.scale(2, 3)
    assert structure.scale(1, 2) == Structure.scale(structure, 1, 2)


def test_marginals_within_and_beyond_views_are_answered_together():
    tables, based = reconstructed("good", 60.0, views=[(0, 2), (2, 4), (1, 3)])
    asked = np.array([(0, 2), (0, 4), (2, 4)])
    together = based.solve(asked)
    for row, axes in enumerate(asked):
        alone = based.solve(axes[None])
        assert together.table[row] == pytest.approx(alone.table[0], rel=1e-6)
        assert together.variance[row] == pytest.approx(alone.variance[0], rel=1e-6)
    assert tables.covered(asked).tolist() == [True, False, True]


def errors_of_the_total(kind, deviation):
    """The root mean square errors of the tables' own total and of the learnt one, over 8 draws."""
    own, found = [], []
    for seed in range(8):
        tables = measured(TRUE, PAIRS, deviation, seed)
        own.append(tables.total - len(TRUE))
        found.append(learnt(tables, base_of(kind)).total[0] - len(TRUE))
    return float(np.sqrt(np.mean(np.square(own)))), float(np.sqrt(np.mean(np.square(found))))


def test_a_good_base_tells_the_total():
    own, found = errors_of_the_total("good", 5_000.0)
    assert found < 0.9 * own


def test_a_wrong_base_hardly_changes_the_total():
    own, found = errors_of_the_total("reversed", 1_000.0)
    assert found < 1.1 * own


@pytest.mark.parametrize("kind", ["good", "reversed"])
def test_the_total_is_the_tables_own_where_they_are_precise(kind):
    tables = measured(TRUE, PAIRS, 0.1, 3)
    total, variance = learnt(tables, base_of(kind)).total
    assert total == pytest.approx(tables.total, abs=1.0) and 0 < variance < 1


def test_noise_that_hides_moments_leaves_a_good_base_more_trust():
    tables = measured(TRUE, PAIRS, 3_000.0, 5)
    alone = np.concatenate([scales.ravel()[1:] for scales in learnt_trust(tables, base_of("good"))])
    together = np.concatenate(
        [scales.ravel()[1:] for scales in learnt(tables, base_of("good")).trust]
    )
    assert np.median(together) < np.median(alone)


def test_a_wrong_base_stays_without_trust():
    trust = learnt(measured(TRUE, PAIRS, 20.0, 4), base_of("reversed")).trust
    assert 1 / np.median(np.concatenate([scales.ravel()[1:] for scales in trust])) < 500


def test_another_total_leaves_the_other_moments_of_counts():
    tables = measured(TRUE, PAIRS, 20.0, 4)
    other = with_total(tables, 2 * tables.total, 9.0)
    assert other.total == pytest.approx(2 * tables.total)
    # Moments are those of shares, so all but the first are halved.
    assert 2 * other.moments[0].ravel()[1:] == pytest.approx(tables.moments[0].ravel()[1:])
    assert other.component_precision(PAIRS[0])[0] == pytest.approx(1 / 9)
    assert other.component_precision(PAIRS[0])[1:] == pytest.approx(
        tables.component_precision(PAIRS[0])[1:]
    )


def test_a_known_total_stays():
    known = Known.of_total(SIZES, float(len(TRUE)))
    tables = dataclasses.replace(measured(TRUE, PAIRS, 500.0, 4), known=known)
    assert with_total(tables, 5.0, 1.0) is tables
    assert learnt(tables, base_of("good")).total[0] == len(TRUE)


def test_tables_without_a_positive_total_keep_it():
    tables = measured(TRUE, [(0, 1)], 20.0, 4)
    negative = dataclasses.replace(
        tables, values=tuple(-value for value in tables.values), unbiased=None
    )
    found = learnt(negative, base_of("good"))
    assert found.total[0] == negative.total < 0
    assert found.trust[0].shape == (SIZES[0], SIZES[1])


@given(*[st.floats(1e-3, 1e6)] * 3)
def test_noise_of_a_base_counts_as_far_as_the_base_does(own, of_base, noise):
    without = own * of_base / (own + of_base)
    stated = _with_noise_of_base(np.array(own), np.array(without), np.array(noise))
    # The mean, weighted by precision, of a view's table and a base with noise.
    assert stated == pytest.approx(own * (of_base + noise) / (own + of_base + noise), rel=1e-6)


@pytest.mark.parametrize(
    ("own", "whole", "noise", "stated"),
    [
        (4.0, 2.0, 0.0, 2.0),
        (4.0, 5.0, 1.0, 4.0),
        (4.0, 5.0, 0.0, 4.0),
        (0.0, 2.0, 3.0, 0.0),
        (4.0, 0.0, 3.0, 0.0),
    ],
    ids=["no noise", "the base is useless", "and has no noise", "known", "impossible"],
)
def test_noise_of_a_base_at_its_limits(own, whole, noise, stated):
    found = _with_noise_of_base(np.array([own]), np.array([whole]), np.array([noise]))
    assert found == pytest.approx(stated, abs=1e-12)
