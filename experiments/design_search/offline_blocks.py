"""The long search that leaves out a block and anneals the others, under no group, again and again."""

from collections.abc import Iterable, Iterator
from random import Random

from margin.designs.covering.annealing import anneal
from margin.designs.covering.best_known import goal
from margin.designs.covering.covering_design import finished
from margin.designs.covering.design_table import Cell
from margin.designs.covering.search_results import Shipped
from margin.designs.covering.smallest_designs import table
from margin.designs.groups import Group

MOVES = 1_000_000
MOST_BLOCKS = 200  # as each is shipped


def search_blocks(cells: Iterable[Cell], tries: int, seed: int) -> Iterator[Shipped]:
    """Designs smaller than those of the table, as they are found, by so many tries for each cell."""
    random = Random(seed)
    made = table()
    todo = [(v, k, t) for v, k, t in cells if goal(v, k, t) < made.sizes[t, k, v] <= MOST_BLOCKS]
    found = {(v, k, t): finished(made.build(v, k, t), v, k, t) for v, k, t in todo}
    for v, k, t in todo:
        if len(found[v, k, t]) < made.sizes[t, k, v]:
            yield _alone(found[v, k, t], v, k, t)
    for _ in range(tries):
        for v, k, t in todo:
            blocks = found[v, k, t]
            if len(blocks) <= goal(v, k, t):
                continue
            start = random.sample(blocks, len(blocks) - 1)
            group, widths = Group(v=v, order=1), [1] * len(start)
            left, blocks, _ = anneal(
                group, k, t, widths=widths, moves=MOVES, seed=random.getrandbits(30), start=start
            )
            if not left:
                found[v, k, t] = finished(blocks, v, k, t)
                yield _alone(found[v, k, t], v, k, t)


def _alone(blocks: list[tuple[int, ...]], v: int, k: int, t: int) -> Shipped:
    return Shipped(group=Group(v=v, order=1), k=k, t=t, size=len(blocks), starters=tuple(blocks))
