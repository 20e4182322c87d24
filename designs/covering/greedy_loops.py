"""Compiled loops for greedy covers, where all wanted subsets have the same size of 2 to 4 points.

The loops give the same blocks as `greedy.greedy_cover`.
"""

from typing import Any

import numpy as np

from ...solvers.compiled import compiled_in_order, copied
from ..types import Flags, Floats, Integers


@compiled_in_order
def cover_with(
    mask: Flags,
    t: int,
    start: int,
    counts: Floats,
    price: Floats,
    max_cells: float,
    jitter: Floats,
    points: Integers,
    ends: Integers,
) -> tuple[int, int, int]:
    """Make blocks until all wanted subsets are covered, or random numbers or room run out.

    Parameters
    ----------
    mask : array of bool, shape (v**t,)
        True at the subsets that are not covered yet, for every order of their points. It is
        changed.
    t : int
        The number of points of a subset.
    start : int
        No entry of `mask` before this one is true.
    counts, price : array, shape (v,)
        A block may hold points whose counts have a product of at most `max_cells`. A point takes a
        share of the room in a block, its price.
    jitter : array, shape (steps, v)
        Random numbers that are added to the scores. One row is used each time a block grows.
    points, ends : array
        Room for the result: the points of all blocks, and for each block the end of its points.
        A block takes no more points than t and one for each row of `jitter` that it uses.

    Returns
    -------
    int, int, int
        The number of blocks, the number of rows of `jitter` that were used, and the next `start`;
        it is v**t if all subsets are covered.
    """
    v = counts.size
    block = np.empty(v, np.int64)
    gain = np.empty(v, np.int64)
    inside = np.empty(v, np.bool_)
    blocks = 0
    written = 0
    row = 0
    while True:
        # A block starts as the first subset that is not covered yet.
        while start < mask.size and not mask[start]:
            start += 1
        is_short = row + v > len(jitter) or blocks == ends.size
        if start == mask.size or is_short:
            return blocks, row, start
        gain[:] = 0
        inside[:] = False
        cells = 1.0
        # Not the literal 0, for which numba would compile `_take` once more.
        length: Any = np.int64(0)
        rest = start
        for place in range(t):
            power = v ** (t - 1 - place)
            point = rest // power
            rest -= point * power
            _take(mask, t, point, block, length, gain)
            block[length] = point
            inside[point] = True
            length += 1
            cells *= counts[point]
        # It takes one point after another, each time the one with the best score.
        while True:
            best: Any = np.int64(-1)
            highest = 0.0
            for point in range(v):
                if inside[point] or gain[point] == 0 or counts[point] * cells > max_cells:
                    continue
                score = gain[point] / price[point] + jitter[row, point]
                if best < 0 or score > highest:
                    best = point
                    highest = score
            if best < 0:
                break
            row += 1
            _take(mask, t, best, block, length, gain)
            block[length] = best
            inside[best] = True
            length += 1
            cells *= counts[best]
        _settle(mask, t, v, block, length)
        copied(block[:length], points[written:])
        written += length
        ends[blocks] = written
        blocks += 1


@compiled_in_order
def _take(
    mask: Flags,
    t: int,
    point: int,
    block: Integers,
    length: int,
    gain: Integers,
) -> None:
    """Count the wanted subsets that each point completes, as a point joins the block.

    They consist of the joining point, t - 2 points of the block, and the completing point.
    """
    v = gain.size
    if t == 2:
        gain += mask[point * v : point * v + v]
        return
    for one in range(length):
        first = (point * v + block[one]) * v
        if t == 3:
            gain += mask[first : first + v]
            continue
        for other in range(one):
            second = (first + block[other]) * v
            gain += mask[second : second + v]


@compiled_in_order
def _settle(
    mask: Flags,
    t: int,
    v: int,
    block: Integers,
    length: int,
) -> None:
    """Mark all subsets of the block as covered, for every order of their points."""
    for number in range(length**t):
        rest = number
        index = 0
        for _ in range(t):
            index = index * v + block[rest % length]
            rest //= length
        mask[index] = False
