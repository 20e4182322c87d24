"""`generated`: the recipe of a name that holds a seed, of any size."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from . import covers, reconstructions, responses, view_tables
from .recipe import Recipe

__all__ = ["EXAMPLE", "generated", "is_generated"]

_SEEDED = re.compile(r"(?P<family>[a-z-]+?)-(?P<parts>[a-z]*\d.*)-seed(?P<seed>\d{1,9})")

EXAMPLE = "response-c500x3000-chain-round60-seed7"
"""A name of an instance that the catalogue does not hold."""

_Maker = Callable[[str, list[str], int], Callable[[], Any] | None]

_MAKERS: Mapping[str, _Maker] = {
    **dict.fromkeys(
        ("exact-entropy", "penalised-entropy", "least-squares", "minimax"), reconstructions.seeded
    ),
    **dict.fromkeys(("consistency", "nonnegativity"), view_tables.seeded),
    "response": responses.seeded,
    "cover-views": covers.seeded,
}
"""What makes the problem of the parts of a name and a seed; None if the parts do not fit."""


def is_generated(name: str) -> bool:
    """Whether a name asks for a generated problem."""
    return "-seed" in name


def generated(name: str) -> Recipe:
    """The recipe of a name that ends in a seed.

    Its size is ``large``, as nobody measured it.

    Raises
    ------
    ValueError
        If the name does not consist of a family, the parts of this family, and a seed; or if its
        problem is too large.

    Examples
    --------
    >>> generated("minimax-b4-chain-pairs-seed7").make().shape
    (2, 2, 2, 2)
    """
    found = _SEEDED.fullmatch(name)
    make = None
    if found and found["family"] in _MAKERS:
        maker = _MAKERS[found["family"]]
        make = maker(found["family"], found["parts"].split("-"), int(found["seed"]))
    if not found or not make:
        raise ValueError(
            "a name with a seed must consist of a family, the parts that names of this family "
            f"have, and the seed, such as {EXAMPLE!r} or 'least-squares-3x4x5-chain-pairs-seed7', "
            f"but it is {name!r}; docs/bench.md lists the parts (What the names mean)"
        )
    family = found["family"].removesuffix("-views")
    return Recipe(name=name, family=family, size="large", make=make)
