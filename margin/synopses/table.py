"""`TableSynopsis`: a table over all attributes, whose sums are the answers."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._types import Floats
from ..domain.domain import Domain
from ..domain.marginal import Marginal
from ..domain.workload import Workload
from ..errors import DomainError
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["RangeCount", "TableSynopsis"]


@dataclass(frozen=True)
class RangeCount:
    """A `count` of rows, and the `variance` of the noise in it, squared rows; NaN where that is not
    known."""

    count: float
    variance: float


@dataclass(frozen=True, kw_only=True, eq=False)
class TableSynopsis(Synopsis):
    """An estimate of the whole table. It answers any marginal, and any count of a box, by adding up
    cells.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    table
        One axis an attribute, in the order of the domain.
    variance
        The noise in two cells x and y has the covariance ``variance * prod_a C_a[x_a, y_a]``,
        before negative counts were removed, or cells that the rules of the domain exclude; NaN
        where it is not known.
    covariances
        C_a by the place of attribute a in the domain, arrays of shape (size, size). The identity
        for attributes that are left out: then the noise of two cells that differ there is
        independent.
    """

    table: Floats
    variance: float
    covariances: Mapping[int, Floats]

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """See `Synopsis.marginals`: sums of cells, with the exact variance of their noise where it
        is known."""
        answers = []
        for view in Workload.of(self.domain, workload):
            axes = self.domain.axes(view)
            dropped = tuple(axis for axis in range(len(self.domain)) if axis not in axes)
            counts = self._possible.sum(axis=dropped).transpose(np.argsort(np.argsort(axes)))
            variance = np.full(
                (), self.variance * math.prod(self._sum_variance(axis) for axis in dropped)
            )
            for axis in axes:
                variance = np.multiply.outer(variance, self._cell_variances(axis))
            answers.append(self._answered(view, counts, variance))
        return answers

    def count(self, ranges: Mapping[str, tuple[int, int]]) -> RangeCount:
        """The number of rows within ranges of ordered attributes.

        Parameters
        ----------
        ranges
            For each attribute that matters the first and the last code of its range, both included.

        Returns
        -------
        RangeCount

        Raises
        ------
        DomainError
            When an attribute is unknown, or a range is not one of its codes.

        Examples
        --------
        >>> table = np.arange(6.0).reshape(3, 2)
        >>> synopsis = TableSynopsis(domain=Domain({"age": 3, "sex": 2}), table=table, variance=1.0, covariances={})
        >>> synopsis.count({"age": (1, 2)})
        RangeCount(count=14.0, variance=4.0)
        """
        chosen, variance = self._possible, self.variance
        for axis, size in enumerate(self.domain.sizes):
            name = self.domain.attributes[axis]
            first, last = ranges.get(name, (0, size - 1))
            if not 0 <= first <= last < size:
                raise DomainError(
                    f"the range of {name!r} must be two of its codes 0 ... {size - 1}, ascending"
                )
            chosen = np.take(chosen, range(first, last + 1), axis)
            variance *= self._sum_variance(axis, slice(first, last + 1))
        for name in ranges:
            self.domain[name]
        return RangeCount(float(chosen.sum()), float(variance))

    def summary(self) -> dict[str, str]:
        """See `Synopsis.summary`."""
        return {"table": f"all {len(self.domain)} attributes, {self.table.size:,} cells"}

    def pack(self) -> Packed:
        """See `Synopsis.pack`."""
        variance = None if math.isnan(self.variance) else self.variance
        covariances = {f"covariance{axis}": array for axis, array in self.covariances.items()}
        return Packed({"variance": variance}, {"table": self.table, **covariances})

    @classmethod
    def room(cls, fields: Mapping[str, Any], *, domain: Domain) -> Mapping[str, int]:
        """See `Synopsis.room`."""
        covariances = {f"covariance{axis}": size**2 for axis, size in enumerate(domain.sizes)}
        return {"table": math.prod(domain.sizes), **covariances}

    @classmethod
    def unpack(cls, packed: Packed, *, domain: Domain, provenance: Provenance) -> Self:
        """See `Synopsis.unpack`."""
        arrays = {name: _floats(array) for name, array in packed.arrays.items()}
        table = arrays.pop("table")
        covariances = {
            int(name.removeprefix("covariance")): array for name, array in arrays.items()
        }
        if table.shape != domain.sizes or any(
            c.shape != (domain.sizes[a],) * 2 for a, c in covariances.items()
        ):
            raise ValueError("unexpected array")
        written = packed.fields["variance"]
        variance = math.nan if written is None else float(written)
        return cls(
            domain=domain,
            table=table,
            variance=variance,
            covariances=covariances,
            provenance=provenance,
        )

    @cached_property
    def _possible(self) -> Floats:
        """The table with nothing in cells that the rules of the domain exclude, and the domain's
        number of rows: what lacks goes to all cells in proportion, or evenly where some are
        negative."""
        if self.domain.zeros is None and self.domain.rows is None:
            return self.table
        possible = self.domain.possible(self.domain.attributes)
        table = self.table * possible
        if self.domain.rows is None:
            return table
        share = (
            table / table.sum() if table.min() >= 0 and table.any() else possible / possible.sum()
        )
        return np.asarray(table + (self.domain.rows - table.sum()) * share)

    def _cell_variances(self, axis: int) -> Floats:
        covariance = self.covariances.get(axis)
        return np.ones(self.domain.sizes[axis]) if covariance is None else covariance.diagonal()

    def _sum_variance(self, axis: int, codes: slice = slice(None)) -> float:
        """The variance of a sum over some codes of an attribute, as a factor."""
        covariance = self.covariances.get(axis)
        if covariance is None:
            return float(len(range(self.domain.sizes[axis])[codes]))
        return float(covariance[codes, codes].sum())


def _floats(array: NDArray[np.generic]) -> Floats:
    if array.dtype != np.float64:
        raise ValueError("unexpected array")
    return array.astype(np.float64)
