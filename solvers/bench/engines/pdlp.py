"""`PdlpEngine`: the first-order solver PDLP of ortools, for linear and quadratic models."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ...status import Status
from ..models.model import Model
from .ended import Ended
from .library import Library

__all__ = ["PdlpEngine"]

_STATUS = {
    "TERMINATION_REASON_OPTIMAL": Status.OPTIMAL,
    "TERMINATION_REASON_PRIMAL_INFEASIBLE": Status.INFEASIBLE,
    "TERMINATION_REASON_TIME_LIMIT": Status.TIME_LIMIT,
    "TERMINATION_REASON_ITERATION_LIMIT": Status.ITERATION_LIMIT,
}
"""The `Status` for each reason of PDLP to stop; any other one is `FAILED`."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class PdlpEngine(Library):
    """Solves linear and diagonal quadratic models by PDLP.

    ortools cannot be loaded into one process with highspy: `compare` gives each solver a process of
    its own.

    Parameters
    ----------
    tolerance
        The absolute and relative residual and gap at which it stops, and the residual at which it
        calls a model infeasible.
    """

    module: ClassVar[str] = "ortools"
    statuses: ClassVar[Mapping[Any, Status]] = _STATUS
    tolerance: float = 1e-8

    def solve(self, ortools: Any, model: Model, time_limit: float | None) -> Ended:
        pdlp: Any = importlib.import_module("ortools.pdlp.python.pdlp")  # without types
        logs: Any = importlib.import_module("ortools.pdlp.solve_log_pb2")
        settings: Any = importlib.import_module("ortools.pdlp.solvers_pb2")
        programme = pdlp.QuadraticProgram()
        programme.resize_and_initialize(model.columns, model.rows)
        programme.objective_vector = model.cost
        programme.objective_offset = model.offset
        programme.constraint_matrix = sparse.csc_matrix(model.matrix)
        programme.constraint_lower_bounds = model.lower
        programme.constraint_upper_bounds = model.upper
        programme.variable_lower_bounds = model.least
        programme.variable_upper_bounds = model.most
        if model.quadratic:
            programme.set_objective_matrix_diagonal(model.square)
        options = settings.PrimalDualHybridGradientParams()
        criteria = options.termination_criteria
        criteria.simple_optimality_criteria.eps_optimal_absolute = self.tolerance
        criteria.simple_optimality_criteria.eps_optimal_relative = self.tolerance
        criteria.eps_primal_infeasible = self.tolerance
        criteria.eps_dual_infeasible = self.tolerance
        if time_limit is not None:
            criteria.time_sec_limit = float(time_limit)
        found = pdlp.primal_dual_hybrid_gradient(programme, options)
        reason = str(logs.TerminationReason.Name(found.solve_log.termination_reason))
        point = np.array(found.primal_solution, np.float64)
        return Ended(
            status=_STATUS.get(reason, Status.FAILED),
            point=point if len(point) else None,
            work=int(found.solve_log.iteration_count),
            dual=np.array(found.dual_solution, np.float64) if len(point) else None,
            detail=reason,
        )
