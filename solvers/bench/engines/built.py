"""`CvxpyEngine` and `PulpEngine`: modelling languages, with any solver that they find installed."""

import re
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...backends import available, load_cvxpy, load_highs, load_pulp, run
from ...status import Status
from ..models.model import Model
from ..models.written import dual_of_cvxpy, dual_of_pulp, to_cvxpy, to_pulp
from .ended import Ended

__all__ = ["CvxpyEngine", "PulpEngine"]

_STATUS = {
    "Optimal Solution Found": Status.OPTIMAL,
    "Solution Found": Status.TIME_LIMIT,
    "No Solution Exists": Status.INFEASIBLE,
}
"""The `Status` for each solution status of PuLP; any other one is `FAILED`."""


_CBC = "PULP_CBC_CMD"
_HIGHS = "HiGHS"

_BOUND_OF_CBC = re.compile(r"^Lower bound:\s+(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$", re.MULTILINE)
"""What CBC prints of its bound if it stops before the end of an integer programme."""

_DIGITS_OF_CBC = 0.0005
"""Half of the last of the three digits of this bound: it is rounded to the nearest."""


_ENDLESS = 1e50
"""The bound of CBC is of this size if it has none."""


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

    tells_dual: ClassVar[bool] = True
    tells_bound: ClassVar[bool] = False
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
            dual=None if x.value is None else dual_of_cvxpy(model, programme),
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
    tells_dual: ClassVar[bool] = True
    tells_bound: ClassVar[bool] = True
    solver: str = _CBC

    def __call__(self, model: Model, *, time_limit: float | None = None) -> Ended:
        if not available("pulp"):
            return Ended(status=Status.MISSING, detail="pulp is not installed")
        if not model.linear:
            return Ended(status=Status.UNSUPPORTED, detail="PuLP takes linear models only")
        pulp = load_pulp()
        if self.solver == _HIGHS and available("highspy"):
            load_highs()
        if self.solver not in pulp.listSolvers(onlyAvailable=True):
            return Ended(status=Status.MISSING, detail=f"PuLP finds no solver {self.solver}")
        problem = to_pulp(model)
        options: dict[str, Any] = {} if time_limit is None else {"timeLimit": time_limit}
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            # PuLP warns of its next version, and of what solvers cannot do.
            warnings.simplefilter("ignore")
            printed = Path(folder) / "output.txt"
            if self.solver == _CBC:
                options["logPath"] = str(printed)
            solver = pulp.getSolver(self.solver, msg=False, threads=1, gapRel=0.0, **options)
            problem.solve(solver)
            output = printed.read_text(errors="replace") if printed.exists() else ""
        ended = str(pulp.LpSolution[problem.sol_status])
        status = _STATUS.get(ended, Status.FAILED)
        named = problem.variablesDict()
        values = [named[f"x{place}"].value() for place in range(model.columns)]
        found = status in (Status.OPTIMAL, Status.TIME_LIMIT)
        point = np.array(values, np.float64) if found and None not in values else None
        bound = self._bound(model, problem, output)
        if bound is None and status is Status.OPTIMAL and point is not None:
            # A gap of zero was asked for: the objective of an optimum is the bound.
            bound = model.objective(point)
        tells_dual = status is Status.OPTIMAL and not model.integral
        return Ended(
            status=status,
            point=point,
            bound=bound,
            dual=dual_of_pulp(model, problem) if tells_dual else None,
            detail=ended,
        )

    def _bound(self, model: Model, problem: Any, output: str) -> float | None:
        """The bound of the solver, which PuLP does not pass on: of HiGHS by its own object, of CBC
        by what it printed. None if neither tells it."""
        if self.solver == _HIGHS:
            bound = float(problem.solverModel.getInfo().mip_dual_bound)
            is_told = model.integral
        else:
            told = _BOUND_OF_CBC.findall(output)
            bound = float(told[-1]) - _DIGITS_OF_CBC if told else -np.inf
            is_told = bool(told)
        # PuLP tells its solvers nothing of the constant of the objective.
        return bound + model.offset if is_told and abs(bound) < _ENDLESS else None
