"""Compiled loops of `OrderMetric`: monotone prefix sums."""

import numpy as np

from ..compiled import compiled
from ..types import Flags, Floats

__all__ = ["monotone_cells"]


@compiled
def monotone_cells(
    lines: Floats,
    empty: Flags,
    free: bool,
) -> Floats:
    """Replace each line of cells by the one whose prefix sums are the nearest monotone ones.

    Prefix sums are pooled from left to right: as long as a block's mean is below that of the block
    before it, the two become one (Barlow et al., Statistical inference under order restrictions,
    1972). This takes linear time.

    Parameters
    ----------
    lines
        Cells, shape (lines, n).
    empty
        Whether each cell must be zero: then its prefix sum joins the block before it.
    free
        Whether the sum before the first cell may change too. Then there are n + 1 sums, and only
        their differences matter. If not, it is zero, and no sum is below it.
    """
    count, size = lines.shape
    found = np.empty_like(lines)
    means = np.empty(size + 1)
    lengths = np.empty(size + 1)
    for line in range(count):
        # Empty cells before the first block: their sums stay with the sum before them.
        total = 0.0
        start = 0
        means[0] = 0.0
        while start < size and empty[line, start]:
            total += lines[line, start]
            means[0] += total
            start += 1
        blocks = 0
        if free:
            lengths[0] = start + 1.0
            means[0] /= lengths[0]
            blocks = 1
        place = start
        while place < size:
            # A block: the sum at this cell, and those at the empty cells after it.
            total += lines[line, place]
            means[blocks] = total
            lengths[blocks] = 1.0
            place += 1
            while place < size and empty[line, place]:
                total += lines[line, place]
                lengths[blocks] += 1.0
                means[blocks] += (total - means[blocks]) / lengths[blocks]
                place += 1
            blocks += 1
            while blocks > 1 and means[blocks - 2] >= means[blocks - 1]:
                joined = lengths[blocks - 2] + lengths[blocks - 1]
                share = lengths[blocks - 1] / joined
                means[blocks - 2] += share * (means[blocks - 1] - means[blocks - 2])
                lengths[blocks - 2] = joined
                blocks -= 1
        # Cells are the steps between the blocks; within a block they are zero.
        found[line] = 0.0
        last = 0.0
        place = start
        if free:
            last = means[0]
            place = -1
        for block in range(blocks):
            value = means[block] if free else max(means[block], 0.0)
            if place >= 0 and place < size:
                found[line, place] = value - last
            last = value
            place += int(lengths[block])
    return found
