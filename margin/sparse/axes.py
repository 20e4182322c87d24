"""Ordered categories as cells, as a tree of sums, or as differences of halves: what a count of a
sparse summary is of.

A *node* of an axis stands for an interval of codes. A row whose code is x adds its share to one
node a level: to its own cell (`Leaves`); to every interval of 2**l codes that holds it (`Tree`);
or, with the sign of the half that it is in, to each such interval, and to the sum of all (`Halves`,
the Haar transform in integers).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._types import Floats, Integers

__all__ = ["Axis", "Halves", "Leaves", "Level", "Pick", "Tree", "nested", "parents"]


class Level(NamedTuple):
    """The nodes offset ... offset + width - 1 of an axis: intervals of 2**shift codes; `signed` by
    halves."""

    shift: int
    offset: int
    width: int
    signed: bool


class Pick:
    """A set of codes as disjoint intervals, ascending, no two of which touch."""

    def __init__(self, starts: Integers, ends: Integers) -> None:
        self.starts, self.ends = starts, ends
        self._before = np.concatenate([[0], np.cumsum(ends - starts)])

    @classmethod
    def interval(cls, low: int, high: int) -> "Pick":
        """The codes low ... high - 1."""
        return cls(np.array([low], np.int64), np.array([high], np.int64))

    @classmethod
    def of(cls, codes: Integers) -> "Pick":
        """These codes, of which there is at least one."""
        distinct = np.unique(codes)
        breaks = np.flatnonzero(np.diff(distinct) > 1)
        first, last = (
            np.concatenate([[0], breaks + 1]),
            np.concatenate([breaks, [distinct.size - 1]]),
        )
        return cls(distinct[first], distinct[last] + 1)

    @property
    def size(self) -> int:
        """How many codes there are."""
        return int(self._before[-1])

    def within(self, low: Integers, high: Integers) -> Integers:
        """How many of the codes low ... high - 1 are picked: array as `low`."""
        counted: Integers = self._up_to(high) - self._up_to(low)
        return counted

    def widened(self, size: int, to: int) -> "Pick":
        """The same, where an interval that ends at `size` goes on up to `to`; there is nothing
        beyond the last code."""
        return Pick(self.starts, np.where(self.ends == size, to, self.ends))

    def _up_to(self, code: Integers) -> Integers:
        place = np.searchsorted(self.starts, code, side="right")
        start, end = (np.concatenate([[0], bound])[place] for bound in (self.starts, self.ends))
        counted: Integers = self._before[np.maximum(place - 1, 0)] + np.minimum(code, end) - start
        return counted


@dataclass(frozen=True)
class Axis:
    """`size` ordered codes; see the subclasses."""

    size: int

    @property
    def height(self) -> int:
        """The least h with 2**h >= size."""
        return (self.size - 1).bit_length()

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """A row adds to one node of each."""
        raise NotImplementedError

    @property
    def nodes(self) -> int:
        """How many nodes there are, on all levels."""
        return sum(level.width for level in self.levels)

    def shares(self, pick: Pick, nodes: Integers) -> Floats:
        """By what each node is multiplied in the sum over the picked codes: array as `nodes`."""
        raise NotImplementedError

    def noise(self, pick: Pick) -> float:
        """The sum of the squares of `shares` over all nodes: what independent noise of variance one
        comes to."""
        raise NotImplementedError

    def _counts(self, level: int) -> int:
        return -(-self.size >> level)

    def _located(self, nodes: Integers) -> tuple[Integers, Integers]:
        """The place in `levels`, and the place in its level, of each node."""
        offsets = np.array([level.offset for level in self.levels])
        level = np.searchsorted(offsets, nodes, side="right") - 1
        return level, nodes - offsets[level]


@dataclass(frozen=True)
class Leaves(Axis):
    """Each code is a node."""

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        return (Level(0, 0, self.size, False),)

    def shares(self, pick: Pick, nodes: Integers) -> Floats:
        return pick.within(nodes, nodes + 1).astype(np.float64)

    def noise(self, pick: Pick) -> float:
        return float(pick.size)


@dataclass(frozen=True)
class Tree(Axis):
    """Dyadic intervals: level l has ceil(size / 2**l) nodes of 2**l codes, the root last.

    A sum takes the largest intervals that lie within it, at most two a level for a range.
    """

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        found, offset = [], 0
        for shift in range(self.height + 1):
            found.append(Level(shift, offset, self._counts(shift), False))
            offset += self._counts(shift)
        return tuple(found)

    def shares(self, pick: Pick, nodes: Integers) -> Floats:
        return np.isin(nodes, self._largest(pick)).astype(np.float64)

    def noise(self, pick: Pick) -> float:
        return float(self._largest(pick).size)

    def _largest(self, pick: Pick) -> Integers:
        """The nodes of which the picked codes consist, as few as there can be."""
        wide = pick.widened(self.size, 1 << self.height)
        low, high, found = wide.starts.copy(), wide.ends.copy(), []
        for level in self.levels[:-1]:
            some = low < high
            left, right = some & (low & 1 == 1), some & (high & 1 == 1)
            ends = np.concatenate([low[left], high[right] - 1])
            found.append(level.offset + ends[ends < level.width])
            low, high = (low + left) >> 1, (high - right) >> 1
        return np.concatenate([*found, self.levels[-1].offset + low[low < high]])

    def children(self, nodes: Integers) -> Integers:
        """How many nodes are right below each: two, one at the end, none below a code."""
        level, place = self._located(nodes)
        widths = np.array([each.width for each in self.levels])
        below = np.minimum(widths[np.maximum(level - 1, 0)] - 2 * place, 2)
        return np.asarray(np.where(level > 0, below, 0), np.int64)

    def level(self, nodes: Integers) -> Integers:
        """The level of each, 0 for a code."""
        return self._located(nodes)[0]

    def parents(self, nodes: Integers) -> Integers:
        """The node above each; the root's is itself."""
        level, place = self._located(nodes)
        above = np.minimum(level + 1, self.height)
        offsets = np.array([each.offset for each in self.levels])
        return np.asarray(
            np.where(level < self.height, offsets[above] + (place >> 1), nodes), np.int64
        )


@dataclass(frozen=True)
class Halves(Axis):
    """The sum of all, node 0; and for l >= 1 of each interval of 2**l codes its first half less its
    second.

    With T the sum of all and c_l the differences around it, the count of a code is T / 2**h + sum
    of +-c_l / 2**l.
    """

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        found, offset = [Level(self.height, 0, 1, False)], 1
        for shift in range(1, self.height + 1):
            found.append(Level(shift, offset, self._counts(shift), True))
            offset += self._counts(shift)
        return tuple(found)

    def shares(self, pick: Pick, nodes: Integers) -> Floats:
        wide = pick.widened(self.size, 1 << self.height)
        level, place = self._located(nodes)
        low = place << np.maximum(level, 1)
        half = 1 << (np.maximum(level, 1) - 1)
        difference = wide.within(low, low + half) - wide.within(low + half, low + 2 * half)
        return np.where(nodes == 0, wide.size / 2**self.height, difference / 2.0**level)

    def noise(self, pick: Pick) -> float:
        wide = pick.widened(self.size, 1 << self.height)
        edges = np.unique(np.concatenate([wide.starts, wide.ends - 1]))
        touched = [np.zeros(1, np.int64)]  # in all others both halves are picked, or neither
        touched += [level.offset + np.unique(edges >> level.shift) for level in self.levels[1:]]
        nodes = np.concatenate(touched)
        inside = np.concatenate(
            [[True]]
            + [n - v.offset < v.width for n, v in zip(touched[1:], self.levels[1:], strict=True)]
        )
        return float((self.shares(pick, nodes[inside]) ** 2).sum())


def nested(axes: Sequence[Axis], codes: Integers) -> NDArray[np.bool_]:
    """Which of some nodes, each once, have all their ancestors among them: array (nodes,) for codes
    (nodes, axes).

    An ancestor is above the node along one tree or more, and is it along all other axes.
    """
    keep = np.ones(len(codes), np.bool_)
    above = [
        parents(axes, place, codes) for place, axis in enumerate(axes) if isinstance(axis, Tree)
    ]
    while True:
        still = keep.copy()
        for places in above:
            still &= (places >= 0) & keep[places]
        if (still == keep).all():
            return keep
        keep = still


def parents(axes: Sequence[Axis], along: int, codes: Integers) -> Integers:
    """Where the node above each of some nodes, along one tree, is among them, -1 where it is not:
    array (nodes,). A root is above itself."""
    tree = axes[along]
    assert isinstance(tree, Tree)
    wanted = codes.copy()
    wanted[:, along] = tree.parents(codes[:, along])
    return _places(axes, codes, wanted)


def _places(axes: Sequence[Axis], codes: Integers, wanted: Integers) -> Integers:
    """Where each wanted row is among the codes, -1 where it is not."""
    together = np.concatenate([codes, wanted])
    sizes = [axis.nodes for axis in axes]
    if math.prod(sizes) < 1 << 63:
        keys = np.ravel_multi_index(tuple(together.T), tuple(sizes))
    else:
        keys = np.unique(together, axis=0, return_inverse=True)[1].reshape(-1)
    mine, theirs = keys[: len(codes)], keys[len(codes) :]
    order = np.argsort(mine)
    found = np.minimum(np.searchsorted(mine, theirs, sorter=order), max(len(mine) - 1, 0))
    places = order[found] if len(mine) else found
    return (
        np.asarray(np.where(mine[places] == theirs, places, -1), np.int64) if len(mine) else places
    )
