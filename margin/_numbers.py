"""Numbers read exactly as written: 0.1, "0.1" and Decimal("0.1") are all one tenth."""

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
"""The epsilon or rho of one unit of a charge."""

_LARGEST = 10**6  # largest epsilon and rho: 10**18 units, which fit into 64 bits
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_RATIO = re.compile(r"[+-]?[0-9]+/0*[1-9][0-9]*")
_LONGEST_TEXT = 1000
_LONGEST_BITS = 1100  # longest numerator or denominator; the smallest float needs 1077 bits


def amount(name: str, value: object) -> Fraction:
    """Read an epsilon or a rho, and check that it is from one unit (1e-12) to 10**6.

    Raises
    ------
    BudgetError
        When `value` is anything else. The message calls it `name`.
    """
    number = exact(name, value)
    if number <= 0:
        raise BudgetError(f"{name} ({shown(value)}) must be > 0; pass a larger number")
    if number < UNIT:
        raise BudgetError(
            f"{name} ({shown(value)}) must be at least 1e-12, the smallest amount that can be "
            "spent; pass a larger number"
        )
    if number > _LARGEST:
        raise BudgetError(
            f"{name} ({shown(value)}) must be at most 1e6, because more protects nobody; pass a "
            "smaller number"
        )
    return number


def probability(name: str, value: object) -> Fraction:
    """Read a number exactly, and check that it is > 0 and < 1.

    Raises
    ------
    BudgetError
        When `value` is anything else. The message calls it `name`.
    """
    number = exact(name, value)
    if not 0 < number < 1:
        raise BudgetError(
            f"{name} ({shown(value)}) must be > 0 and < 1, and far below 1 / (number of rows);"
            " try 1e-9"
        )
    return number


def exact(name: str, value: object) -> Fraction:
    """Read a finite number as an exact fraction; a float is read as its shortest decimal form.

    Raises
    ------
    BudgetError
        When `value` is anything else, or has more than 300 digits. The message calls it `name`.

    Examples
    --------
    >>> exact("epsilon", 0.1), exact("epsilon", "1/3")
    (Fraction(1, 10), Fraction(1, 3))
    """
    number = _read(value)
    if number is None:
        raise BudgetError(
            f"{name} ({shown(value)}) must be a finite number; pass one such as 1, 0.1, '0.1' or"
            " Fraction(1, 10)"
        )
    if max(abs(number.numerator), number.denominator).bit_length() > _LONGEST_BITS:
        raise BudgetError(
            f"{name} ({shown(value)}) must have at most 300 digits, but it has more; round it"
        )
    return number


def root_below(square: Fraction) -> Fraction:
    """The square root of a number >= 0, rounded down to 24 decimal places."""
    return Fraction(math.isqrt(math.floor(square * 10**48)), 10**24)


def _read(value: object) -> Fraction | None:
    """Read a value as a Fraction; None if it is not a finite number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, Fraction):
        if type(value) is Fraction:
            return value
        # A subclass may have an arithmetic of its own: only its two numbers are used.
        return Fraction(operator.index(value.numerator), operator.index(value.denominator))
    if isinstance(value, Integral):
        return Fraction(operator.index(value))
    if isinstance(value, str | Decimal):
        return _read_text(str(value).strip())
    if isinstance(value, Real):
        return _read_text(repr(float(value)))
    return None


def _read_text(written: str) -> Fraction | None:
    if len(written) > _LONGEST_TEXT:
        return None
    if _DECIMAL.fullmatch(written) or _RATIO.fullmatch(written):
        return Fraction(written)
    return None


def text(number: Fraction) -> str:
    """Write a fraction as a short text that `exact` reads as the same number.

    It is a decimal of up to 40 digits, such as "0.1", or else a quotient such as "1/3".
    """
    # A decimal with k places exists if the denominator divides 10**k.
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
    """Write a value for an error message: its repr, cut to 60 characters."""
    try:
        written = repr(value)
    except Exception:  # a user's object, or an integer too long for Python to print
        return f"of type {type(value).__name__}"
    return written if len(written) <= 60 else f"{written[:57]}..."
