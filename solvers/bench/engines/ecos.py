"""`EcosEngine`: the interior-point solver ECOS, for continuous models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ...status import Status
from ...types import Floats
from ..models.model import Model
from .clarabel import conic, dual_of_conic
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

_SCALE = 0.1
"""The size of a square that its second-order cone has in its middle.

With 1, ECOS ends with numerical problems on more of the instances of medium size.
"""


@dataclass(
    frozen=True,
    kw_only=True,
)
class EcosEngine(Library):
    """Solves continuous models with squares and exponential cones by ECOS.

    ECOS knows no quadratic part: each square gets one more column, which a second-order cone bounds
    from below. One cone for the whole sum would have fewer rows, but ECOS fails at it more often.
    It has no time limit.

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
        dims = {"l": inequalities, "q": [3] * squares, "e": model.cones}
        equations = {"A": sparse.csc_matrix(matrix[:cut]), "b": sides[:cut]} if cut else {}
        found = ecos.solve(
            np.concatenate([model.cost, np.ones(squares)]),
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
        # The multipliers of the equations, and those of all other rows.
        stacked = np.concatenate([found["y"], found["z"]]) if cut else np.array(found["z"])
        return Ended(
            status=status,
            point=point if has_point else None,
            work=int(found["info"]["iter"]),
            dual=dual_of_conic(model, equal, below, above, stacked) if has_point else None,
            detail=str(found["info"]["infostring"]),
        )


def _with_squares(
    model: Model,
    rows: Any,
    right: Floats,
    equal: int,
    inequalities: int,
) -> tuple[Any, Floats, int]:
    """The rows and right sides in ECOS's order of cones, and the number of squares.

    An exponential cone of ECOS holds (a, c, b) for our (a, b, c). With a column h for the square
    q x x / 2, a second-order cone holds (h / s + 1, h / s - 1, sqrt(2 q / s) x): it says that
    4 h / s >= 2 q x x / s. The number s is `_SCALE`.
    """
    before = equal + inequalities
    swapped = np.arange(before, rows.shape[0]).reshape(-1, 3)[:, [0, 2, 1]].ravel()
    curved = np.flatnonzero(model.square)
    count = len(curved)
    wide = sparse.hstack([rows, sparse.csr_array((rows.shape[0], count))]).tocsr()
    # The three rows of each cone; two have the column of the square, one has x.
    first = 3 * np.arange(count)
    heights = model.columns + np.arange(count)
    roots = np.sqrt(2 * model.square[curved] / _SCALE)
    values = np.concatenate([np.full(2 * count, -1 / _SCALE), -roots])
    place = np.concatenate([first, first + 1, first + 2])
    columns = np.concatenate([heights, heights, curved])
    cones = sparse.csr_array((values, (place, columns)), shape=(3 * count, wide.shape[1]))
    matrix = sparse.vstack([wide[:before], cones, wide[swapped]]).tocsr()
    sides = np.concatenate([right[:before], np.tile([1.0, -1.0, 0.0], count), right[swapped]])
    return matrix, sides, count
