"""`OsqpEngine`: the operator-splitting solver OSQP, for linear and quadratic models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ...status import Status
from ..models.model import Model
from .ended import Ended
from .forms import boxed
from .library import Library

__all__ = ["OsqpEngine"]

_STATUS = {
    "solved": Status.OPTIMAL,
    "solved inaccurate": Status.ITERATION_LIMIT,
    "maximum iterations reached": Status.ITERATION_LIMIT,
    "run time limit reached": Status.TIME_LIMIT,
    "primal infeasible": Status.INFEASIBLE,
}
"""The `Status` for each status of OSQP; any other one is `FAILED`."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class OsqpEngine(Library):
    """Solves continuous models without cones by OSQP.

    Parameters
    ----------
    tolerance
        The absolute and relative residual at which it stops, and the residual at which it calls a
        model infeasible.
    iterations
        The largest number of iterations.
    """

    module: ClassVar[str] = "osqp"
    statuses: ClassVar[Mapping[Any, Status]] = _STATUS
    tolerance: float = 1e-8
    iterations: int = 200_000

    def solve(self, osqp: Any, model: Model, time_limit: float | None) -> Ended:
        form = boxed(model)
        solver = osqp.OSQP()
        options: dict[str, Any] = {} if time_limit is None else {"time_limit": time_limit}
        solver.setup(
            P=sparse.csc_matrix(form.square),
            q=form.cost,
            A=sparse.csc_matrix(form.matrix),
            l=form.lower,
            u=form.upper,
            eps_abs=self.tolerance,
            eps_rel=self.tolerance,
            eps_prim_inf=self.tolerance,
            eps_dual_inf=self.tolerance,
            max_iter=self.iterations,
            polishing=True,
            verbose=False,
            **options,
        )
        found = solver.solve(raise_error=False)
        status = _STATUS.get(str(found.info.status), Status.FAILED)
        point = None if found.x is None else np.array(found.x, np.float64)
        has_point = point is not None and bool(np.isfinite(point).all())
        return Ended(
            status=status,
            point=point if has_point else None,
            work=int(found.info.iter),
            dual=-np.array(found.y, np.float64)[: model.rows] if has_point else None,
            detail=str(found.info.status),
        )
