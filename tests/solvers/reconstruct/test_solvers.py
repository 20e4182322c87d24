"""Every solver by the same battery, and the ways in which each can fail."""

import importlib.util

import numpy as np
import pytest
from cases import random_tables

from margin.solvers import (
    IPF,
    LBFGS,
    Batch,
    ClarabelDirect,
    Cone,
    JointProjection,
    Ladder,
    LeastSquares,
    MinimaxLP,
    MirrorDescent,
    Newton,
    Problem,
    ResidualConsistency,
    Status,
    TrustExact,
)
from margin.solvers.testing import check_solver, examples

PENALISED = [
    Newton(),
    Newton(strength=3.0),
    LBFGS(),
    TrustExact(),
    Cone(),
    Cone(solver="SCS"),
    ClarabelDirect(),
]
SQUARES = [
    LeastSquares(),
    LeastSquares(solver="OSQP"),
    LeastSquares(solver="PIQP"),
    LeastSquares(solver="SCIPY"),
]
MINIMAX = [MinimaxLP(), MinimaxLP(solver="HIGHS"), MinimaxLP(solver="CLARABEL")]
EVERY = [*PENALISED, *SQUARES, *MINIMAX, IPF(), Ladder(), MirrorDescent()]
PACKAGES = {"PIQP": "piqp", "HIGHS": "highspy", "SCS": "scs", "OSQP": "osqp"}


def needs_package(solver):
    package = PACKAGES.get(getattr(solver, "solver", ""))
    if package and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("solver", EVERY, ids=repr)
def test_it_keeps_the_contract(solver):
    needs_package(solver)
    check_solver(solver)


@pytest.mark.parametrize(
    "solver", [LBFGS(), TrustExact(), Cone(), Cone(solver="SCS"), ClarabelDirect()], ids=repr
)
@pytest.mark.parametrize("name", examples())
def test_solvers_of_one_programme_agree_with_newton(solver, name):
    needs_package(solver)
    problem = examples()[name]
    one, other = Newton().solve(problem), solver.solve(problem)
    assert one.status is other.status is Status.OPTIMAL
    assert other.objective == pytest.approx(one.objective, abs=2e-6)
    assert other.table == pytest.approx(one.table, abs=0.5)


@pytest.mark.parametrize("family", [SQUARES, MINIMAX], ids=["squares", "minimax"])
@pytest.mark.parametrize("seed", range(3))
def test_backends_of_one_programme_reach_one_objective(family, seed):
    problem = examples(seed)["pairs with errors"]
    values = []
    for solver in family:
        if importlib.util.find_spec(PACKAGES.get(solver.solver, "numpy")):
            solution = solver.solve(problem)
            assert solution.status is Status.OPTIMAL
            values.append(solution.objective)
    assert values == pytest.approx([values[0]] * len(values), abs=1e-6)


def test_minimax_on_marginals_as_observed():
    """With contradicting views the best error is half their difference."""
    tables = random_tables(1, sizes=(2, 2), count=1)
    first, second = np.array([60.0, 40.0]), np.array([70.0, 30.0])
    tables = type(tables)(
        sizes=(2, 2), views=((0,), (0,)), values=(first, second), variances=(1.0, 1.0)
    )
    raw = MinimaxLP().solve(Problem.observed(tables, (0, 1)))
    assert raw.objective == pytest.approx(0.05)
    assert raw.table.sum(axis=1) / raw.table.sum() == pytest.approx([0.65, 0.35])
    consistent = MinimaxLP().solve(Problem.of(ResidualConsistency()(tables), (0, 1)))
    assert consistent.objective == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "solver",
    [
        Cone(solver="NOSUCH"),
        LeastSquares(solver="NOSUCH"),
        MinimaxLP(solver="NOSUCH"),
        Ladder(solver="NOSUCH"),
    ],
    ids=repr,
)
def test_a_missing_back_end_is_a_status(solver):
    solution = solver.solve(examples()["mixed pairs"])
    assert solution.status is Status.MISSING and not solution.status.ok
    assert np.isnan(solution.table).all()


@pytest.mark.parametrize(
    "solver", [Cone(time_limit=1e-9), ClarabelDirect(time_limit=1e-9)], ids=repr
)
def test_a_time_limit_is_a_status(solver):
    assert solver.solve(examples()["mixed pairs"]).status is Status.TIME_LIMIT


@pytest.mark.parametrize(
    "solver",
    [
        Newton(iterations=0),
        LBFGS(iterations=1),
        TrustExact(iterations=1),
        ClarabelDirect(iterations=1),
        IPF(iterations=1),
        MirrorDescent(iterations=1),
    ],
    ids=repr,
)
def test_an_iteration_limit_is_a_status(solver):
    assert solver.solve(examples()["mixed pairs"]).status is Status.ITERATION_LIMIT


def test_infeasible_marginals_are_a_status():
    assert not IPF(iterations=50).solve(examples()["contradictory pairs"]).status.ok
    negative = Problem(
        shape=(2,), index=np.array([1]), target=np.array([1.5]), variance=np.array([0.1]), total=1.0
    )
    assert IPF().solve(negative).status is Status.INFEASIBLE


@pytest.mark.parametrize(
    "garbage", [np.full(4, np.nan), np.array([2.0, -1.0, 0.0, 0.0]), np.ones(4), np.ones(3) / 3]
)
def test_garbage_of_a_back_end_is_a_failure(garbage):
    problem = Problem(
        shape=(2, 2),
        index=np.empty(0, np.int64),
        target=np.empty(0),
        variance=np.empty(0),
        total=1.0,
    )
    solution = problem.solution(
        garbage, status=Status.OPTIMAL, objective=0.0, iterations=1, seconds=0.0, relaxation=0.0
    )
    assert solution.status is Status.FAILED and np.isnan(solution.table).all()


CVXPY = [Cone(), LeastSquares(), MinimaxLP(solver="CLARABEL"), Ladder()]


@pytest.mark.parametrize("solver", CVXPY, ids=repr)
@pytest.mark.parametrize("value", [None, np.nan, 7.0], ids=["nothing", "NaN", "garbage"])
def test_a_back_end_that_claims_success_is_not_trusted(solver, value, monkeypatch):
    """It returns at once, says that it is optimal, and leaves nothing or anything in the
    variables."""
    cvxpy = pytest.importorskip("cvxpy")

    def solve(self, **options):
        for variable in self.variables():
            if value is not None:
                variable.save_value(np.full(variable.shape, value))

    monkeypatch.setattr(cvxpy.Problem, "solve", solve)
    monkeypatch.setattr(cvxpy.Problem, "status", "optimal")
    solution = solver.solve(examples()["mixed pairs"])
    if isinstance(solver, Ladder) and value is None:  # its last rung is the uniform table
        assert solution.status is Status.RELAXED
    else:
        assert solution.status is Status.FAILED and np.isnan(solution.table).all()


@pytest.mark.parametrize("solver", CVXPY, ids=repr)
def test_a_back_end_that_breaks_down_is_a_status(solver, monkeypatch):
    cvxpy = pytest.importorskip("cvxpy")

    def solve(self, **options):
        raise cvxpy.error.SolverError("it broke down")

    monkeypatch.setattr(cvxpy.Problem, "solve", solve)
    solution = solver.solve(examples()["mixed pairs"])
    if isinstance(solver, Ladder):
        assert solution.status is Status.RELAXED
    else:
        assert solution.status is Status.FAILED and np.isnan(solution.table).all()


class Uniform:
    """A user's solver that claims too much."""

    def solve(self, problem):
        return problem.solution(
            np.full(problem.cells, 1 / problem.cells),
            status=Status.OPTIMAL,
            objective=0.0,
            iterations=0,
            seconds=0.0,
            relaxation=0.0,
        )


def test_the_battery_finds_a_solver_that_ignores_what_is_known():
    with pytest.raises(AssertionError, match="known in full"):
        check_solver(Uniform())


class Stacks(Newton):
    """A user's solver that takes it for granted that some marginal is known."""

    def solve(self, problem):
        np.concatenate([marginal.ravel() for _, marginal in problem.margins()])
        return super().solve(problem)


def test_the_battery_says_that_no_marginal_is_known():
    words = r"problem 'nothing', of which no marginal is known, .* it raises ValueError"
    with pytest.raises(AssertionError, match=words):
        check_solver(Stacks())


class Careless(Newton):
    def objective(self, problem, distribution):
        return -super().objective(problem, distribution)


def test_the_battery_finds_a_solver_that_does_not_minimise_its_objective():
    with pytest.raises(AssertionError, match="can be lowered"):
        check_solver(Careless())


@pytest.mark.parametrize("solver", [Newton(), LBFGS(), IPF()], ids=repr)
def test_a_batch_is_answered_like_its_problems(solver):
    tables = JointProjection()(ResidualConsistency()(random_tables(5, sizes=(3,) * 5, count=6)))
    batch = Batch.of(tables, np.array([[0, 1, 2], [1, 2, 4], [0, 3, 4]]))
    solutions = solver.solve(batch)
    assert len(solutions) == 3 and solutions.status.ok == (not solutions.failures)
    for problem, solution in zip(batch, solutions, strict=True):
        alone = solver.solve(problem)
        assert solution.table == pytest.approx(alone.table, rel=1e-9)
        assert solution.status is alone.status and solution.iterations == alone.iterations
