"""`Known`: all tables of an array that are known exactly, and what follows for any of its tables.

A known table states sums of cells: A x = b. The cells of each sum are a product of groups, one for
each axis. Let E be the map that replaces every cell by the mean of its sum. Along one axis the
groups of two known tables are the same, or those of one lie within those of the other, as levels of
one tree do. So all maps E commute, and the projection on what all tables leave open is the product
of their I - E. Three things follow.

- *The nearest table that agrees with all of them* is found by one sweep: the difference to each
  known table is spread evenly (`fixed`).
- This is also the best linear estimate from tables whose errors are independent and equal within
  each residual component (see `basis`): E maps every component into itself.
- *The error of a sum of cells* with weights w is that of the weights (I - E) w (`left_open`): the
  rest of w is known. `told` finds the cells of which nothing is left open, faster.

A component of which all categories are known is known itself (`components`), like the total.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from ..types import Flags, Floats, Integers
from ..zeros import Zeros
from .joint import Contradiction, Joints
from .margin import KnownTable, Margin

__all__ = ["Contradiction", "Known"]

Axes = tuple[int, ...]

_SWEEPS = 2_000
"""Largest number of sweeps over the known tables, for one table."""

_CLOSE = 1e-13
"""Largest error of a sum, as a share of the total, at which the sweeps end."""

_SHARE = 1e-9
"""Share of a positive table that is mixed in where a known sum has only cells of zero."""


class Known:
    """The tables of an array that are known exactly. They agree with each other.

    Parameters
    ----------
    sizes
        The number of categories of every axis of the array.
    tables
        The known tables, at least one. All have the same total, > 0.
    zeros
        Cells of the array that must be zero, among them those of which a known sum is zero; None if
        there is none.

    Raises
    ------
    ValueError
        If the total is not positive and finite.

    Examples
    --------
    >>> known = Known((2, 2), [KnownTable((0,), (None,), np.array([6.0, 4.0]))])
    >>> known.fixed((0, 1), np.array([[2.0, 2.0], [1.0, 4.0]])).tolist()
    [[3.0, 3.0], [0.5, 3.5]]
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        tables: Sequence[KnownTable],
        zeros: Zeros | None = None,
    ) -> None:
        self.sizes = sizes
        self.tables = _largest(tables)
        self.zeros = zeros
        self.total = float(self.tables[0].counts.sum())
        if not (self.total > 0 and np.isfinite(self.total)):
            raise ValueError(
                f"the known total ({self.total}) must be positive and finite; pass such a number"
            )
        self._margins: dict[Axes, list[Margin]] = {}

    @classmethod
    def of_total(
        cls,
        sizes: tuple[int, ...],
        total: float,
        zeros: Zeros | None = None,
    ) -> "Known":
        """Nothing but the total is known."""
        return cls(sizes, [KnownTable((), (), np.array(float(total)))], zeros)

    @property
    def more(self) -> bool:
        """Whether more is known than the total."""
        return any(table.axes for table in self.tables)

    @cached_property
    def grouped(self) -> bool:
        """Whether some table is known at groups of categories only."""
        return any(group is not None for table in self.tables for group in table.groups)

    @cached_property
    def views(self) -> list[Axes]:
        """The largest sets of axes whose tables are known cell by cell."""
        found = {table.whole for table in self.tables if table.whole}
        return sorted(axes for axes in found if not any(set(axes) < set(more) for more in found))

    def table(self, axes: Axes) -> Floats:
        """The known table on some ascending axes, which lie within one of `views`."""
        holder = next(table for table in self.tables if set(axes) <= set(table.whole))
        return holder.on(axes).counts

    def components(self, asked: Integers) -> Flags:
        """Whether each component of many marginals is known.

        Parameters
        ----------
        asked
            The axes of the marginals, shape (n, k).

        Returns
        -------
        ndarray of shape (n, 2 ** k)
            The component as a bit mask over the axes.
        """
        count, places = asked.shape
        known = np.zeros(count << places, np.bool_)
        for table in self.tables:
            masks = np.arange(count) << places
            for place in range(places):
                masks |= np.isin(asked[:, place], table.whole).astype(np.int64) << place
            known[masks] = True
        # With a component, all components on fewer of its axes are known.
        known = known.reshape(count, -1)
        for place in range(places):
            halves = known.reshape(-1, 2, 1 << place)
            halves[:, 0] |= halves[:, 1]
        return known

    def determines(
        self,
        axes: Sequence[int],
        groups: Sequence[Integers | None],
    ) -> bool:
        """Whether the table on some axes, at some groups of categories, is known."""
        return any(table.determines(axes, groups) for table in self.tables)

    def fixed(
        self,
        axes: Axes,
        table: Floats,
    ) -> Floats:
        """The nearest table on some axes, in their order, that agrees with what is known."""
        for margin in self._on(axes):
            table = table + margin.even(margin.counts - margin.sums(table))
        return table

    def left_open(
        self,
        axes: Axes,
        weights: Floats,
        empty: Flags | None = None,
    ) -> Floats:
        """The part of the weights of a sum of cells that is not known.

        The errors of the sum are those of the sum with these weights.

        Parameters
        ----------
        axes
            The axes of the table, in its order.
        weights
            The weights, with the shape of the table.
        empty
            Cells without error, because they must be zero: there the result is zero. None for no
            such cell. The maps E then do not commute, and several sweeps are needed.
        """
        margins = self._on(axes)
        if empty is None or not empty.any():
            for margin in margins:
                weights = weights - margin.even(margin.sums(weights))
            return weights
        possible = np.where(empty, 0.0, 1.0)
        weights = weights * possible
        least = _CLOSE * max(1.0, float(np.abs(weights).max(initial=0.0)))
        for _ in range(_SWEEPS):
            change = 0.0
            for margin in margins:
                means = margin.sums(weights) / np.maximum(margin.sums(possible), 1.0)
                change = max(change, float(np.abs(means).max()))
                weights = (weights - margin.spread(means)) * possible
            if change <= least or len(margins) == 1:
                break
        return weights

    def told(
        self,
        axes: Axes,
        sums: Integers | None = None,
        empty: Flags | None = None,
    ) -> Flags:
        """Whether each cell of a table, or the sum to which it belongs, is known.

        A sum is if it consists of whole known sums, where cells that must be zero or are known do
        not count. What follows from known sums in a cycle is not found.

        Parameters
        ----------
        axes
            The axes of the table, in its order.
        sums
            The number of the sum to which each cell belongs, with the shape of the table; None if
            each cell is a sum.
        empty
            Cells that must be zero, with the shape of the table: they are known. None for no such
            cell.

        Returns
        -------
        ndarray with the shape of the table
            A sum is known if all its cells have the flag.
        """
        shape = tuple(self.sizes[axis] for axis in axes)
        labels = [_labels(margin, shape) for margin in self._on(axes)]
        cells = np.arange(math.prod(shape))
        left = np.ones(cells.size, np.bool_) if empty is None else ~empty.ravel()
        # The only open cell of a known sum is known, and then others may be the only ones.
        before = -1
        while before != (before := int(left.sum())):
            for known in labels:
                left = _left_by(known, cells, left)
        if sums is not None:
            own = sums.ravel()
            left = np.logical_and.reduce([_left_by(known, own, left) for known in labels])
        return np.asarray(~left.reshape(shape))

    def raked(
        self,
        axes: Axes,
        table: Floats,
    ) -> Floats:
        """The table >= 0 that agrees with what is known, and is nearest to a table >= 0.

        Nearest is meant in relative entropy: the sums are fitted in turn, each by one factor for
        all its cells (iterative proportional fitting). `axes` are those of the table, in its order.
        """
        margins = self._on(axes)
        lost = any(((one.sums(table) <= 0) & (one.counts > 0)).any() for one in margins)
        if lost:
            table = (1 - _SHARE) * table + _SHARE * self.total * self.positive(axes)
        for _ in range(_SWEEPS):
            worst = 0.0
            for margin in margins:
                sums = margin.sums(table)
                worst = max(worst, float(np.abs(sums - margin.counts).max()))
                table = table * margin.spread(margin.counts / np.where(sums > 0, sums, 1.0))
            if worst <= _CLOSE * self.total:
                break
        return table

    def equations(self, axes: Axes) -> tuple[Any, Floats]:
        """What is known of the cells x of the table on some axes, as A x = b with a sparse A."""
        shape = tuple(self.sizes[axis] for axis in axes)
        left = []
        for margin in self._on(axes):
            numbers = np.arange(margin.counts.size)
            rows = _labels(margin, shape)
            places = (rows, np.arange(rows.size))
            left.append(
                scipy.sparse.csr_array((np.ones(rows.size), places), (numbers.size, rows.size))
            )
        right = [margin.counts.ravel() for margin in self._on(axes)]
        return scipy.sparse.vstack(left).tocsr(), np.concatenate(right)

    def kept(
        self,
        axes: Axes,
        table: Floats,
    ) -> bool:
        """Whether a table of whole numbers agrees exactly with what is known."""
        return all(np.array_equal(one.sums(table), one.counts) for one in self._on(axes))

    def positive(self, axes: Axes) -> Floats:
        """A marginal of a distribution that agrees with what is known; its axes in their order.

        It is positive in all cells that need not be zero. All marginals belong to one distribution:
        that of maximum entropy for the axes that known tables connect.
        """
        return self._joints.marginal(axes)

    def check(self) -> None:
        """Find the distribution of `positive`.

        Raises
        ------
        Contradiction
            If there is none: the tables and the zeros contradict each other.
        ValueError
            If the tables connect too many combinations of categories.
        """
        self._joints.fit()

    @cached_property
    def _joints(self) -> Joints:
        return Joints(self.sizes, self.tables, self.zeros)

    def _on(self, axes: Axes) -> list[Margin]:
        """What is known of the table on some axes: the largest known tables within them."""
        if axes not in self._margins:
            shape = [self.sizes[axis] for axis in axes]
            largest = _largest([table.on(axes) for table in self.tables])
            self._margins[axes] = [Margin(table, axes, shape) for table in largest]
        return self._margins[axes]


def _left_by(
    known: Integers,
    sums: Integers,
    left: Flags,
) -> Flags:
    """Which of the cells that are left do not belong to a sum of whole known sums, (cells,).

    `known` and `sums` are the numbers of the known sum and of the sum of each cell.
    """
    # A known sum says nothing about single sums if it has cells of several of them.
    one_of = np.zeros(known.size, np.int64)
    one_of[known[left]] = sums[left]
    mixed = np.zeros(known.size, np.bool_)
    mixed[known[left & (one_of[known] != sums)]] = True
    # A sum is open as long as one of its cells lies in such a known sum.
    still = np.zeros(int(sums.max(initial=0)) + 1, np.bool_)
    still[sums[left & mixed[known]]] = True
    return np.asarray(left & still[sums])


def _labels(margin: Margin, shape: tuple[int, ...]) -> Integers:
    """The number of the known sum to which each cell of a table belongs, shape (cells,)."""
    numbers = np.arange(margin.counts.size, dtype=np.float64).reshape(margin.counts.shape)
    return np.broadcast_to(margin.spread(numbers), shape).ravel().astype(np.int64)


def _largest(tables: Sequence[KnownTable]) -> list[KnownTable]:
    """The tables that no other one determines; the first of equal ones."""
    kept: list[KnownTable] = []
    for table in sorted(tables, key=lambda one: -one.counts.size):
        if not any(other.determines(table.axes, table.groups) for other in kept):
            kept.append(table)
    return kept
