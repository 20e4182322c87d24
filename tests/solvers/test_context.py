"""`Reconstruction`: marginals by way of a larger table."""

import numpy as np
import pytest
from cases import tables_of

from margin.solvers import IPF, Batch, Newton, Problem, Reconstruction
from margin.solvers import context as context_module


def chain(length=6, seed=0):
    """A Markov chain of binary axes with strong links, as one table of 10,000."""
    rng = np.random.default_rng(seed)
    array = rng.dirichlet([1, 1])
    for _ in range(length - 1):
        step = np.array([[0.9, 0.1], [0.2, 0.8]])
        array = array[..., None] * step
    return array * 10_000


VIEWS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


def test_the_whole_chain_speaks_for_its_ends():
    """The ends share no view: without context they look independent."""
    array = chain()
    tables = tables_of(array, VIEWS, variance=1e-6)
    truth = array.sum(axis=(1, 2, 3, 4))
    local = Reconstruction(tables, Newton()).solve([(0, 5)])[0]
    assert np.abs(local.table - truth).max() > 100
    joint = Reconstruction(tables, Newton(context=6)).solve([(0, 5)])[0]
    assert joint.table == pytest.approx(truth, abs=1.0)


def test_context_is_chosen_by_association(monkeypatch):
    monkeypatch.setattr(context_module, "_JOINT_CELLS", 0)
    array = chain()
    tables = tables_of(array, VIEWS, variance=1e-6)
    answer = Reconstruction(tables, Newton(context=3)).solve([(1, 3)])[0]
    assert answer.table == pytest.approx(array.sum(axis=(0, 2, 4, 5)), abs=1.0)


@pytest.mark.parametrize("joint", [True, False], ids=["joint", "context"])
def test_variance_of_a_projection_is_that_of_its_cells(joint, monkeypatch):
    """Against derivatives by differences: solve again with each target moved."""
    if not joint:
        monkeypatch.setattr(context_module, "_JOINT_CELLS", 0)
    array = np.random.default_rng(3).gamma(2.0, 100.0, (2, 3, 2))
    tables = tables_of(array, [(0, 1), (1, 2)], variance=400.0)
    solver = Newton(context=3, tolerance=1e-12)
    found = Reconstruction(tables, solver).solve([(0, 2)])[0]
    problem = Problem.of(tables, (0, 1, 2))
    base = solver.solve(problem).table.sum(axis=1)
    expected = np.zeros((2, 2))
    for row, variance in enumerate(problem.variance):
        # Moving a target moves the optimum as it does with the ridge held.
        target = problem.target.copy()
        target[row] += 1e-5
        moved = solver.solve(
            Problem(shape=problem.shape, index=problem.index, target=target, variance=problem.variance,
                    total=problem.total, total_variance=0.0)
        ).table.sum(axis=1)  # fmt: skip
        expected += variance * ((moved - base) / 1e-5) ** 2
    # The total: targets are coefficients over total, so that a larger total is smaller targets.
    more = problem.total * (1 + 1e-5)
    moved = solver.solve(
        Problem(shape=problem.shape, index=problem.index, target=problem.target / (1 + 1e-5),
                variance=problem.variance, total=more, total_variance=0.0)
    ).table.sum(axis=1)  # fmt: skip
    expected += problem.total_variance * ((moved - base) / (more - problem.total)) ** 2
    assert found.variance == pytest.approx(expected, rel=1e-3)


def test_other_solvers_answer_without_context():
    tables = tables_of(chain(), VIEWS, variance=1.0)
    assert Reconstruction(tables, IPF()).solve([(0, 2), (1, 3)]).status.ok
    alone = Newton().solve(Batch.of(tables, [(0, 2)]))
    assert Reconstruction(tables, Newton()).solve([(0, 2)]).table == pytest.approx(alone.table)
