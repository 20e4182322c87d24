"""Why a change of categories leaves out a level, and how to keep it."""

import json
from collections.abc import Mapping

import numpy as np

from ..._types import Integers
from ..attribute import Attribute
from ..domain import Domain
from ..levels import LEVEL_MARK

__all__ = ["levels_left_out"]


def levels_left_out(
    before: Domain,
    after: Domain,
    groups: Mapping[str, Integers],
) -> dict[str, str]:
    """The message for each level that `before` declares, and `after` does not.

    `groups` has for each changed attribute the new code of each code, shape (categories,).
    """
    found = {}
    for full in before.level_names:
        name, _, level = full.rpartition(LEVEL_MARK)
        if full in after.level_names:
            continue
        tree = before[name].levels
        assert tree is not None
        if level == tree.names[-1]:
            found[full] = (
                f"the changed categories of {name!r} fit none of its levels, so {full!r} is "
                f"{name!r} itself; name {name!r}"
            )
        else:
            found[full] = _reason(full, before[name], after[name], groups[name])
    return found


def _reason(
    full: str,
    before: Attribute,
    after: Attribute,
    group: Integers,
) -> str:
    """Why a level above the lowest is left out: a new category is in several of its nodes."""
    name, _, level = full.rpartition(LEVEL_MARK)
    tree = before.levels
    assert tree is not None
    place = tree.index(level)
    inside = [np.unique(tree.groups[place][group == code]) for code in range(after.size)]
    code = next(code for code, nodes in enumerate(inside) if nodes.size > 1)
    labels = [str(tree.labels[place][node]) for node in inside[code]]
    together = json.dumps({full: {"NEW NAME": labels}}, ensure_ascii=False)
    anew = json.dumps({name: {labels[0]: ["..."], labels[1]: ["..."]}}, ensure_ascii=False)
    listed = f"{', '.join(map(repr, labels[:-1]))} and {labels[-1]!r}"
    return (
        f"the release has the level {full!r}, but the changed categories do not fit it: "
        f"{after.names[code]!r} is in {listed}. To put these together, add {together} to the "
        f"changes. To draw a new border, change {name!r} itself into the new groups, in another "
        f"file such as {anew} that lists all categories of each, and name {name!r}"
    )
