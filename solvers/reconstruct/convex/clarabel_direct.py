"""Maximum entropy under noisy moments by the solver Clarabel, called directly, without cvxpy."""

import importlib
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ...backends import available
from ...status import Status
from ...types import Floats
from ..batch import OneByOne
from ..dual import Penalised
from ..problem import Problem, Solution


@dataclass(
    frozen=True,
    kw_only=True,
)
class ClarabelDirect(Penalised, OneByOne):
    """Solves the problem of `Newton` by Clarabel, an interior-point solver, without cvxpy.

    The variables are the n cells p that need not be zero, n numbers h and m scaled residuals r.
    Minimise -sum(h) + |r| ** 2 / 2 subject to sum(p) = 1, r = (F p - target) / sqrt(ridge), and
    (h_i, p_i, 1) in the exponential cone for each cell i: p_i exp(h_i / p_i) <= 1. At the optimum
    h_i is the term -p_i log p_i of the entropy. F are the basis functions, shape (m, n).

    Parameters
    ----------
    strength
        As for `Newton`.
    tolerance
        The gap at which Clarabel stops.
    iterations
        The largest number of interior-point steps.
    time_limit
        Seconds, or None.
    """

    tolerance: float = 1e-10
    time_limit: float | None = None

    def answer(self, problem: Problem) -> Solution:
        """The table that Clarabel finds; `Status.MISSING` if it is not installed."""
        is_there = available("clarabel")
        if is_there:
            importlib.import_module("clarabel")  # loaded before the time is taken
        started = time.process_time()
        status = Status.MISSING
        iterations = 0
        found = None
        if is_there:
            status, iterations, found = self._solve(problem)
        return problem.solution(
            found,
            status=status,
            objective=self.objective,
            iterations=iterations,
            seconds=time.process_time() - started,
            relaxation=self.strength_on(problem.shape),
        )

    def _solve(self, problem: Problem) -> tuple[Status, int, Floats | None]:
        """Call Clarabel; returns the status, the number of steps, and the cells or None."""
        clarabel: Any = importlib.import_module("clarabel")  # without types
        cells = len(problem.possible)
        known = len(problem.index)
        quadratic, linear = _objective(cells, known)
        constraints, right = _constraints(problem, 1 / np.sqrt(self.ridge(problem)))
        cones = [clarabel.ZeroConeT(1 + known), *[clarabel.ExponentialConeT()] * cells]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = self.iterations
        settings.tol_gap_abs = self.tolerance
        settings.tol_gap_rel = self.tolerance
        settings.tol_feas = self.tolerance
        settings.tol_infeas_abs = self.tolerance
        settings.tol_infeas_rel = self.tolerance
        if self.time_limit is not None:
            settings.time_limit = self.time_limit
        solver = clarabel.DefaultSolver(quadratic, linear, constraints, right, cones, settings)
        found = solver.solve()
        status = _STATUS.get(str(found.status), Status.FAILED)
        answered = status in (Status.OPTIMAL, Status.ITERATION_LIMIT, Status.TIME_LIMIT)
        table = problem.spread(np.array(found.x[:cells])) if answered else None
        return status, int(found.iterations), table


def _objective(cells: int, known: int) -> tuple[Any, Floats]:
    """The quadratic and the linear part of the objective, over (p, h, r)."""
    squares = np.concatenate([np.zeros(2 * cells), np.ones(known)])
    linear = np.concatenate([np.zeros(cells), -np.ones(cells), np.zeros(known)])
    return scipy.sparse.diags_array(squares).tocsc(), linear


def _constraints(problem: Problem, scale: Floats) -> tuple[Any, Floats]:
    """The matrix A and the vector b of the constraints: b - A (p, h, r) lies in the cones."""
    cells = len(problem.possible)
    known = len(problem.index)
    # The zero cone: sum(p) = 1, and the definition of the scaled misses r.
    functions = problem.functions(np.eye(known))[:, problem.possible] * scale[:, None]
    sum_row = np.append(np.ones(cells), np.zeros(cells + known))[None, :]
    misses = np.concatenate([functions, np.zeros((known, cells)), -np.eye(known)], axis=1)
    equal = scipy.sparse.csc_array(np.concatenate([sum_row, misses]))
    # The exponential cones: (h, p, 1) for each cell.
    place = np.arange(cells)
    rows = np.concatenate([3 * place, 3 * place + 1])
    columns = np.concatenate([cells + place, place])
    shape = (3 * cells, 2 * cells + known)
    cone = scipy.sparse.csc_array((-np.ones(2 * cells), (rows, columns)), shape=shape)
    ones = np.tile([0.0, 0.0, 1.0], cells)
    right = np.concatenate([[1.0], problem.target * scale, ones])
    return scipy.sparse.vstack([equal, cone]).tocsc(), right


_STATUS = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.ITERATION_LIMIT,
    "MaxIterations": Status.ITERATION_LIMIT,
    "InsufficientProgress": Status.ITERATION_LIMIT,
    "MaxTime": Status.TIME_LIMIT,
    "PrimalInfeasible": Status.INFEASIBLE,
}
"""The `Status` for each status of Clarabel; any other one is `FAILED`."""
