"""Numbers as their writer meant them, checked: 0.1, "0.1" and Decimal("0.1") are all one tenth."""

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
"""The epsilon or rho of a charge of one."""

_LARGEST = 10**6  # of epsilon and rho: 10**18 units, which fit into 64 bits
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_RATIO = re.compile(r"[+-]?[0-9]+/0*[1-9][0-9]*")
_LONGEST_TEXT = 1000
_LONGEST_BITS = 1100  # of a numerator or denominator; the smallest float has 1077


def amount(name: str, value: object) -> Fraction:
    """An epsilon or a rho: at least one unit, at most 10**6; BudgetError naming it otherwise."""
    number = exact(name, value)
    if number <= 0:
        raise BudgetError(f"{name} ({shown(value)}) must be > 0")
    if number < UNIT:
        raise BudgetError(
            f"{name} ({shown(value)}) is below 1e-12, the least that can be spent: raise it"
        )
    if number > _LARGEST:
        raise BudgetError(f"{name} ({shown(value)}) is above 1e6, which protects nobody: lower it")
    return number


def probability(name: str, value: object) -> Fraction:
    """A number strictly between 0 and 1; BudgetError naming it otherwise."""
    number = exact(name, value)
    if not 0 < number < 1:
        raise BudgetError(
            f"{name} ({shown(value)}) must be > 0 and < 1, far below one over the number of rows: try 1e-9"
        )
    return number


def exact(name: str, value: object) -> Fraction:
    """The finite number `value`, a float read as its shortest decimal form; BudgetError naming it
    otherwise."""
    number = _read(value)
    if number is None:
        raise BudgetError(
            f'{name} ({shown(value)}) must be a finite number, such as 1, 0.1, "0.1" or Fraction(1, 10)'
        )
    if max(abs(number.numerator), number.denominator).bit_length() > _LONGEST_BITS:
        raise BudgetError(f"{name} ({shown(value)}) has more than 300 digits: write it with fewer")
    return number


def root_below(square: Fraction) -> Fraction:
    """A rational at most the square root of `square`, and less than 10**-24 below it."""
    return Fraction(math.isqrt(math.floor(square * 10**48)), 10**24)


def _read(value: object) -> Fraction | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, Fraction):  # of a subclass only the numbers are taken, not its arithmetic
        plain = type(value) is Fraction
        return (
            value
            if plain
            else Fraction(operator.index(value.numerator), operator.index(value.denominator))
        )
    if isinstance(value, Integral):
        return Fraction(operator.index(value))
    if isinstance(value, str | Decimal):
        return _read_text(str(value).strip())
    if isinstance(value, Real):
        return _read_text(repr(float(value)))
    return None


def _read_text(written: str) -> Fraction | None:
    if len(written) > _LONGEST_TEXT or not (
        _DECIMAL.fullmatch(written) or _RATIO.fullmatch(written)
    ):
        return None
    return Fraction(written)


def text(number: Fraction) -> str:
    """A short text that `exact` reads back as the same number: decimal where there is a short one,
    else "p/q"."""
    twos = (number.denominator & -number.denominator).bit_length() - 1
    rest, fives = number.denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if places == 0 or rest != 1:
        return str(number)
    digits = str(number.numerator * 10**places // number.denominator)
    return str(Decimal(f"{digits}e-{places}")).lower() if len(digits) <= 40 else str(number)


def shown(value: object) -> str:
    """`value` for an error message, shortened."""
    try:
        written = repr(value)
    except Exception:  # a user's object, or an integer too long for Python to print
        return f"of type {type(value).__name__}"
    return written if len(written) <= 60 else f"{written[:57]}..."
