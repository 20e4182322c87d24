"""Problems written as programmes of cvxpy and PuLP, and as LaTeX, from the problem itself."""

import dataclasses
import warnings

import numpy as np
import pytest
from cases import random_tables

from margin.solvers import IPF, BestResponse, LeastSquares, MinimaxLP, Newton, ResidualConsistency
from margin.solvers.bench import FAMILIES, Cover, Instance
from margin.solvers.testing import examples

PAIRS = examples()["pairs with errors"]
COVER = Cover.of(3, [[0, 1], [1, 2], [2]], [1, 1, 1])
RESPONSE = BestResponse.conjunctions([2, 2, 3], [[0, 1], [1, 2]], [[1, 0], [1, 2]], [2, -1])
TABLES = random_tables(3, sizes=(2, 3, 2), count=3, mean=5)


def test_every_family_has_a_problem_that_states_it():
    found = {family for problem in (PAIRS, TABLES, RESPONSE, COVER) for family in problem.families}
    assert found == {family.name for family in FAMILIES}


@pytest.mark.parametrize(
    ("problem", "family", "solver"),
    [
        (PAIRS, None, Newton()),
        (PAIRS, "least-squares", LeastSquares()),
        (PAIRS, "minimax", MinimaxLP()),
        (examples()["mixed pairs"], "exact-entropy", IPF()),
        (TABLES, None, ResidualConsistency()),
    ],
)
def test_the_programme_has_the_optimum_of_our_solver(problem, family, solver):
    instance = problem.as_instance(family=family)
    ours = instance.check(instance.family.solve(solver, instance.problem))
    programme = problem.to_cvxpy(family)
    assert ours.feasible
    assert programme.solve(solver="CLARABEL") == pytest.approx(ours.objective, abs=1e-5, rel=1e-5)
    assert r"\min" in problem.statement(family)


@pytest.mark.parametrize(("problem", "best"), [(COVER, 2), (RESPONSE, -2)])
def test_integer_programmes_are_objects_of_pulp(problem, best):
    programme = problem.to_pulp()
    pulp = pytest.importorskip("pulp")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PuLP warns of its next version
        programme.solve(pulp.PULP_CBC_CMD(msg=False))
    assert pulp.value(programme.objective) == pytest.approx(best)


def test_ridges_are_those_of_newton_unless_the_problem_has_some():
    own = dataclasses.replace(PAIRS, ridge=np.ones(len(PAIRS.index)))
    assert np.array_equal(own.as_instance().problem.ridge, own.ridge)
    assert np.array_equal(PAIRS.as_instance().problem.ridge, Newton().ridge(PAIRS))


def test_what_is_not_of_a_family_is_refused():
    with pytest.raises(ValueError, match="family must be one of response"):
        RESPONSE.statement("cover")
    with pytest.raises(ValueError, match="linear"):
        PAIRS.to_pulp()
    assert isinstance(COVER.as_instance("fano"), Instance)
