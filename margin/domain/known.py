"""The tables of a domain that are known: public counts that all answers keep exactly."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._names import did_you_mean
from .._types import Flags, Floats, Integers
from ..errors import DomainError
from ..solvers import Contradiction, Known, KnownTable
from ..solvers.zeros import Zeros
from .attribute import Attribute
from .levels import LEVEL_MARK
from .rules import Rule

__all__ = ["KnownCounts", "check_possible", "checked_known", "solver_form", "zero_rules"]

MOST_ROWS = 2**50
"""Largest known number of rows: floats hold all sums up to it exactly."""


@dataclass(
    frozen=True,
    eq=False,
)
class KnownCounts:
    """One known table of a domain.

    Attributes
    ----------
    names
        The names of its axes; "place@state" stands for a level.
    view
        The attributes of these names.
    groups
        For each attribute the node of each category, ascending; None without a level.
    counts
        The counts, with axes in the order of the names.
    """

    names: tuple[str, ...]
    view: tuple[str, ...]
    groups: tuple[Integers | None, ...]
    counts: Integers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownCounts) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[tuple[str, ...], bytes]:
        return self.names, self.counts.tobytes()

    @property
    def listed(self) -> str:
        """The names for a message."""
        return ", ".join(self.names) or "all rows"

    @property
    def cell_by_cell(self) -> set[str]:
        """The attributes without a level."""
        pairs = zip(self.view, self.groups, strict=True)
        return {name for name, group in pairs if group is None}

    def on(self, view: Iterable[str]) -> Self:
        """The sums of the table over the attributes that are not in a view."""
        kept = [place for place, name in enumerate(self.view) if name in view]
        dropped = tuple(place for place in range(len(self.view)) if place not in kept)
        return type(self)(
            tuple(self.names[place] for place in kept),
            tuple(self.view[place] for place in kept),
            tuple(self.groups[place] for place in kept),
            np.asarray(self.counts.sum(axis=dropped)),
        )

    def at(self, groups: Mapping[str, Integers | None]) -> Integers:
        """The counts for coarser groups of categories, with axes in the order of `groups`.

        Attributes without groups are summed over.
        """
        found = self.on(groups)
        table = found.counts
        for place, (name, own) in enumerate(zip(found.view, found.groups, strict=True)):
            group = groups[name]
            if group is None or (own is not None and own.max() == group.max()):
                continue
            first = np.arange(group.size) if own is None else np.unique(own, return_index=True)[1]
            starts = np.flatnonzero(np.diff(group[first], prepend=-1))
            table = np.add.reduceat(table, starts, axis=place)
        return table.transpose([found.view.index(name) for name in groups])


def checked_known(
    attributes: Mapping[str, Attribute],
    given: Iterable[tuple[Any, Any]],
) -> tuple[KnownCounts, ...]:
    """Check known tables, each by itself and all against each other.

    Parameters
    ----------
    attributes
        The attributes of the domain.
    given
        Pairs of a view and an array of counts. Equal tables of one view count once.

    Raises
    ------
    DomainError
        When a table is declared wrongly, or two tables disagree. The message says which.
    """
    known: dict[frozenset[str], KnownCounts] = {}
    for names, counts in given:
        table = _checked(attributes, names, counts)
        for other in known.values():
            _check_agree(attributes, other, table)
        known.setdefault(frozenset(table.names), table)
    return tuple(known.values())


def _checked(
    attributes: Mapping[str, Attribute],
    names: object,
    counts: object,
) -> KnownCounts:
    """Check one known table."""
    given = (names,) if isinstance(names, str) else names
    axes = tuple(given) if isinstance(given, Iterable) else (given,)
    pairs = [_attribute_at(attributes, name) for name in axes]
    view = tuple(name for name, _ in pairs)
    listed = ", ".join(map(str, axes))
    if len(set(view)) < len(view):
        raise DomainError(
            f"a known table must have each attribute once, but that of ({listed}) has one twice; "
            "name it at its lowest level"
        )
    groups = tuple(group for _, group in pairs)
    shape = tuple(
        attributes[name].size if group is None else int(group.max()) + 1 for name, group in pairs
    )
    array = _whole_numbers(counts, listed)
    if array.shape != shape:
        raise DomainError(
            f"the known table of ({listed}) must have the shape {shape}, one number for each "
            f"category of each attribute, but it has the shape {array.shape}; reshape it"
        )
    total = int(array.sum())
    if not 1 <= total <= MOST_ROWS:
        raise DomainError(
            f"the known table of ({listed}) must have a total from 1 to 2**50, but its total is "
            f"{total:,}; correct it"
        )
    return KnownCounts(axes, view, groups, array)


def _attribute_at(
    attributes: Mapping[str, Attribute],
    name: Any,
) -> tuple[str, Integers | None]:
    """The attribute of a name, and the node of each of its categories if the name has a level."""
    if isinstance(name, str) and name in attributes:
        return name, None
    own, _, level = name.rpartition(LEVEL_MARK) if isinstance(name, str) else ("", "", "")
    tree = attributes[own].levels if own in attributes else None
    if tree is not None and level in tree.names:
        return own, tree.groups[tree.index(level)]
    choices = [f"{own}{LEVEL_MARK}{one}" for one in tree.names] if tree else list(attributes)
    raise DomainError(
        f"a known table must be of attributes of the domain or of their levels, but {name!r} is "
        f"neither; correct the name{did_you_mean(name, choices)}"
    )


def _whole_numbers(counts: object, listed: str) -> Integers:
    """The counts as an array of whole numbers >= 0."""
    try:
        array = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(math.nan)
    whole = np.isfinite(array) & (array == np.rint(array)) & (array >= 0) & (array <= MOST_ROWS)
    if not whole.all():
        raise DomainError(
            f"the known table of ({listed}) must hold whole numbers >= 0, but it holds something "
            "else; correct it"
        )
    found = array.astype(np.int64)
    found.setflags(write=False)
    return found


def _check_agree(
    attributes: Mapping[str, Attribute],
    one: KnownCounts,
    other: KnownCounts,
) -> None:
    """Refuse two tables that differ in what they both state."""
    common: dict[str, Integers | None] = {}
    labels: list[str] = []
    for name, group, full in zip(one.view, one.groups, one.names, strict=True):
        if name not in other.view:
            continue
        place = other.view.index(name)
        theirs = other.groups[place]
        # The coarser of the two levels.
        mine = group is not None and (theirs is None or group.max() <= theirs.max())
        common[name] = group if mine else theirs
        labels.append(full if mine else other.names[place])
    first, second = one.at(common), other.at(common)
    if np.array_equal(first, second):
        return
    cell = tuple(np.argwhere(first != second)[0].tolist())
    where = []
    for name, label, code in zip(common, labels, cell, strict=True):
        level = label.removeprefix(name).removeprefix(LEVEL_MARK)
        attribute = attributes[name].at_level(level) if level else attributes[name]
        where.append(f"{label}={attribute.name(code)!r}")
    cells = f"of {', '.join(where)}" if where else "in all"
    raise DomainError(
        f"the known tables of ({one.listed}) and ({other.listed}) must agree, but the first has "
        f"{first[cell]:,} rows {cells}, and the second {second[cell]:,}; correct one of them"
    )


def zero_rules(
    attributes: Mapping[str, Attribute],
    known: Sequence[KnownCounts],
) -> Iterator[Rule]:
    """Rules for the cells of which a known count is zero."""
    for table in known:
        for box in _boxes(table.counts == 0):
            rule = []
            for name, group, inside in zip(table.view, table.groups, box, strict=True):
                if inside is None:
                    continue
                size = attributes[name].size
                nodes = np.arange(size) if group is None else group
                rule.append((name, tuple(np.flatnonzero(np.isin(nodes, inside)).tolist())))
            yield tuple(sorted(rule))


def _boxes(flags: Flags) -> Iterator[tuple[tuple[int, ...] | None, ...]]:
    """Products of codes that together are the True cells of a table; None stands for all codes."""
    if flags.ndim == 0:
        if flags:
            yield ()
        return
    rows = flags.reshape(len(flags), -1)
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    for place, row in enumerate(distinct):
        codes = np.flatnonzero(np.ravel(number) == place)
        own = None if codes.size == len(flags) else tuple(codes.tolist())
        for box in _boxes(row.reshape(flags.shape[1:])):
            yield (own, *box)


def solver_form(
    position: Mapping[str, int],
    sizes: tuple[int, ...],
    known: Sequence[KnownCounts],
    zeros: Zeros | None,
) -> Known:
    """Known tables as the solvers take them."""
    tables = []
    for table in known:
        places = [position[name] for name in table.view]
        order = np.argsort(places).tolist()
        counts: Floats = table.counts.transpose(order).astype(np.float64)
        tables.append(
            KnownTable(
                tuple(sorted(places)),
                tuple(table.groups[place] for place in order),
                counts,
            )
        )
    return Known(sizes, tables, zeros)


def check_possible(constraints: Known, known: Sequence[KnownCounts]) -> None:
    """Refuse known tables that no table can satisfy together, or that are too many to check.

    Raises
    ------
    DomainError
        In these cases.
    """
    listed = " and ".join(f"({table.listed})" for table in itertools.islice(known, 6))
    try:
        constraints.check()
    except Contradiction:
        problem = (
            "must have a table in which all of them and the rules of impossible hold, and which is "
            "positive in every cell that they leave open, but there is none; correct them, or "
            "declare the cells that they force to zero as impossible"
        )
    except ValueError:
        problem = (
            "connect too many combinations of categories to be treated exactly; leave one of them "
            "out, or give one at a higher level"
        )
    else:
        return
    raise DomainError(f"the known tables of {listed} {problem}")
