"""The compiled search for how many points each point of a base design stands for; numba is needed."""

import math
from typing import Any

import numpy as np

from margin.designs.types import Floats, Integers
from margin.solvers.compiled import compiled_in_order


@compiled_in_order
def anneal_copies(
    starts: Integers,
    holders: Integers,
    parts: Integers,
    sizes: Integers,
    copies: Integers,
    widths: Integers,
    costs: Floats,
    moves: int,
    hot: float,
    cold: float,
    seed: int,
) -> Any:
    """Move copies from orbit to orbit of as many points, towards the least cost of all base blocks.

    Parameters
    ----------
    starts, holders, parts : array
        The blocks that meet orbit i are ``holders[starts[i]:starts[i + 1]]``, in so many points as
        `parts` tells.
    sizes : array, shape (orbits,)
        Points of each orbit.
    copies : array, shape (orbits,)
        In place: how many points each base point of an orbit stands for.
    widths : array, shape (blocks,)
        In place: how many points each base block has come to hold.
    costs : array
        Of a block by its width.
    moves, hot, cold, seed

    Returns
    -------
    (least cost, copies then)
    """
    np.random.seed(seed)
    cost = 0.0
    for width in widths:
        cost += costs[width]
    best, best_copies = cost, copies.copy()
    cooling = (cold / hot) ** (1.0 / moves)
    temperature = hot
    orbits = len(copies)
    for _ in range(moves):
        temperature *= cooling
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
