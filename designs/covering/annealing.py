"""Annealing of starter blocks and base classes under a group, compiled: long searches whose finds
are shipped."""

from collections.abc import Sequence

import numpy as np

from ..groups import Group, orbits
from ..subsets import Block
from ..types import Integers
from .parallel_classes import Classes

HOT_COLD = 0.6, 0.15  # temperatures, in orbits of full length
WARM_COLD = 0.35, 0.12  # the same, from a start
CLASSES_HOT_COLD = 0.45, 0.2  # temperatures for classes, in orbits


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
    """Search for starter blocks that cover, by simulated annealing.

    A move exchanges one point of a starter block, or one cycle of the subgroup that keeps the block
    in place. The energy is the number of uncovered t-subsets; the temperature falls geometrically.

    Parameters
    ----------
    group, k, t
        What acts on the points; points a block; strength.
    widths : sequence of int
        For each starter block the order of the group of shifts that keep it in place: 1, or a
        divisor of the order.
    moves, seed : int
    start : sequence of blocks, optional
        Starter blocks of width 1 to begin with, at a lower temperature, in place of random ones;
        those of less than k points are filled at random.

    Returns
    -------
    (uncovered t-subsets, starter blocks, moves made)
    """
    from .annealing_loops import anneal_blocks

    table, sizes = orbits(group, t)
    rng = np.random.default_rng(seed)
    blocks, lengths = (
        _start(group, k, widths, rng) if start is None else _filled(start, group.v, k, rng)
    )
    hot, cold = HOT_COLD if start is None else WARM_COLD
    scale = float(len(group.factors()) * group.order)
    energy, found, made = anneal_blocks(
        table,
        sizes,
        group.v,
        t,
        group.order,
        group.fixed,
        blocks,
        lengths,
        np.array(widths, np.int64),
        moves,
        hot * scale,
        cold * scale,
        int(rng.integers(2**31)),
    )
    starters = [tuple(sorted(row[:n].tolist())) for row, n in zip(found, lengths, strict=True)]
    return int(energy), starters, int(made)


def _start(
    group: Group, k: int, widths: Sequence[int], rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Random starter blocks of these widths, shape (starters, k), and their lengths."""
    blocks = np.zeros((len(widths), k), np.int64)
    lengths = np.zeros(len(widths), np.int64)
    moving = group.v - group.fixed
    for row, width in enumerate(widths):
        if width == 1:
            points = rng.permutation(group.v)[:k]
        else:
            stride = group.order // width
            cycles = min(k // width, moving // width)
            chosen = rng.permutation(moving // width)[:cycles]
            first = chosen // stride * group.order + chosen % stride
            around = (first[:, None] + stride * np.arange(width)).reshape(-1)
            rest = rng.permutation(np.arange(moving, group.v))[: k - len(around)]
            points = np.concatenate([around, rest])
        blocks[row, : len(points)] = points
        lengths[row] = len(points)
    return blocks, lengths


def _filled(
    start: Sequence[Block], v: int, k: int, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """The blocks with random points added up to k, shape (starters, k), and their lengths."""
    rows = [
        [*block, *rng.permutation(np.setdiff1d(np.arange(v), block))[: k - len(block)]]
        for block in start
    ]
    return np.array(rows, np.int64), np.full(len(rows), k)


def anneal_classes(
    group: Group, width: int, *, bases: int, moves: int, seed: int
) -> Classes | None:
    """Search for base classes of ceil(v / width) blocks each, whose images hold all pairs, by
    simulated annealing.

    A move exchanges two points of a class, or the point of a slot that a class has to spare.

    Parameters
    ----------
    group : Group
        Multiplier 1.
    width, bases : int
        Points a block, and number of base classes.
    moves, seed : int

    Returns
    -------
    Classes, or None when some pairs stayed apart.
    """
    from .annealing_loops import anneal_base_classes

    v = group.v
    table, sizes = orbits(group, 2)
    table = table.copy()
    table[:: v + 1] = len(sizes)  # a point with itself
    rng = np.random.default_rng(seed)
    length = -(-v // width) * width
    places = rng.permuted(np.tile(np.arange(length), (bases, 1)), axis=1)
    spare = places >= v
    slots = np.where(spare, rng.integers(v, size=places.shape), places)
    left = anneal_base_classes(
        table,
        len(sizes),
        v,
        slots,
        spare,
        width,
        moves,
        *CLASSES_HOT_COLD,
        int(rng.integers(2**31)),
    )
    if left:
        return None
    found = [
        tuple(tuple(sorted({*block})) for block in row.reshape(-1, width).tolist()) for row in slots
    ]
    return Classes(group=group, width=width, base=tuple(found))
