"""Sources for wide tables of binary attributes, as packed bits or as a sparse matrix. They may have
hundreds of thousands of columns."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._numbers import shown
from .._types import Words
from ..domain.domain import Domain
from ..errors import DataError
from ..queries import BitTable
from .baskets import Baskets, baskets_of_matrix, universe
from .encode import ROWS, Batch, quietly

__all__ = ["PackedSource", "SparseSource"]

_CELLS = 1 << 26
"""Largest number of cells, rows times columns, in a batch of codes."""

_COLUMNS = 1 << 12
"""Number of columns of a sparse matrix that are packed together."""


class PackedSource:
    """A table of binary attributes as packed bits. The array of bits is used without a copy.

    The columns are in the order of the domain. The code of row r in column c is bit r % 64, counted
    from the lowest, of `words[c, r // 64]`.

    Parameters
    ----------
    words
        The bits: unsigned 64-bit integers, shape (attributes, ceil(rows / 64)). The bits after the
        last row are zero.
    rows
        The number of rows.

    Raises
    ------
    DataError
        When `words` or `rows` has another form.

    Examples
    --------
    >>> source = PackedSource(np.array([[0b011], [0b110]], np.uint64), rows=3)
    >>> [batch["b"].tolist() for batch in source.batches(Domain({"a": 2, "b": 2}))]
    [[0, 1, 1]]
    """

    def __init__(
        self,
        words: Words,
        *,
        rows: int,
    ) -> None:
        array = np.asarray(words)
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
            raise DataError(
                f"rows ({shown(rows)}) must be a whole number >= 0; give the number of packed rows"
            )
        if array.dtype != np.uint64 or array.ndim != 2 or array.shape[1] != (rows + 63) // 64:
            raise DataError(
                "packed bits must be unsigned 64-bit integers (numpy.uint64) of shape (attributes, "
                f"{(rows + 63) // 64}) for {rows} rows, but they are {array.dtype} of shape "
                f"{array.shape}; pack 64 rows into each integer"
            )
        if rows % 64 and (array[:, -1] >> np.uint64(rows % 64)).any():
            raise DataError(
                "the unused bits after the last row must be zero, but some of them are one; set "
                "them to zero"
            )
        self._words = np.ascontiguousarray(array)
        self._rows = rows

    def check(self, domain: Domain) -> None:
        """Refuse a domain with another number of attributes, or with an attribute that does not
        have two categories."""
        _check(domain, self._words.shape[0])

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, in batches of rows."""
        self.check(domain)
        # A batch is a whole number of words.
        most = min(ROWS, _CELLS // max(1, len(domain)))
        step = max(64, most // 64 * 64)
        for start in range(0, self._rows, step):
            count = min(step, self._rows - start)
            stop = start + count
            words = np.ascontiguousarray(self._words[:, start // 64 : (stop + 63) // 64])
            octets = words.astype("<u8").view(np.uint8)
            codes = np.unpackbits(
                octets,
                axis=1,
                count=count,
                bitorder="little",
            )
            yield dict(zip(domain, codes, strict=True))

    def bits(
        self,
        domain: Domain,
        used: NDArray[np.bool_],
    ) -> BitTable:
        """Give the bits of all attributes, without a copy. `used` is ignored."""
        self.check(domain)
        start = np.arange(len(domain))
        return BitTable(
            domain=domain,
            words=self._words,
            start=start,
            rows=self._rows,
        )

    @property
    def rows(self) -> int:
        """The number of rows. If neighbours add or remove rows, it is as confidential as the
        data."""
        return self._rows


class SparseSource:
    """A table of binary attributes as a sparse matrix of scipy. Entry (row, attribute) is the code.

    If the domain has one attribute with as many categories as there are columns, each row is a set
    of items instead; see `baskets`.

    Parameters
    ----------
    matrix
        A matrix of shape (rows, attributes) in any of scipy's formats. Values other than 0 and 1
        are refused with a DataError.
    """

    def __init__(self, matrix: Any) -> None:
        rows = _own(matrix)
        if rows.ndim != 2 or not np.isin(rows.data, (0, 1)).all():
            found = "other values" if rows.ndim == 2 else f"{rows.ndim} dimensions"
            raise DataError(
                "a sparse matrix must have two dimensions and hold only the values 0 and 1, but "
                f"this one has {found}; store 1 where an attribute has category 1, and 0 elsewhere"
            )
        rows.eliminate_zeros()
        self._matrix = rows

    def check(self, domain: Domain) -> None:
        """Refuse a domain with another number of attributes, or with an attribute that does not
        have two categories. Domains for which the rows are sets are accepted; see `baskets`."""
        if not self.holds_sets(domain):
            _check(domain, self._matrix.shape[1])

    def baskets(self, domain: Domain) -> Baskets:
        """The rows as sets of items. The items are the categories of the domain's one attribute,
        one for each column."""
        universe(domain, self._matrix.shape[1])
        return baskets_of_matrix(self._matrix)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """The codes of all attributes, in batches of rows."""
        self._refuse_sets(domain)
        step = max(1, min(ROWS, _CELLS // max(1, len(domain))))
        for start in range(0, self._matrix.shape[0], step):
            block = self._matrix[start : start + step].toarray().astype(np.uint8)
            codes = np.ascontiguousarray(block.T)
            yield dict(zip(domain, codes, strict=True))

    def bits(
        self,
        domain: Domain,
        used: NDArray[np.bool_],
    ) -> BitTable:
        """Pack the flagged attributes into bits. `used` has one flag for each attribute of the
        domain."""
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
        return BitTable(
            domain=domain,
            words=bits,
            start=first,
            rows=self.rows,
        )

    @property
    def rows(self) -> int:
        """The number of rows. If neighbours add or remove rows, it is as confidential as the
        data."""
        return int(self._matrix.shape[0])

    def holds_sets(self, domain: Domain) -> bool:
        """Whether the rows are sets of the categories of the domain's one attribute."""
        columns = self._matrix.shape[1]
        return len(domain) == 1 and columns > 1 and domain.sizes[0] == columns

    def _refuse_sets(self, domain: Domain) -> None:
        if self.holds_sets(domain):
            raise DataError(
                "this mechanism needs rows with one value for each attribute, but the rows are "
                "sets of items; use a mechanism that counts items, such as DPSense"
            )
        self.check(domain)


def _own(matrix: Any) -> Any:
    """A sparse matrix as a CSR matrix without duplicates, checked; the given one stays as it is.

    A matrix may carry flags that say that it has no duplicates. They are not trusted: an item that
    a row holds several times would count several times.
    """
    given = matrix.tocsr()
    rows = type(given)((given.data, given.indices, given.indptr), shape=given.shape)
    quietly(
        lambda: rows.check_format(full_check=True),
        "a sparse matrix must have indices within its shape, but this one has not; make it anew",
    )
    if not rows.has_canonical_format or not rows.data.all():
        # Duplicates and zeros are removed in place, so not from the given arrays.
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _check(domain: Domain, columns: int) -> None:
    """Refuse a domain that does not have one binary attribute for each column."""
    if columns != len(domain):
        raise DataError(
            f"the table has {columns} columns, but the domain has {len(domain)} attributes; "
            "declare one attribute for each column"
        )
    for name, size in zip(domain, domain.sizes, strict=True):
        if size != 2:
            raise DataError(
                "a packed or sparse table needs attributes of two categories each, but the domain "
                f"declares {size} for {name!r}; declare two, or pass the rows as a table with "
                "named columns"
            )
