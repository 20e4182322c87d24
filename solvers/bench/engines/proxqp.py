"""`ProxQpEngine`: the proximal augmented Lagrangian solver ProxQP, for quadratic models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ...status import Status
from ..models.model import Model
from .ended import Ended
from .forms import FAR, dual_of_equations, equations
from .library import Library

__all__ = ["ProxQpEngine"]

_STATUS = {
    "PROXQP_SOLVED": Status.OPTIMAL,
    "PROXQP_MAX_ITER_REACHED": Status.ITERATION_LIMIT,
    "PROXQP_PRIMAL_INFEASIBLE": Status.INFEASIBLE,
}
"""The `Status` for each status of ProxQP; any other one is `FAILED`."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class ProxQpEngine(Library):
    """Solves continuous models without cones by ProxQP. It has no time limit.

    Parameters
    ----------
    tolerance
        The absolute residual at which it stops, and at which it calls a model infeasible.
    iterations
        The largest number of outer iterations.
    """

    module: ClassVar[str] = "proxsuite"
    statuses: ClassVar[Mapping[Any, Status]] = _STATUS
    tolerance: float = 1e-8
    iterations: int = 10_000

    def solve(self, proxsuite: Any, model: Model, time_limit: float | None) -> Ended:
        proxqp = proxsuite.proxqp
        equal, right, rows, lower, upper = equations(model)
        # The bounds of the columns are rows, as the sparse solver takes no others.
        identity = sparse.eye_array(model.columns)
        inside = sparse.csc_matrix(sparse.vstack([rows, identity]))
        solver = proxqp.sparse.QP(model.columns, equal.shape[0], inside.shape[0])
        solver.settings.eps_abs = self.tolerance
        solver.settings.eps_rel = 0.0
        solver.settings.eps_primal_inf = self.tolerance
        solver.settings.eps_dual_inf = self.tolerance
        solver.settings.max_iter = self.iterations
        solver.init(
            sparse.csc_matrix(sparse.diags_array(model.square)),
            model.cost,
            sparse.csc_matrix(equal),
            right,
            inside,
            np.clip(np.concatenate([lower, model.least]), -FAR, FAR),
            np.clip(np.concatenate([upper, model.most]), -FAR, FAR),
        )
        solver.solve()
        ended = solver.results.info.status
        status = _STATUS.get(str(ended).rpartition(".")[2], Status.FAILED)
        point = np.array(solver.results.x, np.float64)
        has_point = status in (Status.OPTIMAL, Status.ITERATION_LIMIT)
        # The multipliers of the bounds of the columns come last.
        of_rows = np.array(solver.results.z, np.float64)[: rows.shape[0]]
        dual = dual_of_equations(model, -np.array(solver.results.y, np.float64), -of_rows)
        return Ended(
            status=status,
            point=point if has_point else None,
            work=int(solver.results.info.iter),
            dual=dual if has_point else None,
            detail=str(ended),
        )
