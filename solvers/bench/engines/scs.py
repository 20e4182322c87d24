"""`ScsEngine`: the splitting conic solver SCS, for continuous models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ...status import Status
from ..models.model import Model
from .clarabel import conic, dual_of_conic
from .ended import Ended
from .library import Library

__all__ = ["ScsEngine"]

_STATUS = {1: Status.OPTIMAL, 2: Status.ITERATION_LIMIT, -2: Status.INFEASIBLE}
"""The `Status` for each code of SCS; any other one is `FAILED`."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class ScsEngine(Library):
    """Solves continuous models with squares and exponential cones by SCS.

    Parameters
    ----------
    tolerance
        The absolute and relative residual at which it stops, and the residual at which it calls a
        model infeasible.
    iterations
        The largest number of iterations.
    """

    module: ClassVar[str] = "scs"
    statuses: ClassVar[Mapping[Any, Status]] = _STATUS
    takes_cones: ClassVar[bool] = True
    tolerance: float = 1e-8
    iterations: int = 200_000

    def solve(self, scs: Any, model: Model, time_limit: float | None) -> Ended:
        equal, below, above, rows, right = conic(model)
        data = {
            "A": sparse.csc_matrix(rows),
            "b": right,
            "c": model.cost,
            "P": sparse.csc_matrix(sparse.diags_array(model.square)),
        }
        cones = {"z": len(equal), "l": len(below) + len(above), "ep": model.cones}
        solver = scs.SCS(
            data,
            cones,
            eps_abs=self.tolerance,
            eps_rel=self.tolerance,
            eps_infeas=self.tolerance,
            max_iters=self.iterations,
            time_limit_secs=time_limit or 0.0,
            verbose=False,
        )
        found = solver.solve()
        code = int(found["info"]["status_val"])
        stopped = code == 2 and time_limit is not None
        status = Status.TIME_LIMIT if stopped else _STATUS.get(code, Status.FAILED)
        point = np.array(found["x"], np.float64)
        return Ended(
            status=status,
            point=point,
            work=int(found["info"]["iter"]),
            dual=dual_of_conic(model, equal, below, above, np.array(found["y"], np.float64)),
            detail=str(found["info"]["status"]),
        )
