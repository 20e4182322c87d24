"""`BitTable`: a table as packed bits, one for each row and category. Queries are counted on it."""

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
"""The largest number of 64-bit words in one table: 16 GB. Further rows go into another table."""

_LINES = 4096
"""The largest number of lines that are packed in one step; it bounds the memory for flags."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class BitTable:
    """A table whose rows are stored as lines of bits, one bit for each row.

    An attribute a of two categories has one line, `start[a]`: its bits are the codes. Any other
    attribute has one line for each category: the bits of line `start[a] + v` are one in the rows
    with code v.

    Attributes
    ----------
    domain
        The attributes.
    words
        The bits: uint64, shape (lines, words). Row r is bit r % 64, counted from the lowest, of
        word r // 64. The bits after the last row are zero.
    start
        The first line of each attribute, or -1 if the table leaves the attribute out: shape
        (attributes,).
    rows
        The number of rows.
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
        """Pack batches of codes into tables of bits. All rows go into one table if they fit. If
        there is no row, the one table is empty.

        Parameters
        ----------
        domain
            The attributes.
        used
            Whether to keep each attribute: shape (attributes,).
        batches
            The codes of some rows: for each attribute name, integers of shape (rows,).
        words
            The largest number of words in one table.

        Raises
        ------
        DomainError
            When even one word a line is too much for a table, whatever the number of rows.
        """
        lines = Lines.of(domain, used)
        if lines.count > words:
            raise DomainError(
                f"a table of packed bits may have at most {words} lines, one for each category, "
                f"but the attributes of the queries have {lines.count} categories; ask about fewer "
                "attributes"
            )
        most = words // lines.count  # words in one line
        names = [domain.attributes[axis] for axis in np.flatnonzero(used)]
        parts: list[Words] = []
        rows = 0
        for columns in _in_words(batches, names, 64 * most):
            count = len(columns[0])
            # A piece that does not fit any more begins a new table.
            if (rows + count + 63) // 64 > most:
                yield lines.joined(parts, rows)
                parts = []
                rows = 0
            parts.append(lines.packed(columns))
            rows += count
        yield lines.joined(parts, rows)

    @classmethod
    def of_codes(
        cls,
        domain: Domain,
        codes: NDArray[Any],
        used: NDArray[np.bool_] | None = None,
    ) -> "BitTable":
        """Pack an array of codes of shape (rows, attributes) into a table of bits.

        `used` tells which attributes to keep: shape (attributes,); all by default.
        """
        return Lines.of(domain, used).table(codes)

    @classmethod
    def of_words(
        cls,
        domain: Domain,
        words: Words,
        rows: int,
    ) -> "BitTable":
        """Make a table of all attributes from bits that are packed already, as in `words`.

        Raises
        ------
        DomainError
            When `words` has another shape or type, or a bit after the last row is one.
        """
        lines = Lines.of(domain)
        shape = lines.count, (rows + 63) // 64
        if rows < 1 or words.dtype != np.uint64 or words.shape != shape:
            raise DomainError(
                f"words must be unsigned 64-bit integers (numpy.uint64) of shape {shape}, one bit "
                f"for each of {rows} rows (at least 1), but they are {words.dtype} of shape "
                f"{words.shape}; pack the bits with BitTable.of_codes"
            )
        used_bits = rows % 64
        if used_bits and (words[:, -1] >> np.uint64(used_bits)).any():
            raise DomainError(
                "the bits after the last row must be zero, but some of them are one; set the bits "
                f"from {used_bits} on to zero in the last word of each line"
            )
        return cls(
            domain=domain,
            words=words,
            start=lines.start,
            rows=rows,
        )

    def lines(
        self,
        attributes: NDArray[Any],
        values: NDArray[Any],
    ) -> Integers:
        """Find the line of bits of each literal "attribute has value".

        The two arguments and the result are arrays of one shape; values are codes.

        Raises
        ------
        DomainError
            When the table leaves out one of the attributes.
        """
        first: Integers = self.start[attributes]
        if first.size and first.min() < 0:
            raise DomainError(
                "the table of packed bits must hold every attribute that the queries use, but it "
                "leaves one out; make the table again with all of them"
            )
        sizes = np.asarray(self.domain.sizes)
        if (sizes == 2).all():
            return first
        lines: Integers = np.where(sizes[attributes] == 2, first, first + values)
        return lines


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Lines:
    """The layout of a `BitTable`: the lines of each attribute. One layout serves many tables.

    Attributes
    ----------
    domain
        The attributes.
    sizes
        The number of categories of each attribute: shape (attributes,).
    start
        The first line of each attribute, or -1 if it is left out: shape (attributes,).
    count
        The number of lines.
    """

    domain: Domain
    sizes: Integers
    start: Integers
    count: int

    @classmethod
    def of(
        cls,
        domain: Domain,
        used: NDArray[np.bool_] | None = None,
    ) -> "Lines":
        """The layout of the flagged attributes; of all attributes if no flags are given."""
        sizes = np.fromiter(domain.sizes, np.int64, len(domain))
        kept = np.ones(len(domain), np.bool_) if used is None else used
        lines = np.where(sizes == 2, 1, sizes)
        ends = np.cumsum(np.where(kept, lines, 0))
        start = np.where(kept, np.concatenate([[0], ends[:-1]]), -1)
        return cls(
            domain=domain,
            sizes=sizes,
            start=start,
            count=int(ends[-1]),
        )

    def packed(self, columns: Sequence[NDArray[Any]]) -> Words:
        """Pack some rows into bits: shape (lines, words). `columns` holds the codes of the kept
        attributes, each of shape (rows,)."""
        rows = len(columns[0])
        kept = np.flatnonzero(self.start >= 0).tolist()
        part = np.empty((self.count, (rows + 63) // 64), np.uint64)
        for axis, column in zip(kept, columns, strict=True):
            first = self.start[axis]
            size = int(self.sizes[axis])
            # Two categories: the code is the bit.
            if size == 2:
                part[first] = pack_bits(column[None] == 1)[0]
                continue
            # More: one line a category, some thousand categories at a time.
            for value in range(0, size, _LINES):
                values = np.arange(value, min(value + _LINES, size), dtype=column.dtype)
                lines = first + values.astype(np.int64)
                part[lines] = pack_bits(column == values[:, None])
        return part

    def joined(
        self,
        parts: Sequence[Words],
        rows: int,
    ) -> BitTable:
        """Join parts made by `packed` to one table. Each part except the last has a multiple of 64
        rows."""
        empty = np.zeros((self.count, 0), np.uint64)
        words = np.concatenate(parts, axis=1) if parts else empty
        return BitTable(
            domain=self.domain,
            words=words,
            start=self.start,
            rows=rows,
        )

    def table(self, codes: NDArray[Any]) -> BitTable:
        """Pack an array of codes of shape (rows, attributes) into a table of bits."""
        words = np.empty((self.count, (len(codes) + 63) // 64), np.uint64)
        kept = self.start >= 0
        # Attributes of two categories: the code is the bit.
        binary = np.flatnonzero(kept & (self.sizes == 2))
        for some in _pieces(binary, _LINES):
            words[self.start[some]] = pack_bits(codes[:, some].T == 1)
        # Other attributes: one line a category.
        for axis in np.flatnonzero(kept & (self.sizes != 2)).tolist():
            for values in _pieces(np.arange(self.sizes[axis]), _LINES):
                lines = self.start[axis] + values
                words[lines] = pack_bits(codes[:, axis] == values[:, None])
        return BitTable(
            domain=self.domain,
            words=words,
            start=self.start,
            rows=len(codes),
        )


def pack_bits(flags: NDArray[np.bool_]) -> Words:
    """Pack truth values of shape (lines, rows) into words of shape (lines, ceil(rows / 64))."""
    lines, rows = flags.shape
    bytes_in_words = (rows + 63) // 64 * 8
    packed = np.zeros((lines, bytes_in_words), np.uint8)
    packed[:, : (rows + 7) // 8] = np.packbits(
        flags,
        axis=1,
        bitorder="little",
    )
    return packed.view("<u8").astype(np.uint64, copy=False)


def _in_words(
    batches: Iterable[Mapping[str, Any]],
    names: Sequence[str],
    most: int,
) -> Iterator[list[NDArray[Any]]]:
    """Cut batches into pieces of at most `most` rows, which is a multiple of 64. Each piece except
    the last has a multiple of 64 rows."""
    left: list[NDArray[Any]] = []
    for batch in batches:
        columns = [np.asarray(batch[name]) for name in names]
        # Rows left over from the batch before come first.
        if left and len(left[0]):
            columns = [np.concatenate(pair) for pair in zip(left, columns, strict=True)]
        whole = len(columns[0]) // 64 * 64
        for start in range(0, whole, most):
            stop = min(start + most, whole)
            yield [column[start:stop] for column in columns]
        left = [column[whole:] for column in columns]
    if left and len(left[0]):
        yield left


def _pieces(array: NDArray[Any], length: int) -> Iterator[NDArray[Any]]:
    for start in range(0, len(array), length):
        yield array[start : start + length]
