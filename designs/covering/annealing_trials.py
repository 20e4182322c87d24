"""Aiming simulated annealing under cyclic groups at ever smaller covering designs."""

from math import comb

from ..groups import Group
from ..subsets import Block
from .annealing import anneal
from .redundant_blocks import drop_redundant

LARGEST_TABLE = 10**6  # entries of the table of orbits
LARGEST_COUNT = 20_000  # t-subsets
LOOK_UPS = 30_000_000  # a unit of effort, about a second
FIRST = 20_000  # moves of a trial in the first round, doubled in each later one
MOST_FIXED = 8  # points outside the cycles of the group
EXTRA = 2  # how many points the annealed design may have too many


def smaller_by_annealing(
    v: int, k: int, t: int, *, above: int, below: int, effort: int, seed: int
) -> tuple[list[Block], int] | None:
    """A (v, k, t) covering of at least `above` and less than `below` blocks.

    Tries each group order and number of starter blocks that give such a size, fewest starters
    first, then all of them again with twice the moves, until `effort` is used up. The group may
    also act on a few points more, which are deleted afterwards.

    Returns
    -------
    (blocks, order of the group), or None when nothing was found.
    """
    left = effort * LOOK_UPS // (2 * comb(k - 1, t - 1))
    best: tuple[list[Block], int] | None = None
    moves = FIRST
    while left > 0 and (trials := _trials(v, k, t, above, below)):
        for starters, order, extra in trials:
            if left <= 0 or starters * order >= below:
                continue
            group = Group(v=v + extra, order=order)
            uncovered, found, spent = anneal(
                group, k, t, widths=[1] * starters, moves=min(moves, left), seed=seed + moves
            )
            left -= max(1, spent)
            if not uncovered:
                blocks = [tuple(p for p in block if p < v) for block in group.expand(found)]
                best = drop_redundant(blocks, v, t), order
                below = len(best[0])
        moves *= 2
    return best


def _trials(v: int, k: int, t: int, above: int, below: int) -> list[tuple[int, int, int]]:
    """(starter blocks, order of the group, points too many) to try, the quickest first."""
    trials = [
        (size // order, order, extra)
        for extra in range(EXTRA + 1)
        if t <= 4 and (v + extra) ** t <= LARGEST_TABLE and comb(v + extra, t) <= LARGEST_COUNT
        for size in range(above, below)
        for order in range(1, min(size, v + extra) + 1)
        if size % order == 0 and (v + extra) % order <= MOST_FIXED
    ]
    return sorted(trials, key=lambda trial: (trial[0] + trial[2], trial))
