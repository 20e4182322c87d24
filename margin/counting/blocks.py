"""Counting with numpy alone: the cell of every row, view by view, a block of rows at a time."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain.domain import Domain, View

__all__ = ["Blocks", "Columns", "Kernel"]

Columns = Mapping[str, NDArray[np.integer[Any]]]
"""The codes of some rows, each within its attribute's range: arrays of shape (rows,)."""


class Kernel:
    """A way to count views: rows go in, and at the end the counts come out. Every kernel gives the
    same integers.

    Parameters
    ----------
    domain
        The attributes.
    views
        What is counted.
    counts
        One array (cells,) a view; the counts are added to it, at the latest by `flush`.
    """

    def __init__(
        self, domain: Domain, views: Sequence[View], counts: Sequence[NDArray[np.int64]]
    ) -> None:
        self._domain = domain
        self._views = views
        self._counts = counts

    def add(self, columns: Columns, rows: int) -> None:
        """Count some rows; at least one, and no more than a few ten thousand, so that they stay in
        the caches."""
        raise NotImplementedError

    def flush(self) -> None:
        """Add to the counts what is still held back."""


class Blocks(Kernel):
    """Mixed-radix cell numbers and `numpy.bincount`: needs nothing, and is quickest for a small
    table."""

    def add(self, columns: Columns, rows: int) -> None:
        """See `Kernel.add`."""
        block = _Block(columns, rows)
        for view, counts in zip(self._views, self._counts, strict=True):
            cells = block.cells(view, self._domain.shape(view))
            if counts.size > cells.size:  # a table larger than the block is not swept for it
                np.add.at(counts, cells.astype(np.intp), 1)
            else:
                counts += np.bincount(cells, minlength=counts.size)


class _Block:
    """Some rows, with each column converted once to each type that an index needs."""

    def __init__(self, columns: Columns, rows: int) -> None:
        self._columns = columns
        self._rows = rows
        self._converted: dict[tuple[str, np.dtype[Any]], NDArray[Any]] = {}

    def cells(self, view: View, shape: tuple[int, ...]) -> NDArray[Any]:
        """The cell of each row, shape (rows,), in the smallest unsigned type that holds them all;
        Horner's rule."""
        dtype = np.min_scalar_type(math.prod(shape) - 1)
        cells: NDArray[Any] | None = None
        for name, size in zip(view, shape, strict=True):
            if size == 1:
                continue
            column = self._column(name, dtype)
            if cells is None:
                cells = column.copy()
            else:
                np.multiply(cells, size, out=cells)
                np.add(cells, column, out=cells)
        return np.zeros(self._rows, dtype) if cells is None else cells

    def _column(self, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        key = name, dtype
        if key not in self._converted:
            self._converted[key] = np.ascontiguousarray(self._columns[name], dtype)
        return self._converted[key]
