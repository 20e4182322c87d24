"""What a domain states about the rows of a table, compared with these rows: its rules, determined
attributes, known tables and number of rows. The result is for the holder of the data only."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._types import Flags
from ...domain.attribute import UNSEEN
from ...domain.determined import checked_determined
from ...domain.domain import Domain
from ...domain.known import KnownCounts, checked_known
from ...domain.level_views import attribute_at
from ...domain.rules import Rule, checked_rules

__all__ = ["Codes", "FalseStatement", "Rules", "Totals"]

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
        Number of counts of a known table that differ; else 0.
    counts
        Those that differ most: the categories, the declared count, and the count in the table.
    """

    kind: str
    declared: Any
    rows: int
    differing: int = 0
    counts: list[tuple[str, int, int]] | None = None

    def line(self) -> str:
        """The statement and how it is wrong, in words."""
        written = _short(self.declared)
        if self.kind == "rows":
            return (
                f'"$rows": {self.declared:,} rows are declared, but {self.rows:,} are counted; '
                "declare this number if it is public, or leave it out"
            )
        if self.kind == "known":
            shown = "; ".join(
                f"{cell or 'all rows'}: {declared:,} declared, {found:,} counted"
                for cell, declared, found in self.counts or ()
            )
            numbers = "count differs" if self.differing == 1 else "counts differ"
            return (
                f'"$known" of {written}: {self.differing:,} {numbers} ({shown}); declare the '
                "counts of the same people and period, or leave the table out"
            )
        lies = f"{self.rows:,} row breaks" if self.rows == 1 else f"{self.rows:,} rows break"
        return (
            f'"${self.kind}" {written}: {lies} it; a release would count these rows elsewhere, '
            "and its bounds would not allow for that: drop or narrow the rule, or correct the table"
        )


class Rules:
    """The rules and determined attributes of a domain, and how many rows break them so far.

    A row breaks a rule if each of its codes is listed there. A cell of a view is impossible only
    if every row in it breaks some rule, so no other rows need to be looked at.

    Parameters
    ----------
    domain
        The domain.
    readable
        The attributes whose columns can be read. Rules that name others are left out.

    Attributes
    ----------
    rows
        Number of rows that break at least one rule.
    """

    def __init__(self, domain: Domain, readable: set[str]) -> None:
        self.rows = 0
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
            if names <= readable:
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
        The attributes whose columns can be read. Known tables of others are left out.
    """

    def __init__(self, domain: Domain, readable: set[str]) -> None:
        self._domain = domain
        self._rows = 0
        known = checked_known(domain, domain.known.items())
        self._tables = [table for table in known if set(table.view) <= readable]
        self._counts = [np.zeros(table.counts.size, np.int64) for table in self._tables]

    def add(self, codes: Codes, rows: int) -> None:
        """Count some rows. A row with a value without a category is in no cell of a table."""
        self._rows += rows
        for table, counts in zip(self._tables, self._counts, strict=True):
            places = []
            seen = np.ones(rows, np.bool_)
            for name, group in zip(table.view, table.groups, strict=True):
                own = codes[name].astype(np.int64)
                seen &= own != UNSEEN
                places.append(own if group is None else group[own])
            cells = np.ravel_multi_index([place[seen] for place in places], table.counts.shape)
            counts += np.bincount(cells, minlength=counts.size)

    def found(self) -> list[FalseStatement]:
        """The statements that differ from the counts."""
        found = []
        declared = self._domain.rows
        if declared not in (None, self._rows):
            found.append(FalseStatement("rows", declared, self._rows))
        for table, counts in zip(self._tables, self._counts, strict=True):
            if not np.array_equal(table.counts.ravel(), counts):
                found.append(_differing(self._domain, table, counts, self._rows))
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
    counts: NDArray[np.int64],
    rows: int,
) -> FalseStatement:
    """A known table that differs from the counts of its cells."""
    declared = table.counts.ravel()
    difference = np.abs(declared - counts)
    most = np.argsort(-difference, kind="stable")[:_SHOWN]
    attributes = [attribute_at(domain, name) for name in table.names]
    shown = []
    for cell in most[difference[most] > 0]:
        codes = np.unravel_index(cell, table.counts.shape)
        labels = [
            f"{name}={attribute.name(int(code))}"
            for name, attribute, code in zip(table.names, attributes, codes, strict=True)
        ]
        shown.append((", ".join(labels), int(declared[cell]), int(counts[cell])))
    return FalseStatement(
        "known",
        list(table.names),
        rows,
        differing=int((difference > 0).sum()),
        counts=shown,
    )


def _short(declared: Any) -> str:
    """A statement as JSON, cut off where it is long."""
    text = json.dumps(declared, ensure_ascii=False)
    return text if len(text) <= _LENGTH else f"{text[: _LENGTH - 4]} ..."
