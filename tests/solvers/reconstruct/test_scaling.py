"""Scaling of large problems: its blocks, its optimum and its bars, beside the general dual."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from noisy_moments import problem_of

from margin.solvers import Newton
from margin.solvers.basis import transform
from margin.solvers.reconstruct import split
from margin.solvers.reconstruct.dual import Dual
from margin.solvers.reconstruct.known_margins import KnownMargins
from margin.solvers.reconstruct.scaling import dual as scaling_dual
from margin.solvers.reconstruct.scaling.blocks import blocks_of
from margin.solvers.reconstruct.scaling.dual import ScaledDual
from margin.solvers.reconstruct.scaling.pairs import PairSweeps
from margin.solvers.reconstruct.scaling.relative import Relative
from margin.solvers.reconstruct.scaling.sweeps import SWEEPS
from margin.solvers.reconstruct.split import dual_of
from margin.solvers.reconstruct.sums import covariances, sums_of

PAIRS = [(0, 1), (0, 2), (1, 2)]
SHAPES = [
    ((5, 4, 3), PAIRS),
    ((6, 3, 4), [(0, 1), (1, 2)]),
    ((4, 3, 2, 3), [*itertools.combinations(range(4), 2)]),
    ((3, 4, 2, 3), [(0, 1, 2), (1, 2, 3), (0, 3)]),
    ((7, 2, 5), [(0, 1), (2,)]),
]
IDS = ["triangle", "path", "all pairs", "triples", "apart"]


@pytest.mark.parametrize(("shape", "views"), SHAPES, ids=IDS)
def test_the_blocks_add_up_to_the_penalty(shape, views):
    problem = problem_of(shape, views)
    newton = Newton()
    blocks = blocks_of(problem, newton.ridge(problem))
    distribution = np.random.default_rng(1).dirichlet(np.ones(problem.cells))
    misses = problem.moments(distribution) - problem.target
    penalty = (misses**2 / newton.ridge(problem)).sum()
    cube = distribution.reshape(shape)
    split_up = sum(
        ((block.marginal(cube) - block.target) ** 2).sum() / block.ridge for block in blocks
    )
    assert split_up == pytest.approx(penalty, rel=1e-9)


@pytest.mark.parametrize("zeros", [0.0, 0.3], ids=["all cells", "zeros"])
@pytest.mark.parametrize("noise", [1e-1, 1e-3])
@pytest.mark.parametrize(("shape", "views"), SHAPES, ids=IDS)
def test_scaling_finds_the_optimum_of_the_dual(shape, views, noise, zeros):
    problem = problem_of(shape, views, noise=noise, zeros=zeros)
    newton = Newton(tolerance=1e-9)
    ridge = newton.ridge(problem)
    scaled = ScaledDual(problem, ridge, blocks_of(problem, ridge))
    theta = scaled.start(1e-9)
    gradient = scaled.gradient(theta, scaled.distribution(theta))
    assert np.abs(gradient).max() <= 2e-9
    expected = newton.solve(problem)
    table = problem.total * scaled.distribution(theta).reshape(shape)
    np.testing.assert_allclose(table, expected.table, atol=1e-4)


def test_scaling_returns_from_extrapolations_that_went_too_far(monkeypatch):
    """Noise makes targets negative, one pair is measured far more precisely than the others, and
    sweeps through pairs overflow."""
    problem = problem_of((16, 40, 2), PAIRS, noise=0.3)
    precise = np.isin(transform(problem.shape).component[problem.index], (1, 4, 5))
    problem = replace(problem, variance=np.where(precise, 2e-4, 0.2) * problem.variance)
    ridge = Newton().ridge(problem)
    scaled = ScaledDual(problem, ridge, blocks_of(problem, ridge))
    assert min(block.target.min() for block in scaled.blocks) < -0.01
    assert PairSweeps(problem, scaled.blocks).minimise(1e-8) is None
    few = Newton(bars=False).solve(problem)
    monkeypatch.setattr(scaling_dual, "FEW_SWEEPS", SWEEPS)
    theta = scaled.start(1e-8)
    gradient = scaled.gradient(theta, scaled.distribution(theta))
    assert np.abs(gradient).max() <= 1e-7
    # Newton's method ends what a few sweeps leave.
    np.testing.assert_allclose(
        few.table.ravel() / problem.total, scaled.distribution(theta), atol=1e-7
    )
    assert few.iterations > 0


@pytest.mark.parametrize(("shape", "views"), SHAPES, ids=IDS)
def test_conjugate_gradients_with_the_largest_sets_solve_with_the_hessian(shape, views):
    problem = problem_of(shape, views)
    ridge = Newton().ridge(problem)
    blocks = blocks_of(problem, ridge)
    rng = np.random.default_rng(2)
    distribution = rng.dirichlet(np.full(problem.cells, 0.3))
    distribution[rng.integers(problem.cells, size=3)] = 0.0  # as cells that must be zero
    right = rng.normal(size=len(ridge))
    solve = ScaledDual(problem, ridge, blocks).solver(distribution)
    exact = Dual(problem, ridge).solver(distribution)(right)
    np.testing.assert_allclose(
        solve(right[:, None])[:, 0], exact, rtol=0.01, atol=0.01 * abs(exact).max()
    )
    # The preconditioner is symmetric and positive definite.
    relative = Relative(problem, ridge, blocks, distribution)
    matrix = np.stack([relative.precondition(one) for one in np.eye(len(ridge))])
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-9 * abs(matrix).max())
    assert np.linalg.eigvalsh(matrix).min() > 0


@pytest.mark.parametrize("noise", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("place", [0, 1, 4], ids=["triangle", "path", "apart"])
def test_sweeps_through_pairs_find_the_optimum_without_the_table(place, noise):
    shape, views = SHAPES[place]
    problem = problem_of(shape, views, noise=noise)
    ridge = Newton().ridge(problem)
    blocks = blocks_of(problem, ridge)
    assert PairSweeps.is_possible(problem, blocks)
    theta = PairSweeps(problem, blocks).minimise(1e-10)
    dual = Dual(problem, ridge)
    assert np.abs(dual.gradient(theta, dual.distribution(theta))).max() <= 1e-9


@pytest.mark.parametrize("seed", [0, 5])
def test_sweeps_through_pairs_end_where_numbers_overflow(seed):
    """Noise as large as the table, and hardly any ridge: the dual variables grow without end."""
    problem = problem_of((5, 4, 3), PAIRS, seed=seed, noise=1.0)
    for factor in (1e-6, 1e-9, 1e-12):
        ridge = factor * Newton().ridge(problem)
        blocks = blocks_of(problem, ridge)
        assert PairSweeps(problem, blocks).minimise(1e-10) is None


def test_sweeps_through_pairs_leave_zeros_and_larger_sets_to_others():
    for place, zeros in ((0, 0.3), (2, 0.0), (3, 0.0)):
        problem = problem_of(*SHAPES[place], zeros=zeros)
        blocks = blocks_of(problem, Newton().ridge(problem))
        assert not PairSweeps.is_possible(problem, blocks)


def test_scaling_starts_from_a_base():
    base = np.random.default_rng(5).dirichlet(np.ones(9 * 8 * 7))
    problem = replace(problem_of((9, 8, 7), PAIRS, noise=1e-2), base=base)
    newton = Newton(tolerance=1e-9)
    ridge = newton.ridge(problem)
    scaled = ScaledDual(problem, ridge, blocks_of(problem, ridge))
    table = problem.total * scaled.distribution(scaled.start(1e-9)).reshape(problem.shape)
    np.testing.assert_allclose(table, newton.solve(problem).table, atol=1e-4)


@pytest.mark.parametrize(("shape", "views"), SHAPES, ids=IDS)
def test_moments_by_margins_are_those_of_the_whole_table(shape, views):
    problem = problem_of(shape, views)
    margins = KnownMargins(shape, problem.index)
    rng = np.random.default_rng(2)
    table = rng.dirichlet(np.ones(problem.cells))
    np.testing.assert_allclose(margins.moments(table), problem.moments(table), atol=1e-13)
    weights = rng.normal(size=(2, 3, len(problem.index)))
    expected = problem.functions(weights)
    np.testing.assert_allclose(margins.functions(weights), expected, atol=1e-10)


def relative_errors(bars, exact):
    """The largest relative differences of the two parts of the bars."""
    parts = zip(bars, exact, strict=True)
    return [np.abs(part / true - 1).max() for part, true in parts]


@pytest.mark.parametrize("place", [1, 4], ids=["path", "apart"])
def test_bars_are_exact_where_the_known_sets_are_a_tree(place):
    shape, views = SHAPES[place]
    problem = problem_of(shape, views, noise=1e-4)
    ridge = Newton().ridge(problem)
    scaled = ScaledDual(problem, ridge, blocks_of(problem, ridge))
    distribution = scaled.distribution(scaled.start(1e-10))
    exact = Dual(problem, ridge).bars(distribution)
    # The rest is the ridge, which the closed form treats cell by cell.
    assert max(relative_errors(scaled.bars(distribution), exact)) < 0.01


@pytest.mark.parametrize(("shape", "views"), SHAPES, ids=IDS)
def test_bars_are_exact_at_the_uniform_table(shape, views):
    problem = problem_of(shape, views, noise=1e-4)
    ridge = Newton().ridge(problem)
    scaled = ScaledDual(problem, ridge, blocks_of(problem, ridge))
    uniform = problem.uniform
    exact = Dual(problem, ridge).bars(uniform)
    bars = scaled.bars(uniform)
    np.testing.assert_allclose(bars.variance, exact.variance, rtol=1e-3)
    np.testing.assert_allclose(bars.undetermined, exact.undetermined, rtol=1e-3, atol=1e-3)


def test_bars_of_a_triangle_are_near_the_exact_ones():
    problem = problem_of((9, 8, 7), PAIRS, noise=1e-2)
    ridge = Newton().ridge(problem)
    scaled = ScaledDual(problem, ridge, blocks_of(problem, ridge))
    distribution = scaled.distribution(scaled.start(1e-10))
    exact = Dual(problem, ridge).bars(distribution)
    for part, true in zip(scaled.bars(distribution), exact, strict=True):
        assert part.sum() == pytest.approx(true.sum(), rel=0.25)


@pytest.mark.parametrize("noise", [1e-2, 1e-3])
@pytest.mark.parametrize(("shape", "views"), SHAPES, ids=IDS)
def test_sums_in_closed_form_are_near_the_exact_ones(shape, views, noise):
    problem = problem_of(shape, views, noise=noise)
    newton = Newton(tolerance=1e-10)
    ridge = newton.ridge(problem)
    solution = newton.solve(problem)
    share = solution.table.ravel() / problem.total
    # Sums of a known marginal, then random sums.
    digits = np.indices(shape).reshape(len(shape), -1)
    known = [(digits[axis] == 1) & (digits[other] > 0) for axis, other in (sorted(views[0])[:2],)]
    rng = np.random.default_rng(3)
    random = [rng.random(problem.cells) < portion for portion in (0.02, 0.2, 0.5, 0.9)]
    weights = np.array([*known, *random], dtype=np.float64)
    scaled = ScaledDual(problem, ridge, blocks_of(problem, ridge))
    inverse = Dual(problem, ridge).solver(share)
    exact = sums_of(
        problem, solution, ridge, inverse(covariances(problem, share, weights)), weights
    )
    found = sums_of(problem, solution, ridge, scaled.changes(share, weights), weights)
    np.testing.assert_allclose(found.estimate, exact.estimate)
    errors = np.sqrt(found.variance.diagonal() / exact.variance.diagonal())
    left = np.sqrt(found.undetermined.diagonal() / exact.undetermined.diagonal())
    # What is left open is never understated; known sums are as good as exact.
    assert (left > 1 - 1e-6).all()
    assert (left < 1.35).all()
    assert left[0] < 1.1
    np.testing.assert_allclose(errors[0], 1, atol=0.1)
    assert ((errors > 0.6) & (errors < 1.5)).all()
    assert np.linalg.eigvalsh(found.undetermined).min() > -1e-9


def test_large_problems_are_scaled(monkeypatch):
    problem = problem_of(*SHAPES[0])
    newton = Newton()
    expected = newton.solve(problem)
    monkeypatch.setattr(split, "SCALED_UNKNOWNS", 10)
    assert isinstance(dual_of(problem, newton.ridge(problem)), ScaledDual)
    solution = newton.solve(problem)
    assert solution.status.ok
    np.testing.assert_allclose(solution.table, expected.table, atol=1e-4)
    assert solution.objective == pytest.approx(expected.objective, abs=1e-9)


@pytest.mark.parametrize("what", ["ridges", "weights"])
def test_a_penalty_without_blocks_is_solved_as_before(what, monkeypatch):
    problem = problem_of(*SHAPES[0])
    ridge = Newton().ridge(problem)
    order = problem.order
    if what == "ridges":
        ridge[-1] *= 2  # one moment of a component has another ridge
    else:
        ridge[order == 1] = 10 * ridge.max()  # single axes have less weight than their pairs
    assert blocks_of(problem, ridge) is None
    monkeypatch.setattr(split, "SCALED_UNKNOWNS", 10)
    assert not isinstance(dual_of(problem, ridge), ScaledDual)
