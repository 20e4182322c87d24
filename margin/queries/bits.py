"""`BitTable`: a table with one bit a row and category, packed into words, on which queries are
counted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Integers, Words
from ..domain.domain import Domain
from ..errors import DomainError

__all__ = ["MAX_WORDS", "BitTable", "Lines", "Words", "pack_bits"]


MAX_WORDS = 1 << 31
"""The most words of a table that is held in memory: 16 GB. Rows beyond are counted in another
piece."""

_LINES = 4096  # that are unpacked together


@dataclass(frozen=True, kw_only=True, eq=False)
class BitTable:
    """Rows as bits: line `start[a]` says of each row whether attribute a is one, if a has two
    categories; else line `start[a] + v` says whether it is v.

    Attributes
    ----------
    domain
        The attributes.
    words
        Bit r % 64, from the lowest, of word r // 64 is that of row r; bits beyond the rows are
        zero. Unsigned 64-bit integers, shape (lines, words).
    start
        The first line of each attribute, -1 for one that was left out. Shape (attributes,).
    rows
        How many rows there are.
    """

    domain: Domain
    words: Words
    start: Integers
    rows: int

    @classmethod
    def pieces(
        cls,
        domain: Domain,
        used: NDArray[np.bool_],
        batches: Iterable[Mapping[str, Any]],
        *,
        words: int = MAX_WORDS,
    ) -> "Iterator[BitTable]":
        """The tables of some attributes of batches of codes: all rows in one where they fit, one of
        no rows if there are none.

        Parameters
        ----------
        domain
            The attributes.
        used
            Which of them to keep, shape (attributes,).
        batches
            The codes of each attribute, integers of shape (rows,).
        words
            The most words of a table.

        Raises
        ------
        DomainError
            When the lines of these attributes are too many to be held, whatever the rows.
        """
        lines = Lines.of(domain, used)
        if lines.count > words:
            raise DomainError(
                f"{lines.count} lines of bits take more than 16 GB: ask about fewer attributes"
            )
        most = words // lines.count  # words of a line
        names = [domain.attributes[axis] for axis in np.flatnonzero(used)]
        parts: list[Words] = []
        rows = 0
        for columns in _in_words(batches, names, 64 * most):
            count = len(columns[0])
            if (rows + count + 63) // 64 > most:
                yield lines.joined(parts, rows)
                parts, rows = [], 0
            parts.append(lines.packed(columns))
            rows += count
        yield lines.joined(parts, rows)

    @classmethod
    def of_codes(
        cls, domain: Domain, codes: NDArray[Any], used: NDArray[np.bool_] | None = None
    ) -> "BitTable":
        """The table of an array of codes, shape (rows, attributes)."""
        return Lines.of(domain, used).table(codes)

    @classmethod
    def of_words(cls, domain: Domain, words: Words, rows: int) -> "BitTable":
        """The table of all attributes whose bits are these.

        Raises
        ------
        DomainError
            When they have another shape, or bits beyond the rows.
        """
        lines = Lines.of(domain)
        if rows < 1 or words.dtype != np.uint64 or words.shape != (lines.count, (rows + 63) // 64):
            raise DomainError(
                f"the bits of {rows} rows have shape {(lines.count, (rows + 63) // 64)}, unsigned 64-bit"
            )
        if rows % 64 and (words[:, -1] >> np.uint64(rows % 64)).any():
            raise DomainError("there are bits beyond the last row")
        return cls(domain=domain, words=words, start=lines.start, rows=rows)

    def lines(self, attributes: NDArray[Any], values: NDArray[Any]) -> Integers:
        """The line of each literal "attribute has value": arrays of one shape. DomainError for
        other attributes."""
        first = self.start[attributes]
        if first.size and first.min() < 0:
            raise DomainError("the table of bits lacks an attribute of the queries")
        sizes = np.asarray(self.domain.sizes)
        lines: Integers = (
            first if (sizes == 2).all() else np.where(sizes[attributes] == 2, first, first + values)
        )
        return lines


@dataclass(frozen=True, kw_only=True, eq=False)
class Lines:
    """Which lines of a `BitTable` are of which attribute: made once for many tables.

    Attributes
    ----------
    domain
        The attributes.
    sizes
        The number of categories of each, shape (attributes,).
    start
        See `BitTable`.
    count
        How many lines there are.
    """

    domain: Domain
    sizes: Integers
    start: Integers
    count: int

    @classmethod
    def of(cls, domain: Domain, used: NDArray[np.bool_] | None = None) -> "Lines":
        """Those of some attributes, a flag each; of all when not given."""
        sizes = np.fromiter(domain.sizes, np.int64, len(domain))
        kept = np.ones(len(domain), np.bool_) if used is None else used
        ends = np.cumsum(np.where(kept, np.where(sizes == 2, 1, sizes), 0))
        start = np.where(kept, np.concatenate([[0], ends[:-1]]), -1)
        return cls(domain=domain, sizes=sizes, start=start, count=int(ends[-1]))

    def packed(self, columns: Sequence[NDArray[Any]]) -> Words:
        """The bits of some rows, given by a column of codes for each attribute that is kept: shape
        (lines, words)."""
        part = np.empty((self.count, (len(columns[0]) + 63) // 64), np.uint64)
        for axis, column in zip(np.flatnonzero(self.start >= 0).tolist(), columns, strict=True):
            first, size = self.start[axis], int(self.sizes[axis])
            if size == 2:
                part[first] = pack_bits(column[None] == 1)[0]
                continue
            for value in range(0, size, _LINES):
                values = np.arange(value, min(value + _LINES, size), dtype=column.dtype)
                part[first + values.astype(np.int64)] = pack_bits(column == values[:, None])
        return part

    def joined(self, parts: Sequence[Words], rows: int) -> BitTable:
        """The table of what `packed` made, each part but the last of a multiple of 64 rows."""
        words = np.concatenate(parts, axis=1) if parts else np.zeros((self.count, 0), np.uint64)
        return BitTable(domain=self.domain, words=words, start=self.start, rows=rows)

    def table(self, codes: NDArray[Any]) -> BitTable:
        """The table of an array of codes, shape (rows, attributes)."""
        words = np.empty((self.count, (len(codes) + 63) // 64), np.uint64)
        kept = self.start >= 0
        for some in _pieces(np.flatnonzero(kept & (self.sizes == 2)), _LINES):
            words[self.start[some]] = pack_bits(codes[:, some].T == 1)
        for axis in np.flatnonzero(kept & (self.sizes != 2)).tolist():
            for values in _pieces(np.arange(self.sizes[axis]), _LINES):
                words[self.start[axis] + values] = pack_bits(codes[:, axis] == values[:, None])
        return BitTable(domain=self.domain, words=words, start=self.start, rows=len(codes))


def pack_bits(flags: NDArray[np.bool_]) -> Words:
    """Truth values, shape (lines, rows), as words, shape (lines, ceil(rows / 64))."""
    lines, rows = flags.shape
    packed = np.zeros((lines, (rows + 63) // 64 * 8), np.uint8)
    packed[:, : (rows + 7) // 8] = np.packbits(flags, axis=1, bitorder="little")
    return packed.view("<u8").astype(np.uint64, copy=False)


def _in_words(
    batches: Iterable[Mapping[str, Any]], names: Sequence[str], most: int
) -> Iterator[list[NDArray[Any]]]:
    """The columns of batches, cut so that each piece but the last has a multiple of 64 rows, and
    none above `most`."""
    left: list[NDArray[Any]] = []
    for batch in batches:
        columns = [np.asarray(batch[name]) for name in names]
        if left and len(left[0]):
            columns = [np.concatenate(pair) for pair in zip(left, columns, strict=True)]
        whole = len(columns[0]) // 64 * 64
        for start in range(0, whole, most):
            yield [column[start : min(start + most, whole)] for column in columns]
        left = [column[whole:] for column in columns]
    if left and len(left[0]):
        yield left


def _pieces(array: NDArray[Any], length: int) -> Iterator[NDArray[Any]]:
    for start in range(0, len(array), length):
        yield array[start : start + length]
