"""What a domain declares beside its attributes, for other categories: rules and known tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..._types import Integers
from ..attribute import Attribute
from ..determined import checked_determined
from ..domain import Domain, View
from ..level_views import split_level
from ..rules import Rule, checked_rules
from .grouped_view import sums_of_groups

__all__ = ["determining", "new_known", "new_rules"]


def new_rules(
    domain: Domain,
    attributes: Mapping[str, Attribute],
    groups: Mapping[str, Integers],
) -> list[Rule]:
    """The rules for the new categories: one is impossible where all that it holds are.

    They say no more than the rules of the domain. Of what several rules say together about one new
    category, those that differ in a single attribute are seen.
    """
    rules = list(checked_rules(domain, domain.impossible))
    for one in checked_determined(domain, domain.determined):
        if {one.name, one.by} & groups.keys():
            rules += one.rules()
    for name, group in groups.items():
        joined: dict[Rule, set[int]] = {}
        free = []
        for rule in rules:
            own = dict(rule)
            if name not in own:
                free.append(rule)
                continue
            rest = tuple(pair for pair in rule if pair[0] != name)
            joined.setdefault(rest, set()).update(own[name])
        rules = free
        for rest, codes in joined.items():
            excluded = np.isin(np.arange(group.size), list(codes))
            # A new category is excluded if none of its codes is open.
            left = {*group[~excluded].tolist()}
            new = tuple(code for code in range(int(group.max()) + 1) if code not in left)
            if new:
                rules.append(tuple(sorted((*rest, (name, new)))))
    return [rule for rule in rules if all(name in attributes for name, _ in rule)]


def determining(domain: Domain, given: Any) -> str:
    """The attribute that determines another one."""
    return split_level(domain, given)[0] if isinstance(given, str) else next(iter(given))


def new_known(
    domain: Domain,
    attributes: Mapping[str, Attribute],
    groups: Mapping[str, Integers],
) -> Iterator[tuple[View, Integers]]:
    """The known tables for the new categories, without those at a level that is left out."""
    for names, counts in domain.known.items():
        table: Integers | None = counts
        for axis, name in enumerate(names):
            own, level = split_level(domain, name)
            if own not in groups or table is None:
                continue
            group: Integers | None = groups[own]
            if level is not None:
                group = _nodes(domain[own], attributes[own], groups[own], level)
            table = None if group is None else sums_of_groups(table, group, axis)
        if table is not None:
            yield names, table


def _nodes(
    before: Attribute,
    after: Attribute,
    group: Integers,
    level: str,
) -> Integers | None:
    """The new node of each node of a level; None if the level is left out."""
    old, new = before.levels, after.levels
    assert old is not None
    if new is None or level not in new.names:
        return None
    nodes = new.groups[new.index(level)][group]
    _, first = np.unique(old.groups[old.index(level)], return_index=True)
    return np.asarray(nodes[first])
