"""Sources whose rows are sets of items: files of transactions, and tables of users and items."""

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
from .rows_per_person import identities
from .source import Tabular

__all__ = ["Pairs", "Transactions"]

_MAX_LINE = 1 << 26
"""Largest number of characters in a line of transactions."""


@dataclass(frozen=True)
class Transactions(SetSource):
    """A text file with one set per line, in the format of the FIMI data sets.

    An empty line is an empty set. Items have the codes that `Attribute.code` gives their texts.

    Parameters
    ----------
    path
        The path of the file, encoded in UTF-8.
    delimiter
        The text between two items of a line; any white space if None.
    """

    path: "str | os.PathLike[str]"
    delimiter: str | None = None

    def check(self, domain: Domain) -> None:
        """Refuse a file that does not exist, with a DataError."""
        universe(domain)
        if not Path(self.path).is_file():
            raise DataError(
                f"data file {str(self.path)!r} does not exist or is not a file; check the path"
            )

    def baskets(self, domain: Domain) -> Baskets:
        """Read all lines as sets. DataError when the file cannot be read, or when it contains an
        item for which the domain has no category."""
        self.check(domain)
        attribute = universe(domain)
        name = domain.attributes[0]
        known: dict[str, int] = {}
        numbers: list[int] = []
        codes: list[int] = []
        row = -1
        problem = ""
        try:
            with Path(self.path).open(encoding="utf-8-sig") as file:
                for row, line in enumerate(file):
                    texts = [text.strip() for text in line.split(self.delimiter)]
                    items = {_code(attribute, text, known) for text in texts if text}
                    numbers += [row] * len(items)
                    codes += sorted(items)
                    if len(line) > _MAX_LINE:
                        problem = (
                            f"each line must have at most {_MAX_LINE:,} characters, but a line of "
                            f"data file {str(self.path)!r} has more; write one set of items per "
                            "line"
                        )
                        break
        except OSError as error:
            reason = error.strerror or type(error).__name__
            problem = (
                f"data file {str(self.path)!r} cannot be read: {reason}; check its permissions"
            )
        except UnicodeError:
            problem = f"data file {str(self.path)!r} must be text in UTF-8, but is not; save it so"
        if problem:
            raise DataError(problem)
        if UNSEEN in known.values():
            raise DataError(
                f"every item of a set must be a category of attribute {name!r}, but "
                f"{str(self.path)!r} holds an item that is not; declare all items, or declare "
                "other=..."
            )
        return Baskets.of(np.array(numbers, np.int64), np.array(codes, np.int64), row + 1)


@dataclass(
    frozen=True,
    eq=False,
)
class Pairs(SetSource):
    """A table with one row for each pair of a user and an item. The items of a user form one set.
    Users without items have no row, so they have no set.

    Parameters
    ----------
    data
        A data frame, a dict of columns, or the path of a CSV or Parquet file.
    user, item
        The names of the columns with the users and the items.
    """

    data: Any = field(repr=False)
    user: str = "user"
    item: str = "item"

    def baskets(self, domain: Domain) -> Baskets:
        """Read the sets of all users, in order of first occurrence. DataError when a row has no
        user; see `values.identity`."""
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
        """Read the two columns batch by batch: each batch is [users, items]."""
        source = open_source(self.data)
        if not isinstance(source, Tabular):
            raise DataError(
                "pairs of users and items must come from a table with named columns, but "
                f"{type(source).__name__} has none; pass a data frame, a dict of columns or a file"
            )
        return source.columns([self.user, self.item])


def _code(
    attribute: Attribute,
    text: str,
    known: dict[str, int],
) -> int:
    """The code of an item, remembered in `known`."""
    code = known.get(text)
    if code is None:
        code = known[sys.intern(text)] = attribute.code(text)
    return code
