"""Greedy covers of subsets of points by blocks."""

from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import Protocol

import numpy as np

from ..subsets import Block, subsets
from ..types import Flags, Floats, Integers

Fits = Callable[[Sequence[int]], Flags]
LARGEST_TABLE = 10**8  # entries of an array with an axis of v for each of up to 4 points
JITTER = 0.3  # random, to break ties: less than a whole subset


class Wanted(Protocol):
    """The subsets of points that are still to be covered, and the block under construction."""

    def start(self) -> list[int] | None:
        """Begin a block with the points of the first wanted subset; None when all are covered."""

    def gain(self) -> Integers:
        """How many wanted subsets each point would complete in the block, shape (points,)."""

    def take(self, point: int) -> None:
        """Let the point join the block."""

    def settle(self) -> None:
        """Mark the subsets of the block as covered."""


def greedy_cover(
    wanted: Wanted, fits: Fits, price: Floats, rng: np.random.Generator
) -> list[Block]:
    """Blocks that together hold every wanted subset, one block after the other.

    A block starts as the first subset still wanted, and takes in turn the point that completes
    the most wanted subsets for its price, until no point that fits completes any.

    Parameters
    ----------
    wanted : Wanted
        Used up by the call.
    fits : callable
        From the points of a block to the mask, shape (points,), of those that could join it.
    price : array, shape (points,)
        What a point takes of the room in a block, more than 0.
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
            open_ = fits(block) & (gain > 0)
            open_[block] = False
            if not open_.any():
                break
            score = gain / price + JITTER * rng.random(len(price))
            block.append(int(np.argmax(np.where(open_, score, -1.0))))
            wanted.take(block[-1])
        wanted.settle()
        blocks.append(tuple(sorted(block)))
    return blocks


def wanted_sets(sets: Sequence[Block], v: int) -> Wanted:
    """Subsets of ``range(v)`` that are to be covered, each ascending and not empty."""
    t = len(sets[0])
    if 2 <= t <= 4 and v**t <= LARGEST_TABLE and all(len(s) == t for s in sets):
        mask = np.zeros((v,) * t, np.bool_)
        rows = np.array(sets)
        for axes in permutations(range(t)):
            mask[tuple(rows[:, axes].T)] = True
        return _Dense(mask)
    return _Sparse(sets, v)


def wanted_subsets(v: int, t: int) -> Wanted:
    """All t-subsets of ``range(v)``, t >= 1."""
    if not 2 <= t <= 4 or v**t > LARGEST_TABLE:
        return _Sparse(list(combinations(range(v), t)), v)
    grid = np.indices((v,) * t, sparse=True)
    mask = np.ones((v,) * t, np.bool_)
    for i, j in combinations(range(t), 2):
        mask &= grid[i] != grid[j]
    return _Dense(mask)


class _Dense:
    """Subsets of the same number t >= 2 of points, held as one dense array.

    Parameters
    ----------
    mask : array of bool, shape (v,) * t
        True at the wanted subsets: symmetric in its axes, false where two coordinates are equal.
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

    def _count(self, points: tuple[int, ...], more: int) -> Integers:
        """How many wanted subsets each point completes with `points` and `more` of the block."""
        rows = np.array(self._block, np.int64)[subsets(len(self._block), more)]
        found = self._mask[(*points, *rows.T)].reshape(-1, len(self._mask))
        count: Integers = found.sum(axis=0)
        return count


class _Sparse:
    """Any subsets of ``range(v)``, each given by its distinct points, at least one."""

    def __init__(self, sets: Sequence[Block], v: int) -> None:
        self._sets = sets
        self._v = v
        self._wanted = np.ones(len(sets), np.bool_)
        self._sizes = np.array([len(s) for s in sets])
        self._sums = np.array([sum(s) for s in sets])
        points = np.array([p for s in sets for p in s])
        owners = np.repeat(np.arange(len(sets)), self._sizes)[np.argsort(points, kind="stable")]
        self._holders = np.split(owners, np.cumsum(np.bincount(points, minlength=v))[:-1])
        self._missing = self._sizes  # how many points of a set are not in the block
        self._rest = self._sums  # the sum of these points
        self._gain = np.zeros(v, np.int64)

    def start(self) -> list[int] | None:
        first = int(np.argmax(self._wanted))
        if not self._wanted[first]:
            return None
        self._missing, self._rest = self._sizes.copy(), self._sums.copy()
        self._gain = np.bincount(self._rest[self._wanted & (self._missing == 1)], minlength=self._v)
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
