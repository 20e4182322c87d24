"""Conditions on attributes as words of a command line, such as `age>=30` and `sex=F,M`."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

from ...errors import DomainError

if TYPE_CHECKING:
    from ...domain.attribute import Attribute, Value
    from ...domain.domain import Domain

__all__ = ["in_order", "outside_order", "where_of"]

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {">=": ge, "<=": le, ">": gt, "<": lt}

_OPERATORS = (*_COMPARISONS, "=")
"""The longer ones come first, so that >= is not read as >."""


def where_of(domain: "Domain", conditions: Sequence[str]) -> "dict[str, list[Value]]":
    """Turn conditions into the argument of `Synopsis.count`: by attribute the selected categories,
    with the names that they have in tables.

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
            _check_level(domain, name, text)
            codes = _listed(attribute, name, text)
        elif attribute.bins is not None:
            codes = _bins(attribute, name, operator, text)
        elif attribute.dates is not None:
            codes = _periods(attribute, condition, operator, text)
        else:
            codes = _ordered(attribute, condition, operator, text)
        selected[name] = selected.get(name, codes) & codes
        if not selected[name]:
            raise DomainError(
                f"the conditions on {name!r} must leave at least one category, but they leave "
                "none; drop or correct one"
            )
    return {
        name: list(map(attribute_at(domain, name).name, sorted(codes)))
        for name, codes in selected.items()
    }


def outside_order(domain: "Domain", conditions: Sequence[str]) -> "dict[str, list[Value]]":
    """The categories that no comparison selects, since they are not in the order of the attribute,
    by the attributes that the conditions compare: those of `other` and `missing`, as "7+"."""
    from ...domain.level_views import attribute_at
    from ...domain.order import codes_in_order

    outside: dict[str, list[Value]] = {}
    for condition in conditions:
        name, operator, _ = _parts(domain, condition)
        if operator == "=":
            continue
        attribute = attribute_at(domain, name)
        ordered = codes_in_order(attribute)
        others = [attribute.name(code) for code in range(attribute.size) if code not in ordered]
        if others:
            outside[name] = others
    return outside


def in_order(domain: "Domain", name: str) -> str | None:
    """One condition that selects every category in the order of an attribute, such as "age>=0":
    all but those of `outside_order`. None for bins without a limit on both sides, which have no
    such condition."""
    from ...domain.level_views import attribute_at
    from ...domain.order import codes_in_order

    attribute = attribute_at(domain, name)
    if attribute.bins is not None:
        lowest, highest = attribute.bins[0], attribute.bins[-1]
        if math.isfinite(lowest):
            return f"{name}>={lowest}"
        return f"{name}<={highest}" if math.isfinite(highest) else None
    return f"{name}>={attribute.label(codes_in_order(attribute)[0])}"


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
    if start.endswith("!"):
        raise DomainError(
            f"a condition must be an attribute, one of = >= < <= > and a value, but it is "
            f"{condition!r}; instead of != write = and the other categories, with commas between"
        )
    if start != condition.strip():
        attribute_at(domain, start)
    parts = [name for name in (*domain, *domain.level_names) if name.startswith(f"{condition} ")]
    if parts:
        raise DomainError(
            f"a condition with a blank must stand in quotes, but {condition!r} stands alone; write "
            f"it as in '{parts[0]}=...'"
        )
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
    from ...domain.attribute import UNSEEN
    from ...domain.where import codes_of

    # A label may itself hold a comma.
    parts = [text]
    if "," in text and attribute.category(text) == UNSEEN:
        parts = [part.strip() for part in text.split(",")]
    if attribute.bins is not None:
        for part in parts:
            _check_bin(attribute, name, part)
    return set(codes_of(attribute, name, parts))


def _check_level(domain: "Domain", name: str, text: str) -> None:
    """Refuse the label of another level of the same attribute; the message names that level."""
    from ...domain.attribute import UNSEEN
    from ...domain.level_views import attribute_at, split_level
    from ...domain.levels import LEVEL_MARK

    own, _ = split_level(domain, name)
    tree = domain[own].levels
    if tree is None or attribute_at(domain, name).category(text) != UNSEEN:
        return
    for level in (own, *(f"{own}{LEVEL_MARK}{level}" for level in tree.names)):
        if attribute_at(domain, level).category(text) != UNSEEN:
            raise DomainError(
                f"attribute {name!r} has no category {text!r}, but {level!r} has one; did you mean "
                f"{level}={text}?"
            )


def _check_bin(
    attribute: "Attribute",
    name: str,
    text: str,
) -> None:
    """Refuse a text that is no label of a bin; the message names a bin and its edges."""
    from ..._names import did_you_mean

    labels = list(map(str, attribute.names))
    if text in labels or text in map(str, attribute.labels):
        return
    code = attribute.category(text)
    inside = 0 <= code < len(attribute.edges) - 1
    # A bin without two finite edges is described by one condition.
    code = code if inside else 0
    low, high = (attribute.bins or ())[code : code + 2]
    # The last bin includes its upper edge.
    below = "<=" if code == len(attribute.edges) - 2 else "<"
    sides = ((">=", low), (below, high))
    conditions = [f"'{name}{sign}{edge}'" for sign, edge in sides if math.isfinite(edge)]
    why = f", and lies in {labels[code]!r}" if inside else ""
    between = f", or by its edges, as {' '.join(conditions)}" if conditions else ""
    raise DomainError(
        f"{text!r} is no bin of attribute {name!r}{why}; name a bin by its label, such as "
        f"{labels[code]!r}{between}{did_you_mean(text, labels) if not inside else ''}"
    )


def _bins(
    attribute: "Attribute",
    name: str,
    operator: str,
    text: str,
) -> set[int]:
    """The codes of the bins on one side of an edge; no bin may lie on both sides.

    A bin holds its lower edge and not its upper one. The last bin holds both. So `<` and `>=`
    divide the bins at every edge but the last, and `<=` and `>` divide them at the last edge only.
    """
    from ...domain.values import number

    edges = attribute.edges
    edge = number(text)
    condition = f"{name}{operator}{text}"
    if edge is not None and edge in edges:
        place = edges.index(edge)
        is_last = place == len(edges) - 1
        if operator in (("<=", ">") if is_last else ("<", ">=")):
            below = operator in ("<=", "<")
            return set(range(place) if below else range(place, len(edges) - 1))
        if is_last:
            # "<24" or ">=24": one row of 24 cannot be told from the others of its bin.
            other = f"{name}<={text}" if operator == "<" else f"{name}>={edges[-2]}"
            raise DomainError(
                f"condition {condition!r} must not divide a bin, but the last bin, "
                f"{attribute.names[place - 1]!r}, holds its upper edge, too; write {other!r} to "
                "count the whole bin"
            )
    *others, last = attribute.bins or ()
    ways = f"by >= or < with one of {', '.join(str(edge) for edge in others if edge > -math.inf)}"
    if math.isfinite(last):
        ways += f", or by <= with {last}, which the last bin holds"
    raise DomainError(
        f"condition {condition!r} must not divide a bin, and a bin [a, b) holds a and not b; "
        f"compare {ways}"
    )


def _periods(
    attribute: "Attribute",
    condition: str,
    operator: str,
    text: str,
) -> set[int]:
    """The codes of the periods on one side of the period that a date or a label names."""
    from ...domain.values import written

    dates = attribute.dates
    assert dates is not None
    periods = range(len(dates.labels))
    # The first period above the edge that the condition names.
    edge = dates.edge(written(text) or "", after=operator in (">", "<="))
    if edge is not None:
        return {code for code in periods if (code >= edge) == (operator in (">", ">="))}
    place = attribute.category(text)
    if place not in periods:
        raise DomainError(
            f"condition {condition!r} must compare with a date or a {dates.by} from "
            f"{attribute.label(0)} to {attribute.label(periods[-1])}; correct its right side"
        )
    if dates.is_part(written(text) or ""):
        raise DomainError(
            f"condition {condition!r} must compare with a whole {dates.by}, or by >= or < with the "
            f"first day of one, since whole {dates.by}s are counted; its date lies within "
            f"{attribute.label(place)}, and the nearest such days are "
            f"{' and '.join(dates.nearest_edges(place))}"
        )
    return {code for code in periods if _COMPARISONS[operator](code, place)}


def _ordered(
    attribute: "Attribute",
    condition: str,
    operator: str,
    text: str,
) -> set[int]:
    """The codes of the categories whose numbers, or places in a declared order, satisfy a
    comparison."""
    from ..._names import did_you_mean
    from ...domain.order import numbers_of, ranks_of
    from ...domain.values import number

    places = numbers_of(attribute)
    limit = number(text)
    if places and limit is None:
        raise DomainError(
            f"condition {condition!r} must compare with a number, but its right side is none; "
            "give a number, or select categories by ="
        )
    if not places:
        places = ranks_of(attribute)
        if not places:
            raise DomainError(
                f"condition {condition!r} needs categories that are numbers, bins or dates, or an "
                "attribute that is declared as ordered, but some are texts, and no order is "
                "declared; select categories by =, with commas between them"
            )
        limit = places.get(attribute.category(text))
        if limit is None:
            labels = [str(attribute.label(code)) for code in places]
            raise DomainError(
                f"condition {condition!r} must compare with one of the ordered categories, from "
                f"{labels[0]!r} to {labels[-1]!r}; name one of them{did_you_mean(text, labels)}"
            )
    return {code for code, place in places.items() if _COMPARISONS[operator](place, limit)}
