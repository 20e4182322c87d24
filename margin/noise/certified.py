"""Certified bounds on probabilities, and the exact comparison of a uniform real with a probability.

A probability q is given as a function: `q(bits)` returns integers (low, high) with
low <= q * 2**bits <= high, and high - low stays below some constant as `bits` grows. All arithmetic
is on integers and `decimal`. Lower bounds are rounded down and upper bounds are rounded up.
"""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partial

from .entropy import Entropy

__all__ = ["Probability", "exponential", "leading_bits", "logistic", "uniform_is_below"]

Probability = Callable[[int], tuple[int, int]]

WORD = 64  # number of further bits of a uniform real that are drawn at a time


def exponential(x: Fraction) -> Probability:
    """The probability exp(-x), as certified bounds, for a rational x >= 0."""
    return partial(_exponential_bounds, x)


def _exponential_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    if x == 0:
        return 1 << bits, 1 << bits
    if x >= bits:  # exp(-x) < 2**-x <= 2**-bits
        return 0, 1
    digits = bits * 3 // 10 + len(str(bits)) + 12
    floor = Context(
        prec=digits,
        rounding=ROUND_FLOOR,
        Emin=MIN_EMIN,
        Emax=MAX_EMAX,
    )
    ceiling = Context(
        prec=digits,
        rounding=ROUND_CEILING,
        Emin=MIN_EMIN,
        Emax=MAX_EMAX,
    )
    # Context.exp is documented as correctly rounded to the nearest. A step of one unit outwards
    # therefore makes it a bound.
    numerator = Decimal(-x.numerator)
    denominator = Decimal(x.denominator)
    low = floor.next_minus(floor.exp(floor.divide(numerator, denominator)))
    high = ceiling.next_plus(ceiling.exp(ceiling.divide(numerator, denominator)))
    scaled_high = -_scaled_floor(high.copy_negate(), bits)
    return _scaled_floor(low, bits), min(scaled_high, 1 << bits)


def _scaled_floor(value: Decimal, bits: int) -> int:
    """The exact value of floor(value * 2**bits)."""
    numerator, denominator = value.as_integer_ratio()
    return (numerator << bits) // denominator


def logistic(x: Fraction) -> Probability:
    """The probability 1 / (1 + exp(x)), as certified bounds, for a rational x >= 0."""
    return partial(_logistic_bounds, x)


def _logistic_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    # The probability is e / (1 + e) with e = exp(-x), which grows with e.
    low, high = _exponential_bounds(x, bits)
    one = 1 << bits
    below = (low << bits) // (one + low)
    above = -((-high << bits) // (one + high))
    return below, above


def leading_bits(q: Probability, bits: int) -> int:
    """The first binary digits of a probability as an integer: floor(q * 2**bits), proved.

    Both ends of an interval around q have this floor.

    The search ends for every q that is not a multiple of 2**-bits, so for every irrational q.
    """
    guard = WORD
    while True:
        low, high = q(bits + guard)
        if low >> guard == high >> guard:
            return low >> guard
        guard *= 2


def uniform_is_below(
    q: Probability,
    entropy: Entropy,
    *,
    known: int = 0,
    bits: int = 0,
) -> bool:
    """Draw a uniform real U in [0, 1) and compare it with a probability: True if U < q, exactly.

    `known` holds the first `bits` binary digits of U, so U lies in [known, known + 1) * 2**-bits.
    While this interval and the interval around q overlap, further digits of U are drawn and q is
    computed more precisely. Each round of 64 digits leaves the comparison undecided with a
    probability of about 2**-64. So the loop ends with probability one, and the result is exact:
    an infinitely long U would give the same.
    """
    while True:
        low, high = q(bits)
        if known + 1 <= low:
            return True
        if known >= high:
            return False
        known = known << WORD | int.from_bytes(entropy.take(WORD // 8), "big")
        bits += WORD
