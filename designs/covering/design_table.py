"""The table of covering designs as a record: a size and a recipe for each cell (v, k, t)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from ..subsets import Block
from ..types import Integers

MOST_POINTS, WIDEST, STRONGEST = 99, 12, 4
NONE = 10**9  # the size of what is not known

Cell = tuple[int, int, int]
Recipe = tuple[str, Callable[["Table"], list[Block]]]


@dataclass(frozen=True, kw_only=True)
class Table:
    """Sizes and recipes.

    Parameters
    ----------
    sizes : array, shape (STRONGEST + 1, WIDEST + 1, MOST_POINTS + 1)
        By t, k and v.
    recipes : dict
        By (v, k, t): words that say where the design is from, and what makes its blocks.
    """

    sizes: Integers
    recipes: dict[Cell, Recipe]

    def build(self, v: int, k: int, t: int) -> list[Block]:
        """The blocks of a cell, each ascending; some may be redundant."""
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
        return self.recipes[v, k, t][1](self)

    def offer(self, cell: Cell, size: int, recipe: Recipe) -> None:
        """Take a recipe if it gives fewer blocks than what is there."""
        v, k, t = cell
        if size < self.sizes[t, k, v]:
            self.sizes[t, k, v] = size
            self.recipes[cell] = recipe


def empty_table() -> Table:
    """The cells that need no recipe."""
    sizes = np.full((STRONGEST + 1, WIDEST + 1, MOST_POINTS + 1), NONE)
    sizes[0] = 1
    for t in range(1, STRONGEST + 1):
        for v in range(MOST_POINTS + 1):
            for k in range(WIDEST + 1):
                if v < t:
                    sizes[t, k, v] = 0
                elif k >= v:
                    sizes[t, k, v] = 1
                elif t == 1 and k:
                    sizes[t, k, v] = -(-v // k)
                elif k == t:
                    sizes[t, k, v] = comb(v, t)
    return Table(sizes=sizes, recipes={})
