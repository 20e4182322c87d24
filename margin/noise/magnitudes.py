"""The distribution of |X| for a discrete Gaussian X, as certified tables of its cumulative
probabilities."""

from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt

import numpy as np
import numpy.typing as npt

from .certified import exponential
from .entropy import Entropy

__all__ = ["MagnitudeTable", "cumulative_bounds"]

# digits of the uniform real that a table compares with; twice, three times ... as many decide the rest
_BITS = 64
_PADDING = (1 << _BITS) - 1
_SCANNED = 1 << 15  # comparisons that cost less than a bisection


def cumulative_bounds(sigma2: Fraction, bits: int) -> tuple[list[int], list[int]]:
    """Bounds low[x] <= P(|X| <= x) * 2**bits <= high[x] for x = 0, 1, ..., last, where high[last] =
    2**bits.

    Weights are W(x) = exp(-x**2 / (2 sigma2)), so W(x+1) = W(x) R(x) and R(x+1) = R(x) R2 with R(x)
    = exp(-(2x+1) / (2 sigma2)) and R2 = exp(-1 / sigma2). In units of 2**-work every product is
    rounded down, and all factors are at most one. If R(0) and R2 are at most e units too low, then
    R(x) is by induction at most e + x (e+1) units too low, W(x) at most (e+1) x (x+1) / 2, and the
    sum of W(k) over |k| <= x at most (e+1) x (x+1) (x+2) / 3. The weights beyond `last` fall at
    least like a geometric series with ratio R(last), which bounds their sum.
    """
    last = (
        isqrt(ceil(Fraction(1387, 1000) * (bits + 16) * sigma2)) + 2
    )  # exp(-last^2 / (2 sigma2)) < 2**-(bits + 16)
    work = bits + 3 * last.bit_length() + 32
    ratio, ratio_high = exponential(1 / (2 * sigma2))(work)
    step, step_high = exponential(1 / sigma2)(work)
    error = max(ratio_high - ratio, step_high - step) + 1

    total = weight = 1 << work
    totals = [total]
    for _ in range(last):
        weight = weight * ratio >> work
        ratio = ratio * step >> work
        total += 2 * weight
        totals.append(total)
    excess = [error * x * (x + 1) * (x + 2) // 3 for x in range(last + 1)]

    ratio += error * (last + 1)
    tail = 2 * (weight + error * last * (last + 1) // 2) * ratio // ((1 << work) - ratio) + 1
    all_high = total + excess[-1] + tail
    low = [(t << bits) // all_high for t in totals]
    high = [
        min(-((-(t + e) << bits) // total), 1 << bits) for t, e in zip(totals, excess, strict=True)
    ]
    return low, high


class MagnitudeTable:
    """Draws |X| by inversion of P(|X| <= x) on 64-bit words. `of` keeps the tables built last."""

    def __init__(self, sigma2: Fraction) -> None:
        low, high = cumulative_bounds(sigma2, _BITS)
        self.sigma2 = sigma2
        self._low = _padded(low)
        self._high = _padded([h for h in high if h < 1 << _BITS])

    @staticmethod
    @lru_cache(maxsize=64)
    def of(sigma2: Fraction) -> "MagnitudeTable":
        """The table for sigma2."""
        return MagnitudeTable(sigma2)

    def draw(self, count: int, entropy: Entropy) -> npt.NDArray[np.int64]:
        """Array (count,) of independent magnitudes |X|.

        |X| is the smallest x with U < P(|X| <= x), U uniform. A word u says that U lies in [u, u + 1) * 2**-64:
        each x with high[x] <= u is too small, and each x with u < low[x] is not. When these are not
        all x, which happens for about `last` words of 2**64, `_resolve` decides.
        """
        words = np.frombuffer(entropy.take(count * _BITS // 8), "<u8", count)
        found = _how_many_up_to(self._high, words)
        undecided = (_how_many_up_to(self._low, words) != found) | (words == _PADDING)
        for i in np.flatnonzero(undecided):
            found[i] = self._resolve(int(words[i]), entropy)
        return found

    def _resolve(self, known: int, entropy: Entropy) -> int:
        """The magnitude for a U that begins with the 64 bits `known`: more digits and better bounds
        until sure."""
        bits = _BITS
        while True:
            known = known << _BITS | int.from_bytes(entropy.take(_BITS // 8), "big")
            bits += _BITS
            low, high = cumulative_bounds(self.sigma2, bits)
            x = bisect_right(high, known)
            if known < low[x]:
                return x


def _padded(bounds: list[int]) -> npt.NDArray[np.uint64]:
    """`bounds` and behind them the largest word, so often that there are 2**k - 1 entries."""
    size = (1 << len(bounds).bit_length()) - 1
    return np.array(bounds + [_PADDING] * (size - len(bounds)), np.uint64)


def _how_many_up_to(
    ascending: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]
) -> npt.NDArray[np.int64]:
    """For each word, how many entries of `ascending` are at most it: array as `words`.

    `ascending` has 2**k - 1 entries. A few words are compared with all of them; many by a bisection
    that, unlike np.searchsorted, never branches on a word.
    """
    if words.size * ascending.size <= _SCANNED:
        return np.asarray(np.count_nonzero(ascending <= words[:, None], axis=1), np.int64)
    found = np.zeros(words.size, np.int64)
    step = (ascending.size + 1) // 2
    while step:
        found += (ascending[found + (step - 1)] <= words) * np.int64(step)
        step //= 2
    return found
