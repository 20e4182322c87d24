"""`ClarabelEngine`: the interior-point solver Clarabel, called directly, for continuous models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ...status import Status
from ...types import Floats
from ..models.implied import least_needed
from ..models.model import Model
from .ended import Ended
from .library import Library

__all__ = ["ClarabelEngine", "conic", "dual_of_conic"]

_STATUS = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.ITERATION_LIMIT,
    "MaxIterations": Status.ITERATION_LIMIT,
    "InsufficientProgress": Status.ITERATION_LIMIT,
    "MaxTime": Status.TIME_LIMIT,
    "PrimalInfeasible": Status.INFEASIBLE,
}
"""The `Status` for each status of Clarabel; any other one is `FAILED`."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class ClarabelEngine(Library):
    """Solves continuous models with squares and exponential cones by Clarabel.

    Parameters
    ----------
    tolerance
        The gap and the infeasibility at which it stops, and the residual at which it calls a model
        infeasible.
    iterations
        The largest number of interior-point steps.

    Examples
    --------
    >>> model = Model(cost=[1, 1], matrix=[[1, 2]], lower=[2], upper=[np.inf])
    >>> round(ClarabelEngine()(model).bound, 6)
    1.0
    """

    module: ClassVar[str] = "clarabel"
    statuses: ClassVar[Mapping[Any, Status]] = _STATUS
    takes_cones: ClassVar[bool] = True
    tells_bound: ClassVar[bool] = True
    tolerance: float = 1e-10
    iterations: int = 500

    def solve(self, clarabel: Any, model: Model, time_limit: float | None) -> Ended:
        equal, below, above, rows, right = conic(model)
        cones = [
            clarabel.ZeroConeT(len(equal)),
            clarabel.NonnegativeConeT(len(below) + len(above)),
            *[clarabel.ExponentialConeT()] * model.cones,
        ]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = self.iterations
        settings.tol_gap_abs = self.tolerance
        settings.tol_gap_rel = self.tolerance
        settings.tol_feas = self.tolerance
        settings.tol_infeas_abs = self.tolerance
        settings.tol_infeas_rel = self.tolerance
        if time_limit is not None:
            settings.time_limit = float(time_limit)
        solver = clarabel.DefaultSolver(
            sparse.diags_array(model.square).tocsc(), model.cost, rows, right, cones, settings
        )
        found = solver.solve()
        status = _STATUS.get(str(found.status), Status.FAILED)
        answered = status in (Status.OPTIMAL, Status.ITERATION_LIMIT, Status.TIME_LIMIT)
        return Ended(
            status=status,
            point=np.array(found.x) if answered else None,
            bound=float(found.obj_val_dual) + model.offset if status is Status.OPTIMAL else None,
            work=int(found.iterations),
            dual=dual_of_conic(model, equal, below, above, np.array(found.z)) if answered else None,
            detail=str(found.status),
        )


def conic(model: Model) -> tuple[Any, Any, Any, Any, Floats]:
    """The constraints as Clarabel takes them: right - rows x lies in the cones.

    Bounds of columns are written as rows behind the rows of the model, without lower bounds that
    the cones imply; see `least_needed`.

    Returns
    -------
    equal, below, above
        The numbers of the rows with equal bounds, with an upper and with a lower bound.
    rows, right
        The stacked rows and right sides: equations, upper bounds, lower bounds, exponential cones.
    """
    matrix = sparse.vstack([model.matrix, sparse.eye_array(model.columns)]).tocsr()
    lower = np.concatenate([model.lower, least_needed(model)])
    upper = np.concatenate([model.upper, model.most])
    same = lower == upper
    equal = np.flatnonzero(same)
    below = np.flatnonzero(np.isfinite(upper) & ~same)
    above = np.flatnonzero(np.isfinite(lower) & ~same)
    rows = sparse.vstack([matrix[equal], matrix[below], -matrix[above], -model.cone]).tocsc()
    right = np.concatenate([upper[equal], upper[below], -lower[above], model.shift])
    return equal, below, above, rows, right


def dual_of_conic(model: Model, equal: Any, below: Any, above: Any, dual: Floats) -> Floats:
    """The multipliers of the rows of the model, from those of the stacked rows of `conic`."""
    whole = np.zeros(model.rows + model.columns)
    # The multipliers of the cones come last, and are left out.
    parts = np.split(dual, np.cumsum([len(equal), len(below), len(above)]))
    whole[equal] -= parts[0]
    whole[below] -= parts[1]
    whole[above] += parts[2]
    return whole[: model.rows]
