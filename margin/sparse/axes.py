"""The quantities that a sparse summary counts along one axis: single codes, sums of intervals, or
differences of halves.

Each quantity is a *node* of the axis and stands for an interval of codes. A row with code x adds to
one node of each level:

- `Leaves`: +1 to its own code;
- `Tree`: +1 to every interval of 2**l codes that contains x;
- `Halves`: +1 or -1 to each such interval, by the half of it that contains x, and +1 to the sum of
  all codes. This is the Haar transform in integers.
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
    """A level of an axis: the nodes offset ... offset + width - 1, each an interval of 2**shift
    codes. If the level is signed, a row in the second half of the interval adds -1."""

    shift: int
    offset: int
    width: int
    signed: bool


class Pick:
    """A set of codes as disjoint intervals in ascending order. No two intervals touch."""

    def __init__(
        self,
        starts: Integers,
        ends: Integers,
    ) -> None:
        self.starts = starts
        self.ends = ends
        # The number of codes before each interval, and of all codes.
        self._before = np.concatenate([[0], np.cumsum(ends - starts)])

    @classmethod
    def interval(
        cls,
        low: int,
        high: int,
    ) -> "Pick":
        """Pick the codes from `low` to `high - 1`."""
        return cls(np.array([low], np.int64), np.array([high], np.int64))

    @classmethod
    def of(cls, codes: Integers) -> "Pick":
        """Pick the given codes; at least one must be given."""
        distinct = np.unique(codes)
        # A new interval begins after each gap.
        breaks = np.flatnonzero(np.diff(distinct) > 1)
        first = np.concatenate([[0], breaks + 1])
        last = np.concatenate([breaks, [distinct.size - 1]])
        return cls(distinct[first], distinct[last] + 1)

    @property
    def size(self) -> int:
        """The number of picked codes."""
        return int(self._before[-1])

    def within(
        self,
        low: Integers,
        high: Integers,
    ) -> Integers:
        """The number of picked codes among low ... high - 1: an array of the shape of `low`."""
        counted: Integers = self._up_to(high) - self._up_to(low)
        return counted

    def widened(
        self,
        size: int,
        to: int,
    ) -> "Pick":
        """Extend the interval that ends at `size`, if there is one, so that it ends at `to`. Sums
        over rows do not change, because no row has a code of `size` or more."""
        return Pick(self.starts, np.where(self.ends == size, to, self.ends))

    def _up_to(self, code: Integers) -> Integers:
        """The number of picked codes below each code."""
        # The last interval that starts at or before the code; an empty one if there is none.
        place = np.searchsorted(self.starts, code, side="right")
        start = np.concatenate([[0], self.starts])[place]
        end = np.concatenate([[0], self.ends])[place]
        before = self._before[np.maximum(place - 1, 0)]
        counted: Integers = before + np.minimum(code, end) - start
        return counted


@dataclass(frozen=True)
class Axis:
    """An axis of `size` ordered codes, the base of `Leaves`, `Tree` and `Halves`.

    Its nodes are the quantities that are counted along it. Each stands for an interval of codes,
    and each subclass has other nodes.
    """

    size: int

    @property
    def height(self) -> int:
        """The height of a binary tree over the codes: the smallest h with 2**h >= size."""
        return (self.size - 1).bit_length()

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The levels of nodes. Each row is counted in one node of each level."""
        raise NotImplementedError

    @property
    def nodes(self) -> int:
        """The number of nodes on all levels."""
        return sum(level.width for level in self.levels)

    def shares(
        self,
        pick: Pick,
        nodes: Integers,
    ) -> Floats:
        """The factor with which each node enters the sum over the picked codes: an array of the
        shape of `nodes`."""
        raise NotImplementedError

    def noise(self, pick: Pick) -> float:
        """The variance of the sum over the picked codes if each node has independent noise of
        variance one. It is the sum of the squares of `shares` over all nodes."""
        raise NotImplementedError

    def _counts(self, level: int) -> int:
        """The number of intervals of 2**level codes that cover all codes."""
        return -(-self.size >> level)

    def _located(self, nodes: Integers) -> tuple[Integers, Integers]:
        """The level of each node, as a position in `levels`, and its position in that level."""
        offsets = np.array([level.offset for level in self.levels])
        level = np.searchsorted(offsets, nodes, side="right") - 1
        return level, nodes - offsets[level]


@dataclass(frozen=True)
class Leaves(Axis):
    """An axis on which each code is a node."""

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        return (Level(0, 0, self.size, False),)

    def shares(
        self,
        pick: Pick,
        nodes: Integers,
    ) -> Floats:
        return pick.within(nodes, nodes + 1).astype(np.float64)

    def noise(self, pick: Pick) -> float:
        return float(pick.size)


@dataclass(frozen=True)
class Tree(Axis):
    """An axis of dyadic intervals. Level l has ceil(size / 2**l) nodes of 2**l codes. The root is
    the last node.

    A sum over picked codes adds up the largest intervals that lie within them. A range of codes
    needs at most two on each level.
    """

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        found = []
        offset = 0
        for shift in range(self.height + 1):
            width = self._counts(shift)
            found.append(Level(shift, offset, width, signed=False))
            offset += width
        return tuple(found)

    def shares(
        self,
        pick: Pick,
        nodes: Integers,
    ) -> Floats:
        return np.isin(nodes, self._largest(pick)).astype(np.float64)

    def noise(self, pick: Pick) -> float:
        return float(self._largest(pick).size)

    def _largest(self, pick: Pick) -> Integers:
        """The smallest set of nodes whose union is the picked codes."""
        wide = pick.widened(self.size, 1 << self.height)
        low = wide.starts.copy()
        high = wide.ends.copy()
        found = []
        for level in self.levels[:-1]:
            # An interval with an odd start or end does not consist of whole nodes of the next
            # level: its first or last node of this level is taken by itself.
            some = low < high
            left = some & (low & 1 == 1)
            right = some & (high & 1 == 1)
            ends = np.concatenate([low[left], high[right] - 1])
            found.append(level.offset + ends[ends < level.width])
            low = (low + left) >> 1
            high = (high - right) >> 1
        root = self.levels[-1].offset + low[low < high]
        return np.concatenate([*found, root])

    def children(self, nodes: Integers) -> Integers:
        """The number of nodes directly below each node: 0 below a code, otherwise 2, or 1 below the
        last node of a level of odd width."""
        level, place = self._located(nodes)
        widths = np.array([each.width for each in self.levels])
        width_below = widths[np.maximum(level - 1, 0)]
        below = np.minimum(width_below - 2 * place, 2)
        return np.asarray(np.where(level > 0, below, 0), np.int64)

    def level(self, nodes: Integers) -> Integers:
        """The level of each node; 0 for a code."""
        return self._located(nodes)[0]

    def parents(self, nodes: Integers) -> Integers:
        """The node directly above each node. The root is its own parent."""
        level, place = self._located(nodes)
        offsets = np.array([each.offset for each in self.levels])
        offset_above = offsets[np.minimum(level + 1, self.height)]
        above = np.where(level < self.height, offset_above + (place >> 1), nodes)
        return np.asarray(above, np.int64)


@dataclass(frozen=True)
class Halves(Axis):
    """An axis of differences. Node 0 is the sum of all codes. Every interval of 2**l codes, l >= 1,
    is a node: the sum of its first half less the sum of its second half.

    Let T be the sum of all codes, h the height, and c_l the difference of the interval of 2**l
    codes that contains a code. The count of the code is T / 2**h + sum over l of +-c_l / 2**l.
    """

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        found = [Level(self.height, 0, 1, signed=False)]
        offset = 1
        for shift in range(1, self.height + 1):
            width = self._counts(shift)
            found.append(Level(shift, offset, width, signed=True))
            offset += width
        return tuple(found)

    def shares(
        self,
        pick: Pick,
        nodes: Integers,
    ) -> Floats:
        wide = pick.widened(self.size, 1 << self.height)
        level, place = self._located(nodes)
        # The number of picked codes in the first half of each node less those in its second half.
        low = place << np.maximum(level, 1)
        half = 1 << (np.maximum(level, 1) - 1)
        middle = low + half
        difference = wide.within(low, middle) - wide.within(middle, middle + half)
        return np.where(nodes == 0, wide.size / 2**self.height, difference / 2.0**level)

    def noise(self, pick: Pick) -> float:
        wide = pick.widened(self.size, 1 << self.height)
        edges = np.unique(np.concatenate([wide.starts, wide.ends - 1]))
        # Only intervals that contain the edge of a picked range have a share that is not zero: of
        # all others both halves are picked, or neither.
        nodes = [np.zeros(1, np.int64)]
        for level in self.levels[1:]:
            places = np.unique(edges >> level.shift)
            nodes.append(level.offset + places[places < level.width])
        shares = self.shares(pick, np.concatenate(nodes))
        return float((shares**2).sum())


def nested(axes: Sequence[Axis], codes: Integers) -> NDArray[np.bool_]:
    """Whether all ancestors of each node are among the given nodes: shape (nodes,).

    `codes` holds the nodes, each once: shape (nodes, axes). An ancestor of a node is above it along
    one or more trees and equal to it along all other axes.
    """
    trees = [place for place, axis in enumerate(axes) if isinstance(axis, Tree)]
    above = [parents(axes, place, codes) for place in trees]
    keep = np.ones(len(codes), np.bool_)
    # Drop the nodes with a missing parent until no more are dropped.
    while True:
        still = keep.copy()
        for places in above:
            still &= (places >= 0) & keep[places]
        if (still == keep).all():
            return keep
        keep = still


def parents(
    axes: Sequence[Axis],
    along: int,
    codes: Integers,
) -> Integers:
    """The position of the parent of each node along one tree, or -1 if the parent is not among the
    nodes: shape (nodes,). A root is its own parent.

    `codes` holds the nodes, shape (nodes, axes), and `along` is the position of the tree in `axes`.
    """
    tree = axes[along]
    assert isinstance(tree, Tree)
    wanted = codes.copy()
    wanted[:, along] = tree.parents(codes[:, along])
    return _places(axes, codes, wanted)


def _places(
    axes: Sequence[Axis],
    codes: Integers,
    wanted: Integers,
) -> Integers:
    """Find wanted rows in `codes`: the position of each, or -1 if `codes` does not contain it."""
    if not len(codes):
        return np.full(len(wanted), -1, np.int64)
    # Give each row a number: its cell if that fits in 64 bits, else its rank.
    together = np.concatenate([codes, wanted])
    sizes = tuple(axis.nodes for axis in axes)
    if math.prod(sizes) < 1 << 63:
        keys = np.ravel_multi_index(tuple(together.T), sizes)
    else:
        keys = np.unique(
            together,
            axis=0,
            return_inverse=True,
        )[1].reshape(-1)
    known = keys[: len(codes)]
    sought = keys[len(codes) :]
    # Look each number up in the ordered numbers of the codes.
    order = np.argsort(known)
    found = np.searchsorted(known, sought, sorter=order)
    places = order[np.minimum(found, len(known) - 1)]
    return np.asarray(np.where(known[places] == sought, places, -1), np.int64)
