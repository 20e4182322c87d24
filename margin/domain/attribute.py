"""`Attribute`: the categories of one column, and the code of every possible value."""

import bisect
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .._names import did_you_mean
from .._numbers import shown
from ..errors import DomainError
from .categories import (
    Value,
    checked_bin_labels,
    checked_edges,
    checked_size,
    checked_spellings,
    checked_value,
    checked_values,
    declared_standard,
    declared_text,
    exact_number,
)
from .dates import Dates
from .levels import Levels
from .values import Number, instant, number, standard, written

__all__ = ["UNSEEN", "Attribute", "Value", "exact_number"]

UNSEEN = -1
"""The code of a value for which its attribute has no category."""

_KINDS = ("size", "values", "bins", "dates", "levels")
"""The ways to declare categories; an attribute takes exactly one of them."""

_KEYS = (*_KINDS, "labels", "ordered", "other", "missing", "description")
"""The keys of the JSON form of an attribute."""

_LONGEST = 200
"""Largest number of characters of a description."""


@dataclass(
    frozen=True,
    init=False,
)
class Attribute:
    """The declaration of one column's categories, by exactly one of `size`, `values`, `bins`,
    `dates` and `levels`.

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
        frame. "01" is a different text. A mapping from categories to lists, such as ``{"F": ["f",
        "female"], "M": ["male"]}``, declares further spellings of each category.
    bins
        The categories are intervals [a, b) between these ascending edges. The last interval
        includes its upper edge. The first and the last edge may be -inf and inf (null in JSON).
    labels
        With `bins`, a text for each of them, which stands for it in answers, pages and conditions.
        Without labels a bin is named by its edges, as "[0, 18)". Values of the data are compared
        with the edges, never with the labels. A label that is a number must lie in its bin.
    dates
        The categories are periods of the calendar, such as ``{"from": "2020-01-01", "to":
        "2025-12-31", "by": "month"}``; `by` is "year", "quarter", "month", "week" or "day". They
        are ordered, and a shorter period has the longer ones that it lies within as levels. A time
        with a zone belongs to its day in UTC.
    levels
        The categories are the leaves of a tree, such as ``{"names": ["state", "county"], "paths":
        [["CA", "Alameda"], ["NV", "Clark"]]}``; see `Levels.of` for codes with prefixes and for
        files. Each row holds a leaf. A path that is shorter declares a leaf for rows that know no
        more than its last label.
    ordered
        Whether the order of the categories has a meaning, so that sums over ranges of them may be
        asked. Categories that `other` and `missing` add come last.
    other
        The category of every value that belongs to no other category. Without it such a value is an
        error.
    missing
        The category of nulls, NaN and empty texts. Without it they are an error. If no declared
        value is a text, as with bins, the text "NaN" in capital or small letters is NaN, too.
    description
        What the column says, with the unit of its numbers, such as "net income, EUR a month": up to
        200 printable characters. Pages and published tables show it. It changes no category, so
        attributes that differ only in it are equal.

    Attributes
    ----------
    bin_labels
        The declared labels of the bins; empty if none are declared. `labels` has the labels of all
        categories, declared or not.
    spellings
        For each category its spellings beside its own name; empty if none are declared.

    Raises
    ------
    DomainError
        When the declaration has another form, or two of the values are the same value.
    FileError
        When the file of `levels` cannot be read.

    Examples
    --------
    >>> Attribute(values=["yes", "no"], missing="not asked").labels
    ('yes', 'no', 'not asked')
    >>> Attribute(bins=[0, 18, 65, float("inf")], ordered=True).labels
    ('[0, 18)', '[18, 65)', '[65, inf]')
    >>> Attribute(bins=[0, 18, 65, float("inf")], labels=["child", "adult", "65+"]).code(70)
    2
    >>> Attribute(values={"F": ["f", "female"], "M": ["m", "male"]}).code("female")
    0
    >>> Attribute(dates={"from": "2020-01-01", "to": "2020-06-30", "by": "quarter"}).labels
    ('2020-Q1', '2020-Q2')
    >>> paths = [["CA", "Alameda"], ["CA", "Fresno"], ["NV", "Clark"]]
    >>> place = Attribute(levels={"names": ["state", "county"], "paths": paths})
    >>> place.labels, place.at_level("state").labels
    (('Alameda', 'Fresno', 'Clark'), ('CA', 'NV'))
    """

    size: int
    values: tuple[Value, ...] | None
    bins: tuple[float, ...] | None
    bin_labels: tuple[str, ...]
    dates: Dates | None
    levels: Levels | None
    ordered: bool
    spellings: tuple[tuple[Value, ...], ...]
    other: Value | None
    missing: Value | None
    description: str | None = field(compare=False)

    def __init__(
        self,
        *,
        size: int | None = None,
        values: Iterable[Value] | Mapping[str, Iterable[Value]] | None = None,
        bins: Iterable[float | None] | None = None,
        labels: Iterable[str] | None = None,
        dates: Mapping[str, Any] | Dates | None = None,
        levels: Mapping[str, Any] | Levels | None = None,
        ordered: bool = False,
        other: Value | None = None,
        missing: Value | None = None,
        description: str | None = None,
    ) -> None:
        _check_one_kind((size, values, bins, dates, levels))
        if not isinstance(ordered, bool):
            raise DomainError(f"ordered ({ordered!r}) must be True or False; pass one of these")
        put = object.__setattr__
        put(self, "ordered", ordered or dates is not None)
        put(self, "other", other)
        put(self, "missing", missing)
        put(self, "description", _checked_description(description))
        # The number of categories includes those that `other` and `missing` add.
        extras = [label for label in (other, missing) if label is not None]
        spellings: tuple[tuple[Value, ...], ...] = ()
        if isinstance(values, Mapping):
            values, spellings = checked_spellings(values)
        calendar = None if dates is None else _dates(dates)
        tree = _tree(levels, calendar, extras)
        if tree is not None:
            values = tree.leaves
        elif calendar is not None:
            values = calendar.labels
        listed = None
        if values is not None:
            listed = checked_values(values, _new(extras, spellings))
            size = len(listed)
        edges = checked_edges(bins) if bins is not None else None
        if edges is not None:
            added = dict.fromkeys(map(checked_value, extras))
            size = len(edges) - 1 + len(added)
        put(self, "size", checked_size(size))
        put(self, "values", listed)
        put(self, "bins", edges)
        put(self, "bin_labels", self._named(labels))
        put(self, "dates", calendar)
        put(self, "levels", tree)
        put(self, "spellings", spellings)
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
        if self.bin_labels:
            return (*self.bin_labels, *self._bin_extras)
        pairs = list(itertools.pairwise(self.bins))
        intervals = [f"[{_number(a)}, {_number(b)})" for a, b in pairs]
        # The last interval includes its upper edge.
        intervals[-1] = f"{intervals[-1][:-1]}]"
        return (*intervals, *self._bin_extras)

    @cached_property
    def captions(self) -> tuple[str, ...]:
        """The categories as a reader would write them, for pictures and pages.

        Bins without labels are texts such as "18 to under 65" and "65 or more"; all others are
        their labels.

        Examples
        --------
        >>> Attribute(bins=[float("-inf"), 18, 65, 120, float("inf")]).captions
        ('under 18', '18 to under 65', '65 to under 120', '120 or more')
        """
        if self.bins is None or self.bin_labels:
            return tuple(map(str, self.labels))
        pairs = itertools.pairwise(self.bins)
        intervals = [_interval_caption(low, high) for low, high in pairs]
        # The last interval includes its upper edge.
        if not math.isinf(self.bins[-1]):
            intervals[-1] = intervals[-1].replace("to under", "to")
        return (*intervals, *map(str, self._bin_extras))

    @property
    def names(self) -> tuple[Value, ...]:
        """The categories as tables have them that people read or download: bins as their captions,
        so that these tables can be joined, and all others as their labels.

        Examples
        --------
        >>> Attribute(bins=[0, 18, float("inf")]).names
        ('0 to under 18', '18 or more')
        """
        return self.labels if self.bins is None else self.captions

    @property
    def kind(self) -> str:
        """How the categories are declared, in words, such as "values" or "dates by month"."""
        if self.dates is not None:
            return f"dates by {self.dates.by}"
        if self.levels is not None:
            return f"levels {' > '.join(self.levels.names)}"
        words = "integers"
        if self.bins is not None:
            words = "bins"
        elif self.values is not None:
            words = "values"
        return f"{words}, ordered" if self.ordered else words

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
            code = self._bin_names.get(value)
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

    def name(self, code: int) -> Value:
        """The category with a given code as tables have it; see `names`.

        Examples
        --------
        >>> Attribute(bins=[0, 18, float("inf")]).name(1)
        '18 or more'
        """
        return self.label(code) if self.bins is None else self.captions[code]

    def at_level(self, name: str) -> "Attribute":
        """The attribute whose categories are the nodes of one of the levels.

        Its codes are `levels.groups` of the leaves' codes. `missing` stays if it is a node.

        Raises
        ------
        DomainError
            When the attribute has no level of this name.
        """
        level = self.level_index(name)
        if level not in self._nodes:
            assert self.levels is not None
            labels = self.levels.labels[level]
            missing = self.missing if self.missing in labels else None
            self._nodes[level] = Attribute(
                values=labels,
                ordered=self.ordered,
                missing=missing,
                description=self.description,
            )
        return self._nodes[level]

    def level_index(self, name: str) -> int:
        """The position of one of the levels, counted from the top.

        Raises
        ------
        DomainError
            When the attribute has no level of this name.
        """
        if self.levels is None:
            raise DomainError(
                f"there is no level {name!r}, because the attribute declares no levels; ask for the"
                " attribute itself, or declare levels"
            )
        return self.levels.index(name)

    @cached_property
    def _nodes(self) -> dict[int, "Attribute"]:
        """The attributes of levels that were asked for, by the positions of the levels."""
        return {}

    @cached_property
    def is_by_day(self) -> bool:
        """Whether the categories are dates, and every time has the code of its day: `other` and
        `missing` do not name a certain time."""
        extras = [label for label in (self.other, self.missing) if label is not None]
        named = any(instant(declared_text(label)) is not None for label in extras)
        return self.dates is not None and not named

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
        """Whether a value is missing: a null, NaN or an empty text. If no declared value is a text,
        the text "nan" is NaN, too: CSV files and some databases write NaN so."""
        try:
            return self._stands_for_missing(written(value))
        except TypeError:
            return False

    def to_json(self) -> Any:
        """The JSON form of the declaration, as Python lists, dictionaries and numbers."""
        roles = {
            "other": self.other,
            "missing": self.missing,
            "description": self.description,
        }
        extras: dict[str, Any] = {role: it for role, it in roles.items() if it is not None}
        if self.ordered and self.dates is None:
            extras = {"ordered": True, **extras}
        if self.bins is not None:
            edges = [None if math.isinf(edge) else edge for edge in self.bins]
            labels = {"labels": list(self.bin_labels)} if self.bin_labels else {}
            return {"bins": edges, **labels, **extras}
        if self.dates is not None:
            return {"dates": self.dates.to_json(), **extras}
        if self.levels is not None:
            return {"levels": self.levels.to_json(), **extras}
        if self.spellings:
            pairs = zip(self.labels, self.spellings, strict=False)
            return {"values": {str(name): list(others) for name, others in pairs}, **extras}
        if self.values is not None:
            values = list(self.values)
            return {"values": values, **extras} if extras else values
        return {"size": self.size, **extras} if extras else self.size

    @classmethod
    def from_json(cls, form: Any) -> "Attribute":
        """An attribute from its JSON form: an integer, a list of values, or an object with the key
        size, values, bins, dates or levels."""
        if isinstance(form, Attribute):
            return form
        if isinstance(form, Mapping):
            unknown = sorted(set(map(str, form)) - set(_KEYS))
            if unknown:
                inside = unknown[0] in ("from", "to", "by")
                hint = f"; {unknown[0]!r} belongs inside dates" if inside else ""
                raise DomainError(
                    f"unknown key {unknown[0]!r}; the keys of an attribute are {', '.join(_KEYS)}, "
                    f"so use one of these{hint or did_you_mean(unknown[0], _KEYS)}"
                )
            return cls(**dict(form))
        if isinstance(form, Iterable) and not isinstance(form, str):
            return cls(values=form)
        size: Any = form
        return cls(size=size)

    def _named(self, labels: Iterable[str] | None) -> tuple[str, ...]:
        """Check the declared labels of the bins."""
        if labels is None:
            return ()
        if self.bins is None:
            raise DomainError(
                "labels are the names of bins, but this attribute declares no bins; leave labels "
                "out, and write the names of other categories as values"
            )
        found = checked_bin_labels(labels, len(self.bins) - 1, list(self._bin_extras))
        for code, label in enumerate(found):
            known = number(label)
            # Otherwise a condition with this number would have two meanings.
            if known is not None and self._bin(known) != code:
                low, high = self.bins[code], self.bins[code + 1]
                raise DomainError(
                    f"a label that is a number must lie in its own bin, but the label {label!r} "
                    f"of the bin {_interval_caption(low, high)} does not; choose a text such as "
                    f"{f'group {label}'!r}"
                )
        return found

    @cached_property
    def _bin_extras(self) -> tuple[Value, ...]:
        """The categories that `other` and `missing` add to bins, each once."""
        labels = [label for label in (self.other, self.missing) if label is not None]
        return tuple(dict.fromkeys(labels))

    @cached_property
    def _bin_names(self) -> dict[Value, int]:
        """The code of each bin by its label and by its caption."""
        captions = {caption: code for code, caption in enumerate(self.captions)}
        return captions | {label: code for code, label in enumerate(self.labels)}

    @cached_property
    def _numeric(self) -> bool:
        """Whether no declared value is a text, apart from `other` and `missing`."""
        extras = (self.other, self.missing)
        declared = [value for value in self.values or () if value not in extras]
        return not any(isinstance(value, str) for value in declared)

    @cached_property
    def _texts(self) -> dict[str, int]:
        """The code of each declared value and spelling by its text."""
        texts = {declared_text(value): code for code, value in enumerate(self.values or ())}
        for code, others in enumerate(self.spellings):
            texts.update({declared_text(value): code for value in others})
        return texts

    @cached_property
    def _standards(self) -> dict[str, int]:
        """The code of each declared number, truth value or date by its standard form."""
        forms = ((declared_standard(text), code) for text, code in self._texts.items())
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
            return self._text_code(declared_text(label))
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
            code = self._standards.get(standard(text) or "")
            if code is None and self.dates is not None:
                code = self.dates.code(text)
            return UNSEEN if code is None else code
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


def _number(value: float) -> str:
    """A number for the label of an interval; whole numbers have no decimal point."""
    if math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)


def _interval_caption(
    low: float,
    high: float,
) -> str:
    """The interval [low, high) in words."""
    if math.isinf(low) and math.isinf(high):
        return "any number"
    if math.isinf(low):
        return f"under {_number(high)}"
    if math.isinf(high):
        return f"{_number(low)} or more"
    return f"{_number(low)} to under {_number(high)}"


def _check_one_kind(given: tuple[object, ...]) -> None:
    """Refuse a declaration that does not have exactly one of the kinds."""
    named = [name for name, value in zip(_KINDS, given, strict=True) if value is not None]
    if len(named) != 1:
        found = f"{' and '.join(named)} are" if named else "none of them is"
        raise DomainError(
            f"an attribute takes exactly one of {', '.join(_KINDS[:-1])} and {_KINDS[-1]}, but "
            f"{found} given; give exactly one"
        )


def _checked_description(given: str | None) -> str | None:
    """Check a description."""
    if given is None:
        return None
    is_text = isinstance(given, str) and given.strip() and given.isprintable()
    if not is_text or len(given) > _LONGEST:
        raise DomainError(
            f"a description must be a text of 1 to {_LONGEST} printable characters in one line, "
            f"but it is {shown(given)}; correct it, or leave it out"
        )
    return given


def _dates(form: Mapping[str, Any] | Dates) -> Dates:
    """The periods that a form declares."""
    return form if isinstance(form, Dates) else Dates.of(form)


def _tree(
    levels: Mapping[str, Any] | Levels | None,
    dates: Dates | None,
    extras: list[Value],
) -> Levels | None:
    """The tree that is declared, or that larger periods of the calendar form; None for neither."""
    if levels is not None:
        return Levels.of(levels, extras)
    if dates is not None and dates.level_names:
        return Levels.of({"names": dates.level_names, "paths": dates.paths}, extras)
    return None


def _new(extras: list[Value], spellings: tuple[tuple[Value, ...], ...]) -> list[Value]:
    """The categories of `other` and `missing` that are not spellings of another one."""
    texts = {declared_text(value) for others in spellings for value in others}
    return [label for label in extras if declared_text(label) not in texts]
