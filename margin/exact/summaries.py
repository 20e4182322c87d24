"""Which noisy counts a summary keeps, and the exact law of those that it keeps of empty cells.

A count v is *kept* with probability w(v): zero for |v| < theta, and for negative v when one-sided; else min(1, |v| /
tau). That is the high-pass filter when tau = theta, the threshold sample when theta = 1, and a filter followed by a
threshold sample in between (Cormode, Procopiuc, Srivastava and Tran 2012, sections 3 and 4).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..entropy import Entropy
from .bernoulli import Coins
from .certified import Probability, exponential
from .geometric import Geometric
from .uniform import uniform, uniform_below

__all__ = ["Entering", "Keep", "More"]

Integers = npt.NDArray[np.int64]

_WORD = 1 << 62  # no count is as large


@dataclass(frozen=True)
class Keep:
    """w(v) = min(1, |v| / tau) where |v| >= theta, or v >= theta when one-sided; else zero.

    Parameters
    ----------
    theta, tau
        Whole numbers, 1 <= theta <= tau. A tau above 2**62 is a power of two, at most 2**124.
    two_sided
        Whether negative counts are kept as well.
    """

    theta: int
    tau: int
    two_sided: bool

    def passes(self, values: Integers) -> npt.NDArray[np.bool_]:
        """Which counts have w > 0: array as `values`."""
        large: npt.NDArray[np.bool_] = (np.abs(values) if self.two_sided else values) >= self.theta
        return large

    def chosen(self, values: Integers, entropy: Entropy) -> npt.NDArray[np.bool_]:
        """Independent coins of probability w(v), exactly: array as `values`."""
        kept = self.passes(values)
        if self.tau > _WORD:  # all digits above the 62 lowest of a uniform integer are zero, and these are below |v|
            kept &= uniform(self.tau // _WORD, values.size, entropy) == 0
        if self.tau > self.theta:
            kept &= uniform(min(self.tau, _WORD), values.size, entropy) < np.abs(values)
        return kept


@dataclass(frozen=True)
class Entering:
    """The event that discrete Laplace noise of a scale, alone in an empty cell, is kept: its probability, and its law.

    With a = exp(-1 / scale), P = sides / (tau (1 - a**2)) * (theta a**theta - (theta - 1) a**(theta + 1) - a**(tau +
    1)), sides one or two: the sum of w(v) (1 - a) / (1 + a) a**|v|. (Of the paper's: with tau = theta a**theta / (1 +
    a) a side; with theta = 1 the 2 a (1 - a**tau) / (tau (1 - a**2)) of threshold samples.)
    """

    scale: Fraction
    keep: Keep

    def __call__(self, bits: int) -> tuple[int, int]:
        """Certified bounds on P, a `Probability`; P is irrational, for a is transcendental.

        The guard makes up for what the difference of the three terms and 1 - a**2 >= 1e-16 cancel.
        """
        theta, tau = self.keep.theta, self.keep.tau
        work = bits + 256 + 2 * tau.bit_length()
        (a_low, a_high), (b_low, b_high), (c_low, c_high), (d_low, d_high) = (
            exponential(power / self.scale)(work) for power in (theta, theta + 1, tau + 1, 2)
        )
        sides, one = 1 + self.keep.two_sided, 1 << work
        low = max(0, theta * a_low - (theta - 1) * b_high - c_high)
        high = theta * a_high - (theta - 1) * b_low - c_low
        least, most = tau * (one - d_high), tau * (one - d_low)
        return (sides * low << bits) // most, min(-((-sides * high << bits) // least), 1 << bits)

    def __float__(self) -> float:
        return _as_float(self)

    def sample(self, count: int, entropy: Entropy) -> Integers:
        """Array (count,) of independent counts v, P(v) proportional to w(v) a**|v|."""
        magnitudes = self._magnitudes(count, entropy)
        if not self.keep.two_sided or not count:
            return magnitudes
        bits = np.frombuffer(entropy.take((count + 7) // 8), np.uint8, (count + 7) // 8)
        return np.where(np.unpackbits(bits, count=count), -magnitudes, magnitudes)

    def _magnitudes(self, count: int, entropy: Entropy) -> Integers:
        """By rejection from a**v, with min(1, v / tau), or from v a**v, with min(1, tau / v), v >= theta.

        The one or the other accepts a third or more: the first when tau <= theta + scale, the second beyond.
        """
        theta, tau = self.keep.theta, self.keep.tau
        if tau == theta:
            return theta + Geometric(self.scale).sample(count, entropy)
        steep = tau > theta + self.scale

        def propose(trials: int) -> Integers:
            if not steep:
                proposed = theta + Geometric(self.scale).sample(trials, entropy)
                return proposed[uniform(tau, trials, entropy) < proposed]
            proposed = self._by_size(trials, entropy)
            beyond = np.flatnonzero(proposed > min(tau, _WORD))
            accepted = np.ones(trials, np.bool_)
            accepted[beyond] = uniform_below(proposed[beyond], entropy) < tau
            return proposed[accepted]

        return _first(count, propose)

    def _by_size(self, count: int, entropy: Entropy) -> Integers:
        """P(v) proportional to v a**v for v >= theta: with e = v - theta a mixture of theta a**e and e a**e.

        The first is geometric; the second is one plus the sum of two geometric variables. Their sums are theta / (1 -
        a) and a / (1 - a)**2.
        """
        excess: Integers = Geometric(self.scale).sample(count, entropy)
        second = np.flatnonzero(~_mixture(self.scale, self.keep.theta).flip(count, entropy)[0])
        excess[second] += 1 + Geometric(self.scale).sample(second.size, entropy)
        return self.keep.theta + excess


@dataclass(frozen=True)
class More:
    """The event that a count is kept with some tau, given that it was not with a larger tau'; see `Entering`.

    tau' is at most 2**63, or twice tau.
    """

    scale: Fraction
    keep: Keep
    before: Keep

    def __call__(self, bits: int) -> tuple[int, int]:
        """Certified bounds on (P - Q) / (1 - Q), where P is for `keep` and Q <= P for `before`."""
        work = bits + 256
        p_low, p_high = Entering(self.scale, self.keep)(work)
        q_low, q_high = Entering(self.scale, self.before)(work)
        one = 1 << work
        low, high = max(0, p_low - q_high), p_high - q_low
        return (low << bits) // (one - q_low), min(-((-high << bits) // (one - q_high)), 1 << bits)

    def sample(self, count: int, entropy: Entropy) -> Integers:
        """Array (count,) of independent counts, P(v) proportional to (w(v) - w'(v)) a**|v|, w' for `before`.

        Rejection from `Entering`: 1 - w'(v) / w(v) is 1 - max(|v|, tau) / tau', or zero when that is negative.
        """
        law = Entering(self.scale, self.keep)
        least, before = self.keep.tau, self.before.tau

        def propose(trials: int) -> Integers:
            proposed: Integers = law.sample(trials, entropy)
            coins = uniform(2 if least >= _WORD else before, trials, entropy)
            accepted: Integers = proposed[coins >= (1 if least >= _WORD else np.maximum(np.abs(proposed), least))]
            return accepted

        return _first(count, propose)


def _first(count: int, propose: Callable[[int], Integers]) -> Integers:
    """The first of what is accepted of independent trials, round after round: array (count,)."""
    kept = [np.empty(0, np.int64)]
    missing = count
    while missing > 0:
        kept.append(propose(missing + 16)[:missing])
        missing -= kept[-1].size
    return np.concatenate(kept)


@lru_cache(maxsize=64)
def _mixture(scale: Fraction, theta: int) -> Coins:
    """The coin of probability theta (1 - a) / (theta (1 - a) + a), which falls as a grows."""
    base: Probability = exponential(1 / scale)

    def bounds(bits: int) -> tuple[int, int]:
        work = bits + 128
        a_low, a_high = base(work)
        least, most = theta * ((1 << work) - a_high), theta * ((1 << work) - a_low)
        return (least << bits) // (least + a_high), min(-((-most << bits) // (most + a_low)), 1 << bits)

    return Coins([bounds])


@lru_cache(maxsize=1024)
def _as_float(law: Entering) -> float:
    """Rounded, also when it is near the least float."""
    bits = 128
    while (low := law(bits)[0]).bit_length() < 64 and bits < 1100:
        bits *= 2
    return float(Fraction(low, 1 << bits))
