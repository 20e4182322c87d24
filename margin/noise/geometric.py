"""Exact geometric variables, and the coins that decide which empty cells of a huge table rise above
a threshold."""

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

__all__ = ["Geometric", "quotient", "tail"]


@dataclass(frozen=True)
class Geometric:
    """P(G = g) = (1 - r) r**g for g = 0, 1, 2, ..., with r = exp(-1 / scale) and a scale of at most
    10**16.

    Its binary digits are independent coins; see `DiscreteLaplace`, whose magnitude less one it is.
    Draws are clamped to 2**62 - 1.
    """

    scale: Fraction

    def sample(self, count: int, entropy: Entropy) -> Integers:
        """Array (count,) of independent draws."""
        return _in_blocks(count, lambda n: self._draw(_coins(self.scale), n, entropy))

    def _draw(self, coins: Coins, count: int, entropy: Entropy) -> Integers:
        *digits, beyond = coins.flip(count, entropy)
        drawn = _from_binary(digits, count)
        for i in np.flatnonzero(beyond):
            high = _from_one_on(self.scale, len(digits), entropy)
            drawn[i] = min(int(drawn[i]) + (high << len(digits)), _CLAMP)
        return drawn


@lru_cache(maxsize=64)
def _coins(scale: Fraction) -> Coins:
    """The binary digits, lowest first, and whether there are higher ones."""
    digits = (math.ceil(45 * scale) - 1).bit_length()
    return Coins(
        [*(logistic((1 << i) / scale) for i in range(digits)), exponential((1 << digits) / scale)]
    )


def tail(scale: Fraction, threshold: int) -> Probability:
    """The probability r**threshold / (1 + r), r = exp(-1 / scale), that discrete Laplace noise is
    >= threshold >= 1."""
    power, base = exponential(threshold / scale), exponential(1 / scale)

    def bounds(bits: int) -> tuple[int, int]:
        one = 1 << bits
        (power_low, power_high), (base_low, base_high) = power(bits), base(bits)
        return (power_low << bits) // (one + base_high), -(
            (-power_high << bits) // (one + base_low)
        )

    return bounds


def quotient(q: Probability, rate: Fraction) -> Probability:
    """The probability q / (1 - exp(-rate)), which must be below one, for a rate of at least
    10**-16."""
    none = exponential(rate)

    def bounds(bits: int) -> tuple[int, int]:
        work = bits + 64
        (q_low, q_high), (none_low, none_high) = q(work), none(work)
        one = 1 << work
        return (q_low << bits) // (one - none_low), min(
            -((-q_high << bits) // (one - none_high)), 1 << bits
        )

    return bounds
