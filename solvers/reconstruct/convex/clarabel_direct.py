"""`ClarabelDirect`: maximum entropy under noisy moments by Clarabel, without a modelling layer."""

import importlib
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...backends import available
from ...status import Status
from ..batch import OneByOne
from ..dual import Penalised
from ..problem import Problem, Solution


@dataclass(frozen=True, kw_only=True)
class ClarabelDirect(Penalised, OneByOne):
    """The programme of `Newton` as Clarabel's own input.

    Variables are the n cells p that need not be zero, n bounds h and m scaled misses r. Minimise
    -sum(h) + |r| ** 2 / 2 subject to sum(p) = 1, r = (F p - target) / sqrt(ridge), and (h, p, 1) in
    the exponential cone, p exp(h / p) <= 1, which bounds h by the entropy -p log p.

    Parameters
    ----------
    strength
        As for `Newton`; `tolerance` is that of the gap and `iterations` that of interior-point
        steps.
    time_limit
        Seconds, or None.
    """

    tolerance: float = 1e-10
    time_limit: float | None = None

    def answer(self, problem: Problem) -> Solution:
        started = time.process_time()
        status, iterations, found = Status.MISSING, 0, None
        if available("clarabel"):
            status, iterations, found = self._solve(problem)
        return problem.solution(
            found,
            status=status,
            objective=self.objective,
            iterations=iterations,
            seconds=time.process_time() - started,
            relaxation=self.strength_on(problem.shape),
        )

    def _solve(
        self, problem: Problem
    ) -> tuple[Status, int, np.ndarray[tuple[int], np.dtype[np.float64]] | None]:
        clarabel: Any = importlib.import_module("clarabel")  # without types
        cells, known = len(problem.possible), len(problem.index)
        scale = 1 / np.sqrt(self.ridge(problem))
        functions = problem.functions(np.eye(known))[:, problem.possible] * scale[:, None]
        quadratic = sparse.diags_array(
            np.concatenate([np.zeros(2 * cells), np.ones(known)])
        ).tocsc()
        linear = np.concatenate([np.zeros(cells), -np.ones(cells), np.zeros(known)])
        sum_row = np.append(np.ones(cells), np.zeros(cells + known))[None, :]
        misses = np.concatenate([functions, np.zeros((known, cells)), -np.eye(known)], axis=1)
        equal = sparse.csc_array(np.concatenate([sum_row, misses]))
        place = np.arange(cells)
        rows, columns = (
            np.concatenate([3 * place, 3 * place + 1]),
            np.concatenate([cells + place, place]),
        )
        cone = sparse.csc_array(
            (-np.ones(2 * cells), (rows, columns)), shape=(3 * cells, 2 * cells + known)
        )
        right = np.concatenate([[1.0], problem.target * scale, np.tile([0.0, 0.0, 1.0], cells)])
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter = False, self.iterations
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = self.tolerance
        if self.time_limit is not None:
            settings.time_limit = self.time_limit
        cones = [clarabel.ZeroConeT(1 + known), *[clarabel.ExponentialConeT()] * cells]
        constraints = sparse.vstack([equal, cone]).tocsc()
        found = clarabel.DefaultSolver(
            quadratic, linear, constraints, right, cones, settings
        ).solve()
        status = _STATUS.get(str(found.status), Status.FAILED)
        answered = status in (Status.OPTIMAL, Status.ITERATION_LIMIT, Status.TIME_LIMIT)
        return (
            status,
            int(found.iterations),
            problem.spread(np.array(found.x[:cells])) if answered else None,
        )


_STATUS = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.ITERATION_LIMIT,
    "MaxIterations": Status.ITERATION_LIMIT,
    "InsufficientProgress": Status.ITERATION_LIMIT,
    "MaxTime": Status.TIME_LIMIT,
    "PrimalInfeasible": Status.INFEASIBLE,
}
