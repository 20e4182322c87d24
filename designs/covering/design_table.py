"""A table of covering designs: for each (v, k, t) the smallest size found and how to build it."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from ..subsets import Block
from ..types import Integers

MOST_POINTS, WIDEST, STRONGEST = 99, 12, 4  # largest v, k and t of the table
NONE = 10**9  # size of a cell that has no recipe yet

Cell = tuple[int, int, int]


class Recipe(NamedTuple):
    """The origin of a design in words, and the function that makes its blocks."""

    provenance: str
    build: "Callable[[Table], list[Block]]"


@dataclass(
    frozen=True,
    kw_only=True,
)
class Table:
    """Sizes and recipes of covering designs.

    Parameters
    ----------
    sizes : array, shape (STRONGEST + 1, WIDEST + 1, MOST_POINTS + 1)
        Number of blocks by t, k and v.
    recipes : dict
        By (v, k, t). Trivial cells have none.
    """

    sizes: Integers
    recipes: dict[Cell, Recipe]

    def build(
        self,
        v: int,
        k: int,
        t: int,
    ) -> list[Block]:
        """Make the blocks of the (v, k, t) design, each ascending. Some may be redundant."""
        if t == 0:
            return [()]
        if v < t:
            return []
        if k >= v:
            return [tuple(range(v))]
        if t == 1:
            return [tuple(range(i, min(i + k, v))) for i in range(0, v, k)]
        if k == t:
            return list(combinations(range(v), t))
        return self.recipes[v, k, t].build(self)

    def offer(
        self,
        cell: Cell,
        size: int,
        recipe: Recipe,
    ) -> None:
        """Store a recipe if it gives fewer blocks than the one stored."""
        v, k, t = cell
        if size < self.sizes[t, k, v]:
            self.sizes[t, k, v] = size
            self.recipes[cell] = recipe


def empty_table() -> Table:
    """Make a table that holds only the trivial designs: t <= 1, k >= v or k = t."""
    sizes = np.full((STRONGEST + 1, WIDEST + 1, MOST_POINTS + 1), NONE)
    sizes[0] = 1
    for t in range(1, STRONGEST + 1):
        for v in range(MOST_POINTS + 1):
            for k in range(WIDEST + 1):
                sizes[t, k, v] = _trivial_size(v, k, t)
    return Table(
        sizes=sizes,
        recipes={},
    )


def _trivial_size(
    v: int,
    k: int,
    t: int,
) -> int:
    """The size of a design that `Table.build` makes without a recipe; NONE for other cells."""
    if v < t:
        return 0
    if k >= v:
        return 1
    if t == 1 and k:
        return -(-v // k)
    if k == t:
        return comb(v, t)
    return NONE
