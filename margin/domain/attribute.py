"""`Attribute`: what one column may hold, as a total map from values to codes."""

import bisect
import itertools
import math
import numbers
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..errors import DomainError
from .values import Number, is_plain, number, standard, written

__all__ = ["UNSEEN", "Attribute", "Value", "exact_number"]

Value = str | int | float | bool

UNSEEN = -1
"""The code of a value that its attribute does not provide for."""

_MAX_SIZE = 2**31 - 1


@dataclass(frozen=True, init=False)
class Attribute:
    """The categories of one column: exactly one of `size`, `values` and `bins`.

    `other` and `missing` name a category that is listed, or else add one (`size` cannot grow: there
    they must be one of the integers).

    Parameters
    ----------
    size
        The column holds the integers 0 ... size - 1.
    values
        The column holds these values. A value is compared by its text (see `values.written`), and
        numbers, truth values and dates by what they stand for: 1, 1.0, "1", "1.0" and True are the
        same value, so that a table means the same as CSV, as Parquet and as a data frame. "01" is a
        text of its own.
    bins
        Ascending edges of intervals [a, b), the last one closed. -inf and inf (null in JSON) may
        stand at the ends.
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
                raise DomainError(
                    f"{role}={label!r} is not one of the integers 0 ... {self.size - 1}"
                )

    @cached_property
    def labels(self) -> tuple[Value, ...]:
        """The categories in the order of their codes: values, integers, or intervals written
        out."""
        if self.values is not None:
            return self.values
        if self.bins is None:
            return tuple(range(self.size))
        pairs = list(itertools.pairwise(self.bins))
        closing = [")"] * (len(pairs) - 1) + ["]"]
        intervals = [
            f"[{_number(a)}, {_number(b)}{end}" for (a, b), end in zip(pairs, closing, strict=True)
        ]
        return (*intervals, *self._bin_extras)

    def code(self, value: object) -> int:
        """The code of a value, 0 ... size - 1, or `UNSEEN` when the attribute does not provide for
        it.

        A function of the value's text alone (see `values.written`): `code(x) == code(str(x))` for
        every number x.
        """
        try:
            text = written(value)
        except TypeError:
            return self.other_code
        if self._stands_for_missing(text):
            return self.missing_code
        code = self._text_code(text)
        return self.other_code if code == UNSEEN else code

    def category(self, value: object) -> int:
        """The code of a category that is named by its label, by a value in it, or by None for the
        missing; `UNSEEN` for any other, even where the attribute has a category for those."""
        if (
            self.bins is not None
            and isinstance(value, str | int | float)
            and value in self._bin_labels
        ):
            return self._bin_labels[value]
        try:
            text = written(value)
        except TypeError:
            return UNSEEN
        return self.missing_code if self._stands_for_missing(text) else self._text_code(text)

    def label(self, code: int) -> Value:
        """The category of a code; see `labels`."""
        return code if self.values is None and self.bins is None else self.labels[code]

    @cached_property
    def other_code(self) -> int:
        """The code of every value that is not provided for; `UNSEEN` without `other`."""
        return UNSEEN if self.other is None else self._label_code(self.other)

    @cached_property
    def missing_code(self) -> int:
        """The code of a missing value; `UNSEEN` without `missing`, unless the empty text is
        declared."""
        if self.missing is None:
            return self._texts.get("", UNSEEN)
        return self._label_code(self.missing)

    def is_missing(self, value: object) -> bool:
        """Whether a value is a null, NaN or an empty text; where numbers are declared, also the
        text "nan"."""
        try:
            return self._stands_for_missing(written(value))
        except TypeError:
            return False

    def to_json(self) -> Any:
        """The JSON form, as Python lists, dictionaries and numbers."""
        extras = {
            name: label
            for name in ("other", "missing")
            if (label := getattr(self, name)) is not None
        }
        if self.bins is not None:
            return {"bins": [None if math.isinf(edge) else edge for edge in self.bins], **extras}
        form: Any = self.size if self.values is None else list(self.values)
        return {"size" if self.values is None else "values": form, **extras} if extras else form

    @classmethod
    def from_json(cls, form: Any) -> "Attribute":
        """An attribute from an integer, a list of values, or an object with size, values or
        bins."""
        if isinstance(form, Attribute):
            return form
        if isinstance(form, Mapping):
            unknown = sorted(set(map(str, form)) - {"size", "values", "bins", "other", "missing"})
            if unknown:
                raise DomainError(
                    f"unknown key {unknown[0]!r}; known are size, values, bins, other and missing"
                )
            return cls(**dict(form))
        if isinstance(form, Iterable) and not isinstance(form, str):
            return cls(values=form)
        size: Any = form
        return cls(size=size)

    @cached_property
    def _bin_extras(self) -> tuple[Value, ...]:
        return tuple(
            dict.fromkeys(label for label in (self.other, self.missing) if label is not None)
        )

    @cached_property
    def _bin_labels(self) -> dict[Value, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @cached_property
    def _numeric(self) -> bool:
        return not any(
            isinstance(value, str)
            for value in self.values or ()
            if value not in (self.other, self.missing)
        )

    @cached_property
    def _texts(self) -> dict[str, int]:
        """The code of each declared value by its text."""
        return {_declared_text(value): code for code, value in enumerate(self.values or ())}

    @cached_property
    def _standards(self) -> dict[str, int]:
        """The code of each declared number, truth value or date by its standard form."""
        forms = ((_standard(text), code) for text, code in self._texts.items())
        return {form: code for form, code in forms if form is not None}

    @cached_property
    def edges(self) -> list[Number]:
        """The edges of the bins as exact numbers."""
        return [exact_number(edge) for edge in self.bins or ()]

    def _stands_for_missing(self, text: str | None) -> bool:
        if text is None or text in self._texts:
            return text is None
        return not text or (self._numeric and text.casefold() == "nan")

    def _label_code(self, label: Value) -> int:
        if self.bins is None:
            return self._text_code(_declared_text(label))
        return len(self.bins) - 1 + self._bin_extras.index(label)

    def _text_code(self, text: str | None) -> int:
        """The code by the declaration alone, before `other` and `missing`."""
        if text is None:
            return UNSEEN
        if self.values is not None:
            code = self._texts.get(text)
            return self._standards.get(standard(text) or "", UNSEEN) if code is None else code
        known = number(text)
        if known is None:
            return UNSEEN
        if self.bins is not None:
            return self._bin(known)
        return known if isinstance(known, int) and 0 <= known < self.size else UNSEEN

    def _bin(self, known: Number) -> int:
        if known == self.edges[-1]:
            return len(self.edges) - 2
        code = bisect.bisect_right(self.edges, known) - 1
        return code if 0 <= code < len(self.edges) - 1 else UNSEEN


def exact_number(value: float) -> Number:
    """A declared number as it is written: 0.1 is one tenth.

    Examples
    --------
    >>> exact_number(0.1), exact_number(18), exact_number(2.0)
    (Decimal('0.1'), 18, 2)
    """
    known = number(_declared_text(value))
    assert known is not None
    return known


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
    seen: dict[tuple[str, str], Value] = {}
    for value in listed:
        for key in _keys(value):
            if key in seen:
                raise DomainError(
                    f"values {seen[key]!r} and {value!r} are the same value; keep one"
                )
        seen.update(dict.fromkeys(_keys(value), value))
    for label in map(_checked_value, extras):
        if not _keys(label) & seen.keys():
            listed.append(label)
            seen.update(dict.fromkeys(_keys(label), label))
    return tuple(listed)


def _keys(value: Value) -> set[tuple[str, str]]:
    """By what a declared value is found: its text, and its standard form if it has one."""
    text = _declared_text(value)
    form = _standard(text)
    return {("text", text)} | (set() if form is None else {("standard", form)})


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


def _declared_text(value: Value) -> str:
    text = written(value)
    assert text is not None
    return text


def _standard(text: str) -> str | None:
    """The standard form of a declared text; None for what may be a code, such as "007"."""
    return standard(text) if is_plain(text) else None


def _number(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else str(value)
