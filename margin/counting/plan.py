"""Exact counts of many views in one pass over the rows. All engines compute the same integers."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain.countable import countable
from ..domain.domain import Domain
from ..errors import DataError, DomainError
from .blocks import Blocks, Kernel

__all__ = ["CountPlan"]

_BLOCK = 1 << 17
"""Number of rows that are counted together."""

_WORTH_COMPILING = 1 << 25
"""Rows times views from which on compiled loops are loaded: numpy counts less in about 0.1 s, and
loading takes longer."""

_WORTH_USING = 1 << 21
"""Rows times views from which on compiled loops are used if they are loaded already."""


class CountPlan:
    """A counter of the rows in each cell of some views. It starts with empty tables; batches of
    rows are added to it, and the counters of several workers can be merged.

    numpy counts small tables. Compiled loops take over when there is more work.

    Parameters
    ----------
    domain
        The attributes and their sizes.
    views
        The views to count.
    threads
        The number of threads that count; one for each processor when not given. Give 1 if several
        plans count at the same time.

    Raises
    ------
    DomainError
        When a view is not one of the domain, or has more than `countable.MAX_CELLS` cells. This
        depends on the declaration alone, never on the rows.

    Examples
    --------
    >>> plan = CountPlan(Domain({"sex": 2, "smoker": 2}), [("smoker", "sex")])
    >>> plan.accumulate({"sex": np.array([0, 1, 1]), "smoker": np.array([1, 0, 0])})
    >>> plan.tables[0]
    array([[0, 2],
           [1, 0]])
    """

    def __init__(
        self,
        domain: Domain,
        views: Iterable[Iterable[str]],
        *,
        threads: int | None = None,
    ) -> None:
        self.domain = domain
        self.views = countable(domain, views)
        used = {name for view in self.views for name in view}
        self._used = [name for name in domain if name in used]
        # One array for all tables: a kernel adds to it without an array of its own.
        self._counts = np.zeros(sum(map(domain.cells, self.views)), np.int64)
        self._threads = threads
        self._work = 0
        self._kernel: Kernel = Blocks(domain, self.views, self._counts)

    @property
    def tables(self) -> tuple[NDArray[np.int64], ...]:
        """The counts so far: one read-only int64 table for each view, with one axis for each
        attribute in the view's order."""
        self._kernel.flush()
        tables = []
        stop = 0
        for view in self.views:
            start, stop = stop, stop + self.domain.cells(view)
            table = self._counts[start:stop].reshape(self.domain.shape(view))
            table.flags.writeable = False
            tables.append(table)
        return tuple(tables)

    def accumulate(self, batch: Mapping[str, NDArray[np.integer[Any]]]) -> None:
        """Add the rows of a batch.

        Parameters
        ----------
        batch
            The codes of each attribute that the views name: integers of shape (rows,). Columns of
            other attributes are ignored.

        Raises
        ------
        DataError
            When a column is missing, when it has another shape or type, or when a code is outside
            its attribute's range. Then nothing is added.
        """
        columns = {name: self._checked(name, batch) for name in self._used}
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise DataError(
                "the columns of a batch must have the same length, but they differ; give one code "
                "for each row and attribute"
            )
        rows = max(lengths, default=0)
        self._expect(rows * len(self.views))
        for start in range(0, rows, _BLOCK):
            stop = min(start + _BLOCK, rows)
            block = {name: column[start:stop] for name, column in columns.items()}
            self._kernel.add(block, stop - start)

    def merge(self, other: "CountPlan") -> None:
        """Add the counts of another plan for the same views of the same domain.

        Raises
        ------
        DomainError
            When the other plan has another domain or other views.
        """
        if (self.domain, self.views) != (other.domain, other.views):
            raise DomainError(
                "only plans for the same views of the same domain can be merged, but the other "
                "plan has another domain or other views; make both plans with the same ones"
            )
        other._kernel.flush()
        self._counts += other._counts

    def __getstate__(self) -> dict[str, Any]:
        """The state for another process: the counts, without the engine and its threads."""
        self._kernel.flush()
        return {name: value for name, value in vars(self).items() if name != "_kernel"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._counts = self._counts.copy()
        self._kernel = Blocks(self.domain, self.views, self._counts)

    def _expect(self, work: int) -> None:
        """Switch to compiled loops if there is enough work; `work` is rows times views to come."""
        self._work += work
        is_loaded = f"{__package__}.compiled" in sys.modules
        enough = _WORTH_USING if is_loaded else _WORTH_COMPILING
        if self._work <= enough or not isinstance(self._kernel, Blocks):
            return
        from .compiled import Compiled, processors

        threads = processors() if self._threads is None else self._threads
        self._kernel = Compiled(self.domain, self.views, self._counts, threads=threads)

    def _checked(
        self,
        name: str,
        batch: Mapping[str, NDArray[np.integer[Any]]],
    ) -> NDArray[np.integer[Any]]:
        """Check the codes of an attribute in a batch and return them; DataError if one is out of
        range."""
        if name not in batch:
            raise DataError(
                "a batch must have a column for each attribute of a view, but it lacks attribute "
                f"{name!r}; add a column with its codes"
            )
        column = np.asarray(batch[name])
        if column.ndim != 1 or column.dtype.kind not in "iu":
            raise DataError(
                f"the codes of attribute {name!r} must be integers in one dimension, but they have "
                f"type {column.dtype} and {column.ndim} dimensions; convert them"
            )
        too_low = column.dtype.kind == "i" and column.size and column.min() < 0
        if too_low or (column.size and column.max() >= self.domain[name].size):
            raise DataError(
                f"the codes of attribute {name!r} must be from 0 to {self.domain[name].size - 1}, "
                "but one is not; encode the values with the domain first"
            )
        return column
