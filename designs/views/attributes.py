"""Sets of attributes by number or by name: conversion of arguments to numbers, and back."""

import difflib
from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

from ..checks import check_ints
from ..subsets import Block

Member = TypeVar("Member", int, str)

LISTED = 20  # largest number of attributes that an error message names


@runtime_checkable
class Attributes(Protocol):
    """An object with named attributes and their sizes, such as a `margin.Domain`."""

    @property
    def attributes(self) -> Sequence[str]:
        """The names of the attributes, in order."""

    @property
    def sizes(self) -> Sequence[int]:
        """The number of values of each attribute, in order."""


Domain = Attributes | Sequence[int]
Sets = Sequence[Sequence[int]] | Sequence[Sequence[str]]
Named = tuple[int, ...] | tuple[str, ...]


def checked_sizes(domain: Domain) -> list[int]:
    """Read the number of values of each attribute from a domain.

    Raises ValueError unless there is at least one attribute and each size is an int >= 1.
    """
    sizes = list(domain.sizes if isinstance(domain, Attributes) else domain)
    check_ints("sizes", sizes, 1)
    if not sizes:
        raise ValueError(
            "sizes must hold at least one size, but it is empty; give the size of each attribute"
        )
    return sizes


def numbered(
    name: str,
    sets: Sets,
    domain: Domain,
) -> list[Block]:
    """Convert sets of attributes, by name or number, to ascending tuples of attribute numbers.

    Raises ValueError unless each set holds distinct attributes of the domain.
    """
    if not isinstance(domain, Attributes):
        return checked_sets(name, sets, len(domain))
    places = {attribute: place for place, attribute in enumerate(domain.attributes)}
    numbers: list[list[int]] = []
    for i, members in enumerate(sets):
        for member in members:
            if member not in places:
                raise ValueError(
                    f"{name}[{i}] must name attributes of the domain, but {member!r} is none of "
                    f"them; correct the name{_hint(member, domain.attributes)}"
                )
        numbers.append([places[str(member)] for member in members])
    return checked_sets(name, numbers, len(places))


def _hint(member: object, attributes: Sequence[str]) -> str:
    """The end of an error message: the name most like a misspelt one, or the first names."""
    close = difflib.get_close_matches(str(member), attributes, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; its attributes: {', '.join(attributes[:LISTED])}"


def worded(views: Sequence[Block], domain: Domain) -> tuple[Named, ...]:
    """Convert views back to attribute names if the domain has names; else leave the numbers."""
    if not isinstance(domain, Attributes):
        return tuple(views)
    return tuple(tuple(domain.attributes[place] for place in view) for view in views)


def checked_sets(
    name: str,
    sets: Sets,
    d: int,
) -> list[Block]:
    """Sort each set of attribute numbers into an ascending tuple.

    Raises ValueError unless each set holds distinct ints of ``range(d)``.
    """
    if (plain := _plain_sets(sets, d)) is not None:
        return plain
    checked: list[Block] = []
    for i, members in enumerate(sets):
        check_ints(f"{name}[{i}]", members, 0)
        places = tuple(sorted(member for member in members if isinstance(member, int)))
        if any(j >= d for j in places):
            raise ValueError(
                f"{name}[{i}] {tuple(members)} must hold attributes of 0..{d - 1} only, because "
                f"there are {d}; remove the others"
            )
        if len(set(places)) < len(places):
            raise ValueError(
                f"{name}[{i}] {tuple(members)} must name each attribute once, but it repeats one; "
                "name it once"
            )
        checked.append(places)
    return checked


def _plain_sets(sets: Sets, d: int) -> list[Block] | None:
    """The sorted sets if nothing is wrong with them, found by few steps for all; else None."""
    members = [member for some in sets for member in some if type(member) is int]
    if len(members) != sum(map(len, sets)):
        return None
    if members and not 0 <= min(members) <= max(members) < d:
        return None
    plain: list[Block] = [tuple(sorted(some)) for some in sets]  # type: ignore[arg-type]
    distinct = all(len(set(some)) == len(some) for some in plain)
    return plain if distinct else None
