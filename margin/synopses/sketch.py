"""`SketchSynopsis` answers for single cells of a table of any size, from a noisy count sketch."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..domain.attribute import UNSEEN
from ..domain.domain import Domain
from ..domain.marginal import Marginal
from ..domain.workload import Workload
from ..errors import DomainError
from ..sparse.hashing import buckets
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["SketchSynopsis"]

_MAX_CELLS = 1 << 22


@dataclass(frozen=True, kw_only=True, eq=False)
class SketchSynopsis(Synopsis):
    """Sums of the counts of many cells, with signs, in buckets.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    sums
        The noisy sums: integers of shape (rows, width).
    key
        From which the hash functions follow.
    median
        Whether the median of the rows answers, else their mean.
    variance
        That of the noise in each bucket.
    """

    sums: NDArray[np.int64]
    key: int
    median: bool
    variance: float

    def point(self, cell: Mapping[str, Any]) -> float:
        """The count of the cell with these categories, one an attribute of the domain; DomainError
        for any other."""
        if not isinstance(cell, Mapping) or set(cell) != set(self.domain):
            raise DomainError("a cell has one category for each attribute of the domain, by name")
        codes = [attribute.code(cell[name]) for name, attribute in self.domain.items()]
        if UNSEEN in codes:
            raise DomainError("a category is not one of those its attribute declares")
        cells = np.array([codes], np.int64)
        if self.domain.zeros is not None and self.domain.zeros.broken(cells)[0]:
            return 0.0
        return float(self.counts(cells)[0])

    def counts(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """The counts of some cells, given by codes of shape (cells, attributes): shape (cells,)."""
        columns = list(np.asarray(cells, np.int64).T)
        estimates = np.empty((len(self.sums), len(cells)))
        for row, sums in enumerate(self.sums):
            where, sign = buckets(columns, sums.size, row, self.key)
            estimates[row] = sign * sums[where]
        return np.asarray(
            np.median(estimates, axis=0) if self.median else estimates.mean(axis=0), np.float64
        )

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The tables of views of *all* attributes, where these are small; DomainError for others.

        Sums of many cells would add up what collides.
        """
        answers = []
        for view in Workload.of(self.domain, workload):
            sizes = self.domain.shape(view)
            if len(view) < len(self.domain) or math.prod(sizes) > _MAX_CELLS:
                raise DomainError(
                    "a sketch answers for single cells: ask for a view of all attributes, or by point"
                )
            codes = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
            places = [view.index(name) for name in self.domain]
            counts = self.counts(codes[:, places]).reshape(sizes)
            variance = self.variance / (1 if self.median else len(self.sums))
            answers.append(self._answered(view, counts, np.full(sizes, variance)))
        return answers

    def summary(self) -> dict[str, str]:
        """What it consists of, for people."""
        rows, width = self.sums.shape
        return {
            "sketch": f"{rows} rows of {width} buckets",
            "noise": f"standard deviation {math.sqrt(self.variance):.6g}",
        }

    def pack(self) -> Packed:
        """See `Synopsis.pack`."""
        rows, width = self.sums.shape
        fields = {
            "rows": rows,
            "width": width,
            "key": self.key,
            "median": self.median,
            "variance": self.variance,
        }
        return Packed(fields, {"sums": self.sums})

    @classmethod
    def room(cls, fields: Mapping[str, Any], *, domain: Domain) -> Mapping[str, int]:
        """See `Synopsis.room`."""
        return {"sums": int(fields["rows"]) * int(fields["width"])}

    @classmethod
    def unpack(cls, packed: Packed, *, domain: Domain, provenance: Provenance) -> Self:
        """See `Synopsis.unpack`."""
        sums = np.asarray(packed.arrays["sums"])
        if sums.dtype != np.int64 or sums.ndim != 2 or not sums.size:
            raise ValueError("unexpected array")
        fields = packed.fields
        return cls(
            domain=domain,
            provenance=provenance,
            sums=sums,
            key=int(fields["key"]),
            median=bool(fields["median"]),
            variance=float(fields["variance"]),
        )
