"""Wide tables of two categories an attribute, packed or sparse: hundreds of thousands of columns,
read as they are."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Words
from ..domain.domain import Domain
from ..errors import DataError
from ..queries import BitTable
from .baskets import Baskets, baskets_of_matrix, universe
from .encode import ROWS, Batch

__all__ = ["PackedSource", "SparseSource"]

_CELLS = 1 << 26  # that are written out at a time
_COLUMNS = 1 << 12


class PackedSource:
    """The rows of packed bits: of column c, that of row r is bit r % 64, from the lowest, of
    `words[c, r // 64]`.

    Attributes of two categories each, one a column, in the order of the domain. The array is used
    as it is, not copied.

    Parameters
    ----------
    words
        Unsigned 64-bit integers, shape (attributes, ceil(rows / 64)); bits beyond the rows are
        zero.
    rows
        How many rows there are.

    Raises
    ------
    DataError
        When the array is not of that form.

    Examples
    --------
    >>> source = PackedSource(np.array([[0b011], [0b110]], np.uint64), rows=3)
    >>> [batch["b"].tolist() for batch in source.batches(Domain({"a": 2, "b": 2}))]
    [[0, 1, 1]]
    """

    def __init__(self, words: Words, *, rows: int) -> None:
        array = np.asarray(words)
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
            raise DataError("rows must be a whole number >= 0")
        if array.dtype != np.uint64 or array.ndim != 2 or array.shape[1] != (rows + 63) // 64:
            raise DataError(
                "packed bits must be unsigned 64-bit integers of shape (attributes, ceil(rows / 64))"
            )
        if rows % 64 and (array[:, -1] >> np.uint64(rows % 64)).any():
            raise DataError("packed bits beyond the last row must be zero")
        self._words = np.ascontiguousarray(array)
        self._rows = rows

    def check(self, domain: Domain) -> None:
        """Refuse a domain with another number of attributes, or one that has not two categories."""
        _check(domain, self._words.shape[0])

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, some rows at a time."""
        self.check(domain)
        step = max(64, min(ROWS, _CELLS // max(1, len(domain))) // 64 * 64)
        for start in range(0, self._rows, step):
            count = min(step, self._rows - start)
            words = np.ascontiguousarray(self._words[:, start // 64 : (start + count + 63) // 64])
            codes = np.unpackbits(
                words.astype("<u8").view(np.uint8), axis=1, count=count, bitorder="little"
            )
            yield dict(zip(domain, codes, strict=True))

    def bits(self, domain: Domain, used: NDArray[np.bool_]) -> BitTable:
        """The bits as they are."""
        self.check(domain)
        return BitTable(
            domain=domain, words=self._words, start=np.arange(len(domain)), rows=self._rows
        )

    @property
    def rows(self) -> int:
        """How many rows there are; as confidential as the data, where rows are added or removed."""
        return self._rows


class SparseSource:
    """The rows of a sparse matrix of scipy, shape (rows, attributes): a stored value that is not
    zero is category 1.

    Parameters
    ----------
    matrix
        In any of scipy's formats. Values other than zero and one are refused by a DataError.
    """

    def __init__(self, matrix: Any) -> None:
        rows = matrix.tocsr()
        rows.sum_duplicates()
        if rows.ndim != 2 or not np.isin(rows.data, (0, 1)).all():
            raise DataError("a sparse matrix must have two dimensions and hold zeros and ones only")
        rows.eliminate_zeros()
        self._matrix = rows

    def check(self, domain: Domain) -> None:
        """Refuse a domain with another number of attributes, or one that has not two categories;
        but see `baskets`."""
        if not self.holds_sets(domain):
            _check(domain, self._matrix.shape[1])

    def baskets(self, domain: Domain) -> Baskets:
        """The rows as sets of the categories of the one attribute of the domain, as many as
        columns."""
        universe(domain, self._matrix.shape[1])
        return baskets_of_matrix(self._matrix)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, some rows at a time."""
        self._refuse_sets(domain)
        step = max(1, min(ROWS, _CELLS // max(1, len(domain))))
        for start in range(0, self._matrix.shape[0], step):
            codes = np.ascontiguousarray(
                self._matrix[start : start + step].toarray().astype(np.uint8).T
            )
            yield dict(zip(domain, codes, strict=True))

    def bits(self, domain: Domain, used: NDArray[np.bool_]) -> BitTable:
        """The bits of the attributes that are used, some columns at a time."""
        self._refuse_sets(domain)
        columns = self._matrix.tocsc()
        places = np.flatnonzero(used)
        words = (self.rows + 63) // 64
        bits = np.zeros((places.size, words), np.uint64)
        for start in range(0, places.size, _COLUMNS):
            part = columns[:, places[start : start + _COLUMNS]].tocoo()
            ones = np.uint64(1) << (part.row % 64).astype(np.uint64)
            np.bitwise_or.at(bits, (part.col + start, part.row // 64), ones)
        first = np.full(len(domain), -1, np.int64)
        first[places] = np.arange(places.size)
        return BitTable(domain=domain, words=bits, start=first, rows=self.rows)

    @property
    def rows(self) -> int:
        """How many rows there are; as confidential as the data, where rows are added or removed."""
        return int(self._matrix.shape[0])

    def holds_sets(self, domain: Domain) -> bool:
        """Whether the rows are sets of the categories of the one attribute of the domain."""
        columns = self._matrix.shape[1]
        return len(domain) == 1 and columns > 1 and domain.sizes[0] == columns

    def _refuse_sets(self, domain: Domain) -> None:
        if self.holds_sets(domain):
            raise DataError(
                "rows are sets of items: use a mechanism that counts items, such as DPSense"
            )
        self.check(domain)


def _check(domain: Domain, columns: int) -> None:
    if columns != len(domain):
        raise DataError(
            f"the table has {columns} columns, but the domain has {len(domain)} attributes"
        )
    if set(domain.sizes) != {2}:
        raise DataError("a packed or sparse table has attributes of two categories only")
