"""`chosen_codes`: the codes that a condition on attributes selects, such as `{"sex": "F"}`."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._names import did_you_mean
from ..errors import DomainError
from .attribute import UNSEEN, Attribute, exact_number
from .domain import Domain
from .level_views import attribute_at, split_level
from .values import number, written

__all__ = ["Chosen", "chosen_codes", "codes_of", "whole_labels"]

Chosen = dict[str, tuple[int, ...]]
"""The codes that are selected, ascending, by attribute. Other attributes are not restricted."""

_LISTED = 12
"""Largest number of categories or edges that a message names."""


def chosen_codes(domain: Domain, where: Mapping[str, Any]) -> Chosen:
    """Find the codes that a condition selects.

    Parameters
    ----------
    domain
        The attributes.
    where
        For some attributes the categories of the rows to count: a category, a list, tuple or set of
        categories, or a `range`. A range stands for the whole numbers in it if all declared values
        of the attribute are whole numbers, and for codes otherwise. For an attribute with `bins` it
        is a label, a list or set of labels, or a pair (low, high) of edges, for the bins between
        them; None is an open end, and the last bin includes its upper edge. For one with `dates` it
        is a period such as "2020-01"; a date within it is refused. "place@state" names a level of
        an attribute; all conditions on an attribute and its levels must hold.

    Returns
    -------
    Chosen
        An attribute all of whose categories are selected is left out, since it restricts nothing.
        The attributes are in the order of the domain.

    Raises
    ------
    DomainError
        When an attribute or a level is unknown, a category is not declared, a range holds no
        category or codes that do not exist, a pair does not consist of edges, or the conditions on
        an attribute and its levels exclude each other.

    Examples
    --------
    >>> domain = Domain({"sex": ["F", "M"], "age": {"bins": [0, 18, 65, 120]}, "children": 5})
    >>> chosen_codes(domain, {"age": (18, 120), "children": range(1, 3), "sex": ["M", "F"]})
    {'age': (1, 2), 'children': (1, 2)}
    """
    if not isinstance(where, Mapping):
        raise DomainError(
            "where must be a mapping from attributes to categories, but it is of type "
            f'{type(where).__name__}; write it as in {{"sex": "F"}}, or {{}} for all rows'
        )
    codes: Chosen = {}
    for name, wanted in where.items():
        # Unknown names are refused.
        own, level = split_level(domain, name)
        found = codes_of(attribute_at(domain, name), name, wanted)
        if level is not None:
            found = _leaves(domain[own], level, found)
        if own in codes:
            found = tuple(sorted(set(found) & set(codes[own])))
        if not found:
            raise DomainError(
                f"the conditions on attribute {own!r} must leave at least one category, but they "
                "exclude each other; drop or correct one"
            )
        codes[own] = found
    return {
        name: codes[name]
        for name, attribute in domain.items()
        if name in codes and len(codes[name]) < attribute.size
    }


def _leaves(
    attribute: Attribute,
    level: str,
    nodes: tuple[int, ...],
) -> tuple[int, ...]:
    """The codes of the leaves of some nodes of a level, ascending."""
    assert attribute.levels is not None
    group = attribute.levels.groups[attribute.levels.index(level)]
    return tuple(np.flatnonzero(np.isin(group, nodes)).tolist())


def whole_labels(attribute: Attribute) -> dict[int, int] | None:
    """The code of each category by its whole number; None if a declared value is none.

    The categories `other` and `missing` may be texts; they are left out.
    """
    if attribute.bins is not None:
        return None
    extras = (attribute.other, attribute.missing)
    found = {}
    for code, label in enumerate(attribute.labels):
        text = written(label)
        known = None if text is None else number(text)
        if isinstance(known, int):
            found[known] = code
        elif label not in extras:
            return None
    return found


def codes_of(
    attribute: Attribute,
    name: str,
    wanted: Any,
) -> tuple[int, ...]:
    """The codes of one attribute that a condition selects, ascending; see `chosen_codes`."""
    if isinstance(wanted, range):
        return _in_range(attribute, name, wanted)
    if attribute.bins is not None and isinstance(wanted, tuple):
        return _between(attribute, name, wanted)
    several = isinstance(wanted, Iterable) and not isinstance(wanted, str | bytes | Mapping)
    categories = list(wanted) if several else [wanted]
    if not categories:
        raise DomainError(
            f"where must select at least one category of attribute {name!r}, but it selects none; "
            "name one, or leave the attribute out to select all"
        )
    return tuple(sorted({_code(attribute, name, category) for category in categories}))


def _code(
    attribute: Attribute,
    name: str,
    category: Any,
) -> int:
    """The code of one category. A number does not stand for the bin that contains it."""
    if attribute.bins is None:
        code = attribute.category(category)
        _check_whole(attribute, name, category, code)
        if code != UNSEEN:
            return code
        labels = () if attribute.values is None else tuple(map(str, attribute.labels))
        raise DomainError(
            f"attribute {name!r} declares no category {category!r}; its categories are "
            f"{_listing(attribute)}{did_you_mean(str(category), labels)}"
        )
    if category is None and attribute.missing_code != UNSEEN:
        return attribute.missing_code
    for names in (attribute.labels, attribute.captions):
        if category in names:
            return names.index(category)
    labels = tuple(map(str, (*attribute.captions, *attribute.labels)))
    raise DomainError(
        f"attribute {name!r} declares no bin {category!r}; name a bin by its label, such as "
        f"{attribute.captions[0]!r}, or bins between two edges by a pair (low, high)"
        f"{did_you_mean(str(category), labels)}"
    )


def _check_whole(
    attribute: Attribute,
    name: str,
    category: Any,
    code: int,
) -> None:
    """Refuse a time within a period: the counts are those of whole periods."""
    dates = attribute.dates
    if dates is None or not 0 <= code < len(dates.labels):
        return
    if dates.is_part(written(category) or ""):
        raise DomainError(
            f"attribute {name!r} counts whole {dates.by}s, but {category!r} lies within a "
            f"{dates.by}; name the {dates.by} {dates.labels[code]!r}"
        )


def _listing(attribute: Attribute) -> str:
    """The first categories of an attribute, for a message."""
    shown = [repr(attribute.label(code)) for code in range(min(attribute.size, _LISTED))]
    more = attribute.size - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _in_range(
    attribute: Attribute,
    name: str,
    wanted: range,
) -> tuple[int, ...]:
    """The codes that a range selects, by their whole numbers or by themselves."""
    if attribute.bins is not None:
        raise DomainError(
            f"attribute {name!r} declares bins, so it takes no range; select bins between two "
            f"edges by a pair, such as ({wanted.start}, {wanted.stop})"
        )
    if attribute.values is not None:
        numbers = whole_labels(attribute)
        if numbers is not None:
            codes = tuple(sorted(code for label, code in numbers.items() if label in wanted))
            if not codes:
                raise DomainError(
                    f"{wanted!r} must hold at least one declared value of attribute {name!r}, but "
                    "it holds none; choose another range"
                )
            return codes
    if not wanted or min(wanted) < 0 or max(wanted) >= attribute.size:
        raise DomainError(
            f"a range of attribute {name!r} must hold codes from 0 to {attribute.size - 1}, at "
            f"least one, but it is {wanted!r}; correct it"
        )
    return tuple(sorted(wanted))


def _between(
    attribute: Attribute,
    name: str,
    pair: tuple[Any, ...],
) -> tuple[int, ...]:
    """The codes of the bins between two edges."""
    edges = attribute.edges
    places = []
    # As in the declaration, None is an open end of the first or the last bin.
    for value, open_end in zip(pair, (-math.inf, math.inf), strict=False):
        number = open_end if value is None else value
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        edge = exact_number(number) if is_number and number == number else None
        if edge in edges:
            places.append(edges.index(edge))
    if len(places) == len(pair) == 2 and places[0] < places[1]:
        return tuple(range(places[0], places[1]))
    bins = attribute.bins or ()
    listed = ", ".join(f"{edge}" for edge in bins[:_LISTED])
    more = f", ..., {bins[-1]}" if len(bins) > _LISTED else ""
    raise DomainError(
        f"a tuple for attribute {name!r}, which declares bins, must be two of its edges, (low, "
        f"high) with low < high, but it is {pair!r}; its edges are {listed}{more}; "
        "None is an open end"
    )
