"""Metrics along one axis: the squared errors of all queries that are asked of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from ..fitted import LEAVES_FALL
from ..trees.level_tree import LevelTree
from ..types import Flags, Floats, Integers

__all__ = ["AxisMetric", "OrderMetric", "TreeMetric"]

_NEVER = -1e18
"""Measurement of a leaf that must be zero: no multiplier raises it above zero."""


class AxisMetric(Protocol):
    """The metric x'G x of tables over n categories; G is positive definite."""

    @property
    def gram(self) -> Floats:
        """The matrix G, shape (n, n)."""

    @property
    def spread(self) -> Floats:
        """The vector u with sum one for which G u is constant, shape (n,).

        A table with this form is orthogonal to all tables with the sum zero.
        """

    @property
    def price(self) -> float:
        """The number u'G u."""

    def extension(self, group: Integers) -> Floats:
        """The matrix E with C E = I for which C x = 0 implies E'G x = 0, shape (n, groups).

        C x are the sums of a table x over groups of categories. So E y is the table with the sums y
        that is nearest to zero, and E C is the projection onto such tables that is orthogonal in
        the metric. `group` gives the group of each category, ascending from 0, shape (n,).
        """

    def nearest(
        self,
        lines: Floats,
        empty: Flags | None,
    ) -> Floats:
        """The nearest tables without negative cells, one for each line, shape (lines, n).

        `empty` tells which cells must be zero; None if there are none.
        """


@dataclass(frozen=True)
class OrderMetric:
    """The squared errors of all prefix sums, or of the sums of all ranges.

    The nearest table without negative cells has the nearest monotone prefix sums. For prefixes
    these are also at least zero. With the prefix sums P_1, ..., P_n and P_0 = 0, the squares of all
    ranges add up to sum_{i < j} (P_j - P_i)**2 = (n + 1) sum_i (P_i - mean)**2. A constant in all
    P_i changes nothing. So for ranges P_0 takes part in the regression like the others.

    Attributes
    ----------
    size
        The number of categories.
    ranges
        Whether all ranges are asked, instead of all prefixes.

    Examples
    --------
    >>> OrderMetric(3).nearest(np.array([[4.0, -2.0, 1.0]]), None).tolist()
    [[3.0, 0.0, 0.0]]
    """

    size: int
    ranges: bool = False

    @property
    def gram(self) -> Floats:
        """The matrix G: for two categories, how many queries contain both."""
        codes = np.arange(self.size, dtype=np.float64)
        above: Floats = self.size - np.maximum.outer(codes, codes)
        if not self.ranges:
            return above
        return np.asarray(above * (np.minimum.outer(codes, codes) + 1))

    @property
    def spread(self) -> Floats:
        """All in the last category for prefixes; half in the first and half in the last for
        ranges."""
        spread = np.zeros(self.size)
        spread[-1] = 1.0
        if self.ranges:
            spread[-1] = 0.5
            spread[0] += 0.5
        return spread

    @property
    def price(self) -> float:
        """The number u'G u."""
        return (self.size + 1) / 2 if self.ranges else 1.0

    def extension(self, group: Integers) -> Floats:
        """See `AxisMetric`. The sums of groups tell the prefix sums at the ends of groups alone.

        For prefixes, the other prefix sums of the smallest table are zero. For ranges, they are the
        mean of those at the ends and of that before the first category, which is zero.
        """
        ends = np.flatnonzero(np.diff(group, append=group[-1] + 1)) + 1
        # For each group alone, the prefix sums at the ends: one from its own end on.
        at_ends = np.tri(len(ends))
        prefixes = np.zeros((self.size + 1, len(ends)))
        if self.ranges:
            prefixes += at_ends.sum(axis=0) / (len(ends) + 1)
            prefixes[0] = 0.0
        prefixes[ends] = at_ends
        return np.diff(prefixes, axis=0)

    def nearest(
        self,
        lines: Floats,
        empty: Flags | None,
    ) -> Floats:
        """The tables with the nearest monotone prefix sums; see `AxisMetric`."""
        from . import order_loops

        flags = np.zeros(lines.shape, np.bool_) if empty is None else empty
        return order_loops.monotone_cells(
            np.ascontiguousarray(lines), np.ascontiguousarray(flags), self.ranges
        )


@dataclass(
    frozen=True,
    eq=False,
)
class TreeMetric:
    """The squared errors of all nodes of a tree, each level with a weight.

    Attributes
    ----------
    tree
        The tree above the categories.
    weights
        The weight of each level, from the largest nodes to the categories, > 0.

    Examples
    --------
    >>> tree = LevelTree([np.array([0, 0, 1]), np.arange(3)])
    >>> TreeMetric(tree, (1.0, 1.0)).nearest(np.array([[4.0, -3.0, 2.0]]), None).tolist()
    [[2.5, 0.0, 2.0]]
    """

    tree: LevelTree
    weights: Sequence[float]

    @classmethod
    def of(cls, groups: Sequence[Integers]) -> "TreeMetric":
        """The metric for tables whose leaves alone were measured.

        Parameters
        ----------
        groups
            See `LevelTree`.

        Returns
        -------
        TreeMetric
            Let a node have k leaves on average, and so the standard deviation k ** (1/2) of a leaf.
            The weight of its level is one divided by that and by `LEAVES_FALL` for each level below
            it: so in standard deviations, a level moves at most `LEAVES_FALL` times as far as the
            next one.
        """
        tree = LevelTree(groups)
        levels = len(tree.sizes)
        weights = [
            math.sqrt(size / tree.sizes[-1]) / LEAVES_FALL ** (levels - 1 - level)
            for level, size in enumerate(tree.sizes)
        ]
        return cls(tree, weights)

    @property
    def gram(self) -> Floats:
        """The matrix G: the summed weight of the levels at which two categories are one node."""
        size = self.tree.sizes[-1]
        gram = np.zeros((size, size))
        for group, weight in zip(self.tree.groups, self.weights, strict=True):
            gram += weight * (group[:, None] == group)
        return gram

    @cached_property
    def spread(self) -> Floats:
        """The shares of the nodes, from the top down: in inverse proportion to their prices."""
        share = np.ones(1)
        parents = np.zeros(self.tree.sizes[0], dtype=np.int64)
        for level, prices in enumerate(self._prices):
            if level:
                counts = np.diff(np.append(self.tree.starts[level - 1], len(prices)))
                parents = np.repeat(np.arange(len(counts)), counts)
            own = 1 / prices
            share = share[parents] * own / np.bincount(parents, own)[parents]
        return share

    @cached_property
    def price(self) -> float:
        """The number u'G u."""
        return float(1 / (1 / self._prices[0]).sum())

    @cached_property
    def _prices(self) -> list[Floats]:
        """For each node the least metric of its subtree for one row below it, by levels."""
        prices = [np.full(self.tree.sizes[-1], float(self.weights[-1]))]
        for level in range(len(self.tree.starts) - 1, -1, -1):
            below = np.add.reduceat(1 / prices[-1], self.tree.starts[level])
            prices.append(1 / below + self.weights[level])
        return prices[::-1]

    def extension(self, group: Integers) -> Floats:
        """See `AxisMetric`. Below a node, its sum is shared out as `spread` shares the total.

        Raises
        ------
        ValueError
            If the groups are no level of the tree.
        """
        if not any(np.array_equal(group, own) for own in self.tree.groups):
            raise ValueError(
                "groups of categories of which sums are known must be a level of the tree, but "
                "they are none; add them to its levels"
            )
        shares = self.spread / np.bincount(group, self.spread)[group]
        return np.where(group[:, None] == np.arange(group[-1] + 1), shares[:, None], 0.0)

    def nearest(
        self,
        lines: Floats,
        empty: Flags | None,
    ) -> Floats:
        """The nearest tables, by `LevelTree.nonnegative`; see `AxisMetric`."""
        sums = self.tree.sums(np.ascontiguousarray(lines.T))
        if empty is not None:
            sums[-1] = np.where(empty.T, _NEVER, sums[-1])
        return np.ascontiguousarray(self.tree.nonnegative(sums, [1 / w for w in self.weights]).T)
