"""Generated records whose marginals are as close as possible to given tables.

This is an integer least-squares problem. The unknowns x are the categories of n rows. Let T_v(x) be
the table of view v counted from these rows, t_v the given table scaled to n rows, and w_v its
precision:

    minimise  sum_v w_v |T_v(x) - t_v|^2
    over      x in ({0, ..., m_1 - 1} x ... x {0, ..., m_d - 1})^n

No row may lie in a cell that must be zero (`Tables.zeros`), even if no view contains such a cell.

First, all rows are drawn at random, attribute by attribute. Each attribute is drawn from the view
that has the most attributes in common with those already drawn. Rows in cells that must be zero are
changed. Then coordinate descent changes one category of one row at a time, to the category that
lowers the objective most. It ends after a sweep over all rows that gains almost nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..limits import MOST_ROWS
from ..types import Floats, Integers
from .tables import Axes, Tables

__all__ = ["Population", "Rows"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Rows:
    """The result of `Population.fit`: generated rows, and their distance from each table.

    Attributes
    ----------
    codes
        The categories, shape (rows, axes).
    gaps
        For each view |T_v - t_v| / n in the L2 norm, shape (views,).
    sweeps
        The number of sweeps over all rows.
    """

    codes: NDArray[np.int32]
    gaps: Floats
    sweeps: int


@dataclass(
    frozen=True,
    kw_only=True,
)
class Population:
    """Generates rows by coordinate descent; the text of the module states the problem.

    Parameters
    ----------
    sweeps
        The largest number of sweeps over all rows, >= 0.
    gain
        The descent ends if a sweep lowers the objective by less than this share, >= 0 and < 1.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from margin.solvers import Tables
    >>> table = np.array([[3.0, 1.0], [0.0, 4.0]])
    >>> views = Tables(sizes=(2, 2), views=((0, 1),), values=(table,), variances=(1.0,))
    >>> rows = Population().fit(views, 8, seed=0)
    >>> np.bincount(2 * rows.codes[:, 0] + rows.codes[:, 1], minlength=4).tolist()
    [3, 1, 0, 4]
    """

    sweeps: int = 40
    gain: float = 0.01

    def __post_init__(self) -> None:
        if self.sweeps < 0:
            raise ValueError(f"sweeps ({self.sweeps}) must be >= 0; pass a larger number")
        if not 0 <= self.gain < 1:
            raise ValueError(f"gain ({self.gain}) must be >= 0 and < 1; pass such a number")

    def fit(
        self,
        tables: Tables,
        rows: int,
        *,
        seed: int,
    ) -> Rows:
        """Generate rows whose marginals are as close as possible to the tables of some views.

        Parameters
        ----------
        tables
            Consistent, non-negative, of positive total. Axes that no view holds are drawn
            uniformly.
        rows
            The number of rows, from 1 to 10**8. It may differ from the total of the tables.
        seed
            The same arguments give the same rows.

        Returns
        -------
        Rows
            The categories of the rows, and how far their marginals are from the tables.

        Raises
        ------
        ValueError
            If the tables have no positive total, or the number of rows is out of range.
        """
        if not 1 <= rows <= MOST_ROWS:
            raise ValueError(f"rows ({rows}) must be from 1 to {MOST_ROWS}; pass such a number")
        if not tables.total > 0:
            raise ValueError(
                "the total of the tables must be positive, but it is not; give tables with a "
                "larger sum"
            )
        rng = np.random.default_rng(seed)
        codes = _drawn(tables, rows, rng)
        if tables.zeros is not None:
            tables.zeros.mend(codes, rng)
        state = _State(tables, codes)
        sweeps = 0
        objective = state.objective
        while sweeps < self.sweeps:
            state.sweep(rng)
            sweeps += 1
            before = objective
            objective = state.objective
            if not before - objective > self.gain * before:
                break
        return Rows(
            codes=codes,
            gaps=state.gaps,
            sweeps=sweeps,
        )


class _State:
    """The state of the descent: the rows, their cells in each view, and counts minus targets."""

    def __init__(
        self,
        tables: Tables,
        codes: NDArray[np.int32],
    ) -> None:
        self._codes = codes
        self._rows = len(codes)
        self._sizes = tables.sizes
        self._strides = tables.strides
        self._zeros = tables.zeros
        self._starts = np.append(tables.starts, sum(value.size for value in tables.values))
        # The excess of each cell: its count less the given table, scaled to the number of rows.
        scale = self._rows / tables.total
        self._excess = -scale * np.concatenate([np.ravel(value) for value in tables.values])
        self._cells = (codes.astype(np.int64) @ tables.strides.T + tables.starts).astype(np.int64)
        for column in self._cells.T:
            self._excess += np.bincount(column, minlength=self._excess.size)
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

    def sweep(self, rng: np.random.Generator) -> None:
        """Go once through all rows for each axis, the axes and the rows in a random order."""
        from .population_loops import Axis, State, descend

        state = tuple(State(self._cells, self._excess))
        for axis in rng.permutation(len(self._sizes)).tolist():
            holders = self._holders[axis]
            if not holders.size or self._sizes[axis] == 1:
                continue
            order = rng.permutation(self._rows)
            case, barred = self._barred(axis)
            one = Axis(
                codes=self._codes[:, axis],
                size=self._sizes[axis],
                holders=holders,
                strides=self._strides[holders, axis],
                weights=self._weights[holders],
                case=case,
                barred=barred,
            )
            # numba recognises the types of plain tuples much faster than those of named ones.
            descend(state, tuple(one), order)  # type: ignore[arg-type]

    def _barred(self, axis: int) -> tuple[Integers, NDArray[np.bool_]]:
        """Find the categories of an axis that would put a row into a cell that must be zero.

        Returns
        -------
        case, barred
            See `population_loops.Axis`.
        """
        boxes = []
        if self._zeros is not None:
            boxes = [box for box in self._zeros.boxes if axis in dict(box)]
        if self._zeros is None or not boxes:
            return np.empty(0, np.int64), np.zeros((0, 0), np.bool_)
        # A case is a set of boxes that contain the row on all other axes.
        near = [tuple(part for part in box if part[0] != axis) for box in boxes]
        inside = np.stack([self._zeros.inside(self._codes, box) for box in near], axis=1)
        cases, case = np.unique(
            inside,
            axis=0,
            return_inverse=True,
        )
        flags = np.zeros((len(boxes), self._sizes[axis]), np.int64)
        for row, box in enumerate(boxes):
            flags[row, list(dict(box)[axis])] = 1
        return np.ravel(case).astype(np.int64), cases.astype(np.int64) @ flags > 0


def _drawn(
    tables: Tables,
    rows: int,
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Draw all rows, axis by axis, each axis given the already drawn axes of one view."""
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


def _next(
    tables: Tables,
    drawn: NDArray[np.bool_],
    left: list[int],
) -> tuple[int, int | None]:
    """Choose the axis to draw next, and the view to draw it from.

    The view is the one with the most axes already drawn. It is None if no view holds any of the
    axes that are left.
    """
    shared = tables.member @ drawn.astype(np.int64)
    best: tuple[int, int | None] = (left[0], None)
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
    """Draw a category of one axis for each row, by the table of a view given its drawn axes.

    A group is the rows with equal categories on the drawn axes. In each group the draws are not
    independent (systematic sampling): the counts of the categories are as near as possible to their
    expected values.
    """
    together = tuple(sorted((*given, axis)))
    positive = np.maximum(tables.project(row, together), 0)
    table = np.moveaxis(positive, together.index(axis), -1)
    size = tables.sizes[axis]
    shares = table.reshape(-1, size) + 1e-9 * max(tables.total, 1.0)
    cumulative = np.cumsum(
        shares
        / shares.sum(
            axis=1,
            keepdims=True,
        ),
        axis=1,
    )
    # A group is the rows with equal categories of the other axes.
    group = np.zeros(len(codes), np.int64)
    for other in given:
        group = group * tables.sizes[other] + codes[:, other]
    # Evenly spaced marks in each group, in a random order, with a random shift.
    order = np.lexsort((rng.random(len(codes)), group))
    counts = np.bincount(group, minlength=len(shares))
    place = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    shift = rng.random(len(shares))
    marks = (place + shift.repeat(counts)) / counts.repeat(counts)
    picked = np.empty(len(codes), np.int64)
    picked[order] = (cumulative[group[order]] < marks[:, None]).sum(axis=1)
    return np.minimum(picked, size - 1)
