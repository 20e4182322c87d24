"""Coordinate descent over rows: the tables counted from the rows approach given tables."""

import numpy as np
from numpy.typing import NDArray

from ..known.rows import agree_with, agreeing_rows
from ..types import Floats, Integers
from .tables import Tables

__all__ = ["RowDescent", "kept_exactly"]


class RowDescent:
    """The state of the descent: the rows, their cells in each view, and counts minus targets.

    It minimises sum_v |T_v - t_v|^2 / variance_v. T_v is the table of view v counted from the rows,
    and t_v the given table scaled to the number of rows.

    Parameters
    ----------
    tables
        Consistent, of positive total.
    codes
        The categories to begin with, shape (groups, axes); the descent changes them in place.
    repeats
        The number of equal rows that each group stands for, whole numbers of shape (groups,). One
        for each if None. The rows of a group stay equal.
    """

    def __init__(
        self,
        tables: Tables,
        codes: NDArray[np.int32],
        repeats: Floats | None = None,
    ) -> None:
        self.codes = codes
        self._tables = tables
        self.repeats = np.ones(len(codes)) if repeats is None else repeats
        self._rows = float(self.repeats.sum())
        self._starts = np.append(tables.starts, sum(value.size for value in tables.values))
        self._cells = (codes.astype(np.int64) @ tables.strides.T + tables.starts).astype(np.int64)
        # The excess of each cell: its count less the given table, scaled to the number of rows.
        self._target = np.concatenate([np.ravel(value) for value in tables.values])
        self._target *= self._rows / tables.total
        self._excess = -self._target
        for column in self._cells.T:
            self._excess += np.bincount(column, self.repeats, self._excess.size)
        precision = 1 / np.array(tables.variances)
        self._weights = precision / precision.max()
        self._holders = [np.flatnonzero(member).astype(np.int64) for member in tables.member.T]

    @property
    def _squares(self) -> Floats:
        """The squared distance |T_v - t_v|^2 of each view from its target, shape (views,)."""
        return np.add.reduceat(self._excess**2, self._starts[:-1])

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
        counts = np.rint(self._excess + self._target)
        parts = np.split(counts, self._starts[1:-1])
        shapes = [value.shape for value in self._tables.values]
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

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
            self.sweep(rng)
            before = objective
            objective = self.objective
            if not before - objective > gain * before:
                return done + 1
        return sweeps

    def sweep(self, rng: np.random.Generator) -> None:
        """Go once through all rows for each axis: the axes in a random order, large groups first,
        and groups of the same size in a random order."""
        from .row_loops import Axis, State, descend

        sizes = self._tables.sizes
        state = tuple(State(self._cells, self._excess, self.repeats))
        for axis in rng.permutation(len(sizes)).tolist():
            holders = self._holders[axis]
            if sizes[axis] == 1:
                continue
            case, barred = self._barred(axis)
            if not holders.size:
                self._wander(axis, case, barred, rng)
                continue
            order = rng.permutation(len(self.codes))
            order = order[np.argsort(-self.repeats[order], kind="stable")]
            one = Axis(
                codes=self.codes[:, axis],
                size=sizes[axis],
                holders=holders,
                strides=self._tables.strides[holders, axis],
                weights=self._weights[holders],
                case=case,
                barred=barred,
            )
            # numba recognises the types of plain tuples much faster than those of named ones.
            descend(state, tuple(one), order)  # type: ignore[arg-type]

    def _wander(
        self,
        axis: int,
        case: Integers,
        barred: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> None:
        """Change an axis that no view holds at random, because it may bar categories of others."""
        if not barred.size:
            return
        proposed = rng.integers(0, self._tables.sizes[axis], len(self.codes))
        allowed = ~barred[case, proposed]
        self.codes[allowed, axis] = proposed[allowed]

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
