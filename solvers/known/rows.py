"""`agreeing_rows`: rows whose counts agree exactly with known tables.

The known tables are taken one after another. For each, rows of cells that have too many are moved
to cells that have too few. A move changes only what the tables before do not state, so what agreed
still agrees. If the tables are *decomposable*, each step ends with exact counts: the tables before
then fix the counts of everything that they share with the next one. Disjoint and nested tables, and
tables along a tree of shared axes, are decomposable; three tables of the pairs of three axes are
not. For others, rows may remain that no such move corrects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..types import Floats, Integers
from ..zeros import Zeros
from .known import Known
from .margin import KnownTable

__all__ = ["agree_with", "agreeing_rows"]

_TRIES = 200
"""Number of times that other codes are drawn for a row in a cell that must be zero, and a tenth of
the number of rows that it may exchange codes with."""

Codes = NDArray[np.int32]


def agree_with(
    known: Known,
    codes: Codes,
    repeats: Floats,
) -> bool:
    """Whether rows agree exactly with known tables.

    Parameters
    ----------
    known
        The tables.
    codes
        The categories, shape (groups, axes).
    repeats
        The number of equal rows in each group, shape (groups,).
    """
    for table in known.tables:
        found = np.bincount(_cells(table, codes), repeats, table.counts.size)
        if not np.array_equal(found, table.counts.ravel()):
            return False
    return known.zeros is None or not known.zeros.broken(codes).any()


def agreeing_rows(
    known: Known,
    codes: Codes,
    repeats: Floats,
    rng: np.random.Generator,
) -> tuple[Codes, Floats]:
    """Move as few rows as each known table needs, in turn; see the module.

    The number of rows must be the known total. A group of equal rows may be divided.

    Parameters
    ----------
    known, codes, repeats
        See `agree_with`.
    rng
        The choice of the rows that are moved.

    Returns
    -------
    codes, repeats
        The rows that result, in another order.
    """
    before: list[KnownTable] = []
    for table in _ordered(known.tables):
        step = _Step(table, _shared(table, before), known.zeros, rng)
        before.append(table)
        nodes = [_finest(before, axis) for axis in range(codes.shape[1])]
        codes, repeats = step.apply(codes, repeats, nodes)
        codes, repeats = step.exchange(codes, repeats)
    return codes, repeats


def _ordered(tables: Sequence[KnownTable]) -> list[KnownTable]:
    """The tables in the order of a tree of the largest overlaps, by Prim's algorithm.

    For decomposable tables this is a junction tree: what a table shares with those before lies in
    one of them (Jensen and Jensen, UAI 1994).
    """
    left = list(tables)
    ordered = [left.pop(0)]
    while left:
        shared = [max(_overlap(table, other) for other in ordered) for table in left]
        ordered.append(left.pop(int(np.argmax(shared))))
    return ordered


def _overlap(table: KnownTable, other: KnownTable) -> float:
    """How much two tables share: the logarithm of the number of products of common groups."""
    groups = [group for group in _shared(table, [other]) if group is not None]
    return float(sum(np.log(group.max() + 1) for group in groups))


def _kinds(group: Integers | None, size: int) -> float:
    """The share of what an axis of a table says that a group of its own cells says."""
    return 0.0 if group is None else (group.max() + 1) / size


def _finest(tables: Sequence[KnownTable], axis: int) -> Integers | None:
    """The finest groups of the categories of an axis that tables state.

    They are without entries if no table states anything about it; None if each category is a group.
    """
    finest: Integers | None = np.zeros(0, np.int64)
    for table in tables:
        if axis in table.axes and finest is not None:
            group = table.groups[table.axes.index(axis)]
            if group is None or not finest.size or group.max() > finest.max():
                finest = group
    return finest


def _shared(
    table: KnownTable,
    before: Sequence[KnownTable],
) -> list[Integers | None]:
    """For each axis of a table, what tables before it state: a group of each of its own groups.

    The finest such groups; None if no table before states anything about the axis.
    """
    shared: list[Integers | None] = []
    for axis, own, size in zip(table.axes, table.groups, table.counts.shape, strict=True):
        finest: Integers | None = None
        for other in before:
            if axis not in other.axes:
                continue
            group = other.groups[other.axes.index(axis)]
            kinds = None if group is None else group.max() + 1
            if kinds is None or kinds >= size:
                finest = np.arange(size)
            elif finest is None or kinds > finest.max() + 1:
                # One category of each own group identifies its group there.
                codes = np.arange(size) if own is None else np.unique(own, return_index=True)[1]
                assert group is not None
                finest = group[codes]
        shared.append(finest)
    return shared


def _cells(table: KnownTable, codes: Codes) -> Integers:
    """The cell of a known table in which each row lies, shape (groups,)."""
    cells = np.zeros(len(codes), np.int64)
    for axis, group, size in zip(table.axes, table.groups, table.counts.shape, strict=True):
        own = codes[:, axis] if group is None else group[codes[:, axis]]
        cells = cells * size + own
    return cells


@dataclass(
    frozen=True,
    eq=False,
)
class _Step:
    """The moves for one known table.

    Attributes
    ----------
    table
        The table.
    shared
        What tables before it state; see `_shared`.
    zeros, rng
        The cells that must be zero, and the random choices.
    """

    table: KnownTable
    shared: list[Integers | None]
    zeros: Zeros | None
    rng: np.random.Generator

    def apply(
        self,
        codes: Codes,
        repeats: Floats,
        nodes: list[Integers | None],
    ) -> tuple[Codes, Floats]:
        """Move rows; `nodes` are the finest groups of each axis that tables so far state."""
        cells = _cells(self.table, codes)
        excess = np.bincount(cells, repeats, self.table.counts.size) - self.table.counts.ravel()
        keys = self._keys
        # The rows that leave, from each cell in random order, and the cells that receive.
        rows = self.rng.permutation(np.flatnonzero(excess[cells] > 0))
        rows = rows[np.argsort(cells[rows], kind="stable")]
        leaving = _first(repeats[rows], cells[rows], excess)
        rows, leaving = rows[leaving > 0], leaving[leaving > 0]
        # Both in the order of what they share with the tables before, and equally many there.
        order = np.argsort(keys[cells[rows]], kind="stable")
        rows, leaving = rows[order], leaving[order]
        targets = self.rng.permutation(np.flatnonzero(excess < 0))
        targets = targets[np.argsort(keys[targets], kind="stable")]
        arriving = -excess[targets]
        most = np.minimum(
            np.bincount(keys[cells[rows]], leaving, keys.max() + 1),
            np.bincount(keys[targets], arriving, keys.max() + 1),
        )
        leaving = _first(leaving, keys[cells[rows]], most)
        arriving = _first(arriving, keys[targets], most)
        if not leaving.any():
            return codes, repeats
        # Each move is a piece of a group of rows: between two ends of running sums.
        left, right = np.cumsum(leaving), np.cumsum(arriving)
        ends = np.union1d(left, right)
        ends = ends[ends > 0]
        amounts = np.diff(ends, prepend=0.0)
        sources = rows[np.searchsorted(left, ends)]
        moved = codes[sources]
        self._put(moved, targets[np.searchsorted(right, ends)], codes)
        self._mend(moved, codes, nodes)
        kept = repeats.copy()
        kept[rows] -= leaving
        stays = kept > 0
        return np.concatenate([codes[stays], moved]), np.concatenate([kept[stays], amounts])

    @property
    def _keys(self) -> Integers:
        """A number for each cell: what the tables before state about it."""
        keys = np.zeros(self.table.counts.shape, np.int64)
        digits = np.indices(self.table.counts.shape)
        for place, group in enumerate(self.shared):
            if group is not None:
                keys = keys * (int(group.max()) + 1) + group[digits[place]]
        return np.unique(keys.ravel(), return_inverse=True)[1].ravel()

    def _put(
        self,
        moved: Codes,
        cells: Integers,
        codes: Codes,
    ) -> None:
        """Give rows the categories of their new cells, in place.

        A row that is in the right group of categories keeps its category; others get the category
        of a random row of the group, or any.
        """
        places = np.unravel_index(cells, self.table.counts.shape)
        for axis, group, place in zip(self.table.axes, self.table.groups, places, strict=True):
            if group is None:
                moved[:, axis] = place
                continue
            wrong = np.flatnonzero(group[moved[:, axis]] != place)
            counts = np.bincount(codes[:, axis], minlength=group.size) + 1e-9
            for node in np.unique(place[wrong]).tolist():
                own = wrong[place[wrong] == node]
                inside = np.flatnonzero(group == node)
                shares = counts[inside] / counts[inside].sum()
                moved[own, axis] = self.rng.choice(inside, own.size, p=shares)

    def _mend(
        self,
        moved: Codes,
        codes: Codes,
        nodes: list[Integers | None],
    ) -> None:
        """Give moved rows in cells that must be zero other codes, in place: codes of random rows
        where no table so far states anything else, and random codes of the same group."""
        if self.zeros is None:
            return
        wrong = np.flatnonzero(self.zeros.broken(moved))
        for _ in range(_TRIES):
            if not wrong.size:
                return
            donors = codes[self.rng.integers(0, len(codes), wrong.size)]
            for axis, group in enumerate(nodes):
                if group is None:
                    continue
                if not group.size:
                    moved[wrong, axis] = donors[:, axis]
                    continue
                drawn = self.rng.integers(0, group.size, wrong.size)
                same = group[drawn] == group[moved[wrong, axis]]
                moved[wrong[same], axis] = drawn[same]
            wrong = wrong[self.zeros.broken(moved[wrong])]

    def exchange(
        self,
        codes: Codes,
        repeats: Floats,
    ) -> tuple[Codes, Floats]:
        """Let rows in cells that must be zero exchange their part of the table with other rows.

        Both rows agree in what the tables before state, so no known count changes.
        """
        if self.zeros is None:
            return codes, repeats
        # Only what the tables before do not state wholly.
        parts = zip(self.table.axes, self.shared, self.table.counts.shape, strict=True)
        axes = [axis for axis, group, size in parts if _kinds(group, size) < 1]
        wrong = np.flatnonzero(self.zeros.broken(codes)).tolist()
        if not wrong:
            return codes, repeats
        keys = self._keys[_cells(self.table, codes)]
        repeats = repeats.copy()
        added = []
        for row in wrong:
            others = np.flatnonzero((keys == keys[row]) & (repeats > 0))
            others = self.rng.permutation(others)[: 10 * _TRIES]
            ours = np.repeat(codes[row][None], len(others), axis=0)
            ours[:, axes] = codes[others][:, axes]
            theirs = codes[others]
            theirs[:, axes] = codes[row, axes]
            fits = ~self.zeros.broken(ours) & ~self.zeros.broken(theirs)
            for place in np.flatnonzero(fits).tolist():
                # As many rows as both have; a row that is used up has no repeats.
                amount = min(repeats[row], repeats[others[place]])
                if amount > 0:
                    repeats[[row, others[place]]] -= amount
                    added += [(ours[place], amount), (theirs[place], amount)]
        stays = repeats > 0
        if not added:
            return codes, repeats
        new = np.array([one for one, _ in added], dtype=codes.dtype)
        amounts = np.array([amount for _, amount in added])
        return np.concatenate([codes[stays], new]), np.concatenate([repeats[stays], amounts])


def _first(
    amounts: Floats,
    keys: Integers,
    most: Floats,
) -> Floats:
    """The part of each amount that is among the first `most[key]` of its key.

    Amounts of equal keys are adjacent.
    """
    if not amounts.size:
        return amounts
    through = np.cumsum(amounts)
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    lengths = np.diff([*starts, keys.size])
    before = np.repeat(through[starts] - amounts[starts], lengths)
    ahead: Any = through - amounts - before
    return np.asarray(np.clip(most[keys] - ahead, 0.0, amounts))
