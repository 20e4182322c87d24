"""The compiled loop of `Population`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled_in_order
from ..types import Floats, Integers

__all__ = ["Axis", "State", "descend"]


class State(NamedTuple):
    """The rows and the cells that they are in.

    `cells` is the cell of each row in each view, shape (rows, views); the cells of all views are
    numbered one after another. `excess` is the number of rows that each cell has above its target.
    """

    cells: Integers
    excess: Floats


class Axis(NamedTuple):
    """The axis that `descend` changes.

    `codes` is its category in each row, shape (rows,), and `size` its number of categories.
    `holders` are the views that contain it. For each of these, `strides` is the distance between
    the cells of neighbouring categories, and `weights` its weight. Which categories are not allowed
    depends on the other axes of a row. `case` numbers these situations, shape (rows,), and `barred`
    marks the categories that are not allowed in each, shape (cases, size). Both are empty if all
    categories are allowed.
    """

    codes: NDArray[np.int32]
    size: int
    holders: Integers
    strides: Integers
    weights: Floats
    case: Integers
    barred: NDArray[np.bool_]


@compiled_in_order
def descend(
    state: State,
    axis: Axis,
    order: Integers,
) -> None:
    """Set the category of one axis of each row to the best one, given all else, in place.

    The rows come in the given order.
    """
    cells, excess = state
    codes, size, holders, strides, weights, case, barred = axis
    some_barred = barred.size > 0
    for row in order:
        now = codes[row]
        best = now
        gain = -1e-9
        for other in range(size):
            if other == now or (some_barred and barred[case[row], other]):
                continue
            # The change of half the objective if the row moves in all views.
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
