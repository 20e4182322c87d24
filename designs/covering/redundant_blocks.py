"""Smaller covers: drop redundant blocks, and fill blocks so that others become redundant."""

from collections.abc import Sequence
from math import comb

import numpy as np

from ..subsets import Block, block_ranks, coverage, ranks, subsets
from ..types import Integers


def needed(held: Sequence[Integers], total: int) -> list[int]:
    """Choose blocks that together hold everything that all blocks hold.

    Blocks that alone hold few things are dropped first.

    Parameters
    ----------
    held : sequence of arrays
        For each block the numbers, from ``range(total)``, of the things that it holds.
    total : int
        Number of things.

    Returns
    -------
    list of int
        Positions in `held` of the blocks to keep, ascending.
    """
    counts = np.zeros(total, np.int64)
    for numbers in held:
        counts[numbers] += 1
    alone = [int((counts[numbers] == 1).sum()) for numbers in held]
    kept = set(range(len(held)))
    for i in sorted(kept, key=alone.__getitem__):
        # A block is redundant if each thing that it holds is held by another block too.
        if (counts[held[i]] > 1).all():
            counts[held[i]] -= 1
            kept.remove(i)
    return sorted(kept)


def drop_redundant(
    blocks: Sequence[Block],
    v: int,
    t: int,
) -> list[Block]:
    """Drop redundant blocks; the others hold the same t-subsets of ``range(v)`` as before."""
    held = [block_ranks(block, v, t) for block in blocks]
    return [blocks[i] for i in needed(held, comb(v, t))]


def fill(
    blocks: Sequence[Block],
    v: int,
    k: int,
    t: int,
) -> list[Block]:
    """Add points to short blocks, up to k, so that other blocks may become redundant.

    A short block takes one point after another. Each time it takes the point with which it holds
    the most t-subsets that only one other block holds.
    """
    counts = coverage(blocks, v, t)
    filled = []
    for block in blocks:
        points = list(block)
        while t - 1 <= len(points) < k:
            others = np.setdiff1d(np.arange(v), points)
            numbers = _ranks_with(points, others, v, t)
            gain = (counts[numbers] == 1).sum(axis=1)
            if not gain.any():
                break
            best = int(np.argmax(gain))
            counts[numbers[best]] += 1
            points.append(int(others[best]))
        filled.append(tuple(sorted(points)))
    return filled


def _ranks_with(
    block: Sequence[int],
    others: Integers,
    v: int,
    t: int,
) -> Integers:
    """The ranks of the t-subsets that each other point forms with t - 1 points of the block.

    Shape (len(others), comb(len(block), t - 1)).
    """
    rest = np.array(block, np.int64)[subsets(len(block), t - 1)]
    shape = (len(others), len(rest))
    rows = np.empty((*shape, t), np.int64)
    rows[:, :, :-1] = rest
    rows[:, :, -1] = others[:, None]
    ascending = np.sort(rows, axis=2).reshape(-1, t)
    return ranks(ascending, v).reshape(shape)
