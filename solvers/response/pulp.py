"""A back-end for a `BestResponse`: any solver of the package PuLP, such as CBC, HiGHS or SCIP."""

import inspect
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backends import load_highs, load_pulp
from ..status import Status
from ..threads import end_threads_of_highs
from ..types import Floats
from .best_response import BestResponse, Response, Seed
from .milp import check_limits, conclude, settled
from .programme import Programme


@dataclass(
    frozen=True,
    kw_only=True,
)
class Pulp:
    """Solves the integer programme of `Programme` by a solver of PuLP, free or commercial.

    The model takes longer to build than with `Milp` or `Highs`. PuLP gives no bound:
    `Status.OPTIMAL` is the claim of the solver, which a short run of annealing checks. Some solvers
    report "optimal" when they reach their time limit. So an answer that took nearly as long as the
    limit gets `Status.TIME_LIMIT`. `Response.work` is the number of columns.

    Parameters
    ----------
    solver
        A name that PuLP lists (``PULP_CBC_CMD``, ``COIN_CMD``, ``HiGHS``, ``SCIP_PY``, ``GUROBI``,
        ``CPLEX_CMD``, ...), or one of its solver objects, with any options.
    nodes
        The largest number of nodes of branch and bound, or None; only for solvers to which PuLP can
        pass it.
    time_limit
        Seconds, or None.
    published
        Whether the programme is stated as in the paper, with one row for each conjunction, instead
        of one row for each literal. Both have the same best records; proofs take longer.
    """

    solver: Any = "PULP_CBC_CMD"
    nodes: int | None = None
    time_limit: float | None = None
    published: bool = False

    def __post_init__(self) -> None:
        check_limits(self.nodes, self.time_limit)

    def solve(
        self,
        instance: BestResponse,
        /,
        *,
        seed: Seed = 0,
    ) -> Response:
        """Find a good record for the instance; see `Responder.solve`."""
        programme = Programme.of(instance, published=self.published)
        if programme.columns == 0:
            return settled(instance, seed=seed)
        with warnings.catch_warnings():
            # PuLP warns of its next version, and of what solvers cannot do.
            warnings.simplefilter("ignore")
            try:
                status, point, detail = self._run(programme)
            except ImportError as error:
                return instance.respond(
                    None,
                    status=Status.MISSING,
                    detail=f"PuLP: {error}",
                )
            except Exception as error:  # a solver of PuLP may raise anything
                status = Status.FAILED
                point = None
                detail = f"{self.name}: {type(error).__name__}: {error}"
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
    def name(self) -> str:
        """The name of the solver of PuLP."""
        return self.solver if isinstance(self.solver, str) else type(self.solver).__name__

    def _run(self, programme: Programme) -> tuple[Status, Floats | None, str]:
        """Call the solver; returns the status, the point or None, and what went wrong."""
        pulp = load_pulp()  # only on use, since it loads HiGHS
        solver = self._solver(pulp)
        if solver is None or not solver.available():
            there = ", ".join(pulp.listSolvers(onlyAvailable=True))
            return (
                Status.MISSING,
                None,
                (f"PuLP finds no solver {self.name}; those that it finds here are {there}"),
            )
        model, columns = _model(pulp, programme)
        started = time.monotonic()
        model.solve(solver)
        seconds = time.monotonic() - started
        status = self._status(pulp, model.sol_status)
        if self.time_limit is not None and seconds >= 0.95 * self.time_limit:
            status = Status.TIME_LIMIT
        detail = "" if status.ok else f"{self.name}: {pulp.LpSolution[model.sol_status]}"
        values: list[float] = [column.value() for column in columns]
        found = model.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
        if not found or None in values:
            return status, None, detail
        return status, np.array(values, np.float64), detail

    def _status(
        self,
        pulp: Any,
        ended: int,
    ) -> Status:
        """Translate a status of PuLP to a `Status`."""
        stopped = Status.ITERATION_LIMIT if self.time_limit is None else Status.TIME_LIMIT
        nothing = Status.FAILED if self.nodes is None else Status.ITERATION_LIMIT
        statuses = {
            pulp.LpSolutionOptimal: Status.OPTIMAL,
            pulp.LpSolutionIntegerFeasible: stopped,
            pulp.LpSolutionInfeasible: Status.INFEASIBLE,
            pulp.LpSolutionNoSolutionFound: nothing,
        }
        return statuses.get(ended, Status.FAILED)

    def _solver(self, pulp: Any) -> Any:
        """The solver with its limits, or None if PuLP has none of this name."""
        if not isinstance(self.solver, str):
            return self.solver
        made = getattr(pulp, self.solver, None) or getattr(pulp.apis, self.solver, None)
        if made is None or self.solver not in pulp.listSolvers():
            return None
        if not made(msg=False).available():
            return None
        if self.solver == "HiGHS":
            end_threads_of_highs(load_highs())
        known = inspect.signature(made.__init__).parameters
        if self.nodes is not None and "maxNodes" not in known:
            raise ValueError(
                "nodes= needs a solver with a limit of nodes, but PuLP cannot pass one to "
                f"{self.solver}; leave out nodes="
            )
        options = {
            "timeLimit": self.time_limit,
            "maxNodes": self.nodes,
            "threads": 1,
            "gapRel": 0.0,
        }
        taken = {
            name: value for name, value in options.items() if value is not None and name in known
        }
        return made(
            msg=False,
            **taken,
        )


def _model(pulp: Any, programme: Programme) -> tuple[Any, list[Any]]:
    """Write the programme as a model of PuLP; returns the model and its variables."""
    model = pulp.LpProblem("best_response", pulp.LpMaximize)
    columns = []
    tops = zip(programme.top.tolist(), programme.whole.tolist(), strict=True)
    for place, (top, whole) in enumerate(tops):
        kind = pulp.LpInteger if whole else pulp.LpContinuous
        columns.append(pulp.LpVariable(f"y{place}", 0, top, kind))
    # Columns of cost zero are in it, too: some solvers know only the columns that they see.
    model += pulp.LpAffineExpression(zip(columns, programme.cost.tolist(), strict=True))
    matrix = programme.matrix
    starts = matrix.indptr.tolist()
    places = matrix.indices.tolist()
    values = matrix.data.tolist()
    bounds = zip(programme.lower.tolist(), programme.upper.tolist(), strict=True)
    for row, (lower, upper) in enumerate(bounds):
        entries = range(starts[row], starts[row + 1])
        parts = [(columns[places[entry]], values[entry]) for entry in entries]
        total = pulp.LpAffineExpression(parts)
        if lower == upper:
            model += pulp.LpConstraint(total, pulp.LpConstraintEQ, rhs=lower)
            continue
        if lower > -np.inf:
            model += pulp.LpConstraint(total, pulp.LpConstraintGE, rhs=lower)
        if upper < np.inf:
            model += pulp.LpConstraint(total.copy(), pulp.LpConstraintLE, rhs=upper)
    return model, columns
