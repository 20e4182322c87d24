"""Compiled loops over packed bits. Import this module only when they run: numba takes a second to
load."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from .._compiled import compiled
from .._types import Flags, Integers, Words

__all__ = ["count", "count_threes"]


def _count_ones(typing_context: Any, word: Any) -> Any:
    """The number of ones in a word, in one instruction. `numpy.bitwise_count` takes several when
    numba compiles it."""

    def generate(
        context: Any,
        builder: Any,
        signature: Any,
        arguments: Any,
    ) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_ones: Any = intrinsic(_count_ones)


@compiled
def _mask(flipped: Any) -> Any:
    """All ones if a literal is flipped, else all zeros. XOR with it flips the bits of a line."""
    return np.uint64(0xFFFFFFFFFFFFFFFF) if flipped else np.uint64(0)


@compiled
def _three(
    a: Words,
    b: Words,
    c: Words,
    p: np.uint64,
    q: np.uint64,
    r: np.uint64,
) -> Any:
    """The number of rows in which three literals hold; p, q and r are their masks."""
    ones = np.uint64(0)
    for word in range(a.size):
        ones += _ones((a[word] ^ p) & (b[word] ^ q) & (c[word] ^ r))
    return ones


@compiled
def count_threes(
    words: Words,
    lines: Integers,
    flipped: Flags,
    block: int,
    counts: Integers,
) -> None:
    """Add to `counts` the number of rows in which three literals hold."""
    # At most 64 rows: one word a line, and no slices.
    if words.shape[1] == 1:
        for query in range(lines.shape[0]):
            a = words[lines[query, 0], 0] ^ _mask(flipped[query, 0])
            b = words[lines[query, 1], 0] ^ _mask(flipped[query, 1])
            c = words[lines[query, 2], 0] ^ _mask(flipped[query, 2])
            counts[query] += np.int64(_ones(a & b & c))
        return
    # All queries are counted on one block of rows before the next block is read.
    for low in range(0, words.shape[1], block):
        high = min(words.shape[1], low + block)
        for query in range(lines.shape[0]):
            x, y, z = lines[query]
            p = _mask(flipped[query, 0])
            q = _mask(flipped[query, 1])
            r = _mask(flipped[query, 2])
            ones = _three(words[x, low:high], words[y, low:high], words[z, low:high], p, q, r)
            counts[query] += np.int64(ones)


@compiled
def _copy(
    line: Words,
    mask: np.uint64,
    into: Words,
) -> None:
    for word in range(line.size):
        into[word] = line[word] ^ mask


@compiled
def _both(
    line: Words,
    mask: np.uint64,
    into: Words,
) -> None:
    for word in range(line.size):
        into[word] &= line[word] ^ mask


@compiled
def _either(
    line: Words,
    mask: np.uint64,
    into: Words,
) -> None:
    for word in range(line.size):
        into[word] ^= line[word] ^ mask


@compiled
def _sum(line: Words) -> Any:
    ones = np.uint64(0)
    for word in range(line.size):
        ones += _ones(line[word])
    return ones


@compiled
def count(
    words: Words,
    lines: Integers,
    flipped: Flags,
    block: int,
    counts: Integers,
    parity: bool,
) -> None:
    """Add to `counts` the number of rows in which all literals hold; with `parity`, the number in
    which an odd number of them hold."""
    room = np.empty(block, np.uint64)
    # All queries are counted on one block of rows before the next block is read.
    for low in range(0, words.shape[1], block):
        high = min(words.shape[1], low + block)
        folded = room[: high - low]
        for query in range(lines.shape[0]):
            # The first literal's line is copied; each further line is folded into the copy.
            _copy(words[lines[query, 0], low:high], _mask(flipped[query, 0]), folded)
            for place in range(1, lines.shape[1]):
                line = words[lines[query, place], low:high]
                mask = _mask(flipped[query, place])
                if parity:
                    _either(line, mask, folded)
                else:
                    _both(line, mask, folded)
            counts[query] += np.int64(_sum(folded))
