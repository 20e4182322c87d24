"""`CvxpyEngine` and `PulpEngine`: modelling languages, with any solver that they find installed."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...backends import available, load_cvxpy, load_pulp, run
from ...status import Status
from ..models.model import Model
from ..models.written import to_cvxpy, to_pulp
from .ended import Ended

__all__ = ["CvxpyEngine", "PulpEngine"]

_STATUS = {
    "Optimal Solution Found": Status.OPTIMAL,
    "Solution Found": Status.TIME_LIMIT,
    "No Solution Exists": Status.INFEASIBLE,
}
"""The `Status` for each solution status of PuLP; any other one is `FAILED`."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class CvxpyEngine:
    """Writes a model as a programme of cvxpy and solves it there.

    Parameters
    ----------
    solver
        The name of the solver in cvxpy.
    """

    solver: str = "CLARABEL"

    def __call__(self, model: Model, *, time_limit: float | None = None) -> Ended:
        load_cvxpy(self.solver)
        programme = to_cvxpy(model)
        status, iterations = run(programme, self.solver, time_limit)
        (x,) = programme.variables()
        return Ended(
            status=status,
            point=None if x.value is None else np.array(x.value, np.float64),
            work=iterations,
            detail=str(programme.status),
        )


@dataclass(
    frozen=True,
    kw_only=True,
)
class PulpEngine:
    """Writes a linear model as a problem of PuLP and solves it there.

    Parameters
    ----------
    solver
        The name of the solver in PuLP.
    """

    statuses: ClassVar[Mapping[Any, Status]] = _STATUS
    solver: str = "PULP_CBC_CMD"

    def __call__(self, model: Model, *, time_limit: float | None = None) -> Ended:
        if not available("pulp"):
            return Ended(status=Status.MISSING, detail="pulp is not installed")
        if not model.linear:
            return Ended(status=Status.UNSUPPORTED, detail="PuLP takes linear models only")
        pulp = load_pulp()
        if self.solver not in pulp.listSolvers(onlyAvailable=True):
            return Ended(status=Status.MISSING, detail=f"PuLP finds no solver {self.solver}")
        problem = to_pulp(model)
        options: dict[str, Any] = {} if time_limit is None else {"timeLimit": time_limit}
        with warnings.catch_warnings():
            # PuLP warns of its next version, and of what solvers cannot do.
            warnings.simplefilter("ignore")
            solver = pulp.getSolver(self.solver, msg=False, threads=1, gapRel=0.0, **options)
            problem.solve(solver)
        ended = str(pulp.LpSolution[problem.sol_status])
        status = _STATUS.get(ended, Status.FAILED)
        named = problem.variablesDict()
        values = [named[f"x{place}"].value() for place in range(model.columns)]
        found = status in (Status.OPTIMAL, Status.TIME_LIMIT)
        return Ended(
            status=status,
            point=np.array(values, np.float64) if found and None not in values else None,
            detail=ended,
        )
