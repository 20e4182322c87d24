"""`Baskets`: rows that are sets of items.

Their domain has one attribute, whose categories are the items: `Domain({"item": 1_000_000})`, or a
list of names. It is as light for a million items as for ten. A row of the table is a whole set:
what one user holds.
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


@dataclass(frozen=True, eq=False)
class Baskets:
    """Sets of items, each once a set.

    Attributes
    ----------
    sizes
        How many items each set has: shape (sets,).
    items
        The codes of the items, one set after another: shape (sum of sizes,).
    """

    sizes: Integers
    items: Integers

    @classmethod
    def of(cls, sets: Integers, items: Integers, count: int) -> "Baskets":
        """From pairs of a set's number, 0 ... count - 1, and an item; repeated pairs count once."""
        if not items.size:
            return cls(np.zeros(count, np.int64), np.empty(0, np.int64))
        width = int(items.max()) + 1
        pairs = np.unique(sets * width + items)
        return cls(np.bincount(pairs // width, minlength=count).astype(np.int64), pairs % width)


def universe(domain: Domain, columns: int | None = None) -> Attribute:
    """The attribute whose categories are the items.

    Raises
    ------
    DataError
        When the domain has more attributes, or not as many categories as there are columns.
    """
    if len(domain) != 1:
        raise DataError(
            "rows that are sets need a domain of one attribute, whose categories are the items"
        )
    (attribute,) = domain.values()
    if columns is not None and attribute.size != columns:
        raise DataError(
            f"the table has {columns} columns, but the domain has {attribute.size} items"
        )
    return attribute


@runtime_checkable
class HoldsSets(Protocol):
    """A source whose rows are sets, for some domains."""

    def holds_sets(self, domain: Domain, /) -> bool:
        """Whether the rows are sets of the categories of the one attribute of the domain."""

    def baskets(self, domain: Domain, /) -> Baskets:
        """All rows."""


def holders(source: object, domain: Domain) -> Integers | None:
    """How many rows of a source of sets hold each item of its domain, shape (items,); None of
    others. Not private."""
    if not isinstance(source, HoldsSets) or not source.holds_sets(domain):
        return None
    return np.bincount(source.baskets(domain).items, minlength=domain.sizes[0]).astype(np.int64)


class SetSource:
    """Rows that are sets; see the subclasses. Only what counts items can read it: a set is not in
    one cell."""

    def check(self, domain: Domain) -> None:
        """Refuse a domain of several attributes."""
        universe(domain)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """Refused by a DataError: rows that are sets are in no cell of a table. No arrays come
        out."""
        raise DataError(
            "rows are sets of items: use a mechanism that counts items, such as DPSense"
        )

    def holds_sets(self, domain: Domain) -> bool:
        """That the rows are sets."""
        return True

    def baskets(self, domain: Domain) -> Baskets:
        """All rows."""
        raise NotImplementedError


def baskets_of_matrix(matrix: Any) -> Baskets:
    """The sets of the rows of a sparse matrix of scipy in CSR form, without duplicates and without
    stored zeros."""
    return Baskets(np.diff(matrix.indptr).astype(np.int64), np.asarray(matrix.indices, np.int64))
