"""Rules by which a summary of a huge table keeps noisy counts, with exact draws for empty cells.

A noisy count is the sum of a count and noise, clamped to +-2**61 (`margin.noise.noisy_sum`). A rule
has two thresholds, theta and tau >= theta, and *keeps* a noisy count v with probability w(v). If
|v| < theta, w(v) = 0; a one-sided filter also has w(v) = 0 for negative v. Otherwise
w(v) = min(1, |v| / tau). This is the high-pass filter if tau = theta, the threshold sample if
theta = 1, and otherwise a filter followed by a threshold sample (Cormode, Procopiuc, Srivastava and
Tran 2012, sections 3 and 4).
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


_WORD = 1 << 62  # larger than every noisy count


@dataclass(frozen=True)
class Keep:
    """A rule that keeps large noisy counts of a huge table and drops the others.

    A noisy count v is kept with probability w(v) = min(1, |v| / tau) if |v| >= theta (if one-sided,
    if v >= theta). All other counts are dropped: w(v) = 0. tau = theta gives a filter; theta = 1
    gives a threshold sample.

    Parameters
    ----------
    theta, tau
        Whole numbers, 1 <= theta <= tau. A tau above 2**62 is a power of two, at most 2**124.
    two_sided
        If True, negative counts are kept as well.
    """

    theta: int
    tau: int
    two_sided: bool

    def passes(self, values: Integers) -> npt.NDArray[np.bool_]:
        """Tell which noisy counts may be kept, w(v) > 0: booleans of the shape of `values`."""
        sizes = np.abs(values) if self.two_sided else values
        large: npt.NDArray[np.bool_] = sizes >= self.theta
        return large

    def chosen(
        self,
        values: Integers,
        entropy: Entropy,
    ) -> npt.NDArray[np.bool_]:
        """Decide at random which noisy counts to keep, each with its exact probability w(v).

        The result is an array of booleans of the shape of `values`.
        """
        kept = self.passes(values)
        # A uniform integer below tau is below |v| if all its digits above the 62 lowest are zero
        # (first coin), and the 62 lowest are below |v| (second coin).
        if self.tau > _WORD:
            kept &= uniform(self.tau // _WORD, values.size, entropy) == 0
        if self.tau > self.theta:
            drawn = uniform(min(self.tau, _WORD), values.size, entropy)
            kept &= drawn < np.abs(values)
        return kept


@dataclass(frozen=True)
class Entering:
    """The chance P that the rule `keep` keeps an empty cell, and the noisy counts of kept ones.

    The noise is discrete Laplace of scale `scale`. Let a = exp(-1 / scale), m = min(tau, 2**61),
    and `sides` one or two. Then

        P = sides / (tau (1 - a**2))
            * (theta a**theta - (theta - 1) a**(theta + 1) - a**(m + 1)).

    This is the sum of w(v) (1 - a) / (1 + a) a**|x| over all values x of the noise, where v is x
    clamped to +-2**61. It agrees with two cases in the paper: with tau = theta,
    P = a**theta / (1 + a) for each side; with theta = 1, P = 2 a (1 - a**tau) / (tau (1 - a**2))
    for two-sided threshold samples.
    """

    scale: Fraction
    keep: Keep

    def __call__(self, bits: int) -> tuple[int, int]:
        """Certified bounds on P, so that the event is a `Probability`.

        P is irrational, because a is transcendental. The guard digits make up for the cancellation
        in the difference of the three terms and in 1 - a**2 >= 1e-16.
        """
        theta = self.keep.theta
        tau = self.keep.tau
        most = min(tau, LARGEST_SUM)
        work = bits + 256 + 2 * tau.bit_length()

        # Bounds on the powers of a in P.
        a_low, a_high = exponential(theta / self.scale)(work)
        b_low, b_high = exponential((theta + 1) / self.scale)(work)
        c_low, c_high = exponential((most + 1) / self.scale)(work)
        d_low, d_high = exponential(2 / self.scale)(work)

        # Bounds on the numerator and on the denominator of P.
        sides = 1 + self.keep.two_sided
        one = 1 << work
        low = max(0, theta * a_low - (theta - 1) * b_high - c_high)
        high = theta * a_high - (theta - 1) * b_low - c_low
        below = tau * (one - d_high)
        above = tau * (one - d_low)

        p_low = (sides * low << bits) // above
        p_high = -((-sides * high << bits) // below)
        return p_low, min(p_high, 1 << bits)

    def __float__(self) -> float:
        return _as_float(self)

    def sample(
        self,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """Draw the noisy counts of `count` empty cells that are kept: array (count,).

        P(v) is proportional to w(v) a**|v| for |v| < 2**61.
        """
        magnitudes = self._magnitudes(count, entropy)
        if not self.keep.two_sided or not count:
            return magnitudes
        # One random bit for each sign.
        size = (count + 7) // 8
        bits = np.frombuffer(entropy.take(size), np.uint8, size)
        return np.where(np.unpackbits(bits, count=count), -magnitudes, magnitudes)

    def with_priorities(
        self,
        count: int,
        entropy: Entropy,
    ) -> tuple[Integers, Integers]:
        """Draw the noisy counts of kept empty cells and the codes of their priorities.

        The result is two arrays (count,). All priorities are at least `keep.tau`, which must be
        theta or a point of the grid of `priorities`.
        """
        values = self.sample(count, entropy)
        return values, priorities(np.abs(values), entropy, least=self.keep.tau)

    def _magnitudes(
        self,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """The sizes |v| of kept counts, by rejection: array (count,).

        There are two proposals for v >= theta: a**v, accepted with probability min(1, v / tau), and
        v a**v, accepted with probability min(1, tau / v). The first accepts a third or more of its
        proposals if tau <= theta + scale; otherwise the second does.
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

    def _by_noise(
        self,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """Draw v >= theta with P(v) proportional to a**v, clamped to 2**61: array (count,)."""
        excess = Geometric(self.scale).sample(count, entropy)
        return np.minimum(self.keep.theta + excess, LARGEST_SUM)

    def _by_size(
        self,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """Draw v >= theta with P(v) proportional to v a**v: array (count,).

        With e = v - theta this is a mixture of theta a**e and e a**e. The first part is geometric.
        The second part is one plus the sum of two geometric variables. The two parts sum to
        theta / (1 - a) and a / (1 - a)**2. A draw of 2**61 or more is only known to be at least
        2**61, because the variables are clamped.
        """
        geometric = Geometric(self.scale)
        excess = np.minimum(geometric.sample(count, entropy), LARGEST_SUM)
        first = _mixture(self.scale, self.keep.theta).flip(count, entropy)[0]
        second = np.flatnonzero(~first)
        excess[second] += 1 + np.minimum(geometric.sample(second.size, entropy), LARGEST_SUM)
        return self.keep.theta + excess

    def _accepted(
        self,
        proposed: Integers,
        entropy: Entropy,
    ) -> npt.NDArray[np.bool_]:
        """Accept or reject draws of `_by_size`, so that P(v) becomes proportional to w(v) a**v.

        w(v) is proportional to min(v, m) with m = min(tau, 2**61).

        The result has the shape of `proposed`. For v < 2**61 the probability is min(1, m / v). For
        v >= c = 2**61 all clamped sums are equal. There a**v sums to a**c / (1 - a), and v a**v
        sums to a**c (c + a / (1 - a)) / (1 - a). So the probability is m / (c + a / (1 - a)), which
        is m / c times the probability of the coin of `_mixture` for c.
        """
        most = min(self.keep.tau, LARGEST_SUM)
        accepted = np.ones(proposed.size, np.bool_)
        # Above m and below 2**61.
        beyond = np.flatnonzero((proposed > most) & (proposed < LARGEST_SUM))
        accepted[beyond] = uniform_below(proposed[beyond], entropy) < most
        # From 2**61 on.
        clamped = np.flatnonzero(proposed >= LARGEST_SUM)
        if clamped.size:
            accepted[clamped] = uniform(LARGEST_SUM, clamped.size, entropy) < most
            coins = _mixture(self.scale, LARGEST_SUM)
            accepted[clamped] &= coins.flip(clamped.size, entropy)[0]
        return accepted


@dataclass(frozen=True)
class More:
    """The chance that an empty cell is kept with tau if it was not kept with a larger tau'.

    It is used when a threshold is lowered and a sample is extended. A count is kept with tau if its
    priority is tau or more. tau belongs to `keep`, and tau' to `before`; tau' must be a point of
    the grid of priorities. See `Entering`.
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
        low = max(0, p_low - q_high)
        high = p_high - q_low
        quotient_low = (low << bits) // (one - q_low)
        quotient_high = -((-high << bits) // (one - q_high))
        return quotient_low, min(quotient_high, 1 << bits)

    def with_priorities(
        self,
        count: int,
        entropy: Entropy,
    ) -> tuple[Integers, Integers]:
        """Draw the noisy counts of the added cells and the codes of their priorities.

        The result is two arrays (count,). All priorities are at least tau and below tau'. Counts
        and priorities are drawn by rejection: pairs with a priority of at least tau are drawn, and
        those with a priority of tau' or more are dropped.
        """
        ceiling = code_of(self.before.tau)

        def propose(trials: int) -> Integers:
            entering = Entering(self.scale, self.keep)
            drawn = np.stack(entering.with_priorities(trials, entropy), axis=1)
            return drawn[drawn[:, 1] < ceiling]

        if not count:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        drawn = _first(count, propose)
        return drawn[:, 0], drawn[:, 1]


def _first(count: int, propose: Callable[[int], Integers]) -> Integers:
    """Repeat `propose` until `count` proposals are accepted; the result is those: (count, ...).

    `propose` makes a number of trials and returns the accepted proposals.
    """
    kept: list[Integers] = []
    missing = count
    while missing > 0:
        kept.append(propose(missing + 16)[:missing])
        missing -= len(kept[-1])
    return np.concatenate(kept) if kept else np.empty(0, np.int64)


@lru_cache(maxsize=64)
def _mixture(scale: Fraction, theta: int) -> Coins:
    """A coin of the probability theta (1 - a) / (theta (1 - a) + a), where a = exp(-1 / scale).

    The probability falls as a grows, so bounds on a give bounds on it.
    """
    base: Probability = exponential(1 / scale)

    def bounds(bits: int) -> tuple[int, int]:
        work = bits + 128
        one = 1 << work
        a_low, a_high = base(work)
        least = theta * (one - a_high)
        most = theta * (one - a_low)
        low = (least << bits) // (least + a_high)
        high = -((-most << bits) // (most + a_low))
        return low, min(high, 1 << bits)

    return Coins([bounds])


@lru_cache(maxsize=1024)
def _as_float(law: Entering) -> float:
    """The probability P, rounded; correct also near the smallest float."""
    bits = 128
    while (low := law(bits)[0]).bit_length() < 64 and bits < 1100:
        bits *= 2
    return float(Fraction(low, 1 << bits))
