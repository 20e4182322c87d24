"""The compiled loops of `RowDescent` and `WholeTables`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled_in_order
from ..types import Floats, Integers

__all__ = ["Axis", "Linked", "State", "descend", "descend_together", "draw", "exchange"]


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


class Linked(NamedTuple):
    """The linked axes that `descend_together` changes.

    `columns` are their columns of the codes, shape (axes,), and `combinations` the categories that
    a row may get on them, shape (combinations, axes). Of each view that holds some of these axes, a
    line is the cells that differ in these axes alone. `excess` is the number of rows that each cell
    has above its target, line after line, for one view after another. For each view, `weights` is
    its weight, `starts` its first cell in `excess`, and `ends` the end of its part of `others` and
    `steps`, shape (views,): its other axes, and the distances between their neighbouring
    categories. `places` is the cell of each combination in a line, shape (views, combinations), and
    `strides` the distance of neighbours along each linked axis in a line, shape (views, axes).
    `cells` is the number of cells of a line, shape (views,).
    """

    columns: Integers
    combinations: NDArray[np.int32]
    excess: Floats
    weights: Floats
    starts: Integers
    ends: Integers
    others: Integers
    steps: Integers
    places: Integers
    strides: Integers
    cells: Integers


@compiled_in_order
def _end_of_run(first: NDArray[np.bool_], row: int) -> int:
    """The end of the run of equal rows that begins at a row."""
    end = row + 1
    while end < first.size and not first[end]:
        end += 1
    return end


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
        end = _end_of_run(first, row)
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
def descend_together(
    state: State,
    linked: Linked,
) -> None:
    """Set the categories of linked axes of each row to the best combination, given all else, in
    place.

    The rows come in their order. Those of a run are moved together, as many at a time as lower the
    objective most.
    """
    codes, repeats, first = state
    columns, combinations, excess, weights, starts, ends, others, steps, places, strides, _ = linked
    views = weights.size
    start = np.empty(views, np.int64)
    now = np.empty(views, np.int64)
    end = 0
    while end < repeats.size:
        row = end
        end = _end_of_run(first, row)
        # The line of the run in each view, and its cell there.
        begin = 0
        for view in range(views):
            start[view] = starts[view]
            for place in range(begin, ends[view]):
                start[view] += codes[row, others[place]] * steps[place]
            begin = ends[view]
            now[view] = 0
            for axis in range(columns.size):
                now[view] += codes[row, columns[axis]] * strides[view, axis]
        repeat = repeats[row]
        left = row
        while left < end:
            # Moving m rows changes half the objective by m (slope + m weight). Both come from the
            # views in which the rows then lie in another cell.
            best = -1
            least = -1e-9
            best_slope = 0.0
            best_weight = 0.0
            for choice in range(combinations.shape[0]):
                slope = 0.0
                weight = 0.0
                for view in range(views):
                    there = places[view, choice]
                    if there != now[view]:
                        further = excess[start[view] + there] - excess[start[view] + now[view]]
                        slope += weights[view] * further
                        weight += weights[view]
                if slope + repeat * weight < least:
                    best = choice
                    least = slope + repeat * weight
                    best_slope = slope
                    best_weight = weight
            if best < 0:
                break
            wanted = np.rint(-best_slope / (2.0 * best_weight * repeat))
            count = int(min(max(wanted, 1.0), end - left))
            first[left] = True
            for place in range(left, left + count):
                for axis in range(columns.size):
                    codes[place, columns[axis]] = combinations[best, axis]
            left += count
            if left < end:
                first[left] = True
            for view in range(views):
                excess[start[view] + now[view]] -= count * repeat
                excess[start[view] + places[view, best]] += count * repeat


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
