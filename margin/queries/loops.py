"""The compiled loops over packed bits; numba is needed, so this is imported only when used."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from .._types import Flags, Integers, Words

__all__ = ["count", "count_threes"]


_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiled(function: _Function) -> _Function:
    return cast(_Function, numba.njit(cache=True, nogil=True)(function))


def _count_ones(typing_context: Any, word: Any) -> Any:
    """The number of ones in a word: one instruction, which numpy's `bitwise_count` is not once
    compiled."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_ones: Any = intrinsic(_count_ones)


@_compiled
def _mask(flipped: Any) -> Any:
    return np.uint64(0xFFFFFFFFFFFFFFFF) if flipped else np.uint64(0)


@_compiled
def _three(a: Words, b: Words, c: Words, p: np.uint64, q: np.uint64, r: np.uint64) -> Any:
    ones = np.uint64(0)
    for word in range(a.size):
        ones += _ones((a[word] ^ p) & (b[word] ^ q) & (c[word] ^ r))
    return ones


@_compiled
def count_threes(
    words: Words, lines: Integers, flipped: Flags, block: int, counts: Integers
) -> None:
    """Add to `counts` in how many rows three literals hold."""
    if words.shape[1] == 1:  # a few records
        for query in range(lines.shape[0]):
            a = words[lines[query, 0], 0] ^ _mask(flipped[query, 0])
            b = words[lines[query, 1], 0] ^ _mask(flipped[query, 1])
            c = words[lines[query, 2], 0] ^ _mask(flipped[query, 2])
            counts[query] += np.int64(_ones(a & b & c))
        return
    for low in range(0, words.shape[1], block):
        high = min(words.shape[1], low + block)
        for query in range(lines.shape[0]):
            x, y, z = lines[query]
            p, q, r = _mask(flipped[query, 0]), _mask(flipped[query, 1]), _mask(flipped[query, 2])
            ones = _three(words[x, low:high], words[y, low:high], words[z, low:high], p, q, r)
            counts[query] += np.int64(ones)


@_compiled
def _copy(line: Words, mask: np.uint64, into: Words) -> None:
    for word in range(line.size):
        into[word] = line[word] ^ mask


@_compiled
def _both(line: Words, mask: np.uint64, into: Words) -> None:
    for word in range(line.size):
        into[word] &= line[word] ^ mask


@_compiled
def _either(line: Words, mask: np.uint64, into: Words) -> None:
    for word in range(line.size):
        into[word] ^= line[word] ^ mask


@_compiled
def _sum(line: Words) -> Any:
    ones = np.uint64(0)
    for word in range(line.size):
        ones += _ones(line[word])
    return ones


@_compiled
def count(
    words: Words, lines: Integers, flipped: Flags, block: int, counts: Integers, parity: bool
) -> None:
    """Add to `counts` in how many rows all literals hold, or else an odd number of them."""
    room = np.empty(block, np.uint64)
    for low in range(0, words.shape[1], block):
        high = min(words.shape[1], low + block)
        folded = room[: high - low]
        for query in range(lines.shape[0]):
            _copy(words[lines[query, 0], low:high], _mask(flipped[query, 0]), folded)
            for place in range(1, lines.shape[1]):
                line, mask = words[lines[query, place], low:high], _mask(flipped[query, place])
                if parity:
                    _either(line, mask, folded)
                else:
                    _both(line, mask, folded)
            counts[query] += np.int64(_sum(folded))
