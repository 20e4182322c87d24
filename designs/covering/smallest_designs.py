"""The best sizes, and how to reach them, of many covering designs at once, each made of smaller
ones.

Every cell (v, k, t) of the table takes the least of: a shipped design; a geometry; and what the
`rules` make of other cells. What the cells hold is a recipe; `Table.build` makes the blocks.
"""

from collections.abc import Callable
from functools import cache, partial

from ..design import Design
from ..subsets import Block
from .classical_designs import NAMED, described
from .design_table import MOST_POINTS, STRONGEST, WIDEST, Cell, Table, empty_table
from .induced_designs import expanded
from .recursive_constructions import close
from .search_results import Copies, Shipped, shipped, shipped_copies


@cache
def table() -> Table:
    """The table of everything shipped and constructed, closed under the rules."""
    made = empty_table()
    for v, k, t, size, words, build in NAMED:
        if v <= MOST_POINTS and k <= WIDEST:
            made.offer((v, k, min(t, STRONGEST)), size, (described(words), partial(_named, build)))
    for cell, design in shipped().items():
        if cell[1] <= WIDEST:
            made.offer(cell, design.size, (design.words, partial(_shipped, design)))
    for cell, copies in shipped_copies().items():
        made.offer(cell, copies.size, (copies.description, partial(_induced, cell, copies)))
    close(made)
    return made


def _named(build: Callable[[], Design], made: Table) -> list[Block]:
    return list(build().blocks)


def _shipped(design: Shipped, made: Table) -> list[Block]:
    return design.blocks


def _induced(cell: Cell, copies: Copies, made: Table) -> list[Block]:
    v, k, t = cell
    blocks = expanded(copies.base, copies.numbers, v, k, lambda n: made.build(n, k, min(t, n)))
    assert blocks is not None
    return [block for block in blocks if len(block) >= t]
