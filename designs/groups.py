"""Groups that act on the points of a design: a cyclic group, with a multiplier or without; any
group of permutations.

A design that such a group maps to itself is told by a few starter blocks, of which the group makes
all the others.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import comb

import numpy as np

from .subsets import Block, ranks, subsets
from .types import Integers


@dataclass(frozen=True, kw_only=True)
class Group:
    """The maps x -> multiplier**i * x + j of the integers modulo `order`, within each cycle of
    `order` points.

    The last ``v % order`` points stay fixed. Order 1 is no symmetry at all.

    Parameters
    ----------
    v : int
        Number of points.
    order : int
        Length of a cycle, at least 1.
    multiplier : int
        Prime to `order`; 1 for none.
    """

    v: int
    order: int
    multiplier: int = 1

    @property
    def fixed(self) -> int:
        """How many points lie in no cycle."""
        return self.v % self.order

    def __str__(self) -> str:
        maps = len(self.factors()) * self.order
        return "" if maps == 1 else f"under a group of {maps} maps"

    def images(self, points: Integers) -> Integers:
        """The points, shape (...), under each map of the group, shape (maps, ...)."""
        shifts = np.arange(self.order).reshape(-1, *[1] * points.ndim)
        moving = points < self.v - self.fixed
        moved = []
        for factor in self.factors():
            steps = (points % self.order * factor + shifts) % self.order
            moved.append(np.where(moving, points // self.order * self.order + steps, points))
        return np.concatenate(moved)

    def expand(self, starters: list[Block]) -> list[Block]:
        """The blocks into which the group moves the starter blocks, each once.

        >>> len(Group(v=7, order=7).expand([(0, 1, 3)]))
        7
        """
        blocks: set[Block] = set()
        for starter in starters:
            blocks.update(map(tuple, np.sort(self.images(np.array(starter)), axis=1).tolist()))
        return sorted(blocks)

    def factors(self) -> list[int]:
        """The powers of the multiplier."""
        factors = [1 % self.order]
        while (factor := factors[-1] * self.multiplier % self.order) != factors[0]:
            factors.append(factor)
        return factors


@dataclass(frozen=True, kw_only=True)
class Permutations:
    """The group that some permutations of the points generate.

    Parameters
    ----------
    generators : tuple of tuple of int
        Of each the images of the points 0, 1, 2, ...
    """

    generators: tuple[tuple[int, ...], ...]

    @property
    def v(self) -> int:
        """Number of points."""
        return len(self.generators[0])

    def __str__(self) -> str:
        return f"under a group that {len(self.generators)} permutations generate"

    def expand(self, starters: list[Block]) -> list[Block]:
        """The blocks into which the group moves the starter blocks, each once.

        >>> len(Permutations(generators=((1, 2, 3, 4, 5, 6, 0),)).expand([(0, 1, 3)]))
        7
        """
        blocks = {*starters}
        todo = [*starters]
        while todo:
            block = todo.pop()
            for images in self.generators:
                image = tuple(sorted(images[point] for point in block))
                if image not in blocks:
                    blocks.add(image)
                    todo.append(image)
        return sorted(blocks)


@lru_cache(maxsize=24)
def orbits(group: Group, t: int) -> tuple[Integers, Integers]:
    """The orbits of a group on t-subsets.

    Returns
    -------
    table : array, shape (v**t,)
        The number of the orbit of each t-subset, in any order of its points.
    sizes : array, shape (orbits,)
        How many t-subsets an orbit holds.
    """
    v = group.v
    rows = subsets(v, t)
    least = np.full(comb(v, t), comb(v, t))
    step = max(1, 4_000_000 // (len(group.factors()) * group.order * t))
    for start in range(0, len(rows), step):
        part = np.sort(group.images(rows[start : start + step]), axis=2)
        numbers = ranks(part.reshape(-1, t), v).reshape(part.shape[:2])
        least[start : start + step] = numbers.min(axis=0)
    _, numbers, sizes = np.unique(least, return_inverse=True, return_counts=True)
    table = np.zeros((v,) * t, np.int64)
    for axes in permutations(range(t)):
        table[tuple(rows[:, axes].T)] = numbers
    return table.reshape(-1), np.asarray(sizes, np.int64)
