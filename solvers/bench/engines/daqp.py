"""`DaqpEngine`: the dual active-set solver DAQP, for strictly convex quadratic models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...status import Status
from ..models.model import Model
from .ended import Ended
from .forms import FAR
from .library import Library

__all__ = ["DaqpEngine"]

_STATUS = {
    1: Status.OPTIMAL,
    2: Status.OPTIMAL,
    -1: Status.INFEASIBLE,
    -4: Status.ITERATION_LIMIT,
    -7: Status.TIME_LIMIT,
}
"""The `Status` for each code of DAQP; any other one is `FAILED`."""

_EQUATION = 5
"""DAQP's mark of a row that is an equation."""

_MOST_COLUMNS = 3_000
"""Largest number of columns: DAQP takes dense matrices only."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class DaqpEngine(Library):
    """Solves quadratic models by DAQP, with dense matrices.

    Parameters
    ----------
    proximal
        The weight of the proximal term, needed where the quadratic part is not strictly convex.
    """

    module: ClassVar[str] = "daqp"
    statuses: ClassVar[Mapping[Any, Status]] = _STATUS
    proximal: float = 1e-6

    def solve(self, daqp: Any, model: Model, time_limit: float | None) -> Ended:
        if model.columns > _MOST_COLUMNS:
            detail = f"DAQP takes dense matrices: at most {_MOST_COLUMNS} columns"
            return Ended(status=Status.FAILED, detail=detail)
        # The first bounds are those of the columns; the others are those of the rows.
        lower = np.clip(np.concatenate([model.least, model.lower]), -FAR, FAR)
        upper = np.clip(np.concatenate([model.most, model.upper]), -FAR, FAR)
        sense = np.where(lower == upper, _EQUATION, 0).astype(np.int32)
        options: dict[str, Any] = {"eps_prox": 0.0 if (model.square > 0).all() else self.proximal}
        if time_limit is not None:
            options["time_limit"] = float(time_limit)
        point, _, code, info = daqp.solve(
            np.diag(model.square),
            model.cost,
            model.matrix.toarray(),
            upper,
            lower,
            sense,
            **options,
        )
        status = _STATUS.get(int(code), Status.FAILED)
        found = np.array(point, np.float64)
        has_point = status is Status.OPTIMAL
        return Ended(
            status=status,
            point=found if has_point else None,
            work=int(info.get("iterations", 0)),
            dual=-np.array(info["lam"], np.float64)[model.columns :] if has_point else None,
            detail=f"code {code}",
        )
