"""Conditions on attributes as words of a command line, such as `age>=30` and `sex=F,M`."""

import re
from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

from ...errors import DomainError

if TYPE_CHECKING:
    from ...domain.attribute import Attribute, Value
    from ...domain.domain import Domain

__all__ = ["where_of"]

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {">=": ge, "<=": le, ">": gt, "<": lt}

_OPERATORS = (*_COMPARISONS, "=")
"""The longer ones come first, so that >= is not read as >."""


def where_of(domain: "Domain", conditions: Sequence[str]) -> "dict[str, list[Value]]":
    """Turn conditions into the argument of `Synopsis.count`: the selected labels by attribute.

    Several conditions on one attribute must all hold.

    Raises
    ------
    DomainError
        When a condition has another form, names an unknown attribute or category, compares an
        attribute without order or at a number that is no edge, or when no category is left.
    """
    from ...domain.level_views import attribute_at

    selected: dict[str, set[int]] = {}
    for condition in conditions:
        name, operator, text = _parts(domain, condition)
        attribute = attribute_at(domain, name)
        if operator == "=":
            codes = _listed(attribute, name, text)
        elif attribute.bins is not None:
            codes = _bins(attribute, condition, operator, text)
        elif attribute.dates is not None:
            codes = _periods(attribute, condition, operator, text)
        else:
            codes = _numbers(attribute, condition, operator, text)
        selected[name] = selected.get(name, codes) & codes
        if not selected[name]:
            raise DomainError(
                f"the conditions on {name!r} must leave at least one category, but they leave "
                "none; drop or correct one"
            )
    return {
        name: list(map(attribute_at(domain, name).label, sorted(codes)))
        for name, codes in selected.items()
    }


def _parts(domain: "Domain", condition: str) -> tuple[str, str, str]:
    """Split a condition into the attribute, the operator and the text on its right."""
    from ...domain.level_views import attribute_at

    # A name may itself hold an operator: the longest one that fits is meant.
    for name in sorted((*domain, *domain.level_names), key=len, reverse=True):
        rest = condition[len(name) :].lstrip()
        if not condition.startswith(name):
            continue
        for operator in _OPERATORS:
            if rest.startswith(operator):
                return name, operator, rest[len(operator) :].strip()
    # Unknown names are refused by the domain, with a suggestion.
    start = re.split("[<>=]", condition, maxsplit=1)[0].strip()
    if start != condition.strip():
        attribute_at(domain, start)
    raise DomainError(
        f"a condition must be an attribute, one of = >= < <= > and a value, but it is "
        f"{condition!r}; write it as in sex=F or 'age>=30'"
    )


def _listed(
    attribute: "Attribute",
    name: str,
    text: str,
) -> set[int]:
    """The codes of one category, or of several with commas between them."""
    from ...domain.where import codes_of

    try:
        # A label may itself hold a comma.
        return set(codes_of(attribute, name, text))
    except DomainError:
        if "," not in text:
            raise
    return set(codes_of(attribute, name, [part.strip() for part in text.split(",")]))


def _bins(
    attribute: "Attribute",
    condition: str,
    operator: str,
    text: str,
) -> set[int]:
    """The codes of the bins on one side of an edge."""
    from ...domain.values import number

    edges = attribute.edges
    edge = number(text)
    if operator in (">=", "<") and edge is not None and edge in edges:
        place = edges.index(edge)
        return set(range(place, len(edges) - 1) if operator == ">=" else range(place))
    listed = ", ".join(map(str, attribute.bins or ()))
    raise DomainError(
        f"condition {condition!r} must compare with an edge of the bins, by >= or <, since a bin "
        f"[a, b) holds a and not b; the edges are {listed}"
    )


def _periods(
    attribute: "Attribute",
    condition: str,
    operator: str,
    text: str,
) -> set[int]:
    """The codes of the periods on one side of the period that a date or a label names."""
    assert attribute.dates is not None
    periods = range(len(attribute.dates.labels))
    place = attribute.category(text)
    if place not in periods:
        raise DomainError(
            f"condition {condition!r} must compare with a date or a {attribute.dates.by} from "
            f"{attribute.label(0)} to {attribute.label(periods[-1])}; correct its right side"
        )
    return {code for code in periods if _COMPARISONS[operator](code, place)}


def _numbers(
    attribute: "Attribute",
    condition: str,
    operator: str,
    text: str,
) -> set[int]:
    """The codes of the categories whose numbers satisfy a comparison."""
    from ...domain.values import number, written

    limit = number(text)
    if limit is None:
        raise DomainError(
            f"condition {condition!r} must compare with a number, but its right side is none; "
            "give a number, or select categories by ="
        )
    extras = (attribute.other, attribute.missing)
    codes = set()
    for code in range(attribute.size):
        label = attribute.label(code)
        known = number(written(label) or "")
        if known is None and label not in extras:
            raise DomainError(
                f"condition {condition!r} needs an attribute whose categories are numbers or "
                "bins, but some of these are texts; select them by ="
            )
        if known is not None and _COMPARISONS[operator](known, limit):
            codes.add(code)
    return codes
