"""Tables whose rows are sets of items: sparse matrices, files of transactions, columns of users and
items.

Their domain has one attribute, whose categories are the items that there may be: `Domain({"item":
1_000_000})`, or a list of names. It is as light for a million items as for ten. A row of the table
is a whole set: what one user holds.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .attribute import UNSEEN, Attribute
from .domain import Domain
from .encode import Batch, Encoder
from .errors import DataError

__all__ = ["Baskets", "HoldsSets", "Pairs", "SetSource", "Transactions", "baskets_of_matrix", "holders", "universe"]

Integers = NDArray[np.int64]

_MAX_LINE = 1 << 26


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
        raise DataError("rows that are sets need a domain of one attribute, whose categories are the items")
    (attribute,) = domain.values()
    if columns is not None and attribute.size != columns:
        raise DataError(f"the table has {columns} columns, but the domain has {attribute.size} items")
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
        raise DataError("rows are sets of items: use a mechanism that counts items, such as DPSense")

    def holds_sets(self, domain: Domain) -> bool:
        """That the rows are sets."""
        return True

    def baskets(self, domain: Domain) -> Baskets:
        """All rows."""
        raise NotImplementedError


@dataclass(frozen=True)
class Transactions(SetSource):
    """A text file of sets, one a line, items apart by white space or `delimiter` (the format of
    FIMI's data).

    An empty line is an empty set. Items are read as `Attribute` reads any value. `path` is that of
    the file.
    """

    path: "str | os.PathLike[str]"
    delimiter: str | None = None

    def check(self, domain: Domain) -> None:
        """Refuse, by a DataError, a file that is not there."""
        universe(domain)
        if not Path(self.path).is_file():
            raise DataError(f"data file {str(self.path)!r} does not exist or is not a file")

    def baskets(self, domain: Domain) -> Baskets:
        """All lines; DataError when one cannot be read or holds an item that the domain lacks."""
        self.check(domain)
        attribute, name = universe(domain), domain.attributes[0]
        known: dict[str, int] = {}
        numbers, codes, row, problem = [], [], -1, ""
        try:
            with Path(self.path).open(encoding="utf-8-sig") as file:
                for row, line in enumerate(file):
                    items = {
                        _code(attribute, text.strip(), known) for text in line.split(self.delimiter) if text.strip()
                    }
                    numbers += [row] * len(items)
                    codes += sorted(items)
                    if len(line) > _MAX_LINE:
                        raise UnicodeError
        except (OSError, UnicodeError):
            problem = f"data file {str(self.path)!r} cannot be read as text in UTF-8"
        if problem:
            raise DataError(problem)
        if UNSEEN in known.values():
            raise DataError(f"{str(self.path)!r} holds an item that attribute {name!r} does not provide for")
        return Baskets.of(np.array(numbers, np.int64), np.array(codes, np.int64), row + 1)


@dataclass(frozen=True, eq=False)
class Pairs(SetSource):
    """A table with a row for each user and item; a user's items are one set. Users without items
    are in no row.

    Parameters
    ----------
    data
        A data frame, a dict of columns, or the path of a CSV or Parquet file.
    user, item
        The names of the columns.
    """

    data: Any = field(repr=False)
    user: str = "user"
    item: str = "item"

    def baskets(self, domain: Domain) -> Baskets:
        """All users, in an order that says nothing; DataError where a row does not say whose it is
        (`values.identity`)."""
        import pyarrow as pa

        from .units import identities

        encoder = Encoder(domain.attributes[0], universe(domain))
        users: list[Any] = []
        codes: list[Integers] = []
        for whose, items in self._columns():
            users.append(identities(self.user, whose))
            codes.append(encoder.encode(items).astype(np.int64))
        if not users:
            return Baskets.of(np.empty(0, np.int64), np.empty(0, np.int64), 0)
        encoded = pa.chunked_array(users).combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return Baskets.of(numbers, np.concatenate(codes), len(encoded.dictionary))

    def _columns(self) -> Iterator[Sequence[Any]]:
        """Batches of the two columns."""
        from .source import Tabular, open_source

        source = open_source(self.data)
        if not isinstance(source, Tabular):
            raise DataError("pairs of users and items are read from a data frame, a dict of columns or a file")
        return source.columns([self.user, self.item])


def baskets_of_matrix(matrix: Any) -> Baskets:
    """The sets of the rows of a sparse matrix of scipy in CSR form, without duplicates and without
    stored zeros."""
    return Baskets(np.diff(matrix.indptr).astype(np.int64), np.asarray(matrix.indices, np.int64))


def _code(attribute: Attribute, text: str, known: dict[str, int]) -> int:
    code = known.get(text)
    if code is None:
        code = known[sys.intern(text)] = attribute.code(text)
    return code
