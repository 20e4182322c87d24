"""`ScipEngine`: the solver SCIP, through the package pyscipopt, for everything without cones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...status import Status
from ...types import Floats
from ..models.model import Model
from .ended import Ended
from .library import Library

__all__ = ["ScipEngine", "solved", "to_scip"]

_STATUS = {
    "optimal": Status.OPTIMAL,
    "timelimit": Status.TIME_LIMIT,
    "nodelimit": Status.ITERATION_LIMIT,
    "gaplimit": Status.OPTIMAL,
    "infeasible": Status.INFEASIBLE,
}
"""The `Status` for each status of SCIP; any other one is `FAILED`."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class ScipEngine(Library):
    """Solves linear, integer and quadratic models by SCIP.

    A quadratic objective becomes the constraint that a new column is at least as large.

    Parameters
    ----------
    tolerance
        SCIP's tolerance of feasibility; for quadratic models also the relative gap at which it
        stops.
    seed
        The number by which SCIP shifts all its random seeds.

    Examples
    --------
    >>> model = Model(cost=[1, 1], matrix=[[1, 2]], lower=[2], upper=[np.inf])
    >>> ScipEngine()(model).bound
    1.0
    """

    module: ClassVar[str] = "pyscipopt"
    statuses: ClassVar[Mapping[Any, Status]] = _STATUS
    takes_integers: ClassVar[bool] = True
    # Presolve changes the rows, and SCIP does not map multipliers back.
    tells_dual: ClassVar[bool] = False
    tells_bound: ClassVar[bool] = True
    tolerance: float = 1e-7
    seed: int = 0

    def tells(self, integral: bool) -> bool:
        return integral

    def solve(
        self,
        scip: Any,
        model: Model,
        time_limit: float | None,
        improved: Callable[[Floats], None] | None = None,
    ) -> Ended:
        solver, columns = to_scip(scip, model)
        if improved is not None:
            _tell(scip, solver, columns, improved)
        solver.hideOutput()
        solver.setParam("numerics/feastol", self.tolerance)
        solver.setParam("randomization/randomseedshift", self.seed)
        solver.setParam("limits/gap", self.tolerance if model.quadratic else 0.0)
        if time_limit is not None:
            solver.setParam("limits/time", float(time_limit))
        status = solved(solver)
        point = None
        if solver.getNSols():
            point = _best(solver, columns)
        bound = float(solver.getDualbound())
        return Ended(
            status=status,
            point=point,
            bound=bound if abs(bound) < solver.infinity() else None,
            work=int(solver.getNTotalNodes()),
            detail=str(solver.getStatus()),
        )


def _best(solver: Any, columns: list[Any]) -> Floats:
    """The best point that SCIP has found so far."""
    best = solver.getBestSol()
    return np.array([solver.getSolVal(best, column) for column in columns])


def _tell(
    scip: Any,
    solver: Any,
    columns: list[Any],
    improved: Callable[[Floats], None],
) -> None:
    """Let SCIP call a function with each better point."""

    class Telling(scip.Eventhdlr):  # type: ignore[misc]
        """Waits for the event that a better point was found."""

        def eventinit(self) -> None:
            self.model.catchEvent(scip.SCIP_EVENTTYPE.BESTSOLFOUND, self)

        def eventexit(self) -> None:
            self.model.dropEvent(scip.SCIP_EVENTTYPE.BESTSOLFOUND, self)

        def eventexec(self, event: Any) -> None:
            improved(_best(self.model, columns))

    solver.includeEventhdlr(Telling(), "telling", "tells better points")


def solved(solver: Any) -> Status:
    """Let SCIP solve what a `pyscipopt.Model` holds; returns how it ended."""
    try:
        solver.optimize()
    except Exception:  # SCIP raises this class itself, on numerical troubles
        return Status.FAILED
    return _STATUS.get(solver.getStatus(), Status.FAILED)


def to_scip(scip: Any, model: Model) -> tuple[Any, list[Any]]:
    """The model as a `pyscipopt.Model`, and its columns."""
    solver = scip.Model()
    columns = []
    for place in range(model.columns):
        least, most = float(model.least[place]), float(model.most[place])
        columns.append(
            solver.addVar(
                name=f"x{place}",
                vtype="I" if model.whole[place] else "C",
                lb=None if least == -np.inf else least,
                ub=None if most == np.inf else most,
                obj=float(model.cost[place]),
            )
        )
    rows = model.matrix
    for row in range(model.rows):
        span = slice(rows.indptr[row], rows.indptr[row + 1])
        entries = zip(rows.indices[span].tolist(), rows.data[span].tolist(), strict=True)
        total = scip.quicksum(value * columns[place] for place, value in entries)
        lower, upper = float(model.lower[row]), float(model.upper[row])
        if lower == upper:
            solver.addCons(total == lower)
            continue
        if lower > -np.inf:
            solver.addCons(total >= lower)
        if upper < np.inf:
            solver.addCons(total <= upper)
    if model.quadratic:
        height = solver.addVar(name="height", vtype="C", lb=0.0, ub=None, obj=1.0)
        squares = np.flatnonzero(model.square).tolist()
        halves = (0.5 * float(model.square[place]) * columns[place] ** 2 for place in squares)
        solver.addCons(scip.quicksum(halves) <= height)
    solver.addObjoffset(model.offset)
    return solver, columns
