"""Many draws of a discrete Gaussian of large sigma, from blocks of integers of equal size."""

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._types import Integers
from .certified import Probability, exponential, uniform_is_below
from .entropy import Entropy
from .magnitudes import weight_bounds

__all__ = ["LARGEST_DRAW", "LARGEST_SIGMA2", "WideGaussian"]

LARGEST_DRAW = 2**62 - 1
"""Largest absolute value of a draw."""

LARGEST_SIGMA2 = 1 << 60
"""Largest sigma2 of a `WideGaussian`: at least 23 bits of a word are left for its coin."""

_SLOT_BITS = 16  # bits of a word that choose a block
_SLOTS = 1 << _SLOT_BITS
_PER_SIGMA = 6  # a block has at most sigma / 2**_PER_SIGMA integers, and more than half as many
_SIGMAS = 5  # blocks reach this many sigmas; the tail follows
_TAIL_BITS = 5  # a piece of the tail has as many integers as 2**_TAIL_BITS blocks
_WORK = 96  # binary digits of the bounds on weights
_MARGIN = 2.0**-40  # bound on the error of floats in `_accept`


class WideGaussian:
    """A table of blocks of integers from which discrete Gaussian noise X is drawn by rejection.

    P(X = x) is proportional to exp(-x**2 / (2 sigma2)), for 1000**2 <= sigma2 <= `LARGEST_SIGMA2`.
    `of` caches recent tables.

    Method: X = m, or X = -1 - m, with a fair sign s (0 or 1) and an integer m >= 0. So the weight
    of a draw is exp(-(m + s)**2 / (2 sigma2)). Block h holds the w = 2**k integers m from h w on,
    where sigma / 128 < w <= sigma / 64. There are N blocks, and the tail follows them. The blocks
    own W(0), ..., W(N - 1) of 2**16 slots, and the tail owns one. Block h has W(h) >= C
    exp(-(h w)**2 / (2 sigma2)), for a constant C.

    One random word of 64 bits proposes a slot (16 bits), the sign (1 bit), and the place within
    the block (k bits). So each integer of block h is proposed with a probability proportional to
    W(h). It is accepted if V < a, where a = C / W(h) exp(-(m + s)**2 / (2 sigma2)) <= 1, and V is a
    uniform real whose first r = 47 - k binary digits are the other bits of the word. The product is
    proportional to exp(-(m + s)**2 / (2 sigma2)). See docs/noise.md for the tail and for the
    proofs. About 0.985 of the proposals are accepted.

    The work for a number of trials does not depend on the draws, except for events of probability
    below 1e-12 and for the tail.
    """

    def __init__(self, sigma2: Fraction) -> None:
        self.sigma2 = sigma2
        # The blocks: w = 2**k, and the weights exp(-h**2 / (2 sigma2 / w**2)), h = 0, ..., N.
        self._k = isqrt(int(sigma2)).bit_length() - 1 - _PER_SIGMA
        self._r = 64 - _SLOT_BITS - 1 - self._k
        in_blocks = sigma2 / (1 << 2 * self._k)
        self._blocks = isqrt(int(_SIGMAS**2 * in_blocks))
        low, high = weight_bounds(in_blocks, self._blocks, _WORK)

        # The largest integer C for which the blocks need no more slots than there are. Slots that
        # are left go to the first block.
        available = _SLOTS - 1
        self._scale = (available << _WORK) // sum(high[:-1])
        while sum(slots := self._slots_needed(high)) > available:
            self._scale -= 1
        slots[0] += available - sum(slots)
        self._slots = [*slots, 1]

        # V < a is certain if the first digits of V are below those of the least a of the block.
        # These are the highest bits of a word, so the whole word is compared.
        certain = []
        for needed, least in zip(slots, low[1:], strict=True):
            digits = (self._scale * least << self._r) // (needed << _WORK)
            certain.append(digits << 64 - self._r)
        certain.append(0)  # the tail
        owned = sum(n * ((1 << 64) - c) for n, c in zip(self._slots, certain, strict=True))
        self._open = -(-owned >> _SLOT_BITS)  # share of open trials, in units of 2**-64

        self._certain = np.array(certain, np.uint64)
        self._block_of = np.repeat(np.arange(self._blocks + 1, dtype=np.int16), self._slots)
        self._quotient = self._scale / np.array(self._slots, np.float64)

    @staticmethod
    @lru_cache(maxsize=64)
    def of(sigma2: Fraction) -> "WideGaussian":
        """Make the table for `sigma2`. Tables are cached, because each takes long to compute."""
        return WideGaussian(sigma2)

    def _slots_needed(self, high: list[int]) -> list[int]:
        """The smallest W(h) that are certain to be at least C exp(-(h w)**2 / (2 sigma2))."""
        return [-(-self._scale * bound >> _WORK) for bound in high[:-1]]

    def draw(
        self,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """Make `count` >= 1 independent draws: array (count,)."""
        kept: list[Integers] = []
        missing = count
        while missing > 0:
            trials = missing + missing // 64 + isqrt(missing) // 2 + 8
            kept.append(self._try(trials, entropy)[:missing])
            missing -= kept[-1].size
        return kept[0] if len(kept) == 1 else np.concatenate(kept)

    def _try(
        self,
        trials: int,
        entropy: Entropy,
    ) -> Integers:
        """Make some proposals; the result holds the accepted ones, in order."""
        # The parts of a word, from the lowest bit up: slot, sign, place in the block, V.
        taken = np.frombuffer(entropy.take(8 * trials), "<u8", trials)
        words = taken.astype(np.uint64, copy=False)
        block = self._block_of[words.astype(np.uint16)]
        sign = (words >> np.uint64(_SLOT_BITS) & np.uint64(1)).view(np.int64)
        place = words >> np.uint64(_SLOT_BITS + 1)
        place &= np.uint64((1 << self._k) - 1)
        m = block.astype(np.int64)
        m <<= self._k
        m |= place.view(np.int64)

        heads = words < self._certain[block]
        trial = _Trials(words, block, sign, m)
        still_open = np.flatnonzero(~heads)
        heads[still_open] = self._accept(trial, still_open, entropy)
        drawn: Integers = (m ^ -sign)[heads]
        return drawn

    def _accept(
        self,
        trials: "_Trials",
        still_open: Integers,
        entropy: Entropy,
    ) -> NDArray[np.bool_]:
        """Decide V < a for the trials at some places: array of the shape of `still_open`.

        In the tail m is drawn first, and put in its place. It has no upper bound, so X is clamped
        to +-(2**62 - 1), after the decision about the unclamped X.

        *Most comparisons are made in floats.* Let e = 2**-53. The exponent
        (m + s)**2 / (2 sigma2) is below 14 in a block, and its relative error is below 3 e. The
        relative error of C / W(h) is e. So the absolute error of a <= 1 is below 44 e < 2**-47,
        plus the error of numpy's exp, below 2**-45. The known digits of V are a float without an
        error. So a comparison is correct if the interval of V is further than 2**-40 from a.

        *The others are made exactly:* a share of about 2**-r of these trials, and the tail.
        """
        # A fixed number of places, hardly ever fewer than are open; the others are dummies.
        mean = trials.m.size * self._open >> 64
        reserve = mean + 10 * isqrt(mean) + 24
        places = np.zeros(max(still_open.size, reserve), np.int64)
        places[: still_open.size] = still_open

        # The comparisons in floats.
        size = trials.m[places] + trials.sign[places]
        block = trials.block[places]
        rate = float(1 / (2 * self.sigma2))
        a = self._quotient[block] * np.exp(-rate * size.astype(np.float64) ** 2)
        known = trials.words[places] >> np.uint64(64 - self._r)
        v = known * 2.0**-self._r
        heads: NDArray[np.bool_] = v < a

        # Exact comparisons.
        unclear = (np.abs(v - a) <= _MARGIN + 2.0**-self._r) | (block == self._blocks)
        for i in np.flatnonzero(unclear[: still_open.size]):
            m, sign = int(trials.m[still_open[i]]), int(trials.sign[still_open[i]])
            factor = Fraction(self._scale, self._slots[block[i]])
            if block[i] == self._blocks:
                m, factor = self._tail(entropy)
                trials.m[still_open[i]] = min(m, LARGEST_DRAW - sign)
            heads[i] = uniform_is_below(
                _times(factor, exponential((m + sign) ** 2 / (2 * self.sigma2))),
                entropy,
                known=int(known[i]),
                bits=self._r,
            )
        return heads[: still_open.size]

    def _tail(self, entropy: Entropy) -> tuple[int, Fraction]:
        """Propose an integer m >= N w; the result is m, and a divided by the weight of the draw.

        The tail is cut in pieces of w' = 2**5 w integers. Piece j is proposed with probability
        2**-(j + 1), and each of its integers is equally likely. So the tail's slot proposes m with
        the probability 2**-(j + 1) / w', where an integer of a block with one slot has 1 / w. Hence
        a = C (w' / w) 2**(j + 1) exp(-(m + s)**2 / (2 sigma2)).
        """
        j = 0
        while not entropy.take(1)[0] & 1:
            j += 1
        bits = self._k + _TAIL_BITS
        within = int.from_bytes(entropy.take(8), "big") >> 64 - bits
        m = (self._blocks << self._k) + (j << bits) + within
        return m, Fraction(self._scale << _TAIL_BITS + j + 1)


class _Trials(NamedTuple):
    """Proposals: their words, blocks, signs s and integers m, arrays of one shape."""

    words: NDArray[np.uint64]
    block: NDArray[np.int16]
    sign: Integers
    m: Integers


def _times(factor: Fraction, q: Probability) -> Probability:
    """The probability that is `factor` times as large, as certified bounds."""
    top, bottom = factor.numerator, factor.denominator
    guard = top.bit_length()

    def bounds(bits: int) -> tuple[int, int]:
        low, high = q(bits + guard)
        unit = bottom << guard
        return low * top // unit, -(-high * top // unit)

    return bounds
