"""The best sizes, and how to reach them, of many covering designs at once, each made of smaller ones.

Every cell (v, k, t) of the table takes the least of: a shipped design; a geometry; a transversal design whose groups
are covered; a design of more points, of which some are deleted; one of smaller blocks; and the join of designs on two
parts of the points. What the cells hold is a recipe; `build` makes the blocks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from math import comb

import numpy as np

from .design import Design
from .gf import prime_power
from .induced import expanded
from .named import NAMED, base, described
from .shipped import Copies, Shipped, shipped, shipped_copies
from .subsets import Block, IntArray
from .transversal import transversal_cover

MOST_POINTS, WIDEST, STRONGEST = 99, 12, 4
NONE = 10**9  # the size of what is not known
ROUNDS = 3

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

    sizes: IntArray
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


@cache
def table() -> Table:
    """The table of everything shipped and constructed, closed under the rules."""
    made = Table(sizes=_trivial_sizes(), recipes={})
    for v, k, t, size, words, build in NAMED:
        if v <= MOST_POINTS and k <= WIDEST:
            made.offer((v, k, t), size, (described(words), partial(_named, build)))
    for cell, design in shipped().items():
        if cell[1] <= WIDEST:
            made.offer(cell, design.size, (design.words, partial(_shipped, design)))
    for cell, copies in shipped_copies().items():
        made.offer(
            cell, copies.size, (f"a design induced by the {described(copies.words)}", partial(_induced, cell, copies))
        )
    close(made)
    return made


def close(made: Table) -> None:
    """Apply the rules until nothing changes, or a few times."""
    for _ in range(ROUNDS):
        before = made.sizes.copy()
        for t in range(2, STRONGEST + 1):
            for k in range(t + 1, WIDEST + 1):
                if t == 2:
                    _transversals(made, k)
                for v in range(k + 1, MOST_POINTS + 1):
                    narrower = f"blocks of {k - 1} points", partial(_narrower, (v, k - 1, t))
                    made.offer((v, k, t), int(made.sizes[t, k - 1, v]), narrower)
                    _join(made, v, k, t)
                for v in reversed(range(k + 1, MOST_POINTS)):
                    shortened = f"a design of {v + 1} points, less one", partial(_shortened, (v + 1, k, t))
                    made.offer((v, k, t), int(made.sizes[t, k, v + 1]), shortened)
        if (before == made.sizes).all():
            return


def _trivial_sizes() -> IntArray:
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
    return sizes


def _join(made: Table, v: int, k: int, t: int) -> None:
    """Split the points in two; t of them are s in the first part and t - s in the second, for some s.

    D. Gordon, G. Kuperberg, O. Patashnik, J. Combin. Designs 3 (1995), 269-284, section 5 (dynamic programming).
    """
    firsts = np.arange(1, v // 2 + 1)
    total = np.zeros(len(firsts), np.int64)
    for s in range(t + 1):
        widths = np.arange(s, k - (t - s) + 1)
        products = made.sizes[s][widths[:, None], firsts] * made.sizes[t - s][k - widths[:, None], v - firsts]
        total += products.min(axis=0)
    best = int(np.argmin(total))
    if total[best] < made.sizes[t, k, v]:
        made.offer((v, k, t), int(total[best]), ("a join of two parts", partial(_joined, (v, k, t), int(firsts[best]))))


def _joined(cell: Cell, first: int, made: Table) -> list[Block]:
    v, k, t = cell
    blocks: list[Block] = []
    for s in range(t + 1):
        widths = range(s, k - (t - s) + 1)
        sizes = [made.sizes[s, w, first] * made.sizes[t - s, k - w, v - first] for w in widths]
        width = widths[int(np.argmin(sizes))]
        left = made.build(first, width, s)
        right = [tuple(first + p for p in block) for block in made.build(v - first, k - width, t - s)]
        blocks += [(*a, *b) for a in left for b in right]
    return blocks


def _transversals(made: Table, k: int) -> None:
    sizes = made.sizes[2, k]
    for v in range(k + 1, MOST_POINTS + 1):
        for shared in (0, 1, 2, 3):
            groups = [(v - shared) * (i + 1) // k - (v - shared) * i // k for i in range(k)]
            q = max(k - 1, max(groups))
            while prime_power(q) is None:
                q += 1
            size = q * q + sum(int(sizes[group + shared]) for group in groups)
            if size < sizes[v]:
                words = f"a transversal design of order {q}, groups covered"
                made.offer((v, k, 2), size, (words, partial(_transversal, (v, k, q), shared)))


def _transversal(about: tuple[int, int, int], shared: int, made: Table) -> list[Block]:
    v, k, q = about
    return transversal_cover(v, k, q, lambda n: made.build(n, k, 2), shared=shared)


def _named(build: Callable[[], Design], made: Table) -> list[Block]:
    return list(build().blocks)


def _shipped(design: Shipped, made: Table) -> list[Block]:
    return design.blocks


def _narrower(cell: Cell, made: Table) -> list[Block]:
    return made.build(*cell)


def _shortened(cell: Cell, made: Table) -> list[Block]:
    last = cell[0] - 1
    return [tuple(p for p in block if p != last) for block in made.build(*cell)]


def _induced(cell: Cell, copies: Copies, made: Table) -> list[Block]:
    v, k, t = cell
    blocks = expanded(base(copies.words).blocks, copies.numbers, v, k, lambda n: made.build(n, k, min(t, n)))
    assert blocks is not None
    return [block for block in blocks if len(block) >= t]
