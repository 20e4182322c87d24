"""True counts of items in sets, in whole numbers; long sets count less for each of their items.

A set of c items adds a share to the count of each of its items. In units of 1 / grain the share is

    grain if c <= most,    most * floor(grain / c) if c > most.

So a share is at most grain. The shares of one set sum to at most grain * most, and their squares to
at most grain**2 * most. The share grows with `most`.

Sums of many shares may exceed 64 bits. Counts are therefore cut off, and further results use
integers of any length where 64 bits are not enough. `counts` explains why a cut-off costs no
privacy.
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
    "full_counts",
    "holders",
    "lost",
    "read_baskets",
    "scaled_gaps",
    "truncated",
    "walsh",
]

Batch = Mapping[str, npt.NDArray[Any]]

LARGEST_LOSS = 1 << 60
"""Cut-off of the losses that make the scores of choices."""

_BLOCK = 1 << 15  # number of items handled at a time
_LARGEST_SUM = 1 << 62  # largest sum that is computed in 64 bits


def read_baskets(
    source: Any,
    domain: Domain,
    names: View,
) -> Baskets:
    """Read the rows as sets of items.

    If rows of the source are not sets, the set of a row holds the attributes `names` whose code is
    one.
    """
    if callable(getattr(source, "baskets", None)) and len(domain) == 1:
        baskets: Baskets = source.baskets(domain)
        return baskets
    return _of_batches(iter(source.batches(domain)), names)


def _of_batches(batches: Iterator[Batch], names: View) -> Baskets:
    sizes = [np.empty(0, np.int64)]
    items = [np.empty(0, np.int64)]
    for batch in batches:
        held = np.stack([batch[name] == 1 for name in names], axis=1)
        sizes.append(held.sum(axis=1))
        items.append(np.nonzero(held)[1])
    return Baskets(np.concatenate(sizes), np.concatenate(items))


def truncated(
    baskets: Baskets,
    items: int,
    most: int,
    grain: int,
) -> Integers:
    """Count each item, where a set of more than `most` items counts less for each of them.

    The result is in units of 1 / grain, cut off at 2**61: array (items,). The formula is at the top
    of this file. A set may hold an item several times, as it does if items stand for groups.
    """
    sizes = baskets.sizes
    ends = np.cumsum(sizes)
    counts = np.zeros(items, np.int64)
    # A set adds at most grain * most. So the shares of `step` sets sum to at most 2**61, and with
    # earlier counts to at most 2**62.
    step = max(1, LARGEST_TRUE // (grain * most))
    for start in range(0, sizes.size, step):
        stop = min(start + step, sizes.size)
        some = sizes[start:stop]
        held = baskets.items[ends[start] - sizes[start] : ends[stop - 1]]
        np.add.at(counts, held, np.repeat(_shares(some, most, grain), some))
        np.minimum(counts, LARGEST_TRUE, out=counts)
    return counts


def full_counts(baskets: Baskets, items: int) -> Integers:
    """The number of sets that hold each item: array (items,)."""
    counts = np.bincount(baskets.items, minlength=items)
    return counts.astype(np.int64)


def lost(baskets: Baskets, grid: Integers) -> Integers:
    """The number of items beyond the first `most` of each set, for each `most` of a grid.

    A set of c items loses max(0, c - most) items. What it loses with the largest value b of the
    grid is subtracted: max(0, c - most) - max(0, c - b) = min(max(0, c - most), b - most). The
    result is the sum over all sets, cut off at 2**60: array (grid,).
    """
    sizes, sets = np.unique(baskets.sizes, return_counts=True)
    more = np.clip(sizes[:, None] - grid, 0, grid.max() - grid)
    numbers = sets.tolist()
    losses = []
    for column in more.T.tolist():
        # In ints of any length.
        loss = sum(items * number for items, number in zip(column, numbers, strict=True))
        losses.append(min(loss, LARGEST_LOSS))
    return np.array(losses, np.int64)


def few_counts(
    baskets: Baskets,
    items: int,
    most: int,
) -> Integers:
    """Count each item when each set keeps at most `most` of its items: array (items,).

    A hash of the item and of the whole set decides which items are kept. So the result does not
    depend on the order of the sets, or on the order of the items in them.
    """
    # A hash of each whole set: the sum of the hashes of its items.
    rows = np.repeat(np.arange(baskets.sizes.size), baskets.sizes)
    mixed = _mix(baskets.items.astype(np.uint64))
    whole = np.zeros(baskets.sizes.size, np.uint64)
    np.add.at(whole, rows, mixed)

    # The items of each set in the order of their hashes; the first `most` are kept.
    order = np.lexsort((baskets.items, _mix(mixed ^ whole[rows]), rows))
    starts = np.cumsum(baskets.sizes) - baskets.sizes
    rank = np.arange(rows.size) - starts[rows]
    kept = baskets.items[order][rank < most]
    return np.bincount(kept, minlength=items).astype(np.int64)


def scaled_gaps(
    baskets: Baskets,
    items: int,
    grid: Integers,
    scales: tuple[Sequence[int], int],
    longest: int,
    grain: int,
) -> Integers:
    """L1 distances between scaled counts of items for two values of `most`.

    The result has a distance for each value of `most` in an ascending grid and each numerator A:
    the sum over items j of |A T(j, most) - B T(j, longest)|, cut off at 2**60, array (grid, A).
    T(j, m) is the count of item j by `truncated` with most = m, without its cut-off. `scales` holds
    the numerators A and their common denominator B.

    The sets are visited once, in the order of their sizes. Let N(j) be the number of sets of at
    most `most` items that hold j, and let R(j) be the sum of floor(grain / c) over the longer sets
    that hold j. Then T = grain N + most R. From one `most` to the next, each set moves from R to N
    at most once.
    """
    numerators, denominator = scales

    # The sets by size, and the items of all sets in this order.
    order = np.argsort(baskets.sizes, kind="stable")
    sizes = baskets.sizes[order]
    ends = np.cumsum(sizes)
    starts = (np.cumsum(baskets.sizes) - baskets.sizes)[order]
    moves = np.repeat(starts - (ends - sizes), sizes)
    places = moves + np.arange(int(sizes.sum()))
    held = baskets.items[places]
    share = grain // np.maximum(sizes, 1)

    # A set adds at most `grain` to each T and R, and at most grain * longest to the sum of one T
    # over all items.
    parts = _dtype(grain * sizes.size)
    sums = _dtype(2 * max(*numerators, denominator) * grain * longest * sizes.size)

    # T(j, longest), R and N; at first all sets are in R.
    whole = np.zeros(items, parts)
    rest = np.zeros(items, parts)
    short = np.zeros(items, parts)
    long_shares = _shares(sizes, longest, grain).astype(parts)
    np.add.at(whole, held, np.repeat(long_shares, sizes))
    np.add.at(rest, held, np.repeat(share.astype(parts), sizes))

    gaps = np.zeros((grid.size, len(numerators)), np.int64)
    moved = 0
    first = 0
    for row, most in enumerate(grid.tolist()):
        # Move the sets of at most `most` items from R to N.
        upto = int(np.searchsorted(sizes, most, side="right"))
        last = int(ends[upto - 1]) if upto else 0
        np.add.at(short, held[first:last], 1)
        shares = np.repeat(share[moved:upto].astype(parts), sizes[moved:upto])
        np.subtract.at(rest, held[first:last], shares)
        moved = upto
        first = last

        # The distances, block by block, so that temporary arrays stay small.
        apart = [0] * len(numerators)
        for start in range(0, items, _BLOCK):
            block = slice(start, start + _BLOCK)
            fully = grain * short[block].astype(sums)
            partly = most * rest[block].astype(sums)
            counts = fully + partly
            others = denominator * whole[block].astype(sums)
            for column, numerator in enumerate(numerators):
                apart[column] += int(np.abs(numerator * counts - others).sum())
        gaps[row] = [min(distance, LARGEST_LOSS) for distance in apart]
    return gaps


def _dtype(largest: int) -> np.dtype[Any]:
    """The array type for sums up to `largest`: 64-bit integers, or Python integers of any
    length."""
    return np.dtype(np.int64 if largest < _LARGEST_SUM else object)


def _shares(
    sizes: Integers,
    most: int,
    grain: int,
) -> Integers:
    """The share that a set of each size adds to the count of each of its items."""
    return np.where(sizes > most, most * (grain // np.maximum(sizes, 1)), grain)


def walsh(counts: Integers, first: int) -> Integers:
    """Compute the first Walsh coefficients of counts: array (first,).

    The first ones are those whose Walsh functions change sign least often. The counts are padded
    with zeros to 2**k entries; the coefficients are cut off at +-2**61.
    """
    size = 1 << max(counts.size - 1, 0).bit_length()
    values = np.zeros(size, _dtype(total(counts)))
    values[: counts.size] = counts
    return cut_off(transform(values)[sequency_order(size)[:first]])


def _mix(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash each 64-bit word to a pseudorandom word, by the last step of SplitMix64."""
    words = (words + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = words ^ (words >> np.uint64(31))
    return mixed


def holders(
    baskets: Baskets, groups: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], npt.NDArray[np.bool_]]:
    """For each group of items, find the sets that hold at least one of them.

    The result has for each group a boolean array of shape (sets,).
    """
    # The sets that hold an item, for all items in ascending order.
    rows = np.repeat(np.arange(baskets.sizes.size), baskets.sizes)
    order = np.argsort(baskets.items, kind="stable")
    items = baskets.items[order]
    rows = rows[order]
    found = {}
    for group in groups:
        held = np.zeros(baskets.sizes.size, np.bool_)
        for item in group:
            start, stop = np.searchsorted(items, [item, item + 1])
            held[rows[start:stop]] = True
        found[group] = held
    return found
