"""The long search for covers made of whole orbits, under many groups."""

from collections.abc import Iterable, Iterator
from itertools import chain
from random import Random

from experiments.design_search.kramer_mesner import orbit_cover
from experiments.design_search.permutations import random_subgroup, whole_groups
from margin.designs.covering.best_known import goal
from margin.designs.covering.design_table import Cell
from margin.designs.covering.search_results import Shipped
from margin.designs.covering.smallest_designs import table

STEPS = 1000


def search_orbits(cells: Iterable[Cell], groups: int, seed: int) -> Iterator[Shipped]:
    """Designs smaller than those of the table, as they are found, from so many random groups for
    each number of points.

    Affine and projective lines are tried first.
    """
    random = Random(seed)
    sizes = {(v, k, t): int(table().sizes[t, k, v]) for v, k, t in cells}
    for v in sorted({cell[0] for cell in sizes}):
        for group in chain(whole_groups(v), (random_subgroup(v, random) for _ in range(groups))):
            for cell in [cell for cell in sizes if cell[0] == v and sizes[cell] > goal(*cell)]:
                _, k, t = cell
                found = orbit_cover(
                    group, k, t, below=sizes[cell], steps=STEPS, seed=random.getrandbits(30)
                )
                if found is not None:
                    sizes[cell] = found.size
                    yield found
