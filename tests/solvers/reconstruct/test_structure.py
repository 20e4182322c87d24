"""What the known moments leave open, and how much of it the truth takes up."""

import dataclasses
import itertools

import numpy as np
import pytest

from margin.solvers import LBFGS, Batch, Newton, Problem, Reconstruction, Structure, Tables
from margin.solvers.basis import transform
from margin.solvers.reconstruct import newton_loops
from margin.solvers.reconstruct.dual import Dual, LargeDual
from margin.solvers.reconstruct.split import SplitDual, splits


def _problem(shape, rng, order=2, variance=1e-4):
    """The moments of a random table up to some order, with errors."""
    basis = transform(shape)
    index = np.flatnonzero((basis.order <= order) & (basis.order > 0))
    table = rng.dirichlet(np.ones(basis.cells))
    return Problem(
        shape=shape,
        index=index,
        target=basis.analyse(table)[index] * np.sqrt(basis.cells),
        variance=np.full(len(index), variance),
        total=1000.0,
        total_variance=10.0,
    )


def _covariance(problem, ridge, distribution):
    """The covariance of all cells that the moments leave open, by dense algebra."""
    functions = problem.functions(np.eye(len(problem.index)))
    change = (functions - (functions @ distribution)[:, None]) * distribution
    centred = functions - (functions @ distribution)[:, None]
    hessian = change @ centred.T + np.diag(ridge)
    prior = np.diag(distribution) - np.outer(distribution, distribution)
    return problem.total**2 * (prior - change.T @ np.linalg.solve(hessian, change))


def _solved(problem):
    newton = Newton()
    solution = newton.solve(problem)
    ridge = newton.ridge(problem)
    return solution, ridge, solution.table.ravel() / problem.total


@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 3, 4, 2), (3, 3, 3), (5,)])
def test_what_is_left_open_is_the_posterior_variance(shape):
    problem = _problem(shape, np.random.default_rng(0))
    solution, ridge, distribution = _solved(problem)
    expected = _covariance(problem, ridge, distribution).diagonal()
    # On one axis everything is known, but for the ridge.
    assert solution.undetermined.ravel() == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_a_separate_axis_gives_the_same():
    problem = _problem((40, 4, 3, 3), np.random.default_rng(1), variance=1e-3)
    solution, ridge, distribution = _solved(problem)
    assert splits(problem, ridge)
    split = SplitDual(problem, ridge).bars(distribution)
    whole = Dual(problem, ridge).bars(distribution)
    assert split.undetermined == pytest.approx(whole.undetermined, rel=1e-9)
    assert solution.undetermined.ravel() == pytest.approx(whole.undetermined, rel=1e-9)


def test_random_changes_give_nearly_the_same():
    problem = _problem((3, 4, 2, 2), np.random.default_rng(2))
    _, ridge, distribution = _solved(problem)
    exact = Dual(problem, ridge).bars(distribution).undetermined
    sampled = LargeDual(problem, ridge).bars(distribution).undetermined
    # Each of 48 cells is right to 18 %: the mean of the logarithms to about 3 %.
    assert abs(np.log(sampled / exact).mean()) < 0.15
    assert np.abs(np.log(sampled / exact)).max() < 1.0


@pytest.mark.parametrize("shape", [(2, 2, 2, 2), (2, 3, 4, 2)])
def test_compiled_loops_give_the_same(shape):
    rng = np.random.default_rng(3)
    problems = [_problem(shape, rng) for _ in range(4)]
    together = Newton()._many(Batch.pack(problems), newton_loops)
    for row, problem in enumerate(problems):
        alone = Newton().solve(problem)
        assert together.undetermined[row] == pytest.approx(alone.undetermined, rel=1e-6)


def _tables(rows, sizes, views, variance=1.0):
    """The exact tables of views, said to have some noise."""
    values = []
    for view in views:
        counts = np.zeros([sizes[axis] for axis in view])
        np.add.at(counts, tuple(rows[:, axis] for axis in view), 1.0)
        values.append(counts)
    return Tables(
        sizes=tuple(sizes),
        views=tuple(views),
        values=tuple(values),
        variances=(variance,) * len(views),
    )


def _truth(rows, sizes, axes):
    counts = np.zeros([sizes[axis] for axis in axes])
    np.add.at(counts, tuple(rows[:, axis] for axis in axes), 1.0)
    return counts


def _mixture(rng, rows=20_000, axes=8, classes=12):
    """Bits that are independent within each of some classes."""
    chances = rng.beta(0.5, 0.5, (classes, axes))
    which = rng.integers(0, classes, rows)
    return (rng.random((rows, axes)) < chances[which]).astype(np.int64)


_VIEWS = [(0, 1, 2, 3, 4), (2, 3, 4, 5, 6), (0, 1, 5, 6, 7), (3, 4, 6, 7), (0, 2, 5, 7)]
_BITS = (2,) * 8


def _covered(rows, tables, solver, sizes=_BITS, count=4):
    """The share of true counts inside 95 %, and the mean square of errors over its estimate."""
    reconstruction = Reconstruction(tables, solver)
    structure = Structure(tables, reconstruction.solver)
    asked = np.array(list(itertools.combinations(range(len(sizes)), count)))
    asked = asked[~tables.covered(asked)]
    solutions = reconstruction.solve(asked)
    variance = solutions.variance + structure.missed_variance(asked, solutions)
    truth = np.stack([_truth(rows, sizes, axes) for axes in asked.tolist()])
    errors = np.abs(solutions.table - truth)
    inside = float((errors <= 1.96 * np.sqrt(variance) + 0.5).mean())
    return inside, float((errors**2).sum() / variance.sum())


@pytest.mark.parametrize("context", [None, 8], ids=["alone", "context"])
@pytest.mark.parametrize("seed", range(3))
def test_intervals_hold_for_the_truth(seed, context):
    rows = _mixture(np.random.default_rng(seed))
    tables = _tables(rows, _BITS, _VIEWS)
    inside, ratio = _covered(rows, tables, Newton(context=context))
    assert inside > 0.9 and 0.1 < ratio < 2


def test_independent_bits_need_little_more_than_chance():
    rng = np.random.default_rng(4)
    rows = (rng.random((20_000, 8)) < rng.random(8)).astype(np.int64)
    tables = _tables(rows, _BITS, _VIEWS)
    inside, ratio = _covered(rows, tables, Newton())
    assert inside > 0.9 and ratio > 0.4


def test_the_scale_follows_the_structure():
    rng = np.random.default_rng(5)
    strong = _tables(_mixture(rng, classes=4), _BITS, _VIEWS)
    weak_rows = (rng.random((20_000, 8)) < 0.4).astype(np.int64)
    weak = _tables(weak_rows, _BITS, _VIEWS)
    axes = np.array([[1, 2, 6, 7], [0, 1, 2, 3]])
    of_strong, held = Structure(strong, Newton()).scales(axes)
    assert of_strong > 5 * Structure(weak, Newton()).scales(axes)[0]
    assert held == 0  # a view holds all four axes


def test_scales_are_those_of_the_prior_where_no_view_can_tell():
    rows = _mixture(np.random.default_rng(6))
    pairs = _tables(rows, _BITS, list(itertools.combinations(range(8), 2)))
    structure = Structure(pairs, Newton())
    ratio = structure._learnt(2, 3) / structure._learnt(1, 3)
    assert ratio == pytest.approx(0.35)


@pytest.mark.parametrize("classes", [2, 12])
def test_beyond_triples_the_scale_falls_as_it_fell_before(classes):
    rows = _mixture(np.random.default_rng(6), classes=classes)
    triples = _tables(rows, _BITS, list(itertools.combinations(range(8), 3)))
    structure = Structure(triples, Newton())
    singles, pairs, of_triples = (structure._learnt(depth, 4) for depth in (1, 2, 3))
    assert of_triples == pytest.approx(pairs * np.clip((pairs / singles) ** 2, 0.1, 1.0))


def test_parts_of_views_are_reconstructed_once(monkeypatch):
    """Marginals on four and five axes learn from the same triples."""
    rows = _mixture(np.random.default_rng(8))
    tables = _tables(rows, _BITS, list(itertools.combinations(range(8), 3)))
    learnt = []
    misses = Structure._misses
    monkeypatch.setattr(
        Structure, "_misses", lambda self, *key: learnt.append(key) or misses(self, *key)
    )
    structure = Structure(tables, Newton())
    for count in (4, 5):
        structure.scales(np.arange(count)[None])
    assert sorted(learnt) == [(1, 3), (2, 3)]


def test_axes_of_which_nothing_is_known_are_answered():
    rows = _mixture(np.random.default_rng(7))
    tables = _tables(rows, _BITS, [(0, 1, 2)])
    solutions = Reconstruction(tables, Newton()).solve(np.array([[3, 4]]))
    missed = Structure(tables, Newton()).missed_variance(np.array([[3, 4]]), solutions)
    assert np.isfinite(missed).all() and missed.min() > 0


def _skewed(rng, rows=20_000, sizes=(4,) * 6):
    """Independent attributes whose categories have very different shares."""
    drawn = [rng.choice(size, rows, p=rng.dirichlet(np.full(size, 2.0))) for size in sizes]
    return np.stack(drawn, axis=1), sizes


@pytest.mark.parametrize("count", [1, 2, 3])
def test_intervals_hold_for_attributes_that_no_view_holds(count):
    inside = []
    for seed in range(4):
        rows, sizes = _skewed(np.random.default_rng(seed))
        tables = _tables(rows, sizes, [(0, 1, 2)])
        inside.append(_covered(rows, tables, Newton(context=None), sizes, count)[0])
    # With one scale for all functions, 83 % of the counts of three were inside.
    assert np.mean(inside) > 0.95


def test_an_attribute_that_no_view_holds_is_as_uncertain_within_larger_marginals():
    rows, sizes = _skewed(np.random.default_rng(0))
    tables = _tables(rows, sizes, [(0, 1, 2)])
    reconstruction = Reconstruction(tables, Newton())
    structure = Structure(tables, reconstruction.solver)
    alone, pair = np.array([[4]]), np.array([[0, 4]])
    one = structure.missed_variance(alone, reconstruction.solve(alone))[0]
    solutions = reconstruction.solve(pair)
    both = structure.missed_variance(pair, solutions)[0]
    # A sum of cells over attribute 0 is the count of a category of attribute 4.
    weights = np.kron(np.ones((sizes[0], 1)), np.eye(sizes[4]))
    sums = reconstruction.sums((0, 4), weights)
    summed = structure.missed_covariance((0, 4), weights, sums)
    assert summed.diagonal() == pytest.approx(one, rel=0.05)
    # A cell is relatively at least as uncertain as the category that it belongs to.
    relative = both / solutions.table[0] ** 2
    assert (relative > 0.95 * one / reconstruction.solve(alone).table[0] ** 2).all()
    # Cells as sums have the same variance as cells; tilts are averaged in another way.
    cells = np.eye(sizes[0] * sizes[4])
    same = structure.missed_covariance((0, 4), cells, reconstruction.sums((0, 4), cells))
    assert same.diagonal() == pytest.approx(both.ravel(), rel=1e-9)
    # All categories together are the number of rows: nothing of it is missed.
    whole = summed.sum() / summed.diagonal().sum()
    assert abs(whole) < 1e-6


def test_a_batch_and_single_marginals_agree():
    rows = _mixture(np.random.default_rng(8))
    tables = _tables(rows, _BITS, _VIEWS)
    asked = np.array([(0, 1, 2, 5), (1, 3, 5, 7), (0, 3, 6, 7)])
    reconstruction = Reconstruction(tables, Newton())
    together = Structure(tables, reconstruction.solver).missed_variance(
        asked, reconstruction.solve(asked)
    )
    for row, axes in enumerate(asked):
        alone = Structure(tables, reconstruction.solver)
        solution = reconstruction.solve(axes[None])
        assert alone.missed_variance(axes[None], solution)[0] == pytest.approx(together[row])


def test_a_solver_that_tells_nothing_gives_nan():
    rows = _mixture(np.random.default_rng(9))
    tables = _tables(rows, _BITS, _VIEWS)
    asked = np.array([(0, 1, 2, 5)])
    solutions = Reconstruction(tables, LBFGS()).solve(asked)
    solutions = dataclasses.replace(solutions, undetermined=None)
    assert np.isnan(Structure(tables, LBFGS()).missed_variance(asked, solutions)).all()


def test_no_part_of_a_view_is_small_enough_for_four_axes():
    """The scale is that of parts on three axes, not the mean square of the prior."""
    rng = np.random.default_rng(3)
    sizes = (12, 10, 8, 6, 3)
    rows = np.stack([rng.integers(0, size, 50_000) for size in sizes], axis=1)
    views = [(0, 1, 2, 3), (3, 4)]
    values = []
    for view in views:
        counts = np.zeros([sizes[axis] for axis in view])
        np.add.at(counts, tuple(rows[:, axis] for axis in view), 1.0)
        values.append(counts)
    tables = Tables(sizes=sizes, views=tuple(views), values=tuple(values), variances=(1.0, 1.0))
    structure = Structure(tables, Newton(context=None))
    assert structure.scale(1, 4) == pytest.approx(structure.scale(1, 3))
    # The attributes are independent, and the views say so.
    assert structure.scale(1, 4) < 0.01
    assert structure.scale(3, 4) <= structure.scale(2, 4) <= structure.scale(1, 4)


def test_scales_without_any_evidence_are_medians():
    """No pair of a view is small enough to be compared."""
    sizes = (80, 70, 2)
    values = [np.full((80, 70), 2.0), np.array([5600.0, 5600.0])]
    tables = Tables(sizes=sizes, views=((0, 1), (2,)), values=tuple(values), variances=(1.0, 1.0))
    structure = Structure(tables, Newton(context=None))
    assert structure.scale(1, 2) == pytest.approx(0.1)
