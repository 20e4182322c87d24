"""The cells of a table of any size, as one or more 64-bit words each: packed, counted, spread over trees, ordered."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..axes import Axis, Level
from ..entropy import Entropy
from ..exact.uniform import uniform

__all__ = ["Grid", "among", "in_order", "merged", "ordered", "rows_equal"]

Integers = npt.NDArray[np.int64]

_WORD = 1 << 62


class Grid:
    """The nodes of some axes together: as many as the product of theirs. Each is a row of words below 2**62.

    A word is the place in the table of some successive axes, the last of which varies fastest; so words in order are
    nodes in order.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.axes = tuple(axes)
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
        words = np.zeros((len(columns[0]), len(self.groups)), np.int64)
        for word, group in enumerate(self.groups):
            for place in group:
                words[:, word] *= self.axes[place].nodes
                words[:, word] += columns[place]
        return words

    def unpack(self, words: Integers) -> Integers:
        """What was packed: array (nodes, axes)."""
        codes = np.empty((len(words), len(self.axes)), np.int64)
        for word, group in enumerate(self.groups):
            rest = words[:, word]
            for place in reversed(group):
                rest, codes[:, place] = np.divmod(rest, self.axes[place].nodes)
        return codes

    def draw(self, count: int, entropy: Entropy) -> Integers:
        """Independent uniform nodes: array (count, words)."""
        return np.stack([uniform(radix, count, entropy) for radix in self.radices], axis=1)

    def spread(self, codes: Integers, counts: Integers) -> tuple[Integers, Integers]:
        """The non-zero nodes, in order, and what is in them, of cells (cells, axes) with counts (cells,)."""
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
        return words[order], values[order]


def _combinations(levels: Sequence[Sequence[Level]]) -> Iterator[tuple[Level, ...]]:
    if not levels:
        yield ()
        return
    for first in levels[0]:
        for rest in _combinations(levels[1:]):
            yield (first, *rest)


def ordered(words: Integers) -> Integers:
    """The places of rows of words in ascending order, equal ones as they stood: array (rows,).

    By the first word alone, and by the others where it is the same: seldom, unless the data has many cells in one word.
    """
    order: Integers = np.argsort(words[:, 0])
    first = words[order, 0]
    same = np.concatenate([[False], first[1:] == first[:-1], [False]])
    tied = np.flatnonzero(same[1:] | same[:-1])
    places = order[tied]
    order[tied] = places[np.lexsort((places, *words[places].T[::-1]))]
    return order


def rows_equal(words: Integers) -> npt.NDArray[np.bool_]:
    """Whether each row of words, in order, equals the one before: array (rows,)."""
    equal = np.zeros(len(words), np.bool_)
    if len(words) > 1:
        equal[1:] = (words[1:] == words[:-1]).all(axis=1)
    return equal


def in_order(words: Integers) -> Integers:
    """The rows of words in ascending order."""
    return words[ordered(words)]


def among(words: Integers, others: Integers) -> npt.NDArray[np.bool_]:
    """Whether each row of words is one of some others; both in order. Array (rows,)."""
    if not len(others):
        return np.zeros(len(words), np.bool_)
    place = np.minimum(np.searchsorted(others[:, 0], words[:, 0]), len(others) - 1)
    found: npt.NDArray[np.bool_] = others[place, 0] == words[:, 0]
    if words.shape[1] > 1 and found.any():  # a few, unless the first words of many cells are the same
        alike = others[np.isin(others[:, 0], words[found, 0])]
        together = np.concatenate([alike, words[found]])
        order = ordered(together)
        start = np.flatnonzero(~rows_equal(together[order]))
        # Of equal rows the others come first: each group is found when it begins with one.
        known = np.repeat(order[start] < len(alike), np.diff(np.append(start, len(order))))
        found[found] = known[np.argsort(order)][len(alike) :]
    return found


def merged(words: Integers, values: Integers) -> tuple[Integers, Integers]:
    """The rows of words, in order and each once, and the sums of their values where these are not zero."""
    order = ordered(words)
    words, values = words[order], values[order]
    first = np.flatnonzero(~rows_equal(words))
    if not first.size:
        return words, values
    sums = np.add.reduceat(values, first)
    return words[first[sums != 0]], sums[sums != 0]
