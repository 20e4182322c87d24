"""Smaller covers: drop redundant blocks, and fill blocks so that others become redundant."""

from collections.abc import Sequence
from math import comb

import numpy as np

from ..subsets import Block, block_ranks, coverage, ranks, subsets
from ..types import Integers


def needed(held: Sequence[Integers], total: int) -> list[int]:
    """Choose blocks that together hold everything that all blocks hold.

    Blocks are tried in their order. One that alone holds a thing is always kept.

    Parameters
    ----------
    held : sequence of arrays
        For each block the distinct numbers, from ``range(total)``, of the things that it holds.
    total : int
        Number of things.

    Returns
    -------
    list of int
        Positions in `held` of the blocks to keep, ascending.
    """
    if not len(held):
        return []
    things = np.concatenate(held)
    blocks = np.repeat(np.arange(len(held)), [len(numbers) for numbers in held])
    counts = np.bincount(things, minlength=total)
    # A block that alone holds a thing stays: the thing is in no block that could be dropped.
    stays = np.zeros(len(held), np.bool_)
    stays[blocks[counts[things] == 1]] = True
    kept = stays.copy()
    for i in np.flatnonzero(~stays).tolist():
        # A block is redundant if each thing that it holds is held by another block too.
        if (counts[held[i]] > 1).all():
            counts[held[i]] -= 1
        else:
            kept[i] = True
    return np.flatnonzero(kept).tolist()


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
