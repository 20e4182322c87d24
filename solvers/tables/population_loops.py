"""The compiled loop of `Population`."""

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled_in_order
from ..types import Floats, Integers

__all__ = ["descend"]


@compiled_in_order
def descend(
    codes: NDArray[np.int32],
    cells: Integers,
    excess: Floats,
    order: Integers,
    holders: Integers,
    strides: Integers,
    weights: Floats,
    size: int,
    case: Integers,
    barred: NDArray[np.bool_],
) -> None:
    """Set the category of one axis of each row, in the given order, to the best given all else; in
    place.

    Parameters
    ----------
    codes
        The axis's category in each row, shape (rows,).
    cells
        The cell of each row in each view, shape (rows, views), cells of all views numbered one
        after another.
    excess
        How many rows each cell has more than it should.
    order
        The rows.
    holders, strides, weights
        The views that hold the axis, how far apart its neighbours are in each, and how much each
        view counts.
    size
        The number of categories.
    case, barred
        For each row a case, and for each case the categories that it may not get; without entries
        where it may get all.
    """
    some_barred = barred.size > 0
    for row in order:
        now = codes[row]
        best = now
        gain = -1e-9
        for other in range(size):
            if other == now or (some_barred and barred[case[row], other]):
                continue
            change = 0.0
            for place in range(holders.size):
                cell = cells[row, holders[place]]
                moved = cell + (other - now) * strides[place]
                change += weights[place] * (excess[moved] - excess[cell] + 1.0)
            if change < gain:
                best = other
                gain = change
        if best != now:
            for place in range(holders.size):
                cell = cells[row, holders[place]]
                moved = cell + (best - now) * strides[place]
                excess[cell] -= 1.0
                excess[moved] += 1.0
                cells[row, holders[place]] = moved
            codes[row] = best
