"""The compiled loops of `RowDescent` and `WholeTables`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled_in_order
from ..types import Floats, Integers

__all__ = ["Axis", "State", "descend", "exchange"]


class State(NamedTuple):
    """The rows and the cells that they are in.

    `cells` is the cell of each row in each view, shape (rows, views); the cells of all views are
    numbered one after another. `excess` is the number of rows that each cell has above its target.
    A row may stand for a group of equal rows: `repeats` is their number, shape (rows,).
    """

    cells: Integers
    excess: Floats
    repeats: Floats


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
    cells, excess, repeats = state
    codes, size, holders, strides, weights, case, barred = axis
    some_barred = barred.size > 0
    for row in order:
        now = codes[row]
        repeat = repeats[row]
        best = now
        gain = -1e-9
        for other in range(size):
            if other == now or (some_barred and barred[case[row], other]):
                continue
            # The change of half the objective if the row moves in all views, for each of its
            # repeats.
            change = 0.0
            for place in range(holders.size):
                cell = cells[row, holders[place]]
                moved = cell + (other - now) * strides[place]
                change += weights[place] * (excess[moved] - excess[cell] + repeat)
            if change < gain:
                best = other
                gain = change
        if best != now:
            for place in range(holders.size):
                cell = cells[row, holders[place]]
                moved = cell + (best - now) * strides[place]
                excess[cell] -= repeat
                excess[moved] += repeat
                cells[row, holders[place]] = moved
            codes[row] = best


@compiled_in_order
def exchange(
    counts: Floats,
    excess: Floats,
    empty: NDArray[np.bool_],
    partners: Integers,
    strides: Integers,
) -> None:
    """Exchange counts between the corners of boxes if that brings a table closer, in place.

    A box has two categories of each of some axes. Adding one to the corners of even parity, and
    subtracting one from the others, changes no sum along one of these axes. So it changes no
    marginal that lacks one of them.

    Parameters
    ----------
    counts, excess
        The count of each cell, and the count less its target, shape (cells,).
    empty
        Which cells must stay zero, shape (cells,).
    partners
        For each box a corner and the steps to its neighbours, shape (boxes, 1 + axes).
    strides
        The distance of neighbours along each axis, shape (axes,).
    """
    axes = strides.size
    corners = 1 << axes
    cells = np.empty(corners, np.int64)
    signs = np.empty(corners, np.float64)
    for box in range(partners.shape[0]):
        # The corners as subsets of the axes.
        cells[0] = partners[box, 0]
        signs[0] = 1.0
        flat = False
        for axis in range(axes):
            step = partners[box, 1 + axis]
            flat = flat or step == 0
            for corner in range(1 << axis):
                cells[(1 << axis) + corner] = cells[corner] + step
                signs[(1 << axis) + corner] = -signs[corner]
        # With d = sum of sign x excess, adding sign x a to all corners changes the sum of squares
        # by 2 a d + a^2 x corners. So a whole number a near -d / corners is best.
        tilt = 0.0
        for corner in range(corners):
            tilt += signs[corner] * excess[cells[corner]]
        amount = np.rint(-tilt / corners)
        if flat or amount == 0.0:
            continue
        # No count may become negative.
        for corner in range(corners):
            if empty[cells[corner]]:
                amount = 0.0
            elif signs[corner] * amount < 0.0:
                most = counts[cells[corner]]
                amount = min(max(amount, -most), most)
        for corner in range(corners):
            counts[cells[corner]] += signs[corner] * amount
            excess[cells[corner]] += signs[corner] * amount
