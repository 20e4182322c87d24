"""Maximum entropy as first published: constraints are relaxed step by step until it is feasible."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...backends import load_cvxpy, run
from ...projection import projection
from ...status import Status
from ...types import Floats
from ..batch import OneByOne
from ..dual import divergence
from ..problem import Problem, Solution

_Margins = list[tuple[tuple[int, ...], Floats]]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Ladder(OneByOne):
    """Maximum entropy under exact marginals, relaxed by rising tolerances until an answer exists.

    Qardaji, Yang and Li, SIGMOD 2014, section 4.3: maximise the entropy of T >= 0 such that each
    known marginal equals the marginal of T. If the solver finds no such table, replace each
    equality by a pair of inequalities with an increasing tolerance. At the largest tolerance the
    uniform table is the answer.

    `Solution.objective` is KL(p || uniform) in nats, which falls as the entropy rises.
    `Solution.relaxation` is the tolerance that was needed.

    Parameters
    ----------
    solver
        The name of an installed cvxpy solver for exponential cones.
    first
        The first tolerance after the equalities, as a share of the total.
    factor
        The ratio of each tolerance to the one before, > 1.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    solver: str = "CLARABEL"
    first: float = 1e-6
    factor: float = 10.0

    def __post_init__(self) -> None:
        if not self.first > 0:
            raise ValueError(f"first ({self.first}) must be > 0; pass a larger number")
        if not self.factor > 1:
            raise ValueError(f"factor ({self.factor}) must be > 1; pass a larger number")

    def answer(self, problem: Problem) -> Solution:
        """Try rising tolerances; the table is that of the first one that has a solution."""
        load_cvxpy(self.solver)
        started = time.process_time()
        margins = problem.margins()
        # At this tolerance the uniform table meets the constraints, and no table has more entropy.
        last = 0.0
        for places, marginal in margins:
            uniform = projection(problem.shape, places) @ problem.uniform
            last = max(last, float(np.abs(marginal.ravel() - uniform).max()))
        tolerance = 0.0
        iterations = 0
        table: Floats | None = None
        status = Status.OPTIMAL
        while table is None and tolerance < last and status is not Status.MISSING:
            status, table, iterations = self._attempt(problem, margins, tolerance)
            if table is None:
                tolerance = max(self.first, tolerance * self.factor)
        if table is None and status is not Status.MISSING:
            tolerance = min(tolerance, last)
            table = problem.uniform
        if table is not None:
            status = Status.RELAXED if tolerance else Status.OPTIMAL
        return problem.solution(
            table,
            status=status,
            objective=divergence,
            iterations=iterations,
            seconds=time.process_time() - started,
            relaxation=tolerance,
        )

    def _attempt(
        self,
        problem: Problem,
        margins: _Margins,
        tolerance: float,
    ) -> tuple[Status, Floats | None, int]:
        """Solve with one tolerance; returns the status, the table or None, and the iterations."""
        cvxpy = load_cvxpy(self.solver)
        table = cvxpy.Variable(len(problem.possible), nonneg=True)
        constraints: list[Any] = [cvxpy.sum(table) == 1]
        for places, marginal in margins:
            projected = projection(problem.shape, places)[:, problem.possible] @ table
            if tolerance:
                constraints.append(cvxpy.abs(projected - marginal.ravel()) <= tolerance)
            else:
                constraints.append(projected == marginal.ravel())
        programme = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.entr(table))), constraints)
        status, iterations = run(programme, self.solver, None, accurate=False)
        if status is not Status.OPTIMAL or table.value is None:
            return status, None, iterations
        return status, problem.spread(table.value), iterations
