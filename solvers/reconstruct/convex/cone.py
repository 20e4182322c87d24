"""Maximum entropy under noisy moments as an exponential-cone programme, solved through cvxpy."""

import time
from dataclasses import dataclass

import numpy as np

from ...backends import load_cvxpy, run
from ..batch import OneByOne
from ..dual import Penalised
from ..problem import Problem, Solution


@dataclass(
    frozen=True,
    kw_only=True,
)
class Cone(Penalised, OneByOne):
    """Solves the problem of `Newton` by an exponential-cone solver of cvxpy: Clarabel, SCS, ...

    Parameters
    ----------
    solver
        The name of the solver in cvxpy: CLARABEL, SCS, ...
    strength
        As for `Newton`. The back-end has its own tolerances; `tolerance` and `iterations` are not
        used.
    time_limit
        Seconds, or None.
    """

    solver: str = "CLARABEL"
    time_limit: float | None = None

    def answer(self, problem: Problem) -> Solution:
        """The table that the back-end finds."""
        cvxpy = load_cvxpy(self.solver)
        started = time.process_time()
        ridge = self.ridge(problem)
        cells = cvxpy.Variable(len(problem.possible))
        objective = -cvxpy.sum(cvxpy.entr(cells))
        if len(ridge):
            # Residuals are divided by the root of their ridge: the programme is then well scaled.
            root = np.sqrt(ridge)
            functions = problem.functions(np.eye(len(ridge)))[:, problem.possible]
            misses = (functions / root[:, None]) @ cells - problem.target / root
            objective += 0.5 * cvxpy.sum_squares(misses)
        programme = cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.sum(cells) == 1])
        status, iterations = run(programme, self.solver, self.time_limit)
        return problem.solution(
            None if cells.value is None else problem.spread(cells.value),
            status=status,
            objective=self.objective,
            iterations=iterations,
            seconds=time.process_time() - started,
            relaxation=self.strength_on(problem.shape),
        )
