"""The form of a change of categories, as a file or a mapping declares it."""

from collections.abc import Mapping
from typing import Any

from ..._names import did_you_mean
from ...errors import DomainError
from ..attribute import UNSEEN, Attribute, Value
from ..domain import Domain
from ..level_views import attribute_at

__all__ = ["Changes", "checked_changes"]

Changes = dict[str, dict[str, list[Value]]]
"""For each attribute or level, each new category with those that it stands for."""


def checked_changes(domain: Domain, form: object) -> Changes:
    """Check a change, and bring it into its standard form."""
    if not isinstance(form, Mapping) or not form:
        found = "is empty" if isinstance(form, Mapping) else f"is of type {type(form).__name__}"
        raise DomainError(
            "a change of categories must be a mapping from attributes to new categories, such as "
            f'{{"place": {{"Centre": ["North", "South"]}}}}, but it {found}; write it in this form'
        )
    return {name: _checked_categories(domain, name, new) for name, new in form.items()}


def _checked_categories(
    domain: Domain,
    name: Any,
    form: object,
) -> dict[str, list[Value]]:
    """Check the new categories of one attribute or level."""
    attribute = attribute_at(domain, name)
    if not isinstance(form, Mapping) or not form:
        raise DomainError(
            f"the new categories of {name!r} must be a mapping from new names to the categories "
            f'that they stand for, such as {{"Centre": ["North", "South"]}}, but it is of type '
            f"{type(form).__name__} or empty; write it in this form"
        )
    found: dict[str, list[Value]] = {}
    taken: set[int] = set()
    for new, given in form.items():
        if not isinstance(new, str) or not new.strip():
            raise DomainError(
                f"a new category of {name!r} must be a text that is not empty, but it is {new!r}; "
                "write its name"
            )
        several = isinstance(given, list | tuple | set)
        codes = [_code(attribute, name, old) for old in (given if several else [given])]
        if not codes or len({*codes}) < len(codes) or taken & {*codes}:
            raise DomainError(
                f"each category of {name!r} must go into one new category, but {new!r} lists none, "
                "or one that is listed twice; list each category once"
            )
        taken.update(codes)
        found[new] = [attribute.names[code] for code in sorted(codes)]
    stay = {str(label) for code, label in enumerate(attribute.names) if code not in taken}
    twice = next((new for new in found if new in stay), None)
    if twice is not None:
        raise DomainError(
            f"the new categories of {name!r} must have names of their own, but {twice!r} is a "
            "category that stays; add it to the list of the new one, or choose another name"
        )
    return found


def _code(
    attribute: Attribute,
    name: str,
    category: object,
) -> int:
    """The code of a declared category."""
    code = attribute.category(category)
    if code == UNSEEN:
        hint = did_you_mean(category, map(str, attribute.names))
        raise DomainError(
            f"{name!r} declares no category {category!r}, so it cannot be changed; name a category "
            f"as the tables have it{hint}"
        )
    return code
