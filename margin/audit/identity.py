"""The identity of a unit by the value in its column, computed from the specification alone.

It is the relation that the documentation of `margin.domain.values` states: values that stand for
the same number, truth value, date or instant are one unit, and so are texts that are equal without
surrounding white space, in Unicode's normal form C. None of its code is used. Numbers are compared
as fractions, and instants as whole nanoseconds in UTC.
"""

import datetime
import re
import unicodedata
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["AMBIGUOUS", "Identity", "identity_of"]

Identity = tuple[str, object]
"""The kind of a value, and what is compared."""

AMBIGUOUS: Identity = ("ambiguous", None)
"""The identity of a float so large that several ids may have been rounded to it."""

# Numbers whose exponent has more digits are no numbers.
_NUMBER = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:e([+-]?\d{1,9}))?", re.ASCII | re.IGNORECASE)
_WORDS = {"true": 1, "false": 0}
_INFINITIES = {sign + word for sign in ("", "+", "-") for word in ("inf", "infinity")}

# Exponents beyond this are compared as they are written: the fraction would be too long.
_LARGEST_EXPONENT = 5000

# Forms of a date and time without its fraction of a second and its zone, by their length.
_FORMS = {10: "%Y-%m-%d", 16: "%Y-%m-%d %H:%M", 19: "%Y-%m-%d %H:%M:%S"}
_ZONE = re.compile(r" ?(Z|[+-]\d\d(:?\d\d)?)$", re.ASCII)
_FRACTION = re.compile(r"\.(\d{1,18})$", re.ASCII)


def identity_of(value: object) -> Identity | None:
    """The identity of the unit that a value names, which two values of one unit share; None for a
    missing value.

    Examples
    --------
    >>> identity_of("07.0 ") == identity_of(np.float32(7)) == identity_of(7)
    True
    >>> identity_of("A-17") == identity_of("a-17")
    False
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else _of_text(_seconds(value))
    if isinstance(value, np.generic) and not isinstance(value, np.floating):
        value = value.item()
    if isinstance(value, bool | int | Decimal | float | np.floating):
        return _of_number(value)
    if isinstance(value, datetime.datetime):
        return _of_instant(value, Fraction(getattr(value, "nanosecond", 0), 10**9))
    if isinstance(value, datetime.time):
        return "text", re.sub(r"(\.\d*?)0+(?=$|[+-])", r"\1", value.isoformat())
    return _of_text(str(value))


def _of_number(value: Any) -> Identity | None:
    if value != value:
        return None
    if isinstance(value, bool | int | Decimal):
        infinite = isinstance(value, Decimal) and value.is_infinite()
        return ("text", str(float(value))) if infinite else ("number", Fraction(value))
    kind = type(value)
    # Whole numbers from 2**53 on (2**24 for 32 bits) may have been rounded.
    if abs(value) >= 2 ** (np.finfo(kind).nmant + 1):
        return AMBIGUOUS
    # The decimal number with the fewest digits that reads back as the same float.
    shortest = next(
        text
        for digits in range(1, 40)
        if kind(text := f"{Decimal(float(value)):.{digits - 1}e}") == value
    )
    return "number", Fraction(shortest)


def _of_text(text: str) -> Identity | None:
    plain = unicodedata.normalize("NFC", text.strip()).strip()
    if not plain:
        return None
    word = plain.casefold()
    if word in _WORDS:
        return "number", Fraction(_WORDS[word])
    if word in _INFINITIES:
        return "text", str(float(word))
    if found := _NUMBER.fullmatch(plain):
        return _of_digits(plain, found[3])
    return _of_written_instant(plain) or ("text", plain)


def _of_digits(text: str, exponent: str | None) -> Identity:
    if abs(int(exponent or 0)) > _LARGEST_EXPONENT:
        return "long number", Decimal(text).normalize()
    return "number", Fraction(text)


def _of_written_instant(text: str) -> Identity | None:
    """A text such as 2020-01-31 or 2020-01-31T12:30:05.25+01:00; None for any other text."""
    zone = _ZONE.search(text) if len(text) > 10 else None
    rest = text[: zone.start()] if zone else text
    fraction = _FRACTION.search(rest)
    rest = rest[: fraction.start()] if fraction else rest
    clock = rest[:10] + rest[10:].replace("T", " ", 1)
    form = _FORMS.get(len(clock))
    if form is None or (fraction and len(clock) != 19) or (zone and len(clock) == 10):
        return None
    try:
        moment = datetime.datetime.strptime(clock, form)
        if zone and zone[1] != "Z":
            offset = zone[1] if len(zone[1]) > 3 else f"{zone[1]}00"
            moment = moment.replace(tzinfo=datetime.datetime.strptime(offset, "%z").tzinfo)
    except ValueError:
        return None
    # `strptime` also reads a day of one digit.
    if moment.strftime(form).rjust(len(clock), "0") != clock:
        return None
    return _of_instant(moment, Fraction(f"0.{fraction[1]}") if fraction else Fraction(0))


def _of_instant(moment: datetime.datetime, more: Fraction) -> Identity:
    """An instant as seconds in UTC, from the first day of the calendar; `more` is added."""
    minutes = (moment.toordinal() * 24 + moment.hour) * 60 + moment.minute
    seconds = minutes * 60 + moment.second + Fraction(moment.microsecond, 10**6)
    offset = moment.utcoffset() or datetime.timedelta()
    return "instant", seconds - Fraction(offset // datetime.timedelta(microseconds=1), 10**6) + more


def _seconds(value: np.datetime64) -> str:
    """A numpy date and time as a text, to the second if its unit is coarser."""
    coarse = np.datetime_data(value.dtype)[0] in "YMWDhm"
    return str(value.astype("datetime64[s]") if coarse else value)
