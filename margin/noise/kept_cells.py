"""Which noisy counts a summary keeps, and the exact law of those that it keeps of empty cells.

A noisy count is a sum of a count and noise, clamped to +-2**61 (`margin.noise.noisy_sum`). A noisy
count v is *kept* with probability w(v): zero for |v| < theta, and for negative v when one-sided;
else min(1, |v| / tau). That is the high-pass filter when tau = theta, the threshold sample when
theta = 1, and a filter followed by a threshold sample in between (Cormode, Procopiuc, Srivastava
and Tran 2012, sections 3 and 4).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .._types import Integers
from .bernoulli import Coins
from .certified import Probability, exponential
from .entropy import Entropy
from .geometric import Geometric
from .laws import LARGEST_SUM
from .priorities import code_of, priorities
from .uniform_integers import uniform, uniform_below

__all__ = ["Entering", "Keep", "More"]


_WORD = 1 << 62  # no noisy count is as large


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
        if (
            self.tau > _WORD
        ):  # all digits above the 62 lowest of a uniform integer are zero, and these are below |v|
            kept &= uniform(self.tau // _WORD, values.size, entropy) == 0
        if self.tau > self.theta:
            kept &= uniform(min(self.tau, _WORD), values.size, entropy) < np.abs(values)
        return kept


@dataclass(frozen=True)
class Entering:
    """The event that discrete Laplace noise of a scale, alone in an empty cell, is kept: its
    probability, and its law.

    With a = exp(-1 / scale) and m = min(tau, 2**61), P = sides / (tau (1 - a**2)) * (theta a**theta
    - (theta - 1) a**(theta + 1) - a**(m + 1)), sides one or two. That is the sum of w(v) (1 - a) /
    (1 + a) a**|x| over all noise x, where v is x clamped to +-2**61. (Of the paper's: with tau =
    theta a**theta / (1 + a) a side; with theta = 1 the 2 a (1 - a**tau) / (tau (1 - a**2)) of
    threshold samples.)
    """

    scale: Fraction
    keep: Keep

    def __call__(self, bits: int) -> tuple[int, int]:
        """Certified bounds on P, a `Probability`; P is irrational, for a is transcendental.

        The guard makes up for what the difference of the three terms and 1 - a**2 >= 1e-16 cancel.
        """
        theta, tau, most = self.keep.theta, self.keep.tau, min(self.keep.tau, LARGEST_SUM)
        work = bits + 256 + 2 * tau.bit_length()
        (a_low, a_high), (b_low, b_high), (c_low, c_high), (d_low, d_high) = (
            exponential(power / self.scale)(work) for power in (theta, theta + 1, most + 1, 2)
        )
        sides, one = 1 + self.keep.two_sided, 1 << work
        low = max(0, theta * a_low - (theta - 1) * b_high - c_high)
        high = theta * a_high - (theta - 1) * b_low - c_low
        below, above = tau * (one - d_high), tau * (one - d_low)
        return (sides * low << bits) // above, min(-((-sides * high << bits) // below), 1 << bits)

    def __float__(self) -> float:
        return _as_float(self)

    def sample(self, count: int, entropy: Entropy) -> Integers:
        """Array (count,) of independent noisy counts, given that they are kept.

        P(v) is proportional to w(v) a**|v| for |v| < 2**61.
        """
        magnitudes = self._magnitudes(count, entropy)
        if not self.keep.two_sided or not count:
            return magnitudes
        bits = np.frombuffer(entropy.take((count + 7) // 8), np.uint8, (count + 7) // 8)
        return np.where(np.unpackbits(bits, count=count), -magnitudes, magnitudes)

    def with_priorities(self, count: int, entropy: Entropy) -> tuple[Integers, Integers]:
        """As `sample`, and the codes of their priorities, given that these are tau or more: arrays
        (count,).

        tau must be theta or a point of the grid of `priorities`.
        """
        values = self.sample(count, entropy)
        return values, priorities(np.abs(values), entropy, least=self.keep.tau)

    def _magnitudes(self, count: int, entropy: Entropy) -> Integers:
        """By rejection from a**v, with min(1, v / tau), or from v a**v, with min(1, tau / v), v >=
        theta.

        The one or the other accepts a third or more: the first when tau <= theta + scale, the
        second beyond.
        """
        theta, tau = self.keep.theta, self.keep.tau
        if tau == theta:
            return self._by_noise(count, entropy)
        steep = tau > theta + self.scale

        def propose(trials: int) -> Integers:
            if not steep:
                proposed = self._by_noise(trials, entropy)
                return proposed[uniform(tau, trials, entropy) < proposed]
            proposed = self._by_size(trials, entropy)
            return np.minimum(proposed[self._accepted(proposed, entropy)], LARGEST_SUM)

        return _first(count, propose)

    def _by_noise(self, count: int, entropy: Entropy) -> Integers:
        """P(v) proportional to a**v for v >= theta, clamped."""
        excess = Geometric(self.scale).sample(count, entropy)
        return np.minimum(self.keep.theta + excess, LARGEST_SUM)

    def _by_size(self, count: int, entropy: Entropy) -> Integers:
        """P(v) proportional to v a**v for v >= theta: with e = v - theta a mixture of theta a**e
        and e a**e.

        The first is geometric; the second is one plus the sum of two geometric variables. Their
        sums are theta / (1 - a) and a / (1 - a)**2. From 2**61 on, some number from there on stands
        for v.
        """
        excess = np.minimum(Geometric(self.scale).sample(count, entropy), LARGEST_SUM)
        second = np.flatnonzero(~_mixture(self.scale, self.keep.theta).flip(count, entropy)[0])
        excess[second] += 1 + np.minimum(
            Geometric(self.scale).sample(second.size, entropy), LARGEST_SUM
        )
        return self.keep.theta + excess

    def _accepted(self, proposed: Integers, entropy: Entropy) -> npt.NDArray[np.bool_]:
        """Coins that turn v a**v into min(v, m) a**v with m = min(tau, 2**61): array as `proposed`.

        Below 2**61 the probability is min(1, m / v). From there on, where clamped sums are equal,
        a**v sums up to a**c / (1 - a) and v a**v to a**c (c + a / (1 - a)) / (1 - a), c = 2**61. So
        the probability is m / (c + a / (1 - a)): m / c times the coin of `_mixture` for c.
        """
        most = min(self.keep.tau, LARGEST_SUM)
        accepted = np.ones(proposed.size, np.bool_)
        beyond = np.flatnonzero((proposed > most) & (proposed < LARGEST_SUM))
        accepted[beyond] = uniform_below(proposed[beyond], entropy) < most
        clamped = np.flatnonzero(proposed >= LARGEST_SUM)
        if clamped.size:
            accepted[clamped] = uniform(LARGEST_SUM, clamped.size, entropy) < most
            accepted[clamped] &= _mixture(self.scale, LARGEST_SUM).flip(clamped.size, entropy)[0]
        return accepted


@dataclass(frozen=True)
class More:
    """The event that a count is kept with some tau, given that it was not with a larger tau'; see
    `Entering`.

    A count is kept with tau when its priority is tau or more. tau' must be a point of the grid of
    priorities.
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

    def with_priorities(self, count: int, entropy: Entropy) -> tuple[Integers, Integers]:
        """Noisy counts and the codes of their priorities, given that these lie from tau on and
        below tau'.

        Arrays (count,). By rejection: both are drawn given that the priority is tau or more, until
        it is below tau'.
        """
        ceiling = code_of(self.before.tau)

        def propose(trials: int) -> Integers:
            drawn = np.stack(
                Entering(self.scale, self.keep).with_priorities(trials, entropy), axis=1
            )
            return drawn[drawn[:, 1] < ceiling]

        drawn = _first(count, propose) if count else np.empty((0, 2), np.int64)
        return drawn[:, 0], drawn[:, 1]


def _first(count: int, propose: Callable[[int], Integers]) -> Integers:
    """The first of what is accepted of independent trials, round after round: array (count, ...)."""
    kept: list[Integers] = []
    missing = count
    while missing > 0:
        kept.append(propose(missing + 16)[:missing])
        missing -= len(kept[-1])
    return np.concatenate(kept) if kept else np.empty(0, np.int64)


@lru_cache(maxsize=64)
def _mixture(scale: Fraction, theta: int) -> Coins:
    """The coin of probability theta (1 - a) / (theta (1 - a) + a), which falls as a grows."""
    base: Probability = exponential(1 / scale)

    def bounds(bits: int) -> tuple[int, int]:
        work = bits + 128
        a_low, a_high = base(work)
        least, most = theta * ((1 << work) - a_high), theta * ((1 << work) - a_low)
        return (least << bits) // (least + a_high), min(
            -((-most << bits) // (most + a_low)), 1 << bits
        )

    return Coins([bounds])


@lru_cache(maxsize=1024)
def _as_float(law: Entering) -> float:
    """Rounded, also when it is near the least float."""
    bits = 128
    while (low := law(bits)[0]).bit_length() < 64 and bits < 1100:
        bits *= 2
    return float(Fraction(low, 1 << bits))
