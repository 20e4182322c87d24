"""Simulated annealing of starter blocks and of base classes under a cyclic group.

The loops are compiled; see `annealing_loops`.
"""

from collections.abc import Sequence

import numpy as np

from ..groups import Group, orbits
from ..subsets import Block
from ..types import Integers
from .parallel_classes import Classes

# Temperatures are in units of the energy of one uncovered orbit of full length.
HOT_COLD = 0.6, 0.15  # first and last temperature of a search from random blocks
WARM_COLD = 0.35, 0.12  # the same from given blocks
CLASSES_HOT_COLD = 0.45, 0.2  # first and last temperature for classes, in orbits


def anneal(
    group: Group,
    k: int,
    t: int,
    *,
    widths: Sequence[int],
    moves: int,
    seed: int,
    start: Sequence[Block] | None = None,
) -> tuple[int, list[Block], int]:
    """Search for starter blocks whose images cover all t-subsets, by simulated annealing.

    A move exchanges one point of a starter block. If a subgroup maps the block to itself, a move
    exchanges one cycle of this subgroup. The energy is the number of uncovered t-subsets. The
    temperature falls geometrically.

    Parameters
    ----------
    group : Group
        The maps that act on the points.
    k, t : int
        Points per block; strength.
    widths : sequence of int
        For each starter block, how many shifts must map the block to itself: 1, or a divisor of the
        order of the group. A block of width w has only order / w different images.
    moves, seed : int
        Largest number of moves; random seed.
    start : sequence of blocks, optional
        Starter blocks of width 1 to begin with, in place of random ones, at a lower temperature.
        Blocks of fewer than k points are filled at random.

    Returns
    -------
    (number of uncovered t-subsets, starter blocks, moves made)
    """
    from .annealing_loops import Coverage, Schedule, Starters, anneal_blocks

    rng = np.random.default_rng(seed)
    if start is None:
        blocks, lengths = _random_blocks(group, k, widths, rng)
        hot, cold = HOT_COLD
    else:
        blocks, lengths = _filled(start, group.v, k, rng)
        hot, cold = WARM_COLD
    table, sizes = orbits(group, t)
    scale = float(len(group.factors()) * group.order)  # t-subsets in an orbit of full length
    energy, found, made = anneal_blocks(
        Coverage(table, sizes, np.zeros_like(sizes), group.v, t),
        Starters(blocks, lengths, np.array(widths, np.int64), group.order, group.fixed),
        Schedule(moves, hot * scale, cold * scale, int(rng.integers(2**31))),
    )
    starters = [tuple(sorted(row[:n].tolist())) for row, n in zip(found, lengths, strict=True)]
    return int(energy), starters, int(made)


def _random_blocks(
    group: Group,
    k: int,
    widths: Sequence[int],
    rng: np.random.Generator,
) -> tuple[Integers, Integers]:
    """Draw starter blocks of these widths, shape (starters, k), and count the points of each.

    Rows of blocks with fewer than k points are filled up with zeros.
    """
    blocks = np.zeros((len(widths), k), np.int64)
    lengths = np.zeros(len(widths), np.int64)
    for row, width in enumerate(widths):
        if width == 1:
            points = rng.permutation(group.v)[:k]
        else:
            points = _random_union_of_cycles(group, k, width, rng)
        blocks[row, : len(points)] = points
        lengths[row] = len(points)
    return blocks, lengths


def _random_union_of_cycles(
    group: Group,
    k: int,
    width: int,
    rng: np.random.Generator,
) -> Integers:
    """Draw a block of at most k points that the subgroup of order `width` maps to itself.

    It consists of cycles of this subgroup, followed by points that the group fixes.
    """
    moving = group.v - group.fixed
    stride = group.order // width
    number = min(k // width, moving // width)
    cycles = rng.permutation(moving // width)[:number]
    first = cycles // stride * group.order + cycles % stride
    around = (first[:, None] + stride * np.arange(width)).reshape(-1)
    rest = rng.permutation(np.arange(moving, group.v))[: k - len(around)]
    return np.concatenate([around, rest])


def _filled(
    start: Sequence[Block],
    v: int,
    k: int,
    rng: np.random.Generator,
) -> tuple[Integers, Integers]:
    """Fill blocks up to k points at random: shape (starters, k), and the length k of each."""
    rows = []
    for block in start:
        others = rng.permutation(np.setdiff1d(np.arange(v), block))
        rows.append([*block, *others[: k - len(block)]])
    return np.array(rows, np.int64), np.full(len(rows), k)


def anneal_classes(
    group: Group,
    width: int,
    *,
    bases: int,
    moves: int,
    seed: int,
) -> Classes | None:
    """Search for base classes whose images hold all pairs, by simulated annealing.

    Each class has ceil(v / width) blocks of `width` slots. If these are more than v slots, the
    others are spare: their points stand in the class a second time. A move swaps the points of two
    slots of a class, or replaces the point of a spare slot. The energy is the number of uncovered
    orbits of pairs.

    Parameters
    ----------
    group : Group
        With multiplier 1.
    width, bases : int
        Points per block; number of base classes.
    moves, seed : int
        Largest number of moves; random seed.

    Returns
    -------
    Classes, or None if some pairs lie in no block.
    """
    from .annealing_loops import Coverage, Schedule, Slots, anneal_base_classes

    v = group.v
    table, sizes = orbits(group, 2)
    # One more orbit, which costs nothing, stands for a point paired with itself.
    table = table.copy()
    table[:: v + 1] = len(sizes)
    energies = np.ones(len(sizes) + 1, np.int64)
    energies[-1] = 0
    # Each class holds every point once; the slots that remain are spare and get any point.
    rng = np.random.default_rng(seed)
    length = -(-v // width) * width
    places = rng.permuted(np.tile(np.arange(length), (bases, 1)), axis=1)
    spare = places >= v
    points = np.where(spare, rng.integers(v, size=places.shape), places)
    uncovered = anneal_base_classes(
        Coverage(table, energies, np.zeros_like(energies), v, 2),
        Slots(points, spare, width),
        Schedule(moves, *CLASSES_HOT_COLD, int(rng.integers(2**31))),
    )
    if uncovered:
        return None
    return Classes(
        group=group,
        width=width,
        base=tuple(map(_as_class, _blocks(points, width))),
    )


def _blocks(points: Integers, width: int) -> list[list[list[int]]]:
    """Cut the rows of slots, shape (classes, slots), into the blocks of each class."""
    rows: list[list[list[int]]] = points.reshape(len(points), -1, width).tolist()
    return rows


def _as_class(blocks: list[list[int]]) -> tuple[Block, ...]:
    """The blocks as ascending tuples, without repeated points."""
    return tuple(tuple(sorted(set(block))) for block in blocks)
