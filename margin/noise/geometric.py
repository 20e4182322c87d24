"""Exact geometric variables, and probabilities for the empty cells of a huge table whose noise
exceeds a threshold."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from .._types import Integers
from .bernoulli import Coins
from .certified import Probability, exponential, logistic
from .entropy import Entropy
from .laws import _CLAMP, _from_binary, _from_one_on, _in_blocks

__all__ = ["Geometric", "quotient", "tail", "unclamped"]


@dataclass(frozen=True)
class Geometric:
    """A geometric distribution, drawn exactly: P(G = g) = (1 - r) r**g for g = 0, 1, 2, ...

    Here r = exp(-1 / scale), and the scale is at most 10**16. The binary digits of G are
    independent coins; see `DiscreteLaplace`, whose magnitude minus one, given that it is not zero,
    has this distribution. Draws are clamped to 2**62 - 1.
    """

    scale: Fraction

    def sample(
        self,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        """Make `count` independent draws: array (count,)."""
        return _in_blocks(count, lambda n: self._draw(_coins(self.scale), n, entropy))

    def _draw(
        self,
        coins: Coins,
        count: int,
        entropy: Entropy,
    ) -> Integers:
        *digits, beyond = coins.flip(count, entropy)
        drawn = _from_binary(digits, count)
        # Draws with digits above the lowest ones, one at a time: they are rare.
        for i in np.flatnonzero(beyond):
            high = _from_one_on(self.scale, len(digits), entropy)
            whole = int(drawn[i]) + (high << len(digits))
            drawn[i] = min(whole, _CLAMP)
        return drawn


def unclamped(
    drawn: int,
    scale: Fraction,
    entropy: Entropy,
) -> int:
    """A draw of `DiscreteLaplace` of this scale as it was before it was clamped.

    A draw of +-C, with C = 2**62 - 1, stands for all X with |X| >= C and this sign. Given that, the
    excess |X| - C is geometric, because the magnitude has no memory. So it is drawn here.
    """
    if abs(drawn) < _CLAMP:
        return drawn
    magnitude = _CLAMP
    while True:
        excess = int(Geometric(scale).sample(1, entropy)[0])
        magnitude += excess
        # The excess may have been clamped too.
        if excess < _CLAMP:
            return magnitude if drawn > 0 else -magnitude


@lru_cache(maxsize=64)
def _coins(scale: Fraction) -> Coins:
    """The coins that decide one geometric draw: one for each low binary digit, the lowest first,
    and a last one for "there are higher digits"."""
    digits = (math.ceil(45 * scale) - 1).bit_length()
    low_digits = [logistic((1 << i) / scale) for i in range(digits)]
    higher = exponential((1 << digits) / scale)
    return Coins([*low_digits, higher])


def tail(scale: Fraction, threshold: int) -> Probability:
    """The probability that discrete Laplace noise is at least `threshold`, for a threshold >= 1.

    It is r**threshold / (1 + r) with r = exp(-1 / scale).
    """
    power = exponential(threshold / scale)
    base = exponential(1 / scale)

    def bounds(bits: int) -> tuple[int, int]:
        one = 1 << bits
        power_low, power_high = power(bits)
        base_low, base_high = base(bits)
        low = (power_low << bits) // (one + base_high)
        high = -((-power_high << bits) // (one + base_low))
        return low, high

    return bounds


def quotient(q: Probability, rate: Fraction) -> Probability:
    """The probability q / (1 - exp(-rate)), which must be below one; the rate is at least
    10**-16."""
    none = exponential(rate)

    def bounds(bits: int) -> tuple[int, int]:
        work = bits + 64
        q_low, q_high = q(work)
        none_low, none_high = none(work)
        one = 1 << work
        low = (q_low << bits) // (one - none_low)
        high = -((-q_high << bits) // (one - none_high))
        return low, min(high, 1 << bits)

    return bounds
