"""`OrderedQueries`: a mechanism that measures the same kind of queries over each ordered
attribute."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...private import Private
from ...synopses import TableSynopsis
from ..asked import asked
from ..by_table import weighted
from .names import checked_names
from .product import Product

__all__ = ["OrderedQueries"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class OrderedQueries(ABC):
    """A mechanism for range queries over ordered attributes. A subclass states the queries.

    With several ordered attributes, a query is a product of one query of each. Other attributes are
    counted by category. `TableSynopsis.count` answers ranges.

    Parameters
    ----------
    attributes
        The attributes whose codes are ordered; None for those that the domain declares as ordered.
    """

    prices_asked: ClassVar[bool] = True

    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", checked_names(self.attributes))

    @abstractmethod
    def queries(self, size: int) -> NDArray[np.int64]:
        """The queries of an attribute of `size` values: shape (queries, size), of full column
        rank."""

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> TableSynopsis:
        """Run the mechanism: measure the queries and estimate the table by least squares."""
        return self._product(private.domain, workload).answers(private)

    def expected_error(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> float:
        """The expected squared error of the workload, in squared rows.

        The errors of all cells of all marginals are added, each times the weight of its marginal.
        """
        views = asked(domain, workload)
        return weighted(views, self.table_errors(domain, views, budget))

    def table_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The expected squared error of each table of the workload, before negative counts are
        removed: the summed error of its counts, in squared rows."""
        views = asked(domain, workload)
        return self._product(domain, views).table_errors(views, budget)

    def largest_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The largest expected squared error of a count of each table, as in `table_errors`."""
        views = asked(domain, workload)
        return self._product(domain, views).largest_errors(views, budget)

    def range_error(
        self,
        domain: Domain,
        attribute: str,
        budget: Budget,
    ) -> float:
        """The expected squared error of a count within a range, on average over all ranges.

        Raises
        ------
        DomainError
            When `attribute` is not one of the ordered attributes.
        """
        return self._product(domain).range_error(attribute, budget)

    def _product(self, domain: Domain, workload: Workload | None = None) -> Product:
        names = None if self.attributes is None else tuple(self.attributes)
        return Product.of(type(self).__name__, domain, names, self.queries, workload)
