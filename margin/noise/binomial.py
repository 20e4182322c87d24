"""Binomial variables with a probability that is known by certified bounds only: exact, for any
number of trials."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from .certified import Probability
from .entropy import Entropy

__all__ = ["Cumulative", "binomial", "cumulative"]

_BITS = 64
_GUARD = 64  # below the last digit asked for: more than the square of the number of terms
_NEGLIGIBLE = 1 << 32  # units of 2**-(bits + 64)

Ratio = tuple[int, int]


def binomial(trials: int, p: Probability, entropy: Entropy) -> int:
    """How many of independent coins of probability p, 0 < p < 1, show heads.

    The least k with U < P(K <= k), for a uniform real U whose digits are drawn as they are needed.
    Sixty-four of them leave the answer open only if U lies between the certified bounds of a P(K <=
    k); then there are drawn as many more, and the bounds made as much narrower, until it is
    settled: what comes out has the law of an infinitely long U. Time and memory grow with the
    standard deviation of K, whatever the number of trials.

    Parameters
    ----------
    trials
        At least zero, of any length.
    p
        Hashable, so that its table is made once.
    """
    if trials == 0:
        return 0
    known, bits = 0, 0
    while True:
        known = known << _BITS | int.from_bytes(entropy.take(_BITS // 8), "big")
        bits += _BITS
        table = cumulative(trials, p, bits)
        places = range(len(table.lows))
        place = bisect_right(places, known, key=table.high)  # U >= P(K <= k) for all k before
        if place < len(places) and known < table.low(place):
            return table.first + place


@dataclass(frozen=True, eq=False)
class Cumulative:
    """For k = first, first + 1, ... bounds on P(K <= k) in units of 2**-bits: those on sums of
    terms over those on their total."""

    first: int
    bits: int
    lows: Sequence[int]
    highs: Sequence[int]
    total: tuple[int, int]

    def low(self, place: int) -> int:
        """At most P(K <= first + place) * 2**bits."""
        return (self.lows[place] << self.bits) // self.total[1]

    def high(self, place: int) -> int:
        """At least P(K <= first + place) * 2**bits."""
        return min(-(-(self.highs[place] << self.bits) // self.total[0]), 1 << self.bits)


@lru_cache(maxsize=32)
def cumulative(trials: int, p: Probability, bits: int) -> Cumulative:
    """Bounds on the distribution function, to about that many bits.

    With o = p / (1 - p) the probabilities are proportional to W(k), where W = 1 near the mode and
    W(k + 1) = W(k) (n - k) / (k + 1) * o, W(k - 1) = W(k) k / (n - k + 1) / o. Both ends of an
    interval around each W(k) follow this recurrence with an end of the interval around o, rounded
    outwards, in units of 2**-(bits + 64); so do their sums. Away from the mode W falls ever faster:
    what is beyond the last term kept is at most that of a geometric series.
    """
    low, high, one = _sharp(p, bits + _GUARD + 32)
    unit = bits + _GUARD
    mode = min(trials, (trials + 1) * low // one)
    up = _terms(
        lambda k: (trials - k, k + 1), mode, trials, (low, one - low), (high, one - high), unit, 1
    )
    down = _terms(
        lambda k: (k, trials - k + 1), mode, 0, (one - high, high), (one - low, low), unit, -1
    )
    lows = down[0][:0:-1] + up[0]
    highs = down[1][:0:-1] + up[1]
    below, above = down[2], up[2]
    return Cumulative(
        first=mode - len(down[0]) + 1,
        bits=bits,
        lows=list(accumulate(lows)),
        highs=list(accumulate(highs, initial=below))[1:],
        total=(sum(lows), sum(highs) + below + above),
    )


def _terms(
    step: Callable[[int], Ratio],
    start: int,
    end: int,
    low: Ratio,
    high: Ratio,
    unit: int,
    direction: int,
) -> tuple[list[int], list[int], int]:
    """Ends of intervals around W(start), W(start +- 1), ..., and a bound on the sum of those that
    were left out.

    A step multiplies by a ratio of whole numbers and by a number between the ratios `low` and
    `high`. The ratios fall, so that the terms from W <= w on, where one step multiplies by r < 1 at
    most, sum to w / (1 - r) at most.
    """
    least, most = [1 << unit], [1 << unit]
    for k in range(start, end, direction):
        gain, loss = step(k)
        more, less = gain * high[0], loss * high[1]
        above = -(-most[-1] * more // less)
        if above < _NEGLIGIBLE and more < less:
            return least, most, -(-above * less // (less - more))
        least.append(least[-1] * gain * low[0] // (loss * low[1]))
        most.append(above)
    return least, most, 0


def _sharp(p: Probability, digits: int) -> tuple[int, int, int]:
    """Bounds on p in units of one over the third number, such that p and 1 - p have that many
    digits."""
    bits = digits
    while True:
        low, high = p(bits)
        one = 1 << bits
        least = min(low, one - high)
        if least.bit_length() >= digits:
            return low, high, one
        bits += digits - least.bit_length() + 8 if least > 0 else bits
