"""True counts of items in sets, in whole numbers; a set that is too long counts less for each of
its items.

The share of a set of c items in each of them is, in units of 1 / grain,

    grain when c <= most,    most * floor(grain / c) when c > most,

so at most grain, at most grain * most in all, and at most grain**2 * most as a sum of squares. It
grows with `most`.

Sums of many shares may exceed 64 bits: counts are cut off, and what is computed from them uses
integers of any length where 64 bits would not do. Why cutting off costs nothing is said in
`counts`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Integers
from ..data.baskets import Baskets
from ..domain.domain import Domain, View
from ..queries.walsh import sequency_order, transform
from .counts import LARGEST_TRUE, cut_off, total

__all__ = [
    "LARGEST_LOSS",
    "few_counts",
    "holders",
    "lost",
    "read_baskets",
    "scaled_gaps",
    "truncated",
    "walsh",
]

Batch = Mapping[str, npt.NDArray[Any]]

LARGEST_LOSS = 1 << 60
"""Where the losses that make the scores of choices are cut off."""

_BLOCK = 1 << 15
_LARGEST_SUM = 1 << 62  # of what is computed in 64 bits


def read_baskets(source: Any, domain: Domain, names: View) -> Baskets:
    """The sets of all rows: of a source of sets, or of the attributes of two categories that are
    one."""
    if callable(getattr(source, "baskets", None)) and len(domain) == 1:
        baskets: Baskets = source.baskets(domain)
        return baskets
    return _of_batches(iter(source.batches(domain)), names)


def _of_batches(batches: Iterator[Batch], names: View) -> Baskets:
    sizes, items = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for batch in batches:
        held = np.stack([batch[name] == 1 for name in names], axis=1)
        sizes.append(held.sum(axis=1))
        items.append(np.nonzero(held)[1])
    return Baskets(np.concatenate(sizes), np.concatenate(items))


def truncated(baskets: Baskets, items: int, most: int, grain: int) -> Integers:
    """The counts of all items, in units of 1 / grain, cut off at 2**61: array (items,)."""
    sizes = baskets.sizes
    ends = np.cumsum(sizes)
    counts = np.zeros(items, np.int64)
    step = max(
        1, LARGEST_TRUE // grain
    )  # sets whose shares add up to 2**61 at most, and to 2**62 with those before
    for start in range(0, sizes.size, step):
        some = sizes[start : start + step]
        held = baskets.items[ends[start] - sizes[start] : ends[min(start + step, sizes.size) - 1]]
        np.add.at(counts, held, np.repeat(_shares(some, most, grain), some))
        np.minimum(counts, LARGEST_TRUE, out=counts)
    return counts


def lost(baskets: Baskets, grid: Integers) -> Integers:
    """How many items more each value of a grid loses than the largest, cut off at 2**60: array
    (grid,).

    With b the largest, a set of c items loses max(0, c - most) - max(0, c - b) = min(max(0, c -
    most), b - most) more.
    """
    sizes, sets = np.unique(baskets.sizes, return_counts=True)
    more = np.clip(sizes[:, None] - grid, 0, grid.max() - grid)
    losses = [
        sum(items * number for items, number in zip(column, sets.tolist(), strict=True))
        for column in more.T.tolist()
    ]
    return np.array([min(loss, LARGEST_LOSS) for loss in losses], np.int64)


def few_counts(baskets: Baskets, items: int, most: int) -> Integers:
    """The counts of all items when each set keeps `most` of its items at most: array (items,).

    Which, a hash of the item and of the set as a whole decides: neither the order of the sets nor
    that of the items in them.
    """
    rows = np.repeat(np.arange(baskets.sizes.size), baskets.sizes)
    mixed = _mix(baskets.items.astype(np.uint64))
    whole = np.zeros(baskets.sizes.size, np.uint64)
    np.add.at(whole, rows, mixed)
    order = np.lexsort((baskets.items, _mix(mixed ^ whole[rows]), rows))
    starts = np.cumsum(baskets.sizes) - baskets.sizes
    rank = np.arange(rows.size) - starts[rows]
    return np.bincount(baskets.items[order][rank < most], minlength=items).astype(np.int64)


def scaled_gaps(
    baskets: Baskets,
    items: int,
    grid: Integers,
    scales: tuple[Sequence[int], int],
    longest: int,
    grain: int,
) -> Integers:
    """Sum over items j of |A T(j, most) - B T(j, longest)| for each `most` of an ascending grid and
    each A, cut off at 2**60: (grid, A).

    T are the counts of `truncated`, not cut off; `scales` are the numerators A and their common
    denominator B. One pass over the sets in the order of their sizes: with N(j) of the sets of at
    most `most` items holding j, and R(j) the sum of floor(grain / c) over the longer ones, T =
    grain N + most R, and from one `most` to the next each set moves from R to N at most once.
    """
    numerators, denominator = scales
    order = np.argsort(baskets.sizes, kind="stable")
    sizes = baskets.sizes[order]
    ends = np.cumsum(sizes)
    starts = (np.cumsum(baskets.sizes) - baskets.sizes)[order]
    held = baskets.items[np.repeat(starts - (ends - sizes), sizes) + np.arange(int(sizes.sum()))]
    share = grain // np.maximum(sizes, 1)
    # A set adds at most `grain` to each T and R, and at most grain * longest to all of one T
    # together.
    parts = _dtype(grain * sizes.size)
    sums = _dtype(2 * max(*numerators, denominator) * grain * longest * sizes.size)
    whole, rest, short = np.zeros(items, parts), np.zeros(items, parts), np.zeros(items, parts)
    np.add.at(whole, held, np.repeat(_shares(sizes, longest, grain).astype(parts), sizes))
    np.add.at(rest, held, np.repeat(share.astype(parts), sizes))
    gaps = np.zeros((grid.size, len(numerators)), np.int64)
    moved = 0
    for row, most in enumerate(grid.tolist()):
        upto = int(np.searchsorted(sizes, most, side="right"))
        first, last = (int(ends[place - 1]) if place else 0 for place in (moved, upto))
        np.add.at(short, held[first:last], 1)
        np.subtract.at(
            rest, held[first:last], np.repeat(share[moved:upto].astype(parts), sizes[moved:upto])
        )
        moved = upto
        apart = [0] * len(numerators)
        for start in range(0, items, _BLOCK):
            block = slice(start, start + _BLOCK)
            counts = grain * short[block].astype(sums) + most * rest[block].astype(sums)
            others = denominator * whole[block].astype(sums)
            for column, numerator in enumerate(numerators):
                apart[column] += int(np.abs(numerator * counts - others).sum())
        gaps[row] = [min(distance, LARGEST_LOSS) for distance in apart]
    return gaps


def _dtype(largest: int) -> np.dtype[Any]:
    """That of sums of at most this: 64 bits, or integers of any length."""
    return np.dtype(np.int64 if largest < _LARGEST_SUM else object)


def _shares(sizes: Integers, most: int, grain: int) -> Integers:
    """What sets of these sizes count for each of their items."""
    return np.where(sizes > most, most * (grain // np.maximum(sizes, 1)), grain)


def walsh(counts: Integers, first: int) -> Integers:
    """The Walsh coefficients of lowest sequency, cut off at +-2**61: array (first,); the counts are
    padded to 2**k entries."""
    size = 1 << max(counts.size - 1, 0).bit_length()
    values = np.zeros(size, _dtype(total(counts)))
    values[: counts.size] = counts
    return cut_off(transform(values)[sequency_order(size)[:first]])


def _mix(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser."""
    words = (words + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = words ^ (words >> np.uint64(31))
    return mixed


def holders(
    baskets: Baskets, groups: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], npt.NDArray[np.bool_]]:
    """Which sets hold at least one item of each group: arrays (sets,) by group."""
    rows = np.repeat(np.arange(baskets.sizes.size), baskets.sizes)
    order = np.argsort(baskets.items, kind="stable")
    items, rows = baskets.items[order], rows[order]
    found = {}
    for group in groups:
        held = np.zeros(baskets.sizes.size, np.bool_)
        for item in group:
            held[rows[slice(*np.searchsorted(items, [item, item + 1]))]] = True
        found[group] = held
    return found
