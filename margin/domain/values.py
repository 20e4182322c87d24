"""What one cell of a table means: every value is written out as one text, and nothing but that text
is looked at.

**Theorem (each row by itself).** The code of a cell (`Attribute.code`) is a function of the cell's
own text `written(value)` and of the declared attribute; the identity of a row's unit is a function
of the text of its own id. Neither depends on other rows, on their order, on a batch, a file or a
partition, on a type that a library inferred, or on the kind of the source.

*Proof.* `written` takes one value and reads nothing else. `Attribute.code` and `identity` call it
and look only at its result and at the declaration. `encode.Encoder` has faster paths for columns of
one type; each gives the code of every value by itself, which `tests/margin/data/test_each_row.py`
checks for every source and kind of value.

The text of a value is:

==========================  ====================================================================
value                       text
==========================  ====================================================================
none, NaN, NA, NaT          no text: the cell is missing
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

`standard` goes one step further, for texts that can be read as a number, a truth value, a date or a
date and time: `"7.0"`, `"07"` and `"7"` have the standard form `7`, `"True"` has `1`, `"2020-01-31
00:00:00"` has `2020-01-31`.
"""

import datetime
import functools
import re
import unicodedata
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

__all__ = ["Number", "faithful", "identity", "is_plain", "number", "standard", "telling", "written"]

Number = int | Decimal | float
"""An exact number: whole as an int, else a Decimal; a float only when it is infinite."""

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
_LONGEST = 400  # digits of a number that is written without an exponent
_LONG_INTEGER = 10**_LONGEST
_ROUNDED = re.compile(
    r".*e\+[0-9]{9}|[+-]INFINITY"
)  # how `telling` writes a number that may have been rounded


def written(value: object) -> str | None:
    """The text that a value stands for, or None for a missing one; see the table above.

    Raises
    ------
    TypeError
        When the value is none of these. The message does not show it.

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
    if type(value) is float:  # sooner than by the questions below, with the same answer
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
        clock = value.replace(microsecond=0, tzinfo=None).isoformat()
        part = f"{value.microsecond:06d}".rstrip("0")
        zone = value.isoformat()[len(value.replace(tzinfo=None).isoformat()) :]
        return f"{clock}{f'.{part}' if part else ''}{zone}"
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(
        f"a value of type {type(value).__name__} is no text, number, truth value, date or time"
    )


def number(text: str) -> Number | None:
    """The number that a text stands for, exactly; None when it stands for none. Truth words stand
    for 1 and 0.

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
    if word.lstrip("+-") in _INFINITE and len(word) - len(word.lstrip("+-")) <= 1:
        return float(word)
    return None


def standard(text: str) -> str | None:
    """The one form of all texts that stand for the same number, truth value or instant; None for
    any other text.

    Examples
    --------
    >>> standard("1.50"), standard("007"), standard("TRUE"), standard("2020-01-31 00:00"), standard("A-17")
    ('1.5', '7', '1', '2020-01-31', None)
    """
    known = number(text)
    if known is not None:
        return _shortest(known)
    return _instant(text)


def is_plain(text: str) -> bool:
    """Whether a text is written as numbers are by themselves. `"007"`, `"+7"` and `".5"` are not:
    they may be codes.

    What is printed of a number, such as `str(x)`, is plain; so are dates and truth words.
    """
    return _DECIMAL.fullmatch(text) is None or _PLAIN.fullmatch(text) is not None


def identity(value: object) -> str | None:
    """Whose a row is, by the value in its column of units: equal texts mean the same unit. None for
    null, NaN or blank.

    Values that could be one id in different forms are one unit: 7, 7.0, "7", " 7", "07" and "7.0".
    To take two ids for one is safe, since all of their rows are then protected together; to take
    one for two would not be.

    Raises
    ------
    TypeError
        When the value is of no kind that `written` knows.
    ValueError
        When it is a float of size 2**53 or more (2**24 in 32 bits), or the text that `telling`
        makes of one: several ids may have been rounded to it. The message does not show it.

    Examples
    --------
    >>> [identity(value) for value in (7, 7.0, " 7", "07", 5e10, "5e+10", "A-17", "")]
    ['7', '7', '7', '7', '50000000000', '50000000000', 'A-17', None]
    """
    text = telling(value)
    if text and _ROUNDED.fullmatch(text):
        raise ValueError(
            "a floating-point number so large that it is rounded does not identify anyone"
        )
    return (standard(text) or text) if text else None


def telling(value: object) -> str | None:
    """The text of a value for a column of texts, from which `identity` still tells that it is a
    rounded number: then it ends in an exponent of nine digits, or is `+INFINITY` or `-INFINITY`.
    Its codes are those of `written`.

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
    """The size from which on floats of this type skip whole numbers: 2**53 for 64 bits.

    Examples
    --------
    >>> faithful(np.float32)
    16777216
    """
    return 1 << (int(np.finfo(kind).nmant) + 1)


def _number_text(value: Any) -> str | None:
    """The shortest decimal form of a float of its own width, or that of a decimal; None for NaN."""
    if isinstance(value, float):
        text = float.__repr__(value)
        if text.endswith(".0"):
            return text[:-2] if text != "-0.0" else "0"
        if "e" not in text and "n" not in text:  # no exponent, and neither inf nor nan
            return text
        value = Decimal(text)
    elif isinstance(value, np.floating):  # `str` would follow numpy's print options
        value = Decimal(np.format_float_scientific(value, unique=True))
    return None if value.is_nan() else _shortest(_exact(value))


def _whole_text(value: int) -> str:
    """The digits of a whole number; of a very long one as of its text, beyond Python's limit."""
    return str(value) if -_LONG_INTEGER < value < _LONG_INTEGER else _shortest(Decimal(value))


def _exact(decimal: Decimal) -> Number:
    """A decimal as an int when it is whole and not too long, and as a float when it is infinite."""
    if decimal.is_infinite():
        return float(decimal)
    if decimal.adjusted() > _LONGEST or (whole := decimal.to_integral_value()) != decimal:
        return decimal
    return int(whole)


def _shortest(known: Number) -> str:
    """A number in decimals, without zeros at its end; with an exponent when very long."""
    if isinstance(known, int):
        return str(known)
    if isinstance(known, float):
        return str(known)
    sign, digits, exponent = known.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    shortened = text.rstrip("0")
    power = int(exponent) + len(text) - len(shortened)
    if not shortened:
        return "0"
    if -_LONGEST < power <= _LONGEST:
        shown = f"{Decimal((0, tuple(map(int, shortened)), power)):f}"
    else:
        shown = f"{shortened}e{power}"
    return f"-{shown}" if sign else shown


def _instant(text: str) -> str | None:
    """The form of a text that is a date, or a date and a time; None for any other, and where there
    is no such day."""
    found = _INSTANT.fullmatch(text)
    if found is None:
        return None
    second = (found["second"] or ":00")[:3]
    try:
        moment = datetime.datetime.fromisoformat(
            f"{found['date']}T{found['minute'] or '00:00'}{second}"
        )
        if found["zone"]:
            zoned = datetime.datetime.fromisoformat(f"2000-01-01T00:00{found['zone']}")
            moment -= zoned.utcoffset() or datetime.timedelta()
    except (ValueError, OverflowError):
        return None
    return _joined(moment, found["part"] or "")


def _instant_text(value: datetime.datetime) -> str:
    """A date and time in UTC, to the nanosecond if it has such; the date alone at midnight. As its
    own zone writes it, where the calendar has no such instant in UTC."""
    if value.tzinfo is not None and (offset := value.utcoffset()) is not None:
        try:
            value = value.replace(tzinfo=None) - offset
        except (ValueError, OverflowError):
            return value.isoformat()
    part = f"{value.microsecond:06d}{getattr(value, 'nanosecond', 0):03d}"
    return _joined(value, part)


def _joined(moment: datetime.datetime, part: str) -> str:
    part = part.rstrip("0")
    text = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
    clock = f"{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}{f'.{part}' if part else ''}"
    return text if clock == "00:00:00" else f"{text}T{clock}"


def _datetime64_text(value: np.datetime64) -> str:
    """The text of a numpy date and time of any unit."""
    unit = np.datetime_data(value.dtype)[0]
    text = str(value.astype("datetime64[s]") if unit in "YMWDhm" else value)
    return _instant(text) or text
