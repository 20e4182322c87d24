"""Generated tables of records, with several kinds of structure."""

import math
from collections.abc import Callable

import numpy as np

from ...types import Floats, Integers
from .draws import Draws

__all__ = ["KINDS", "counts_of", "records"]


def _independent(sizes: tuple[int, ...], rows: int, draws: Draws) -> Integers:
    """Independent attributes, each with random weights."""
    columns = [draws.weighted(1 + draws.below(100, size), rows) for size in sizes]
    return np.stack(columns, axis=1)


def _chain(sizes: tuple[int, ...], rows: int, draws: Draws) -> Integers:
    """A Markov chain: an attribute repeats the one before in 7 of 10 rows, modulo its size."""
    fresh = _independent(sizes, rows, draws)
    for place in range(1, len(sizes)):
        again = draws.happen(700, rows)
        fresh[again, place] = fresh[again, place - 1] % sizes[place]
    return fresh


def _classes(sizes: tuple[int, ...], rows: int, draws: Draws) -> Integers:
    """Four hidden classes; within a class the attributes are independent and skewed."""
    hidden = draws.weighted(np.array([4, 3, 2, 1]), rows)
    table = np.zeros((rows, len(sizes)), np.int64)
    for one in range(4):
        members = np.flatnonzero(hidden == one)
        for place, size in enumerate(sizes):
            weights = 1 + draws.below(10, size) ** 2
            table[members, place] = draws.weighted(weights, len(members))
    return table


def _clicks(sizes: tuple[int, ...], rows: int, draws: Draws) -> Integers:
    """Mostly zeros: value 0 in 40 to 99 of 100 rows, falling in popularity, with a few bundles."""
    table = np.zeros((rows, len(sizes)), np.int64)
    bundle = draws.happen(100, rows)
    for place, size in enumerate(sizes):
        share = max(10, 600 // (1 + place))
        active = draws.happen(share, rows) | (bundle & draws.happen(500, rows))
        table[:, place] = np.where(active, 1 + draws.below(max(size - 1, 1), rows), 0) % size
    return table


def _rules(sizes: tuple[int, ...], rows: int, draws: Draws) -> Integers:
    """Every third attribute is the sum of the two before it, with an error in one of 20 rows."""
    table = _independent(sizes, rows, draws)
    for place in range(2, len(sizes), 3):
        kept = ~draws.happen(50, rows)
        total = table[:, place - 1] + table[:, place - 2]
        table[kept, place] = total[kept] % sizes[place]
    return table


_Maker = Callable[[tuple[int, ...], int, Draws], Integers]

KINDS: dict[str, _Maker] = {
    "independent": _independent,
    "chain": _chain,
    "classes": _classes,
    "clicks": _clicks,
    "rules": _rules,
}
"""The kinds of generated tables, by name."""


def records(kind: str, sizes: tuple[int, ...], rows: int, seed: int) -> Integers:
    """A generated table of one of `KINDS`, shape (rows, attributes).

    Examples
    --------
    >>> records("chain", (2, 3, 2), 4, seed=1).shape
    (4, 3)
    """
    return KINDS[kind](sizes, rows, Draws(seed))


def counts_of(table: Integers, sizes: tuple[int, ...], axes: tuple[int, ...]) -> Floats:
    """The counts of a marginal of a table of records, of shape ``[sizes[a] for a in axes]``."""
    shape = tuple(sizes[axis] for axis in axes)
    cells = np.zeros(len(table), np.int64)
    for axis in axes:
        cells = cells * sizes[axis] + table[:, axis]
    counts = np.bincount(cells, minlength=math.prod(shape))
    return counts.reshape(shape).astype(np.float64)
