"""Designs induced by a base design: each base point is replaced by some number of points."""

from collections.abc import Callable, Sequence

import numpy as np

from ..bounds import schonheim_bound
from ..design import Design
from ..subsets import Block
from ..types import Floats, Integers

Cover = Callable[[int], Sequence[Block]]

TOO_WIDE = 2  # times k: wider blocks get a price that rules them out
RESTARTS = 10  # largest number of starts of the local search
ROUNDS = 40  # units that are moved from point to point in one start
WORK = 50_000_000  # largest number of look-ups of all starts together


def induce(
    base: Design,
    v: int,
    k: int,
    cover: Cover,
    rng: np.random.Generator,
) -> list[Block] | None:
    """A (v, k, t) covering made from a base design of any number of points and block size.

    Each base point is replaced by some number of points, possibly 0; together these are v points.
    Any t of them come from at most t base points, which lie together in a base block. If a base
    block then holds n > k points, an (n, k, t) covering of these points takes its place. A local
    search chooses the numbers so that few blocks result.

    Parameters
    ----------
    base : Design
        Its strength is t.
    v, k : int
        Points, and points per block, of the design to make.
    cover : callable
        Takes n and returns the blocks of an (n, k, t) covering design on ``range(n)``.
    rng : numpy.random.Generator
        Breaks ties in the local search.

    Returns
    -------
    list of tuples of int, or None
        Ascending blocks, some of which may be redundant. None if some base block would hold far
        more than k points.

    References
    ----------
    D. Gordon, G. Kuperberg, O. Patashnik, New constructions for covering designs, J. Combin.
    Designs 3 (1995), 269-284, section 4 (induced coverings).
    """
    costs = _costs(base, v, k, cover)
    copies = _copies(base, v, costs, schonheim_bound(v, k, base.t), rng)
    return expanded(base.blocks, copies.tolist(), v, k, cover)


def expanded(
    base: Sequence[Block],
    copies: Sequence[int],
    v: int,
    k: int,
    cover: Cover,
) -> list[Block] | None:
    """Make the blocks that result if base point i is replaced by ``copies[i]`` points.

    A block that would hold more than k points is split by `cover`. Returns None if it would hold
    more than ``TOO_WIDE * k`` points, or all v points.
    """
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
            blocks.update(tuple(points[i] for i in part) for part in cover(len(points)))
    return sorted(blocks)


def _costs(
    base: Design,
    v: int,
    k: int,
    cover: Cover,
) -> Floats:
    """The number of blocks that replace a base block that holds 0, 1, 2, ... points.

    A base block of too many points gets a very large number.
    """
    widest = v + base.k * -(-v // base.v)
    costs = np.full(widest + 2, float(v**base.t))
    costs[: base.t] = 0
    costs[base.t : k + 1] = 1
    for n in range(k + 1, min(TOO_WIDE * k, v - 1) + 1):
        costs[n] = len(cover(n))
    return costs


def _copies(
    base: Design,
    v: int,
    costs: Floats,
    enough: int,
    rng: np.random.Generator,
) -> Integers:
    """Choose the number of points that replace each base point, shape (base.v,), with sum v.

    Several local searches are made. They end early if the number of blocks is at most `enough`.
    """
    through = _blocks_through(base)
    steps = abs(base.v - v) + 2 * ROUNDS
    restarts = max(1, min(RESTARTS, WORK // (through.size * steps)))
    best, best_cost = np.zeros(base.v, np.int64), np.inf
    for i in range(restarts):
        # Starts are equal numbers, in turn just above and just below the mean.
        start = np.full(base.v, (-(-v // base.v), v // base.v)[i % 2])
        cost, copies = _Descent(through, base.size, start, costs, rng).run(v)
        if cost < best_cost:
            best, best_cost = copies, cost
        if best_cost <= enough:
            break
    return best


def _blocks_through(base: Design) -> Integers:
    """List the blocks that hold each point, shape (base.v, most).

    `most` is the largest number of blocks through a point. Shorter rows are filled up with the
    number of blocks, which is no position of a block.
    """
    holders: list[list[int]] = [[] for _ in range(base.v)]
    for i, block in enumerate(base.blocks):
        for point in block:
            holders[point].append(i)
    most = max(map(len, holders))
    return np.array([row + [base.size] * (most - len(row)) for row in holders])


class _Descent:
    """Local search for the numbers of points ("copies") that replace the base points.

    It moves single copies from one base point to another so that the cost of all blocks falls.

    Parameters
    ----------
    through : array, shape (points, most)
        See `_blocks_through`.
    size : int
        Number of blocks of the base design.
    copies : array, shape (points,)
        The numbers to begin with. Changed in place.
    costs : array
        Cost of a block by the number of points that it holds.
    rng : numpy.random.Generator
        Breaks ties.
    """

    def __init__(
        self,
        through: Integers,
        size: int,
        copies: Integers,
        costs: Floats,
        rng: np.random.Generator,
    ) -> None:
        self._through = through
        self._size = size
        self._copies = copies
        self._costs = costs
        self._rng = rng
        self._widths = np.zeros(size + 1, np.int64)  # points that each block holds
        np.add.at(self._widths, through, copies[:, None])
        self._widths[size] = 0

    def run(self, v: int) -> tuple[float, Integers]:
        """Bring the sum of the copies to v, then move single copies from point to point.

        Returns the best cost and its copies.
        """
        surplus = int(self._copies.sum()) - v
        for _ in range(abs(surplus)):
            self._change(-1 if surplus > 0 else 1, jitter=1e-3)
        best, best_cost = self._copies.copy(), self._costs[self._widths].sum()
        for _ in range(ROUNDS):
            removed = self._change(-1, jitter=3.0)
            self._change(
                +1,
                jitter=0.5,
                barred=removed,
            )
            cost = self._costs[self._widths].sum()
            if cost < best_cost:
                best, best_cost = self._copies.copy(), cost
        return float(best_cost), best

    def _change(
        self,
        step: int,
        jitter: float,
        *,
        barred: int | None = None,
    ) -> int:
        """Add `step`, 1 or -1, to the copies of the point for which this costs least.

        The random `jitter` breaks ties. The point `barred` is not chosen. Returns the point.
        """
        extra = self._costs[self._widths + step] - self._costs[self._widths]
        extra[self._size] = 0.0
        noise = jitter * self._rng.random(len(self._copies))
        loss = extra.take(self._through).sum(axis=1) + noise
        if step < 0:
            loss[self._copies == 0] = np.inf
        if barred is not None:
            loss[barred] = np.inf
        point = int(np.argmin(loss))
        self._copies[point] += step
        self._widths[self._through[point]] += step
        self._widths[self._size] = 0
        return point
