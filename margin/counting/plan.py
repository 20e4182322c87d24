"""Exact counts of many views in one pass over the rows, in memory, with numpy only."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain import Domain, View
from ..errors import DataError, DomainError

__all__ = ["MAX_CELLS", "CountPlan", "count"]

MAX_CELLS = 2**27
"""The most cells that the table of one view may have."""

_BLOCK = 65_536


class CountPlan:
    """The tables of some views of a domain: made empty, filled batch by batch, added up across workers.

    Parameters
    ----------
    domain
        The attributes and their sizes.
    views
        The views to count.

    Raises
    ------
    DomainError
        When a view is not one of the domain, or has more than `MAX_CELLS` cells. The rows have no say in it.

    Examples
    --------
    >>> plan = CountPlan(Domain({"sex": 2, "smoker": 2}), [("smoker", "sex")])
    >>> plan.accumulate({"sex": np.array([0, 1, 1]), "smoker": np.array([1, 0, 0])})
    >>> plan.tables[0]
    array([[0, 2],
           [1, 0]])
    """

    def __init__(self, domain: Domain, views: Iterable[Iterable[str]]) -> None:
        self.domain = domain
        self.views: tuple[View, ...] = tuple(map(domain.view, views))
        for view in self.views:
            if (cells := domain.cells(view)) > MAX_CELLS:
                raise DomainError(f"view {', '.join(view)} has {cells} cells; at most {MAX_CELLS} can be counted")
        used = {name for view in self.views for name in view}
        self._used = [name for name in domain if name in used]
        self._counts = [np.zeros(domain.cells(view), np.int64) for view in self.views]

    @property
    def tables(self) -> tuple[NDArray[np.int64], ...]:
        """The counts so far, one table a view, one axis an attribute in the view's order; not to be written to."""
        tables = []
        for view, counts in zip(self.views, self._counts, strict=True):
            table = counts.reshape(self.domain.shape(view))
            table.flags.writeable = False
            tables.append(table)
        return tuple(tables)

    def accumulate(self, batch: Mapping[str, NDArray[np.integer[Any]]]) -> None:
        """Add the rows of a batch.

        Parameters
        ----------
        batch
            The codes of the attributes that the views name, and perhaps of others: integers, shape (rows,).

        Raises
        ------
        DataError
            When a column is missing or not of that form, or a code is not one of its attribute's. Nothing is added.
        """
        columns = {name: self._checked(name, batch) for name in self._used}
        rows = {len(column) for column in columns.values()}
        if len(rows) > 1:
            raise DataError("the columns of a batch must be equally long")
        for start in range(0, max(rows, default=0), _BLOCK):
            block = _Block({name: column[start : start + _BLOCK] for name, column in columns.items()})
            for view, counts in zip(self.views, self._counts, strict=True):
                _add(block.cells(view, self.domain.shape(view)), counts)

    def merge(self, other: "CountPlan") -> None:
        """Add the counts of another plan for the same views of the same domain.

        Raises
        ------
        DomainError
            When it is a plan for something else.
        """
        if (self.domain, self.views) != (other.domain, other.views):
            raise DomainError("only plans for the same views of the same domain can be merged")
        for mine, theirs in zip(self._counts, other._counts, strict=True):
            mine += theirs

    def _checked(self, name: str, batch: Mapping[str, NDArray[np.integer[Any]]]) -> NDArray[np.integer[Any]]:
        if name not in batch:
            raise DataError(f"a batch lacks attribute {name!r}")
        column = np.asarray(batch[name])
        if column.ndim != 1 or column.dtype.kind not in "iu":
            raise DataError(f"the codes of attribute {name!r} must be integers in one dimension")
        if column.size and (column.max() >= self.domain[name].size or column.min() < 0):
            raise DataError(f"a code of attribute {name!r} is not one of 0 ... {self.domain[name].size - 1}")
        return column


class _Block:
    """Some rows, with each column converted once to each type that an index needs."""

    def __init__(self, columns: Mapping[str, NDArray[np.integer[Any]]]) -> None:
        self._columns = columns
        self._rows = len(next(iter(columns.values())))
        self._converted: dict[tuple[str, np.dtype[Any]], NDArray[Any]] = {}

    def cells(self, view: View, shape: tuple[int, ...]) -> NDArray[Any]:
        """The cell of each row, shape (rows,), in the smallest unsigned type that holds them all; Horner's rule."""
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


def _add(cells: NDArray[Any], counts: NDArray[np.int64]) -> None:
    """Add one to the count of each cell that a row is in; a table larger than the block is not swept for it."""
    if counts.size > cells.size:
        np.add.at(counts, cells.astype(np.intp), 1)
    else:
        counts += np.bincount(cells, minlength=counts.size)


def count(
    domain: Domain, views: Iterable[Iterable[str]], batches: Iterable[Mapping[str, NDArray[Any]]]
) -> tuple[NDArray[np.int64], ...]:
    """The tables of some views over all batches of a table, as a `CountPlan` of its own gives them."""
    plan = CountPlan(domain, views)
    for batch in batches:
        plan.accumulate(batch)
    return plan.tables
