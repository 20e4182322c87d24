"""The compiled loops of counting; numba is needed, so this is imported only when there is work
enough.

None of them checks a bound: codes are within their attributes' ranges when they come here.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

__all__ = [
    "BLOCK",
    "MOST_SPLIT",
    "WORDS",
    "add_distinct",
    "add_subsets",
    "add_weighted",
    "add_whole",
    "pack",
]

BLOCK = 4096
"""Rows whose cells are numbered at a time: they stay in the first cache."""

WORDS = 512
"""Words of 64 rows that are intersected at a time."""

MOST_SPLIT = 1024
"""Up to so many cells, a table is counted in four pieces: neighbouring rows then do not wait for
each other's sum."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiled(function: _Function) -> _Function:
    return cast(_Function, numba.njit(cache=True, nogil=True)(function))


@intrinsic
def _popcount(context: Any, word: Any) -> Any:
    """The number of ones of a word: one instruction."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_ones: Callable[..., Any] = _popcount


@_compiled
def _lowest(word: int) -> int:
    """The place of the lowest one."""
    place = 0
    while not (word >> place) & 1:
        place += 1
    return place


@_compiled
def add_subsets(bits: Any, places: Any, firsts: Any, offsets: Any, counts: Any, views: Any) -> None:
    """For each view of binary attributes and each non-empty set of them, count the rows that have
    them all.

    Set m of a view of k attributes holds the i-th when bit k - 1 - i of m is one. Sets are met in
    ascending order, four at a time, which differ in the last two attributes; what is left of m
    without its lowest other bit was met last among the sets with its lowest bit, so one buffer a
    bit is enough. What comes of set 0 means nothing.

    Parameters
    ----------
    bits
        Row r of attribute a is bit r mod 64 of word [a, r div 64]: uint64, shape (attributes,
        words).
    places, firsts
        The attributes of view v are places[firsts[v] : firsts[v + 1]].
    offsets, counts
        Set m of view v is counted in counts[offsets[v] + m].
    views
        Which views to count.
    """
    most = 2
    for view in views:
        most = max(most, firsts[view + 1] - firsts[view])
    buffers = np.empty((most, WORDS), np.uint64)  # the first two are of no bit
    buffers[0] = ~np.uint64(0)
    words = bits.shape[1]
    for start in range(0, words, WORDS):
        length = min(WORDS, words - start)
        everyone = buffers[0, :length]
        for view in views:
            table = counts[offsets[view] : offsets[view + 1]]
            last = firsts[view + 1] - 1
            if table.size == 2:
                for word in bits[places[last], start : start + length]:
                    table[1] += np.int64(_ones(word))
            if table.size < 4:
                continue
            one = bits[places[last], start : start + length]
            two = bits[places[last - 1], start : start + length]
            for members in range(0, table.size, 4):
                parent, column, here = everyone, everyone, buffers[1, :length]
                if members:
                    low = _lowest(members)
                    column, here = (
                        bits[places[last - low], start : start + length],
                        buffers[low, :length],
                    )
                    rest = members & (members - 1)
                    if rest:
                        parent = buffers[_lowest(rest), :length]
                neither, first, second, both = (
                    np.uint64(0),
                    np.uint64(0),
                    np.uint64(0),
                    np.uint64(0),
                )
                for at in range(length):
                    word = parent[at] & column[at]
                    with_one = word & one[at]
                    here[at] = word
                    neither += _ones(word)
                    first += _ones(with_one)
                    second += _ones(word & two[at])
                    both += _ones(with_one & two[at])
                table[members] += np.int64(neither)
                table[members + 1] += np.int64(first)
                table[members + 2] += np.int64(second)
                table[members + 3] += np.int64(both)


@_compiled
def _number(codes: Any, places: Any, sizes: Any, start: int, cells: Any) -> None:
    """The cell of each of some rows; Horner's rule."""
    if places.size == 0:
        cells[:] = 0
        return
    column = codes[places[0], start : start + cells.size]
    for at in range(cells.size):
        cells[at] = column[at]
    for axis in range(1, places.size):
        size = sizes[axis]
        column = codes[places[axis], start : start + cells.size]
        for at in range(cells.size):
            cells[at] = cells[at] * size + column[at]


@_compiled
def add_whole(
    codes: Any,
    places: Any,
    sizes: Any,
    firsts: Any,
    offsets: Any,
    counts: Any,
    views: Any,
    scratch: Any,
) -> None:
    """Count each row once in its cell of each view.

    Parameters
    ----------
    codes
        Unsigned, shape (attributes, rows).
    places, sizes, firsts
        The attributes of view v, and how many codes each has: places[firsts[v] : firsts[v + 1]],
        and sizes likewise.
    offsets, counts
        Cell c of view v is counted in counts[offsets[v] + c].
    views
        Which views to count.
    scratch
        Of an unsigned type that holds the cells of all these views: shape (`BLOCK`,).
    """
    rows = codes.shape[1]
    pieces = np.zeros((4, MOST_SPLIT), np.uint32)
    for start in range(0, rows, BLOCK):
        cells = scratch[: min(BLOCK, rows - start)]
        for view in views:
            first, last = firsts[view], firsts[view + 1]
            _number(codes, places[first:last], sizes[first:last], start, cells)
            table = counts[offsets[view] : offsets[view + 1]]
            if table.size > MOST_SPLIT:
                for at in range(cells.size):
                    table[cells[at]] += 1
                continue
            quarter = cells.size // 4
            for at in range(quarter):
                pieces[0, cells[4 * at]] += np.uint32(1)
                pieces[1, cells[4 * at + 1]] += np.uint32(1)
                pieces[2, cells[4 * at + 2]] += np.uint32(1)
                pieces[3, cells[4 * at + 3]] += np.uint32(1)
            for at in range(4 * quarter, cells.size):
                pieces[0, cells[at]] += np.uint32(1)
            for cell in range(table.size):
                table[cell] += (
                    np.int64(pieces[0, cell])
                    + pieces[1, cell]
                    + np.int64(pieces[2, cell])
                    + pieces[3, cell]
                )
                for piece in range(4):
                    pieces[piece, cell] = 0


@_compiled
def add_weighted(
    codes: Any,
    weights: Any,
    places: Any,
    sizes: Any,
    firsts: Any,
    offsets: Any,
    counts: Any,
    views: Any,
    scratch: Any,
) -> None:
    """As `add_whole`, but each row counts as often as its weight says: int64, shape (rows,)."""
    rows = codes.shape[1]
    for start in range(0, rows, BLOCK):
        cells = scratch[: min(BLOCK, rows - start)]
        for view in views:
            first, last = firsts[view], firsts[view + 1]
            _number(codes, places[first:last], sizes[first:last], start, cells)
            table = counts[offsets[view] : offsets[view + 1]]
            for at in range(cells.size):
                table[cells[at]] += weights[start + at]


@_compiled
def pack(codes: Any, widths: Any, keys: Any) -> None:
    """All codes of a row in one word, the first attribute's in the highest bits: keys, uint64,
    shape (rows,)."""
    for start in range(0, keys.size, BLOCK):
        part = keys[start : start + BLOCK]
        part[:] = 0
        for place in range(widths.size):
            width = np.uint64(widths[place])
            column = codes[place, start : start + part.size]
            for at in range(part.size):
                part[at] = (part[at] << width) | np.uint64(column[at])


@_compiled
def add_distinct(keys: Any, known: Any, weights: Any) -> int:
    """Add one to the weight of each key in a hash table with open addressing, and return how many
    keys were new.

    Parameters
    ----------
    keys
        uint64; the table must keep free places for all of them.
    known, weights
        The table: places of weight zero are free. uint64 and int64, of a length that is a power of
        two.
    """
    mask = np.uint64(known.size - 1)
    new = 0
    for key in keys:
        mixed = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        place = (mixed ^ (mixed >> np.uint64(29))) & mask
        while weights[place] and known[place] != key:
            place = (place + np.uint64(1)) & mask
        if not weights[place]:
            known[place] = key
            new += 1
        weights[place] += 1
    return new
