"""Counting with numpy alone: it numbers the cell of every row, one view and one block at a time."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain.domain import Domain, View

__all__ = ["Blocks", "Columns", "Kernel"]

Columns = Mapping[str, NDArray[np.integer[Any]]]
"""The codes of some rows for each attribute name, all in range: arrays of shape (rows,)."""


class Kernel:
    """A counting engine: rows are added, and their counts are added to given arrays. All engines
    compute the same integers.

    Parameters
    ----------
    domain
        The attributes.
    views
        The views to count.
    counts
        Shape (cells of all views,), one table after the other. The counts are added to it, at the
        latest when `flush` is called.
    """

    def __init__(
        self,
        domain: Domain,
        views: Sequence[View],
        counts: NDArray[np.int64],
    ) -> None:
        self._domain = domain
        self._views = views
        self._counts = counts

    def add(
        self,
        columns: Columns,
        rows: int,
    ) -> None:
        """Count some rows: at least one, and at most some ten thousand, which fit in the
        processor's caches."""
        raise NotImplementedError

    def flush(self) -> None:
        """Add the counts that are still held back."""


class Blocks(Kernel):
    """The counting engine for small tables. It numbers the cell of each row and counts the numbers
    with `numpy.bincount`; nothing has to be loaded."""

    def add(
        self,
        columns: Columns,
        rows: int,
    ) -> None:
        """Count some rows: at least one, and at most some ten thousand."""
        block = _Block(columns, rows)
        stop = 0
        for view in self._views:
            cells = block.cells(view, self._domain.shape(view))
            start, stop = stop, stop + self._domain.cells(view)
            counts = self._counts[start:stop]
            # `bincount` would go over the whole table, which may be larger than the block.
            if counts.size > cells.size:
                np.add.at(counts, cells.astype(np.intp), 1)
            else:
                counts += np.bincount(cells, minlength=counts.size)


class _Block:
    """A block of rows, as columns of codes. Each column is converted at most once to each integer
    type that cell numbers need."""

    def __init__(
        self,
        columns: Columns,
        rows: int,
    ) -> None:
        self._columns = columns
        self._rows = rows
        self._converted: dict[tuple[str, np.dtype[Any]], NDArray[Any]] = {}

    def cells(
        self,
        view: View,
        shape: tuple[int, ...],
    ) -> NDArray[Any]:
        """The cell number of each row, by Horner's rule: shape (rows,), in the smallest unsigned
        type that holds all of them."""
        dtype = np.min_scalar_type(math.prod(shape) - 1)
        cells: NDArray[Any] | None = None
        for name, size in zip(view, shape, strict=True):
            # An attribute of one category does not change the cell.
            if size == 1:
                continue
            column = self._column(name, dtype)
            if cells is None:
                cells = column.copy()
            else:
                np.multiply(cells, size, out=cells)
                np.add(cells, column, out=cells)
        return np.zeros(self._rows, dtype) if cells is None else cells

    def _column(
        self,
        name: str,
        dtype: np.dtype[Any],
    ) -> NDArray[Any]:
        key = name, dtype
        if key not in self._converted:
            self._converted[key] = np.ascontiguousarray(self._columns[name], dtype)
        return self._converted[key]
