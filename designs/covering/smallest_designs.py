"""The table of the smallest covering designs that this folder can make.

Each cell (v, k, t) takes the smallest of three: a design that a long search found, a classical
design, and a design that `recursive_constructions` make from other cells. A cell stores a recipe,
and `Table.build` makes the blocks.
"""

from collections.abc import Callable
from functools import cache, partial

from ..design import Design
from ..subsets import Block
from .classical_designs import CLASSICAL_DESIGNS, long_name
from .design_table import MOST_POINTS, STRONGEST, WIDEST, Cell, Recipe, Table, empty_table
from .induced_designs import expanded
from .recursive_constructions import close
from .search_results import (
    InducedDesign,
    StarterDesign,
    shipped_designs,
    shipped_induced_designs,
)


@cache
def smallest_designs() -> Table:
    """The smallest designs from shipped files, formulas and recursive constructions.

    `recursive_constructions.close` has been applied: no construction improves a size any more.
    """
    table = empty_table()
    for v, k, t, size, short_name, build in CLASSICAL_DESIGNS:
        if v <= MOST_POINTS and k <= WIDEST:
            recipe = Recipe(long_name(short_name), partial(_classical, build))
            table.offer((v, k, min(t, STRONGEST)), size, recipe)
    for cell, design in shipped_designs().items():
        if cell[1] <= WIDEST:
            recipe = Recipe(design.provenance, partial(_from_starters, design))
            table.offer(cell, design.size, recipe)
    for cell, induced in shipped_induced_designs().items():
        recipe = Recipe(induced.provenance, partial(_induced, cell, induced))
        table.offer(cell, induced.size, recipe)
    close(table)
    return table


def _classical(build: Callable[[], Design], table: Table) -> list[Block]:
    return list(build().blocks)


def _from_starters(design: StarterDesign, table: Table) -> list[Block]:
    return design.blocks


def _induced(
    cell: Cell,
    induced: InducedDesign,
    table: Table,
) -> list[Block]:
    v, k, t = cell
    blocks = expanded(induced.base, induced.copies, v, k, lambda n: table.build(n, k, min(t, n)))
    assert blocks is not None
    return [block for block in blocks if len(block) >= t]
