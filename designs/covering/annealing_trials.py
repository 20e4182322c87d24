"""Search for a smaller covering design by annealing under many groups in turn."""

from collections.abc import Iterator
from math import comb

from ..groups import Group
from ..subsets import Block
from .annealing import anneal
from .redundant_blocks import drop_redundant

LARGEST_TABLE = 10**6  # largest number of entries of the table of orbits
LARGEST_COUNT = 20_000  # largest number of t-subsets
LOOK_UPS = 30_000_000  # table look-ups per unit of effort, about a second
FIRST = 20_000  # moves of a trial in the first round; each later round doubles them
MOST_FIXED = 8  # largest number of points outside the cycles of the group
EXTRA = 2  # largest number of points that are annealed too and then deleted


def smaller_by_annealing(
    v: int,
    k: int,
    t: int,
    *,
    above: int,
    below: int,
    effort: int,
    seed: int,
) -> tuple[list[Block], int] | None:
    """Search for a (v, k, t) covering design of at least `above` and fewer than `below` blocks.

    A trial anneals some starter blocks under a cyclic group. The first round tries each group order
    and number of starter blocks that give such a size, the fewest starters first. Each later round
    tries all of them again with twice the moves, until `effort` is used up. The group may also act
    on a few additional points, which are deleted afterwards.

    Parameters
    ----------
    v, k, t : int
        Number of points, points per block, strength.
    above, below : int
        The wanted number of blocks is in ``range(above, below)``.
    effort : int
        Length of the search, in units of about a second; with 0 nothing is tried.
    seed : int
        The same arguments and seed give the same design.

    Returns
    -------
    (blocks, order of the group), or None if no trial succeeded.
    """
    left = effort * LOOK_UPS // (2 * comb(k - 1, t - 1))
    best: tuple[list[Block], int] | None = None
    moves = FIRST
    while left > 0 and (trials := _trials(v, k, t, above, below)):
        for starters, order, extra in trials:
            if left <= 0 or starters * order >= below:
                continue
            group = Group(
                v=v + extra,
                order=order,
            )
            uncovered, found, spent = anneal(
                group,
                k,
                t,
                widths=[1] * starters,
                moves=min(moves, left),
                seed=seed + moves,
            )
            left -= max(1, spent)
            if not uncovered:
                blocks = _without_points(group.expand(found), v)
                best = drop_redundant(blocks, v, t), order
                below = len(best[0])
        moves *= 2
    return best


def _without_points(blocks: list[Block], v: int) -> list[Block]:
    """Delete the points v, v + 1, ... from all blocks."""
    return [tuple(point for point in block if point < v) for block in blocks]


def _trials(
    v: int,
    k: int,
    t: int,
    above: int,
    below: int,
) -> list[tuple[int, int, int]]:
    """(starter blocks, order of the group, additional points) to try, the quickest first."""
    trials: list[tuple[int, int, int]] = []
    for extra in range(EXTRA + 1):
        points = v + extra
        if t <= 4 and points**t <= LARGEST_TABLE and comb(points, t) <= LARGEST_COUNT:
            sizes = range(above, below)
            trials += [
                (size // order, order, extra) for size in sizes for order in _orders(points, size)
            ]
    return sorted(trials, key=lambda trial: (trial[0] + trial[2], trial))


def _orders(points: int, size: int) -> Iterator[int]:
    """List the orders of groups that divide the number of blocks and leave few points fixed."""
    for order in range(1, min(size, points) + 1):
        if size % order == 0 and points % order <= MOST_FIXED:
            yield order
