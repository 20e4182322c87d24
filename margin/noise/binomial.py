"""Exact binomial variables for any number of trials; the probability is given by certified
bounds."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from .certified import Probability
from .entropy import Entropy

__all__ = ["Cumulative", "binomial", "cumulative"]

_BITS = 64  # digits of the uniform real that are drawn at a time
_GUARD = 64  # extra digits of a term: 2**64 is more than the square of the number of terms
_NEGLIGIBLE = 1 << 32  # size of the last term kept, in units of 2**-(bits + 64)

_Ratio = tuple[int, int]  # numerator and denominator


def binomial(
    trials: int,
    p: Probability,
    entropy: Entropy,
) -> int:
    """Draw from the binomial distribution: the number K of heads among `trials` coins.

    The coins are independent and show heads with probability p.
    K is the smallest k with U < P(K <= k), for a uniform real U whose digits are drawn when they
    are needed. After 64 digits the result is open only if U lies between the certified bounds of
    some P(K <= k). Then 64 more digits are drawn and the bounds are made narrower by as much, until
    the result is decided. So K has the distribution of an infinitely long U. Time and memory grow
    with the standard deviation of K, not with the number of trials.

    Parameters
    ----------
    trials
        Number of coins, >= 0; any int.
    p
        Certified bounds on the probability, 0 < p < 1. It must be hashable, so that its table is
        built once.
    entropy
        Source of random bytes.
    """
    if trials == 0:
        return 0
    known = 0
    bits = 0
    while True:
        known = known << _BITS | int.from_bytes(entropy.take(_BITS // 8), "big")
        bits += _BITS
        table = cumulative(trials, p, bits)
        # All places before `place` have P(K <= k) <= U.
        places = range(len(table.lows))
        place = bisect_right(places, known, key=table.high)
        if place < len(places) and known < table.low(place):
            return table.first + place


@dataclass(
    frozen=True,
    eq=False,
)
class Cumulative:
    """A table of certified bounds on the binomial distribution function P(K <= k).

    It holds bounds for k = first, first + 1, ..., in units of 2**-bits.
    Each bound is a quotient: a bound on a sum of terms, divided by a bound on the total of all
    terms.
    """

    first: int
    bits: int
    lows: Sequence[int]
    highs: Sequence[int]
    total: tuple[int, int]

    def low(self, place: int) -> int:
        """A lower bound on P(K <= first + place) * 2**bits."""
        return (self.lows[place] << self.bits) // self.total[1]

    def high(self, place: int) -> int:
        """An upper bound on P(K <= first + place) * 2**bits."""
        quotient = -(-(self.highs[place] << self.bits) // self.total[0])
        return min(quotient, 1 << self.bits)


@lru_cache(maxsize=32)
def cumulative(
    trials: int,
    p: Probability,
    bits: int,
) -> Cumulative:
    """Compute bounds on P(K <= k) that are precise to about `bits` binary digits.

    With o = p / (1 - p) the probabilities are proportional to W(k), where W = 1 near the mode,
    W(k + 1) = W(k) (n - k) / (k + 1) * o and W(k - 1) = W(k) k / (n - k + 1) / o. The two ends of
    an interval around each W(k) follow this recurrence with the two ends of the interval around o,
    rounded outwards, in units of 2**-(bits + 64). So do the ends of the sums. Away from the mode W
    falls faster and faster, so the terms beyond the last one kept sum to at most a geometric
    series.
    """
    low, high, one = _sharp(p, bits + _GUARD + 32)
    mode = min(trials, (trials + 1) * low // one)

    # From the mode up: each step multiplies by (n - k) / (k + 1) and by o.
    up_steps = ((trials - k, k + 1) for k in range(mode, trials))
    odds = ((low, one - low), (high, one - high))
    up = _terms(up_steps, odds, bits + _GUARD)

    # From the mode down: each step multiplies by k / (n - k + 1) and by 1 / o.
    down_steps = ((k, trials - k + 1) for k in range(mode, 0, -1))
    inverse_odds = ((one - high, high), (one - low, low))
    down = _terms(down_steps, inverse_odds, bits + _GUARD)

    # In ascending order; the mode is the first term of both.
    lows = down.lows[:0:-1] + up.lows
    highs = down.highs[:0:-1] + up.highs
    return Cumulative(
        first=mode - len(down.lows) + 1,
        bits=bits,
        lows=list(accumulate(lows)),
        highs=list(accumulate(highs, initial=down.rest))[1:],
        total=(sum(lows), sum(highs) + down.rest + up.rest),
    )


class _Terms(NamedTuple):
    """Bounds on the terms W(k) on one side of the mode, and on the sum of the terms left out."""

    lows: list[int]
    highs: list[int]
    rest: int


def _terms(
    steps: Iterable[_Ratio],
    factor: tuple[_Ratio, _Ratio],
    unit: int,
) -> _Terms:
    """Bounds on W(mode), and on the terms that follow on one side, in units of 2**-unit.

    A step multiplies by a ratio of `steps`, and by a number between the two ratios of `factor`. The
    ratios fall. So if one step multiplies by r < 1 at most, the terms from W <= w on sum to at most
    w / (1 - r).
    """
    low, high = factor
    least = [1 << unit]
    most = [1 << unit]
    for gain, loss in steps:
        # The upper bound, rounded up.
        more = gain * high[0]
        less = loss * high[1]
        above = -(-most[-1] * more // less)
        if above < _NEGLIGIBLE and more < less:
            rest = -(-above * less // (less - more))
            return _Terms(least, most, rest)
        # The lower bound, rounded down.
        least.append(least[-1] * gain * low[0] // (loss * low[1]))
        most.append(above)
    return _Terms(least, most, 0)


def _sharp(p: Probability, digits: int) -> tuple[int, int, int]:
    """Integers (low, high, one) with low <= p * one <= high, where `one` is a power of two.

    The bounds are so narrow that p and 1 - p are known to at least `digits` binary digits.
    """
    bits = digits
    while True:
        low, high = p(bits)
        one = 1 << bits
        least = min(low, one - high)
        if least.bit_length() >= digits:
            return low, high, one
        # Not enough digits: add those that are missing, or double if none is known.
        if least > 0:
            bits += digits - least.bit_length() + 8
        else:
            bits += bits
