"""Compiled search for the number of points that each point of a base design stands for.

Importing this module loads numba, so callers import it only when they search.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from margin.designs.types import Floats, Integers
from margin.solvers.compiled import compiled_in_order


class Incidence(NamedTuple):
    """How orbits of points meet the blocks of a base design.

    Parameters
    ----------
    starts, holders, parts : array
        Orbit i meets the blocks ``holders[starts[i]:starts[i + 1]]``, each in as many points as
        `parts` says at the same place.
    sizes : array, shape (orbits,)
        Number of points of each orbit.
    """

    starts: Integers
    holders: Integers
    parts: Integers
    sizes: Integers


@compiled_in_order
def anneal_copies(
    incidence: Incidence,
    copies: Integers,
    widths: Integers,
    costs: Floats,
    moves: int,
    hot_cold: tuple[float, float],
    seed: int,
) -> Any:
    """Move copies between orbits of equal size, towards the lowest cost of all base blocks.

    Parameters
    ----------
    incidence : Incidence
    copies : array, shape (orbits,)
        How many points each base point of an orbit stands for. Changed in place.
    widths : array, shape (blocks,)
        How many points each base block holds. Changed in place.
    costs : array
        Cost of a block by the number of points that it holds.
    moves : int
    hot_cold : tuple of two floats
        First and last temperature.
    seed : int

    Returns
    -------
    (lowest cost, the copies with that cost)
    """
    np.random.seed(seed)
    starts, holders, parts, sizes = incidence
    cost = 0.0
    for width in widths:
        cost += costs[width]
    best, best_copies = cost, copies.copy()
    temperature, cold = hot_cold
    cooling = (cold / temperature) ** (1.0 / moves)
    orbits = len(copies)
    for _ in range(moves):
        temperature *= cooling
        # Propose that one orbit gives a copy to another orbit of the same size.
        giver, taker = np.random.randint(orbits), np.random.randint(orbits)
        if giver == taker or copies[giver] == 0 or sizes[giver] != sizes[taker]:
            continue
        change = 0.0
        for i in range(starts[giver], starts[giver + 1]):
            block = holders[i]
            change -= costs[widths[block]]
            widths[block] -= parts[i]
            change += costs[widths[block]]
        for i in range(starts[taker], starts[taker + 1]):
            block = holders[i]
            change -= costs[widths[block]]
            widths[block] += parts[i]
            change += costs[widths[block]]
        # Keep the move by the rule of Metropolis, or restore the widths.
        if change <= 0 or np.random.random() < math.exp(-change / temperature):
            cost += change
            copies[giver] -= 1
            copies[taker] += 1
            if cost < best:
                best = cost
                best_copies[:] = copies
            continue
        for i in range(starts[giver], starts[giver + 1]):
            widths[holders[i]] += parts[i]
        for i in range(starts[taker], starts[taker + 1]):
            widths[holders[i]] -= parts[i]
    return best, best_copies
