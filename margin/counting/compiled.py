"""Counting with compiled loops on all processors: bit slices, blocked columns, and each distinct
row once."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Integers
from ..domain.domain import Domain, View
from . import loops
from .blocks import Columns, Kernel

__all__ = ["Compiled", "processors"]


# attributes: beyond it, 2**k intersections of 64 rows cost more than numbering the rows' cells
_MOST_SLICED = 8
_TABLE = 1 << 18
_WORTH_REPEATING = 0.3
_WORD, _ROW, _ATTRIBUTE, _KEY = 0.07, 0.25, 0.03, 6.0
"""Measured on one core, in nanoseconds: a word of an intersection; a row in a cell, and for each
attribute; a key."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Compiled(Kernel):
    """Picks for each view what is cheapest, and for all what repeats.

    A view of at most eight binary attributes is counted from bit slices: 64 rows are a word, and
    the rows that have all attributes of a set are the ones of an intersection, for each of the 2**k
    sets; the table follows by inclusion and exclusion, once at the end (Moebius inversion). Any
    other view numbers the cells of a few thousand rows at a time.

    Where few rows differ, each distinct row is counted once, with its weight: rows are packed in a
    word and collected in a hash table for as long as at most three in ten are new.

    Parameters
    ----------
    threads
        Over how many threads the views are shared out.
    """

    def __init__(
        self, domain: Domain, views: Sequence[View], counts: Sequence[Integers], *, threads: int
    ) -> None:
        super().__init__(domain, views, counts)
        used = {name for view in views for name in view if domain[name].size > 1}
        self._names = [name for name in domain if name in used]
        self._dtype = np.min_scalar_type(
            max((domain[name].size for name in self._names), default=2) - 1
        )
        self._layout = _Layout(domain, views, self._names)
        sliced = [self._is_sliced(view) for view in views]
        self._bits = {
            name
            for view, is_sliced in zip(views, sliced, strict=True)
            if is_sliced
            for name in view
        }
        self._sliced, self._whole, self._all = (
            [
                np.array(places[thread::threads], np.int64)
                for thread in range(min(threads, len(places)))
            ]
            for places in (
                [at for at in range(len(views)) if sliced[at]],
                [at for at in range(len(views)) if not sliced[at]],
                list(range(len(views))),
            )
        )
        self._totals = np.zeros(self._layout.offsets[-1], np.int64)
        self._subsets = np.zeros_like(self._totals) if self._sliced else self._totals
        self._rows = 0
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        widths = np.array([(domain[name].size - 1).bit_length() for name in self._names], np.int64)
        pays = sum(map(self._cost, views)) > 2 * (_KEY + len(self._names) * _ATTRIBUTE)
        self._distinct = _Distinct(widths) if pays and widths.sum() <= 64 else None

    def add(self, columns: Columns, rows: int) -> None:
        """See `Kernel.add`."""
        if self._distinct is not None:
            self._distinct.add(self._codes(columns, rows))
            if self._distinct.is_full or not self._distinct.is_worth:
                self._count_distinct()
            return
        if self._whole:
            self._each(loops.add_whole, self._whole, self._codes(columns, rows))
        if self._sliced:
            self._rows += rows
            bits, layout = self._slices(columns, rows), self._layout

            def add(share: Integers) -> None:
                loops.add_subsets(
                    bits, layout.places, layout.firsts, layout.offsets, self._subsets, share
                )

            self._run(add, self._sliced)

    def flush(self) -> None:
        """See `Kernel.flush`."""
        if self._distinct is not None:
            self._count_distinct()
        offsets = self._layout.offsets
        for at in (view for share in self._sliced for view in share):
            having = self._subsets[offsets[at] : offsets[at + 1]]
            having[0] = self._rows
            self._totals[offsets[at] : offsets[at + 1]] += _exactly(having)
            having[:] = 0
        self._rows = 0
        for at, counts in enumerate(self._counts):
            counts += self._totals[offsets[at] : offsets[at + 1]]
        self._totals[:] = 0

    def _is_sliced(self, view: View) -> bool:
        sizes = [size for size in self._domain.shape(view) if size > 1]
        return set(sizes) <= {2} and len(sizes) <= _MOST_SLICED

    def _cost(self, view: View) -> float:
        """Nanoseconds a row."""
        return (
            _WORD * 2 ** len(view) / 64 if self._is_sliced(view) else _ROW + _ATTRIBUTE * len(view)
        )

    def _codes(self, columns: Columns, rows: int) -> NDArray[Any]:
        """The codes as one array (attributes, rows)."""
        codes = np.empty((len(self._names), rows), self._dtype)
        for place, name in enumerate(self._names):
            codes[place] = columns[name]
        return codes

    def _slices(self, columns: Columns, rows: int) -> NDArray[np.uint64]:
        """The bits of the attributes that are counted by them: array (attributes, words), zero
        after the last row."""
        packed = np.zeros((len(self._names), -(-rows // 64) * 8), np.uint8)
        for place, name in enumerate(self._names):
            if name in self._bits:
                packed[place, : -(-rows // 8)] = np.packbits(columns[name], bitorder="little")
        return packed.view("<u8").astype(np.uint64, copy=False)

    def _count_distinct(self) -> None:
        """Count the distinct rows so far, and collect no more when too few repeat."""
        assert self._distinct is not None
        self._each(loops.add_weighted, self._all, *self._distinct.rows(self._dtype))
        self._distinct = (
            _Distinct(self._distinct.widths, is_proven=True) if self._distinct.is_worth else None
        )

    def _each(
        self, loop: Callable[..., None], shares: Sequence[Integers], *rows: NDArray[Any]
    ) -> None:
        """Run a loop over the views of each share, those of narrow cell numbers apart from the
        others."""
        layout = self._layout

        def add(share: Integers) -> None:
            wide = layout.cells[share] > 1 << 16
            for views, dtype in ((share[~wide], np.uint16), (share[wide], np.uint32)):
                if views.size:
                    cells = np.empty(loops.BLOCK, dtype)
                    loop(
                        *rows,
                        layout.places,
                        layout.sizes,
                        layout.firsts,
                        layout.offsets,
                        self._totals,
                        views,
                        cells,
                    )

        self._run(add, shares)

    def _run(self, action: Callable[[Integers], None], shares: Sequence[Integers]) -> None:
        """Do each share, in a thread of its own: no two of them write to the same table."""
        if self._pool is None:
            for share in shares:
                action(share)
        else:
            list(self._pool.map(action, shares))


class _Layout:
    """Where the attributes and the cells of each view are, as arrays for the loops; attributes of
    size 1 left out."""

    def __init__(self, domain: Domain, views: Sequence[View], names: Sequence[str]) -> None:
        place = {name: at for at, name in enumerate(names)}
        kept = [[name for name in view if name in place] for view in views]
        self.places = np.array([place[name] for view in kept for name in view], np.int64)
        self.sizes = np.array([domain[name].size for view in kept for name in view], np.int64)
        self.firsts = np.concatenate([[0], np.cumsum(list(map(len, kept)))]).astype(np.int64)
        self.cells = np.array([domain.cells(view) for view in views], np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(self.cells)]).astype(np.int64)


class _Distinct:
    """The distinct rows so far, each a word, and how often each came."""

    def __init__(self, widths: Integers, *, is_proven: bool = False) -> None:
        self.widths = widths
        self._known, self._weights = np.empty(_TABLE, np.uint64), np.zeros(_TABLE, np.int64)
        self._size = self._seen = 0
        self._is_proven = is_proven

    @property
    def is_full(self) -> bool:
        """Whether another batch may not find room."""
        return self._size > _TABLE // 4

    @property
    def is_worth(self) -> bool:
        """Whether rows repeat; a table that follows another is judged when it is full."""
        return self._size <= _WORTH_REPEATING * self._seen or (self._is_proven and not self.is_full)

    def add(self, codes: NDArray[Any]) -> None:
        keys = np.empty(codes.shape[1], np.uint64)
        loops.pack(codes, self.widths, keys)
        self._size += loops.add_distinct(keys, self._known, self._weights)
        self._seen += keys.size

    def rows(self, dtype: np.dtype[Any]) -> tuple[NDArray[Any], Integers]:
        """The codes of the distinct rows, shape (attributes, distinct), and their weights, shape
        (distinct,)."""
        places = np.flatnonzero(self._weights)
        keys = self._known[places]
        codes = np.empty((len(self.widths), keys.size), dtype)
        for place in reversed(range(len(self.widths))):
            width = np.uint64(self.widths[place])
            codes[place] = keys & ((np.uint64(1) << width) - np.uint64(1))
            keys >>= width
        return codes, self._weights[places]


def _exactly(having: Integers) -> Integers:
    """From how many rows have all attributes of each set, how many have just these: shape (2**k,)."""
    table = having.copy()
    cube = table.reshape((2,) * (table.size.bit_length() - 1))
    for axis in range(cube.ndim):
        halves = np.moveaxis(cube, axis, 0)
        halves[0] -= halves[1]
    return table
