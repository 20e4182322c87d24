"""`SketchSynopsis`: a synopsis that estimates single cells of a huge table from a count sketch."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._numbers import shown
from .._types import Floats
from ..domain.attribute import UNSEEN
from ..domain.domain import Domain
from ..domain.marginal import Marginal
from ..domain.where import Chosen
from ..domain.workload import Workload
from ..errors import DomainError
from ..sparse.hashing import buckets
from .counts.sums import Sums
from .noisy_tables import check_variances, negative_left
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["SketchSynopsis"]

_MAX_CELLS = 1 << 22
"""Largest number of cells of a marginal, or of a condition."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
    repr=False,
)
class SketchSynopsis(Synopsis):
    """A synopsis that holds a noisy count sketch: sums of counts with random signs, in buckets.

    Single cells are estimated from these sums, and `count` adds up the cells that satisfy a
    condition, if they are few. The error of a count has two parts: noise, and the cells that share
    buckets with those of the condition (`missed_variance`). The second part is estimated from the
    sums. Neither is known if the median answers.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    sums
        The noisy sums: integers of shape (rows, width).
    key
        The public key of the hash functions.
    median
        Whether the median of the rows of the sketch answers; False takes their mean.
    variance
        The variance of the noise in each bucket, in squared rows.
    """

    sums: NDArray[np.int64]
    key: int
    median: bool
    variance: float

    def __post_init__(self) -> None:
        check_variances(self, [self.variance])

    def point(self, cell: Mapping[str, Any]) -> float:
        """Estimate the count of one cell. `count` gives the same number with its error.

        Parameters
        ----------
        cell
            A category for each attribute of the domain, by name.

        Raises
        ------
        DomainError
            When a name is missing or unknown, or its attribute does not declare a category.
        """
        if not isinstance(cell, Mapping) or set(cell) != set(self.domain):
            is_mapping = isinstance(cell, Mapping)
            found = f"names {shown(list(cell))}" if is_mapping else f"is {shown(cell)}"
            raise DomainError(
                "a cell must be a mapping with one category for each attribute of the domain, but "
                f"it {found}; name each of {', '.join(self.domain)} once"
            )
        codes = [attribute.code(cell[name]) for name, attribute in self.domain.items()]
        if UNSEEN in codes:
            name = self.domain.attributes[codes.index(UNSEEN)]
            raise DomainError(
                f"a cell must have declared categories, but attribute {name!r} does not declare "
                f"{shown(cell[name])}; name one of its categories"
            )
        cells = np.array([codes], np.int64)
        if self.domain.zeros is not None and self.domain.zeros.broken(cells)[0]:
            return 0.0
        return float(self.counts(cells)[0])

    def counts(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Estimate the counts of some cells: shape (cells,).

        Parameters
        ----------
        cells
            The codes of the cells, shape (cells, attributes), in the order of the domain.
        """
        # Each row of the sketch gives an estimate: the bucket of the cell, times its sign.
        columns = list(np.asarray(cells, np.int64).T)
        estimates = np.empty((len(self.sums), len(cells)))
        for row, sums in enumerate(self.sums):
            where, sign = buckets(columns, sums.size, row, self.key)
            estimates[row] = sign * sums[where]
        found = np.median(estimates, axis=0) if self.median else estimates.mean(axis=0)
        return np.asarray(found, np.float64)

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The tables of views of *all* attributes, if they are small.

        Other marginals are refused: they are sums of many cells, whose errors by collisions in the
        sketch would add up.

        Raises
        ------
        DomainError
            When a view lacks an attribute, or has too many cells.
        """
        answers = []
        for view in Workload.of(self.domain, workload):
            sizes = self.domain.shape(view)
            if len(view) < len(self.domain) or math.prod(sizes) > _MAX_CELLS:
                raise DomainError(
                    f"a sketch answers views of all {len(self.domain)} attributes with at most "
                    f"{_MAX_CELLS:,} cells, but this view has {len(view)} attributes and "
                    f"{math.prod(sizes):,} cells; ask for single cells by point()"
                )
            # The codes of all cells of the view, turned to the order of the domain.
            codes = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
            places = [view.index(name) for name in self.domain]
            counts = self.counts(codes[:, places]).reshape(sizes)
            noise = missed = np.full(sizes, math.nan)
            if not self.median:
                noise = np.full(sizes, self.variance / len(self.sums))
                missed = self._missed(1.0, counts**2)
            answers.append(self._answered(view, counts, noise, missed=missed))
        return answers

    def _missed(self, shared: Floats | float, products: Floats) -> Floats:
        """The covariances of what pairs of conditions miss, if the mean of the rows answers.

        Two cells meet in a bucket with probability 1 / width. So the covariance of what two
        conditions q and r miss is at most (q.r |x|**2 + (q.x) (r.x)) / width in each row.

        Parameters
        ----------
        shared
            The numbers of cells that two conditions share, q.r.
        products
            The products of their estimates, (q.x) (r.x).
        """
        rows, width = self.sums.shape
        squares = (self.sums.astype(np.float64) ** 2).sum(axis=1).mean()
        norm = max(squares - width * self.variance, 0.0)
        return np.asarray((shared * norm + products) / (rows * width))

    def _sums(self, chosen: Sequence[Chosen]) -> Sums:
        """The numbers of rows with some codes, by sums of at most 2**22 cells."""
        cells = [self._cells(codes) for codes in chosen]
        rows, width = self.sums.shape
        readings = np.empty((rows, len(cells)))
        noise = np.zeros((len(cells), len(cells)))
        for row, sums in enumerate(self.sums):
            # The projected condition: the sum of the signs of its cells in each bucket.
            projected = np.empty((len(cells), width))
            for number, codes in enumerate(cells):
                where, sign = buckets(list(codes.T), width, row, self.key)
                projected[number] = np.bincount(where, sign, width)
            readings[row] = projected @ sums
            noise += projected @ projected.T * self.variance / rows**2
        if self.median:
            unknown = np.full_like(noise, math.nan)
            return Sums(estimates=np.median(readings, axis=0), noise=unknown, missed=unknown)
        estimates = readings.mean(axis=0)
        missed = self._missed(_shared(cells), np.outer(estimates, estimates))
        return Sums(estimates=estimates, noise=noise, missed=missed)

    def _cells(self, chosen: Chosen) -> NDArray[np.int64]:
        """The codes of the cells that a condition selects, shape (cells, attributes)."""
        sizes = [len(chosen.get(name, range(self.domain[name].size))) for name in self.domain]
        if math.prod(sizes) > _MAX_CELLS:
            raise DomainError(
                f"a sketch adds up at most {_MAX_CELLS:,} cells, but this condition selects "
                f"{math.prod(sizes):,}; restrict more attributes, or ask for single cells by "
                "point()"
            )
        every = [
            np.array(chosen.get(name, range(self.domain[name].size)), np.int64)
            for name in self.domain
        ]
        cells = np.stack(np.meshgrid(*every, indexing="ij"), axis=-1).reshape(-1, len(every))
        if self.domain.zeros is not None:
            cells = cells[~self.domain.zeros.broken(cells)]
        return cells

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        rows, width = self.sums.shape
        return {
            "sketch": f"{rows} rows of {width} buckets",
            "noise": f"standard deviation {math.sqrt(self.variance):.6g}",
            **negative_left([self.sums]),
        }

    def pack(self) -> Packed:
        """The content to write to a file; see `Synopsis.pack`."""
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
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """The largest number of entries that `unpack` accepts in each array of a file, by name."""
        return {"sums": int(fields["rows"]) * int(fields["width"])}

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance,
    ) -> Self:
        """Make the synopsis from the content of a file; see `Synopsis.unpack`."""
        sums = np.asarray(packed.arrays["sums"])
        if sums.dtype != np.int64 or sums.ndim != 2 or not sums.size:
            raise ValueError(
                f"sums must be a non-empty matrix of 64-bit integers, but it is {sums.dtype} of "
                f"shape {sums.shape}; get a fresh copy of the file"
            )
        fields = packed.fields
        return cls(
            domain=domain,
            provenance=provenance,
            sums=sums,
            key=int(fields["key"]),
            median=bool(fields["median"]),
            variance=float(fields["variance"]),
        )


def _shared(cells: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
    """The number of cells that each two conditions have in common: shape (conditions, conditions).

    The cells of a condition are distinct.
    """
    common = np.empty((len(cells), len(cells)))
    for row, one in enumerate(cells):
        for column, other in enumerate(cells[: row + 1]):
            both = np.unique(np.concatenate([one, other]), axis=0)
            common[row, column] = common[column, row] = len(one) + len(other) - len(both)
    return common
