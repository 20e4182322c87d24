"""`KnownTable`: a table of counts that is known exactly, and how it acts on other tables."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..types import Floats, Integers

__all__ = ["KnownTable", "Margin", "coarser"]

Axes = tuple[int, ...]


@dataclass(
    frozen=True,
    eq=False,
)
class KnownTable:
    """A table of an array that is known exactly, at groups of categories.

    Attributes
    ----------
    axes
        Its axes, ascending.
    groups
        For each axis the group of each category, ascending from 0, shape (categories,); None if
        each category is a group.
    counts
        The number of rows in each product of groups, >= 0, one axis for each of `axes`.
    """

    axes: Axes
    groups: tuple[Integers | None, ...]
    counts: Floats

    @property
    def whole(self) -> Axes:
        """The axes of which each category is a group."""
        pairs = zip(self.axes, self.groups, strict=True)
        return tuple(axis for axis, group in pairs if group is None)

    def on(self, axes: Sequence[int]) -> "KnownTable":
        """Its sums over the axes that are not among the given ones."""
        dropped = tuple(place for place, axis in enumerate(self.axes) if axis not in axes)
        kept = [place for place, axis in enumerate(self.axes) if axis in axes]
        return KnownTable(
            tuple(self.axes[place] for place in kept),
            tuple(self.groups[place] for place in kept),
            np.asarray(self.counts.sum(axis=dropped)),
        )

    def determines(
        self,
        axes: Sequence[int],
        groups: Sequence[Integers | None],
    ) -> bool:
        """Whether the table on some axes and groups is a sum of its cells."""
        own = dict(zip(self.axes, self.groups, strict=True))
        pairs = zip(axes, groups, strict=True)
        return all(axis in own and coarser(group, own[axis]) for axis, group in pairs)


def coarser(one: Integers | None, other: Integers | None) -> bool:
    """Whether each group of `other` lies within a group of `one`; None stands for the categories.

    Examples
    --------
    >>> coarser(np.array([0, 0, 1]), None), coarser(None, np.array([0, 0, 1]))
    (True, False)
    """
    if other is None:
        return True
    if one is None:
        return bool(other[-1] + 1 == other.size)
    pairs = len(np.unique(np.stack([one, other]), axis=1).T)
    return bool(pairs == other.max() + 1)


class Margin:
    """The sums of the cells of tables on some axes that a known table states.

    Parameters
    ----------
    known
        The known table; its axes are among the given ones.
    axes, shape
        The axes of the tables, in their order, and the numbers of categories.
    """

    def __init__(
        self,
        known: KnownTable,
        axes: Sequence[int],
        shape: Sequence[int],
    ) -> None:
        own = dict(zip(known.axes, known.groups, strict=True))
        self._summed = tuple(place for place, axis in enumerate(axes) if axis not in own)
        # For each grouped axis its place, the first category of each group, and their numbers.
        self._grouped: list[tuple[int, Integers, Integers]] = []
        for place, axis in enumerate(axes):
            group = own.get(axis)
            if group is not None:
                starts = np.flatnonzero(np.diff(group, prepend=-1))
                self._grouped.append((place, starts, np.diff([*starts, group.size])))
        order = sorted(range(len(known.axes)), key=lambda place: axes.index(known.axes[place]))
        counts = known.counts.transpose(order)
        self.counts: Floats = np.expand_dims(counts, self._summed)
        cells: Floats = np.ones(tuple(shape))
        self._cells = self.sums(cells)

    def sums(self, table: Floats) -> Floats:
        """The sums of the cells, with one entry along each axis that is summed over."""
        found = table.sum(axis=self._summed, keepdims=True)
        for place, starts, _ in self._grouped:
            found = np.add.reduceat(found, starts, axis=place)
        return np.asarray(found)

    def spread(self, sums: Floats) -> Floats:
        """Give every cell of a table the number of its sum; the result broadcasts to the table."""
        for place, _, widths in self._grouped:
            sums = np.repeat(sums, widths, axis=place)
        return sums

    def even(self, sums: Floats) -> Floats:
        """Divide sums evenly among their cells; the result broadcasts to the table."""
        return self.spread(sums / self._cells)
