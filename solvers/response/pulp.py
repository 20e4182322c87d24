"""`Pulp`: a `BestResponse` by any solver that PuLP knows: CBC, HiGHS, SCIP, and commercial ones."""

import importlib
import inspect
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backends import available
from ..status import Status
from ..types import Floats
from .integer import BestResponse, Response, Seed
from .milp import conclude, settled
from .programme import Programme


@dataclass(frozen=True, kw_only=True)
class Pulp:
    """A solver of PuLP on the arrays of `Programme`. Building the model takes longer than with
    `Milp` or `Highs`.

    PuLP tells no bound: `Status.OPTIMAL` is the solver's word, held against a short run of
    annealing. Some solvers say "optimal" when their time is up, so nothing is called optimal that
    took as long as the limit. `Response.work` is the number of columns.

    Parameters
    ----------
    solver
        A name that PuLP lists (``PULP_CBC_CMD``, ``COIN_CMD``, ``HiGHS``, ``SCIP_PY``, ``GUROBI``,
        ``CPLEX_CMD``, ...), or one of its solver objects, with whatever options.
    nodes
        Of branch and bound at most, or None; for solvers that PuLP can tell.
    time_limit
        Seconds, or None.
    """

    solver: Any = "PULP_CBC_CMD"
    nodes: int | None = None
    time_limit: float | None = None

    def solve(self, instance: BestResponse, /, *, seed: Seed = 0) -> Response:
        """See `Responder`."""
        programme = Programme.of(instance)
        if programme.columns == 0:
            return settled(instance, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # PuLP warns of its next version, and of what solvers cannot do
            try:
                status, point, detail = self._run(programme)
            except ImportError as error:
                status = Status.MISSING
                point = None
                detail = f"PuLP: {error}"
            except (
                Exception
            ) as error:  # whatever a solver of PuLP raises, there is no answer from it
                status = Status.FAILED
                point = None
                detail = f"{self._name}: {type(error).__name__}: {error}"
        return conclude(
            instance,
            programme,
            point,
            status=status,
            bound=None,
            work=programme.columns,
            seed=seed,
            detail=detail,
        )

    @property
    def _name(self) -> str:
        return self.solver if isinstance(self.solver, str) else type(self.solver).__name__

    def _run(self, programme: Programme) -> tuple[Status, Floats | None, str]:
        if available("osqp"):
            importlib.import_module("osqp")  # in a process that loads it after PuLP, it crashes
        pulp: Any = importlib.import_module("pulp")  # it loads highspy, so only when it is used
        solver = self._solver(pulp)
        if solver is None or not solver.available():
            return Status.MISSING, None, f"PuLP finds no solver {self._name}"
        model, columns = _model(pulp, programme)
        started = time.monotonic()
        model.solve(solver)
        late = self.time_limit is not None and time.monotonic() - started >= 0.95 * self.time_limit
        status = {
            pulp.LpSolutionOptimal: Status.OPTIMAL,
            pulp.LpSolutionIntegerFeasible: Status.ITERATION_LIMIT
            if self.time_limit is None
            else Status.TIME_LIMIT,
            pulp.LpSolutionInfeasible: Status.INFEASIBLE,
            pulp.LpSolutionNoSolutionFound: Status.FAILED
            if self.nodes is None
            else Status.ITERATION_LIMIT,
        }.get(model.sol_status, Status.FAILED)
        if late:
            status = Status.TIME_LIMIT
        values: list[float] | None = [column.value() for column in columns]
        found = model.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
        if not found or None in (values or ()):
            values = None
        detail = "" if status.ok else f"{self._name}: {pulp.LpSolution[model.sol_status]}"
        return status, None if values is None else np.array(values, np.float64), detail

    def _solver(self, pulp: Any) -> Any:
        """The solver with its limits, or None if PuLP has none of this name."""
        if not isinstance(self.solver, str):
            return self.solver
        made = getattr(pulp, self.solver, None) or getattr(pulp.apis, self.solver, None)
        if made is None or self.solver not in pulp.listSolvers():
            return None
        if not made(msg=False).available():
            return None
        known = inspect.signature(made.__init__).parameters
        wanted = {"timeLimit": self.time_limit, "maxNodes": self.nodes, "threads": 1, "gapRel": 0.0}
        if self.nodes is not None and "maxNodes" not in known:
            raise ValueError("PuLP cannot tell this solver a limit of nodes")
        return made(
            msg=False,
            **{
                name: value for name, value in wanted.items() if value is not None and name in known
            },
        )


def _model(pulp: Any, programme: Programme) -> tuple[Any, list[Any]]:
    """PuLP's own form of the arrays."""
    model = pulp.LpProblem("best_response", pulp.LpMaximize)
    columns = [
        pulp.LpVariable(f"y{place}", 0, top, pulp.LpInteger if whole else pulp.LpContinuous)
        for place, (top, whole) in enumerate(
            zip(programme.top.tolist(), programme.whole.tolist(), strict=True)
        )
    ]
    # Columns of no worth are in it, too: some solvers know only the columns that they see.
    model += pulp.LpAffineExpression(zip(columns, programme.cost.tolist(), strict=True))
    matrix = programme.matrix
    starts = matrix.indptr.tolist()
    places = matrix.indices.tolist()
    values = matrix.data.tolist()
    bounds = zip(programme.lower.tolist(), programme.upper.tolist(), strict=True)
    for row, (lower, upper) in enumerate(bounds):
        entries = range(starts[row], starts[row + 1])
        total = pulp.LpAffineExpression(
            [(columns[places[entry]], values[entry]) for entry in entries]
        )
        if lower == upper:
            model += pulp.LpConstraint(total, pulp.LpConstraintEQ, rhs=lower)
            continue
        if lower > -np.inf:
            model += pulp.LpConstraint(total, pulp.LpConstraintGE, rhs=lower)
        if upper < np.inf:
            model += pulp.LpConstraint(total.copy(), pulp.LpConstraintLE, rhs=upper)
    return model, columns
