"""The meaning of a cell: each value is written as a text, and its code depends on that text only.

**Theorem (each row by itself).** The code of a cell (`Attribute.code`) is a function of the cell's
own text `written(value)` and of the declared attribute. The identity of a row's unit is a function
of the text of the row's own id. Neither depends on other rows, on their order, on a batch, a file
or a partition, on a type that a library inferred, or on the kind of the source.

*Proof.* `written` takes one value and reads nothing else. `Attribute.code` and `identity` call it
and use only its result and the declaration. `encode.Encoder` has faster paths for columns of one
type. Each path computes the code of every value from that value alone;
`tests/margin/data/test_each_row.py` checks this for every source and every kind of value.

The text of a value is:

==========================  ====================================================================
value                       text
==========================  ====================================================================
None, NaN, NA, NaT          no text: the cell is missing
text                        without surrounding white space, in Unicode's normal form C
whole number                its digits: `7`
float of any width,         its shortest decimal form that reads back as the same number: `7.0`
decimal                     is `7`, `5e10` is `50000000000`, a 32-bit 0.1 is `0.1`, -0.0 is `0`
truth value                 `true` or `false`
date                        `2020-01-31`
date and time               `2020-01-31T12:30:05.25`, in UTC if it has a zone; at midnight the
                            date alone
time of day                 `12:30:05`
UUID                        its text
==========================  ====================================================================

NaN has no text, but a CSV file and the driver of a database may write it as the text `NaN`. So an
attribute that declares no text, such as one of bins, takes this text, in capital or small letters,
for NaN (`Attribute.is_missing`). This, too, follows from the text and the declaration.

The code of a declared date, leaf or spelling is found from this text, too: the period of a date is
that of the day in the text, in UTC if the value has a zone.

`standard` gives one form to all texts with the same meaning, if they stand for a number, a truth
value, a date, or a date and time. `"7.0"`, `"07"` and `"7"` have the standard form `7`, `"True"`
has `1`, and `"2020-01-31 00:00:00"` has `2020-01-31`.
"""

import datetime
import functools
import re
import unicodedata
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

__all__ = [
    "Number",
    "faithful",
    "identity",
    "instant",
    "is_plain",
    "number",
    "standard",
    "telling",
    "written",
]

Number = int | Decimal | float
"""An exact number: an int if it is whole, a float if it is infinite, otherwise a Decimal."""

_TRUTH_WORDS = {"true": "1", "false": "0"}
_INFINITE = {"inf", "infinity"}
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,9})?")
_INSTANT = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"([ T](?P<minute>[0-9]{2}:[0-9]{2})"
    r"(?P<second>:[0-9]{2}(\.(?P<part>[0-9]{1,18}))?)?"
    r" ?(?P<zone>Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
_LONGEST = 400
"""Largest number of digits of a number that is written without an exponent."""

_LONG_INTEGER = 10**_LONGEST
"""From this size on, the digits of an int are not written by `str`, which Python limits."""

_ROUNDED = re.compile(r".*e\+[0-9]{9}|[+-]INFINITY")
"""The texts that `telling` writes for floats that may have been rounded."""


def written(value: object) -> str | None:
    """The text of a value by the table above, or None if the value is missing.

    Raises
    ------
    TypeError
        When the value has a type that is not in the table. The message does not show the value.

    Examples
    --------
    >>> [written(value) for value in (7, 7.0, "7.0 ", True, np.float32(0.1), 5e10)]
    ['7', '7', '7.0', 'true', '0.1', '50000000000']
    >>> written(float("nan")) is None
    True
    """
    if isinstance(value, str):
        text = str.strip(value)
        return text if text.isascii() else unicodedata.normalize("NFC", text).strip()
    # Most values are of these two types. The checks below would find the same text, but later.
    if type(value) is float:
        return _number_text(value)
    if type(value) is int:
        return _whole_text(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):
        return _whole_text(int(value))
    if isinstance(value, float | np.floating | Decimal):
        return _number_text(value)
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else _datetime64_text(value)
    if isinstance(value, datetime.datetime):
        return _instant_text(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, datetime.time):
        return _time_text(value)
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(
        "a value must be a text, number, truth value, date or time, but it is of type "
        f"{type(value).__name__}; convert it to one of these"
    )


def number(text: str) -> Number | None:
    """The exact number that a text stands for, or None if it stands for no number. The words "true"
    and "false" stand for 1 and 0.

    Examples
    --------
    >>> number("1.50"), number("-3"), number("true"), number("1_000")
    (Decimal('1.50'), -3, 1, None)
    """
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST:
        return int(text)
    if _DECIMAL.fullmatch(text):
        return _exact(Decimal(text))
    word = text.casefold()
    if word in _TRUTH_WORDS:
        return int(_TRUTH_WORDS[word])
    unsigned = word.lstrip("+-")
    if unsigned in _INFINITE and len(word) - len(unsigned) <= 1:
        return float(word)
    return None


def standard(text: str) -> str | None:
    """The common form of all texts that stand for the same number, truth value, date, or date and
    time; None for any other text.

    Examples
    --------
    >>> [standard(text) for text in ("1.50", "007", "TRUE", "2020-01-31 00:00", "A-17")]
    ['1.5', '7', '1', '2020-01-31', None]
    """
    known = number(text)
    if known is not None:
        return _shortest(known)
    return instant(text)


def instant(text: str) -> str | None:
    """The standard form of a text that is a date, or a date and a time. None for any other text and
    for days that do not exist. A time with a zone is converted to UTC.

    Examples
    --------
    >>> instant("2020-01-31 23:30-02:00"), instant("2020-02-30")
    ('2020-02-01T01:30:00', None)
    """
    found = _INSTANT.fullmatch(text)
    if found is None:
        return None
    minute = found["minute"] or "00:00"
    second = (found["second"] or ":00")[:3]
    try:
        moment = datetime.datetime.fromisoformat(f"{found['date']}T{minute}{second}")
        # Convert to UTC if the text has a zone.
        if found["zone"]:
            zoned = datetime.datetime.fromisoformat(f"2000-01-01T00:00{found['zone']}")
            moment -= zoned.utcoffset() or datetime.timedelta()
    except (ValueError, OverflowError):
        return None
    return _joined(moment, found["part"] or "")


def is_plain(text: str) -> bool:
    """Whether a text cannot be a code that only looks like a number, such as `"007"`, `"+7"` or
    `".5"`.

    The usual text of a number, `str(x)`, is plain. So are dates, the words "true" and "false", and
    all texts that are no numbers.
    """
    return _DECIMAL.fullmatch(text) is None or _PLAIN.fullmatch(text) is not None


def identity(value: object) -> str | None:
    """The id of the unit that a row belongs to, from the value in the row's unit column. Rows with
    equal ids belong to the same unit. None for null, NaN or a blank text.

    Values that could be one id in different forms give one id: 7, 7.0, "7", " 7", "07" and "7.0".
    Treating two units as one is safe, because all their rows are then protected together. Treating
    one unit as two would not be safe.

    Raises
    ------
    TypeError
        When the value has a type that `written` does not know.
    ValueError
        When the value is a float of size 2**53 or more (2**24 for 32 bits), or the text that
        `telling` writes for one. Several ids may have been rounded to it. The message does not show
        the value.

    Examples
    --------
    >>> [identity(value) for value in (7, 7.0, " 7", "07", 5e10, "5e+10", "A-17", "")]
    ['7', '7', '7', '7', '50000000000', '50000000000', 'A-17', None]
    """
    text = telling(value)
    if text and _ROUNDED.fullmatch(text):
        raise ValueError(
            "an id must be exact, but a floating-point number this large may have been rounded and "
            "does not identify anyone; store ids as integers or texts"
        )
    return (standard(text) or text) if text else None


def telling(value: object) -> str | None:
    """The text of a value, with a mark if it is a float so large that it may have been rounded.

    `identity` refuses marked texts. A column of texts can so replace a column of floats.

    The text of such a float ends in an exponent of nine digits, or is `+INFINITY` or `-INFINITY`.
    An attribute gives it the same code as the text of `written`.

    Examples
    --------
    >>> telling(7.0), telling(2.0**53), telling(np.float32(2**24))
    ('7', '9007199254740992e+000000000', '16777216e+000000000')
    """
    text = written(value)
    if text is None or not isinstance(value, float | np.floating):
        return text
    kind: Any = type(value)
    if abs(float(value)) < faithful(kind):
        return text
    if text in ("inf", "-inf"):
        return "+INFINITY" if text == "inf" else "-INFINITY"
    digits, _, exponent = text.partition("e")
    return f"{digits}e+{int(exponent or 0):09d}"


@functools.cache
def faithful(kind: type[Any]) -> int:
    """The largest n such that a type of floats holds every whole number up to n: 2**53 for 64
    bits.

    Examples
    --------
    >>> faithful(np.float32)
    16777216
    """
    return 1 << (int(np.finfo(kind).nmant) + 1)


def _number_text(value: Any) -> str | None:
    """The text of a decimal, or the shortest decimal form that reads back as the same float of its
    width; None for NaN."""
    if isinstance(value, float):
        text = float.__repr__(value)
        if text.endswith(".0"):
            return text[:-2] if text != "-0.0" else "0"
        # Without an exponent, "inf" or "nan" the text is in its final form.
        if "e" not in text and "n" not in text:
            return text
        value = Decimal(text)
    elif isinstance(value, np.floating):
        # `str` would depend on numpy's print options.
        value = Decimal(np.format_float_scientific(value, unique=True))
    return None if value.is_nan() else _shortest(_exact(value))


def _whole_text(value: int) -> str:
    """The digits of a whole number. A very long one is written with an exponent."""
    if -_LONG_INTEGER < value < _LONG_INTEGER:
        return str(value)
    return _shortest(Decimal(value))


def _exact(decimal: Decimal) -> Number:
    """A decimal as an int if it is whole and not too long, and as a float if it is infinite."""
    if decimal.is_infinite():
        return float(decimal)
    if decimal.adjusted() > _LONGEST:
        return decimal
    whole = decimal.to_integral_value()
    return int(whole) if whole == decimal else decimal


def _shortest(known: Number) -> str:
    """A number in decimal notation without trailing zeros, or with an exponent if it is very
    long."""
    if isinstance(known, int | float):
        return str(known)
    sign, digits, exponent = known.as_tuple()
    # Move the trailing zeros of the digits into the exponent.
    text = "".join(map(str, digits)).lstrip("0")
    shortened = text.rstrip("0")
    power = int(exponent) + len(text) - len(shortened)
    if not shortened:
        return "0"
    if -_LONGEST < power <= _LONGEST:
        plain = Decimal((0, tuple(map(int, shortened)), power))
        shown = f"{plain:f}"
    else:
        shown = f"{shortened}e{power}"
    return f"-{shown}" if sign else shown


def _instant_text(value: datetime.datetime) -> str:
    """The text of a date and time in UTC, with its nanoseconds if it has some, or of the date alone
    at midnight. If the calendar has no such time in UTC, it is the text in the value's own zone."""
    offset = value.utcoffset() if value.tzinfo is not None else None
    if offset is not None:
        try:
            value = value.replace(tzinfo=None) - offset
        except (ValueError, OverflowError):
            return value.isoformat()
    part = f"{value.microsecond:06d}{getattr(value, 'nanosecond', 0):03d}"
    return _joined(value, part)


def _time_text(value: datetime.time) -> str:
    """The text of a time of day, with its zone if it has one."""
    without_zone = value.replace(tzinfo=None)
    clock = without_zone.replace(microsecond=0).isoformat()
    part = f"{value.microsecond:06d}".rstrip("0")
    zone = value.isoformat()[len(without_zone.isoformat()) :]
    return f"{clock}.{part}{zone}" if part else f"{clock}{zone}"


def _joined(moment: datetime.datetime, part: str) -> str:
    """The text of a date and time; `part` holds the digits of the fraction of a second."""
    part = part.rstrip("0")
    text = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
    clock = f"{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}"
    if part:
        clock = f"{clock}.{part}"
    return text if clock == "00:00:00" else f"{text}T{clock}"


def _datetime64_text(value: np.datetime64) -> str:
    """The text of a numpy date and time of any unit."""
    unit = np.datetime_data(value.dtype)[0]
    text = str(value.astype("datetime64[s]") if unit in "YMWDhm" else value)
    return instant(text) or text
