"""The cells of a table of any size, each packed in one or more 64-bit words: packing, sorting,
counting, and spreading counts over trees.

Nothing here is random, so the tasks of a cluster may use it.
"""

import math
import operator
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from .._types import Integers
from ..errors import DomainError
from .axes import Axis, Halves, Leaves, Level, Tree

__all__ = ["Grid", "among", "counted", "distinct", "in_order", "merged", "ordered", "without"]


_WORD = 1 << 62
"""Largest number of cells that one word numbers."""

_BLOCK = 1 << 14
"""Number of nodes that are unpacked together; they fit in the processor's cache."""


class Grid:
    """The numbering of the cells of a huge table: each cell is a row of 64-bit words below 2**62.

    A cell is a combination of nodes, one of each axis.

    A word is the cell number in the table of some consecutive axes, the last axis varying fastest.
    So the order of the words is the order of the nodes.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        given = tuple(axes)
        others = [type(axis) for axis in given if type(axis) not in (Leaves, Tree, Halves)]
        if others:
            raise DomainError(
                "each axis must be a Leaves, Tree or Halves and of no subclass, which might count "
                "a row in more nodes than the sensitivity allows for, but one is a "
                f"{others[0].__name__}; use one of the three"
            )
        # The axes are made anew. So the nodes that a row adds to are those that these classes
        # define, whatever was done to the objects that were given.
        self.axes = axes = tuple(type(axis)(operator.index(axis.size)) for axis in given)
        self.cells = math.prod(axis.nodes for axis in axes)
        self.touched = math.prod(len(axis.levels) for axis in axes)
        # Put as many consecutive axes in a word as it can number.
        self.groups: list[list[int]] = [[]]
        self.radices = [1]
        for place, axis in enumerate(axes):
            if self.radices[-1] * axis.nodes > _WORD:
                self.groups.append([])
                self.radices.append(1)
            self.groups[-1].append(place)
            self.radices[-1] *= axis.nodes

    def pack(self, columns: Sequence[npt.NDArray[np.integer]]) -> Integers:
        """Pack nodes into words: shape (nodes, words). `columns` holds one array of shape (nodes,)
        for each axis."""
        words = []
        for group in self.groups:
            word = np.zeros(len(columns[0]), np.int64)
            for place in group:
                word *= self.axes[place].nodes
                word += columns[place]
            words.append(word)
        return np.stack(words, axis=1)

    def unpack(self, words: Integers) -> Integers:
        """Unpack words to nodes, the inverse of `pack`: shape (nodes, axes), with each column
        contiguous in memory."""
        codes = np.empty((len(self.axes), len(words)), np.int64)
        for start in range(0, len(words), _BLOCK):
            block = slice(start, start + _BLOCK)
            for word, group in enumerate(self.groups):
                rest = words[block, word]
                # The last axis varies fastest, so its node is the remainder.
                for place in reversed(group):
                    nodes = self.axes[place].nodes
                    above = rest // nodes
                    codes[place, block] = rest - above * nodes
                    rest = above
        return codes.T

    def spread(
        self,
        codes: Integers,
        counts: Integers,
    ) -> tuple[Integers, Integers]:
        """Add up the counts of cells over the nodes that contain them.

        The result is the words of the non-zero nodes in order, shape (nodes, words), and their
        values, shape (nodes,). `codes` holds the non-empty cells, shape (cells, axes), and `counts`
        their counts, shape (cells,).
        """
        all_words = []
        all_values = []
        # Each cell adds to one node for each combination of a level of each axis.
        for levels in _combinations([axis.levels for axis in self.axes]):
            values = counts
            columns = []
            for place, level in enumerate(levels):
                column = codes[:, place]
                columns.append(level.offset + (column >> level.shift))
                if level.signed:
                    in_second_half = column >> (level.shift - 1) & 1
                    values = np.where(in_second_half, -values, values)
            words, values = merged(self.pack(columns), values)
            all_words.append(words)
            all_values.append(values)
        words = np.concatenate(all_words)
        order = ordered(words)
        return words.take(order, axis=0), np.concatenate(all_values)[order]


def _combinations(levels: Sequence[Sequence[Level]]) -> Iterator[tuple[Level, ...]]:
    if not levels:
        yield ()
        return
    for first in levels[0]:
        for rest in _combinations(levels[1:]):
            yield (first, *rest)


def ordered(words: Integers) -> Integers:
    """The positions of rows of words in ascending order; equal rows keep their order. Shape
    (rows,).

    The highest bits of the first word and the position are sorted as one 63-bit number. The whole
    rows are compared only where these bits are equal. The sort takes little time if the rows are a
    few runs that are already in order.
    """
    if not len(words):
        return np.empty(0, np.int64)
    # The key of a row: as many high bits of its first word as fit, then its position.
    position_bits = (len(words) - 1).bit_length()
    word_bits = int(words[:, 0].max()).bit_length()
    left_out = max(0, word_bits + position_bits - 63)
    keys = words[:, 0] >> left_out
    keys <<= position_bits
    keys |= np.arange(len(words))
    keys.sort(kind="stable")
    order: Integers = keys & ((1 << position_bits) - 1)
    if left_out == 0 and words.shape[1] == 1:
        return order
    # Sort the rows whose high bits are equal by all their words.
    keys >>= position_bits
    same = np.concatenate([[False], keys[1:] == keys[:-1], [False]])
    tied = np.flatnonzero(same[1:] | same[:-1])
    some = order[tied]
    order[tied] = some[np.lexsort(words[some].T[::-1])]
    return order


def rows_equal(words: Integers) -> npt.NDArray[np.bool_]:
    """Whether each row of ordered words equals the row before: shape (rows,)."""
    equal = np.zeros(len(words), np.bool_)
    if len(words):
        equal[1:] = words[1:, 0] == words[:-1, 0]
    for column in words.T[1:]:
        equal[1:] &= column[1:] == column[:-1]
    return equal


def in_order(words: Integers) -> Integers:
    """Sort rows of words in ascending order."""
    if words.shape[1] == 1:
        return np.sort(words.reshape(-1), kind="stable")[:, None]
    return words.take(ordered(words), axis=0)


def distinct(words: Integers) -> Integers:
    """The distinct rows of words in ascending order."""
    words = in_order(words)
    return without(words, rows_equal(words))


def without(words: Integers, flags: npt.NDArray[np.bool_]) -> Integers:
    """The rows of words that are not flagged."""
    return words.compress(~flags, axis=0) if flags.any() else words


def among(words: Integers, others: Integers) -> npt.NDArray[np.bool_]:
    """Whether each row of words is among some other rows, which are in order: shape (rows,)."""
    if not len(others):
        return np.zeros(len(words), np.bool_)
    # Look the first word of each row up among the first words of the others.
    first = np.ascontiguousarray(others[:, 0])
    wanted = np.ascontiguousarray(words[:, 0])
    nearest = first.take(np.searchsorted(first, wanted), mode="clip")
    found: npt.NDArray[np.bool_] = nearest == wanted
    if words.shape[1] == 1 or not found.any():
        return found
    # Compare all words of the rows whose first word was found. They are few, unless many cells have
    # the same first word.
    alike = others[np.isin(others[:, 0], words[found, 0])]
    together = np.concatenate([alike, words[found]])
    order = ordered(together)
    start = np.flatnonzero(~rows_equal(together[order]))
    # In a group of equal rows the others come first. So a group is found if an other is its first.
    begins_with_other = order[start] < len(alike)
    sizes = np.diff(np.append(start, len(order)))
    known = np.repeat(begins_with_other, sizes)
    found[found] = known[np.argsort(order)][len(alike) :]
    return found


def counted(words: Integers) -> tuple[Integers, Integers]:
    """Count equal rows of words: the distinct rows in order, and how often each occurs."""
    words = in_order(words)
    first = np.flatnonzero(~rows_equal(words))
    return words.take(first, axis=0), np.diff(first, append=len(words))


def merged(words: Integers, values: Integers) -> tuple[Integers, Integers]:
    """Sum the values of equal rows of words: the distinct rows in order, and the sum of each. Rows
    whose sum is zero are left out."""
    order = ordered(words)
    words = words.take(order, axis=0)
    values = values[order]
    first = np.flatnonzero(~rows_equal(words))
    if not first.size:
        return words, values
    sums = np.add.reduceat(values, first)
    is_nonzero = sums != 0
    return words[first[is_nonzero]], sums[is_nonzero]
