"""The number of rows of a `BitTable` that satisfy each of many conjunctions or parities.

The rows are counted in blocks of words that stay in the processor's cache.
"""

import numpy as np

from .._types import Flags, Integers, Words
from .bits import BitTable

__all__ = ["count_conjunctions", "count_even"]


_CACHE_WORDS = 1 << 17
"""About how many words are read in one block, over all lines: one megabyte."""
_BLOCK = 256
"""The smallest block, in words of a line. It keeps the fixed work of a block small."""


def count_conjunctions(
    table: BitTable,
    lines: Integers,
    flipped: Flags,
    negative: Integers,
) -> Integers:
    """The number of rows in which all literals of a query hold, for each query.

    Parameters
    ----------
    table
        The rows.
    lines, flipped
        The line of each literal, and whether the literal says that the bit is zero: shape (queries,
        literals).
    negative
        The positions of the queries whose literals are all flipped.

    Returns
    -------
    numpy.ndarray
        Integers of shape (queries,).
    """
    counts = _count(table.words, lines, flipped, parity=False)
    # The bits after the last row are zero. Queries of flipped literals alone have counted them.
    beyond = table.words.shape[1] * 64 - table.rows
    if beyond:
        counts[negative] -= beyond
    return counts


def count_even(table: BitTable, lines: Integers) -> Integers:
    """The number of rows with an even number of ones in a query's lines: shape (queries,)."""
    flipped = np.zeros(lines.shape, np.bool_)
    odd = _count(table.words, lines, flipped, parity=True)
    return table.rows - odd


def _count(
    words: Words,
    lines: Integers,
    flipped: Flags,
    *,
    parity: bool,
) -> Integers:
    """The number of ones in the conjunction of each query's lines, or in their sum modulo two."""
    counts = np.zeros(len(lines), np.int64)
    if not counts.size or not words.shape[1]:
        return counts
    from . import loops as kernels  # numba takes a second to import

    block = _block_length(words, lines)
    arguments = (np.ascontiguousarray(words), lines, flipped, block, counts)
    if not parity and lines.shape[1] == 3:
        kernels.count_threes(*arguments)
    else:
        kernels.count(*arguments, parity)
    return counts


def _block_length(words: Words, lines: Integers) -> int:
    """Choose how many words of each line are counted together, so that they fit in the cache."""
    total: int = words.shape[1]
    lines_read: int = min(words.shape[0], lines.size)
    # If even the smallest block of this many lines does not fit in the cache, use one block.
    if lines_read * _BLOCK > 16 * _CACHE_WORDS:
        return total
    return min(max(_BLOCK, _CACHE_WORDS // lines_read), total)
