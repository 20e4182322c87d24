"""`Attribute`: what one column may hold, as a total map from values to codes."""

import bisect
import itertools
import math
import numbers
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from .errors import DomainError

__all__ = ["UNSEEN", "Attribute", "Value"]

Value = str | int | float | bool

UNSEEN = -1
"""The code of a value that its attribute does not provide for."""

_TRUTH_WORDS = {"true": 1, "false": 0}
_PLAIN_INTEGER = re.compile("0|-?[1-9][0-9]{0,308}")
_MAX_SIZE = 2**31 - 1


@dataclass(frozen=True, init=False)
class Attribute:
    """The categories of one column: exactly one of `size`, `values` and `bins`.

    `other` and `missing` name a category that is listed, or else add one (`size` cannot grow: there they must be one of
    the integers).

    Parameters
    ----------
    size
        The column holds the integers 0 ... size - 1.
    values
        The column holds these values. Texts are compared without surrounding white space; 1, 1.0, "1" and True are the
        same value, so that a table means the same as CSV, as Parquet and as a data frame.
    bins
        Ascending edges of intervals [a, b), the last one closed. -inf and inf (null in JSON) may stand at the ends.
    other
        The category of every value that is not provided for. Without it such a value is an error.
    missing
        The category of nulls, NaN and empty texts. Without it they are an error.

    Raises
    ------
    DomainError
        When the declaration is not one of the above, or two values are the same.

    Examples
    --------
    >>> Attribute(values=["yes", "no"], missing="not asked").labels
    ('yes', 'no', 'not asked')
    >>> Attribute(bins=[0, 18, 65, float("inf")]).labels
    ('[0, 18)', '[18, 65)', '[65, inf]')
    """

    size: int
    values: tuple[Value, ...] | None
    bins: tuple[float, ...] | None
    other: Value | None
    missing: Value | None

    def __init__(
        self,
        *,
        size: int | None = None,
        values: Iterable[Value] | None = None,
        bins: Iterable[float | None] | None = None,
        other: Value | None = None,
        missing: Value | None = None,
    ) -> None:
        if sum(given is not None for given in (size, values, bins)) != 1:
            raise DomainError("an attribute takes exactly one of size, values and bins")
        extras = [label for label in (other, missing) if label is not None]
        listed = _checked_values(values, extras) if values is not None else None
        edges = _checked_edges(bins) if bins is not None else None
        if listed is not None:
            size = len(listed)
        elif edges is not None:
            size = len(edges) - 1 + len(dict.fromkeys(map(_checked_value, extras)))
        for name, value in {
            "size": _checked_size(size),
            "values": listed,
            "bins": edges,
            "other": other,
            "missing": missing,
        }.items():
            object.__setattr__(self, name, value)
        for role, label in (("other", other), ("missing", missing)):
            if label is not None and self._label_code(label) == UNSEEN:
                raise DomainError(f"{role}={label!r} is not one of the integers 0 ... {self.size - 1}")

    @cached_property
    def labels(self) -> tuple[Value, ...]:
        """The categories in the order of their codes: values, integers, or intervals written out."""
        if self.values is not None:
            return self.values
        if self.bins is None:
            return tuple(range(self.size))
        pairs = list(itertools.pairwise(self.bins))
        closing = [")"] * (len(pairs) - 1) + ["]"]
        intervals = [f"[{_number(a)}, {_number(b)}{end}" for (a, b), end in zip(pairs, closing, strict=True)]
        return (*intervals, *self._bin_extras)

    def code(self, value: object) -> int:
        """The code of a value, 0 ... size - 1, or `UNSEEN` when the attribute does not provide for it."""
        if self.is_missing(value):
            return self._missing_code
        code = self._plain_code(value)
        return self._other_code if code == UNSEEN else code

    def category(self, value: object) -> int:
        """The code of a category that is named by its label, by a value in it, or by None for the missing; `UNSEEN`
        for any other, even where the attribute has a category for those."""
        if self.bins is not None and isinstance(value, str | int | float) and value in self._bin_labels:
            return self._bin_labels[value]
        return self._missing_code if self.is_missing(value) else self._plain_code(value)

    def label(self, code: int) -> Value:
        """The category of a code; see `labels`."""
        return code if self.values is None and self.bins is None else self.labels[code]

    def is_missing(self, value: object) -> bool:
        """Whether a value is a null, NaN or an empty text; where numbers are declared, also the text "nan"."""
        if value is None or value != value:
            return True
        text = value.strip() if isinstance(value, str) else None
        if text is None or text in self._texts:
            return False
        return not text or (self._numeric and text.casefold() == "nan")

    def to_json(self) -> Any:
        """The JSON form, as Python lists, dictionaries and numbers."""
        extras = {name: label for name in ("other", "missing") if (label := getattr(self, name)) is not None}
        if self.bins is not None:
            return {"bins": [None if math.isinf(edge) else edge for edge in self.bins], **extras}
        form: Any = self.size if self.values is None else list(self.values)
        return {"size" if self.values is None else "values": form, **extras} if extras else form

    @classmethod
    def from_json(cls, form: Any) -> "Attribute":
        """An attribute from an integer, a list of values, or an object with size, values or bins."""
        if isinstance(form, Attribute):
            return form
        if isinstance(form, Mapping):
            unknown = sorted(set(map(str, form)) - {"size", "values", "bins", "other", "missing"})
            if unknown:
                raise DomainError(f"unknown key {unknown[0]!r}; known are size, values, bins, other and missing")
            return cls(**dict(form))
        if isinstance(form, Iterable) and not isinstance(form, str):
            return cls(values=form)
        size: Any = form
        return cls(size=size)

    @cached_property
    def _bin_extras(self) -> tuple[Value, ...]:
        return tuple(dict.fromkeys(label for label in (self.other, self.missing) if label is not None))

    @cached_property
    def _bin_labels(self) -> dict[Value, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @cached_property
    def _numeric(self) -> bool:
        return not any(isinstance(value, str) for value in self.values or () if value not in (self.other, self.missing))

    @cached_property
    def _texts(self) -> dict[str, int]:
        return {str(value).strip(): code for code, value in enumerate(self.values or ())}

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        numbered = ((_canonical_number(value), code) for code, value in enumerate(self.values or ()))
        return {number: code for number, code in numbered if number is not None}

    @cached_property
    def _other_code(self) -> int:
        return UNSEEN if self.other is None else self._label_code(self.other)

    @cached_property
    def _missing_code(self) -> int:
        if self.missing is None:
            return self._texts.get("", UNSEEN)
        return self._label_code(self.missing)

    def _label_code(self, label: Value) -> int:
        if self.bins is None:
            return self._plain_code(label)
        return len(self.bins) - 1 + self._bin_extras.index(label)

    def _plain_code(self, value: object) -> int:
        """The code by the declaration alone, before `other` and `missing`."""
        if self.values is not None and not isinstance(value, numbers.Number):
            text = str(value).strip()
            if text in self._texts:
                return self._texts[text]
        number = _as_number(value)
        if number is None:
            return UNSEEN
        if self.values is not None:
            return self._numbers.get(number, UNSEEN)
        if self.bins is not None:
            return self._bin(number)
        return int(number) if number == number // 1 and 0 <= number < self.size else UNSEEN

    def _bin(self, number: Any) -> int:
        assert self.bins is not None
        if number == self.bins[-1]:
            return len(self.bins) - 2
        code = bisect.bisect_right(self.bins, number) - 1
        return code if 0 <= code < len(self.bins) - 1 else UNSEEN


def _checked_size(size: object) -> int:
    if isinstance(size, bool) or not isinstance(size, numbers.Integral):
        raise DomainError(f"size must be an integer, not {size!r}")
    if not 1 <= int(size) <= _MAX_SIZE:
        raise DomainError(f"size ({size}) must be at least 1 and at most {_MAX_SIZE}")
    return int(size)


def _checked_value(value: Any) -> Value:
    value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, str | int | float | bool) or value != value:
        raise DomainError(f"a value must be a text, a number or a truth value, not {value!r}")
    return value


def _checked_values(values: Iterable[Value], extras: list[Value]) -> tuple[Value, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise DomainError("values must be a list")
    listed = [_checked_value(value) for value in values]
    if not listed:
        raise DomainError("values must hold at least one value")
    seen: dict[object, Value] = {}
    for value in listed:
        for key in {str(value).strip(), _canonical_number(value)} - {None}:
            if key in seen:
                raise DomainError(f"values {seen[key]!r} and {value!r} are the same value; keep one")
            seen[key] = value
    for label in map(_checked_value, extras):
        if str(label).strip() not in seen and _canonical_number(label) not in seen:
            listed.append(label)
            seen[str(label).strip()] = label
    return tuple(listed)


def _checked_edges(bins: object) -> tuple[float, ...]:
    if isinstance(bins, str) or not isinstance(bins, Iterable):
        raise DomainError("bins must be a list of ascending edges")
    given = list(bins)
    edges: list[float] = []
    for place, edge in enumerate(given):
        if edge is None:
            edge = -math.inf if place == 0 else math.inf
        if isinstance(edge, bool) or not isinstance(edge, numbers.Real) or edge != edge:
            raise DomainError(f"bins must be numbers, not {edge!r}")
        number = int(edge) if isinstance(edge, numbers.Integral) else float(edge)
        if sys.float_info.max < abs(number) < math.inf:
            raise DomainError(f"bins must be at most {sys.float_info.max:g} or infinite")
        edges.append(number)
    if len(edges) < 2 or any(not a < b for a, b in itertools.pairwise(edges)):
        raise DomainError("bins must hold at least two edges, each larger than the one before")
    return tuple(edges)


def _canonical_number(value: Value) -> Any:
    """The number a declared value stands for: numbers for themselves, texts when plain integers or true and false."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _PLAIN_INTEGER.fullmatch(text):
        return int(text)
    return _TRUTH_WORDS.get(text.casefold())


def _as_number(value: object) -> Any:
    """A data value as a number, or None: numbers as they are, texts parsed, the words true and false as 1 and 0."""
    if isinstance(value, Decimal):
        number = float(value)
        return int(value) if number.is_integer() and value == int(value) else number
    if isinstance(value, numbers.Real):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text.casefold() in _TRUTH_WORDS:
        return _TRUTH_WORDS[text.casefold()]
    if "_" in text:
        return None
    try:
        number = int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        return None
    return None if number != number else number


def _number(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else str(value)
