"""`Wavelet`: a mechanism that measures Haar wavelet coefficients over ordered attributes."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...private import Private
from ...synopses import TableSynopsis
from ..asked import asked
from .product import Product, checked_names

__all__ = ["Wavelet"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Wavelet:
    """A mechanism for range queries: it measures Haar wavelet coefficients over each ordered
    attribute (Privelet, Xiao et al., TKDE 2011).

    The coefficient of a node with w leaves is half the difference of the means of its halves. In
    the paper its noise is in proportion to 1 / w. This is the same as the difference of the *sums*
    of the halves with equal noise on all nodes, which is measured here: every row adds 1 or -1 on
    each level. Sizes that are not a power of two are filled up with empty values. With several
    ordered attributes, a query is a product of one coefficient of each. Other attributes are
    counted by category. `TableSynopsis.count` answers ranges.

    Parameters
    ----------
    attributes
        The attributes whose codes are ordered; None for all.
    """

    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", checked_names(self.attributes))

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> TableSynopsis:
        """Run the mechanism: measure the coefficients and transform them back to counts."""
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
        return Product.of("Wavelet", domain, names, _haar)


def _haar(size: int) -> NDArray[np.int64]:
    """The matrix of the Haar coefficients of an attribute: shape (coefficients, size).

    The first row sums all codes. Each other row belongs to a node of the binary tree: the sum of
    its left half minus the sum of its right half.
    """
    codes = np.arange(size)
    rows = [np.ones((1, size), np.int64)]
    length = 1 << (size - 1).bit_length()
    width = length
    while width > 1:
        # Nodes of this level are `width` codes long.
        node = codes // width
        sign = np.where(codes % width < width // 2, 1, -1)
        rows.append((np.arange(length // width)[:, None] == node) * sign)
        width //= 2
    # Nodes whose codes are all beyond the size are left out.
    matrix = np.concatenate(rows)
    return matrix[matrix.any(axis=1)]
