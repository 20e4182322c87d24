"""Exact numbers from user input: 0.1, "0.1" and Decimal("0.1") all mean one tenth."""

import math
import operator
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real

from .errors import BudgetError

__all__ = [
    "UNIT",
    "Number",
    "amount",
    "exact",
    "probability",
    "root_below",
    "shown",
    "text",
]

Number = int | float | str | Decimal | Fraction

UNIT = Fraction(1, 10**12)
"""The smallest epsilon or rho. Charges are counted in whole units of it."""

_LARGEST = 10**6
"""The largest epsilon or rho: 10**18 units, which fit into 64 bits."""

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_RATIO = re.compile(r"[+-]?[0-9]+/0*[1-9][0-9]*")
_LONGEST_TEXT = 1000
"""Largest number of characters of a number that is given as a text."""

_LONGEST_BITS = 1100
"""Largest number of bits of a numerator or denominator; the smallest float has 1077."""


def amount(name: str, value: object) -> Fraction:
    """An epsilon or rho as an exact number.

    Raises
    ------
    BudgetError
        If it is not a number from 10**-12 to 10**6. The message names it.
    """
    number = exact(name, value)
    if number <= 0:
        raise BudgetError(f"{name} ({shown(value)}) must be > 0")
    if number < UNIT:
        raise BudgetError(
            f"{name} ({shown(value)}) must be at least 1e-12, the smallest budget: raise it"
        )
    if number > _LARGEST:
        raise BudgetError(
            f"{name} ({shown(value)}) must be at most 1e6: lower it; "
            "a useful guarantee needs far less"
        )
    return number


def probability(name: str, value: object) -> Fraction:
    """A probability, such as delta, as an exact number.

    Raises
    ------
    BudgetError
        If it is not a number > 0 and < 1. The message names it.
    """
    number = exact(name, value)
    if not 0 < number < 1:
        raise BudgetError(
            f"{name} ({shown(value)}) must be > 0 and < 1; "
            "it should be far smaller than one over the number of rows: try 1e-9"
        )
    return number


def exact(name: str, value: object) -> Fraction:
    """A finite number as a fraction. A float is read as its shortest decimal form.

    Raises
    ------
    BudgetError
        If it is not a finite number, or has too many digits. The message names it.
    """
    number = _read(value)
    if number is None:
        raise BudgetError(
            f"{name} ({shown(value)}) must be a finite number, "
            'such as 1, 0.1, "0.1" or Fraction(1, 10)'
        )
    larger = max(abs(number.numerator), number.denominator)
    if larger.bit_length() > _LONGEST_BITS:
        raise BudgetError(f"{name} ({shown(value)}) has more than 300 digits: write it with fewer")
    return number


def root_below(square: Fraction) -> Fraction:
    """A lower bound of the square root of `square`, less than 10**-24 below it."""
    return Fraction(math.isqrt(math.floor(square * 10**48)), 10**24)


def _read(value: object) -> Fraction | None:
    """The value as a plain fraction. None if it is not a finite number."""
    if isinstance(value, bool):
        return None
    if type(value) is Fraction:
        return value
    # A subclass may define its own arithmetic. Copy its numbers to a plain fraction.
    if isinstance(value, Fraction):
        return Fraction(operator.index(value.numerator), operator.index(value.denominator))
    if isinstance(value, Integral):
        return Fraction(operator.index(value))
    if isinstance(value, str | Decimal):
        return _read_text(str(value).strip())
    if isinstance(value, Real):
        return _read_text(repr(float(value)))
    return None


def _read_text(written: str) -> Fraction | None:
    """The number in a text. None if the text is too long or not a number."""
    if len(written) > _LONGEST_TEXT:
        return None
    if not _DECIMAL.fullmatch(written) and not _RATIO.fullmatch(written):
        return None
    return Fraction(written)


def text(number: Fraction) -> str:
    """A short text that `exact` reads back as the same number.

    A number with at most 40 decimal digits is written in decimal form, any other as "p/q".
    """
    # A fraction has a finite decimal form if its denominator is 2^a 5^b. It then has max(a, b)
    # decimal places.
    twos = (number.denominator & -number.denominator).bit_length() - 1
    rest = number.denominator >> twos
    fives = 0
    while rest % 5 == 0:
        rest //= 5
        fives += 1
    places = max(twos, fives)
    if places == 0 or rest != 1:
        return str(number)
    digits = str(number.numerator * 10**places // number.denominator)
    if len(digits) > 40:
        return str(number)
    return str(Decimal(f"{digits}e-{places}")).lower()


def shown(value: object) -> str:
    """The text of a value for an error message, with at most 60 characters."""
    try:
        written = repr(value)
    # The repr of a user's object can raise any error, and a very long integer has none.
    except Exception:
        return f"of type {type(value).__name__}"
    return written if len(written) <= 60 else f"{written[:57]}..."
