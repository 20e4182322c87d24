"""Sums of reconstructed cells: equal to dense algebra, and to the bars of single cells."""

import itertools

import numpy as np
import pytest

from margin.solvers import IPF, Known, Newton, Problem, Reconstruction, Status, Structure, Tables
from margin.solvers.reconstruct import context
from margin.solvers.reconstruct.sums import left_open, open_variances

SIZES = (2, 3, 2, 4)
VIEWS = ((0, 1), (1, 2), (2, 3), (0, 3))
AXES = [(0, 2), (0, 1, 2), (1, 2, 3), (0, 1, 2, 3)]


def _tables(seed=0, known_total=None):
    counts = np.random.default_rng(seed).poisson(50, SIZES).astype(np.float64)
    values = []
    for view in VIEWS:
        dropped = tuple(axis for axis in range(4) if axis not in view)
        values.append(counts.sum(axis=dropped))
    return Tables(
        sizes=SIZES,
        views=VIEWS,
        values=tuple(values),
        variances=(3.0, 2.0, 1.0, 4.0),
        known=Known.of_total(SIZES, counts.sum()) if known_total else None,
    )


def _dense(tables, newton, axes, weights, share=None):
    """The two covariances by the formulas, with all matrices written out.

    They are taken at the solution, or at other shares of the cells.
    """
    problem = Problem.of(tables, axes)
    if share is None:
        share = newton.solve(problem).table.ravel() / problem.total
    functions = problem.functions(np.eye(len(problem.index)))
    centred = functions - (functions @ share)[:, None]
    deviations = weights - share @ weights
    hessian = (centred * share) @ centred.T + np.diag(newton.ridge(problem))
    crossed = (centred * share) @ deviations
    changes = np.linalg.solve(hessian, crossed)
    by_total = share @ weights - problem.target @ changes
    noise = problem.total**2 * changes.T @ np.diag(problem.variance) @ changes
    noise += problem.total_variance * np.outer(by_total, by_total)
    open_ = deviations.T @ np.diag(share) @ deviations - crossed.T @ changes
    return problem.total * share @ weights, noise, problem.total**2 * open_


@pytest.mark.parametrize("known_total", [False, True])
@pytest.mark.parametrize("axes", AXES)
def test_sums_are_those_of_dense_algebra(axes, known_total):
    tables = _tables(known_total=known_total)
    newton = Reconstruction(tables, Newton()).solver
    cells = np.prod([SIZES[axis] for axis in axes])
    weights = np.random.default_rng(1).normal(size=(cells, 5))
    found = Reconstruction(tables, newton).sums(axes, weights)
    estimate, noise, undetermined = _dense(tables, newton, axes, weights)
    assert found.estimate == pytest.approx(estimate)
    assert found.variance == pytest.approx(noise, rel=1e-6, abs=1e-6)
    assert found.undetermined == pytest.approx(undetermined, rel=1e-6, abs=1e-3)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("axes", [(0, 2), (1, 3), (0, 1, 2)])
def test_sums_of_a_context_are_those_of_dense_algebra(monkeypatch, axes, joint, large):
    """The axes of the context count, too, unless it is large: then only those of the marginal."""
    if large:
        monkeypatch.setattr(context, "SCALED_CELLS", 1)
    tables = _tables()
    reconstruction = Reconstruction(tables, Newton(context=4), joint_cells=1000 if joint else 1)
    newton = reconstruction.solver
    rng = np.random.default_rng(1)
    cells = np.prod([SIZES[axis] for axis in axes])
    weights = rng.normal(size=(cells, 5))
    found = reconstruction.sums(axes, weights)

    # The whole table, as a marginal on all axes.
    whole = (0, 1, 2, 3)
    narrow = [SIZES[axis] if axis in axes else 1 for axis in whole]
    wide = np.broadcast_to(weights.T.reshape(5, *narrow), (5, *SIZES)).reshape(5, -1).T
    estimate, noise, undetermined = _dense(tables, newton, whole, wide)
    if large and not joint:
        table = newton.solve(Problem.of(tables, whole)).table
        own = table.sum(axis=tuple(set(whole) - set(axes))).ravel()
        _, noise, undetermined = _dense(tables, newton, axes, weights, own / own.sum())
    # Where all pairs have a junction tree, the estimate of a context is that of the tree.
    if joint:
        assert found.estimate == pytest.approx(estimate, rel=1e-6)
    assert found.variance == pytest.approx(noise, rel=1e-6, abs=1e-6)
    assert found.undetermined == pytest.approx(undetermined, rel=1e-6, abs=1e-3)


def test_variances_of_what_is_open_are_the_diagonal_of_their_covariance():
    problem = Problem.of(_tables(), (0, 1, 2))
    rng = np.random.default_rng(4)
    share = rng.dirichlet(np.ones(12))
    ridge = rng.random(len(problem.index))
    changes, weights = rng.normal(size=(len(ridge), 5)), rng.normal(size=(5, 12))
    whole = left_open(problem, share, ridge, changes, weights)
    found = open_variances(problem, share, ridge, changes, weights)
    assert found == pytest.approx(whole.diagonal())


@pytest.mark.parametrize("context", [None, 4])
@pytest.mark.parametrize("axes", AXES)
def test_single_cells_have_the_bars_of_the_solution(axes, context):
    tables = _tables()
    reconstruction = Reconstruction(tables, Newton(context=context))
    solutions = reconstruction.solve([axes])
    cells = solutions.table[0].size
    found = reconstruction.sums(axes, np.eye(cells))
    assert found.estimate == pytest.approx(solutions.table[0].ravel())
    assert found.table == pytest.approx(solutions.table[0].ravel())
    assert found.variance.diagonal() == pytest.approx(solutions.variance[0].ravel())
    expected = solutions.undetermined[0].ravel()
    assert found.undetermined.diagonal() == pytest.approx(expected, rel=1e-6, abs=1e-6)
    structure = Structure(tables, reconstruction.solver)
    missed = structure.missed_covariance(axes, np.eye(cells), found).diagonal()
    expected = structure.missed_variance(np.array([axes]), solutions)[0].ravel()
    assert missed == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_a_context_of_its_own_gives_the_same():
    """Sixteen axes are too many to be reconstructed as a whole."""
    rng = np.random.default_rng(2)
    sizes = (3,) * 16
    views = [tuple(sorted(pair)) for pair in itertools.combinations(range(16), 2)]
    rows = (rng.integers(0, 3, (5000, 1)) + rng.integers(0, 2, (5000, 16))) % 3
    values = []
    for one, other in views:
        counts = np.zeros((3, 3))
        np.add.at(counts, (rows[:, one], rows[:, other]), 1.0)
        values.append(counts)
    tables = Tables(
        sizes=sizes, views=tuple(views), values=tuple(values), variances=(1.0,) * len(views)
    )
    reconstruction = Reconstruction(tables, Newton(context=5))
    axes = (1, 4, 7)
    solutions = reconstruction.solve([axes])
    found = reconstruction.sums(axes, np.eye(27))
    assert "_joint" not in vars(reconstruction)
    assert found.estimate == pytest.approx(solutions.table[0].ravel(), rel=1e-6)
    assert found.variance.diagonal() == pytest.approx(solutions.variance[0].ravel(), rel=1e-5)
    expected = solutions.undetermined[0].ravel()
    assert found.undetermined.diagonal() == pytest.approx(expected, rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("context", [None, 4])
def test_what_the_views_determine_is_not_missed(context):
    """All rows, and one category: the first exactly, the second up to the ridge."""
    tables = _tables()
    reconstruction = Reconstruction(tables, Newton(context=context))
    first = np.zeros((2, 3, 2))
    first[0] = 1.0
    weights = np.stack([np.ones(12), first.ravel(), np.eye(12)[0]], axis=1)
    found = reconstruction.sums((0, 1, 2), weights)
    structure = Structure(tables, reconstruction.solver)
    missed = structure.missed_covariance((0, 1, 2), weights, found)
    assert missed[0] == pytest.approx(np.zeros(3), abs=1e-4)
    assert missed[1, 1] < 1e-3 * missed[2, 2]
    assert np.linalg.eigvalsh(missed).min() > -1e-6


def test_a_sum_and_its_parts_agree():
    reconstruction = Reconstruction(_tables(), Newton())
    weights = np.random.default_rng(3).normal(size=(12, 2))
    both = reconstruction.sums((0, 1, 2), weights)
    whole = reconstruction.sums((0, 1, 2), weights.sum(axis=1, keepdims=True))
    assert whole.estimate[0] == pytest.approx(both.estimate.sum())
    assert whole.variance[0, 0] == pytest.approx(both.variance.sum())
    assert whole.undetermined[0, 0] == pytest.approx(both.undetermined.sum(), rel=1e-6)


def test_other_solvers_know_no_covariance():
    tables = _tables()
    solutions = Reconstruction(tables, IPF()).solve([(0, 1, 2)])
    found = Reconstruction(tables, IPF()).sums((0, 1, 2), np.eye(12))
    assert found.estimate == pytest.approx(solutions.table[0].ravel())
    assert np.isnan(found.variance).all() and np.isnan(found.undetermined).all()


@pytest.mark.parametrize("solver", [Newton(iterations=0), IPF(iterations=0)])
def test_a_failed_solve_is_told(solver):
    found = Reconstruction(_tables(), solver).sums((0, 1, 2), np.eye(12))
    assert found.status == Status.ITERATION_LIMIT
    assert np.isnan(found.estimate).all() and np.isnan(found.variance).all()


@pytest.mark.parametrize("context", [None, 3])
def test_sums_of_one_marginal_in_parts_solve_once(monkeypatch, context):
    solved = []
    solve_one = Newton._one
    monkeypatch.setattr(
        Newton, "_one", lambda self, problem: solved.append(problem) or solve_one(self, problem)
    )
    weights = np.random.default_rng(1).normal(size=(4, 6))
    reconstruction = Reconstruction(_tables(), Newton(context=context), joint_cells=1)
    parts = [reconstruction.sums((0, 2), weights[:, part : part + 2]) for part in (0, 2, 4)]
    assert len(solved) == 1
    whole = Reconstruction(_tables(), Newton(context=context), joint_cells=1).sums((0, 2), weights)
    assert np.concatenate([part.estimate for part in parts]) == pytest.approx(whole.estimate)
    # Another marginal is another problem.
    reconstruction.sums((1, 3), np.ones((12, 1)))
    assert len(solved) == 3


class Contested(Reconstruction):
    """A reconstruction whose last solution another thread replaces as soon as it is kept."""

    other = None
    kept = None

    @property
    def _last(self):
        return self.kept

    @_last.setter
    def _last(self, made):
        self.kept = self.other or made


def test_a_solution_that_another_thread_replaces_is_not_taken_for_ones_own():
    weights = np.random.default_rng(1).normal(size=(4, 2))
    contested = Contested(_tables(), Newton())
    contested.sums((1, 3), np.ones((12, 1)))
    contested.other = contested.kept
    alone = Reconstruction(_tables(), Newton()).sums((0, 2), weights)
    found = contested.sums((0, 2), weights)
    assert found.variance == pytest.approx(alone.variance)
    assert found.estimate == pytest.approx(alone.estimate)
