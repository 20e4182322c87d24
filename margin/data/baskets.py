"""`Baskets`: tables whose rows are sets of items.

A row is the whole set of one user. The domain of such a table has one attribute whose categories
are the items, such as `Domain({"item": 1_000_000})` or a list of names. It takes as little memory
for a million items as for ten.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._types import Integers
from ..domain.attribute import Attribute
from ..domain.domain import Domain
from ..errors import DataError
from .encode import Batch

__all__ = ["Baskets", "HoldsSets", "SetSource", "baskets_of_matrix", "holders", "universe"]


@dataclass(
    frozen=True,
    eq=False,
)
class Baskets:
    """The rows of a table of sets, stored as two arrays. A set contains an item at most once.

    Attributes
    ----------
    sizes
        The number of items in each set: shape (sets,).
    items
        The codes of the items, set by set: shape (sum of sizes,).
    """

    sizes: Integers
    items: Integers

    @classmethod
    def of(
        cls,
        sets: Integers,
        items: Integers,
        count: int,
    ) -> "Baskets":
        """Build sets from pairs of a set's number, 0 ... count - 1, and an item's code.

        The pairs are two arrays of shape (pairs,). Repeated pairs count once.
        """
        if not items.size:
            return cls(np.zeros(count, np.int64), np.empty(0, np.int64))
        width = int(items.max()) + 1
        pairs = np.unique(sets * width + items)
        return cls(np.bincount(pairs // width, minlength=count).astype(np.int64), pairs % width)


def universe(domain: Domain, columns: int | None = None) -> Attribute:
    """The single attribute of a domain of sets; its categories are the items.

    `columns` is the number of columns of the table if each stands for an item.

    Raises
    ------
    DataError
        When the domain has more attributes than one, or when the number of its categories is not
        the number of columns.
    """
    if len(domain) != 1:
        raise DataError(
            "a table of sets needs a domain of one attribute, whose categories are the items; this "
            f"domain has {len(domain)} attributes, so declare the attribute of the items only"
        )
    (attribute,) = domain.values()
    if columns is not None and attribute.size != columns:
        raise DataError(
            f"the table has {columns} columns, but the domain has {attribute.size} items; declare "
            "one category for each column"
        )
    return attribute


@runtime_checkable
class HoldsSets(Protocol):
    """The interface of a source whose rows can be sets of items."""

    def holds_sets(self, domain: Domain, /) -> bool:
        """Whether the rows are sets of the categories of the domain's one attribute."""

    def baskets(self, domain: Domain, /) -> Baskets:
        """Read all rows as sets."""


def holders(source: object, domain: Domain) -> Integers | None:
    """Count the rows that contain each item, without noise: shape (items,). None if the source does
    not hold sets. The result is not private."""
    if not isinstance(source, HoldsSets) or not source.holds_sets(domain):
        return None
    items = source.baskets(domain).items
    return np.bincount(items, minlength=domain.sizes[0]).astype(np.int64)


class SetSource:
    """The base of sources whose rows are sets. Only mechanisms that count items can read them,
    because a set does not belong to one cell of a table."""

    def check(self, domain: Domain) -> None:
        """Refuse a domain of several attributes with a DataError."""
        universe(domain)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """Always raise a DataError: a set does not belong to one cell of a table. No arrays are
        returned."""
        raise DataError(
            "this mechanism needs rows with one value for each attribute, but the rows are sets of "
            "items; use a mechanism that counts items, such as DPSense"
        )

    def holds_sets(self, domain: Domain) -> bool:
        """Always true: the rows are sets."""
        return True

    def baskets(self, domain: Domain) -> Baskets:
        """Read all rows as sets."""
        raise NotImplementedError


def baskets_of_matrix(matrix: Any) -> Baskets:
    """The rows of a scipy CSR matrix as sets of columns. The matrix must have no duplicates and no
    stored zeros."""
    sizes = np.diff(matrix.indptr).astype(np.int64)
    return Baskets(sizes, np.asarray(matrix.indices, np.int64))
