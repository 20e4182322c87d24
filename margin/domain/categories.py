"""Checks of declared categories: sizes, values, spellings and bins; how values are compared."""

import datetime
import itertools
import math
import numbers
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import DomainError
from .values import Number, instant, is_plain, number, standard, written

__all__ = [
    "Value",
    "checked_bin_labels",
    "checked_edges",
    "checked_size",
    "checked_spellings",
    "checked_value",
    "checked_values",
    "declared_standard",
    "declared_text",
    "exact_number",
    "value_keys",
]

Value = str | int | float | bool

_MAX_SIZE = 2**31 - 1
"""The largest number of categories of an attribute."""


_DATES = (
    'declare periods of the calendar by dates in place of bins, as in {"dates": {"from": '
    '"2024-01-01", "to": "2025-12-31", "by": "quarter"}}; by is year, quarter, month, week or day'
)
"""What to do about edges of bins that are dates."""


def exact_number(value: float) -> Number:
    """The exact value of a declared number in decimal notation: 0.1 is one tenth.

    Examples
    --------
    >>> exact_number(0.1), exact_number(18), exact_number(2.0)
    (Decimal('0.1'), 18, 2)
    """
    known = number(declared_text(value))
    assert known is not None
    return known


def checked_size(size: object) -> int:
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


def checked_value(value: Any) -> Value:
    """Check a declared value; return it as a plain Python object."""
    value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, str | int | float | bool) or value != value:
        raise DomainError(
            f"a declared value must be a text, a number or a truth value, but it is {value!r}; "
            "convert it to one of these"
        )
    return value


def checked_values(values: Iterable[Value], extras: list[Value]) -> tuple[Value, ...]:
    """Check the declared values; return them, followed by the extra categories that are new."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise DomainError(
            f'values must be a list, such as ["yes", "no"]; it is of type {type(values).__name__}, '
            "so put the values into a list"
        )
    listed = [checked_value(value) for value in values]
    if not listed:
        raise DomainError(
            "values must hold at least one value, but the list is empty; list the values that a "
            "row may have"
        )
    seen: dict[tuple[str, str], Value] = {}
    for value in listed:
        for key in value_keys(value):
            if key in seen:
                raise DomainError(
                    f"declared values must differ, but {seen[key]!r} and {value!r} are the same "
                    "value; keep one of them"
                )
        seen.update(dict.fromkeys(value_keys(value), value))
    for label in map(checked_value, extras):
        if not value_keys(label) & seen.keys():
            listed.append(label)
            seen.update(dict.fromkeys(value_keys(label), label))
    return tuple(listed)


def checked_spellings(
    spellings: Mapping[Any, Any],
) -> tuple[list[Value], tuple[tuple[Value, ...], ...]]:
    """Check categories with several spellings each; return the categories, and for each the
    spellings beside its own name."""
    seen: dict[tuple[str, str], Value] = {}
    others = []
    for name, given in spellings.items():
        if not isinstance(name, str) or isinstance(given, str) or not isinstance(given, Iterable):
            raise DomainError(
                "values with several spellings must be a mapping from the name of each category, a "
                'text, to a list, such as {"F": ["f", "female"], "M": []}, but it holds '
                f"{name!r} and {type(given).__name__}; write it in this form"
            )
        own = tuple(map(checked_value, given))
        for key in sorted(set().union(*map(value_keys, (name, *own)))):
            if key in seen:
                raise DomainError(
                    f"each spelling must belong to one category, but {key[1]!r} belongs to "
                    f"{seen[key]!r} and to {name!r}; remove it from one of them"
                )
            seen[key] = name
        others.append(own)
    return list(spellings), tuple(others)


def value_keys(value: Value) -> set[tuple[str, str]]:
    """The keys by which a declared value is found: its text, and its standard form if it has
    one."""
    text = declared_text(value)
    keys = {("text", text)}
    form = declared_standard(text)
    if form is not None:
        keys.add(("standard", form))
    return keys


def checked_edges(bins: object) -> tuple[float, ...]:
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
            is_date = isinstance(edge, datetime.date) or (
                isinstance(edge, str) and instant(edge) is not None
            )
            raise DomainError(
                "each edge of bins must be a number, or None for an open end, but one of them is "
                f"{edge!r}; {_DATES if is_date else 'give a number for it'}"
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


def checked_bin_labels(
    labels: object,
    bins: int,
    extras: list[Value],
) -> tuple[str, ...]:
    """Check the declared labels of bins; return them as plain texts.

    Parameters
    ----------
    labels
        What was declared.
    bins
        The number of bins.
    extras
        The categories that `other` and `missing` add to the bins.
    """
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise DomainError(
            'labels must be a list with a text for each bin, such as ["child", "adult"]; it is of '
            f"type {type(labels).__name__}, so put the texts into a list"
        )
    given = list(labels)
    if len(given) != bins:
        raise DomainError(
            f"labels must hold one text for each bin, but there are {bins} bins (one fewer than "
            f"edges) and {len(given)} labels; give {bins} labels"
        )
    seen: dict[tuple[str, str], Value] = {}
    for label in map(checked_value, extras):
        seen.update(dict.fromkeys(value_keys(label), label))
    found = []
    for label in given:
        text = written(label) if isinstance(label, str) else None
        if not text:
            raise DomainError(
                f"each label of a bin must be a text that is not empty, but one of them is "
                f"{label!r}; give a text for it"
            )
        for key in value_keys(text):
            if key in seen:
                raise DomainError(
                    f"the labels of bins must differ from each other and from other and missing, "
                    f"but {text!r} and {seen[key]!r} are the same label; rename one of them"
                )
        seen.update(dict.fromkeys(value_keys(text), text))
        found.append(text)
    return tuple(found)


def declared_text(value: Value) -> str:
    """The text of a declared value, which is never missing."""
    text = written(value)
    assert text is not None
    return text


def declared_standard(text: str) -> str | None:
    """The standard form of a declared text. A text such as "007" has none: it may be a code."""
    return standard(text) if is_plain(text) else None
