"""Covering designs that a cyclic group maps to themselves: expanding and searching them.

The group acts on v points by x -> x + 1 within cycles of `order` points, and leaves the last
``v % order`` points fixed; order 1 is no symmetry at all. A design is then told by a few starter
blocks, of which the group makes all the others.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, permutations
from math import exp
from operator import mul
from random import Random

import numpy as np

from .subsets import Block, IntArray, ranks, subsets

START, END = 0.6, 0.15  # temperatures, in uncovered t-subsets, of a group of order 1


def shifted(points: IntArray, v: int, order: int, shift: int) -> IntArray:
    """The points, an array of any shape, moved `shift` steps along their cycles."""
    moved = points // order * order + (points + shift) % order
    return np.where(points < v - v % order, moved, points)


def expand(starters: Sequence[Block], v: int, order: int) -> list[Block]:
    """The blocks into which the group moves the starter blocks, each once.

    >>> len(expand([(0, 1, 3)], v=7, order=7))
    7
    """
    blocks: set[Block] = set()
    for starter in starters:
        for shift in range(order):
            moved = shifted(np.array(starter), v, order, shift)
            blocks.add(tuple(sorted(moved.tolist())))
    return sorted(blocks)


@lru_cache(maxsize=16)
def orbits(v: int, t: int, order: int) -> tuple[IntArray, IntArray]:
    """The orbits of the group on t-subsets.

    Returns
    -------
    table : array, shape (v,) * t
        The number of the orbit of each t-subset, in any order of its points.
    sizes : array, shape (orbits,)
        How many t-subsets an orbit holds.
    """
    rows = subsets(v, t)
    least = ranks(rows, v)
    for shift in range(1, order):
        least = np.minimum(least, ranks(np.sort(shifted(rows, v, order, shift), axis=1), v))
    _, numbers, sizes = np.unique(least, return_inverse=True, return_counts=True)
    table = np.zeros((v,) * t, np.int64)
    for axes in permutations(range(t)):
        table[tuple(rows[:, axes].T)] = numbers
    return table, sizes


def anneal(
    v: int, k: int, t: int, *, order: int, starters: int, moves: int, seed: int
) -> tuple[list[Block] | None, int]:
    """Search for starter blocks that cover, by simulated annealing.

    A move exchanges one point of one starter block. The energy is the number of uncovered
    t-subsets; the temperature falls geometrically.

    Returns
    -------
    blocks : list of tuples of int, or None
        The expanded design, of ``order * starters`` blocks at most; None when none was found.
    moves : int
        How many moves were made.
    """
    table, sizes = orbits(v, t, order)
    rows: list[list[int]] = table.reshape(v, -1).tolist()
    worth: list[int] = sizes.tolist()
    random = Random(seed)
    draw = random.random
    blocks = [random.sample(range(v), k) for _ in range(starters)]
    counts = [0] * len(worth)
    energy = sum(worth)
    for block in blocks:
        for i in range(t - 1, k):
            energy += _add(rows[block[i]], _keys(block[:i], v, t), counts, worth)
    temperature, cooling = START * order, (END / START) ** (1 / moves)
    for move in range(moves):
        if not energy:
            return expand([tuple(block) for block in blocks], v, order), move
        temperature *= cooling
        block, new = blocks[int(draw() * starters)], int(draw() * v)
        if new in block:
            continue
        place = int(draw() * k)
        old, block[place] = block[place], block[-1]
        keys = _keys(block[:-1], v, t)
        change = _remove(rows[old], keys, counts, worth) + _add(rows[new], keys, counts, worth)
        if change <= 0 or draw() < exp(-change / temperature):
            block[-1] = new
            energy += change
        else:
            block[-1] = old
            _remove(rows[new], keys, counts, worth)
            _add(rows[old], keys, counts, worth)
    return None, moves


def _add(row: list[int], keys: list[int], counts: list[int], worth: list[int]) -> int:
    """Count the orbits of a point (its row) with each key as covered; the change of the energy."""
    change = 0
    for key in keys:
        orbit = row[key]
        if not counts[orbit]:
            change -= worth[orbit]
        counts[orbit] += 1
    return change


def _remove(row: list[int], keys: list[int], counts: list[int], worth: list[int]) -> int:
    """The reverse of `_add`."""
    change = 0
    for key in keys:
        orbit = row[key]
        counts[orbit] -= 1
        if not counts[orbit]:
            change += worth[orbit]
    return change


def _keys(points: list[int], v: int, t: int) -> list[int]:
    """The places in a row of the table of orbits of the (t - 1)-subsets of the points."""
    if t == 2:
        return points
    if t == 3:
        return [a * v + b for a, b in combinations(points, 2)]
    powers = [v**i for i in range(t - 1)]
    return [sum(map(mul, subset, powers)) for subset in combinations(points, t - 1)]
