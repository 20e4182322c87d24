"""Compiled loops of simulated annealing under a cyclic group.

Importing this module loads numba, so callers import it only when they anneal. The outer functions
take records. The inner ones take single arrays, because numba counts references each time it reads
an array from a record.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ...solvers.compiled import compiled_in_order, copied
from ..types import Flags, Integers


class Coverage(NamedTuple):
    """Counts how often the current blocks hold each orbit of t-subsets.

    An orbit is held if one of its t-subsets lies in a starter block: the images then hold the rest.

    Parameters
    ----------
    table : array, shape (v**t,)
        The number of the orbit of each t-subset, for any order of its points.
    sizes : array, shape (orbits,)
        Energy of an orbit while no block holds it: usually its number of t-subsets.
    counts : array, shape (orbits,)
        Number of t-subsets of the current blocks that lie in the orbit. Changed in place.
    v, t : int
        Number of points; strength.
    """

    table: Integers
    sizes: Integers
    counts: Integers
    v: int
    t: int


class Starters(NamedTuple):
    """Starter blocks and the cyclic group that moves them.

    Parameters
    ----------
    blocks : array, shape (starters, k)
        Changed in place. A block of width w > 1 is a union of cycles of the subgroup of order w,
        which come first, and of fixed points.
    lengths, widths : array, shape (starters,)
        Number of points of each block; order of the subgroup that keeps it in place.
    order, fixed : int
        Length of a cycle of the group; number of points that it fixes.
    """

    blocks: Integers
    lengths: Integers
    widths: Integers
    order: int
    fixed: int


class Slots(NamedTuple):
    """Base classes as rows of slots, each slot with one point.

    Parameters
    ----------
    points : array, shape (classes, slots)
        The points of each class, block after block. Every point stands in at least one slot.
        Changed in place.
    spare : array of bool, shape (classes, slots)
        The slots whose point may be replaced. Changed in place.
    width : int
        Number of slots of a block.
    """

    points: Integers
    spare: Flags
    width: int


class Schedule(NamedTuple):
    """Number of moves, first and last temperature, and random seed."""

    moves: int
    hot: float
    cold: float
    seed: int


class _Shape(NamedTuple):
    """Number of points and strength."""

    v: int
    t: int


class _Exchange(NamedTuple):
    """A proposed move: replace the `size` points from place `start` by new, new + stride, ..."""

    start: int
    size: int
    new: int
    stride: int


@compiled_in_order
def _count_orbit(
    sizes: Integers,
    counts: Integers,
    orbit: int,
    step: int,
) -> int:
    """Count one more (step 1) or one less (-1) t-subset of an orbit; return the energy change."""
    if step > 0:
        counts[orbit] += 1
        return -sizes[orbit] if counts[orbit] == 1 else 0
    counts[orbit] -= 1
    return sizes[orbit] if counts[orbit] == 0 else 0


@compiled_in_order
def _count(
    table: Integers,
    sizes: Integers,
    counts: Integers,
    shape: _Shape,
    points: Integers,
    length: int,
    step: int,
) -> int:
    """Count the t-subsets of ``points[:length]`` that hold its last point, for 2 <= t <= 4.

    `step` is 1 to count them once more and -1 to count them once less. Returns the change of the
    energy, the number of uncovered t-subsets.
    """
    change = 0
    v, t = shape
    last = points[length - 1]
    others = length - 1
    # The index of a t-subset has its points as digits in base v.
    for a in range(others):
        pair = last * v + points[a]
        if t == 2:
            change += _count_orbit(sizes, counts, table[pair], step)
            continue
        for b in range(a + 1, others):
            triple = pair * v + points[b]
            if t == 3:
                change += _count_orbit(sizes, counts, table[triple], step)
                continue
            for c in range(b + 1, others):
                change += _count_orbit(sizes, counts, table[triple * v + points[c]], step)
    return change


@compiled_in_order
def anneal_blocks(
    coverage: Coverage,
    starters: Starters,
    schedule: Schedule,
) -> Any:
    """Run simulated annealing on starter blocks until every orbit is held; see `annealing.anneal`.

    Parameters
    ----------
    coverage : Coverage
        With all counts 0.
    starters : Starters
        The blocks to begin with.
    schedule : Schedule

    Returns
    -------
    (least energy found, the blocks with that energy, moves made)
    """
    np.random.seed(schedule.seed)
    table, sizes, counts, v, t = coverage
    blocks, lengths, widths, order, fixed = starters
    shape = _Shape(v, t)
    inside = np.zeros((len(blocks), v), np.bool_)
    energy = sizes.sum() + _count_all(coverage, starters, inside)
    best, best_blocks = energy, blocks.copy()
    cooling = (schedule.cold / schedule.hot) ** (1.0 / schedule.moves)
    temperature = schedule.hot
    trial = np.empty(blocks.shape[1], np.int64)
    made = 0
    for move in range(schedule.moves):
        if best == 0:
            break
        made = move + 1
        temperature *= cooling
        # Propose a move; skip it if it changes nothing.
        row = np.random.randint(len(blocks))
        length = lengths[row]
        start, size, new, stride = _random_exchange(
            blocks, row, length, widths[row], v - fixed, order, v
        )
        if size == 0 or inside[row, new]:
            continue
        # Copy the block: first the points that stay, then those that go.
        kept = length - size
        for i in range(kept):
            trial[i] = blocks[row, i if i < start else i + size]
        for i in range(size):
            trial[kept + i] = blocks[row, start + i]
        # Count it without the old points, then with the new ones.
        change = 0
        for end in range(length, kept, -1):
            change += _count(table, sizes, counts, shape, trial, end, -1)
        for i in range(size):
            trial[kept + i] = new + i * stride
            change += _count(table, sizes, counts, shape, trial, kept + i + 1, 1)
        # Keep the move by the rule of Metropolis, or restore the counts.
        if change <= 0 or np.random.random() < math.exp(-change / temperature):
            energy += change
            for i in range(size):
                inside[row, blocks[row, start + i]] = False
            for i in range(size):
                inside[row, trial[kept + i]] = True
                blocks[row, start + i] = trial[kept + i]
            if energy < best:
                best = energy
                for changed in range(len(blocks)):
                    copied(blocks[changed], best_blocks[changed])
            continue
        for end in range(length, kept, -1):
            _count(table, sizes, counts, shape, trial, end, -1)
        for i in range(size):
            trial[kept + i] = blocks[row, start + i]
            _count(table, sizes, counts, shape, trial, kept + i + 1, 1)
    return best, best_blocks, made


@compiled_in_order
def _count_all(
    coverage: Coverage,
    starters: Starters,
    inside: Flags,
) -> int:
    """Count the t-subsets of all starter blocks, and mark their points in `inside`.

    Returns the change of the energy.
    """
    table, sizes, counts, v, t = coverage
    change = 0
    for row in range(len(starters.blocks)):
        block = starters.blocks[row]
        for i in range(starters.lengths[row]):
            inside[row, block[i]] = True
            change += _count(table, sizes, counts, _Shape(v, t), block, i + 1, 1)
    return change


@compiled_in_order
def _random_exchange(
    blocks: Integers,
    row: int,
    length: int,
    width: int,
    moving: int,
    order: int,
    v: int,
) -> _Exchange:
    """Draw a move of one block; size 0 if the drawn point cannot be exchanged.

    In a block of width 1, any point is exchanged for any other. In a wider block, a whole cycle is
    exchanged for a cycle, or a fixed point for a fixed point. The points below `moving` are not
    fixed.
    """
    stride = order // width
    if width == 1:
        start = np.random.randint(length)
        return _Exchange(start, 1, np.random.randint(v), stride)
    # The cycles come first; the places after them hold fixed points.
    cycles = length // width
    while cycles > 0 and blocks[row, cycles * width - 1] >= moving:
        cycles -= 1
    unit = np.random.randint(cycles + length - cycles * width)
    if unit < cycles:
        # The first point of a random cycle of the subgroup.
        new = np.random.randint(moving)
        new = new // order * order + new % order % stride
        return _Exchange(unit * width, width, new, stride)
    if moving == v:
        return _Exchange(0, 0, 0, stride)
    start = cycles * width + unit - cycles
    return _Exchange(start, 1, moving + np.random.randint(v - moving), stride)


@compiled_in_order
def anneal_base_classes(
    coverage: Coverage,
    slots: Slots,
    schedule: Schedule,
) -> Any:
    """Run simulated annealing on base classes until they hold every orbit of pairs.

    See `annealing.anneal_classes`.

    Parameters
    ----------
    coverage : Coverage
        For t = 2, with all counts 0. Each orbit has the energy 1. One more orbit, of energy 0,
        stands for a point paired with itself.
    slots : Slots
        The classes to begin with.
    schedule : Schedule

    Returns
    -------
    Number of orbits of pairs that stayed uncovered.
    """
    np.random.seed(schedule.seed)
    table, sizes, counts, v, _ = coverage
    points, spare, width = slots
    classes, length = points.shape
    # Count the pairs within all blocks of the classes to begin with.
    energy = sizes.sum()
    for c in range(classes):
        for i in range(length):
            for j in range(i // width * width, i):
                orbit = table[points[c, i] * v + points[c, j]]
                energy += _count_orbit(sizes, counts, orbit, 1)
    cooling = (schedule.cold / schedule.hot) ** (1.0 / schedule.moves)
    temperature = schedule.hot
    for _ in range(schedule.moves):
        if energy == 0:
            break
        temperature *= cooling
        # Propose to swap the points of slots i and j, or to renew a spare slot i = j.
        c, i, j = np.random.randint(classes), np.random.randint(length), np.random.randint(length)
        renewed = i == j and spare[c, i]
        if i // width == j // width and not renewed:
            continue
        row = points[c]
        first, second = row[i], row[j]
        change = _count_slot(table, sizes, counts, v, row, i, width, -1)
        if renewed:
            row[i] = np.random.randint(v)
        else:
            change += _count_slot(table, sizes, counts, v, row, j, width, -1)
            row[i], row[j] = second, first
            change += _count_slot(table, sizes, counts, v, row, j, width, 1)
        change += _count_slot(table, sizes, counts, v, row, i, width, 1)
        # Keep the move by the rule of Metropolis, or take it back.
        if change <= 0 or np.random.random() < math.exp(-change / temperature):
            energy += change
            if not renewed:
                spare[c, i], spare[c, j] = spare[c, j], spare[c, i]
            continue
        _count_slot(table, sizes, counts, v, row, i, width, -1)
        row[i] = first
        if not renewed:
            _count_slot(table, sizes, counts, v, row, j, width, -1)
            row[j] = second
            _count_slot(table, sizes, counts, v, row, j, width, 1)
        _count_slot(table, sizes, counts, v, row, i, width, 1)
    return energy


@compiled_in_order
def _count_slot(
    table: Integers,
    sizes: Integers,
    counts: Integers,
    v: int,
    row: Integers,
    slot: int,
    width: int,
    step: int,
) -> int:
    """Count the pairs of the point in a slot with the other points of its block.

    `step` is 1 to count them once more and -1 to count them once less. Returns the energy change.
    """
    change = 0
    start = slot // width * width
    first = row[slot] * v
    for i in range(start, start + width):
        if i != slot:
            change += _count_orbit(sizes, counts, table[first + row[i]], step)
    return change
