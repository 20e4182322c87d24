"""Noise on every cell of a table too large to be written out, of which only a summary is kept.

Each function draws exactly what adding discrete Laplace noise to *all* cells and then summarising would give; that is
post-processing of a private table, so what is kept is private. The cells that no row is in are not visited: how many of
them enter the summary is binomial, which they are is a uniform choice without return, and their values have the law of
noise given that it entered; the three are independent. Cells come out in order, so that nothing tells them from others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..axes import nested
from ..entropy import Entropy
from ..errors import DomainError
from ..exact.binomial import binomial
from ..exact.summaries import Entering, Keep, More
from ..exact.uniform import uniform, uniform_below
from ..noise import DiscreteLaplace
from .grid import Grid, among, in_order, ordered, rows_equal

__all__ = ["MAX_KEPT", "Kept", "Largest", "check_size", "empty_cells", "kept_cells", "largest_cells"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MAX_KEPT = 10**7
_WORD = 62
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
        rule = Keep(keep.theta, keep.theta, True) if keep.nested else _level(keep, 2 * _WORD)
    assert isinstance(rule, Keep)
    expected = cells * float(Entering(noise.scale, rule))
    if expected > MAX_KEPT:
        raise DomainError(
            f"about {expected:.1e} of {cells:.1e} empty cells would be kept, of {MAX_KEPT:.0e} at most: raise theta to "
            f"{math.ceil(float(noise.scale) * math.log(max(cells / 1000, 1)))} or so, or tau"
        )


def kept_cells(
    grid: Grid, noise: DiscreteLaplace, true: tuple[Integers, Integers], keep: Keep, entropy: Entropy
) -> Kept:
    """Each cell's noisy count v, kept with probability w(v) of `keep`.

    Cells of the data get their noise and their coins one by one. Each of the n0 others is kept with one probability P,
    independently: their number is binomial (n0, P).
    """
    found, counts = true
    noisy = counts + noise.sample(counts.size, entropy)
    large = keep.chosen(noisy, entropy)
    law = Entering(noise.scale, keep)
    number = binomial(grid.cells - counts.size, law, entropy)
    words = np.concatenate([found[large], empty_cells(grid, found, number, entropy)])
    values = np.concatenate([noisy[large], law.sample(number, entropy)])
    order = ordered(words)
    return Kept(words[order], values[order])


def largest_cells(
    grid: Grid, noise: DiscreteLaplace, true: tuple[Integers, Integers], keep: Largest, entropy: Entropy
) -> Kept:
    """The cells of the `keep.size` largest priorities of the whole noisy table.

    The priority of v is |v| / r, r = (R + 1) / 2**124. It is t = 2**i or more for R < |v| 2**(124 - i): with
    probability min(1, |v| / t), exactly, as in a threshold sample of tau = t. So all cells of priority t or more can be
    drawn as such a sample, and R, given that, uniformly below that bound. When there are more than `size` of them they
    hold the largest priorities of all. When there are not, i is lowered by one, and the sample is extended by the cells
    whose priority is between the two, from the law given that they were not in it before (`More`): what is there stays.
    Where i starts is only a matter of time; it may depend on the noisy counts of the data's cells.
    """
    if keep.nested:
        passed = kept_cells(grid, noise, true, Keep(keep.theta, keep.theta, True), entropy)
        inner = nested(grid.axes, grid.unpack(passed.words))
        values = passed.counts[inner]
        return _cut(
            [passed.words[inner]], [values], [_priorities(values, _free_ranks(values.size, entropy))], keep.size
        )
    found, counts = true
    noisy = counts + noise.sample(counts.size, entropy)
    ranks = _free_ranks(counts.size, entropy)
    passing = np.abs(noisy) >= keep.theta
    empty = grid.cells - counts.size
    power = _start(noisy[passing], empty, noise, keep)
    places, entered, drawn, number = [found[:0]], [noisy[:0]], [np.empty(0)], 0
    law: Entering | More = Entering(noise.scale, _level(keep, power))
    while True:
        new = binomial(empty - number, law, entropy)
        values = law.sample(new, entropy)
        taken = in_order(np.concatenate([found, *places])) if number else found
        places.append(empty_cells(grid, taken, new, entropy))
        entered.append(values)
        drawn += _drawn(values, power, isinstance(law, More), entropy)
        number += new
        inside = passing & _reaches(noisy, ranks, power)
        if int(inside.sum()) + number > keep.size or 1 << power <= keep.theta:
            break
        power -= 1
        law = More(noise.scale, _level(keep, power), _level(keep, power + 1))
    priorities = [_priorities(noisy[inside], ranks[inside]), *drawn]
    return _cut([found[inside], *places], [noisy[inside], *entered], priorities, keep.size)


def _drawn(values: Integers, power: int, more: bool, entropy: Entropy) -> list[Floats]:
    """The priorities of cells that reach 2**power; see `_ranks_of`. Some at a time, to spare memory."""
    parts = (values[start : start + _AT_ONCE] for start in range(0, values.size, _AT_ONCE))
    return [_priorities(part, _ranks_of(np.abs(part), power, more, entropy)) for part in parts]


def _priorities(values: Integers, ranks: Integers) -> Floats:
    """|v| / r, as floats: array as `values`."""
    rank = (ranks[:, 1] + 1).astype(np.float64)
    rank *= 2.0**-_WORD
    rank += ranks[:, 0]
    rank *= 2.0**-_WORD
    np.divide(np.abs(values), rank, out=rank)
    return rank


def _cut(words: Sequence[Integers], values: Sequence[Integers], priorities: Sequence[Floats], size: int) -> Kept:
    """The `size` largest priorities of cells in several arrays, in order of the cells; among equal ones, as floats, the
    cells that come first."""
    every = np.concatenate(priorities)
    cut, kept = 0.0, np.ones(every.size, np.bool_)
    if every.size > size:
        last = every.size - size - 1
        cut = float(np.partition(every, last)[last])
        kept = every > cut
        level = every == cut
        kept[np.flatnonzero(level)[ordered(_chosen(words, level))][: size - int(kept.sum())]] = True
    cells, counts = _chosen(words, kept), _chosen(values, kept)
    order = ordered(cells)
    return Kept(cells[order], counts[order], cut)


def _chosen(parts: Sequence[Integers], flags: npt.NDArray[np.bool_]) -> Integers:
    """The rows of several arrays that are flagged."""
    ends = np.cumsum([len(part) for part in parts])
    return np.concatenate([part[some] for part, some in zip(parts, np.split(flags, ends[:-1]), strict=True)])


def _level(keep: Largest, power: int) -> Keep:
    return Keep(keep.theta, max(keep.theta, 1 << power), True)


def _ranks(low: Integers, high: Integers, places: int, entropy: Entropy) -> Integers:
    """Uniform R from low 2**places to high 2**places - 1, in two words of 62 digits, higher first: array (ranks, 2)."""
    above = low + uniform_below(high - low, entropy) if low.size else low
    below = uniform(1 << places, low.size, entropy)
    rest = _WORD - places
    return np.stack([above >> rest, ((above & ((1 << rest) - 1)) << places) + below], axis=1)


def _free_ranks(count: int, entropy: Entropy) -> Integers:
    """Uniform R below 2**124, in two words: array (count, 2)."""
    return np.stack([uniform(1 << _WORD, count, entropy) for _ in range(2)], axis=1)


def _ranks_of(magnitudes: Integers, power: int, more: bool, entropy: Entropy) -> Integers:
    """R of cells whose priority reaches 2**power; and does not reach twice that, when `more`: array (cells, 2)."""
    if power >= _WORD:  # 2**power exceeds every count: R < |v| 2**(124 - power), and for `more` not below half of that
        places = 2 * _WORD - power
        if more:
            return _ranks(magnitudes, 2 * magnitudes, places - 1, entropy)
        return _ranks(np.zeros_like(magnitudes), magnitudes, places, entropy)
    high = np.minimum(magnitudes, 1 << power) << (_WORD - power)
    low = np.minimum(magnitudes, 2 << power) << (_WORD - power - 1) if more else np.zeros_like(high)
    return _ranks(low, high, _WORD, entropy)


def _reaches(values: Integers, ranks: Integers, power: int) -> npt.NDArray[np.bool_]:
    """Whether R < |v| 2**(124 - power), the bound cut at 2**124: array as `values`."""
    magnitudes = np.abs(values)
    if power <= _WORD:
        first: npt.NDArray[np.bool_] = ranks[:, 0] < np.minimum(magnitudes, 1 << power) << (_WORD - power)
        return first
    rest = power - _WORD
    above, below = magnitudes >> rest, (magnitudes & ((1 << rest) - 1)) << (_WORD - rest)
    second: npt.NDArray[np.bool_] = (ranks[:, 0] < above) | ((ranks[:, 0] == above) & (ranks[:, 1] < below))
    return second


def _start(noisy: Integers, empty: int, noise: DiscreteLaplace, keep: Largest) -> int:
    """The largest power for which more than enough cells are expected; only time depends on it."""
    enough = keep.size + 6 * math.sqrt(keep.size + 1) + 8
    low, high = 0, 2 * _WORD
    while low < high:
        power = (low + high + 1) // 2
        expected = float(np.minimum(np.abs(noisy) / 2.0**power, 1.0).sum())
        expected += empty * float(Entering(noise.scale, _level(keep, power)))
        low, high = (power, high) if expected >= enough else (low, power - 1)
    return low


def empty_cells(grid: Grid, taken: Integers, number: int, entropy: Entropy) -> Integers:
    """A uniform choice without return of `number` cells that are not among `taken`, in order: array (number, words).

    Cells are drawn with return; those that are taken, or were drawn before, are passed over. `taken` is in order, too.
    """
    chosen = np.empty((0, taken.shape[1]), np.int64)
    while len(chosen) < number:
        missing = number - len(chosen)
        used = len(taken) + len(chosen)
        # As many as give what is missing where only a share of the cells is free, but not too many at once.
        enough = missing * grid.cells // (grid.cells - used)
        draws = min(enough + 4 * math.isqrt(enough - missing) + 16, 4 * (used + missing) + 64)
        drawn = grid.draw(draws, entropy)
        order = ordered(drawn)  # equal cells stay in the order of drawing
        drawn = drawn[order]
        passed = rows_equal(drawn) | among(drawn, taken) | among(drawn, chosen)
        new = np.flatnonzero(~passed)
        if new.size > missing:  # those that were drawn first
            new = new[order[new] <= np.partition(order[new], missing - 1)[missing - 1]]
        chosen = in_order(np.concatenate([chosen, drawn[new]])) if len(chosen) else drawn[new]
    return chosen
