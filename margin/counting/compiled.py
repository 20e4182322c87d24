"""Counting with compiled loops on several threads: by bit slices, by cell numbers in blocks, and
with each distinct row counted once."""

import math
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


_MOST_SLICED = 8
"""Largest number of attributes of a view that is counted from bit slices. For more, the 2**k
intersections of 64 rows take longer than numbering the cells of the rows."""

_TABLE = 1 << 18
"""Number of places in the hash table of distinct rows."""

_WORTH_REPEATING = 0.3
"""Largest share of new rows at which distinct rows are collected."""

_WORTH_JOINING = 1 << 14
"""Number of rows from which on tables are joined: the sums of a joint take as long as some thousand
rows."""

_MOST_JOINED = 1 << 14
"""Largest number of cells of a joint. It fits in the second cache of a processor."""

_WORD = 0.07
"""Nanoseconds for one word of an intersection, measured on one core."""

_ROW = 0.25
"""Nanoseconds for counting a row in its cell of a view, without its attributes."""

_ATTRIBUTE = 0.03
"""Nanoseconds for one attribute of a row in the number of its cell."""

_KEY = 6.0
"""Nanoseconds for looking up a row in the hash table."""

_NO_VIEWS = np.zeros(0, np.int64)
"""The thread that counts calls each loop with no views first. This loads its machine code, which
needs locks of numba and of imports. Several threads that wait for both have blocked each other."""


def processors() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Compiled(Kernel):
    """The counting engine for large tables. It counts each view by the faster of two methods, and
    repeated rows only once.

    A view of at most eight binary attributes is counted from bit slices. 64 rows are a word, and
    the rows that have all attributes of a set are the ones of an intersection of words. This gives
    a count for each of the 2**k sets. Inclusion and exclusion (Moebius inversion) turns these
    counts into the table, once at the end. For any other view the loops number the cells of a few
    thousand rows at a time. Views that share all attributes but one are joined to one table, and
    counted as its sums.

    If many rows are equal, each distinct row is counted once, with its weight. Rows are packed in a
    word and collected in a hash table as long as at most three in ten are new.

    Parameters
    ----------
    threads
        The number of threads that share the views.
    """

    def __init__(
        self,
        domain: Domain,
        views: Sequence[View],
        counts: Integers,
        *,
        threads: int,
    ) -> None:
        super().__init__(domain, views, counts)
        used = {name for view in views for name in view if domain[name].size > 1}
        self._names = [name for name in domain if name in used]
        sizes = [domain[name].size for name in self._names]
        self._dtype = np.min_scalar_type(max(sizes, default=2) - 1)
        self._layout = _layout(domain, views, self._names)

        # Divide the views among the threads, for each of the three ways to count.
        is_sliced = [self._is_sliced(view) for view in views]
        sliced = [at for at, has_slices in enumerate(is_sliced) if has_slices]
        whole = [at for at, has_slices in enumerate(is_sliced) if not has_slices]
        self._bits = {name for at in sliced for name in views[at]}
        self._sliced = _shares(sliced, threads)
        self._whole = _shares(whole, threads)
        joints, apart = _joints(whole, self._layout)
        self._apart = _shares(apart, threads)
        self._joints = _shares(range(len(joints.firsts) - 1), threads)
        self._joined = joints
        self._all = _shares(range(len(views)), threads)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

        self._subsets = np.zeros_like(counts) if self._sliced else counts
        self._rows = 0

        # Distinct rows are collected if counting a row costs more than twice as much as finding it.
        widths = np.array([(size - 1).bit_length() for size in sizes], np.int64)
        counting = sum(map(self._cost, views))
        finding = _KEY + len(self._names) * _ATTRIBUTE
        is_worth = counting > 2 * finding and widths.sum() <= 64
        self._distinct = _Distinct(widths) if is_worth else None

    def add(
        self,
        columns: Columns,
        rows: int,
    ) -> None:
        """Count some rows: at least one, and at most some ten thousand."""
        if self._distinct is not None:
            self._distinct.add(self._codes(columns, rows))
            if self._distinct.is_full or not self._distinct.is_worth:
                self._count_distinct()
            return
        if self._whole:
            codes = self._codes(columns, rows)
            if rows < _WORTH_JOINING or not self._joints:
                self._each(loops.add_whole, self._whole, codes)
            else:
                self._add_joined(codes)
                self._each(loops.add_whole, self._apart, codes)
        if self._sliced:
            self._rows += rows
            bits = self._slices(columns, rows)

            def add(share: Integers) -> None:
                loops.add_subsets(bits, self._layout, self._subsets, share)

            add(_NO_VIEWS)
            self._run(add, self._sliced)

    def flush(self) -> None:
        """Add the counts of all rows so far to the tables, also those that were kept in buffers."""
        if self._distinct is not None:
            self._count_distinct()
        offsets = self._layout.offsets
        # Turn the counts of sets into tables. Every row has all attributes of the empty set.
        for share in self._sliced:
            for at in share:
                own = slice(offsets[at], offsets[at + 1])
                having = self._subsets[own]
                having[0] = self._rows
                self._counts[own] += _exactly(having)
                having[:] = 0
        self._rows = 0

    def _is_sliced(self, view: View) -> bool:
        """Whether a view is counted from bit slices."""
        sizes = [size for size in self._domain.shape(view) if size > 1]
        return set(sizes) <= {2} and len(sizes) <= _MOST_SLICED

    def _cost(self, view: View) -> float:
        """The time to count a row in a view, in nanoseconds."""
        if self._is_sliced(view):
            return _WORD * (1 << len(view)) / 64
        return _ROW + _ATTRIBUTE * len(view)

    def _codes(
        self,
        columns: Columns,
        rows: int,
    ) -> NDArray[Any]:
        """The codes of all used attributes in one array: shape (attributes, rows)."""
        codes = np.empty((len(self._names), rows), self._dtype)
        for place, name in enumerate(self._names):
            codes[place] = columns[name]
        return codes

    def _slices(
        self,
        columns: Columns,
        rows: int,
    ) -> NDArray[np.uint64]:
        """Pack the attributes that are counted by their bits into words: shape (attributes, words).

        Each word holds the bits of 64 rows of one attribute. Bits after the last row are zero.
        """
        words = -(-rows // 64)
        packed = np.zeros((len(self._names), words * 8), np.uint8)
        for place, name in enumerate(self._names):
            if name in self._bits:
                bits = np.packbits(columns[name], bitorder="little")
                packed[place, : bits.size] = bits
        return packed.view("<u8").astype(np.uint64, copy=False)

    def _count_distinct(self) -> None:
        """Count the distinct rows so far. Go on collecting only if enough rows repeat."""
        assert self._distinct is not None
        collected = self._distinct
        codes, weights = collected.rows(self._dtype)
        self._each(loops.add_weighted, self._all, codes, weights)
        goes_on = collected.is_worth
        self._distinct = _Distinct(collected.widths, is_proven=True) if goes_on else None

    def _each(
        self, loop: Callable[..., None], shares: Sequence[Integers], *rows: NDArray[Any]
    ) -> None:
        """Run a loop over the views of each share. Views of up to 2**16 cells have cell numbers of
        16 bits, all others of 32 bits."""
        layout = self._layout
        is_wide = np.diff(layout.offsets) > 1 << 16
        # No machine code is loaded, or compiled, for a width that no view has.
        used = set(is_wide[np.concatenate([_NO_VIEWS, *shares])].tolist())

        def add(share: Integers) -> None:
            for wide, dtype in ((False, np.uint16), (True, np.uint32)):
                views = share[is_wide[share] == wide]
                if views.size or (share is _NO_VIEWS and wide in used):
                    scratch = np.empty(loops.BLOCK, dtype)
                    loop(*rows, layout, self._counts, views, scratch)

        add(_NO_VIEWS)
        self._run(add, shares)

    def _add_joined(self, codes: NDArray[Any]) -> None:
        """Count the rows in the joined tables, and add their sums to the tables of the views."""

        def add(share: Integers) -> None:
            scratch = np.empty(loops.BLOCK, np.uint16)
            table = np.empty(_MOST_JOINED, np.uint32)
            loops.add_joined(
                codes,
                self._joined,
                self._layout,
                self._counts,
                share,
                scratch,
                table,
            )

        add(_NO_VIEWS)
        self._run(add, self._joints)

    def _run(
        self,
        action: Callable[[Integers], None],
        shares: Sequence[Integers],
    ) -> None:
        """Do each share in its own thread. No two shares write to the same table."""
        if self._pool is None:
            for share in shares:
                action(share)
        else:
            list(self._pool.map(action, shares))


def _shares(places: Sequence[int], threads: int) -> list[Integers]:
    """Positions of views, divided into one array for each thread that has any."""
    used = min(threads, len(places))
    return [np.array(places[thread::threads], np.int64) for thread in range(used)]


def _layout(
    domain: Domain,
    views: Sequence[View],
    names: Sequence[str],
) -> loops.Layout:
    """Describe the views to the compiled loops, as arrays: the attributes of each view, except
    those of size 1, and its number of cells."""
    place = {name: at for at, name in enumerate(names)}
    kept = [[name for name in view if name in place] for view in views]
    in_a_row = [name for view in kept for name in view]
    lengths = [len(view) for view in kept]
    cells = [domain.cells(view) for view in views]
    return loops.Layout(
        places=np.array([place[name] for name in in_a_row], np.int64),
        sizes=np.array([domain[name].size for name in in_a_row], np.int64),
        firsts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        offsets=np.concatenate([[0], np.cumsum(cells)]).astype(np.int64),
    )


def _joints(places: Sequence[int], layout: loops.Layout) -> tuple[loops.Joints, list[int]]:
    """Join views of k attributes to tables of k + 1 attributes; the result is the joints, and the
    views that are left.

    A row is counted once for a joint, instead of once for each of its views. Each view has at most
    one joint: the attribute is added for which the sum of all positions is zero modulo their
    number. So all views that lack one attribute of a joint have this joint. With all views of k of
    n attributes, nearly all joints have k + 1 of them.
    """
    count = int(layout.places.max(initial=0)) + 1
    size_of = dict(zip(layout.places.tolist(), layout.sizes.tolist(), strict=True))
    groups: dict[tuple[int, ...], list[int]] = {}
    left = []
    for at in places:
        own = layout.places[layout.firsts[at] : layout.firsts[at + 1]].tolist()
        added = -sum(own) % count
        if added in own or added not in size_of or sorted(own) != own:
            left.append(at)
        else:
            groups.setdefault(tuple(sorted([*own, added])), []).append(at)
    joints = {}
    for joint, views in groups.items():
        cells = math.prod(size_of[place] for place in joint)
        if len(views) > 1 and cells <= _MOST_JOINED:
            joints[joint] = views
        else:
            left += views
    members = list(joints.values())
    in_a_row = [place for joint in joints for place in joint]
    return loops.Joints(
        places=np.array(in_a_row, np.int64),
        sizes=np.array([size_of[place] for place in in_a_row], np.int64),
        firsts=np.cumsum([0, *map(len, joints)], dtype=np.int64),
        views=np.array([view for views in members for view in views], np.int64),
        first_views=np.cumsum([0, *map(len, members)], dtype=np.int64),
    ), left


class _Distinct:
    """The distinct rows so far, each packed in a word, and how often each occurred."""

    def __init__(
        self,
        widths: Integers,
        *,
        is_proven: bool = False,
    ) -> None:
        self.widths = widths
        self._known = np.empty(_TABLE, np.uint64)
        self._weights = np.zeros(_TABLE, np.int64)
        self._size = 0
        self._seen = 0
        self._is_proven = is_proven

    @property
    def is_full(self) -> bool:
        """Whether another batch might find too few free places."""
        return self._size > _TABLE // 4

    @property
    def is_worth(self) -> bool:
        """Whether enough rows repeat. A table that follows a full one is judged when it is full."""
        if self._is_proven and not self.is_full:
            return True
        return self._size <= _WORTH_REPEATING * self._seen

    def add(self, codes: NDArray[Any]) -> None:
        """Add rows: codes of shape (attributes, rows)."""
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
        # The last attribute is in the lowest bits.
        for place in reversed(range(len(self.widths))):
            width = np.uint64(self.widths[place])
            lowest = (np.uint64(1) << width) - np.uint64(1)
            codes[place] = keys & lowest
            keys >>= width
        return codes, self._weights[places]


def _exactly(having: Integers) -> Integers:
    """The table of a view of k binary attributes, from the number of rows that have all attributes
    of each set: shape (2**k,). This is a Moebius inversion."""
    table = having.copy()
    cube = table.reshape((2,) * (table.size.bit_length() - 1))
    for axis in range(cube.ndim):
        halves = np.moveaxis(cube, axis, 0)
        halves[0] -= halves[1]
    return table
