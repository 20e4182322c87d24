"""Draws of |X| for a discrete Gaussian X, from certified tables of P(|X| <= x)."""

from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt

import numpy as np
import numpy.typing as npt

from .certified import exponential
from .entropy import Entropy

__all__ = ["MagnitudeTable", "cumulative_bounds", "weight_bounds"]

# Number of digits of the uniform real that a table is compared with. Where these do not decide,
# 2 * _BITS digits are compared, then 3 * _BITS, and so on.
_BITS = 64
_PADDING = (1 << _BITS) - 1  # the largest word
_SCANNED = 1 << 15  # number of comparisons that cost less than a bisection


def weight_bounds(
    sigma2: Fraction,
    last: int,
    bits: int,
) -> tuple[list[int], list[int]]:
    """Certified bounds on the weights W(x) = exp(-x**2 / (2 sigma2)), x = 0, 1, ..., last.

    The two lists satisfy low[x] <= W(x) * 2**bits <= high[x]. See `cumulative_bounds`: W(x) is at
    most (e+1) x (x+1) / 2 units too low.
    """
    ratio, ratio_high = exponential(1 / (2 * sigma2))(bits)
    step, step_high = exponential(1 / sigma2)(bits)
    error = max(ratio_high - ratio, step_high - step) + 1  # e + 1
    weight = 1 << bits
    low = [weight]
    high = [weight]
    for x in range(1, last + 1):
        weight = weight * ratio >> bits
        ratio = ratio * step >> bits
        low.append(weight)
        high.append(weight + error * x * (x + 1) // 2)
    return low, high


def cumulative_bounds(sigma2: Fraction, bits: int) -> tuple[list[int], list[int]]:
    """Certified bounds on the distribution function of |X| for a discrete Gaussian X.

    The two lists satisfy low[x] <= P(|X| <= x) * 2**bits <= high[x] for x = 0, 1, ..., last, and
    high[last] is 2**bits.

    Weights are W(x) = exp(-x**2 / (2 sigma2)), so W(x+1) = W(x) R(x) and R(x+1) = R(x) R2, with
    R(x) = exp(-(2x+1) / (2 sigma2)) and R2 = exp(-1 / sigma2). Numbers are integers in units of
    2**-work. Every product is rounded down, and all factors are at most one. Suppose that R(0) and
    R2 are at most e units too low. Then, by induction, R(x) is at most e + x (e+1) units too low,
    W(x) is at most (e+1) x (x+1) / 2 units too low, and the sum of W(k) over |k| <= x is at most
    (e+1) x (x+1) (x+2) / 3 units too low. The weights beyond `last` fall at least as fast as a
    geometric series with ratio R(last), which bounds their sum.
    """
    # The last x has exp(-x**2 / (2 sigma2)) < 2**-(bits + 16).
    last = isqrt(ceil(Fraction(1387, 1000) * (bits + 16) * sigma2)) + 2
    work = bits + 3 * last.bit_length() + 32
    ratio, ratio_high = exponential(1 / (2 * sigma2))(work)
    step, step_high = exponential(1 / sigma2)(work)
    error = max(ratio_high - ratio, step_high - step) + 1  # e + 1

    # The sums of W(k) over |k| <= x, rounded down, and how much they may be too low.
    total = weight = 1 << work
    totals = [total]
    for _ in range(last):
        weight = weight * ratio >> work
        ratio = ratio * step >> work
        total += 2 * weight
        totals.append(total)
    excess = []
    for x in range(last + 1):
        excess.append(error * x * (x + 1) * (x + 2) // 3)

    # The sum of all weights, rounded up: the weights beyond `last` are a geometric series at most.
    ratio += error * (last + 1)
    last_weight = weight + error * last * (last + 1) // 2
    tail = 2 * last_weight * ratio // ((1 << work) - ratio) + 1
    all_high = total + excess[-1] + tail

    # Quotients of the sums, rounded down and up.
    low = [(partial << bits) // all_high for partial in totals]
    high = []
    for partial, error_of_sum in zip(totals, excess, strict=True):
        quotient = -((-(partial + error_of_sum) << bits) // total)
        high.append(min(quotient, 1 << bits))
    return low, high


class MagnitudeTable:
    """A table of P(|X| <= x) from which |X| is drawn with one 64-bit random word per draw.

    X is discrete Gaussian with parameter `sigma2`. `of` caches recent tables.
    """

    def __init__(self, sigma2: Fraction) -> None:
        low, high = cumulative_bounds(sigma2, _BITS)
        self.sigma2 = sigma2
        self._low = _padded(low)
        self._high = _padded([h for h in high if h < 1 << _BITS])

    @staticmethod
    @lru_cache(maxsize=64)
    def of(sigma2: Fraction) -> "MagnitudeTable":
        """Make the table for `sigma2`. Tables are cached, because each takes long to compute."""
        return MagnitudeTable(sigma2)

    def draw(
        self,
        count: int,
        entropy: Entropy,
    ) -> npt.NDArray[np.int64]:
        """Draw `count` independent magnitudes |X|: array (count,).

        |X| is the smallest x with U < P(|X| <= x), for a uniform real U. A random word u means that
        U lies in [u, u + 1) * 2**-64. Every x with high[x] <= u is too small, and every x with
        u < low[x] is large enough. For about `last` of the 2**64 words, some x is in neither set;
        then `_resolve` decides.
        """
        words = np.frombuffer(entropy.take(count * _BITS // 8), "<u8", count)
        found = _how_many_up_to(self._high, words)
        possible = _how_many_up_to(self._low, words)
        undecided = (possible != found) | (words == _PADDING)
        for i in np.flatnonzero(undecided):
            found[i] = self._resolve(int(words[i]), entropy)
        return found

    def _resolve(
        self,
        known: int,
        entropy: Entropy,
    ) -> int:
        """The magnitude for a U that begins with the 64 bits `known`.

        More digits of U are drawn, and the bounds are made more precise, until both agree.
        """
        bits = _BITS
        while True:
            known = known << _BITS | int.from_bytes(entropy.take(_BITS // 8), "big")
            bits += _BITS
            low, high = cumulative_bounds(self.sigma2, bits)
            x = bisect_right(high, known)
            if known < low[x]:
                return x


def _padded(bounds: list[int]) -> npt.NDArray[np.uint64]:
    """`bounds`, filled up at the end with the largest word to 2**k - 1 entries."""
    size = (1 << len(bounds).bit_length()) - 1
    return np.array(bounds + [_PADDING] * (size - len(bounds)), np.uint64)


def _how_many_up_to(
    ascending: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]
) -> npt.NDArray[np.int64]:
    """For each word, the number of entries of `ascending` that are at most the word.

    `ascending` has 2**k - 1 entries; the result has the shape of `words`. A few words are compared
    with all entries. Many words are found by a bisection that, unlike np.searchsorted, does not
    branch on a word.
    """
    if words.size * ascending.size <= _SCANNED:
        small = ascending <= words[:, None]
        return np.asarray(np.count_nonzero(small, axis=1), np.int64)
    # Bisection of all words together: `found` entries are known to be at most the word.
    found = np.zeros(words.size, np.int64)
    step = (ascending.size + 1) // 2
    while step:
        found += (ascending[found + (step - 1)] <= words) * np.int64(step)
        step //= 2
    return found
