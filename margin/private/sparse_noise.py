"""Noise on every cell of a table too large to be written out, of which only a summary is kept.

Each function draws exactly what adding discrete Laplace noise to *all* cells and then summarising
would give; that is post-processing of a private table, so what is kept is private. The cells that
no row is in are not visited: how many of them enter the summary is binomial, which they are is a
uniform choice without return, and their values have the law of noise given that it entered; the
three are independent. Cells come out in order, so that nothing tells them from others.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._types import Integers
from ..errors import DomainError
from ..noise.binomial import binomial
from ..noise.entropy import Entropy
from ..noise.kept_cells import Entering, Keep, More
from ..noise.laws import DiscreteLaplace, noisy_sum
from ..noise.priorities import code_of, grid_point, priorities
from ..noise.uniform_integers import uniform
from ..sparse.axes import nested
from ..sparse.grid import Grid, among, distinct, in_order, ordered, without
from .cell_counts import Cells, Counted

__all__ = [
    "MAX_KEPT",
    "Kept",
    "Largest",
    "check_size",
    "empty_cells",
    "kept_cells",
    "largest_cells",
]


MAX_KEPT = 10**7
_HIGHEST = 124  # no level is above two to this power
_LEVEL_DIGITS = (
    5  # significant binary digits of a level: fewer than a point of the grid of priorities has
)
_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Largest:
    """The cells of the largest priorities |v| / U, U uniform on (0, 1), among those with |v| >=
    theta.

    Priorities are rounded down to a public grid, the numbers of 20 significant binary digits. Kept
    are those from the *cut* on: the least point of the grid that at most `size` priorities reach.
    So `size` cells are kept, or a few less where more than one has the same priority: on average
    less than size / 2**19.

    Duffield, Lund and Thorup, "Priority sampling for estimation of arbitrary subset sums", JACM
    54(6), 2007. When `nested`, those nodes of trees that have an ancestor with |v| < theta are
    dropped first, and all of |v| >= theta are drawn to see it.
    """

    size: int
    theta: int = 1
    nested: bool = False


@dataclass(frozen=True, eq=False)
class Kept:
    """Cells as rows of words, in order, their noisy counts, and the cut of `Largest`, zero when
    nothing was cut off."""

    words: Integers
    counts: Integers
    cut: float = 0.0


def check_size(cells: int, noise: DiscreteLaplace, keep: Keep | Largest) -> None:
    """Refuse a summary that would keep millions of empty cells."""
    rule = keep
    if isinstance(keep, Largest):
        rule = (
            Keep(keep.theta, keep.theta, True)
            if keep.nested
            else Keep(keep.theta, 1 << _HIGHEST, True)
        )
    assert isinstance(rule, Keep)
    expected = cells * float(Entering(noise.scale, rule))
    if expected > MAX_KEPT:
        raise DomainError(
            f"about {expected:.1e} of {cells:.1e} empty cells would be kept, of {MAX_KEPT:.0e} at most: raise theta to "
            f"{math.ceil(float(noise.scale) * math.log(max(cells / 1000, 1)))} or so, or tau"
        )


def kept_cells(
    grid: Grid, noise: DiscreteLaplace, true: Cells, keep: Keep, entropy: Entropy
) -> Kept:
    """Each cell's noisy count v, kept with probability w(v) of `keep`.

    Cells of the data get their noise and their coins one by one. Each of the n0 others is kept with
    one probability P, independently: their number is binomial (n0, P).
    """
    words, values = [], []
    for found, counts in true.blocks():
        noisy = noisy_sum(counts, noise.sample(counts.size, entropy))
        large = keep.chosen(noisy, entropy)
        words.append(found.compress(large, axis=0))
        values.append(noisy[large])
    law = Entering(noise.scale, keep)
    number = binomial(grid.cells - true.number, law, entropy)
    words.append(empty_cells(grid, true, number, entropy))
    values.append(law.sample(number, entropy))
    together = np.concatenate(words)
    order = ordered(together)
    return Kept(together.take(order, axis=0), np.concatenate(values)[order])


def largest_cells(
    grid: Grid, noise: DiscreteLaplace, true: Cells, keep: Largest, entropy: Entropy
) -> Kept:
    """The cells of the `keep.size` largest priorities of the whole noisy table, as `Largest`
    defines them.

    Every cell, whether a row is in it or not, has the same law: noise is added to its count, which
    gives v; its priority, from theta on, is t or more with probability min(1, |v| / t), for each t
    of the grid. What is kept, and the cut, are a function of all v and all priorities. The proof
    that what follows draws from that law, without visiting all cells, is in
    docs/proofs/sparse_cells.md:

    Given t, all empty cells of a priority of t or more are drawn as a threshold sample of tau = t,
    and their priorities given that they are t or more. When, with those of the data, there are more
    than `size` of them, they hold the largest priorities of all. When there are not, t is halved,
    and the sample is extended by the cells whose priority is between the two, from the law given
    that they were not in it before (`More`): what is there stays. Where t starts is only a matter
    of time; it may depend on what was drawn for the data's cells.
    """
    if keep.nested:
        passed = kept_cells(grid, noise, true, Keep(keep.theta, keep.theta, True), entropy)
        inner = nested(grid.axes, grid.unpack(passed.words))
        values = passed.counts[inner]
        return _cut(
            [passed.words[inner]], [values], [priorities(np.abs(values), entropy)], keep.size
        )
    found, noisy, codes, least = _leading(grid, true, noise, keep, entropy)
    empty = grid.cells - true.number
    level = _level(keep, grid_point(least)) if least else _start(noisy, empty, noise, keep)
    places, entered, drawn, number = (
        [np.empty((0, len(grid.radices)), np.int64)],
        [noisy[:0]],
        [codes[:0]],
        0,
    )
    law: Entering | More = Entering(noise.scale, level)
    while True:
        new = binomial(empty - number, law, entropy)
        values, among_them = law.with_priorities(new, entropy)
        places.append(empty_cells(grid, true, new, entropy, before=np.concatenate(places)))
        entered.append(values)
        drawn.append(among_them)
        number += new
        inside = codes >= code_of(level.tau)
        if int(inside.sum()) + number > keep.size or level.tau == keep.theta:
            break
        above, level = level, Keep(keep.theta, max(keep.theta, level.tau // 2), True)
        law = More(noise.scale, level, above)
    return _cut(
        [found.compress(inside, axis=0), *places],
        [noisy[inside], *entered],
        [codes[inside], *drawn],
        keep.size,
    )


def _leading(
    grid: Grid, true: Cells, noise: DiscreteLaplace, keep: Largest, entropy: Entropy
) -> tuple[Integers, Integers, Integers, int]:
    """The cells of the data as far as they pass the filter, their noisy counts and the codes of
    their priorities.

    Arrays (cells, words), (cells,) and (cells,). When there are many more than `keep.size`, only
    those of the largest priorities, one more or those that are level with it, and the least of
    these codes; else zero.
    """
    words = [np.empty((0, len(grid.radices)), np.int64)]
    values, codes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    least, held = 0, 0
    for found, counts in true.blocks():
        noisy = noisy_sum(counts, noise.sample(counts.size, entropy))
        passing = np.abs(noisy) >= keep.theta
        words.append(found.compress(passing, axis=0))
        values.append(noisy[passing])
        codes.append(priorities(np.abs(values[-1]), entropy))
        held += len(words[-1])
        if held > 2 * keep.size + _AT_ONCE:
            together = np.concatenate(codes)
            least = _largest_but(keep.size, together)
            leading = together >= least
            words, values = [_chosen(words, leading)], [_chosen(values, leading)]
            codes = [together[leading]]
            held = codes[0].size
    return np.concatenate(words), np.concatenate(values), np.concatenate(codes), least


def _largest_but(size: int, codes: Integers) -> int:
    """The largest but so many."""
    last = codes.size - size - 1
    return int(np.partition(codes, last)[last])


def _cut(
    words: Sequence[Integers], values: Sequence[Integers], codes: Sequence[Integers], size: int
) -> Kept:
    """The cells in several arrays, in order, whose priorities reach the cut, which at most `size`
    do."""
    every = np.concatenate(codes)
    cut, kept = 0.0, np.ones(every.size, np.bool_)
    if every.size > size:
        dropped = _largest_but(size, every)
        cut, kept = grid_point(dropped + 1), every > dropped
    cells, counts = _chosen(words, kept), _chosen(values, kept)
    order = ordered(cells)
    return Kept(cells.take(order, axis=0), counts[order], cut)


def _chosen(parts: Sequence[Integers], flags: npt.NDArray[np.bool_]) -> Integers:
    """The rows of several arrays that are flagged."""
    ends = np.cumsum([len(part) for part in parts])
    return np.concatenate(
        [
            part.compress(some, axis=0)
            for part, some in zip(parts, np.split(flags, ends[:-1]), strict=True)
        ]
    )


def _start(noisy: Integers, empty: int, noise: DiscreteLaplace, keep: Largest) -> Keep:
    """About the largest level for which enough cells are expected; only time depends on it."""
    enough = keep.size + 6 * math.sqrt(keep.size + 1) + 8
    step = noisy.size // _AT_ONCE + 1
    sizes = np.abs(noisy[::step])
    low, high = 0, _HIGHEST << 4
    while low < high:
        middle = (low + high + 1) // 2
        level = _level(keep, 2.0 ** (middle / 16))
        expected = step * float(np.minimum(sizes / float(level.tau), 1.0).sum())
        expected += empty * float(Entering(noise.scale, level))
        low, high = (middle, high) if expected >= enough else (low, middle - 1)
    return _level(keep, 2.0 ** (low / 16))


def _level(keep: Largest, priority: float) -> Keep:
    """The level at or below a priority of one or more that has few binary digits, but at least
    theta."""
    whole = int(priority)
    dropped = max(0, whole.bit_length() - _LEVEL_DIGITS)
    return Keep(keep.theta, max(keep.theta, whole >> dropped << dropped), True)


def empty_cells(
    grid: Grid, true: Cells, number: int, entropy: Entropy, *, before: Integers | None = None
) -> Integers:
    """A uniform choice without return of `number` cells that are not those of the data, nor chosen
    before, in order: array (number, words).

    Where the data's cells are not in memory, cells are chosen among all, a little more than are
    missing on average, and those of the data are dropped from them. What is left is a uniform
    choice among all others, of a size that says nothing else, and so is a uniform choice among what
    is left, where that is too much.
    """
    tried = (
        np.empty((0, len(grid.radices)), np.int64)
        if before is None or not len(before)
        else in_order(before)
    )
    if isinstance(true, Counted):
        return _besides(
            grid,
            in_order(np.concatenate([true.words, tried])) if len(tried) else true.words,
            number,
            entropy,
        )
    chosen, missing, free = [tried[:0]], number, grid.cells - true.number - len(tried)
    while missing:
        enough = missing * grid.cells // free + 6 * math.isqrt(missing * grid.cells // free) + 16
        candidates = _besides(
            grid, tried, min(enough, grid.cells - len(tried), 4 * missing + _AT_ONCE), entropy
        )
        found = without(candidates, _held(candidates, true))
        tried = in_order(np.concatenate([tried, candidates]))
        if len(found) > missing:
            found = found.take(_places(len(found), missing, entropy)[:, 0], axis=0)
        chosen.append(found)
        missing -= len(found)
    return in_order(np.concatenate(chosen))


def _held(candidates: Integers, true: Cells) -> npt.NDArray[np.bool_]:
    """Which of some cells, in order, are cells of the data: array (candidates,)."""
    found = [words.compress(among(words, candidates), axis=0) for words, _ in true.blocks()]
    return among(candidates, in_order(np.concatenate([candidates[:0], *found])))


def _besides(grid: Grid, taken: Integers, number: int, entropy: Entropy) -> Integers:
    """A uniform choice without return of `number` cells that are not among `taken`, in order: array
    (number, words).

    `taken` is in order, too. Cells of one word are chosen by their places among those that are
    free. There are so many of several words, over 2**62, that those drawn which are taken are just
    passed over.
    """
    if len(grid.radices) == 1:
        places = _places(grid.cells - len(taken), number, entropy)
        before = taken[:, 0] - np.arange(len(taken))  # how many free cells come before each
        return places + np.searchsorted(before, places[:, 0], side="right")[:, None]
    return _without_return(lambda count: _drawn_nodes(grid, count, entropy), number, taken)


def _drawn_nodes(grid: Grid, count: int, entropy: Entropy) -> Integers:
    """Independent uniform nodes: array (count, words)."""
    words = np.empty((count, len(grid.radices)), np.int64)
    for word, radix in enumerate(grid.radices):
        words[:, word] = uniform(radix, count, entropy)
    return words


def _places(total: int, number: int, entropy: Entropy) -> Integers:
    """A uniform choice without return of `number` from 0 ... total - 1, in order: array (number,
    1)."""
    if 2 * number > total:
        left_out = np.zeros(total, np.bool_)
        left_out[_places(total, total - number, entropy)] = True
        return np.flatnonzero(~left_out)[:, None]
    return _without_return(
        lambda count: uniform(total, count, entropy)[:, None], number, np.empty((0, 1), np.int64)
    )


def _without_return(draw: Callable[[int], Integers], number: int, taken: Integers) -> Integers:
    """So many different ones of what can be drawn, in order, when those that are taken or were
    drawn before are passed over.

    No more are ever drawn than are missing, so that none is passed over for being one too many.
    """
    chosen = taken[:0]
    while len(chosen) < number:
        new = distinct(draw(number - len(chosen)))
        if len(taken) or len(chosen):
            new = without(new, among(new, taken) | among(new, chosen))
        chosen = in_order(np.concatenate([chosen, new])) if len(chosen) else new
    return chosen
