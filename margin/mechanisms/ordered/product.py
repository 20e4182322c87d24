"""Strategies that are one matrix for each attribute, on the full table: measured, and inverted axis
by axis."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats
from ...domain.domain import Domain
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget
from ...private import Private, Strategy
from ...private.linear import linear_events, variance_of
from ...synopses import TableSynopsis
from ..asked import check_reach

__all__ = ["Product"]

_MOST_CELLS = 1 << 24
_MOST_VALUES = 1 << 12


@dataclass(frozen=True, eq=False)
class Product:
    """The Kronecker product of one matrix an ordered attribute, and the identity for others.

    Attributes
    ----------
    domain
        The attributes.
    factors
        By the place of an ordered attribute its matrix, of full column rank.
    """

    domain: Domain
    factors: dict[int, NDArray[np.int64]]

    @classmethod
    def of(
        cls,
        name: str,
        domain: Domain,
        attributes: Sequence[str] | None,
        factor: Callable[[int], NDArray[np.int64]],
    ) -> "Product":
        """A matrix by its size for some attributes, or all; DomainError beyond the reach of a
        method."""
        ordered = domain.axes(domain.attributes if attributes is None else attributes)
        instead = "PriView, Direct or Fourier on bins of the attributes"
        check_reach(name, math.prod(domain.sizes), _MOST_CELLS, instead=instead)
        largest = max(domain.sizes[axis] for axis in ordered)
        check_reach(
            name,
            largest,
            _MOST_VALUES,
            what="values of one ordered attribute",
            instead="wider bins",
        )
        return cls(domain, {axis: factor(domain.sizes[axis]) for axis in ordered})

    @cached_property
    def covariances(self) -> dict[int, Floats]:
        """(A'A)^-1 for each ordered attribute."""
        return {axis: _inverse_gram(factor) for axis, factor in self.factors.items()}

    @property
    def strategy(self) -> Strategy:
        """What is measured."""
        sizes = self.domain.sizes
        factors = [
            self.factors.get(axis, np.eye(size, dtype=np.int64)) for axis, size in enumerate(sizes)
        ]
        return Strategy(self.domain.attributes, factors)

    def answers(self, private: Private) -> TableSynopsis:
        """The least-squares estimate of the full table from what was measured."""
        (measured,) = private.measure_linear([self.strategy])
        table = measured.values
        for axis, factor in self.factors.items():
            inverse = self.covariances[axis] @ factor.T
            table = np.moveaxis(np.tensordot(inverse, table, axes=(1, axis)), 0, axis)
        table = np.ascontiguousarray(table)
        return TableSynopsis(
            domain=self.domain,
            table=table,
            variance=measured.variance,
            covariances=self.covariances,
        )

    def expected_error(self, workload: Workload, budget: Budget) -> float:
        """The expected squared error over all cells of all marginals of a workload, times their
        weights."""
        return self._noise(budget) * sum(
            weight
            * math.prod(
                self._cells(axis) if axis in axes else self._total(axis)
                for axis in range(len(self.domain))
            )
            for axes, weight in zip(map(self.domain.axes, workload), workload.weights, strict=True)
        )

    def range_error(self, attribute: str, budget: Budget) -> float:
        """The expected squared error of a count within a range of an attribute, on average over all
        ranges."""
        (axis,) = self.domain.axes([attribute])
        if axis not in self.factors:
            raise DomainError(f"attribute {attribute!r} is not one of the ordered attributes")
        others = math.prod(self._total(other) for other in range(len(self.domain)) if other != axis)
        return self._noise(budget) * others * _mean_of_ranges(self.covariances[axis])

    def _noise(self, budget: Budget) -> float:
        (event,) = linear_events(budget, [self.strategy], units=budget.units, together=True)
        return variance_of(event)

    def _cells(self, axis: int) -> float:
        covariance = self.covariances.get(axis)
        return float(self.domain.sizes[axis] if covariance is None else np.trace(covariance))

    def _total(self, axis: int) -> float:
        covariance = self.covariances.get(axis)
        return float(self.domain.sizes[axis] if covariance is None else covariance.sum())


def checked_names(attributes: Iterable[str] | None) -> tuple[str, ...] | None:
    """Names as a tuple; None stands for all attributes."""
    if attributes is None:
        return None
    if isinstance(attributes, str | bytes) or not isinstance(attributes, Iterable):
        raise DomainError("attributes must be a list of attribute names, or None for all")
    return tuple(attributes)


def _inverse_gram(factor: NDArray[np.int64]) -> Floats:
    numbers = factor.astype(np.float64)
    return np.asarray(np.linalg.inv(numbers.T @ numbers), np.float64)


def _mean_of_ranges(covariance: Floats) -> float:
    """The mean variance of the sums of all intervals, from prefix sums: a range is the difference
    of two."""
    size = len(covariance)
    prefix = np.zeros((size + 1, size + 1))
    prefix[1:, 1:] = covariance.cumsum(axis=0).cumsum(axis=1)
    own = prefix.diagonal()
    first, last = np.triu_indices(size + 1, 1)
    return float((own[first] + own[last] - 2 * prefix[first, last]).mean())
