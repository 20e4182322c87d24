"""Long search that leaves out one block of a design and anneals the others, under no group."""

from collections.abc import Iterable, Iterator
from random import Random

from margin.designs.covering.annealing import anneal
from margin.designs.covering.best_known import goal
from margin.designs.covering.covering_design import finished
from margin.designs.covering.design_table import Cell
from margin.designs.covering.search_results import StarterDesign
from margin.designs.covering.smallest_designs import smallest_designs
from margin.designs.groups import Group
from margin.designs.subsets import Block

MOVES = 1_000_000
MOST_BLOCKS = 200  # largest size of a design, because the file stores each block


def search_blocks(cells: Iterable[Cell], tries: int, seed: int) -> Iterator[StarterDesign]:
    """Yield designs smaller than those of the table, after `tries` tries for each cell."""
    random = Random(seed)
    table = smallest_designs()
    sizes = {(v, k, t): int(table.sizes[t, k, v]) for v, k, t in cells}
    todo = [cell for cell, size in sizes.items() if goal(*cell) < size <= MOST_BLOCKS]
    found = {cell: finished(table.build(*cell), *cell) for cell in todo}
    for cell in todo:
        if len(found[cell]) < sizes[cell]:
            yield _design(found[cell], cell)
    for _ in range(tries):
        for cell in todo:
            smaller = _one_block_fewer(found[cell], cell, random)
            if smaller is not None:
                found[cell] = smaller
                yield _design(smaller, cell)


def _one_block_fewer(blocks: list[Block], cell: Cell, random: Random) -> list[Block] | None:
    """Leave out a random block and anneal the others; None if some t-subset stays uncovered."""
    v, k, t = cell
    if len(blocks) <= goal(*cell):
        return None
    start = random.sample(blocks, len(blocks) - 1)
    uncovered, annealed, _ = anneal(
        Group(v=v, order=1),
        k,
        t,
        widths=[1] * len(start),
        moves=MOVES,
        seed=random.getrandbits(30),
        start=start,
    )
    return None if uncovered else finished(annealed, v, k, t)


def _design(blocks: list[Block], cell: Cell) -> StarterDesign:
    v, k, t = cell
    group = Group(v=v, order=1)
    return StarterDesign(group=group, k=k, t=t, size=len(blocks), starters=tuple(blocks))
