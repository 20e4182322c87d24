"""Covers made greedily by the error they are worth."""

from collections.abc import Sequence
from math import prod

import numpy as np

from .error import Weights
from .subsets import Block, BoolArray, IntArray


class WorthCover:
    """Covers wanted sets of attributes by views, each grown while that pays.

    Were every set answered from one view only, of c_i cells and with weights kappa that add to a_i, the best shares
    would give an error that grows with the sum of ``(a_i c_i) ** (1 / (power + 1))``. So a view is grown by the
    attribute for which what its new sets would cost on their own, divided by what the view costs, is largest.

    Parameters
    ----------
    sizes : sequence of int
    sets : sequence of ascending tuples
        All wanted.
    kappa : mapping
        See `contrast_weights`; holds every wanted set.
    limit : int
        Largest number of cells of a view.
    power : int
    """

    def __init__(self, sizes: Sequence[int], sets: Sequence[Block], kappa: Weights, limit: int, power: int) -> None:
        self._cells = np.array(sizes, np.float64)
        self._limit = limit
        self._root = 1 / (power + 1)
        self._sets = sets
        self._lengths = np.array([len(s) for s in sets])
        self._sums = np.array([sum(s) for s in sets])
        self._kappa = np.array([kappa[s] for s in sets])
        self._alone = (self._kappa * np.array([prod(sizes[j] for j in s) for s in sets])) ** self._root
        points = np.array([j for s in sets for j in s])
        owners = np.repeat(np.arange(len(sets)), self._lengths)[np.argsort(points, kind="stable")]
        self._holders: list[IntArray] = np.split(owners, np.cumsum(np.bincount(points, minlength=len(sizes)))[:-1])

    def run(self, noise: float, rng: np.random.Generator) -> list[Block]:
        """Views that hold every wanted set; the choice of an attribute is random by a relative `noise`."""
        wanted = np.ones(len(self._sets), np.bool_)
        found: list[Block] = []
        while wanted.any():
            left = np.flatnonzero(wanted)
            view = self._grown(self._sets[int(rng.choice(left))], wanted, noise, rng)
            wanted &= self._missing(view) > 0
            found.append(view)
        return found

    def _missing(self, view: Block) -> IntArray:
        """How many attributes of each set are not in the view."""
        missing = self._lengths.copy()
        for j in view:
            missing[self._holders[j]] -= 1
        return missing

    def _grown(self, start: Block, wanted: BoolArray, noise: float, rng: np.random.Generator) -> Block:
        missing, rest = self._lengths.copy(), self._sums.copy()
        alone, kappa = np.zeros(len(self._cells)), np.zeros(len(self._cells))
        members: list[int] = []
        sums = np.zeros(2)

        def take(j: int) -> None:
            held = self._holders[j]
            missing[held] -= 1
            rest[held] -= j
            done = held[(missing[held] == 0) & wanted[held]]
            sums[:] += self._alone[done].sum(), self._kappa[done].sum()
            last = held[(missing[held] == 1) & wanted[held]]
            np.add.at(alone, rest[last], self._alone[last])
            np.add.at(kappa, rest[last], self._kappa[last])
            members.append(j)

        singles = np.flatnonzero((self._lengths == 1) & wanted)
        alone[self._sums[singles]], kappa[self._sums[singles]] = self._alone[singles], self._kappa[singles]
        for j in start:
            take(j)
        cells = float(self._cells[members].prod())
        worth = sums[0] / (cells * sums[1]) ** self._root
        while True:
            grown = cells * self._cells
            after = (sums[0] + alone) / (grown * (sums[1] + kappa)) ** self._root
            after[(grown > self._limit) | (alone == 0)] = 0
            after[members] = 0
            best = int(np.argmax(after * (1 + noise * rng.random(len(after)))))
            if after[best] <= worth:
                return tuple(sorted(members))
            worth, cells = after[best], grown[best]
            take(best)
