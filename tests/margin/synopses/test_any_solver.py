"""A synopsis that answers by somebody's own solver: whatever that does, no wrong table is handed
on."""

import numpy as np
import pytest

from margin import from_measurements
from margin.errors import DomainError, SolverError
from margin.solvers import Solution, Status

MEASURED = [
    (["a", "b"], [[10.2, 3.9], [5.1, 0.8]], 1.0),
    (["b", "c"], [[9.0, 6.1], [2.2, 2.9]], 1.0),
]


class Own:
    """Returns what it is told to, and claims that it is optimal."""

    def __init__(self, answer, status=Status.OPTIMAL):
        self.answer, self.status = answer, status

    def solve(self, problem):
        return Solution(
            table=self.answer(problem), status=self.status,
            objective=0.0, residual=0.0, iterations=1, seconds=0.0, relaxation=0.0,
        )  # fmt: skip


def asked(solver):
    synopsis = from_measurements(MEASURED, domain={"a": 2, "b": 2, "c": 2})
    return synopsis.with_reconstruction(solver).marginal(["c", "a"])


def uniform(problem):
    return np.full(problem.shape, problem.total / problem.cells)


def negative(problem):
    return uniform(problem) * np.array([[3.0, -1.0], [1.0, 1.0]])


GARBAGE = {
    "a cell that is not finite": lambda problem: uniform(problem) * np.nan,
    r"shape \(3,\) instead of": lambda problem: np.ones(3),
    "a negative cell": negative,
    "does not sum to the total": lambda problem: 2 * uniform(problem),
}


@pytest.mark.parametrize(("told", "answer"), GARBAGE.items(), ids=GARBAGE)
def test_garbage_is_an_error_that_says_what_is_wrong(told, answer):
    must = "marginal on a, c must be reconstructed, but the solver failed: its table"
    with pytest.raises(SolverError, match=f"{must}.* {told}"):
        asked(Own(answer))


@pytest.mark.parametrize(
    "status",
    [Status.TIME_LIMIT, Status.MISSING, Status.INFEASIBLE, Status.ITERATION_LIMIT],
)
def test_a_solver_that_has_no_answer_is_an_error_with_its_reason(status):
    with pytest.raises(SolverError, match=status.value.split(";")[0]):
        asked(Own(uniform, status))


@pytest.mark.parametrize("answer", [lambda problem: 1 / 0, lambda problem: problem.nothing])
def test_a_solver_that_breaks_down_is_an_error_of_its_name(answer):
    with pytest.raises(
        SolverError,
        match=r"solver Own must return solutions, but it raised .*; choose another",
    ):
        asked(Own(answer))


def test_a_good_answer_is_handed_on_in_the_order_that_was_asked_for():
    marginal = asked(Own(lambda problem: problem.total * np.array([[0.1, 0.2], [0.3, 0.4]])))
    assert marginal.counts / marginal.counts.sum() == pytest.approx(
        np.array([[0.1, 0.3], [0.2, 0.4]])
    )
    assert np.isnan(marginal.variance).all()


def test_what_is_beyond_memory_is_refused_with_its_size_before_it_is_made():
    chain = [([f"x{i}", f"x{i + 1}"], [[1.0, 2.0], [3.0, 4.0]], 1.0) for i in range(49)]
    synopsis = from_measurements(chain, domain={f"x{i}": 2 for i in range(50)})
    with pytest.raises(DomainError, match=f"{2**50:,}"):
        synopsis.marginal(list(synopsis.domain))
