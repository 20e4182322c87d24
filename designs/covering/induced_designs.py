"""Designs induced by another design, whose points are deleted or stand for several points."""

from collections.abc import Callable, Sequence

import numpy as np

from ..bounds import schonheim_bound
from ..design import Design
from ..subsets import Block
from ..types import Floats, Integers

Cover = Callable[[int], Sequence[Block]]

TOO_WIDE = 2  # times k: blocks that grow wider are not costed, only avoided
RESTARTS = 10
ROUNDS = 40
WORK = 50_000_000  # bound on the look-ups of all restarts together


def induce(
    base: Design, v: int, k: int, cover: Cover, rng: np.random.Generator
) -> list[Block] | None:
    """A (v, k, t) covering from a base design of any other number of points and block size.

    Each base point stands for some number of points, zero included, v in all. Any t points come
    from at most t base points, which lie in a common base block. A base block that has come to
    hold more than k points is replaced by a cover of these. The numbers are found by a local
    search for the fewest blocks.

    Parameters
    ----------
    base : Design
    v, k : int
        Points, and points a block, of the design to make.
    cover : callable
        From n to the blocks of an (n, k, t) covering design on ``range(n)``.
    rng : numpy.random.Generator

    Returns
    -------
    list of tuples of int, or None
        Ascending blocks, of which some may be redundant. None when base blocks would come to hold
        far more than k points.

    References
    ----------
    D. Gordon, G. Kuperberg, O. Patashnik, New constructions for covering designs, J. Combin.
    Designs 3 (1995), 269-284, section 4 (induced coverings).
    """
    costs = _costs(base, v, k, cover)
    copies = _copies(base, v, costs, schonheim_bound(v, k, base.t), rng)
    return expanded(base.blocks, copies.tolist(), v, k, cover)


def expanded(
    base: Sequence[Block], copies: Sequence[int], v: int, k: int, cover: Cover
) -> list[Block] | None:
    """The blocks when each base point stands for so many points; None when some come to hold far
    more than k."""
    ends = np.cumsum(copies).tolist()
    spans = [range(end - n, end) for end, n in zip(ends, copies, strict=True)]
    blocks: set[Block] = set()
    for base_block in base:
        points = [p for b in base_block for p in spans[b]]
        if len(points) > k * TOO_WIDE or len(points) >= v:
            return None
        if len(points) <= k:
            blocks.add(tuple(points))
        else:
            blocks |= {tuple(points[i] for i in part) for part in cover(len(points))}
    return sorted(blocks)


def _costs(base: Design, v: int, k: int, cover: Cover) -> Floats:
    """How many blocks a base block costs that has come to hold 0, 1, 2, ... points."""
    widest = v + base.k * -(-v // base.v)
    costs = np.full(widest + 2, float(v**base.t))
    costs[: base.t], costs[base.t : k + 1] = 0, 1
    for n in range(k + 1, min(TOO_WIDE * k, v - 1) + 1):
        costs[n] = len(cover(n))
    return costs


def _copies(base: Design, v: int, costs: Floats, enough: int, rng: np.random.Generator) -> Integers:
    """How many points each base point is to stand for, shape (base.v,), summing to v."""
    holders: list[list[int]] = [[] for _ in range(base.v)]
    for i, block in enumerate(base.blocks):
        for point in block:
            holders[point].append(i)
    most = max(map(len, holders))
    through = np.array([row + [base.size] * (most - len(row)) for row in holders])
    steps = abs(base.v - v) + 2 * ROUNDS
    restarts = max(1, min(RESTARTS, WORK // (through.size * steps)))
    best, best_cost = np.zeros(base.v, np.int64), np.inf
    for i in range(restarts):
        start = np.full(base.v, (-(-v // base.v), v // base.v)[i % 2])
        cost, copies = _descend(through, base.size, start, v, costs, rng)
        if cost < best_cost:
            best, best_cost = copies, cost
        if best_cost <= enough:
            break
    return best


def _descend(
    through: Integers,
    size: int,
    copies: Integers,
    v: int,
    costs: Floats,
    rng: np.random.Generator,
) -> tuple[float, Integers]:
    """Bring the sum of `copies` to v, then move single units about; the best cost and copies.

    `through` holds the blocks through each point, padded with the number of blocks, `size`.
    """
    widths = np.zeros(size + 1, np.int64)
    np.add.at(widths, through, copies[:, None])
    widths[size] = 0

    def change(step: int, jitter: float, *, barred: int | None = None) -> int:
        extra = costs[widths + step] - costs[widths]
        extra[size] = 0.0
        loss = extra.take(through).sum(axis=1) + jitter * rng.random(len(copies))
        if step < 0:
            loss[copies == 0] = np.inf
        if barred is not None:
            loss[barred] = np.inf
        point = int(np.argmin(loss))
        copies[point] += step
        widths[through[point]] += step
        widths[size] = 0
        return point

    surplus = int(copies.sum()) - v
    for _ in range(abs(surplus)):
        change(-1 if surplus > 0 else 1, jitter=1e-3)
    best, best_cost = copies.copy(), costs[widths].sum()
    for _ in range(ROUNDS):
        removed = change(-1, jitter=3.0)
        change(+1, jitter=0.5, barred=removed)
        cost = costs[widths].sum()
        if cost < best_cost:
            best, best_cost = copies.copy(), cost
    return float(best_cost), best
