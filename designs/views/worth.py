"""Covers made greedily by the error they are worth."""

from collections.abc import Sequence
from math import prod

import numpy as np

from ..subsets import Block
from ..types import Flags
from .error import Weights


class WorthCover:
    """Covers wanted sets of attributes by views, each grown while that pays.

    Were every set answered from one view only, of c_i cells and with weights kappa that add to a_i,
    the best shares would give an error that grows with the sum of ``(a_i c_i) ** (1 / (power +
    1))``. So a view is grown by the attribute for which what its new sets would cost on their own,
    divided by what the view costs, is largest.

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

    def __init__(
        self, sizes: Sequence[int], sets: Sequence[Block], kappa: Weights, limit: int, power: int
    ) -> None:
        self._sizes = np.array(sizes, np.float64)
        self._limit = limit
        self._root = 1 / (power + 1)
        self._sets = sets
        self._members = np.zeros((len(sets), len(sizes)))
        for row, members in zip(self._members, sets, strict=True):
            row[list(members)] = 1
        weights = np.array([kappa[s] for s in sets])
        cells = np.array([prod(sizes[j] for j in s) for s in sets], np.float64)
        self._values = np.array(
            [(weights * cells) ** self._root, weights]
        )  # of each set on its own, and kappa
        self._held: dict[Block, Flags] = {}

    def run(
        self, noise: float, rng: np.random.Generator, *, kept: Sequence[Block] = ()
    ) -> list[Block]:
        """Views that hold every wanted set which none of those that are kept holds.

        The choice of an attribute is random by a relative `noise`.
        """
        wanted = np.ones(len(self._sets), np.bool_)
        if kept:
            wanted = ~np.any([self._holds(view) for view in kept], axis=0)
        found: list[Block] = []
        while wanted.any():
            start = self._sets[int(rng.choice(np.flatnonzero(wanted)))]
            view = self._grown(start, wanted, noise, rng)
            wanted &= ~self._holds(view)
            found.append(view)
        return found

    def _holds(self, view: Block) -> Flags:
        """Which sets lie within a view."""
        if view not in self._held:
            self._held[view] = self._members[:, list(view)].sum(axis=1) == self._members.sum(axis=1)
        return self._held[view]

    def _grown(self, start: Block, wanted: Flags, noise: float, rng: np.random.Generator) -> Block:
        members, values = self._members[wanted], self._values[:, wanted]
        outside = np.ones(len(self._sizes))
        outside[list(start)] = 0
        cells = self._sizes[list(start)].prod()
        while True:
            missing = members @ outside
            inside, gain = values @ (missing == 0), (values * (missing == 1)) @ members * outside
            grown = cells * self._sizes
            after = (inside[0] + gain[0]) / (grown * (inside[1] + gain[1])) ** self._root
            after *= (grown <= self._limit) & (gain[0] > 0)
            worth = inside[0] / (cells * inside[1]) ** self._root
            best = int(np.argmax(after * (1 + noise * rng.random(len(after)))))
            if after[best] <= worth:
                return tuple(np.flatnonzero(outside == 0).tolist())
            cells = grown[best]
            outside[best] = 0
