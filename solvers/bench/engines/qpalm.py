"""`QpalmEngine`: the proximal augmented Lagrangian solver QPALM, for quadratic models."""

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

__all__ = ["QpalmEngine"]

_FAR = 1e19
"""A bound beyond this number means no bound.

QPALM takes 1e20 for infinite, and its test of infeasibility then passes over such a bound: a
direction with the wrong sign there counts as a proof, and feasible models are called infeasible.
At a finite bound this direction proves nothing.
"""

_STATUS = {
    "solved": Status.OPTIMAL,
    "maximum iterations reached": Status.ITERATION_LIMIT,
    "time limit exceeded": Status.TIME_LIMIT,
    "primal infeasible": Status.INFEASIBLE,
}
"""The `Status` for each status of QPALM; any other one is `FAILED`."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class QpalmEngine(Library):
    """Solves continuous models without cones by QPALM.

    Parameters
    ----------
    tolerance
        The absolute and relative residual at which it stops, and the residual at which it calls a
        model infeasible.
    iterations
        The largest number of iterations.
    """

    module: ClassVar[str] = "qpalm"
    statuses: ClassVar[Mapping[Any, Status]] = _STATUS
    tolerance: float = 1e-8
    iterations: int = 100_000

    def solve(self, qpalm: Any, model: Model, time_limit: float | None) -> Ended:
        form = boxed(model)
        data = qpalm.Data(model.columns, form.matrix.shape[0])
        data.Q = sparse.csc_matrix(form.square)
        data.q = form.cost
        data.A = sparse.csc_matrix(form.matrix)
        data.bmin = np.clip(form.lower, -_FAR, _FAR)
        data.bmax = np.clip(form.upper, -_FAR, _FAR)
        settings = qpalm.Settings()
        settings.eps_abs = settings.eps_rel = self.tolerance
        settings.eps_prim_inf = settings.eps_dual_inf = self.tolerance
        settings.max_iter = self.iterations
        settings.verbose = False
        if time_limit is not None:
            settings.time_limit = float(time_limit)
        solver = qpalm.Solver(data, settings)
        solver.solve()
        ended = str(solver.info.status)
        status = _STATUS.get(ended, Status.FAILED)
        point = np.array(solver.solution.x, np.float64)
        return Ended(
            status=status,
            point=point,
            work=int(solver.info.iter),
            dual=-np.array(solver.solution.y, np.float64)[: model.rows],
            detail=ended,
        )
