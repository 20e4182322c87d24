"""Covers made of whole orbits of blocks under a group (Kramer and Mesner's method).

The group divides the t-subsets and the blocks into few orbits. Which orbits of blocks hold which
orbits of t-subsets is a small covering problem. Its solutions are covering designs that the group
maps to themselves.

E. Kramer, D. Mesner, t-designs on hypergraphs, Discrete Math. 15 (1976), 263-296.
"""

from math import comb

import numpy as np

from margin.designs.covering.search_results import StarterDesign
from margin.designs.groups import Permutations
from margin.designs.subsets import subsets

MOST_POINTS = 62  # a block is stored as an int with one bit for each point
MOST_SETS = 2 * 10**7  # largest number of k-subsets
MOST_ROWS, MOST_COLUMNS = 1500, 80_000  # largest numbers of orbits of t-subsets and of blocks


def orbit_cover(
    group: Permutations, k: int, t: int, *, below: int, steps: int, seed: int
) -> StarterDesign | None:
    """A covering design of fewer than `below` blocks that the group maps to itself.

    Parameters
    ----------
    group : Permutations
    k, t, below : int
    steps : int
        Steps of the local search. Each step exchanges one or more orbits of blocks.
    seed : int

    Returns
    -------
    StarterDesign, or None if none is found.
    """
    from experiments.design_search.set_orbits import Cover, held_orbits, light_cover, set_orbits

    v = group.v
    if v > MOST_POINTS or comb(v, k) > MOST_SETS:
        return None
    generators = np.array(group.generators)
    largest = 2**62  # larger binomial coefficients are not looked up
    binomials = np.array([[min(comb(n, r), largest) for r in range(v + 1)] for n in range(v + 1)])
    numbers, rows, _ = set_orbits(generators, t, binomials, comb(v, t))
    _, leaders, costs = set_orbits(generators, k, binomials, below - 1)
    if len(rows) > MOST_ROWS or not 0 < len(leaders) <= MOST_COLUMNS:
        return None
    starts, held = held_orbits(leaders, k, t, numbers, subsets(k, t), binomials)
    cost, columns = light_cover(Cover(starts, held, costs), len(rows), steps, seed)
    if not 0 < cost < below:
        return None
    starters = []
    for column in columns:
        bits = int(leaders[column])
        starters.append(tuple(p for p in range(v) if bits >> p & 1))
    return StarterDesign(group=group, k=k, t=t, size=int(cost), starters=tuple(starters))
