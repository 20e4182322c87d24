"""`EcosEngine`: the interior-point solver ECOS, for continuous models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ...status import Status
from ...types import Floats
from ..models.model import Model
from .clarabel import conic
from .ended import Ended
from .library import Library

__all__ = ["EcosEngine"]

_STATUS = {
    0: Status.OPTIMAL,
    10: Status.ITERATION_LIMIT,  # solved to a looser tolerance
    1: Status.INFEASIBLE,
    -1: Status.ITERATION_LIMIT,
}
"""The `Status` for each code of ECOS; any other one is `FAILED`."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class EcosEngine(Library):
    """Solves continuous models with squares and exponential cones by ECOS.

    ECOS knows no quadratic part: the sum of squares becomes one more column that a second-order
    cone bounds from below. It has no time limit.

    Parameters
    ----------
    tolerance
        The gap and the infeasibility at which it stops.
    iterations
        The largest number of interior-point steps.
    """

    module: ClassVar[str] = "ecos"
    statuses: ClassVar[Mapping[Any, Status]] = _STATUS
    takes_cones: ClassVar[bool] = True
    tolerance: float = 1e-9
    iterations: int = 500

    def solve(self, ecos: Any, model: Model, time_limit: float | None) -> Ended:
        equal, below, above, rows, right = conic(model)
        inequalities = len(below) + len(above)
        matrix, sides, squares = _with_squares(model, rows.tocsr(), right, len(equal), inequalities)
        cut = len(equal)
        dims = {"l": inequalities, "q": squares, "e": model.cones}
        extra = [1.0] if squares else []
        equations = {"A": sparse.csc_matrix(matrix[:cut]), "b": sides[:cut]} if cut else {}
        found = ecos.solve(
            np.concatenate([model.cost, extra]),
            sparse.csc_matrix(matrix[cut:]),
            sides[cut:],
            dims,
            verbose=False,
            abstol=self.tolerance,
            reltol=self.tolerance,
            feastol=self.tolerance,
            max_iters=self.iterations,
            **equations,
        )
        status = _STATUS.get(int(found["info"]["exitFlag"]), Status.FAILED)
        point = np.array(found["x"], np.float64)[: model.columns]
        has_point = status in (Status.OPTIMAL, Status.ITERATION_LIMIT)
        return Ended(
            status=status,
            point=point if has_point else None,
            work=int(found["info"]["iter"]),
            detail=str(found["info"]["infostring"]),
        )


def _with_squares(
    model: Model,
    rows: Any,
    right: Floats,
    equal: int,
    inequalities: int,
) -> tuple[Any, Floats, list[int]]:
    """The rows and right sides in ECOS's order of cones, and the sizes of second-order cones.

    An exponential cone of ECOS holds (a, c, b) for our (a, b, c). With a column h for half the sum
    of squares r . r, the second-order cone holds (h + 1, h - 1, sqrt(2) r).
    """
    before = equal + inequalities
    swapped = np.arange(before, rows.shape[0]).reshape(-1, 3)[:, [0, 2, 1]].ravel()
    curved = np.flatnonzero(model.square)
    if not len(curved):
        order = np.concatenate([np.arange(before), swapped])
        return rows[order], right[order], []
    blank = sparse.csr_array((rows.shape[0], 1))
    wide = sparse.hstack([rows, blank]).tocsr()
    scale = -np.sqrt(2 * model.square[curved])
    place = (np.arange(len(curved)), curved)
    shape = (len(curved), model.columns + 1)
    residuals = sparse.csr_array((scale, place), shape=shape)
    height = sparse.csr_array(([-1.0, -1.0], ([0, 1], [model.columns] * 2)), shape=(2, shape[1]))
    cone = sparse.vstack([height, residuals])
    matrix = sparse.vstack([wide[:before], cone, wide[swapped]]).tocsr()
    cone_right = np.concatenate([[1.0, -1.0], np.zeros(len(curved))])
    sides = np.concatenate([right[:before], cone_right, right[swapped]])
    return matrix, sides, [2 + len(curved)]
