"""Exact counts of many views in one pass over the rows: the same integers whatever counts them."""

import importlib.util
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain.countable import countable
from ..domain.domain import Domain
from ..errors import DataError, DomainError
from .blocks import Blocks, Kernel

__all__ = ["CountPlan"]

_BLOCK = 65_536
# Rows times views: a tenth of a second in numpy, less than it takes to load the loops; and when
# they have been loaded.
_WORTH_COMPILING, _WORTH_USING = 1 << 25, 1 << 21


class CountPlan:
    """The tables of some views of a domain: made empty, filled batch by batch, added up across
    workers.

    Small tables are counted by numpy. When there is work enough, compiled loops take over, where
    numba is installed.

    Parameters
    ----------
    domain
        The attributes and their sizes.
    views
        The views to count.
    threads
        How many threads may count; all processors when not given. A worker beside others takes one.

    Raises
    ------
    DomainError
        When a view is not one of the domain, or has more than `countable.MAX_CELLS` cells. The rows
        have no say in it.

    Examples
    --------
    >>> plan = CountPlan(Domain({"sex": 2, "smoker": 2}), [("smoker", "sex")])
    >>> plan.accumulate({"sex": np.array([0, 1, 1]), "smoker": np.array([1, 0, 0])})
    >>> plan.tables[0]
    array([[0, 2],
           [1, 0]])
    """

    def __init__(
        self, domain: Domain, views: Iterable[Iterable[str]], *, threads: int | None = None
    ) -> None:
        self.domain = domain
        self.views = countable(domain, views)
        used = {name for view in self.views for name in view}
        self._used = [name for name in domain if name in used]
        self._counts = [np.zeros(domain.cells(view), np.int64) for view in self.views]
        self._threads = threads
        self._work = 0
        self._kernel: Kernel = Blocks(domain, self.views, self._counts)

    @property
    def tables(self) -> tuple[NDArray[np.int64], ...]:
        """The counts so far, one table a view, one axis an attribute in the view's order; not to be
        written to."""
        self._kernel.flush()
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
            The codes of the attributes that the views name, and perhaps of others: integers, shape
            (rows,).

        Raises
        ------
        DataError
            When a column is missing or not of that form, or a code is not one of its attribute's.
            Nothing is added.
        """
        columns = {name: self._checked(name, batch) for name in self._used}
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise DataError("the columns of a batch must be equally long")
        rows = max(lengths, default=0)
        self._expect(rows * len(self.views))
        for start in range(0, rows, _BLOCK):
            block = {name: column[start : start + _BLOCK] for name, column in columns.items()}
            self._kernel.add(block, min(_BLOCK, rows - start))

    def merge(self, other: "CountPlan") -> None:
        """Add the counts of another plan for the same views of the same domain.

        Raises
        ------
        DomainError
            When it is a plan for something else.
        """
        if (self.domain, self.views) != (other.domain, other.views):
            raise DomainError("only plans for the same views of the same domain can be merged")
        for mine, theirs in zip(self._counts, other.tables, strict=True):
            mine += theirs.ravel()

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: the counts, not the threads."""
        self._kernel.flush()
        return {name: value for name, value in vars(self).items() if name != "_kernel"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._counts = [counts.copy() for counts in self._counts]
        self._kernel = Blocks(self.domain, self.views, self._counts)

    def _expect(self, work: int) -> None:
        """Let compiled loops take over once there is work enough."""
        self._work += work
        enough = _WORTH_USING if f"{__package__}.compiled" in sys.modules else _WORTH_COMPILING
        if self._work <= enough or not isinstance(self._kernel, Blocks) or not _has_numba():
            return
        from .compiled import Compiled, processors

        threads = processors() if self._threads is None else self._threads
        self._kernel = Compiled(self.domain, self.views, self._counts, threads=threads)

    def _checked(
        self, name: str, batch: Mapping[str, NDArray[np.integer[Any]]]
    ) -> NDArray[np.integer[Any]]:
        if name not in batch:
            raise DataError(f"a batch lacks attribute {name!r}")
        column = np.asarray(batch[name])
        if column.ndim != 1 or column.dtype.kind not in "iu":
            raise DataError(f"the codes of attribute {name!r} must be integers in one dimension")
        too_low = column.dtype.kind == "i" and column.size and column.min() < 0
        if too_low or (column.size and column.max() >= self.domain[name].size):
            raise DataError(
                f"a code of attribute {name!r} is not one of 0 ... {self.domain[name].size - 1}"
            )
        return column


@cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None
