"""`Attribute`: the categories of one column, and the code of every possible value."""

import bisect
import itertools
import math
import numbers
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .._names import did_you_mean
from ..errors import DomainError
from .values import Number, is_plain, number, standard, written

__all__ = ["UNSEEN", "Attribute", "Value", "exact_number"]

Value = str | int | float | bool

UNSEEN = -1
"""The code of a value for which its attribute has no category."""

_KEYS = ("size", "values", "bins", "other", "missing")
"""The keys of the JSON form of an attribute."""

_MAX_SIZE = 2**31 - 1
"""The largest number of categories of an attribute."""


@dataclass(
    frozen=True,
    init=False,
)
class Attribute:
    """The declaration of one column's categories, by exactly one of `size`, `values` and `bins`.

    `other` and `missing` name one of these categories or add a category. With `size` they cannot
    add one, so they must be one of the integers.

    Parameters
    ----------
    size
        The categories are the integers 0 ... size - 1.
    values
        The categories are these values. Texts are compared as they are (see `values.written`);
        numbers, truth values and dates are compared by their meaning. So 1, 1.0, "1", "1.0" and
        True are the same value, and a table has the same codes as CSV, as Parquet and as a data
        frame. "01" is a different text.
    bins
        The categories are intervals [a, b) between these ascending edges. The last interval
        includes its upper edge. The first and the last edge may be -inf and inf (null in JSON).
    other
        The category of every value that belongs to no other category. Without it such a value is an
        error.
    missing
        The category of nulls, NaN and empty texts. Without it they are an error.

    Raises
    ------
    DomainError
        When the declaration has another form, or two of the values are the same value.

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
        given = {"size": size, "values": values, "bins": bins}
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            found = f"{' and '.join(named)} are" if named else "none of them is"
            raise DomainError(
                f"an attribute takes exactly one of size, values and bins, but {found} given; give "
                "exactly one"
            )
        # The number of categories includes those that `other` and `missing` add.
        extras = [label for label in (other, missing) if label is not None]
        listed = _checked_values(values, extras) if values is not None else None
        edges = _checked_edges(bins) if bins is not None else None
        if listed is not None:
            size = len(listed)
        elif edges is not None:
            added = dict.fromkeys(map(_checked_value, extras))
            size = len(edges) - 1 + len(added)
        put = object.__setattr__
        put(self, "size", _checked_size(size))
        put(self, "values", listed)
        put(self, "bins", edges)
        put(self, "other", other)
        put(self, "missing", missing)
        for role, label in (("other", other), ("missing", missing)):
            if label is not None and self._label_code(label) == UNSEEN:
                raise DomainError(
                    f"with size, {role} must be one of the integers 0 ... {self.size - 1}, but it "
                    f"is {label!r}; name one of these integers"
                )

    @cached_property
    def labels(self) -> tuple[Value, ...]:
        """The categories in the order of their codes: values, integers, or texts such as
        "[0, 18)"."""
        if self.values is not None:
            return self.values
        if self.bins is None:
            return tuple(range(self.size))
        pairs = list(itertools.pairwise(self.bins))
        intervals = [f"[{_number(a)}, {_number(b)})" for a, b in pairs]
        # The last interval includes its upper edge.
        intervals[-1] = f"{intervals[-1][:-1]}]"
        return (*intervals, *self._bin_extras)

    def code(self, value: object) -> int:
        """The code of a value, 0 ... size - 1, or `UNSEEN` if the attribute has no category for it.

        The code depends on the value's text alone (see `values.written`): `code(x) == code(str(x))`
        for every number x.
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
        """The code of the category that a rule or a query names: by its label, by a value in it, or
        by None for the missing one. `UNSEEN` if it names no category; `other` does not apply
        here."""
        if self.bins is not None and isinstance(value, str | int | float):
            code = self._bin_labels.get(value)
            if code is not None:
                return code
        try:
            text = written(value)
        except TypeError:
            return UNSEEN
        if self._stands_for_missing(text):
            return self.missing_code
        return self._text_code(text)

    def label(self, code: int) -> Value:
        """The category with a given code; see `labels`."""
        if self.values is None and self.bins is None:
            return code
        return self.labels[code]

    @cached_property
    def other_code(self) -> int:
        """The code of every value that belongs to no other category; `UNSEEN` without `other`."""
        return UNSEEN if self.other is None else self._label_code(self.other)

    @cached_property
    def missing_code(self) -> int:
        """The code of a missing value. Without `missing` it is the code of the empty text if that
        is declared, otherwise `UNSEEN`."""
        if self.missing is None:
            return self._texts.get("", UNSEEN)
        return self._label_code(self.missing)

    def is_missing(self, value: object) -> bool:
        """Whether a value is missing: a null, NaN or an empty text. If all declared values are
        numbers, the text "nan" is missing too."""
        try:
            return self._stands_for_missing(written(value))
        except TypeError:
            return False

    def to_json(self) -> Any:
        """The JSON form of the declaration, as Python lists, dictionaries and numbers."""
        roles = {"other": self.other, "missing": self.missing}
        extras = {role: label for role, label in roles.items() if label is not None}
        if self.bins is not None:
            edges = [None if math.isinf(edge) else edge for edge in self.bins]
            return {"bins": edges, **extras}
        if self.values is not None:
            values = list(self.values)
            return {"values": values, **extras} if extras else values
        return {"size": self.size, **extras} if extras else self.size

    @classmethod
    def from_json(cls, form: Any) -> "Attribute":
        """An attribute from its JSON form: an integer, a list of values, or an object with the key
        size, values or bins."""
        if isinstance(form, Attribute):
            return form
        if isinstance(form, Mapping):
            unknown = sorted(set(map(str, form)) - set(_KEYS))
            if unknown:
                raise DomainError(
                    f"unknown key {unknown[0]!r}; the keys of an attribute are {', '.join(_KEYS)}, "
                    f"so use one of these{did_you_mean(unknown[0], _KEYS)}"
                )
            return cls(**dict(form))
        if isinstance(form, Iterable) and not isinstance(form, str):
            return cls(values=form)
        size: Any = form
        return cls(size=size)

    @cached_property
    def _bin_extras(self) -> tuple[Value, ...]:
        """The categories that `other` and `missing` add to bins, each once."""
        labels = [label for label in (self.other, self.missing) if label is not None]
        return tuple(dict.fromkeys(labels))

    @cached_property
    def _bin_labels(self) -> dict[Value, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @cached_property
    def _numeric(self) -> bool:
        """Whether no declared value is a text, apart from `other` and `missing`."""
        extras = (self.other, self.missing)
        declared = [value for value in self.values or () if value not in extras]
        return not any(isinstance(value, str) for value in declared)

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
        """Whether a value with this text is missing; None is the text of a null."""
        if text is None:
            return True
        if text in self._texts:
            return False
        return not text or (self._numeric and text.casefold() == "nan")

    def _label_code(self, label: Value) -> int:
        """The code of the category `other` or `missing`."""
        if self.bins is None:
            return self._text_code(_declared_text(label))
        return len(self.bins) - 1 + self._bin_extras.index(label)

    def _text_code(self, text: str | None) -> int:
        """Find the declared category of a text; `UNSEEN` if none: `other` and `missing` do not
        apply."""
        if text is None:
            return UNSEEN
        if self.values is not None:
            code = self._texts.get(text)
            if code is not None:
                return code
            return self._standards.get(standard(text) or "", UNSEEN)
        known = number(text)
        if known is None:
            return UNSEEN
        if self.bins is not None:
            return self._bin(known)
        if isinstance(known, int) and 0 <= known < self.size:
            return known
        return UNSEEN

    def _bin(self, known: Number) -> int:
        """The code of the interval that contains a number, or `UNSEEN`."""
        # The last interval includes its upper edge.
        if known == self.edges[-1]:
            return len(self.edges) - 2
        code = bisect.bisect_right(self.edges, known) - 1
        return code if 0 <= code < len(self.edges) - 1 else UNSEEN


def exact_number(value: float) -> Number:
    """The exact value of a declared number in decimal notation: 0.1 is one tenth.

    Examples
    --------
    >>> exact_number(0.1), exact_number(18), exact_number(2.0)
    (Decimal('0.1'), 18, 2)
    """
    known = number(_declared_text(value))
    assert known is not None
    return known


def _checked_size(size: object) -> int:
    """Check a declared number of categories; return it as a plain int."""
    if isinstance(size, bool) or not isinstance(size, numbers.Integral):
        raise DomainError(
            f"size ({size!r}) must be a whole number from 1 to {_MAX_SIZE}; give the number of "
            "categories"
        )
    if not 1 <= int(size) <= _MAX_SIZE:
        raise DomainError(
            f"size ({size}) must be a whole number from 1 to {_MAX_SIZE}; give the number of "
            "categories"
        )
    return int(size)


def _checked_value(value: Any) -> Value:
    """Check a declared value; return it as a plain Python object."""
    value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, str | int | float | bool) or value != value:
        raise DomainError(
            f"a declared value must be a text, a number or a truth value, but it is {value!r}; "
            "convert it to one of these"
        )
    return value


def _checked_values(values: Iterable[Value], extras: list[Value]) -> tuple[Value, ...]:
    """Check the declared values; return them, followed by the extra categories that are new."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise DomainError(
            f'values must be a list, such as ["yes", "no"]; it is of type {type(values).__name__}, '
            "so put the values into a list"
        )
    listed = [_checked_value(value) for value in values]
    if not listed:
        raise DomainError(
            "values must hold at least one value, but the list is empty; list the values that a "
            "row may have"
        )
    seen: dict[tuple[str, str], Value] = {}
    for value in listed:
        for key in _keys(value):
            if key in seen:
                raise DomainError(
                    f"declared values must differ, but {seen[key]!r} and {value!r} are the same "
                    "value; keep one of them"
                )
        seen.update(dict.fromkeys(_keys(value), value))
    for label in map(_checked_value, extras):
        if not _keys(label) & seen.keys():
            listed.append(label)
            seen.update(dict.fromkeys(_keys(label), label))
    return tuple(listed)


def _keys(value: Value) -> set[tuple[str, str]]:
    """The keys by which a declared value is found: its text, and its standard form if it has
    one."""
    text = _declared_text(value)
    keys = {("text", text)}
    form = _standard(text)
    if form is not None:
        keys.add(("standard", form))
    return keys


def _checked_edges(bins: object) -> tuple[float, ...]:
    """Check the declared edges of bins; return them as plain numbers, with infinity for None."""
    if isinstance(bins, str) or not isinstance(bins, Iterable):
        raise DomainError(
            "bins must be a list of ascending edges, such as [0, 18, 65]; it is of type "
            f"{type(bins).__name__}, so put the edges into a list"
        )
    given = list(bins)
    edges: list[float] = []
    for place, edge in enumerate(given):
        if edge is None:
            edge = -math.inf if place == 0 else math.inf
        if isinstance(edge, bool) or not isinstance(edge, numbers.Real) or edge != edge:
            raise DomainError(
                "each edge of bins must be a number, or None for an open end, but one of them is "
                f"{edge!r}; give a number for it"
            )
        number = int(edge) if isinstance(edge, numbers.Integral) else float(edge)
        if sys.float_info.max < abs(number) < math.inf:
            raise DomainError(
                f"each edge of bins must be from {-sys.float_info.max:g} to "
                f"{sys.float_info.max:g}, or infinite, but one is larger in absolute value; use "
                "inf or -inf for it"
            )
        edges.append(number)
    if len(edges) < 2:
        raise DomainError(
            f"bins must hold at least two edges, but the number of edges is {len(edges)}; give the "
            "lower and the upper edge of each bin"
        )
    for lower, upper in itertools.pairwise(edges):
        if not lower < upper:
            raise DomainError(
                f"each edge of bins must be larger than the one before, but {upper} follows "
                f"{lower}; sort the edges and name each once"
            )
    return tuple(edges)


def _declared_text(value: Value) -> str:
    """The text of a declared value, which is never missing."""
    text = written(value)
    assert text is not None
    return text


def _standard(text: str) -> str | None:
    """The standard form of a declared text. A text such as "007" has none: it may be a code."""
    return standard(text) if is_plain(text) else None


def _number(value: float) -> str:
    """A number for the label of an interval; whole numbers have no decimal point."""
    if math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)
