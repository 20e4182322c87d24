"""The cells of a table of any size, as one or more 64-bit words each: packed, counted, spread over
trees, ordered.

Nothing here is random: a cluster's tasks use it.
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
_BLOCK = 1 << 14


class Grid:
    """The nodes of some axes together: as many as the product of theirs. Each is a row of words
    below 2**62.

    A word is the place in the table of some successive axes, the last of which varies fastest; so
    words in order are nodes in order.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        given = tuple(axes)
        if any(type(axis) not in (Leaves, Tree, Halves) for axis in given):
            raise DomainError(
                "axes must be Leaves, Tree or Halves: a row is in one node of each of their levels"
            )
        # Made anew: what a row touches is what these classes say, whatever was done to the objects
        # that were given.
        self.axes = axes = tuple(type(axis)(operator.index(axis.size)) for axis in given)
        self.cells = math.prod(axis.nodes for axis in axes)
        self.touched = math.prod(len(axis.levels) for axis in axes)
        self.groups: list[list[int]] = [[]]
        self.radices = [1]
        for place, axis in enumerate(axes):
            if self.radices[-1] * axis.nodes > _WORD:
                self.groups.append([])
                self.radices.append(1)
            self.groups[-1].append(place)
            self.radices[-1] *= axis.nodes

    def pack(self, columns: Sequence[npt.NDArray[np.integer]]) -> Integers:
        """The words of nodes given by a column an axis: array (nodes, words)."""
        words = []
        for group in self.groups:
            word = np.zeros(len(columns[0]), np.int64)
            for place in group:
                word *= self.axes[place].nodes
                word += columns[place]
            words.append(word)
        return np.stack(words, axis=1)

    def unpack(self, words: Integers) -> Integers:
        """What was packed: array (nodes, axes), each column in one piece."""
        codes = np.empty((len(self.axes), len(words)), np.int64)
        for start in range(0, len(words), _BLOCK):
            for word, group in enumerate(self.groups):
                rest = words[start : start + _BLOCK, word]
                for place in reversed(group):
                    above = rest // self.axes[place].nodes
                    codes[place, start : start + _BLOCK] = rest - above * self.axes[place].nodes
                    rest = above
        return codes.T

    def spread(self, codes: Integers, counts: Integers) -> tuple[Integers, Integers]:
        """The non-zero nodes, in order, and what is in them, of cells (cells, axes) with counts
        (cells,)."""
        parts = []
        for levels in _combinations([axis.levels for axis in self.axes]):
            values, columns = counts, []
            for place, level in enumerate(levels):
                column = codes[:, place]
                columns.append(level.offset + (column >> level.shift))
                if level.signed:
                    values = np.where(column >> (level.shift - 1) & 1, -values, values)
            parts.append(merged(self.pack(columns), values))
        words, values = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
        order = ordered(words)
        return words.take(order, axis=0), values[order]


def _combinations(levels: Sequence[Sequence[Level]]) -> Iterator[tuple[Level, ...]]:
    if not levels:
        yield ()
        return
    for first in levels[0]:
        for rest in _combinations(levels[1:]):
            yield (first, *rest)


def ordered(words: Integers) -> Integers:
    """The places of rows of words in ascending order, equal ones as they stood: array (rows,).

    The first digits of the first word and the place are sorted as one number; only where digits are
    equal the whole rows are looked at. Rows in a few runs that are in order already take little
    time.
    """
    if not len(words):
        return np.empty(0, np.int64)
    places = (len(words) - 1).bit_length()
    left_out = max(0, int(words[:, 0].max()).bit_length() + places - 63)
    keys = words[:, 0] >> left_out
    keys <<= places
    keys |= np.arange(len(words))
    keys.sort(kind="stable")
    order: Integers = keys & ((1 << places) - 1)
    if left_out == 0 and words.shape[1] == 1:
        return order
    keys >>= places
    same = np.concatenate([[False], keys[1:] == keys[:-1], [False]])
    tied = np.flatnonzero(same[1:] | same[:-1])
    some = order[tied]
    order[tied] = some[np.lexsort(words[some].T[::-1])]
    return order


def rows_equal(words: Integers) -> npt.NDArray[np.bool_]:
    """Whether each row of words, in order, equals the one before: array (rows,)."""
    equal = np.zeros(len(words), np.bool_)
    if len(words):
        equal[1:] = words[1:, 0] == words[:-1, 0]
    for column in words.T[1:]:
        equal[1:] &= column[1:] == column[:-1]
    return equal


def in_order(words: Integers) -> Integers:
    """The rows of words in ascending order."""
    if words.shape[1] == 1:
        return np.sort(words.reshape(-1), kind="stable")[:, None]
    return words.take(ordered(words), axis=0)


def distinct(words: Integers) -> Integers:
    """The rows of words in ascending order, each once."""
    words = in_order(words)
    return without(words, rows_equal(words))


def without(words: Integers, flags: npt.NDArray[np.bool_]) -> Integers:
    """The rows of words that are not flagged."""
    return words.compress(~flags, axis=0) if flags.any() else words


def among(words: Integers, others: Integers) -> npt.NDArray[np.bool_]:
    """Whether each row of words is one of some others, which are in order: array (rows,)."""
    if not len(others):
        return np.zeros(len(words), np.bool_)
    first, wanted = np.ascontiguousarray(others[:, 0]), np.ascontiguousarray(words[:, 0])
    found: npt.NDArray[np.bool_] = first.take(np.searchsorted(first, wanted), mode="clip") == wanted
    if (
        words.shape[1] > 1 and found.any()
    ):  # a few, unless the first words of many cells are the same
        alike = others[np.isin(others[:, 0], words[found, 0])]
        together = np.concatenate([alike, words[found]])
        order = ordered(together)
        start = np.flatnonzero(~rows_equal(together[order]))
        # Of equal rows the others come first: each group is found when it begins with one.
        known = np.repeat(order[start] < len(alike), np.diff(np.append(start, len(order))))
        found[found] = known[np.argsort(order)][len(alike) :]
    return found


def counted(words: Integers) -> tuple[Integers, Integers]:
    """The distinct rows of words, in order, and how often each comes."""
    words = in_order(words)
    first = np.flatnonzero(~rows_equal(words))
    return words.take(first, axis=0), np.diff(first, append=len(words))


def merged(words: Integers, values: Integers) -> tuple[Integers, Integers]:
    """The rows of words, in order and each once, and the sums of their values where these are not
    zero."""
    order = ordered(words)
    words, values = words.take(order, axis=0), values[order]
    first = np.flatnonzero(~rows_equal(words))
    if not first.size:
        return words, values
    sums = np.add.reduceat(values, first)
    return words[first[sums != 0]], sums[sums != 0]
