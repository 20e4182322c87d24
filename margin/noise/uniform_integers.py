"""Exactly uniform random integers."""

import numpy as np
import numpy.typing as npt

from .._types import Integers
from .entropy import Entropy

__all__ = ["uniform", "uniform_below"]


def uniform_below(bounds: npt.ArrayLike, entropy: Entropy) -> Integers:
    """Draw a uniform integer from 0 to b - 1 for each bound b: array (bounds,).

    Bounds are from 1 to 2**62. A draw takes as many random bits as b - 1 has, and is repeated while
    the result is b or more. So `uniform_below(b) < a` is a coin of the exact probability
    min(1, a / b).
    """
    limits = np.atleast_1d(np.asarray(bounds, np.int64))
    # Masks with ones from the highest bit of b - 1 down.
    masks = (limits - 1).view(np.uint64).copy()
    for shift in (1, 2, 4, 8, 16, 32):
        masks |= masks >> np.uint64(shift)
    # Rejection: draw again where the result is not below the bound.
    drawn = _words(limits.size, entropy)
    drawn &= masks
    left = np.flatnonzero(drawn >= limits.view(np.uint64))
    while left.size:
        again = _words(left.size, entropy) & masks[left]
        drawn[left] = again
        left = left[again >= limits[left].view(np.uint64)]
    return drawn.view(np.int64)


def uniform(
    bound: int,
    count: int,
    entropy: Entropy,
) -> Integers:
    """Draw `count` independent uniform integers from 0 to bound - 1: array (count,).

    The bound is from 1 to 2**63.
    """
    if bound == 1:
        return np.zeros(count, np.int64)
    digits = (bound - 1).bit_length()
    drawn = _digits(digits, count, entropy)
    # If the bound is a power of two, every draw is below it.
    if bound & (bound - 1) == 0:
        return drawn
    left = np.flatnonzero(drawn >= bound)
    while left.size:
        again = _digits(digits, left.size, entropy)
        drawn[left] = again
        left = left[again >= bound]
    return drawn


def _digits(
    number: int,
    count: int,
    entropy: Entropy,
) -> Integers:
    """Draw `count` integers of `number` random binary digits each (at most 63): array (count,)."""
    # Words of 64 bits for more than 32 digits, else of 32 bits.
    if number > 32:
        words = _words(count, entropy)
        words >>= np.uint64(64 - number)
        return words.view(np.int64)
    halves = np.frombuffer(entropy.take(4 * count), "<u4", count)
    return (halves >> np.uint32(32 - number)).astype(np.int64)


def _words(count: int, entropy: Entropy) -> npt.NDArray[np.uint64]:
    return np.frombuffer(entropy.take(8 * count), "<u8", count).astype(np.uint64)
