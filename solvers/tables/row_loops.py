"""The compiled loops of `RowDescent` and `WholeTables`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled_in_order
from ..types import Floats, Integers

__all__ = ["Axis", "State", "descend", "draw", "exchange"]


class State(NamedTuple):
    """The rows of the descent.

    `codes` are their categories, shape (rows, axes). A row may stand for a group of equal rows:
    `repeats` is their number, shape (rows,). `first` marks the rows that differ from the row before
    in their categories or repeats, shape (rows,): each begins a run of equal rows.
    """

    codes: NDArray[np.int32]
    repeats: Floats
    first: NDArray[np.bool_]


class Axis(NamedTuple):
    """The axis that `descend` changes.

    `column` is its column of the codes. A line is the cells of a view that differ in this axis
    alone: `lines` is the number of rows that each cell has above its target, shape (lines,
    categories), for one view after another. For each view, `weights` is its weight, `starts` its
    first line, and `ends` the end of its part of `others` and `steps`, shape (views,): its other
    axes, and the distances between the lines of their neighbouring categories.

    Which categories are not allowed depends on the other axes of a row. `case` numbers these
    situations, shape (rows,), and `barred` marks the categories that are not allowed in each, shape
    (cases, categories). Both are empty if all categories are allowed.
    """

    column: int
    lines: Floats
    weights: Floats
    starts: Integers
    ends: Integers
    others: Integers
    steps: Integers
    case: Integers
    barred: NDArray[np.bool_]


@compiled_in_order
def descend(
    state: State,
    axis: Axis,
) -> None:
    """Set the category of one axis of each row to the best one, given all else, in place.

    The rows come in their order. Those of a run are moved together, as many at a time as lower the
    objective most.
    """
    codes, repeats, first = state
    column, lines, weights, starts, ends, others, steps, case, barred = axis
    some_barred = barred.size > 0
    size = lines.shape[1]
    weight = weights.sum()
    line = np.empty(weights.size, np.int64)
    slope = np.empty(size, np.float64)
    moved = np.empty(size, np.float64)
    end = 0
    while end < repeats.size:
        row = end
        end += 1
        while end < repeats.size and not first[end]:
            end += 1
        # The line of the run in each view, and the slope of half the objective in the number of
        # rows of each category.
        slope[:] = 0.0
        begin = 0
        for view in range(weights.size):
            line[view] = starts[view]
            for place in range(begin, ends[view]):
                line[view] += codes[row, others[place]] * steps[place]
            begin = ends[view]
            for category in range(size):
                slope[category] += weights[view] * lines[line[view], category]
        now = codes[row, column]
        repeat = repeats[row]
        moved[:] = 0.0
        left = row
        while left < end:
            # Moving m rows changes half the objective by m (slope there - slope here + m weight).
            best = now
            least = slope[now] - repeat * weight - 1e-9
            for category in range(size):
                if slope[category] < least and not (some_barred and barred[case[row], category]):
                    best = category
                    least = slope[category]
            if best == now:
                break
            wanted = np.rint((slope[now] - least) / (2.0 * weight * repeat))
            count = int(min(max(wanted, 1.0), end - left))
            first[left] = True
            codes[left : left + count, column] = best
            left += count
            slope[now] -= count * repeat * weight
            slope[best] += count * repeat * weight
            moved[now] -= count * repeat
            moved[best] += count * repeat
        if row < left:
            if left < end:
                first[left] = True
            for view in range(weights.size):
                for category in range(size):
                    lines[line[view], category] += moved[category]


@compiled_in_order
def draw(
    group: Integers,
    order: Integers,
    cumulative: Floats,
    shift: Floats,
) -> NDArray[np.int32]:
    """Draw a category for each row by systematic sampling in each group: shape (rows,).

    Parameters
    ----------
    group
        The group of each row, shape (rows,).
    order
        A random order of the rows, shape (rows,).
    cumulative
        The running sums of the shares of the categories, shape (groups, categories).
    shift
        A random number in [0, 1) for each group, shape (groups,).
    """
    counts = np.zeros(shift.size, np.int64)
    for row in order:
        counts[group[row]] += 1
    drawn = np.empty(group.size, np.int32)
    reached = np.zeros(shift.size, np.int64)
    last = cumulative.shape[1] - 1
    for row in order:
        own = group[row]
        # Evenly spaced marks, one for each row of the group.
        mark = (reached[own] + shift[own]) / counts[own]
        reached[own] += 1
        category = 0
        while category < last and cumulative[own, category] < mark:
            category += 1
        drawn[row] = category
    return drawn


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
