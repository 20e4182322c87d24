"""Certified bounds on probabilities, and the comparison of a uniform real with one of them.

A probability q is given as a function: `q(bits)` returns integers (low, high) with low <= q *
2**bits <= high, and high - low stays below some constant as `bits` grows. All arithmetic is on
integers and `decimal`; nothing is rounded the wrong way.
"""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partial

from .entropy import Entropy

__all__ = ["Probability", "exponential", "leading_bits", "logistic", "uniform_is_below"]

Probability = Callable[[int], tuple[int, int]]

WORD = 64  # bits by which a uniform real is extended when those at hand do not decide


def exponential(x: Fraction) -> Probability:
    """The probability exp(-x) of a rational x >= 0."""
    return partial(_exponential_bounds, x)


def _exponential_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    if x == 0:
        return 1 << bits, 1 << bits
    if x >= bits:  # exp(-x) < 2**-x <= 2**-bits
        return 0, 1
    digits = bits * 3 // 10 + len(str(bits)) + 12
    floor = Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
    ceiling = Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
    # Context.exp is documented as correctly rounded to the nearest; one unit outwards makes it a
    # bound with
    # room to spare.
    numerator, denominator = Decimal(-x.numerator), Decimal(x.denominator)
    low = floor.next_minus(floor.exp(floor.divide(numerator, denominator)))
    high = ceiling.next_plus(ceiling.exp(ceiling.divide(numerator, denominator)))
    return _scaled_floor(low, bits), min(-_scaled_floor(high.copy_negate(), bits), 1 << bits)


def _scaled_floor(value: Decimal, bits: int) -> int:
    """floor(value * 2**bits), exactly."""
    numerator, denominator = value.as_integer_ratio()
    return (numerator << bits) // denominator


def logistic(x: Fraction) -> Probability:
    """The probability 1/(1 + exp(x)) of a rational x >= 0."""
    return partial(_logistic_bounds, x)


def _logistic_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    low, high = _exponential_bounds(x, bits)  # e/(1 + e) grows with e = exp(-x)
    one = 1 << bits
    return (low << bits) // (one + low), -((-high << bits) // (one + high))


def leading_bits(q: Probability, bits: int) -> int:
    """floor(q * 2**bits), proved: both ends of an interval around q have this floor.

    Ends for every q that is not a multiple of 2**-bits, above all for every irrational one.
    """
    guard = WORD
    while True:
        low, high = q(bits + guard)
        if low >> guard == high >> guard:
            return low >> guard
        guard *= 2


def uniform_is_below(q: Probability, entropy: Entropy, *, known: int = 0, bits: int = 0) -> bool:
    """Whether U < q, exactly, for a uniform real U in [0, 1) of which `known` holds the first
    `bits` binary digits.

    U lies in [known, known + 1) * 2**-bits. While that interval and the one around q overlap,
    further digits of U are drawn and q is computed more precisely. Each round of 64 digits leaves
    the question open with a probability of about 2**-64, so it ends with probability one and the
    answer is the one an infinitely long U would give.
    """
    while True:
        low, high = q(bits)
        if known + 1 <= low:
            return True
        if known >= high:
            return False
        known = known << WORD | int.from_bytes(entropy.take(WORD // 8), "big")
        bits += WORD
