"""Strategies on the full table that consist of one matrix for each attribute. They are measured and
then inverted axis by axis."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._axes import times_along
from ..._types import Floats
from ...domain.domain import Domain, check_domain
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget
from ...private import Private, Strategy
from ...private.linear import linear_variances
from ...synopses import TableSynopsis
from ..asked import check_reach
from ..axis_queries import AxisQueries, asked_queries, queries_of
from ..by_table import asked_levels
from .names import ordered_names

__all__ = ["Product"]

_MOST_CELLS = 1 << 24
"""Largest number of cells of the full table."""

_MOST_VALUES = 1 << 12
"""Largest number of values of an ordered attribute."""


_MOST_QUERIES = 1 << 28
"""Largest number of queries: their answers take 2 GiB, and the noise as much again."""


@dataclass(
    frozen=True,
    eq=False,
)
class Product:
    """A strategy on the full table: a matrix for each ordered attribute, and the identity for each
    other attribute.

    The queries are the rows of the Kronecker product of these matrices.

    Attributes
    ----------
    domain
        The attributes.
    factors
        The matrix of each ordered attribute, by its place in the domain: shape (queries, size), of
        full column rank.
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
        workload: Workload | None = None,
    ) -> "Product":
        """Make the strategy with the matrix `factor(size)` for some attributes, or for those that
        the domain declares as ordered. The workload only helps to say what else can be used.

        Raises
        ------
        DomainError
            When no attribute is ordered, or the full table, an attribute or the number of queries
            is too large. The message names the method `name`.
        """
        check_domain(domain)
        ordered = domain.axes(ordered_names(name, domain, attributes))
        instead = _instead(domain, workload)
        check_reach(name, math.prod(domain.sizes), _MOST_CELLS, instead=instead)
        largest = max(domain.sizes[axis] for axis in ordered)
        check_reach(
            name,
            largest,
            _MOST_VALUES,
            what="values of one ordered attribute",
            instead="wider bins",
        )
        factors = {axis: factor(domain.sizes[axis]) for axis in ordered}
        # A query is a product of one query of each ordered attribute and one code of each other.
        rows = [len(factors[axis]) if axis in factors else n for axis, n in enumerate(domain.sizes)]
        queries = math.prod(rows)
        check_reach(
            name,
            queries,
            _MOST_QUERIES,
            what=f"queries, whose answers take {queries * 8 / 2**30:,.0f} GiB of memory,",
            instead="fewer ordered attributes (attributes=[...]), wider bins, PriView or Direct",
        )
        return cls(domain, factors)

    @cached_property
    def covariances(self) -> dict[int, Floats]:
        """For each ordered attribute with matrix A, the covariance (A'A)^-1 of its estimate."""
        return {axis: _inverse_gram(factor) for axis, factor in self.factors.items()}

    @property
    def strategy(self) -> Strategy:
        """The linear queries that `answers` measures: the Kronecker product of all matrices."""
        factors = [
            self.factors.get(axis, np.eye(size, dtype=np.int64))
            for axis, size in enumerate(self.domain.sizes)
        ]
        return Strategy(self.domain.attributes, factors)

    def answers(self, private: Private) -> TableSynopsis:
        """Measure the queries with the whole budget; estimate the full table by least squares."""
        (measured,) = private.measure_linear([self.strategy])
        # Invert axis by axis: (A'A)^-1 A' of a product is the product of those of its factors.
        table = measured.values
        for axis, factor in self.factors.items():
            inverse = self.covariances[axis] @ factor.T
            table = times_along(inverse, table, axis)
        table = np.ascontiguousarray(table)
        return TableSynopsis(
            domain=self.domain,
            table=table,
            variance=measured.variance,
            covariances=self.covariances,
        )

    def table_errors(
        self,
        workload: Workload,
        budget: Budget,
    ) -> list[float]:
        """The expected squared error of each table of a workload, summed over its counts, in
        squared rows."""
        return self._errors(workload, budget, np.sum)

    def largest_errors(
        self,
        workload: Workload,
        budget: Budget,
    ) -> list[float]:
        """The largest expected squared error of a count of each table, in squared rows."""
        # The largest product of variances is the product of the largest.
        return self._errors(workload, budget, np.max)

    def _errors(
        self,
        workload: Workload,
        budget: Budget,
        of: Callable[[Floats], float],
    ) -> list[float]:
        """For each table the product over the attributes of the sums, or maxima, of variances."""
        noise = self._noise(budget)
        asked = asked_queries(self.domain, workload)
        found: dict[tuple[str, str | None], float] = {}
        errors = []
        for view, levels in asked_levels(workload):
            # The covariance of the full table is a product over the attributes.
            error = noise
            for pair in zip(view, levels, strict=True):
                if pair not in found:
                    found[pair] = float(of(self._variances(*pair, asked)))
                error *= found[pair]
            lacking = set(range(len(self.domain))) - set(self.domain.axes(view))
            errors.append(error * math.prod(map(self._total, sorted(lacking))))
        return errors

    def range_error(
        self,
        attribute: str,
        budget: Budget,
    ) -> float:
        """The expected squared error of a count within a range, on average over all ranges.

        Raises
        ------
        DomainError
            When `attribute` is not one of the ordered attributes.
        """
        (axis,) = self.domain.axes([attribute])
        if axis not in self.factors:
            ordered = ", ".join(repr(self.domain.attributes[place]) for place in self.factors)
            raise DomainError(
                f"attribute {attribute!r} must be one of the ordered attributes, but these are "
                f"{ordered}; name one of them"
            )
        others = math.prod(self._total(other) for other in range(len(self.domain)) if other != axis)
        ranges = AxisQueries("ranges", self.domain.sizes[axis])
        of_ranges = ranges.variances(self.covariances[axis])
        return self._noise(budget) * others * float(of_ranges.mean())

    def _noise(self, budget: Budget) -> float:
        (variance,) = linear_variances([self.strategy], budget)
        return variance

    def _variances(
        self,
        name: str,
        level: str | None,
        asked: Mapping[str, AxisQueries],
    ) -> Floats:
        """The factors of one attribute in the variances of a marginal that contains it: one for
        each query that is asked of it."""
        queries = queries_of(self.domain, name, level, asked)
        covariance = self.covariances.get(self.domain.position[name])
        if covariance is None:
            # The codes have independent noise of variance one.
            return queries.cells
        return queries.variances(covariance)

    def _total(self, axis: int) -> float:
        """The factor of one attribute in the summed variance of a marginal without it: the variance
        of the sum over all its codes."""
        covariance = self.covariances.get(axis)
        if covariance is None:
            return float(self.domain.sizes[axis])
        return float(covariance.sum())


def _instead(domain: Domain, workload: Workload | None) -> str:
    """What can be used if the full table is too large, by what the workload asks."""
    asked = workload is not None and set(workload.asked.values()) & {"ranges", "prefixes"}
    others = "Residual, which takes a workload that asks ranges, or PriView, Direct or Fourier on "
    others += "bins of the attributes"
    if not asked:
        return others
    assert workload is not None
    named = {name for view in workload.views for name in view}
    few = [name for name in domain if name in named]
    if domain.cells(few) > _MOST_CELLS or len(few) == len(domain):
        return others
    return f"Residual, or the attributes of the workload alone: domain.restrict({few})"


def _inverse_gram(factor: NDArray[np.int64]) -> Floats:
    numbers = factor.astype(np.float64)
    return np.asarray(np.linalg.inv(numbers.T @ numbers), np.float64)
