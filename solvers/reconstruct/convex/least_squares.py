"""`LeastSquares`: the table of least norm under noisy moments, a quadratic programme."""

import importlib
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...backends import run
from ...status import Status
from ...types import Floats
from ..batch import OneByOne
from ..dual import Penalised
from ..problem import Problem, Solution

_HEAVY = 1e5
"""The weight, in `scipy`'s least squares, of the equation that the cells sum to one."""


@dataclass(frozen=True, kw_only=True)
class LeastSquares(Penalised, OneByOne):
    """Like `Newton`, with the squared distance from the uniform table in place of the divergence.

    Minimises over distributions p on the n cells that need not be zero: n |p - 1/n| ** 2 / 2 +
    sum_S (E_p[f_S] - target_S) ** 2 / (2 ridge_S). As the ridge goes to zero this is the method of
    least norm that Qardaji, Yang and Li, SIGMOD 2014, compare with maximum entropy; cells far from
    uniform make it much less accurate.

    Parameters
    ----------
    solver
        A quadratic solver that cvxpy finds installed (OSQP, CLARABEL, PIQP, ...), or SCIPY for
        `scipy.optimize.nnls`.
    strength
        As for `Newton`; the back-end's own tolerances replace the other two.
    time_limit
        Seconds, or None.
    """

    solver: str = "CLARABEL"
    time_limit: float | None = None

    def objective(self, problem: Problem, distribution: Floats) -> float:
        """The value of what is minimised at a distribution."""
        misses = problem.moments(distribution) - problem.target
        spread = len(problem.possible) * ((distribution - problem.uniform) ** 2).sum()
        return float(0.5 * (spread + (misses**2 / self.ridge(problem)).sum()))

    def answer(self, problem: Problem) -> Solution:
        started = time.process_time()
        scale = 1 / np.sqrt(self.ridge(problem))
        # Unknowns are n p, which are about one; the rows are the terms of the objective.
        count = len(problem.possible)
        functions = (
            problem.functions(np.eye(len(scale))).reshape(-1, problem.cells)[:, problem.possible]
            / count
        )
        rows = np.concatenate([np.eye(count) / np.sqrt(count), functions * scale[:, None]])
        right = np.concatenate([np.full(count, 1 / np.sqrt(count)), problem.target * scale])
        if self.solver.upper() == "SCIPY":
            status, iterations, cells = _scipy(rows, right)
        else:
            status, iterations, cells = self._cvxpy(rows, right)
        return problem.solution(
            None if cells is None else problem.spread(cells / count),
            status=status,
            objective=self.objective,
            iterations=iterations,
            seconds=time.process_time() - started,
            relaxation=self.strength_on(problem.shape),
        )

    def _cvxpy(self, rows: Floats, right: Floats) -> tuple[Status, int, Floats | None]:
        cvxpy: Any = importlib.import_module("cvxpy")
        cells = cvxpy.Variable(rows.shape[1])
        constraints = [cells >= 0, cvxpy.sum(cells) == rows.shape[1]]
        programme = cvxpy.Problem(
            cvxpy.Minimize(0.5 * cvxpy.sum_squares(rows @ cells - right)), constraints
        )
        status, iterations = run(programme, self.solver, self.time_limit)
        return status, iterations, cells.value


def _scipy(rows: Floats, right: Floats) -> tuple[Status, int, Floats | None]:
    count = rows.shape[1]
    heavy = _HEAVY * float(np.abs(rows).max()) / count
    try:
        import scipy.optimize

        cells, _ = scipy.optimize.nnls(
            np.concatenate([rows, np.full((1, count), heavy)]),
            np.append(right, heavy * count),
            maxiter=30 * count,
        )
    except RuntimeError:
        return Status.ITERATION_LIMIT, 30 * count, None
    return Status.OPTIMAL, 0, np.asarray(cells)
