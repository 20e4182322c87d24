"""Tables whose rows are sets of items: files of transactions, and columns of users and items."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._types import Integers
from ..domain.attribute import UNSEEN, Attribute
from ..domain.domain import Domain
from ..errors import DataError
from .baskets import Baskets, SetSource, universe
from .encode import Encoder
from .opening import open_source
from .source import Tabular
from .units import identities

__all__ = ["Pairs", "Transactions"]

_MAX_LINE = 1 << 26


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
                        _code(attribute, text.strip(), known)
                        for text in line.split(self.delimiter)
                        if text.strip()
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
            raise DataError(
                f"{str(self.path)!r} holds an item that attribute {name!r} does not provide for"
            )
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
        source = open_source(self.data)
        if not isinstance(source, Tabular):
            raise DataError(
                "pairs of users and items are read from a data frame, a dict of columns or a file"
            )
        return source.columns([self.user, self.item])


def _code(attribute: Attribute, text: str, known: dict[str, int]) -> int:
    code = known.get(text)
    if code is None:
        code = known[sys.intern(text)] = attribute.code(text)
    return code
