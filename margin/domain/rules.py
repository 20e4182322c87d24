"""Rules of a domain: combinations of categories that no row can have."""

from collections.abc import Iterable, Mapping, Sequence

from ..errors import DomainError
from ..solvers.zeros import Zeros
from .attribute import UNSEEN, Attribute, Value

__all__ = ["Rule", "checked_rules", "labelled", "zeros_of"]

Rule = tuple[tuple[str, tuple[int, ...]], ...]
"""Names of attributes, ascending, each with some of its codes, ascending: no row has a combination
of these."""


def checked_rules(attributes: Mapping[str, Attribute], given: object) -> tuple[Rule, ...]:
    """Rules as they are declared in their one form, each once.

    Raises
    ------
    DomainError
        Names the rule, by its place, that is declared wrongly.
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise DomainError(
            "impossible must be a list of rules, each a mapping from attributes to categories"
        )
    return tuple(
        sorted({_checked_rule(attributes, place, rule) for place, rule in enumerate(given, 1)})
    )


def _checked_rule(attributes: Mapping[str, Attribute], place: int, given: object) -> Rule:
    if not isinstance(given, Mapping) or not given:
        raise DomainError(
            f"rule {place} of impossible must be a mapping from at least one attribute to categories"
        )
    for name in given:
        if name not in attributes:
            raise DomainError(f"rule {place} of impossible names an unknown attribute {name!r}")
    return tuple(
        sorted((name, _codes(attributes[name], name, place, form)) for name, form in given.items())
    )


def _codes(attribute: Attribute, name: str, place: int, form: object) -> tuple[int, ...]:
    several = isinstance(form, Iterable) and not isinstance(form, str | bytes | Mapping)
    categories = list(form) if several else [form]  # type: ignore[call-overload]
    if not categories:
        raise DomainError(
            f"rule {place} of impossible lists no category of {name!r}; name one, or leave it out"
        )
    codes = {attribute.category(category) for category in categories}
    if UNSEEN in codes:
        wrong = next(category for category in categories if attribute.category(category) == UNSEEN)
        raise DomainError(
            f"rule {place} of impossible: attribute {name!r} declares no category {wrong!r}"
        )
    return tuple(sorted(codes))


def labelled(attributes: Mapping[str, Attribute], rule: Rule) -> dict[str, Value | list[Value]]:
    """A rule as it may be declared: each attribute with its category, or a list of them."""
    form: dict[str, Value | list[Value]] = {}
    for name, codes in rule:
        labels = [attributes[name].label(code) for code in codes]
        form[name] = labels[0] if len(labels) == 1 else labels
    return form


def zeros_of(position: Mapping[str, int], sizes: Sequence[int], rules: Iterable[Rule]) -> Zeros:
    """What rules mean for tables.

    Raises
    ------
    DomainError
        When they leave nothing possible, or are too entangled to tell.
    """
    boxes = [tuple(sorted((position[name], codes) for name, codes in rule)) for rule in rules]
    problem = ""
    try:
        return Zeros(tuple(sizes), tuple(sorted(boxes)))
    except ValueError as error:
        problem = str(error)
    if "no cell is left" in problem:
        raise DomainError(
            "impossible leaves no combination of categories that a row may have: drop some rules"
        )
    raise DomainError(f"the rules of impossible are too many that hang together: {problem}")
