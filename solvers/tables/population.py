"""`Population`: rows of whole categories whose marginals come as close as they can to given tables.

An integer least-squares programme. The unknowns are the categories x of n rows; with T_v(x) the
counts of the rows in the cells of view v, t_v the given table scaled to n rows, and w_v its
precision,

    minimise  sum_v w_v |T_v(x) - t_v|^2   over  x in {0, ..., m_1 - 1} x ... x {0, ..., m_d - 1}, n
    times over,

without rows in cells that must be zero (`Tables.zeros`), whether or not a view tells.

Rows are first drawn attribute by attribute, each from the view that shares most with what is drawn
already, and rows that may not be are drawn anew. Then rows are changed one category at a time, each
to the category that lowers the objective most (coordinate descent), until a sweep over all rows
gains next to nothing. A change costs two look-ups for each view that holds the attribute.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..types import Floats, Integers
from .tables import Axes, Tables

__all__ = ["Population", "Rows"]

_MOST_ROWS = 10**8


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Rows and how well they fit.

    Attributes
    ----------
    codes
        The categories, shape (rows, axes).
    gaps
        For each view |T_v - t_v| / n in the L2 norm, shape (views,).
    sweeps
        How often all rows were gone through.
    """

    codes: NDArray[np.int32]
    gaps: Floats
    sweeps: int


@dataclass(frozen=True, kw_only=True)
class Population:
    """Coordinate descent on whole rows; see the module.

    Parameters
    ----------
    sweeps
        The most sweeps over all rows, >= 0.
    gain
        The descent ends when a sweep lowers the objective by less than this share.
    """

    sweeps: int = 40
    gain: float = 0.01

    def __post_init__(self) -> None:
        if self.sweeps < 0 or not 0 <= self.gain < 1:
            raise ValueError("sweeps must be at least 0, and gain at least 0 and below 1")

    def fit(self, tables: Tables, rows: int, *, seed: int) -> Rows:
        """Rows for the tables of some views.

        Parameters
        ----------
        tables
            Consistent, non-negative, of positive total. Axes that no view holds are drawn
            uniformly.
        rows
            How many, n, from 1 to 10**8; in general not the tables' total.
        seed
            The same arguments give the same rows.

        Raises
        ------
        ValueError
            When the tables have no positive total, or n is out of range.
        """
        if not 1 <= rows <= _MOST_ROWS or not tables.total > 0:
            raise ValueError(
                f"rows ({rows}) must be from 1 to {_MOST_ROWS}, and the tables' total positive"
            )
        rng = np.random.default_rng(seed)
        codes = _drawn(tables, rows, rng)
        if tables.zeros is not None:
            tables.zeros.mend(codes, rng)
        state = _State(tables, codes)
        worth = [state.objective]
        while len(worth) <= self.sweeps and (
            len(worth) == 1 or worth[-2] - worth[-1] > self.gain * worth[-2]
        ):
            state.sweep(rng)
            worth.append(state.objective)
        return Rows(codes=codes, gaps=state.gaps, sweeps=len(worth) - 1)


class _State:
    """Rows, the cells they are in, and how far the counts of all cells are from what is wanted."""

    def __init__(self, tables: Tables, codes: NDArray[np.int32]) -> None:
        self._codes = codes
        self._starts = np.append(tables.starts, sum(value.size for value in tables.values))
        self._rows = len(codes)
        scale = self._rows / tables.total
        self._excess = -scale * np.concatenate([np.ravel(value) for value in tables.values])
        precision = 1 / np.array(tables.variances)
        self._weights = precision / precision.max()
        self._cells = (codes.astype(np.int64) @ tables.strides.T + tables.starts).astype(np.int64)
        for column in self._cells.T:
            self._excess += np.bincount(column, minlength=self._excess.size)
        self._holders = [np.flatnonzero(member).astype(np.int64) for member in tables.member.T]
        self._strides = tables.strides
        self._sizes = tables.sizes
        self._zeros = tables.zeros

    @property
    def objective(self) -> float:
        squares = np.add.reduceat(self._excess**2, self._starts[:-1])
        return float(self._weights @ squares)

    @property
    def gaps(self) -> Floats:
        return np.sqrt(np.add.reduceat(self._excess**2, self._starts[:-1])) / self._rows

    def sweep(self, rng: np.random.Generator) -> None:
        """Go once through all rows for each axis, the axes and the rows in a random order."""
        from .population_loops import descend

        for axis in rng.permutation(len(self._sizes)).tolist():
            holders = self._holders[axis]
            if holders.size and self._sizes[axis] > 1:
                descend(
                    self._codes[:, axis],
                    self._cells,
                    self._excess,
                    rng.permutation(self._rows),
                    holders,
                    self._strides[holders, axis],
                    self._weights[holders],
                    self._sizes[axis],
                    *self._barred(axis),
                )

    def _barred(self, axis: int) -> tuple[Integers, NDArray[np.bool_]]:
        """Which categories of an axis a row may not get, given its other axes: a case for each row,
        and for each case the categories, shape (cases, size); both empty where all may be."""
        boxes = (
            [] if self._zeros is None else [box for box in self._zeros.boxes if axis in dict(box)]
        )
        if self._zeros is None or not boxes:
            return np.empty(0, np.int64), np.zeros((0, 0), np.bool_)
        near = [tuple(part for part in box if part[0] != axis) for box in boxes]
        inside = np.stack([self._zeros.inside(self._codes, box) for box in near], axis=1)
        cases, case = np.unique(inside, axis=0, return_inverse=True)
        flags = np.zeros((len(boxes), self._sizes[axis]), np.int64)
        for row, box in enumerate(boxes):
            flags[row, list(dict(box)[axis])] = 1
        return np.ravel(case).astype(np.int64), cases.astype(np.int64) @ flags > 0


def _drawn(tables: Tables, rows: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Rows drawn axis by axis, each given those of the drawn axes that one view holds with it."""
    codes = np.zeros((rows, len(tables.sizes)), np.int32, order="F")
    drawn = np.zeros(len(tables.sizes), np.bool_)
    left = set(range(len(tables.sizes)))
    while left:
        axis, row = _next(tables, drawn, sorted(left))
        if row is None:
            codes[:, axis] = rng.integers(0, tables.sizes[axis], rows)
        else:
            given = tuple(other for other in tables.views[row] if drawn[other])
            codes[:, axis] = _conditional(tables, row, given, axis, codes, rng)
        drawn[axis] = True
        left.remove(axis)
    return codes


def _next(tables: Tables, drawn: NDArray[np.bool_], left: list[int]) -> tuple[int, int | None]:
    """The axis, and the view, of which most is drawn already; no view when none holds an axis that
    is left."""
    shared = tables.member @ drawn.astype(np.int64)
    best: tuple[int, int | None] = left[0], None
    most = -1
    for axis in left:
        for row in np.flatnonzero(tables.member[:, axis]).tolist():
            if shared[row] > most:
                most = int(shared[row])
                best = (axis, row)
    return best


def _conditional(
    tables: Tables,
    row: int,
    given: Axes,
    axis: int,
    codes: NDArray[np.int32],
    rng: np.random.Generator,
) -> Integers:
    """A category for each row, drawn by the view's shares given the other axes; evenly spread, not
    independently."""
    together = tuple(sorted((*given, axis)))
    table = np.moveaxis(np.maximum(tables.project(row, together), 0), together.index(axis), -1)
    size = tables.sizes[axis]
    shares = table.reshape(-1, size) + 1e-9 * max(tables.total, 1.0)
    cumulative = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    group = np.zeros(len(codes), np.int64)
    for other in given:
        group = group * tables.sizes[other] + codes[:, other]
    order = np.lexsort((rng.random(len(codes)), group))
    counts = np.bincount(group, minlength=len(shares))
    place = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    marks = (place + rng.random(len(shares)).repeat(counts)) / counts.repeat(counts)
    picked = np.empty(len(codes), np.int64)
    picked[order] = (cumulative[group[order]] < marks[:, None]).sum(axis=1)
    return np.minimum(picked, size - 1)
