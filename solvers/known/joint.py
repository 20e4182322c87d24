"""`Joints`: the distribution of maximum entropy that has known tables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..limits import KNOWN_COMBINATIONS
from ..types import Floats, Integers
from ..zeros import Box, Zeros
from .margin import KnownTable, Margin

__all__ = ["Contradiction", "Joints"]

Axes = tuple[int, ...]

_SWEEPS = 5_000
"""Largest number of sweeps of proportional fitting."""

_CLOSE = 1e-12
"""Largest error of a sum, as a share of the total, at which proportional fitting ends."""

_AGREES = 1e-7
"""Largest error of a sum, as a share of the total, with which the tables count as fitted."""


class Contradiction(ValueError):
    """The error that there is no positive table with all known tables and required zeros."""


class Joints:
    """The distribution of maximum entropy that has known tables, zero in cells that must be zero.

    Known tables and boxes of zeros with a common axis belong to one part; parts are independent.
    In the table of a part, categories that no known table and no box distinguishes are one class.

    Parameters
    ----------
    sizes, tables, zeros
        See `Known`.
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        tables: Sequence[KnownTable],
        zeros: Zeros | None,
    ) -> None:
        self._sizes = sizes
        boxes = () if zeros is None else zeros.boxes
        named = [table for table in tables if table.axes]
        self._parts = [_Part(sizes, *found) for found in _connected(named, boxes)]
        inside = {axis for part in self._parts for axis in part.axes}
        others = tuple(box for box in boxes if box[0][0] not in inside)
        self._others = Zeros(sizes, others) if others else None

    def fit(self) -> None:
        """Find the distribution; see `Known.check`."""
        for part in self._parts:
            _ = part.joint

    def marginal(self, axes: Axes) -> Floats:
        """The marginal on some axes, in their order, of sum one."""
        order = tuple(sorted(axes))
        table: Floats = np.ones([self._sizes[axis] for axis in order])
        if self._others is not None:
            table = self._others.positive(order)
        for part in self._parts:
            table = table * part.marginal(order)
        table = table.transpose([order.index(axis) for axis in axes])
        return np.asarray(table / table.sum())


@dataclass(
    frozen=True,
    eq=False,
)
class _Part:
    """Known tables and boxes of zeros that common axes connect.

    Attributes
    ----------
    sizes
        The sizes of all axes of the array.
    tables, boxes
        The known tables, and the boxes of cells that must be zero.
    """

    sizes: tuple[int, ...]
    tables: list[KnownTable]
    boxes: list[Box]

    @cached_property
    def axes(self) -> Axes:
        """The axes of the part, ascending."""
        found = {axis for table in self.tables for axis in table.axes}
        return tuple(sorted(found | {axis for box in self.boxes for axis, _ in box}))

    @cached_property
    def classes(self) -> dict[int, Integers]:
        """For each axis the class of each category, shape (categories,).

        Classes of one group of a known table are adjacent.
        """
        classes = {}
        for axis in self.axes:
            size = self.sizes[axis]
            labels = [np.zeros(size, np.int64)]
            for table in self.tables:
                if axis in table.axes:
                    group = table.groups[table.axes.index(axis)]
                    labels.append(np.arange(size) if group is None else group)
            # The order of groups first: it is the order of the categories.
            labels.sort(key=lambda label: int(label.max()))
            for box in self.boxes:
                for own, codes in box:
                    if own == axis:
                        labels.append(np.isin(np.arange(size), codes).astype(np.int64))
            classes[axis] = np.unique(np.stack(labels), axis=1, return_inverse=True)[1].ravel()
        return classes

    @cached_property
    def joint(self) -> Floats:
        """The distribution over the classes of all axes, by iterative proportional fitting.

        Raises
        ------
        Contradiction
            If the fit does not end.
        ValueError
            If the table is too large.
        """
        kinds = [int(self.classes[axis].max()) + 1 for axis in self.axes]
        if math.prod(kinds) > KNOWN_COMBINATIONS:
            raise ValueError(
                f"known tables may connect at most {KNOWN_COMBINATIONS:,} combinations of "
                f"categories, but they connect {math.prod(kinds):,}"
            )
        first = {axis: _first(self.classes[axis]) for axis in self.axes}
        joint: Floats = np.ones(kinds)
        for place, axis in enumerate(self.axes):
            widths = np.bincount(self.classes[axis]).astype(np.float64)
            joint = joint * _along(widths, place, len(kinds))
        for box in self.boxes:
            joint[self._inside(box, first)] = 0.0
        margins = [Margin(self._by_class(table, first), self.axes, kinds) for table in self.tables]
        total = float(self.tables[0].counts.sum())
        worst = math.inf
        for _ in range(_SWEEPS):
            worst = 0.0
            for margin in margins:
                sums = margin.sums(joint)
                worst = max(worst, float(np.abs(sums - margin.counts).max()))
                joint = joint * margin.spread(margin.counts / np.where(sums > 0, sums, 1.0))
            if worst <= _CLOSE * total:
                break
        if worst > _AGREES * total:
            raise Contradiction("no positive table has all known tables and required zeros")
        return np.asarray(joint / joint.sum())

    def marginal(self, axes: Axes) -> Floats:
        """The marginal on those of the ascending axes that belong to the part.

        It has one entry along the other axes.
        """
        dropped = tuple(place for place, axis in enumerate(self.axes) if axis not in axes)
        table = self.joint.sum(axis=dropped)
        own = [axis for axis in self.axes if axis in axes]
        for place, axis in enumerate(own):
            classes = self.classes[axis]
            share = 1 / np.bincount(classes)[classes]
            table = np.take(table, classes, axis=place) * _along(share, place, len(own))
        return np.expand_dims(table, [axes.index(axis) for axis in axes if axis not in own])

    def _inside(
        self,
        box: Box,
        first: dict[int, Integers],
    ) -> tuple[Integers, ...]:
        """The index of the cells of a box in the table of classes."""
        codes = dict(box)
        chosen = []
        for axis in self.axes:
            inside = np.isin(first[axis], codes.get(axis, first[axis]))
            chosen.append(np.flatnonzero(inside))
        return np.ix_(*chosen)

    def _by_class(
        self,
        table: KnownTable,
        first: dict[int, Integers],
    ) -> KnownTable:
        """A known table with groups of classes in place of groups of categories."""
        groups = []
        for axis, group in zip(table.axes, table.groups, strict=True):
            own = np.arange(self.sizes[axis]) if group is None else group
            groups.append(own[first[axis]])
        return KnownTable(table.axes, tuple(groups), table.counts)


def _connected(
    tables: Sequence[KnownTable],
    boxes: Sequence[Box],
) -> list[tuple[list[KnownTable], list[Box]]]:
    """The known tables and boxes of each part that has a known table."""
    import networkx

    graph = networkx.Graph()
    for number, table in enumerate(tables):
        for axis in table.axes:
            graph.add_edge(("table", number), axis)
    for number, box in enumerate(boxes):
        for axis, _ in box:
            graph.add_edge(("box", number), axis)
    parts = []
    for nodes in networkx.connected_components(graph):
        named = sorted(node for node in nodes if isinstance(node, tuple))
        own = [tables[number] for kind, number in named if kind == "table"]
        if own:
            parts.append((own, [boxes[number] for kind, number in named if kind == "box"]))
    return parts


def _first(classes: Integers) -> Integers:
    """The first category of each class."""
    return np.unique(classes, return_index=True)[1].astype(np.int64)


def _along(
    values: Floats,
    place: int,
    count: int,
) -> Floats:
    """An array along one of `count` axes, with one entry along the others."""
    return values.reshape([-1 if other == place else 1 for other in range(count)])
