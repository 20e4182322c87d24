"""The compiled loop of simulated annealing under a group; numba is needed, so this is imported only
when used."""

import math
from typing import Any

import numpy as np

from ...solvers.compiled import compiled_in_order
from ..types import Integers


@compiled_in_order
def _count(
    table: Integers,
    worth: Integers,
    counts: Integers,
    v: int,
    t: int,
    points: Integers,
    length: int,
    step: int,
) -> int:
    """Count the t-subsets of ``points[:length]`` that hold its last point once more (step 1) or
    less (-1).

    Returns the change of the number of uncovered t-subsets.
    """
    change = 0
    last = points[length - 1]
    left = length - 1
    for a in range(left):
        at = last * v + points[a]
        if t == 2:
            change += _step(table[at], worth, counts, step)
            continue
        for b in range(a + 1, left):
            at_b = at * v + points[b]
            if t == 3:
                change += _step(table[at_b], worth, counts, step)
                continue
            for c in range(b + 1, left):
                change += _step(table[at_b * v + points[c]], worth, counts, step)
    return change


@compiled_in_order
def _step(orbit: int, worth: Integers, counts: Integers, step: int) -> int:
    if step > 0:
        counts[orbit] += 1
        return -worth[orbit] if counts[orbit] == 1 else 0
    counts[orbit] -= 1
    return worth[orbit] if counts[orbit] == 0 else 0


@compiled_in_order
def anneal_blocks(
    table: Integers,
    worth: Integers,
    v: int,
    t: int,
    order: int,
    fixed: int,
    blocks: Integers,
    lengths: Integers,
    widths: Integers,
    moves: int,
    hot: float,
    cold: float,
    seed: int,
) -> Any:
    """Anneal starter blocks towards covering every orbit of t-subsets; see `search.anneal`.

    Parameters
    ----------
    table : array, shape (v**t,)
        The orbit of each t-subset, in any order of its points.
    worth : array, shape (orbits,)
    v, t, order, fixed : int
        Points, strength, length of a cycle of the group and number of points it fixes.
    blocks : array, shape (starters, k)
        In place. A block of width w > 1 is a union of cycles of the subgroup of order w, which
        stand first, and of fixed points.
    lengths, widths : array, shape (starters,)
    moves, hot, cold, seed
        Length, first and last temperature, seed.

    Returns
    -------
    (least energy seen, the blocks then, moves made)
    """
    np.random.seed(seed)
    counts = np.zeros(worth.size, np.int64)
    energy = worth.sum()
    inside = np.zeros((len(blocks), v), np.bool_)
    for row in range(len(blocks)):
        for i in range(lengths[row]):
            inside[row, blocks[row, i]] = True
            energy += _count(table, worth, counts, v, t, blocks[row], i + 1, 1)
    best, best_blocks = energy, blocks.copy()
    cooling = (cold / hot) ** (1.0 / moves)
    temperature = hot
    moving = v - fixed
    trial = np.empty(blocks.shape[1], np.int64)
    old = np.empty(blocks.shape[1], np.int64)
    done = 0
    for move in range(moves):
        if best == 0:
            break
        done = move + 1
        temperature *= cooling
        row = np.random.randint(len(blocks))
        width, length = widths[row], lengths[row]
        cycles = length if width == 1 else length // width
        if width > 1:
            while cycles > 0 and blocks[row, cycles * width - 1] >= moving:
                cycles -= 1
        units = length if width == 1 else cycles + length - cycles * width
        unit = np.random.randint(units)
        stride = order // width
        size = 1
        if width == 1:
            start, new = unit, np.random.randint(v)
        elif unit < cycles:
            size, start = width, unit * width
            new = np.random.randint(moving)
            new = new // order * order + new % order % stride
        else:
            if fixed == 0:
                continue
            start, new = cycles * width + unit - cycles, moving + np.random.randint(fixed)
        if inside[row, new]:
            continue
        kept = 0
        for i in range(length):
            if i < start or i >= start + size:
                trial[kept] = blocks[row, i]
                kept += 1
        change = 0
        for i in range(size):
            old[i] = blocks[row, start + i]
            trial[kept + i] = old[i]
        for i in range(size):
            change += _count(table, worth, counts, v, t, trial, length - i, -1)
        for i in range(size):
            trial[kept + i] = new + i * stride if size > 1 else new
            change += _count(table, worth, counts, v, t, trial, kept + i + 1, 1)
        if change <= 0 or np.random.random() < math.exp(-change / temperature):
            energy += change
            for i in range(size):
                inside[row, old[i]] = False
            for i in range(size):
                inside[row, trial[kept + i]] = True
                blocks[row, start + i] = trial[kept + i]
            if energy < best:
                best = energy
                best_blocks[:] = blocks
        else:
            for i in range(size):
                _count(table, worth, counts, v, t, trial, length - i, -1)
            for i in range(size):
                trial[kept + i] = old[i]
                _count(table, worth, counts, v, t, trial, kept + i + 1, 1)
    return best, best_blocks, done


@compiled_in_order
def anneal_base_classes(
    table: Integers,
    orbits: int,
    v: int,
    slots: Integers,
    spare: Any,
    width: int,
    moves: int,
    hot: float,
    cold: float,
    seed: int,
) -> Any:
    """Anneal base classes towards covering every orbit of pairs; see `search.anneal_classes`.

    Parameters
    ----------
    table : array, shape (v**2,)
        The orbit of each pair, in either order of its points; ``orbits`` for a point with itself.
    orbits, v : int
    slots : array, shape (classes, slots)
        In place. The points of each class, a block each `width`; every point stands in at least one
        slot.
    spare : array of bool, shape (classes, slots)
        In place. The slots whose point may change.
    width, moves, hot, cold, seed

    Returns
    -------
    How many orbits stayed uncovered.
    """
    np.random.seed(seed)
    classes, length = slots.shape
    worth = np.ones(orbits + 1, np.int64)
    worth[orbits] = 0
    counts = np.zeros(orbits + 1, np.int64)
    energy = orbits
    for c in range(classes):
        for i in range(length):
            for j in range(i // width * width, i):
                energy += _step(table[slots[c, i] * v + slots[c, j]], worth, counts, 1)
    cooling = (cold / hot) ** (1.0 / moves)
    temperature = hot
    for _ in range(moves):
        if energy == 0:
            break
        temperature *= cooling
        c, i, j = np.random.randint(classes), np.random.randint(length), np.random.randint(length)
        row = slots[c]
        first, second = row[i], row[j]
        renewed = i == j and spare[c, i]
        if i // width == j // width and not renewed:
            continue
        change = _with_block(table, worth, counts, v, row, i, width, -1)
        if renewed:
            row[i] = np.random.randint(v)
        else:
            change += _with_block(table, worth, counts, v, row, j, width, -1)
            row[i], row[j] = second, first
            change += _with_block(table, worth, counts, v, row, j, width, 1)
        change += _with_block(table, worth, counts, v, row, i, width, 1)
        if change <= 0 or np.random.random() < math.exp(-change / temperature):
            energy += change
            if not renewed:
                spare[c, i], spare[c, j] = spare[c, j], spare[c, i]
            continue
        _with_block(table, worth, counts, v, row, i, width, -1)
        if renewed:
            row[i] = first
        else:
            _with_block(table, worth, counts, v, row, j, width, -1)
            row[i], row[j] = first, second
            _with_block(table, worth, counts, v, row, j, width, 1)
        _with_block(table, worth, counts, v, row, i, width, 1)
    return energy


@compiled_in_order
def _with_block(
    table: Integers,
    worth: Integers,
    counts: Integers,
    v: int,
    row: Integers,
    slot: int,
    width: int,
    step: int,
) -> int:
    """Count the pairs that the point in a slot makes with its block once more or less; the change
    of the energy."""
    change = 0
    start = slot // width * width
    at = row[slot] * v
    for i in range(start, start + width):
        if i != slot:
            change += _step(table[at + row[i]], worth, counts, step)
    return change
