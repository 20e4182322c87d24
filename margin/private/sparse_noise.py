"""Noise on every cell of a table too large to be written out, of which only a summary is kept.

Each function draws exactly what adding discrete Laplace noise to *all* cells and then summarising would give; that is
post-processing of a private table, so what is kept is private. The cells that no row is in are not visited: how many of
them enter the summary is binomial, which they are is a uniform choice without return, and their values have the law of
noise given that it entered; the three are independent. Cells come out in order, so that nothing tells them from others.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..axes import nested
from ..entropy import Entropy
from ..errors import DomainError
from ..exact.binomial import binomial
from ..exact.certified import uniform_is_below
from ..exact.summaries import Entering, Keep, More
from ..exact.uniform import uniform
from ..grid import Grid, among, distinct, in_order, ordered, without
from ..noise import DiscreteLaplace
from .cell_counts import Cells, Counted

__all__ = ["MAX_KEPT", "Kept", "Largest", "check_size", "empty_cells", "kept_cells", "largest_cells"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MAX_KEPT = 10**7
_WORD = 62
_HIGHEST = 2 * _WORD  # no level is above two to this power
_SHOWN = 1 << 53
_MARGIN = 2.0**-40
_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Largest:
    """The `size` cells of the largest priorities |v| / r, r uniform in (0, 1], among those with |v| >= theta.

    Duffield, Lund and Thorup, "Priority sampling for estimation of arbitrary subset sums", JACM 54(6), 2007. When
    `nested`, those nodes of trees that have an ancestor with |v| < theta are dropped first, and all of |v| >= theta are
    drawn to see it.
    """

    size: int
    theta: int = 1
    nested: bool = False


@dataclass(frozen=True, eq=False)
class Kept:
    """Cells as rows of words, in order, their noisy counts, and the largest priority that was not kept (or zero)."""

    words: Integers
    counts: Integers
    cut: float = 0.0


def check_size(cells: int, noise: DiscreteLaplace, keep: Keep | Largest) -> None:
    """Refuse a summary that would keep millions of empty cells."""
    rule = keep
    if isinstance(keep, Largest):
        rule = Keep(keep.theta, keep.theta, True) if keep.nested else Keep(keep.theta, 1 << _HIGHEST, True)
    assert isinstance(rule, Keep)
    expected = cells * float(Entering(noise.scale, rule))
    if expected > MAX_KEPT:
        raise DomainError(
            f"about {expected:.1e} of {cells:.1e} empty cells would be kept, of {MAX_KEPT:.0e} at most: raise theta to "
            f"{math.ceil(float(noise.scale) * math.log(max(cells / 1000, 1)))} or so, or tau"
        )


def kept_cells(grid: Grid, noise: DiscreteLaplace, true: Cells, keep: Keep, entropy: Entropy) -> Kept:
    """Each cell's noisy count v, kept with probability w(v) of `keep`.

    Cells of the data get their noise and their coins one by one. Each of the n0 others is kept with one probability P,
    independently: their number is binomial (n0, P).
    """
    words, values = [], []
    for found, counts in true.blocks():
        noisy = counts + noise.sample(counts.size, entropy)
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


def largest_cells(grid: Grid, noise: DiscreteLaplace, true: Cells, keep: Largest, entropy: Entropy) -> Kept:
    """The cells of the `keep.size` largest priorities of the whole noisy table.

    The priority of v is |v| / r, r uniform in (0, 1), of whose binary digits as many are drawn as are looked at. It is
    t or more for r <= |v| / t: with probability min(1, |v| / t), as in a threshold sample of tau = t. So all cells of
    priority t or more can be drawn as such a sample, and r, given that, uniformly below min(1, |v| / t). When there are
    more than `size` of them they hold the largest priorities of all. When there are not, t is halved, and the sample is
    extended by the cells whose priority is between the two, from the law given that they were not in it before
    (`More`): what is there stays. Where t starts is only a matter of time; it may depend on the noisy counts and the
    ranks of the data's cells.
    """
    if keep.nested:
        passed = kept_cells(grid, noise, true, Keep(keep.theta, keep.theta, True), entropy)
        inner = nested(grid.axes, grid.unpack(passed.words))
        values = passed.counts[inner]
        priorities = np.abs(values) / _as_floats(_uniform(values.size, entropy))
        return _cut([passed.words[inner]], [values], [priorities], keep.size)
    found, noisy, ranks, least = _leading(grid, true, noise, keep, entropy)
    empty = grid.cells - true.number
    level = _level(keep, least) if least else _start(noisy, empty, noise, keep)
    places, entered, drawn, number = [np.empty((0, len(grid.radices)), np.int64)], [noisy[:0]], [np.empty(0)], 0
    law: Entering | More = Entering(noise.scale, level)
    while True:
        new = binomial(empty - number, law, entropy)
        values = law.sample(new, entropy)
        places.append(empty_cells(grid, true, new, entropy, before=np.concatenate(places)))
        entered.append(values)
        drawn += _drawn(values, law, entropy)
        number += new
        inside = _reaches(noisy, ranks, level.tau, entropy)
        if int(inside.sum()) + number > keep.size or level.tau == keep.theta:
            break
        above, level = level, Keep(keep.theta, max(keep.theta, level.tau // 2), True)
        law = More(noise.scale, level, above)
    own = np.abs(noisy[inside]) / _as_floats(ranks[:, inside])
    return _cut([found.compress(inside, axis=0), *places], [noisy[inside], *entered], [own, *drawn], keep.size)


def _leading(
    grid: Grid, true: Cells, noise: DiscreteLaplace, keep: Largest, entropy: Entropy
) -> tuple[Integers, Integers, Integers, float]:
    """The cells of the data, their noisy counts v and ranks r, as far as they pass the filter: (cells, words), (cells,)
    and (2, cells). When there are many more than `keep.size`, only those of the largest priorities, one more or those
    that are level with it, and the least of these priorities; else zero."""
    words, values, ranks = (
        [np.empty((0, len(grid.radices)), np.int64)],
        [np.empty(0, np.int64)],
        [np.empty((2, 0), int)],
    )
    least, held = 0.0, 0
    for found, counts in true.blocks():
        noisy = counts + noise.sample(counts.size, entropy)
        passing = np.abs(noisy) >= keep.theta
        words.append(found.compress(passing, axis=0))
        values.append(noisy[passing])
        ranks.append(_uniform(counts.size, entropy).compress(passing, axis=1))
        held += len(words[-1])
        if held > 2 * keep.size + _AT_ONCE:
            together, noisy, digits = np.concatenate(words), np.concatenate(values), np.concatenate(ranks, axis=1)
            priorities = np.abs(noisy) / _as_floats(digits)
            least = _largest_but(keep.size, priorities)
            leading = priorities >= least
            words, values, ranks = [together.compress(leading, axis=0)], [noisy[leading]], [digits[:, leading]]
            held = len(words[0])
    return np.concatenate(words), np.concatenate(values), np.concatenate(ranks, axis=1), least


def _largest_but(size: int, priorities: Floats) -> float:
    """The largest but so many."""
    last = priorities.size - size - 1
    return float(np.partition(priorities, last)[last])


def _drawn(values: Integers, law: Entering | More, entropy: Entropy) -> list[Floats]:
    """The priorities of cells that entered; some at a time, to spare memory.

    Those of `More` are below the level before: r is uniform between the two bounds.
    """
    found = []
    for start in range(0, values.size, _AT_ONCE):
        sizes = np.abs(values[start : start + _AT_ONCE]).astype(np.float64)
        high = np.minimum(sizes / law.keep.tau, 1.0)
        low = np.minimum(sizes / law.before.tau, 1.0) if isinstance(law, More) else 0.0
        found.append(sizes / (low + (high - low) * _as_floats(_uniform(sizes.size, entropy))))
    return found


def _uniform(count: int, entropy: Entropy) -> Integers:
    """Uniform reals below one: the first 62 binary digits, and the next 62 where a float shows them, else zero; array
    (2, count)."""
    heads = uniform(1 << _WORD, count, entropy)
    tails = np.zeros_like(heads)
    small = np.flatnonzero(heads < _SHOWN)
    tails[small] = uniform(1 << _WORD, small.size, entropy)
    return np.stack([heads, tails])


def _as_floats(digits: Integers) -> Floats:
    """Uniform reals as floats above zero: array (count,)."""
    heads, tails = digits
    floats: Floats = (tails + 1).astype(np.float64)
    floats *= 2.0**-_WORD
    floats += heads
    floats *= 2.0**-_WORD
    return floats


def _cut(words: Sequence[Integers], values: Sequence[Integers], priorities: Sequence[Floats], size: int) -> Kept:
    """The `size` largest priorities of cells in several arrays, in order of the cells; among equal ones, as floats, the
    cells that come first."""
    every = np.concatenate(priorities)
    cut, kept = 0.0, np.ones(every.size, np.bool_)
    if every.size > size:
        cut = _largest_but(size, every)
        kept = every > cut
        level = every == cut
        kept[np.flatnonzero(level)[ordered(_chosen(words, level))][: size - int(kept.sum())]] = True
    cells, counts = _chosen(words, kept), _chosen(values, kept)
    order = ordered(cells)
    return Kept(cells.take(order, axis=0), counts[order], cut)


def _chosen(parts: Sequence[Integers], flags: npt.NDArray[np.bool_]) -> Integers:
    """The rows of several arrays that are flagged."""
    ends = np.cumsum([len(part) for part in parts])
    return np.concatenate(
        [part.compress(some, axis=0) for part, some in zip(parts, np.split(flags, ends[:-1]), strict=True)]
    )


def _reaches(values: Integers, ranks: Integers, level: int, entropy: Entropy) -> npt.NDArray[np.bool_]:
    """Whether r < |v| / level, exactly: array as `values`.

    Below one, both sides are off by less than 2**-51 as floats. Where they are within 2**-40 of each other whole
    numbers decide, with more digits of r if need be.
    """
    sizes = np.abs(values)
    bounds, reals = np.minimum(sizes / float(level), 1.0), _as_floats(ranks)
    reached: npt.NDArray[np.bool_] = reals < bounds
    for i in np.flatnonzero((np.abs(bounds - reals) <= _MARGIN) & (sizes < level)):
        size, (head, tail) = int(sizes[i]), ranks[:, i].tolist()

        def bound(bits: int, size: int = size) -> tuple[int, int]:
            return (size << bits) // level, -(-(size << bits) // level)

        known = {"known": head << _WORD | tail, "bits": 2 * _WORD} if head < _SHOWN else {"known": head, "bits": _WORD}
        reached[i] = uniform_is_below(bound, entropy, **known)
    reached[sizes >= level] = True
    return reached


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
    """The level at or below a priority of one or more whose first five binary digits are its, but at least theta."""
    digits, power = math.frexp(priority)
    tau = int(priority) if power <= 5 else int(digits * 32) << (power - 5)
    return Keep(keep.theta, max(keep.theta, tau), True)


def empty_cells(grid: Grid, true: Cells, number: int, entropy: Entropy, *, before: Integers | None = None) -> Integers:
    """A uniform choice without return of `number` cells that are not those of the data, nor chosen before, in order:
    array (number, words).

    Where the data's cells are not in memory, cells are chosen among all, a little more than are missing on average,
    and those of the data are dropped from them. What is left is a uniform choice among all others, of a size that
    says nothing else, and so is a uniform choice among what is left, where that is too much.
    """
    tried = np.empty((0, len(grid.radices)), np.int64) if before is None or not len(before) else in_order(before)
    if isinstance(true, Counted):
        return _besides(
            grid, in_order(np.concatenate([true.words, tried])) if len(tried) else true.words, number, entropy
        )
    chosen, missing, free = [tried[:0]], number, grid.cells - true.number - len(tried)
    while missing:
        enough = missing * grid.cells // free + 6 * math.isqrt(missing * grid.cells // free) + 16
        candidates = _besides(grid, tried, min(enough, grid.cells - len(tried), 4 * missing + _AT_ONCE), entropy)
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
    """A uniform choice without return of `number` cells that are not among `taken`, in order: array (number, words).

    `taken` is in order, too. Cells of one word are chosen by their places among those that are free. There are so many
    of several words, over 2**62, that those drawn which are taken are just passed over.
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
    """A uniform choice without return of `number` from 0 ... total - 1, in order: array (number, 1)."""
    if 2 * number > total:
        left_out = np.zeros(total, np.bool_)
        left_out[_places(total, total - number, entropy)] = True
        return np.flatnonzero(~left_out)[:, None]
    return _without_return(lambda count: uniform(total, count, entropy)[:, None], number, np.empty((0, 1), np.int64))


def _without_return(draw: Callable[[int], Integers], number: int, taken: Integers) -> Integers:
    """So many different ones of what can be drawn, in order, when those that are taken or were drawn before are passed
    over.

    No more are ever drawn than are missing, so that none is passed over for being one too many.
    """
    chosen = taken[:0]
    while len(chosen) < number:
        new = distinct(draw(number - len(chosen)))
        if len(taken) or len(chosen):
            new = without(new, among(new, taken) | among(new, chosen))
        chosen = in_order(np.concatenate([chosen, new])) if len(chosen) else new
    return chosen
