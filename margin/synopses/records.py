"""`RecordSynopsis` answers queries, and any marginal, from synthetic records."""

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..domain.domain import Domain
from ..domain.marginal import Marginal
from ..domain.workload import Workload
from ..errors import DomainError
from ..queries import BitTable, Queries
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["RecordSynopsis"]

_MAX_CELLS = 1 << 27
_MAX_CODES = 1 << 30


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordSynopsis(Synopsis):
    """Records that nobody gave, of which as large a share answers a query with yes as of the rows,
    or nearly.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    table
        The records, as bits.
    total
        About how many rows the data has: public, declared or measured. Marginals add up to it.
    mean_error, largest_error
        Estimates of the mean and of the largest absolute error of the queries that the release was
        made for, as shares of the rows, with the noise in them; None where they were not paid for.
    """

    table: BitTable
    total: int
    mean_error: float | None = None
    largest_error: float | None = None

    def answer(self, queries: Queries) -> NDArray[np.float64]:
        """See `Synopsis.answer`: shares of the records, shape (queries,), millions in seconds.

        DomainError when the queries are of another domain.
        """
        if not isinstance(queries, Queries) or queries.domain != self.domain:
            raise DomainError(
                "answer takes queries of the domain of the synopsis, such as Conjunctions"
            )
        return queries.counts(self.table) / self.table.rows

    def records(self, n: int) -> NDArray[np.int64]:
        """See `Synopsis.records`: codes, shape (n, attributes), every record about equally often,
        in order.

        DomainError when n is not a whole number from 1, or too large to be held.
        """
        if isinstance(n, bool) or not hasattr(n, "__index__") or operator.index(n) < 1:
            raise DomainError("the number of records must be a whole number >= 1")
        if operator.index(n) * len(self.domain) > _MAX_CODES:
            raise DomainError(
                f"{n} records of {len(self.domain)} attributes are more than can be held: ask for fewer"
            )
        chosen = np.arange(operator.index(n)) * self.table.rows // operator.index(n)
        codes = np.empty((len(chosen), len(self.domain)), np.int64)
        for axis in range(len(self.domain)):
            codes[:, axis] = self._codes(axis)[chosen]
        return codes

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """See `Synopsis.marginals`: shares of the records times `total`. Their error is not known:
        variance NaN."""
        return [self._marginal(view) for view in Workload.of(self.domain, workload).views]

    def summary(self) -> dict[str, str]:
        """See `Synopsis.summary`."""
        lines = {"records": f"{self.table.rows:,}, for about {self.total:,} rows"}
        if self.mean_error is not None:
            lines["mean error"] = (
                f"{self.mean_error:.2g} of the rows, an estimate over the queries asked"
            )
        if self.largest_error is not None:
            lines["largest"] = (
                f"{self.largest_error:.2g} of the rows, an estimate over the queries asked"
            )
        return lines

    def pack(self) -> Packed:
        """See `Synopsis.pack`: the bits, a line a binary attribute and else a line a category."""
        fields: dict[str, Any] = {
            "records": self.table.rows,
            "total": self.total,
            "mean_error": self.mean_error,
            "largest_error": self.largest_error,
        }
        return Packed(fields, {"bits": self.table.words})

    @classmethod
    def room(cls, fields: Mapping[str, Any], *, domain: Domain) -> Mapping[str, int]:
        """See `Synopsis.room`."""
        lines = sum(1 if size == 2 else size for size in domain.sizes)
        return {"bits": lines * -(-int(fields["records"]) // 64)}

    @classmethod
    def unpack(cls, packed: Packed, *, domain: Domain, provenance: Provenance) -> Self:
        """See `Synopsis.unpack`."""
        (words,) = packed.arrays.values()
        table = BitTable.of_words(
            domain, words.astype(np.uint64, casting="equiv"), int(packed.fields["records"])
        )
        errors = {name: packed.fields[name] for name in ("mean_error", "largest_error")}
        if not all(error is None or isinstance(error, float) for error in errors.values()):
            raise ValueError("unexpected fields")
        total = int(packed.fields["total"])
        return cls(domain=domain, table=table, total=total, provenance=provenance, **errors)

    def _marginal(self, view: tuple[str, ...]) -> Marginal:
        shape = self.domain.shape(view)
        if (cells := math.prod(shape)) > _MAX_CELLS:
            raise DomainError(
                f"the marginal has {cells} cells; at most {_MAX_CELLS} are possible: ask for fewer"
            )
        codes = [self._codes(axis) for axis in self.domain.axes(view)]
        counts = np.bincount(np.ravel_multi_index(codes, shape), minlength=cells).reshape(shape)
        variance = np.full(shape, np.nan)
        shares: NDArray[np.float64] = counts.astype(np.float64) * (self.total / self.table.rows)
        return Marginal(self.domain.restrict(view, checked=True), shares, variance)

    def _codes(self, axis: int) -> NDArray[np.int64]:
        """The codes of one attribute in all records: shape (records,)."""
        size, first = self.domain.sizes[axis], int(self.table.start[axis])
        lines = self.table.words[first : first + (1 if size == 2 else size)]
        bits = np.unpackbits(
            lines.astype("<u8").view(np.uint8), axis=1, count=self.table.rows, bitorder="little"
        )
        codes: NDArray[np.int64] = bits[0].astype(np.int64) if size == 2 else bits.argmax(axis=0)
        return codes
