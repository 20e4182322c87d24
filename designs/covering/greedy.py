"""Greedy covers of subsets of points by blocks."""

from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import Protocol

import numpy as np

from ...solvers.threads import compiler_pays
from ..subsets import Block, subsets
from ..types import Flags, Floats, Integers

Fits = Callable[[Sequence[int]], Flags]
LARGEST_TABLE = 10**8  # largest number of entries, v**t, of an array of t-subsets for t <= 4
PLAIN_SECONDS = 3e-5  # time of numpy for a block; most blocks hold few wanted subsets
LOADING_SECONDS = 0.1  # the compiled loops are loaded if numpy would take longer
STEPS = 1024  # number of steps for which the compiled loops get random numbers at a time
JITTER = 0.3  # largest random number added to a score; less than 1, the score of one subset


class Wanted(Protocol):
    """The subsets of points that are not covered yet, and the block under construction."""

    def start(self) -> list[int] | None:
        """Begin a block with the points of the first wanted subset; None if all are covered."""

    def gain(self) -> Integers:
        """The number of wanted subsets that each point would complete, shape (points,)."""

    def take(self, point: int) -> None:
        """Add a point to the block under construction."""

    def settle(self) -> None:
        """Mark the subsets of the block as covered."""


def greedy_cover(
    wanted: Wanted,
    fits: Fits,
    price: Floats,
    rng: np.random.Generator,
) -> list[Block]:
    """Cover every wanted subset greedily, one block after the other.

    A block starts as the first subset that is not covered yet. It then takes one point after
    another, each time the point that completes the most wanted subsets for its price. It ends when
    no point that fits completes any subset.

    Parameters
    ----------
    wanted : Wanted
        The subsets to cover. It is changed: afterwards all are marked as covered.
    fits : callable
        Takes the points of a block and returns the mask, shape (points,), of the points that may
        join it.
    price : array, shape (points,)
        The share of the room in a block that a point takes, > 0.
    rng : numpy.random.Generator
        Breaks ties.

    Returns
    -------
    list of tuples of int
        Ascending blocks.
    """
    blocks: list[Block] = []
    while (block := wanted.start()) is not None:
        while True:
            gain = wanted.gain()
            allowed = fits(block) & (gain > 0)
            allowed[block] = False
            if not allowed.any():
                break
            score = gain / price + JITTER * rng.random(len(price))
            best = int(np.argmax(np.where(allowed, score, -1.0)))
            block.append(best)
            wanted.take(best)
        wanted.settle()
        blocks.append(tuple(sorted(block)))
    return blocks


def greedy_covers_within(
    sets: Sequence[Block],
    sizes: Sequence[int],
    max_cells: int,
    rngs: Sequence[np.random.Generator],
) -> list[list[Block]]:
    """Several covers of wanted sets by blocks with tables of at most `max_cells` cells.

    They are the results of `greedy_cover`, by compiled loops where these save time.

    Parameters
    ----------
    sets : sequence of tuples of int
        Ascending subsets of ``range(len(sizes))``, not empty.
    sizes : sequence of int
        The number of values of each point, > 1. The table of a block has their product of cells.
    max_cells : int
        The largest number of cells.
    rngs : sequence of numpy.random.Generator
        One for each cover.
    """
    counts = np.array(sizes, np.float64)
    price = np.log2(counts)
    seconds = PLAIN_SECONDS * len(sets) * len(rngs)
    pays = seconds > LOADING_SECONDS or compiler_pays(f"{__package__}.greedy_loops", seconds)
    mask = _mask(sets, len(sizes)) if pays else None
    if mask is not None:
        return [_compiled(mask.copy(), counts, max_cells, rng) for rng in rngs]

    def fits(view: Sequence[int]) -> Flags:
        return np.asarray(counts * counts[view].prod() <= max_cells)

    return [greedy_cover(wanted_sets(sets, len(sizes)), fits, price, rng) for rng in rngs]


def _compiled(
    mask: Flags,
    counts: Floats,
    max_cells: int,
    rng: np.random.Generator,
) -> list[Block]:
    """One cover by compiled loops; see `greedy_covers_within`. The mask is changed."""
    from . import greedy_loops  # it imports numba, which takes some tenths of a second

    v = len(mask)
    t = mask.ndim
    flat = mask.reshape(-1)
    jitter = np.empty((STEPS + v, v))
    _fill(jitter, rng)
    ends = np.empty(STEPS, np.int64)
    points = np.empty(t * len(ends) + len(jitter), np.int64)
    blocks: list[Block] = []
    start = 0
    while start < flat.size:
        made, used, start = greedy_loops.cover_with(
            mask=flat,
            t=t,
            start=start,
            counts=counts,
            price=np.log2(counts),
            max_cells=float(max_cells),
            jitter=jitter,
            points=points,
            ends=ends,
        )
        first = 0
        for end in ends[:made].tolist():
            blocks.append(tuple(sorted(points[first:end].tolist())))
            first = end
        # Unused random numbers come first.
        left = len(jitter) - used
        jitter[:left] = jitter[used:].copy()
        _fill(jitter[left:], rng)
    return blocks


def _fill(jitter: Floats, rng: np.random.Generator) -> None:
    """Fill an array, contiguous in memory, with random numbers for scores."""
    rng.random(out=jitter)
    jitter *= JITTER


def wanted_sets(sets: Sequence[Block], v: int) -> Wanted:
    """Make the record of wanted subsets from subsets of ``range(v)``.

    Each subset is ascending and not empty.
    """
    mask = _mask(sets, v)
    return _Sparse(sets, v) if mask is None else _Dense(mask)


def _mask(sets: Sequence[Block], v: int) -> Flags | None:
    """The dense array of `_Dense`; None if the subsets have several sizes or it is too large."""
    t = len(sets[0])
    if not 2 <= t <= 4 or v**t > LARGEST_TABLE or any(len(s) != t for s in sets):
        return None
    mask = np.zeros((v,) * t, np.bool_)
    rows = np.array(sets)
    for axes in permutations(range(t)):
        mask[tuple(rows[:, axes].T)] = True
    return mask


def wanted_subsets(v: int, t: int) -> Wanted:
    """Make the record of wanted subsets from all t-subsets of ``range(v)``, t >= 1."""
    if not 2 <= t <= 4 or v**t > LARGEST_TABLE:
        return _Sparse(list(combinations(range(v), t)), v)
    grid = np.indices((v,) * t, sparse=True)
    mask = np.ones((v,) * t, np.bool_)
    for i, j in combinations(range(t), 2):
        mask &= grid[i] != grid[j]
    return _Dense(mask)


class _Dense:
    """Wanted subsets that all have the same size t >= 2, in one dense array.

    Parameters
    ----------
    mask : array of bool, shape (v,) * t
        True at the wanted subsets. It is symmetric in its axes, and false where two coordinates are
        equal.
    """

    def __init__(self, mask: Flags) -> None:
        self._mask = mask
        self._next = 0
        self._block: list[int] = []
        self._gain = np.zeros(len(mask), np.int64)

    def start(self) -> list[int] | None:
        flat = self._mask.reshape(-1)
        self._next += int(np.argmax(flat[self._next :]))
        if not flat[self._next]:
            return None
        self._block = [int(p) for p in np.unravel_index(self._next, self._mask.shape)]
        self._gain = self._count((), self._mask.ndim - 1)
        return list(self._block)

    def gain(self) -> Integers:
        return self._gain

    def take(self, point: int) -> None:
        self._gain = self._gain + self._count((point,), self._mask.ndim - 2)
        self._block.append(point)

    def settle(self) -> None:
        self._mask[np.ix_(*[self._block] * self._mask.ndim)] = False

    def _count(
        self,
        points: tuple[int, ...],
        more: int,
    ) -> Integers:
        """For each point p, count the wanted subsets of p, `points` and `more` points of the block.

        The result has the shape (points,).
        """
        block = np.array(self._block, np.int64)
        rows = block[subsets(len(block), more)]
        found = self._mask[(*points, *rows.T)].reshape(-1, len(self._mask))
        count: Integers = found.sum(axis=0)
        return count


class _Sparse:
    """Wanted subsets of any sizes, each with at least one point."""

    def __init__(
        self,
        sets: Sequence[Block],
        v: int,
    ) -> None:
        self._sets = sets
        self._v = v
        self._wanted = np.ones(len(sets), np.bool_)
        self._sizes = np.array([len(s) for s in sets])
        self._sums = np.array([sum(s) for s in sets])
        # The sets that hold each point.
        points = np.array([p for s in sets for p in s])
        owners = np.repeat(np.arange(len(sets)), self._sizes)
        by_point = owners[np.argsort(points, kind="stable")]
        ends = np.cumsum(np.bincount(points, minlength=v))
        self._holders = np.split(by_point, ends[:-1])
        self._missing = self._sizes  # number of points of each set that are not in the block
        self._rest = self._sums  # sum of these points: the point itself if there is only one
        self._gain = np.zeros(v, np.int64)

    def start(self) -> list[int] | None:
        first = int(np.argmax(self._wanted))
        if not self._wanted[first]:
            return None
        self._missing = self._sizes.copy()
        self._rest = self._sums.copy()
        single = self._wanted & (self._missing == 1)
        self._gain = np.bincount(self._rest[single], minlength=self._v)
        for point in self._sets[first]:
            self.take(point)
        return list(self._sets[first])

    def gain(self) -> Integers:
        return self._gain

    def take(self, point: int) -> None:
        held = self._holders[point]
        self._missing[held] -= 1
        self._rest[held] -= point
        last = held[(self._missing[held] == 1) & self._wanted[held]]
        self._gain = self._gain + np.bincount(self._rest[last], minlength=self._v)

    def settle(self) -> None:
        self._wanted &= self._missing > 0
