"""Long search for covers made of whole orbits, under many groups."""

from collections.abc import Iterable, Iterator
from itertools import chain
from random import Random

from experiments.design_search.kramer_mesner import orbit_cover
from experiments.design_search.permutations import random_subgroup, whole_groups
from margin.designs.covering.best_known import goal
from margin.designs.covering.design_table import Cell
from margin.designs.covering.search_results import StarterDesign
from margin.designs.covering.smallest_designs import smallest_designs

STEPS = 1000


def search_orbits(cells: Iterable[Cell], groups: int, seed: int) -> Iterator[StarterDesign]:
    """Yield designs smaller than those of the table.

    For each number of points the affine and projective lines are tried first, then `groups` random
    groups.
    """
    random = Random(seed)
    sizes = {(v, k, t): int(smallest_designs().sizes[t, k, v]) for v, k, t in cells}
    for v in sorted({cell[0] for cell in sizes}):
        random_groups = (random_subgroup(v, random) for _ in range(groups))
        for group in chain(whole_groups(v), random_groups):
            todo = [cell for cell in sizes if cell[0] == v and sizes[cell] > goal(*cell)]
            for cell in todo:
                _, k, t = cell
                seed = random.getrandbits(30)
                found = orbit_cover(group, k, t, below=sizes[cell], steps=STEPS, seed=seed)
                if found is not None:
                    sizes[cell] = found.size
                    yield found
