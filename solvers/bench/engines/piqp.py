"""`PiqpEngine`: the proximal interior-point solver PIQP, for linear and quadratic models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ...status import Status
from ..models.model import Model
from .ended import Ended
from .forms import dual_of_equations, equations
from .library import Library

__all__ = ["PiqpEngine"]

_STATUS = {
    "PIQP_SOLVED": Status.OPTIMAL,
    "PIQP_MAX_ITER_REACHED": Status.ITERATION_LIMIT,
    "PIQP_PRIMAL_INFEASIBLE": Status.INFEASIBLE,
}
"""The `Status` for each status of PIQP; any other one is `FAILED`."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class PiqpEngine(Library):
    """Solves continuous models without cones by PIQP. It has no time limit.

    Parameters
    ----------
    tolerance
        The absolute and relative residual and gap at which it stops, and the residual at which it
        calls a model infeasible.
    iterations
        The largest number of interior-point steps.
    """

    module: ClassVar[str] = "piqp"
    statuses: ClassVar[Mapping[Any, Status]] = _STATUS
    tolerance: float = 1e-9
    iterations: int = 500

    def solve(self, piqp: Any, model: Model, time_limit: float | None) -> Ended:
        solver = piqp.SparseSolver()
        settings = solver.settings
        settings.eps_abs = settings.eps_rel = self.tolerance
        settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = self.tolerance
        settings.eps_primal_inf = settings.eps_dual_inf = self.tolerance
        settings.max_iter = self.iterations
        equal, right, rows, lower, upper = equations(model)
        solver.setup(
            sparse.csc_matrix(sparse.diags_array(model.square)),
            model.cost,
            sparse.csc_matrix(equal),
            right,
            sparse.csc_matrix(rows),
            lower,
            upper,
            model.least,
            model.most,
        )
        ended = solver.solve()
        status = _STATUS.get(str(ended).rpartition(".")[2], Status.FAILED)
        result = solver.result
        point = np.array(result.x, np.float64)
        has_point = status in (Status.OPTIMAL, Status.ITERATION_LIMIT)
        # The other rows have two multipliers >= 0: of the lower and of the upper bound.
        dual = dual_of_equations(
            model, -np.array(result.y), np.array(result.z_l) - np.array(result.z_u)
        )
        return Ended(
            status=status,
            point=point if has_point else None,
            work=int(result.info.iter),
            dual=dual if has_point else None,
            detail=str(ended),
        )
