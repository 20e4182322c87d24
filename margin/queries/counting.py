"""How many rows of a `BitTable` meet each of many conjunctions or parities: blocks of words that
stay in the cache."""

import importlib.util
from functools import cache

import numpy as np

from .._types import Flags, Integers, Words
from .bits import BitTable

__all__ = ["count_conjunctions", "count_even"]


_CACHE_WORDS = 1 << 17
"""About how many words are worked on at a time: one megabyte."""
_BLOCK = 256
"""The least length of a block, so that what is done once a block is little."""
_AT_ONCE = 1 << 22  # words that plain numpy takes into memory together

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def count_conjunctions(
    table: BitTable, lines: Integers, flipped: Flags, negative: Integers
) -> Integers:
    """For each query, in how many rows all its literals hold.

    Parameters
    ----------
    table
        The rows.
    lines, flipped
        The line of each literal, and whether it says that the bit is zero. Shape (queries,
        literals).
    negative
        The places of the queries all of whose literals are flipped.

    Returns
    -------
    numpy.ndarray
        Shape (queries,).
    """
    counts = _count(table.words, lines, flipped, parity=False)
    if (
        beyond := table.words.shape[1] * 64 - table.rows
    ):  # zero bits, in which a query of flipped literals only holds
        counts[negative] -= beyond
    return counts


def count_even(table: BitTable, lines: Integers) -> Integers:
    """For each query, in how many rows an even number of its lines have a one: shape (queries,)."""
    return table.rows - _count(table.words, lines, np.zeros(lines.shape, np.bool_), parity=True)


def _count(words: Words, lines: Integers, flipped: Flags, *, parity: bool) -> Integers:
    counts = np.zeros(len(lines), np.int64)
    if not counts.size or not words.shape[1]:
        return counts
    if not _has_numba():
        _count_plainly(words, lines, flipped, parity, counts)
        return counts
    from . import loops as kernels  # numba takes a second to import

    inside = min(words.shape[0], lines.size)
    block = (
        words.shape[1]
        if inside * _BLOCK > 16 * _CACHE_WORDS
        else max(_BLOCK, _CACHE_WORDS // inside)
    )
    arguments = (np.ascontiguousarray(words), lines, flipped, min(block, words.shape[1]), counts)
    if not parity and lines.shape[1] == 3:
        kernels.count_threes(*arguments)
    else:
        kernels.count(*arguments, parity)
    return counts


def _count_plainly(
    words: Words, lines: Integers, flipped: Flags, parity: bool, counts: Integers
) -> None:
    """The same integers, with numpy only."""
    masks = np.where(flipped, _ALL, np.uint64(0))
    fold = np.bitwise_xor if parity else np.bitwise_and
    step = max(1, _AT_ONCE // words.shape[1])
    for start in range(0, len(lines), step):
        some = slice(start, start + step)
        folded = words[lines[some, 0]] ^ masks[some, 0, None]
        for place in range(1, lines.shape[1]):
            fold(folded, words[lines[some, place]] ^ masks[some, place, None], out=folded)
        counts[some] = np.bitwise_count(folded).sum(axis=1, dtype=np.int64)


@cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None
