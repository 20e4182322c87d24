"""The rules of a domain, which state impossible combinations of categories."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from .._names import did_you_mean
from ..errors import DomainError
from ..solvers.limits import BOX_CATEGORIES, BOX_COMBINATIONS
from ..solvers.zeros import NoCellLeft, Zeros
from .attribute import UNSEEN, Attribute, Value
from .levels import LEVEL_MARK

__all__ = ["Rule", "checked_rules", "labelled", "rule_in_words", "zeros_of"]

Rule = tuple[tuple[str, tuple[int, ...]], ...]
"""Pairs of an attribute's name and some of its codes, both in ascending order. No row can have one
of the listed codes in every listed attribute."""


def checked_rules(attributes: Mapping[str, Attribute], given: object) -> tuple[Rule, ...]:
    """Check declared rules and bring them into their standard form: sorted, and each once.

    Raises
    ------
    DomainError
        When a rule is declared wrongly. The message says which, counted from 1.
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise DomainError(
            "impossible must be a list of rules, each a mapping from attributes to categories, but "
            f"it is of type {type(given).__name__}; put the rules into a list"
        )
    rules = {_checked_rule(attributes, place, rule) for place, rule in enumerate(given, 1)}
    return tuple(sorted(rules))


def _checked_rule(
    attributes: Mapping[str, Attribute],
    place: int,
    given: object,
) -> Rule:
    """Check the rule declared at a place in the list; return it in its standard form."""
    if not isinstance(given, Mapping) or not given:
        found = "empty" if isinstance(given, Mapping) else f"of type {type(given).__name__}"
        raise DomainError(
            f"rule {place} of impossible must be a mapping from at least one attribute to its "
            f'impossible categories, but it is {found}; write it as in {{"age": [0, 1], "married": '
            '"yes"}'
        )
    codes: dict[str, set[int]] = {}
    for name, form in given.items():
        own, listed = _codes(attributes, name, place, form)
        codes[own] = codes.get(own, listed) & listed
        if not codes[own]:
            raise DomainError(
                f"rule {place} of impossible must name a category of {own!r} that lies in all "
                "levels that the rule names, but there is none; drop or correct one"
            )
    return tuple(sorted((own, tuple(sorted(listed))) for own, listed in codes.items()))


def _codes(
    attributes: Mapping[str, Attribute],
    name: str,
    place: int,
    form: object,
) -> tuple[str, set[int]]:
    """The attribute that a rule names, itself or by a level, and the codes that it lists."""
    if name in attributes:
        return name, _listed(attributes[name], name, place, form)
    own, _, level = name.rpartition(LEVEL_MARK) if isinstance(name, str) else ("", "", "")
    tree = attributes[own].levels if own in attributes else None
    if tree is None or level not in tree.names:
        known = [f"{own}{LEVEL_MARK}{one}" for one in tree.names] if tree else list(attributes)
        raise DomainError(
            f"rule {place} of impossible must name attributes of the domain, but {name!r} is "
            "none of them; correct the name or declare the "
            f"attribute{did_you_mean(name, known)}"
        )
    nodes = _listed(attributes[own].at_level(level), name, place, form)
    group = tree.groups[tree.index(level)]
    return own, set(np.flatnonzero(np.isin(group, list(nodes))).tolist())


def _listed(
    attribute: Attribute,
    name: str,
    place: int,
    form: object,
) -> set[int]:
    """The codes of the categories that a rule lists for one attribute or level."""
    several = isinstance(form, Iterable) and not isinstance(form, str | bytes | Mapping)
    categories = list(form) if several else [form]  # type: ignore[call-overload]
    if not categories:
        raise DomainError(
            f"rule {place} of impossible must list at least one category of {name!r}, but it lists "
            "none; list one, or leave the attribute out of the rule"
        )
    codes = {attribute.category(category) for category in categories}
    if UNSEEN in codes:
        wrong = next(category for category in categories if attribute.category(category) == UNSEEN)
        raise DomainError(
            f"rule {place} of impossible: attribute {name!r} declares no category {wrong!r}; name "
            "a category by its label or by a value in it"
        )
    return codes


def labelled(attributes: Mapping[str, Attribute], rule: Rule) -> dict[str, Value | list[Value]]:
    """A rule as a user declares it: each attribute with its category or a list of categories."""
    form: dict[str, Value | list[Value]] = {}
    for name, codes in rule:
        labels = [attributes[name].name(code) for code in codes]
        form[name] = labels[0] if len(labels) == 1 else labels
    return form


def rule_in_words(rule: Mapping[str, object]) -> str:
    """A rule as a user declares it, in words.

    Examples
    --------
    >>> rule_in_words({"age": "0 to under 18", "marital": ["married", "widowed"]})
    'age 0 to under 18 with marital married or widowed'
    """
    parts = []
    for name, form in rule.items():
        categories = form if isinstance(form, list) else [form]
        parts.append(f"{name} {' or '.join(map(str, categories))}")
    return " with ".join(parts)


def zeros_of(
    position: Mapping[str, int],
    sizes: Sequence[int],
    rules: Iterable[Rule],
) -> Zeros:
    """The impossible cells of the table over all attributes.

    Raises
    ------
    DomainError
        When no cell is possible, when the rules connect too many attributes to find that out, or
        when an attribute of a rule has too many categories.
    """
    boxes = []
    for rule in rules:
        for name, _ in rule:
            size = sizes[position[name]]
            if size > BOX_CATEGORIES:
                raise DomainError(
                    f"an attribute of a rule must have at most {BOX_CATEGORIES:,} categories, but "
                    f"{name!r} has {size:,}; merge categories, or leave it out of the rules"
                )
        box = [(position[name], codes) for name, codes in rule]
        boxes.append(tuple(sorted(box)))
    possible = True
    try:
        return Zeros(tuple(sizes), tuple(sorted(boxes)))
    except NoCellLeft:
        possible = False
    except ValueError:
        pass
    if not possible:
        raise DomainError(
            "impossible must leave at least one combination of categories that a row may have, but "
            "it leaves none; drop some rules"
        )
    raise DomainError(
        "the rules of impossible are too large to be treated exactly: they may connect at most "
        f"{BOX_COMBINATIONS:,} combinations of categories, but they connect more; drop some rules, "
        "or merge categories"
    )
