"""Coordinate descent over rows: the tables counted from the rows approach given tables."""

import logging
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..known.rows import agree_with, agreeing_rows
from ..types import Floats, Integers
from .linked_axes import linked_axes, linked_lines, put_back, with_few
from .tables import Axes, Tables

if TYPE_CHECKING:
    from .row_loops import Axis

__all__ = ["RowDescent", "kept_exactly"]

log = logging.getLogger("margin")

_PIECES = 256
"""Number of pieces that equal rows are divided into. Those of a piece are moved together.

With 16, a sweep leaves ten times as much of the objective, as rows follow each other too far.
"""

_LEAST_COMBINATIONS = 50
"""Smallest number of combinations of linked axes that are tried for a row in a sweep."""

_TRIED = 20_000_000
"""Number of rows times combinations that are tried in a sweep."""


class RowDescent:
    """The state of the descent: the rows, and counts minus targets of each view.

    It minimises sum_v |T_v - t_v|^2 / variance_v. T_v is the table of view v counted from the rows,
    and t_v the given table scaled to the number of rows.

    Parameters
    ----------
    tables
        Consistent, of positive total.
    codes
        The categories to begin with, shape (groups, axes).
    repeats
        The number of equal rows that each group stands for, whole numbers of shape (groups,). One
        for each if None. The rows of a group stay equal.

    Attributes
    ----------
    codes, repeats
        The groups at present. Their order changes: groups of equal rows follow each other.
    """

    def __init__(
        self,
        tables: Tables,
        codes: NDArray[np.int32],
        repeats: Floats | None = None,
    ) -> None:
        self._tables = tables
        self.codes = np.ascontiguousarray(codes)
        self.repeats = np.ones(len(codes)) if repeats is None else repeats
        self._rows = float(self.repeats.sum())
        scale = self._rows / tables.total
        self._targets = [value * scale for value in tables.values]
        self._sort(np.random.default_rng(0))
        # Equal rows are counted at once.
        heads = np.flatnonzero(self._first)
        amounts = np.add.reduceat(self.repeats, heads)
        cells = self.codes[heads].astype(np.int64)
        self._excess = []
        for strides, target in zip(tables.strides, self._targets, strict=True):
            counts = np.bincount(cells @ strides, amounts, target.size)
            self._excess.append(counts.reshape(target.shape) - target)
        precision = 1 / np.array(tables.variances)
        self._weights = precision / precision.max()
        self._holders = [np.flatnonzero(member) for member in tables.member.T]
        self._linked = linked_axes(tables)

    def _sort(self, rng: np.random.Generator) -> None:
        """Put the rows into a random order in which large groups come first, and the equal rows of
        each piece follow each other."""
        # They have the same random key. Others seldom have, which does no harm.
        keys = rng.integers(0, 1 << 64, _PIECES, np.uint64)
        keys = keys[rng.integers(0, _PIECES, len(self.codes))]
        for column, size in zip(self.codes.T, self._tables.sizes, strict=True):
            keys += rng.integers(0, 1 << 64, size, np.uint64)[column]
        order = np.argsort(keys)
        if self.repeats.min() < self.repeats.max():
            order = order[np.argsort(-self.repeats[order], kind="stable")]
        self.codes = self.codes[order]
        self.repeats = self.repeats[order]
        self._mark_runs()

    def _mark_runs(self) -> None:
        """Mark the rows that differ from the row before; see `row_loops.State`."""
        self._first = np.ones(len(self.codes), np.bool_)
        self._first[1:] = (self.codes[1:] != self.codes[:-1]).any(axis=1)
        self._first[1:] |= self.repeats[1:] != self.repeats[:-1]

    @property
    def _squares(self) -> Floats:
        """The squared distance |T_v - t_v|^2 of each view from its target, shape (views,)."""
        return np.array([np.vdot(excess, excess) for excess in self._excess])

    @property
    def objective(self) -> float:
        """The objective sum_v w_v |T_v - t_v|^2; the largest weight w_v is scaled to one."""
        return float(self._weights @ self._squares)

    @property
    def gaps(self) -> Floats:
        """The distance |T_v - t_v| / n of each view, shape (views,); see `Rows.gaps`."""
        return np.sqrt(self._squares) / self._rows

    @property
    def values(self) -> list[Floats]:
        """The table of each view, counted from the rows: whole numbers."""
        pairs = zip(self._excess, self._targets, strict=True)
        return [np.rint(excess + target) for excess, target in pairs]

    def run(
        self,
        sweeps: int,
        gain: float,
        rng: np.random.Generator,
    ) -> int:
        """Sweep over all rows, and return the number of sweeps.

        The descent ends after `sweeps` sweeps, or if one lowers the objective by less than the
        share `gain`.
        """
        objective = self.objective
        for done in range(sweeps):
            self.sweep(rng, done + 1)
            before = objective
            objective = self.objective
            if not before - objective > gain * before:
                return done + 1
        return sweeps

    def sweep(self, rng: np.random.Generator, number: int = 1) -> None:
        """Go once through all rows for each axis: the axes in a random order, large groups first,
        and groups of the same size in a random order. The log gives the number of the sweep."""
        from .row_loops import descend

        self._sort(rng)
        for linked in self._linked:
            self._move_together(linked, rng)
        axes = rng.permutation(len(self._tables.sizes)).tolist()
        for place, axis in enumerate(axes):
            log.info("making rows, sweep %d: attribute %d of %d", number, place + 1, len(axes))
            if self._tables.sizes[axis] == 1:
                continue
            if not self._holders[axis].size:
                self._wander(axis, rng)
                continue
            one = self._lines(axis)
            state = (self.codes, self.repeats, self._first)
            # numba recognises the types of plain tuples much faster than those of named ones.
            descend(state, tuple(one))  # type: ignore[arg-type]
            self._put_back(axis, one.lines)

    def _lines(self, axis: int) -> "Axis":
        """What `descend` needs to know about an axis."""
        from .row_loops import Axis

        size = self._tables.sizes[axis]
        lines = []
        others: list[int] = []
        steps: list[int] = []
        ends = []
        for holder in self._holders[axis]:
            view = self._tables.views[holder]
            last = np.moveaxis(self._excess[holder], view.index(axis), -1)
            lines.append(last.reshape(-1, size))
            others += [other for other in view if other != axis]
            steps += [math.prod(last.shape[place:-1]) for place in range(1, last.ndim)]
            ends.append(len(others))
        case, barred = self._barred(axis)
        return Axis(
            column=axis,
            # In the order of memory that `descend` is compiled for.
            lines=np.ascontiguousarray(np.concatenate(lines)),
            weights=self._weights[self._holders[axis]],
            starts=np.cumsum([0, *[len(part) for part in lines[:-1]]]),
            ends=np.array(ends),
            others=np.array(others, np.int64),
            steps=np.array(steps, np.int64),
            case=case,
            barred=barred,
        )

    def _move_together(
        self,
        linked: Axes,
        rng: np.random.Generator,
    ) -> None:
        """Give rows the categories of other rows on axes that cells which must be zero link.

        One axis alone can often not change: a child that becomes an adult gets another occupation,
        too. A combination that some row has is allowed for every row, since no cell that must be
        zero depends on further axes.
        """
        from .row_loops import descend_together

        every = np.unique(self.codes[:, linked], axis=0)
        most = max(_LEAST_COMBINATIONS, _TRIED // len(self.codes))
        lines = linked_lines(self._tables, linked, every, self._excess, self._weights)
        if len(every) > most:
            lines = with_few(lines, most, rng)
        state = (self.codes, self.repeats, self._first)
        descend_together(state, tuple(lines))  # type: ignore[arg-type]
        put_back(self._tables, linked, lines.excess, self._excess)

    def _put_back(
        self,
        axis: int,
        lines: Floats,
    ) -> None:
        """Keep what `descend` changed in the lines of an axis."""
        start = 0
        for holder in self._holders[axis]:
            place = self._tables.views[holder].index(axis)
            last = np.moveaxis(self._excess[holder], place, -1)
            end = start + last.size // lines.shape[1]
            last[...] = lines[start:end].reshape(last.shape)
            start = end

    def _wander(
        self,
        axis: int,
        rng: np.random.Generator,
    ) -> None:
        """Change an axis that no view holds at random, because it may bar categories of others."""
        case, barred = self._barred(axis)
        if not barred.size:
            return
        proposed = rng.integers(0, self._tables.sizes[axis], len(self.codes))
        allowed = ~barred[case, proposed]
        self.codes[allowed, axis] = proposed[allowed]
        self._mark_runs()

    def _barred(self, axis: int) -> tuple[Integers, NDArray[np.bool_]]:
        """Find the categories of an axis that would put a row into a cell that must be zero.

        Returns
        -------
        case, barred
            See `row_loops.Axis`.
        """
        zeros = self._tables.zeros
        boxes = [] if zeros is None else [box for box in zeros.boxes if axis in dict(box)]
        if zeros is None or not boxes:
            return np.empty(0, np.int64), np.zeros((0, 0), np.bool_)
        # A case is a set of boxes that contain the row on all other axes.
        near = [tuple(part for part in box if part[0] != axis) for box in boxes]
        inside = np.stack([zeros.inside(self.codes, box) for box in near], axis=1)
        cases, case = np.unique(
            inside,
            axis=0,
            return_inverse=True,
        )
        flags = np.zeros((len(boxes), self._tables.sizes[axis]), np.int64)
        for row, box in enumerate(boxes):
            flags[row, list(dict(box)[axis])] = 1
        return np.ravel(case).astype(np.int64), cases.astype(np.int64) @ flags > 0


def kept_exactly(
    tables: Tables,
    descent: RowDescent,
    rng: np.random.Generator,
) -> RowDescent:
    """Move rows so that they agree exactly with what is known.

    Raises
    ------
    ValueError
        If this fails, as it may for known tables that are not decomposable.
    """
    assert tables.known is not None
    codes, repeats = agreeing_rows(tables.known, descent.codes, descent.repeats, rng)
    if not agree_with(tables.known, codes, repeats):
        raise ValueError(
            "rows must agree exactly with all known tables, but none were found; this is sure to "
            "work only for known tables that overlap along a tree, so leave one of them out"
        )
    return RowDescent(tables, codes, repeats)
