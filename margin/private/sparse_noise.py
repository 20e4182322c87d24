"""Noise on every cell of a table that is too large to hold in memory, and a summary of the result.

Each function draws from exactly this distribution: add discrete Laplace noise to *all* cells, then
summarise. The summary is post-processing of a private table, so it is private. Empty cells are not
visited one by one. The number of empty cells that enter the summary is binomial. Which of them
enter is a uniform choice without replacement. Their values have the distribution of noise, given
that it enters. The three are independent. Cells come out in order, so cells of the data and empty
cells cannot be told apart.
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


MAX_KEPT = 10**7  # largest number of cells of a summary
_HIGHEST = 124  # levels are at most 2**_HIGHEST
# Significant binary digits of a level: fewer than a point of the grid of priorities has.
_LEVEL_DIGITS = 5
_AT_ONCE = 1 << 16  # number of cells handled at a time


@dataclass(frozen=True)
class Largest:
    """The rule of priority sampling: keep the `size` cells with the largest random priorities.

    The priority of a cell is |v| / U. Only cells with |v| >= theta take part. v is the noisy count
    of a cell, and U is uniform on (0, 1). Priorities are rounded down to a public grid, the numbers
    with 20 significant binary digits. The *cut* is the smallest point of the grid that at most
    `size` priorities reach. Cells with priorities from the cut on are kept. So `size` cells are
    kept, or a few fewer if several cells have the same priority; on average fewer than size / 2**19
    are missing.

    Source: Duffield, Lund and Thorup, "Priority sampling for estimation of arbitrary subset sums",
    JACM 54(6), 2007.

    Parameters
    ----------
    size
        Largest number of cells to keep.
    theta
        Smallest absolute value of a noisy count that may be kept, >= 1.
    nested
        If True, nodes of trees that have an ancestor with |v| < theta are dropped first. Then all
        cells with |v| >= theta are drawn.
    """

    size: int
    theta: int = 1
    nested: bool = False


@dataclass(
    frozen=True,
    eq=False,
)
class Kept:
    """The cells that a rule kept, with their noisy counts.

    Attributes
    ----------
    words
        The cells as words of the grid, in ascending order: shape (cells, words).
    counts
        Their noisy counts: shape (cells,).
    cut
        The cut of `Largest`; zero if nothing was cut off.
    """

    words: Integers
    counts: Integers
    cut: float = 0.0


def check_size(
    cells: int,
    noise: DiscreteLaplace,
    keep: Keep | Largest,
) -> None:
    """Raise DomainError if more than `MAX_KEPT` empty cells are expected in the summary."""
    rule = keep
    if isinstance(keep, Largest):
        # The cells that `largest_cells` draws at least.
        tau = keep.theta if keep.nested else 1 << _HIGHEST
        rule = Keep(keep.theta, tau, True)
    assert isinstance(rule, Keep)
    expected = cells * float(Entering(noise.scale, rule))
    if expected > MAX_KEPT:
        rarity = math.log(max(cells / 1000, 1))
        theta = math.ceil(float(noise.scale) * rarity)
        raise DomainError(
            f"at most {MAX_KEPT:.0e} empty cells may be kept, but about {expected:.1e} of "
            f"{cells:.1e} would be; raise theta to about {theta}, or raise tau"
        )


def kept_cells(
    grid: Grid,
    noise: DiscreteLaplace,
    true: Cells,
    keep: Keep,
    entropy: Entropy,
) -> Kept:
    """Add noise to all cells, and keep a cell of noisy count v with the probability w(v) of `keep`.

    Every cell of the data gets its own noise and its own coin. Each of the n0 empty cells is kept
    independently with the same probability P. So the number of kept empty cells is binomial
    (n0, P).
    """
    # Cells of the data.
    words = []
    values = []
    for found, counts in true.blocks():
        noisy = noisy_sum(counts, noise.sample(counts.size, entropy))
        large = keep.chosen(noisy, entropy)
        words.append(found.compress(large, axis=0))
        values.append(noisy[large])

    # Empty cells: how many, which, and their counts.
    law = Entering(noise.scale, keep)
    number = binomial(grid.cells - true.number, law, entropy)
    words.append(empty_cells(grid, true, number, entropy))
    values.append(law.sample(number, entropy))

    # In order, so that both kinds cannot be told apart.
    together = np.concatenate(words)
    order = ordered(together)
    return Kept(together.take(order, axis=0), np.concatenate(values)[order])


def largest_cells(
    grid: Grid,
    noise: DiscreteLaplace,
    true: Cells,
    keep: Largest,
    entropy: Entropy,
) -> Kept:
    """Add noise to all cells, and keep the cells of the largest priorities: see `Largest`.

    Every cell, empty or not, follows the same procedure. Noise is added to its count, which gives
    v. If |v| >= theta, its priority is t or more with probability min(1, |v| / t), for each t of
    the grid. The kept cells and the cut are a function of all v and all priorities. The following
    method draws from this distribution without visiting all cells; the proof is in
    docs/proofs/sparse_cells.md.

    For a level t, all empty cells with a priority of t or more are drawn as a threshold sample with
    tau = t, and their priorities are drawn given that they are t or more. If more than `size`
    cells, empty or not, have a priority of t or more, they hold the largest priorities of all.
    Otherwise t is halved. The sample stays, and is extended by the cells whose priority is between
    the two levels, from the distribution given that they were not in it before (`More`). The first
    level matters for the running time only; it may depend on what was drawn for the cells of the
    data.
    """
    if keep.nested:
        passed = kept_cells(grid, noise, true, Keep(keep.theta, keep.theta, True), entropy)
        inner = nested(grid.axes, grid.unpack(passed.words))
        values = passed.counts[inner]
        codes = priorities(np.abs(values), entropy)
        return _cut([passed.words[inner]], [values], [codes], keep.size)

    # Cells of the data, and the first level.
    found, noisy, codes, least = _leading(grid, true, noise, keep, entropy)
    empty = grid.cells - true.number
    level = _level(keep, grid_point(least)) if least else _start(noisy, empty, noise, keep)

    # Empty cells, level by level: their words, noisy counts and codes of priorities.
    places = [np.empty((0, len(grid.radices)), np.int64)]
    entered = [noisy[:0]]
    drawn = [codes[:0]]
    number = 0
    law: Entering | More = Entering(noise.scale, level)
    while True:
        new = binomial(empty - number, law, entropy)
        values, new_codes = law.with_priorities(new, entropy)
        places.append(empty_cells(grid, true, new, entropy, before=np.concatenate(places)))
        entered.append(values)
        drawn.append(new_codes)
        number += new
        inside = codes >= code_of(level.tau)
        reached = int(inside.sum()) + number
        if reached > keep.size or level.tau == keep.theta:
            break
        above = level
        level = Keep(keep.theta, max(keep.theta, level.tau // 2), True)
        law = More(noise.scale, level, above)

    return _cut(
        [found.compress(inside, axis=0), *places],
        [noisy[inside], *entered],
        [codes[inside], *drawn],
        keep.size,
    )


def _leading(
    grid: Grid,
    true: Cells,
    noise: DiscreteLaplace,
    keep: Largest,
    entropy: Entropy,
) -> tuple[Integers, Integers, Integers, int]:
    """Draw noise and priorities for the non-empty cells, and drop those that cannot be kept.

    The result is the words, noisy counts v and codes of priorities of the cells with |v| >= theta:
    arrays (cells, words), (cells,) and (cells,). If there are many more than `keep.size`, only the
    cells of the keep.size + 1 largest priorities are returned, with all cells that tie with the
    last of them. The last result is the smallest code among these; zero if no cell was left out.
    """
    words = [np.empty((0, len(grid.radices)), np.int64)]
    values = [np.empty(0, np.int64)]
    codes = [np.empty(0, np.int64)]
    least = 0
    held = 0
    for found, counts in true.blocks():
        noisy = noisy_sum(counts, noise.sample(counts.size, entropy))
        passing = np.abs(noisy) >= keep.theta
        words.append(found.compress(passing, axis=0))
        values.append(noisy[passing])
        codes.append(priorities(np.abs(values[-1]), entropy))
        held += len(words[-1])
        # Drop cells that cannot be among the largest, so that memory stays bounded.
        if held > 2 * keep.size + _AT_ONCE:
            together = np.concatenate(codes)
            least = _largest_but(keep.size, together)
            leading = together >= least
            words = [_chosen(words, leading)]
            values = [_chosen(values, leading)]
            codes = [together[leading]]
            held = codes[0].size
    return np.concatenate(words), np.concatenate(values), np.concatenate(codes), least


def _largest_but(size: int, codes: Integers) -> int:
    """The largest code apart from the `size` largest ones."""
    last = codes.size - size - 1
    return int(np.partition(codes, last)[last])


def _cut(
    words: Sequence[Integers],
    values: Sequence[Integers],
    codes: Sequence[Integers],
    size: int,
) -> Kept:
    """Find the cut of `Largest` and keep the cells whose priorities reach it, at most `size`.

    The cells, their noisy counts and their codes come in several arrays each.
    """
    every = np.concatenate(codes)
    cut = 0.0
    kept = np.ones(every.size, np.bool_)
    if every.size > size:
        dropped = _largest_but(size, every)
        cut = grid_point(dropped + 1)
        kept = every > dropped
    cells = _chosen(words, kept)
    counts = _chosen(values, kept)
    order = ordered(cells)
    return Kept(cells.take(order, axis=0), counts[order], cut)


def _chosen(parts: Sequence[Integers], flags: npt.NDArray[np.bool_]) -> Integers:
    """Concatenate arrays and keep the flagged rows; `flags` is one array for all of them."""
    ends = np.cumsum([len(part) for part in parts])
    flags_of_parts = np.split(flags, ends[:-1])
    pairs = zip(parts, flags_of_parts, strict=True)
    return np.concatenate([part.compress(some, axis=0) for part, some in pairs])


def _start(
    noisy: Integers,
    empty: int,
    noise: DiscreteLaplace,
    keep: Largest,
) -> Keep:
    """A first level for `largest_cells`: about the largest that is expected to give enough cells.

    Only the running time depends on it.
    """
    # A few deviations more than `size`.
    enough = keep.size + 6 * math.sqrt(keep.size + 1) + 8
    # A sample of the cells of the data is sufficient.
    step = noisy.size // _AT_ONCE + 1
    sizes = np.abs(noisy[::step])
    # Bisection over the powers of 2**(1/16).
    low = 0
    high = _HIGHEST << 4
    while low < high:
        middle = (low + high + 1) // 2
        level = _level(keep, 2.0 ** (middle / 16))
        entering = np.minimum(sizes / float(level.tau), 1.0)
        expected = step * float(entering.sum())
        expected += empty * float(Entering(noise.scale, level))
        if expected >= enough:
            low = middle
        else:
            high = middle - 1
    return _level(keep, 2.0 ** (low / 16))


def _level(keep: Largest, priority: float) -> Keep:
    """The threshold rule whose tau is a priority >= 1, rounded down to few binary digits.

    tau is at least theta.
    """
    whole = int(priority)
    dropped = max(0, whole.bit_length() - _LEVEL_DIGITS)
    rounded = whole >> dropped << dropped
    return Keep(keep.theta, max(keep.theta, rounded), True)


def empty_cells(
    grid: Grid,
    true: Cells,
    number: int,
    entropy: Entropy,
    *,
    before: Integers | None = None,
) -> Integers:
    """Choose `number` different empty cells uniformly: array (number, words), in order.

    Cells in `before` are not chosen again.

    If the cells of the data are not in memory, candidates are chosen uniformly among all cells, and
    the cells of the data are dropped from them. Given its size, the rest is a uniform choice among
    the empty cells. If it is larger than needed, a uniform choice from it is again a uniform choice
    among the empty cells. If it is smaller, further candidates are chosen.
    """
    tried = np.empty((0, len(grid.radices)), np.int64)
    if before is not None and len(before):
        tried = in_order(before)

    if isinstance(true, Counted):
        taken = true.words
        if len(tried):
            taken = in_order(np.concatenate([true.words, tried]))
        return _besides(grid, taken, number, entropy)

    chosen = [tried[:0]]
    missing = number
    free = grid.cells - true.number - len(tried)
    while missing:
        # The expected number of candidates that are needed, and six deviations more.
        expected = missing * grid.cells // free
        enough = expected + 6 * math.isqrt(expected) + 16
        size = min(enough, grid.cells - len(tried), 4 * missing + _AT_ONCE)
        candidates = _besides(grid, tried, size, entropy)
        found = without(candidates, _held(candidates, true))
        tried = in_order(np.concatenate([tried, candidates]))
        if len(found) > missing:
            places = _places(len(found), missing, entropy)
            found = found.take(places[:, 0], axis=0)
        chosen.append(found)
        missing -= len(found)
    return in_order(np.concatenate(chosen))


def _held(candidates: Integers, true: Cells) -> npt.NDArray[np.bool_]:
    """Tell which candidates (in order) are cells of the data: booleans, shape (candidates,)."""
    found = [candidates[:0]]
    for words, _ in true.blocks():
        flags = among(words, candidates)
        found.append(words.compress(flags, axis=0))
    return among(candidates, in_order(np.concatenate(found)))


def _besides(
    grid: Grid,
    taken: Integers,
    number: int,
    entropy: Entropy,
) -> Integers:
    """Choose `number` different cells outside `taken` uniformly: array (number, words), in order.

    `taken` must be in order. Cells of one word are chosen by their places among the free cells. If
    cells have several words, there are more than 2**62 of them; then draws that are taken are
    simply dropped.
    """
    if len(grid.radices) == 1:
        places = _places(grid.cells - len(taken), number, entropy)
        # Number of free cells before each taken cell.
        before = taken[:, 0] - np.arange(len(taken))
        skipped = np.searchsorted(before, places[:, 0], side="right")
        return places + skipped[:, None]
    return _without_replacement(lambda count: _drawn_nodes(grid, count, entropy), number, taken)


def _drawn_nodes(
    grid: Grid,
    count: int,
    entropy: Entropy,
) -> Integers:
    """Draw independent uniform nodes of a grid: array (count, words)."""
    words = np.empty((count, len(grid.radices)), np.int64)
    for word, radix in enumerate(grid.radices):
        words[:, word] = uniform(radix, count, entropy)
    return words


def _places(
    total: int,
    number: int,
    entropy: Entropy,
) -> Integers:
    """Choose `number` different integers from 0 to total - 1 uniformly: (number, 1), in order."""
    # Of more than half, choose those that are left out.
    if 2 * number > total:
        left_out = np.zeros(total, np.bool_)
        left_out[_places(total, total - number, entropy)] = True
        return np.flatnonzero(~left_out)[:, None]
    nothing = np.empty((0, 1), np.int64)
    return _without_replacement(
        lambda count: uniform(total, count, entropy)[:, None], number, nothing
    )


def _without_replacement(
    draw: Callable[[int], Integers],
    number: int,
    taken: Integers,
) -> Integers:
    """Draw until there are `number` different results outside `taken`; the result is in order.

    Draws that are taken, or that came before, are dropped. Each call of `draw` asks for no more
    than are missing, so no new draw is ever dropped as surplus.
    """
    chosen = taken[:0]
    while len(chosen) < number:
        new = distinct(draw(number - len(chosen)))
        if len(taken) or len(chosen):
            dropped = among(new, taken) | among(new, chosen)
            new = without(new, dropped)
        chosen = in_order(np.concatenate([chosen, new])) if len(chosen) else new
    return chosen
