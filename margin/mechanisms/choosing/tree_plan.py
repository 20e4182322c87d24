"""What a tree of chosen pairs is expected to gain before it is chosen."""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from ..fitted import PART_DOUBT
from .noise_left import share_left
from .strength import Strength

__all__ = ["TreePlan"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class TreePlan:
    """The choice and the measurement of a spanning tree of pairs.

    Attributes
    ----------
    count
        The number of pairs of the tree, >= 1.
    pairs
        The number of pairs to choose from, >= `count`.
    cells
        The typical number of cells of a pair.
    chosen
        The variance of a count that a choice of one pair could measure, in squared rows.
    measured
        The noise variance of each cell of a chosen pair, in squared rows.
    """

    count: int
    pairs: int
    cells: int
    chosen: float
    measured: float

    def left(
        self,
        strength: Strength,
        rows: float,
        variance: float,
    ) -> tuple[float, float]:
        """The mean squares of a moment of two attributes that the tree misses, and of its noise.

        Both are relative to the mean square that one-way tables miss. The mean squares of the
        moments of all pairs are taken as quantiles of a log-normal distribution with the doubt
        `PART_DOUBT`. A part of the largest ones stands out from the noise of the choice. This part
        of the tree is found, and what it misses has the strength `Strength.forest`. The rest of the
        tree does not reduce the error. The pairs of the tree have the noise of their measurement
        instead.

        Parameters
        ----------
        strength
            The assumed or learnt size of components that are not measured.
        rows
            The approximate number of rows, > 0.
        variance
            A factor for all variances of noise.
        """
        square = strength.singles**2
        measured = variance * self.measured
        # The noise of a moment of a measured pair; see `Strength.size`.
        cells = np.array([self.cells])
        (kept,) = share_left(cells, np.array([measured]), rows, strength.spread).tolist()
        size = strength.size(np.array(2)).item()
        noise = 1 / (rows**2 / (kept * self.cells * measured) + 1 / size)
        # The largest parts, as far as they stand out from the noise of the choice: a pair of the
        # tree competes with pairs / count others.
        least = math.sqrt(2 * variance * self.chosen) * math.log(1 + self.pairs / self.count)
        largest = _parts(self.pairs)[: self.count]
        scale = math.sqrt(2 / math.pi * self.cells * square) * rows
        seen = [part for part in largest if math.sqrt(part) * scale > least]
        found = sum(seen) / sum(largest)
        held = found * self.count / self.pairs
        missed = (1 - found) * square + found * strength.forest**2
        return (1 - held) * missed / square, held * noise / square


@lru_cache(maxsize=16)
def _parts(count: int) -> tuple[float, ...]:
    """The mean squares of `count` parts, the largest first, relative to their mean."""
    normal = NormalDist(sigma=PART_DOUBT)
    parts = [math.exp(normal.inv_cdf(1 - (place + 0.5) / count)) for place in range(count)]
    mean = sum(parts) / count
    return tuple(part / mean for part in parts)
