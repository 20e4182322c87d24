"""What a domain states about the rows of a table, compared with these rows: its rules, determined
attributes, known tables and number of rows. The result is for the holder of the data only."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._types import Flags, Integers
from ...domain.attribute import UNSEEN
from ...domain.determined import checked_determined
from ...domain.domain import Domain
from ...domain.known import KnownCounts, checked_known
from ...domain.level_views import attribute_at
from ...domain.rules import Rule, checked_rules
from .units import CellBounds

__all__ = ["Codes", "FalseStatement", "Rules", "Totals", "Unchecked"]

Codes = Mapping[str, NDArray[np.integer[Any]]]
"""The codes of some rows by attribute, shape (rows,); `UNSEEN` where a value has no category."""

_SHOWN = 3
"""Number of counts of a known table that are shown."""

_LENGTH = 120
"""Largest number of characters of a statement in a line of text."""


@dataclass
class FalseStatement:
    """A statement of a domain that is not true of a table.

    It is derived from the data, so it is not private.

    Attributes
    ----------
    kind
        "impossible", "determined", "known" or "rows": the key of the statement in a file, without
        its dollar sign.
    declared
        The statement as a file has it. Of a known table only its view.
    rows
        Number of rows of the table that break a rule, or that hold another category than the one
        determined. Of a number of rows or a known table: number of rows that are counted.
    differing
        Number of counts of a known table that differ in every release; else 0.
    drawn
        Number of further counts that a release's draw of rows decides; else 0.
    units
        Number of units with more rows than are counted, in different cells of a known table; else
        0.
    counts
        Those that differ most: the categories, the declared count, and the smallest and the largest
        count in the table, over all draws.
    follows_from
        Of a number of rows the view of a known table that has it as total; else None.
    """

    kind: str
    declared: Any
    rows: int
    differing: int = 0
    drawn: int = 0
    units: int = 0
    counts: list[tuple[str, int, int, int]] | None = None
    follows_from: list[str] | None = None

    def line(self) -> str:
        """The statement and how it is wrong, in words."""
        written = _short(self.declared)
        if self.kind == "rows" and self.follows_from:
            return (
                f'"$rows": the known table of {_short(self.follows_from)} adds up to '
                f"{self.declared:,} rows, but {self.rows:,} are counted; declare the counts of the "
                "same people and period, or leave the table out"
            )
        if self.kind == "rows":
            return (
                f'"$rows": {self.declared:,} rows are declared, but {self.rows:,} are counted; '
                "declare this number if it is public, or leave it out"
            )
        if self.kind == "known":
            return f'"$known" of {written}: {self._told_known()}'
        lies = f"{self.rows:,} row breaks" if self.rows == 1 else f"{self.rows:,} rows break"
        return (
            f'"${self.kind}" {written}: {lies} it; a release would count these rows elsewhere, '
            "and its bounds would not allow for that: drop or narrow the rule, or correct the table"
        )

    def _told_known(self) -> str:
        """How a known table differs, and what to do."""
        shown = "; ".join(
            f"{cell or 'all rows'}: {declared:,} declared, {_interval(lowest, highest)} counted"
            for cell, declared, lowest, highest in self.counts or ()
        )
        parts = []
        if self.differing:
            parts.append(f"{self.differing:,} count{_differ(self.differing)}")
        if self.drawn:
            parts.append(f"{self.drawn:,} count{'s' * (self.drawn > 1)} may differ")
        told = [f"{' and '.join(parts)} ({shown})"]
        advice = []
        if self.differing:
            advice.append("declare the counts of the same people and period")
        if self.units:
            have = "1 unit has" if self.units == 1 else f"{self.units:,} units have"
            told.append(
                f"{have} rows in different cells of this table, and each release draws at random "
                "which of them count, so its rows may not agree with the table"
            )
            advice.append(
                "keep no more rows of each unit in the query than are counted, chosen by the "
                "unit's own rows alone"
            )
        return f"{'; '.join(told)}; {', and '.join(advice)}, or leave the table out"


@dataclass(frozen=True)
class Unchecked:
    """A statement of a domain that could not be compared with a table.

    Attributes
    ----------
    kind, declared
        As in `FalseStatement`.
    columns
        The columns that it names and that are missing, or cannot be read.
    """

    kind: str
    declared: Any
    columns: list[str]


class Rules:
    """The rules and determined attributes of a domain, and how many rows break them so far.

    A row breaks a rule if each of its codes is listed there. A cell of a view is impossible only
    if every row in it breaks some rule, so no other rows need to be looked at.

    Parameters
    ----------
    domain
        The domain.
    readable
        The attributes whose columns can be read. Rules that name others are not checked.

    Attributes
    ----------
    rows
        Number of rows that break at least one rule.
    unchecked
        The rules that name other attributes.
    """

    def __init__(self, domain: Domain, readable: set[str]) -> None:
        self.rows = 0
        self.unchecked: list[Unchecked] = []
        stated: list[tuple[str, Any, list[Rule]]] = []
        for form in domain.impossible:
            stated.append(("impossible", form, list(checked_rules(domain, [form]))))
        for name, by in domain.determined.items():
            (one,) = checked_determined(domain, {name: by})
            stated.append(("determined", {name: by}, list(one.rules())))
        self._statements: list[FalseStatement] = []
        self._listed: list[list[dict[str, Flags]]] = []
        for kind, form, rules in stated:
            names = {name for rule in rules for name, _ in rule}
            if names - readable:
                self.unchecked.append(Unchecked(kind, form, sorted(names - readable)))
            else:
                self._statements.append(FalseStatement(kind, form, 0))
                self._listed.append([_flags(domain, rule) for rule in rules])

    def add(self, codes: Codes) -> None:
        """Look at some rows."""
        broken_by_any: Flags | None = None
        for statement, rules in zip(self._statements, self._listed, strict=True):
            for rule in rules:
                # The last flag, at the place of `UNSEEN`, is False.
                broken = np.logical_and.reduce(
                    [listed[codes[name]] for name, listed in rule.items()]
                )
                statement.rows += int(broken.sum())
                broken_by_any = broken if broken_by_any is None else broken_by_any | broken
        if broken_by_any is not None:
            self.rows += int(broken_by_any.sum())

    def found(self) -> list[FalseStatement]:
        """The rules that some rows break."""
        return [statement for statement in self._statements if statement.rows]


class Totals:
    """The public number of rows and the known tables of a domain, and the counts so far.

    Parameters
    ----------
    domain
        The domain.
    readable
        The attributes whose columns can be read. Known tables of others are not checked.

    Attributes
    ----------
    sizes
        The number of cells of each known table.
    unchecked
        The known tables of other attributes.
    """

    def __init__(self, domain: Domain, readable: set[str]) -> None:
        self._domain = domain
        self._rows = 0
        known = checked_known(domain, domain.known.items())
        self._tables = [table for table in known if set(table.view) <= readable]
        self.unchecked = [
            Unchecked("known", list(table.names), sorted(set(table.view) - readable))
            for table in known
            if not set(table.view) <= readable
        ]
        self.sizes = [table.counts.size for table in self._tables]
        self._counts = [np.zeros(size, np.int64) for size in self.sizes]
        # Of a release that counts all rows, both bounds are the count.
        self._bounds = [CellBounds(counts, counts, 0) for counts in self._counts]

    def cells(self, codes: Codes, rows: int) -> list[Integers]:
        """For each known table the cell of each row, shape (rows,); -1 where a value has no
        category."""
        found = []
        for table in self._tables:
            places = []
            seen = np.ones(rows, np.bool_)
            for name, group in zip(table.view, table.groups, strict=True):
                own = codes[name].astype(np.int64)
                seen &= own != UNSEEN
                places.append(own if group is None else group[own])
            cells = np.full(rows, -1, np.int64)
            inside = [place[seen] for place in places]
            cells[seen] = np.ravel_multi_index(inside, table.counts.shape)
            found.append(cells)
        return found

    def add(self, cells: Sequence[Integers], rows: int) -> None:
        """Count some rows by their cells. A row in no cell is counted in no table."""
        self._rows += rows
        for own, counts in zip(cells, self._counts, strict=True):
            counts += np.bincount(own[own >= 0], minlength=counts.size)

    def limit(self, rows: int, bounds: Sequence[CellBounds]) -> None:
        """Take the number of counted rows, and the bounds on the counts, of a release that counts
        some rows of each unit."""
        self._rows = rows
        self._bounds = list(bounds)

    def found(self) -> list[FalseStatement]:
        """The statements that differ from the counts, or may differ."""
        found = []
        declared = self._domain.rows
        if declared not in (None, self._rows):
            # All known tables have the same total.
            known = next(iter(self._domain.known), None)
            view = None if known is None else list(known)
            found.append(FalseStatement("rows", declared, self._rows, follows_from=view))
        for table, bounds in zip(self._tables, self._bounds, strict=True):
            counts = table.counts.ravel()
            if (bounds.lowest != counts).any() or (bounds.highest != counts).any():
                found.append(_differing(self._domain, table, bounds, self._rows))
        return found


def _flags(domain: Domain, rule: Rule) -> dict[str, Flags]:
    """For each attribute of a rule whether it lists each code, and at the end False."""
    flags = {}
    for name, codes in rule:
        flags[name] = np.zeros(domain[name].size + 1, np.bool_)
        flags[name][list(codes)] = True
    return flags


def _differing(
    domain: Domain,
    table: KnownCounts,
    bounds: CellBounds,
    rows: int,
) -> FalseStatement:
    """A known table that differs, or may differ, from the counts of its cells."""
    declared = table.counts.ravel()
    outside = np.maximum(bounds.lowest - declared, declared - bounds.highest)
    farthest = np.maximum(declared - bounds.lowest, bounds.highest - declared)
    # First the counts that differ in every release, then those that a draw can move most.
    order = np.lexsort((-farthest, -np.maximum(outside, 0)))[:_SHOWN]
    attributes = [attribute_at(domain, name) for name in table.names]
    shown = []
    for cell in order[farthest[order] > 0].tolist():
        codes = np.unravel_index(cell, table.counts.shape)
        labels = [
            f"{name}={attribute.name(int(code))}"
            for name, attribute, code in zip(table.names, attributes, codes, strict=True)
        ]
        lowest, highest = int(bounds.lowest[cell]), int(bounds.highest[cell])
        shown.append((", ".join(labels), int(declared[cell]), lowest, highest))
    differing = int((outside > 0).sum())
    return FalseStatement(
        "known",
        list(table.names),
        rows,
        differing=differing,
        drawn=int((farthest > 0).sum()) - differing,
        units=bounds.units,
        counts=shown,
    )


def _interval(lowest: int, highest: int) -> str:
    """A count, or the range of a count that depends on a draw."""
    return f"{lowest:,}" if lowest == highest else f"{lowest:,} to {highest:,}"


def _differ(number: int) -> str:
    return " differs" if number == 1 else "s differ"


def _short(declared: Any) -> str:
    """A statement as JSON, cut off where it is long."""
    text = json.dumps(declared, ensure_ascii=False)
    return text if len(text) <= _LENGTH else f"{text[: _LENGTH - 4]} ..."
