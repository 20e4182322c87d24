"""`Hierarchical`: a mechanism that measures trees of counts over ordered attributes."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._checks import whole_number
from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...private import Private
from ...synopses import TableSynopsis
from ..asked import asked
from .product import Product, checked_names

__all__ = ["Hierarchical"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Hierarchical:
    """A mechanism for range queries: it counts at all levels of a tree over each ordered attribute
    (Hay et al., VLDB 2010).

    Each level is counted with an equal share of the budget. Least squares makes the levels
    consistent; the two passes of the paper give the same result. The error of a range grows with a
    power of the logarithm of the size of the attribute. With several ordered attributes, every
    combination of one node of each tree is counted. Other attributes are counted by category.
    `TableSynopsis.count` answers ranges.

    Parameters
    ----------
    attributes
        The attributes whose codes are ordered; None for all.
    branching
        The number of children of a node, >= 2. The paper uses 2; 8 to 16 is better for ranges of
        attributes of many values (Qardaji, Yang and Li, VLDB 2013).
    """

    attributes: Iterable[str] | None = None
    branching: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", checked_names(self.attributes))
        branching = whole_number("branching", self.branching, least=2)
        object.__setattr__(self, "branching", branching)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> TableSynopsis:
        """Run the mechanism: measure the trees and make their levels consistent."""
        return self._product(private.domain).answers(private)

    def expected_error(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> float:
        """The expected squared error of the workload, in squared rows.

        The errors of all cells of all marginals are added, each times the weight of its marginal.
        """
        return self._product(domain).expected_error(asked(domain, workload), budget)

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

    def _product(self, domain: Domain) -> Product:
        names = None if self.attributes is None else tuple(self.attributes)
        return Product.of(
            "Hierarchical",
            domain,
            names,
            lambda size: _tree(size, self.branching),
        )


def _tree(size: int, branching: int) -> NDArray[np.int64]:
    """The queries of a tree as a matrix of zeros and ones: shape (nodes, size).

    Each row adds up neighbouring codes: one code on the lowest level of the tree, then b, b**2 and
    so on, where b is `branching`. The last row adds up all codes.
    """
    levels = []
    width = 1
    while True:
        first = np.arange(size) // width
        levels.append((np.arange(first[-1] + 1)[:, None] == first).astype(np.int64))
        if width >= size:
            return np.concatenate(levels)
        width *= branching
