"""Every solver on the same problems: the optimality conditions of its stated objective, and known
answers."""

import numpy as np
import pytest
from cases import random_tables, seeds, tables_of
from hypothesis import given, settings

from margin.solvers import (
    JointProjection,
    Ladder,
    Newton,
    Problem,
    ResidualConsistency,
    Status,
    Tables,
)
from margin.solvers.reconstruct import dual as dual_module

EXACT = 1e-12
"""A noise variance so small that the ridge is at its floor."""


def array_of(shape, seed=0, sparse=False):
    rng = np.random.default_rng(seed)
    array = rng.gamma(0.5, 1.0, shape) * 1000 + 1.0
    return array * (rng.random(shape) < 0.3) + 1e-3 if sparse else array


def chain(seed=0):
    """A Markov chain over four axes: the maximum entropy table of its pairs is itself."""
    rng = np.random.default_rng(seed)
    first, second, third = rng.random((2, 3)), rng.random((3, 2)), rng.random((2, 4))
    array = first[:, :, None, None] * second[None, :, :, None] * third[None, None, :, :]
    return array / array.sum() * 5000


SOLVERS = [Newton(), Newton(strength=1.0), Ladder()]


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_a_markov_chain_is_recovered_from_its_pairs(solver, seed):
    array = chain(seed)
    tables = tables_of(array, [(0, 1), (1, 2), (2, 3)], variance=EXACT)
    solution = solver.solve(Problem.of(tables, (0, 1, 2, 3)))
    assert solution.status is Status.OPTIMAL
    assert solution.table == pytest.approx(array, rel=2e-3, abs=0.05)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_independent_attributes_multiply(solver):
    array = np.outer([1.0, 3.0], [2.0, 5.0, 1.0]) * 10
    solution = solver.solve(Problem.of(tables_of(array, [(0,), (1,)], variance=EXACT), (0, 1)))
    assert solution.table == pytest.approx(array, rel=1e-3)
    assert solution.residual < 1e-4


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_what_is_not_known_is_uniform(solver):
    array = np.outer([3.0, 9.0], np.ones(4))
    tables = Tables(sizes=(2, 4), views=((0,),), values=(array.sum(axis=1),), variances=(EXACT,))
    assert solver.solve(Problem.of(tables, (0, 1))).table == pytest.approx(array, rel=1e-4)
    nothing = solver.solve(Problem.of(tables, (1,)))
    assert nothing.table == pytest.approx(np.full(4, 12.0), rel=1e-4)


@pytest.mark.parametrize("large", [False, True], ids=["matrices", "operators"])
@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_newton_meets_its_optimality_conditions(large, seed):
    """Primal: log p is in the span of the functions, and each moment misses its target by ridge
    times its dual variable."""
    tables = JointProjection()(ResidualConsistency()(random_tables(seed, mean=30.0, noise=40.0)))
    if tables.total <= 0:
        return
    problem = Problem.of(tables, tuple(range(len(tables.sizes))))
    with pytest.MonkeyPatch.context() as patch:
        if large:
            patch.setattr(dual_module, "HESSIAN_UNKNOWNS", -1)
        solution = Newton(strength=2.0).solve(problem)
    assert solution.status is Status.OPTIMAL
    distribution = solution.table.ravel() / problem.total
    assert distribution.min() > 0 and distribution.sum() == pytest.approx(1.0)
    ridge = 2.0 * np.where(problem.order == 1, 0.01, problem.order**2.0) * problem.variance
    logs = np.log(distribution)
    theta = problem.moments(logs)[: len(problem.index)] / problem.cells
    assert problem.functions(theta) == pytest.approx(logs - logs.mean(), abs=1e-6)
    gap = problem.moments(distribution) - problem.target + ridge * theta
    assert np.abs(gap).max(initial=0.0) < 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_both_representations_of_newton_agree(seed, monkeypatch):
    tables = JointProjection()(
        ResidualConsistency()(random_tables(seed, sizes=(3, 2, 4, 2), count=4))
    )
    problem = Problem.of(tables, (0, 1, 2, 3))
    small = Newton(tolerance=1e-10).solve(problem)
    monkeypatch.setattr(dual_module, "HESSIAN_UNKNOWNS", -1)
    large = Newton(tolerance=1e-10).solve(problem)
    assert large.table == pytest.approx(small.table, rel=1e-6, abs=1e-6)
    assert small.variance is not None and large.variance is not None
    # Sixty-four random probes know a variance to 18 % or so; four times that is allowed.
    assert np.abs(np.log(large.variance / small.variance)).max() < 0.75


@pytest.mark.parametrize("seed", range(3))
def test_newton_equals_the_same_programme_in_cvxpy(seed):
    cvxpy = pytest.importorskip("cvxpy")
    tables = JointProjection()(ResidualConsistency()(random_tables(seed, sizes=(2, 3, 2), count=4)))
    problem = Problem.of(tables, (0, 1, 2))
    solution = Newton(strength=3.0, tolerance=1e-10).solve(problem)
    ridge = np.maximum(
        3.0 * np.where(problem.order == 1, 0.01, problem.order**2.0) * problem.variance, 1e-10
    )
    cells = cvxpy.Variable(problem.cells, nonneg=True)
    functions = np.array([problem.functions(row) for row in np.eye(len(problem.index))])
    penalty = cvxpy.sum(
        cvxpy.multiply(1 / (2 * ridge), cvxpy.square(functions @ cells - problem.target))
    )
    programme = cvxpy.Problem(
        cvxpy.Minimize(-cvxpy.sum(cvxpy.entr(cells)) + penalty), [cvxpy.sum(cells) == 1]
    )
    programme.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    assert solution.table.ravel() / problem.total == pytest.approx(cells.value, abs=2e-5)


@pytest.mark.parametrize("seed", range(3))
def test_ladder_and_newton_agree_where_the_constraints_do(seed):
    tables = tables_of(array_of((2, 3, 2), seed), [(0, 1), (1, 2), (0, 2)], variance=EXACT)
    problem = Problem.of(tables, (0, 1, 2))
    exact, ridged = Ladder().solve(problem), Newton().solve(problem)
    assert exact.status is Status.OPTIMAL and exact.relaxation == 0.0
    assert ridged.table == pytest.approx(exact.table, rel=1e-3, abs=0.5)


def contradictory():
    """Pairs that agree on single axes but belong to no joint table: a equals b, b equals c, a
    differs from c."""
    same, other = np.array([[50.0, 0.0], [0.0, 50.0]]), np.array([[0.0, 50.0], [50.0, 0.0]])
    return Tables(
        sizes=(2, 2, 2),
        views=((0, 1), (1, 2), (0, 2)),
        values=(same, same, other),
        variances=(1.0,) * 3,
    )


def test_contradictory_constraints_climb_the_ladder():
    solution = Ladder().solve(Problem.of(contradictory(), (0, 1, 2)))
    assert solution.status is Status.RELAXED and solution.relaxation > 0
    assert solution.table.min() >= 0 and solution.table.sum() == pytest.approx(100)


def test_newton_is_never_infeasible():
    solution = Newton().solve(Problem.of(contradictory(), (0, 1, 2)))
    assert solution.status is Status.OPTIMAL
    assert solution.table == pytest.approx(solution.table[::-1, ::-1, ::-1])


def test_margins_say_the_same_as_the_moments():
    array = array_of((2, 3, 2, 2), 1)
    views = [(0, 1), (1, 2, 3)]
    problem = Problem.of(tables_of(array, views), (0, 1, 2, 3))
    margins = dict(problem.margins())
    assert set(margins) == set(views)
    for view, table in margins.items():
        assert table * array.sum() == pytest.approx(tables_of(array, [view]).values[0])


@pytest.mark.slow
def test_delta_method_variance_matches_repeated_noise():
    """The variance of each cell over 4000 draws; a relative error of 15 % is over six standard
    errors of a variance."""
    array = array_of((2, 3, 2), 2) * 100
    views = [(0, 1), (1, 2)]
    exact = tables_of(array, views, variance=2500.0)
    rng = np.random.default_rng(9)
    answers = []
    for _ in range(4000):
        noisy = exact.with_values(
            [value + rng.normal(0, 50.0, value.shape) for value in exact.values]
        )
        answers.append(Newton().solve(Problem.of(ResidualConsistency()(noisy), (0, 1, 2))).table)
    predicted = Newton().solve(Problem.of(exact, (0, 1, 2))).variance
    assert predicted == pytest.approx(np.var(answers, axis=0), rel=0.15)


GOOD = {
    "shape": (2, 2),
    "index": np.array([1, 2]),
    "target": np.zeros(2),
    "variance": np.ones(2),
    "total": 1.0,
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"index": np.array([1])}, "must have the same length"),
        ({"index": np.array([0, 1])}, "between 1"),
        ({"index": np.array([1, 4])}, "number of cells"),
        ({"target": np.array([np.nan, 0.0])}, "finite"),
        ({"variance": np.array([-1.0, 0.0])}, ">= 0"),
        ({"total": 0.0}, "total"),
        ({"total": np.inf}, "total"),
        ({"total_variance": np.nan}, "total_variance"),
        ({"shape": (2,) * 50}, str(2**50)),
    ],
)
def test_malformed_problems_are_refused(change, says):
    with pytest.raises(ValueError, match=says):
        Problem(**{**GOOD, **change})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Newton(strength=0.0),
        lambda: Newton(tolerance=0.0),
        lambda: Ladder(first=0.0),
        lambda: Ladder(factor=1.0),
    ],
)
def test_solver_parameters_are_checked(make):
    with pytest.raises(ValueError, match="must be"):
        make()


def test_an_iteration_limit_is_told():
    problem = Problem.of(
        tables_of(array_of((2, 2, 2)), [(0, 1), (1, 2)], variance=EXACT), (0, 1, 2)
    )
    solution = Newton(iterations=0).solve(problem)
    assert solution.status is Status.ITERATION_LIMIT and not solution.status.ok
