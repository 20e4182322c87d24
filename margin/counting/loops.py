"""Compiled loops of counting. Import this module only when they run: numba takes a second to load.

The loops check no bounds: codes are within their attributes' ranges when they come here.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from .._compiled import compiled
from .._types import Integers

__all__ = [
    "BLOCK",
    "MOST_SPLIT",
    "WORDS",
    "Joints",
    "Layout",
    "add_distinct",
    "add_joined",
    "add_subsets",
    "add_weighted",
    "add_whole",
    "pack",
]

BLOCK = 4096
"""Number of rows whose cells are numbered together. They fit in the processor's first cache."""

WORDS = 512
"""Number of words, each of 64 rows, that are intersected together."""

MOST_SPLIT = 1024
"""Largest number of cells of a table that is counted in four partial tables. Neighbouring rows then
do not wait for each other's sum."""


class Layout(NamedTuple):
    """The attributes and the cells of some views.

    Attributes
    ----------
    places, sizes
        View v has the attributes places[firsts[v] : firsts[v + 1]]; `sizes` holds their numbers of
        categories in the same order.
    firsts
        Shape (views + 1,).
    offsets
        Cell c of view v is counted at offsets[v] + c: shape (views + 1,).
    """

    places: Integers
    sizes: Integers
    firsts: Integers
    offsets: Integers


class Joints(NamedTuple):
    """Tables from which the tables of several views are summed.

    Attributes
    ----------
    places, sizes
        Joint j has the attributes places[firsts[j] : firsts[j + 1]]; `sizes` holds their numbers of
        categories in the same order.
    firsts
        Shape (joints + 1,).
    views
        Views views[first_views[j] : first_views[j + 1]] are counted from joint j. Each has all
        attributes of the joint but one, in the same order.
    first_views
        Shape (joints + 1,).
    """

    places: Integers
    sizes: Integers
    firsts: Integers
    views: Integers
    first_views: Integers


@intrinsic
def _popcount(context: Any, word: Any) -> Any:
    """The number of ones in a word, in one instruction."""

    def generate(
        _: Any,
        builder: Any,
        __: Any,
        arguments: Any,
    ) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_ones: Callable[..., Any] = _popcount


@compiled
def _lowest(word: int) -> int:
    """The position of the lowest one in a word that is not zero."""
    place = 0
    while not (word >> place) & 1:
        place += 1
    return place


@compiled
def add_subsets(bits: Any, layout: Layout, counts: Any, views: Any) -> None:
    """For each view of binary attributes and each non-empty set of them, count the rows that have
    all attributes of the set.

    Set m of a view of k attributes contains the i-th when bit k - 1 - i of m is one. The sets are
    visited in ascending order. Four consecutive sets differ in the last two attributes only, so
    they are counted together from the intersection of the others. Let m have lowest bit b, apart
    from the last two. The intersection of m without b is in the buffer of its own lowest bit, for
    it was the last one visited with that bit. So one buffer for each bit is enough. The count of
    set 0 is meaningless.

    Parameters
    ----------
    bits
        Row r of attribute a is bit r mod 64 of word [a, r div 64]: uint64, shape (attributes,
        words).
    layout
        The attributes and the cells of all views.
    counts
        Set m of view v is counted in counts[offsets[v] + m].
    views
        The positions of the views to count.
    """
    places = layout.places
    firsts = layout.firsts
    offsets = layout.offsets
    # One buffer for each bit of a set. The last two bits need none: buffer 0 holds all ones, the
    # intersection of no attributes, and buffer 1 its copy for set 0.
    most = 2
    for view in views:
        most = max(most, firsts[view + 1] - firsts[view])
    buffers = np.empty((most, WORDS), np.uint64)
    buffers[0] = ~np.uint64(0)
    words = bits.shape[1]
    for start in range(0, words, WORDS):
        length = min(WORDS, words - start)
        stop = start + length
        everyone = buffers[0, :length]
        for view in views:
            table = counts[offsets[view] : offsets[view + 1]]
            last = firsts[view + 1] - 1
            # One attribute: its ones are counted directly.
            if table.size == 2:
                for word in bits[places[last], start:stop]:
                    table[1] += np.int64(_ones(word))
            if table.size < 4:
                continue
            one = bits[places[last], start:stop]
            two = bits[places[last - 1], start:stop]
            for members in range(0, table.size, 4):
                # Find the intersection without the lowest attribute, and that attribute's column.
                parent = everyone
                column = everyone
                here = buffers[1, :length]
                if members:
                    low = _lowest(members)
                    column = bits[places[last - low], start:stop]
                    here = buffers[low, :length]
                    rest = members & (members - 1)
                    if rest:
                        parent = buffers[_lowest(rest), :length]
                # Count the four sets: with neither, one, the other and both of the last two.
                neither = np.uint64(0)
                first = np.uint64(0)
                second = np.uint64(0)
                both = np.uint64(0)
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


@compiled
def _number(
    codes: Any,
    places: Any,
    sizes: Any,
    start: int,
    cells: Any,
) -> None:
    """Write the cell number of each row, from row `start` on, by Horner's rule."""
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


@compiled
def _number_of_view(
    codes: Any,
    layout: Layout,
    view: int,
    start: int,
    cells: Any,
) -> None:
    """Write the cell number of each row in one view, from row `start` on."""
    first = layout.firsts[view]
    last = layout.firsts[view + 1]
    _number(codes, layout.places[first:last], layout.sizes[first:last], start, cells)


@compiled
def _count_split(
    cells: Any,
    pieces: Any,
    table: Any,
) -> None:
    """Count rows in a small table by four partial tables, which are zero before and after."""
    # Rows 4 q, 4 q + 1, 4 q + 2 and 4 q + 3 each go into their own partial table.
    quarter = cells.size // 4
    for at in range(quarter):
        pieces[0, cells[4 * at]] += np.uint32(1)
        pieces[1, cells[4 * at + 1]] += np.uint32(1)
        pieces[2, cells[4 * at + 2]] += np.uint32(1)
        pieces[3, cells[4 * at + 3]] += np.uint32(1)
    for at in range(4 * quarter, cells.size):
        pieces[0, cells[at]] += np.uint32(1)
    # Add the partial tables up and empty them.
    for cell in range(table.size):
        first_half = np.int64(pieces[0, cell]) + pieces[1, cell]
        second_half = np.int64(pieces[2, cell]) + pieces[3, cell]
        table[cell] += first_half + second_half
        for piece in range(4):
            pieces[piece, cell] = 0


@compiled
def add_whole(
    codes: Any,
    layout: Layout,
    counts: Any,
    views: Any,
    scratch: Any,
) -> None:
    """Count each row once in its cell of each view.

    Parameters
    ----------
    codes
        Unsigned integers, shape (attributes, rows).
    layout
        The attributes and the cells of all views.
    counts
        Cell c of view v is counted in counts[offsets[v] + c].
    views
        The positions of the views to count.
    scratch
        Work space for cell numbers: shape (`BLOCK`,), of an unsigned type that holds the number of
        every cell of these views.
    """
    rows = codes.shape[1]
    offsets = layout.offsets
    pieces = np.zeros((4, MOST_SPLIT), np.uint32)
    for start in range(0, rows, BLOCK):
        cells = scratch[: min(BLOCK, rows - start)]
        for view in views:
            _number_of_view(codes, layout, view, start, cells)
            table = counts[offsets[view] : offsets[view + 1]]
            if table.size > MOST_SPLIT:
                for at in range(cells.size):
                    table[cells[at]] += 1
            else:
                _count_split(cells, pieces, table)


@compiled
def _add_sums(
    table: Any,
    low: int,
    size: int,
    sums: Any,
) -> None:
    """Add up a table along one attribute of `size` categories, and add the result to `sums`.

    `low` is the product of the sizes of the attributes after it.
    """
    if low == 1:
        for cell in range(sums.size):
            total = np.uint32(0)
            for category in range(size):
                total += table[cell * size + category]
            sums[cell] += total
        return
    for high in range(sums.size // low):
        part = sums[high * low : (high + 1) * low]
        for category in range(size):
            start = (high * size + category) * low
            for at in range(low):
                part[at] += table[start + at]


@compiled
def add_joined(
    codes: Any,
    joints: Joints,
    layout: Layout,
    counts: Any,
    share: Any,
    scratch: Any,
    table: Any,
) -> None:
    """Count each row once in each joint, and add the sums of the joint to its views.

    Parameters
    ----------
    codes
        Unsigned integers, shape (attributes, rows), with less than 2**32 rows.
    joints, layout
        The joints, and the views.
    counts
        Cell c of view v is counted in counts[offsets[v] + c].
    share
        The joints to count.
    scratch
        Work space for cell numbers: shape (`BLOCK`,), of an unsigned type that holds the number of
        every cell of these joints.
    table
        Work space for the cells of a joint, uint32.
    """
    rows = codes.shape[1]
    for joint in share:
        first = joints.firsts[joint]
        last = joints.firsts[joint + 1]
        places = joints.places[first:last]
        sizes = joints.sizes[first:last]
        cells = 1
        for size in sizes:
            cells *= size
        table[:cells] = 0
        for start in range(0, rows, BLOCK):
            numbers = scratch[: min(BLOCK, rows - start)]
            _number(codes, places, sizes, start, numbers)
            for at in range(numbers.size):
                table[numbers[at]] += np.uint32(1)
        for position in range(joints.first_views[joint], joints.first_views[joint + 1]):
            view = joints.views[position]
            own = layout.places[layout.firsts[view] : layout.firsts[view + 1]]
            # The first attribute of the joint that the view lacks.
            lacks = 0
            while lacks < own.size and own[lacks] == places[lacks]:
                lacks += 1
            low = 1
            for size in sizes[lacks + 1 :]:
                low *= size
            sums = counts[layout.offsets[view] : layout.offsets[view + 1]]
            _add_sums(table[:cells], low, sizes[lacks], sums)


@compiled
def add_weighted(
    codes: Any,
    weights: Any,
    layout: Layout,
    counts: Any,
    views: Any,
    scratch: Any,
) -> None:
    """Count each row as often as its weight says; otherwise like `add_whole`.

    `weights` are int64 of shape (rows,).
    """
    rows = codes.shape[1]
    offsets = layout.offsets
    for start in range(0, rows, BLOCK):
        cells = scratch[: min(BLOCK, rows - start)]
        for view in views:
            _number_of_view(codes, layout, view, start, cells)
            table = counts[offsets[view] : offsets[view + 1]]
            for at in range(cells.size):
                table[cells[at]] += weights[start + at]


@compiled
def pack(
    codes: Any,
    widths: Any,
    keys: Any,
) -> None:
    """Pack all codes of each row in one word, the first attribute in the highest bits.

    `codes` has shape (attributes, rows), `widths` the number of bits of each attribute, and the
    words are written to `keys`: uint64, shape (rows,).
    """
    for start in range(0, keys.size, BLOCK):
        part = keys[start : start + BLOCK]
        part[:] = 0
        for place in range(widths.size):
            width = np.uint64(widths[place])
            column = codes[place, start : start + part.size]
            for at in range(part.size):
                part[at] = (part[at] << width) | np.uint64(column[at])


@compiled
def add_distinct(
    keys: Any,
    known: Any,
    weights: Any,
) -> int:
    """Add one to the weight of each key in a hash table with open addressing. Returns the number of
    new keys.

    Parameters
    ----------
    keys
        uint64. The table must have a free place for each of them.
    known, weights
        The keys and the weights of the table: uint64 and int64, of one length, a power of two. A
        place of weight zero is free.
    """
    mask = np.uint64(known.size - 1)
    new = 0
    for key in keys:
        # Mix the bits of the key, so that similar rows land in distant places.
        mixed = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        place = (mixed ^ (mixed >> np.uint64(29))) & mask
        # Linear probing: go on to the key's place or to the first free one.
        while weights[place] and known[place] != key:
            place = (place + np.uint64(1)) & mask
        if not weights[place]:
            known[place] = key
            new += 1
        weights[place] += 1
    return new
