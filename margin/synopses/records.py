"""`RecordSynopsis`: a synopsis of synthetic records, which answer queries and any marginal."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._checks import whole_number
from .._numbers import shown
from ..domain.domain import Domain
from ..domain.marginal import Marginal
from ..domain.workload import Workload
from ..errors import DomainError
from ..queries import BitTable, Queries
from ..solvers import Status
from .noisy_tables import check_finite
from .rounds import SolvedRound, pack_rounds, unpack_rounds
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["RecordSynopsis"]

_MAX_CELLS = 1 << 27
"""Largest number of cells of a marginal."""

_MAX_CODES = 1 << 30
"""Largest number of codes of all records together."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
    repr=False,
)
class RecordSynopsis(Synopsis):
    """A synopsis that holds synthetic records.

    The share of the records for which a query is true estimates the share of the rows.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    table
        The records, as bits.
    total
        The approximate number of rows of the data: public, declared or measured. Marginals add up
        to it.
    mean_error, largest_error
        Noisy estimates of the mean and of the largest absolute error over the queries of the
        release, as shares of the rows; None if they were not requested.
    rounds
        How each record was found, in the order of the records; see `SolvedRound`. The records of
        one round follow each other: with one record a round there is one entry for each round.
    """

    table: BitTable
    total: int
    mean_error: float | None = None
    largest_error: float | None = None
    rounds: tuple[SolvedRound, ...] = ()

    def __post_init__(self) -> None:
        errors = {"mean_error": self.mean_error, "largest_error": self.largest_error}
        check_finite(self, *(name for name, error in errors.items() if error is not None))

    def answer(self, queries: Queries) -> NDArray[np.float64]:
        """Answer queries by the share of the records for which each is true: shape (queries,).

        Raises
        ------
        DomainError
            When the queries are about another domain.
        """
        if not isinstance(queries, Queries) or queries.domain != self.domain:
            is_queries = isinstance(queries, Queries)
            found = "about another domain" if is_queries else f"of type {type(queries).__name__}"
            raise DomainError(
                f"answer needs queries about the domain of the synopsis, but these are {found}; "
                "make them as in Conjunctions(synopsis.domain, ...)"
            )
        return queries.counts(self.table) / self.table.rows

    def records(self, n: int) -> NDArray[np.int64]:
        """Take n of the synthetic records: the codes of all attributes, shape (n, attributes).

        They are in their original order. If n is smaller than the number of records, they are
        spread evenly over all records. If n is larger, each record is repeated about equally often.

        Raises
        ------
        DomainError
            When n is not a whole number >= 1, or the records do not fit into memory.
        """
        n = whole_number("the number of records", n)
        most = _MAX_CODES // len(self.domain)
        if n > most:
            raise DomainError(
                f"n ({n:,}) must be at most {most:,} for {len(self.domain)} attributes; ask for "
                "fewer records"
            )
        # Even steps through the records, so that each is chosen about equally often.
        chosen = np.arange(n) * self.table.rows // n
        codes = np.empty((len(chosen), len(self.domain)), np.int64)
        for axis in range(len(self.domain)):
            codes[:, axis] = self._codes(axis)[chosen]
        return codes

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """Answer marginals by counting the records: their shares times `total`.

        Their errors are not known: the variance is NaN.
        """
        return [self._marginal(view) for view in Workload.of(self.domain, workload).views]

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        lines = {"records": f"{self.table.rows:,}, for about {self.total:,} rows"}
        about = "of the rows, an estimate over the queries asked"
        if self.rounds:
            proved = sum(one.status is Status.OPTIMAL for one in self.rounds)
            lines["responses"] = f"{proved:,} of {len(self.rounds):,} proved to be best"
        if self.mean_error is not None:
            lines["mean error"] = f"{self.mean_error:.2g} {about}"
        if self.largest_error is not None:
            lines["largest"] = f"{self.largest_error:.2g} {about}"
        return lines

    def pack(self) -> Packed:
        """The content of a file: the records as bits, with one line for a binary attribute and one
        line for each category of any other attribute."""
        names, arrays = pack_rounds(self.rounds)
        fields: dict[str, Any] = {
            "records": self.table.rows,
            "total": self.total,
            "mean_error": self.mean_error,
            "largest_error": self.largest_error,
            **names,
        }
        return Packed(fields, {"bits": self.table.words, **arrays})

    @classmethod
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """The largest number of entries that `unpack` accepts in each array of a file, by name."""
        lines = sum(1 if size == 2 else size for size in domain.sizes)
        rounds = int(fields["rounds"])
        return {
            "bits": lines * -(-int(fields["records"]) // 64),
            "solved": 4 * rounds,
        }

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance,
    ) -> Self:
        """Make the synopsis from the content of a file; see `Synopsis.unpack`."""
        # Words of another type are refused, not converted.
        bits = packed.arrays["bits"].astype(np.uint64, casting="equiv")
        table = BitTable.of_words(domain, bits, int(packed.fields["records"]))
        errors = {name: packed.fields[name] for name in ("mean_error", "largest_error")}
        if not all(error is None or isinstance(error, float) for error in errors.values()):
            raise ValueError(
                "mean_error and largest_error must be floats or null, but they are "
                f"{shown(errors)}; get a fresh copy of the file"
            )
        total = int(packed.fields["total"])
        return cls(
            domain=domain,
            table=table,
            total=total,
            rounds=unpack_rounds(packed.fields, packed.arrays),
            provenance=provenance,
            **errors,
        )

    def _marginal(self, view: tuple[str, ...]) -> Marginal:
        shape = self.domain.shape(view)
        cells = math.prod(shape)
        if cells > _MAX_CELLS:
            raise DomainError(
                f"a marginal must have at most {_MAX_CELLS:,} cells, but the marginal on "
                f"{', '.join(view)} has {cells:,}; ask for fewer attributes"
            )
        codes = [self._codes(axis) for axis in self.domain.axes(view)]
        counts = np.bincount(np.ravel_multi_index(codes, shape), minlength=cells).reshape(shape)
        variance = np.full(shape, np.nan)
        shares: NDArray[np.float64] = counts.astype(np.float64) * (self.total / self.table.rows)
        return Marginal(self.domain.restrict(view, checked=True), shares, variance)

    def _codes(self, axis: int) -> NDArray[np.int64]:
        """The codes of one attribute in all records: shape (records,)."""
        size, first = self.domain.sizes[axis], int(self.table.start[axis])
        # A binary attribute has one line of bits; another attribute has one line for each category,
        # of which exactly one is set in each record.
        number = 1 if size == 2 else size
        lines = self.table.words[first : first + number]
        bits = np.unpackbits(
            lines.astype("<u8").view(np.uint8),
            axis=1,
            count=self.table.rows,
            bitorder="little",
        )
        codes: NDArray[np.int64]
        codes = bits[0].astype(np.int64) if size == 2 else bits.argmax(axis=0)
        return codes
