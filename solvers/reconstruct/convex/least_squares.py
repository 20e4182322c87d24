"""The table nearest to the uniform one that fits noisy moments: a quadratic programme."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...backends import load_cvxpy, run
from ...status import Status
from ...types import Floats
from ..batch import OneByOne
from ..dual import Penalised
from ..problem import Problem, Solution

_Solve = Callable[[Floats, Floats], tuple[Status, int, Floats | None]]

_HEAVY = 1e5
"""Weight of the equation that the cells sum to one, in `scipy`'s least squares."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class LeastSquares(Penalised, OneByOne):
    """Like `Newton`, but minimises the squared distance from the uniform table, not the divergence.

    Minimises over distributions p on the n cells that need not be zero: n |p - 1/n| ** 2 / 2 +
    sum_S (E_p[f_S] - target_S) ** 2 / (2 ridge_S). As the ridge goes to zero, this is the method of
    least norm that Qardaji, Yang and Li, SIGMOD 2014, compare with maximum entropy. It is much less
    accurate if cells are far from uniform.

    Parameters
    ----------
    solver
        A quadratic solver that cvxpy finds installed (OSQP, CLARABEL, PIQP, ...), or SCIPY for
        `scipy.optimize.nnls`.
    strength
        As for `Newton`. The back-end has its own tolerances; `tolerance` and `iterations` are not
        used.
    time_limit
        Seconds, or None.
    """

    solver: str = "CLARABEL"
    time_limit: float | None = None

    def objective(
        self,
        problem: Problem,
        distribution: Floats,
    ) -> float:
        """The value of the objective at a distribution."""
        misses = problem.moments(distribution) - problem.target
        spread = len(problem.possible) * ((distribution - problem.uniform) ** 2).sum()
        return float(0.5 * (spread + (misses**2 / self.ridge(problem)).sum()))

    def answer(self, problem: Problem) -> Solution:
        """The table that the back-end finds."""
        solve = self._loaded()
        started = time.process_time()
        scale = 1 / np.sqrt(self.ridge(problem))
        # The unknowns are n p, which are about one. The rows are the terms of the objective.
        count = len(problem.possible)
        functions = problem.functions(np.eye(len(scale))).reshape(-1, problem.cells)
        functions = functions[:, problem.possible] / count
        rows = np.concatenate([np.eye(count) / np.sqrt(count), functions * scale[:, None]])
        right = np.concatenate([np.full(count, 1 / np.sqrt(count)), problem.target * scale])
        status, iterations, cells = solve(rows, right)
        return problem.solution(
            None if cells is None else problem.spread(cells / count),
            status=status,
            objective=self.objective,
            iterations=iterations,
            seconds=time.process_time() - started,
            relaxation=self.strength_on(problem.shape),
        )

    def _loaded(self) -> _Solve:
        """The function that solves, with the libraries that it needs loaded."""
        if self.solver.upper() == "SCIPY":
            import scipy.optimize  # noqa: F401 - loaded before the time is taken

            return _scipy
        load_cvxpy(self.solver)
        return self._cvxpy

    def _cvxpy(
        self,
        rows: Floats,
        right: Floats,
    ) -> tuple[Status, int, Floats | None]:
        """Minimise |rows x - right| over x >= 0 of the right sum, by cvxpy.

        Returns the status, the iterations, and x = n p, or None.
        """
        cvxpy = load_cvxpy(self.solver)
        count = rows.shape[1]
        cells = cvxpy.Variable(count)
        constraints = [cells >= 0, cvxpy.sum(cells) == count]
        distance = 0.5 * cvxpy.sum_squares(rows @ cells - right)
        programme = cvxpy.Problem(cvxpy.Minimize(distance), constraints)
        status, iterations = run(programme, self.solver, self.time_limit)
        return status, iterations, cells.value


def _scipy(rows: Floats, right: Floats) -> tuple[Status, int, Floats | None]:
    """The same as `LeastSquares._cvxpy`, by `scipy.optimize.nnls`."""
    import scipy.optimize

    count = rows.shape[1]
    # scipy takes no equations: the sum of the cells becomes a heavy row.
    heavy = _HEAVY * float(np.abs(rows).max()) / count
    all_rows = np.concatenate([rows, np.full((1, count), heavy)])
    all_right = np.append(right, heavy * count)
    limit = 30 * count
    try:
        cells, _ = scipy.optimize.nnls(all_rows, all_right, maxiter=limit)
    except RuntimeError:
        return Status.ITERATION_LIMIT, limit, None
    return Status.OPTIMAL, 0, np.asarray(cells)
