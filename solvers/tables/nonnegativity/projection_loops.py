"""Compiled loops for one iteration of `JointProjection`; `splitting` has the same in numpy.

The cells of all views are in one vector, and the blocks of all views in another (`Packed`). An
iteration has three parts: `analyse`, `agree` and `clip`. Threads divide the views in the first and
last part, and the shared coefficients in the second. The numbers do not depend on how the work is
divided.

The two copies of the cells are never written out. The method needs positive = max(r, 0) and
dual = min(r, 0) of one vector r, and of these the difference positive - dual = abs(r). In a cell
that must be zero, positive is 0 and dual is r. Views with such cells are not split.

A split view is not transformed. Let w be the weight of its full component F, and keep =
rho / (w + rho). The consistent copy is (1 - keep) observed_F + keep x_F in F, where x is abs(r),
and x_F is x less its other components. So the consistent copy is keep x + (1 - keep) observed_F
plus a table in the other components, and these are sums of functions of the blocks.

numba recognises the types of plain tuples much faster than those of named ones. So the records
are passed as plain tuples in the order of their fields.
"""

from typing import NamedTuple

import numpy as np

from ...compiled import compiled, compiled_finite, copied, means, sums
from ...types import Flags, Floats, Integers
from .packing import Goals, Packed

__all__ = ["State", "agree", "analyse", "clip"]


class State(NamedTuple):
    """The state of ADMM (see `splitting`).

    `relaxed` is r above, shape (n,). `blocks` are the blocks of all views, shape (e,): after
    `analyse` they hold coefficients, and after `clip` tables. `empty` marks the cells that must be
    zero, shape (n,); it has no entries if there are none. `deviation` is the standard deviation of
    the cells of each view, shape (views,). `worst` receives, for each view, the largest distance
    between the two copies and the largest change, shape (views, 2).
    """

    relaxed: Floats
    blocks: Floats
    empty: Flags
    deviation: Floats
    worst: Floats


@compiled
def analyse(
    start: int,
    stop: int,
    views: Packed,
    goals: Goals,
    state: State,
    rho: float,
) -> None:
    """Compute the coefficients of positive - dual, for the views ``range(start, stop)``.

    A coefficient that only one view holds is updated at once: it becomes a weighted mean with its
    observed value. Coefficients that several views hold are updated by `agree`.
    """
    bounds, axes, all_sizes, starts, split, binary, widest = views
    pull, pulled = goals[:2]
    full = goals[9]
    relaxed, blocks, empty = state[:3]
    some_empty = empty.size > 0
    spare = np.empty(widest)
    for view in range(start, stop):
        own = relaxed[bounds[view] : bounds[view + 1]]
        sizes = all_sizes[axes[view] : axes[view + 1]]
        entries = blocks[starts[view] : starts[view + 1]]
        if split[view]:
            _add_up(own, sizes, entries)
            _transform_blocks(entries, spare, sizes, True)
            keep = rho / (full[view] + rho)
        else:
            for cell in range(own.size):
                entries[cell] = abs(own[cell])
            if some_empty:
                for cell in range(own.size):
                    if empty[bounds[view] + cell]:
                        entries[cell] = -own[cell]
            means(entries, spare[: own.size], sizes, binary[view])
            keep = 0.0
        scale = 1.0 / own.size
        low = starts[view]
        for entry in range(entries.size):
            before = scale * entries[entry]
            weight = pull[low + entry]
            if np.isinf(weight):  # another entry stands for this coefficient
                entries[entry] = 0.0
            elif weight > 0:
                after = (pulled[low + entry] + rho * before) / (weight + rho)
                entries[entry] = after - keep * before
            else:
                entries[entry] = before


@compiled
def agree(
    start: int,
    stop: int,
    goals: Goals,
    state: State,
    rho: float,
) -> None:
    """Update shared coefficients: average over the views, then with the observed value.

    These are the shared coefficients ``range(start, stop)``; see `Goals`.
    """
    _, _, bounds, places, into, out, holder, weights, observed, full, _ = goals
    coefficients = state[1]
    for number in range(start, stop):
        low = bounds[number]
        high = bounds[number + 1]
        weight = weights[number]
        value = observed[number]
        if not np.isinf(weight):  # the total has an infinite weight, and stays
            total = 0.0
            for entry in range(low, high):
                total += into[entry] * coefficients[places[entry]]
            value = (value * weight + rho * total) / (weight + rho)
        for entry in range(low, high):
            place = places[entry]
            apart = full[holder[entry]]
            keep = rho / (apart + rho) if apart > 0 else 0.0
            coefficients[place] = value * out[entry] - keep * coefficients[place]


@compiled
def clip(
    start: int,
    stop: int,
    views: Packed,
    goals: Goals,
    state: State,
    rho: float,
    relaxation: float,
    cells: Floats,
) -> None:
    """Turn coefficients into cells; then update the non-negative copy and multipliers.

    This is done for the views ``range(start, stop)``. If `cells` has entries, the consistent copy
    is written there, shape (n,), and nothing is updated.
    """
    bounds, axes, all_sizes, starts, split, binary, widest = views
    full, whole = goals[9:]
    blocks = state[1]
    spare = np.empty(widest)
    consistent = np.empty(widest)
    for view in range(start, stop):
        low = bounds[view]
        high = bounds[view + 1]
        sizes = all_sizes[axes[view] : axes[view + 1]]
        entries = blocks[starts[view] : starts[view + 1]]
        state[4][view, 0] = 0.0
        state[4][view, 1] = 0.0
        if not split[view]:
            sums(entries, spare[: entries.size], sizes, binary[view])
            _settle(low, entries, view, state, relaxation, cells)
            continue
        _transform_blocks(entries, spare, sizes, False)
        keep = rho / (full[view] + rho)
        part = (high - low) // sizes[0]
        for row in range(sizes[0]):
            here = low + row * part
            _add_blocks(row, part, sizes, entries, consistent)
            own = state[0][here : here + part]
            apart = whole[here : here + part]
            for cell in range(part):
                consistent[cell] += keep * abs(own[cell]) + (1 - keep) * apart[cell]
            _settle(here, consistent[:part], view, state, relaxation, cells)


@compiled_finite
def _settle(
    low: int,
    consistent: Floats,
    view: int,
    state: State,
    relaxation: float,
    cells: Floats,
) -> None:
    """The last step of `clip` for the cells from `low` on, from the consistent copy of these."""
    relaxed, _, empty, deviations, worst = state
    if cells.size > 0:
        for cell in range(consistent.size):
            cells[low + cell] = consistent[cell]
        return
    deviation = deviations[view]
    own = relaxed[low : low + consistent.size]
    distance = 0.0
    change = 0.0
    some_empty = empty.size > 0
    zeros = empty[low : low + consistent.size]
    for cell in range(consistent.size):
        old = own[cell]
        is_zero = some_empty and zeros[cell]
        before = 0.0 if old < 0 or is_zero else old
        # Over-relaxation, then a clip.
        new = relaxation * consistent[cell] + (1 - relaxation) * before + (old - before)
        after = 0.0 if new < 0 or is_zero else new
        own[cell] = new
        distance = max(distance, abs(consistent[cell] - after))
        change = max(change, abs(after - before))
    worst[view, 0] = max(worst[view, 0], distance / deviation)
    worst[view, 1] = max(worst[view, 1], change / deviation)


@compiled
def _add_up(
    table: Floats,
    sizes: Integers,
    blocks: Floats,
) -> None:
    """Write the sums of a table's absolute cells over each axis to its blocks, one after another.

    The table is read once: part by part, each of one category of the first axis.
    """
    for entry in range(blocks.size):
        blocks[entry] = 0.0
    part = table.size // sizes[0]
    for row in range(sizes[0]):
        own = table[row * part : (row + 1) * part]
        # The sums over the first axis.
        for cell in range(part):
            blocks[cell] += abs(own[cell])
        # The sums over each other axis. The block of an axis is made of one part for each `row`.
        place = part
        before = 1
        after = part
        for size in sizes[1:]:
            after //= size
            low = place + row * (part // size)
            for outer in range(before):
                some = own[outer * size * after : (outer + 1) * size * after]
                if after == 1:
                    total = 0.0
                    for category in range(size):
                        total += abs(some[category])
                    blocks[low + outer] = total
                    continue
                target = blocks[low + outer * after : low + (outer + 1) * after]
                for category in range(size):
                    for inner in range(after):
                        target[inner] += abs(some[category * after + inner])
            before *= size
            place += table.size // size


@compiled
def _add_blocks(
    row: int,
    part: int,
    sizes: Integers,
    blocks: Floats,
    target: Floats,
) -> None:
    """Add up the blocks of a split view, each constant along its axis, for one category `row` of
    the first axis: the transpose of `_add_up`. The result has `part` cells."""
    copied(blocks[:part], target)
    place = part
    before = 1
    after = part
    for size in sizes[1:]:
        after //= size
        low = place + row * (part // size)
        for outer in range(before):
            some = target[outer * size * after : (outer + 1) * size * after]
            if after == 1:
                value = blocks[low + outer]
                for category in range(size):
                    some[category] += value
                continue
            summed = blocks[low + outer * after : low + (outer + 1) * after]
            for category in range(size):
                for inner in range(after):
                    some[category * after + inner] += summed[inner]
        before *= size
        place += part * sizes[0] // size


@compiled
def _transform_blocks(
    blocks: Floats,
    spare: Floats,
    sizes: Integers,
    forward: bool,
) -> None:
    """Apply `means` or else `sums` to each block of a split view, in place."""
    cells = 1
    for size in sizes:
        cells *= size
    others = np.empty(sizes.size - 1, np.int64)
    low = 0
    for axis in range(sizes.size):
        place = 0
        for other in range(sizes.size):
            if other != axis:
                others[place] = sizes[other]
                place += 1
        block = blocks[low : low + cells // sizes[axis]]
        if forward:
            means(block, spare[: block.size], others, False)
        else:
            sums(block, spare[: block.size], others, False)
        low += block.size
