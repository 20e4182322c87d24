"""Attributes of which another one, or a level of it, determines the category."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._names import did_you_mean
from ..errors import DomainError
from .attribute import UNSEEN, Attribute, Value
from .levels import LEVEL_MARK
from .rules import Rule

__all__ = ["Determined", "checked_determined"]

_FREE = -1
"""Stands for a category that determines nothing."""


@dataclass(frozen=True)
class Determined:
    """One attribute that another one determines.

    Attributes
    ----------
    name, by
        The attribute, and the one that determines it.
    codes
        For each category of `by` the category of `name`; `_FREE` if it determines none.
    level
        The name of the level, such as "place@state", if a level determines it; otherwise empty.
    """

    name: str
    by: str
    codes: tuple[int, ...]
    level: str = ""

    def rules(self) -> Iterator[Rule]:
        """One rule for each category of `name`: it is impossible with those of `by` that determine
        another one."""
        codes = np.array(self.codes)
        for code in sorted(set(self.codes) - {_FREE}):
            others = np.flatnonzero((codes != code) & (codes != _FREE))
            if others.size:
                pair = ((self.name, (code,)), (self.by, tuple(others.tolist())))
                yield tuple(sorted(pair))

    def to_json(self, attributes: Mapping[str, Attribute]) -> Any:
        """The declaration, as a file has it."""
        if self.level:
            return self.level
        labels: list[list[Value]] = [
            [attributes[self.by].name(place), attributes[self.name].name(code)]
            for place, code in enumerate(self.codes)
            if code != _FREE
        ]
        return {self.by: labels}


def checked_determined(
    attributes: Mapping[str, Attribute],
    given: object,
) -> tuple[Determined, ...]:
    """Check which attributes are declared as determined by others.

    Raises
    ------
    DomainError
        When the declaration is wrong; the message names the attribute.
    """
    if not isinstance(given, Mapping):
        raise DomainError(
            'determined must be a mapping from attributes, such as {"state": "place@state"}, but '
            f"it is of type {type(given).__name__}; pass such a mapping"
        )
    return tuple(_checked(attributes, name, form) for name, form in given.items())


def _checked(
    attributes: Mapping[str, Attribute],
    name: Any,
    form: object,
) -> Determined:
    """Check one declaration."""
    if name not in attributes:
        raise DomainError(
            f"determined must name attributes of the domain, but {name!r} is none; correct the "
            f"name{did_you_mean(name, attributes)}"
        )
    if isinstance(form, str):
        return _by_level(attributes, name, form)
    if not isinstance(form, Mapping) or len(form) != 1:
        raise DomainError(
            f"attribute {name!r} must be determined by a level, such as 'place@state', or by one "
            "attribute with a table of its categories, such as {'county': {'Fresno': 'CA'}}, but "
            "the declaration has another form; correct it"
        )
    ((by, table),) = form.items()
    if by not in attributes or by == name:
        raise DomainError(
            f"attribute {name!r} must be determined by another attribute of the domain, but "
            f"{by!r} is none; correct the name{did_you_mean(by, attributes)}"
        )
    pairs = table.items() if isinstance(table, Mapping) else table
    codes = [_FREE] * attributes[by].size
    for pair in pairs:
        one, other = _pair(name, pair)
        place = _code(attributes, by, one, name)
        code = _code(attributes, name, other, name)
        if codes[place] not in (_FREE, code):
            raise DomainError(
                f"attribute {name!r} must be determined uniquely, but category {one!r} of {by!r} "
                "has two entries in the table; keep one"
            )
        codes[place] = code
    own = attributes[by]
    special = {own.missing_code, own.other_code}
    left = [place for place, code in enumerate(codes) if code == _FREE and place not in special]
    if left:
        raise DomainError(
            f"attribute {name!r} must be determined by every category of {by!r}, but "
            f"{own.name(left[0])!r} is not in the table; add it"
        )
    return Determined(name, by, tuple(codes))


def _pair(name: str, pair: Any) -> tuple[Any, Any]:
    """The two categories of an entry."""
    if isinstance(pair, list | tuple) and len(pair) == 2:
        return pair[0], pair[1]
    raise DomainError(
        f"the table that determines attribute {name!r} must consist of pairs of categories, but an "
        "entry is none; correct it"
    )


def _by_level(
    attributes: Mapping[str, Attribute],
    name: str,
    level: str,
) -> Determined:
    """An attribute that has the nodes of a level as its categories."""
    by, _, own = level.rpartition(LEVEL_MARK)
    tree = attributes[by].levels if by in attributes and by != name else None
    if tree is None or own not in tree.names:
        known = [
            f"{other}{LEVEL_MARK}{one}"
            for other, attribute in attributes.items()
            for one in (attribute.levels.names if attribute.levels is not None else ())
        ]
        raise DomainError(
            f"attribute {name!r} must be determined by a level of another attribute, but {level!r} "
            f"is none; correct the name{did_you_mean(level, known)}"
        )
    place = tree.index(own)
    nodes = [_code(attributes, name, label, name) for label in tree.labels[place]]
    codes = np.full(attributes[by].size, _FREE)
    group = tree.groups[place]
    codes[: group.size] = np.array(nodes)[group]
    return Determined(name, by, tuple(codes.tolist()), level)


def _code(
    attributes: Mapping[str, Attribute],
    name: str,
    label: Any,
    determined: str,
) -> int:
    """The category of an attribute that a table names."""
    code = attributes[name].category(label)
    if code == UNSEEN:
        raise DomainError(
            f"the table that determines attribute {determined!r} must have declared categories, "
            f"but {name!r} has no category {label!r}; correct it"
        )
    return code
