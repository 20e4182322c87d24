"""An attribute with other categories, and what was changed in words."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..._types import Integers
from ...errors import DomainError
from ..attribute import UNSEEN, Attribute, Value
from ..levels import LEVEL_MARK

__all__ = ["recoded_attribute", "sentences"]

_LONGEST = 200
"""Largest number of characters of a description; see `Attribute`."""


def recoded_attribute(
    name: str,
    attribute: Attribute,
    changes: Mapping[str, Mapping[str, Sequence[Value]]],
) -> tuple[Attribute, Integers]:
    """The attribute with new categories, and the new code of each code."""
    old = attribute.names
    new_of = {label: new for new, olds in changes.get(name, {}).items() for label in olds}
    labels = [new_of.get(label, label) for label in old]
    # New categories stand where the first one that they hold has stood.
    order = list(dict.fromkeys(labels))
    members = [[code for code, label in enumerate(labels) if label == own] for own in order]
    roles: dict[str, Any] = {}
    for role, code in (("other", attribute.other_code), ("missing", attribute.missing_code)):
        # A category that other ones joined is no longer that of other or missing values alone.
        if code != UNSEEN and [code] in members:
            roles[role] = labels[code]
    roles["description"] = _described(attribute.description, changes)
    roles["ordered"] = attribute.ordered and all(map(_is_run, members))
    tree = attribute.levels
    try:
        if tree is not None:
            made = _with_levels(name, attribute, order, members, changes, roles)
        elif attribute.bins is not None and _are_bins(attribute, members):
            bins = len(attribute.bins) - 1
            starts = [own[0] for own in members if own[0] < bins]
            edges = [*(attribute.bins[start] for start in starts), attribute.bins[-1]]
            made = Attribute(bins=edges, labels=list(map(str, order[: len(starts)])), **roles)
        else:
            made = Attribute(values=order, **roles)
    except DomainError as error:
        problem = str(error)
    else:
        places = {str(label): code for code, label in enumerate(made.labels)}
        return made, np.array([places[str(label)] for label in labels])
    raise DomainError(f"the new categories of {name!r}: {problem}")


def _with_levels(
    name: str,
    attribute: Attribute,
    order: Sequence[Value],
    members: Sequence[Sequence[int]],
    changes: Mapping[str, Mapping[str, Sequence[Value]]],
    roles: Mapping[str, Any],
) -> Attribute:
    """An attribute with those levels whose nodes hold the new categories whole."""
    tree = attribute.levels
    assert tree is not None
    kept: list[str] = []
    columns: list[list[Value]] = []
    for place, level in enumerate(tree.names[:-1]):
        renamed = changes.get(f"{name}{LEVEL_MARK}{level}", {})
        new_of = {label: new for new, olds in renamed.items() for label in olds}
        nodes = [tree.labels[place][node] for node in tree.groups[place].tolist()]
        above = [new_of.get(label, label) for label in nodes]
        if all(len({above[code] for code in own}) == 1 for own in members):
            kept.append(level)
            columns.append([above[own[0]] for own in members])
    if not kept:
        return Attribute(values=order, **roles)
    paths = [list(path) for path in zip(*columns, order, strict=True)]
    return Attribute(levels={"names": [*kept, tree.names[-1]], "paths": paths}, **roles)


def _are_bins(attribute: Attribute, members: Sequence[Sequence[int]]) -> bool:
    """Whether new categories of bins are bins: neighbours, and no category beside them."""
    assert attribute.bins is not None
    last = len(attribute.bins) - 2
    return all(_is_run(own) and (own[-1] <= last or len(own) == 1) for own in members)


def _is_run(codes: Sequence[int]) -> bool:
    """Whether codes follow each other."""
    return codes[-1] - codes[0] == len(codes) - 1


def _described(
    description: str | None,
    changes: Mapping[str, Mapping[str, Sequence[Value]]],
) -> str | None:
    """A description that also says what was changed, as far as there is room for it."""
    found = list(itertools.chain.from_iterable(map(sentences, changes.values())))
    said = [] if description is None else [description.rstrip(". ")]
    for place, sentence in enumerate(found):
        left = len(found) - place
        more = f"{left} more categories changed" if left > 1 else "1 more category changed"
        rest = [more] if left > 1 else []
        if len(". ".join([*said, sentence, *rest])) > _LONGEST:
            said.append(more)
            break
        said.append(sentence)
    text = ". ".join(said)
    # Without room for a word, the description stays.
    return text if len(text) <= _LONGEST else description


def sentences(new: Mapping[str, Sequence[Value]]) -> Iterator[str]:
    """What some new categories stand for."""
    for label, olds in new.items():
        listed = [f"'{old}'" for old in olds]
        if len(listed) == 1:
            yield f"'{label}' is the new name of {listed[0]}"
        else:
            yield f"'{label}' is {', '.join(listed[:-1])} and {listed[-1]} together"
