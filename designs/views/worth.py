"""Greedy covers for low error: a view grows as long as that lowers an estimate of the error."""

from collections.abc import Sequence
from math import prod

import numpy as np

from ..subsets import Block
from ..types import Flags
from .error import Weights


class WorthCover:
    """Covers wanted sets of attributes by views, each grown as long as its value increases.

    Suppose that each set is answered from one view only. View i has c_i cells, and the weights
    kappa of its sets add to a_i. With the best shares, the error is then a power of the sum of the
    costs ``(a_i c_i) ** (1 / (power + 1))`` of the views. The value of a view compares two costs:
    the sum of the costs of its new sets, each as a view of its own, divided by the cost of the
    view. A view takes one attribute after another, each time the one that gives the largest value.

    Parameters
    ----------
    sizes : sequence of int
        Number of values of each attribute.
    sets : sequence of ascending tuples
        The wanted sets.
    kappa : mapping
        See `contrast_weights`. It holds every wanted set.
    limit : int
        Largest number of cells of a view.
    power : int
        1 or 2: the variance of a cell is ``share ** -power``.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        sets: Sequence[Block],
        kappa: Weights,
        limit: int,
        power: int,
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
        # Row 0: cost of each set as a view of its own. Row 1: its weight kappa.
        self._values = np.array([(weights * cells) ** self._root, weights])
        self._held: dict[Block, Flags] = {}

    def run(
        self,
        noise: float,
        rng: np.random.Generator,
        *,
        kept: Sequence[Block] = (),
    ) -> list[Block]:
        """Make views that hold every wanted set that no view of `kept` holds.

        Each view starts as a random set that is not held yet. When it grows, the value of each
        attribute is multiplied by a random factor from 1 to 1 + `noise`.
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
        """A mask of the wanted sets that lie within a view."""
        if view not in self._held:
            inside = self._members[:, list(view)].sum(axis=1)
            self._held[view] = inside == self._members.sum(axis=1)
        return self._held[view]

    def _grown(
        self,
        start: Block,
        wanted: Flags,
        noise: float,
        rng: np.random.Generator,
    ) -> Block:
        """Grow a view from one set until no attribute increases its value."""
        members, values = self._members[wanted], self._values[:, wanted]
        outside = np.ones(len(self._sizes))
        outside[list(start)] = 0
        cells = self._sizes[list(start)].prod()
        while True:
            # Sums over the sets inside the view, and over the sets that one attribute completes.
            missing = members @ outside
            inside = values @ (missing == 0)
            gain = (values * (missing == 1)) @ members * outside
            # The value with each attribute added, 0 if it is not allowed or completes no set.
            grown = cells * self._sizes
            after = (inside[0] + gain[0]) / (grown * (inside[1] + gain[1])) ** self._root
            after *= (grown <= self._limit) & (gain[0] > 0)
            now = inside[0] / (cells * inside[1]) ** self._root
            best = int(np.argmax(after * (1 + noise * rng.random(len(after)))))
            if after[best] <= now:
                return tuple(np.flatnonzero(outside == 0).tolist())
            cells = grown[best]
            outside[best] = 0
