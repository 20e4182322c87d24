"""`AxisBasis`: the integer queries that measure one attribute within a component."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats
from ...private.strategy import Factor

__all__ = ["AxisBasis", "cell_basis", "rounded"]


@dataclass(
    frozen=True,
    eq=False,
)
class AxisBasis:
    """Integer queries R on one attribute of n values, and how a table follows from their answers.

    A table over the attribute is x = u t + A y, where t is its total, and y = R x. So 1'u = 1,
    R u = 0, 1'A = 0 and A R = I - u 1'.

    Attributes
    ----------
    factor
        The integer matrix R, shape (rows, n).
    inverse
        The matrix A, shape (n, rows).
    spread
        The vector u, shape (n,): how a count that is not divided among the codes is spread.
    """

    factor: Factor
    inverse: Floats
    spread: Floats

    @cached_property
    def covariance(self) -> Floats:
        """The covariance A A' of the table if y has independent noise of variance one and t none,
        shape (n, n)."""
        return np.asarray(self.inverse @ self.inverse.T)

    def costs(self, gram: Floats) -> tuple[float, float]:
        """The summed error variances of queries W with W'W = gram: by noise of variance one in
        each number of y, and by noise of variance one in t."""
        of_rows = float((gram * self.covariance).sum())
        of_total = float(self.spread @ gram @ self.spread)
        return of_rows, of_total


@lru_cache
def cell_basis(size: int) -> AxisBasis:
    """The basis for cells: the row (1, -1) for two values, and n I - J for more; u is uniform."""
    if size == 2:
        return AxisBasis(Factor([[1, -1]]), np.array([[0.5], [-0.5]]), np.full(2, 0.5))
    return AxisBasis(
        Factor(size * np.eye(size, dtype=np.int64) - 1),
        (np.eye(size) - 1 / size) / size,
        np.full(size, 1 / size),
    )


def rounded(rows: Floats, grid: int) -> AxisBasis:
    """Round n - 1 real queries on n values to integers of at most `grid` in absolute value.

    The spread and the inverse are computed from the rounded queries, so that rounding causes no
    bias. At the optimum of `best_rows`, the error depends to first order on the lengths of the
    columns alone. So after rounding, entries are changed by one where this makes the columns as
    long as the longest may be.

    Parameters
    ----------
    rows
        The real queries, shape (n - 1, n), linearly independent.
    grid
        The largest absolute value of an entry, >= 4.
    """
    # A column loses at most two entries' worth of room by the changes below.
    scaled = rows * ((grid - 1) / np.abs(rows).max())
    longest = int((scaled**2).sum(axis=0).max())
    columns = [_column(column, longest, grid) for column in scaled.T]
    matrix = np.stack(columns, axis=1)
    size = matrix.shape[1]
    inverse = np.linalg.inv(np.concatenate([np.ones((1, size)), matrix]))
    return AxisBasis(
        Factor(matrix),
        np.ascontiguousarray(inverse[:, 1:]),
        np.ascontiguousarray(inverse[:, 0]),
    )


def _column(
    column: Floats,
    longest: int,
    grid: int,
) -> NDArray[np.int64]:
    """Round a column to integers with a squared length just below `longest`.

    Entries are visited from the largest to the smallest, so the last changes are the finest.
    """
    entries = np.rint(column).astype(np.int64)
    left = longest - int((entries**2).sum())
    for place in np.argsort(-np.abs(entries), kind="stable").tolist():
        size = abs(int(entries[place]))
        sign = 1 if column[place] >= 0 else -1
        if left < 0 and size:
            entries[place] -= sign
            left += 2 * size - 1
        elif left >= 2 * size + 1 and size < grid:
            entries[place] += sign
            left -= 2 * size + 1
    return entries
