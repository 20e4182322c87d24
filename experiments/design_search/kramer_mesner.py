"""Covers made of whole orbits of blocks under a group.

The group makes few classes of the t-subsets and of the blocks. Which classes of blocks hold which
classes of t-subsets is a small covering problem, whose solutions are covering designs that the
group maps to themselves.

E. Kramer, D. Mesner, t-designs on hypergraphs, Discrete Math. 15 (1976), 263-296.
"""

from math import comb

import numpy as np

from margin.designs.covering.search_results import Shipped
from margin.designs.groups import Permutations
from margin.designs.subsets import subsets

MOST_POINTS = 62  # a block is an int with a digit a point
MOST_SETS = 2 * 10**7  # k-subsets
MOST_ROWS, MOST_COLUMNS = 1500, 80_000


def orbit_cover(
    group: Permutations, k: int, t: int, *, below: int, steps: int, seed: int
) -> Shipped | None:
    """A covering design of less than `below` blocks that the group maps to itself; None when none
    is found.

    Parameters
    ----------
    group : Permutations
    k, t, below : int
    steps : int
        Of the local search, each of which exchanges an orbit of blocks or more.
    seed : int
    """
    from experiments.design_search.set_orbits import held_orbits, light_cover, set_orbits

    v = group.v
    if v > MOST_POINTS or comb(v, k) > MOST_SETS:
        return None
    generators = np.array(group.generators)
    binomials = np.array([[min(comb(n, r), 2**62) for r in range(v + 1)] for n in range(v + 1)])
    numbers, rows, _ = set_orbits(generators, t, binomials, comb(v, t))
    _, leaders, costs = set_orbits(generators, k, binomials, below - 1)
    if len(rows) > MOST_ROWS or not 0 < len(leaders) <= MOST_COLUMNS:
        return None
    starts, held = held_orbits(leaders, k, t, numbers, subsets(k, t), binomials)
    cost, columns = light_cover(starts, held, costs, len(rows), steps, seed)
    if not 0 < cost < below:
        return None
    starters = tuple(tuple(p for p in range(v) if int(leaders[i]) >> p & 1) for i in columns)
    return Shipped(group=group, k=k, t=t, size=int(cost), starters=starters)
