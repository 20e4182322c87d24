"""The commands `margin domain suggest` and `margin domain check`. Their output is not private."""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._replace import replacing
from ..errors import FileError
from .arguments.known import add_known, known_of
from .arguments.table import add_table, table_of
from .common import (
    Said,
    add_command,
    add_group,
    painted,
    printable,
)
from .outputs import add_force, check_free

if TYPE_CHECKING:
    import margin

    from ..data.checks.fit import Fit

__all__ = ["add_commands"]

_TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq")
"""Endings of the names of tables. A JSON file may be a domain."""

_SAFE = (
    "The domain is published with the release: declare only values and spellings that you know "
    'from the questionnaire or code list; otherwise use "other" and "missing", or mend them in '
    "--sql."
)
"""Which advice about values is safe: a spelling that one person has would tell of this person."""


def add_commands(commands: Any) -> None:
    """Add `margin domain suggest` and `margin domain check` to the parser of the command line."""
    group = add_group(commands, "domain", "make or check the file that declares the attributes")
    suggest = add_command(
        group,
        "suggest",
        _suggest,
        does="draft a domain from a table; the draft is not private and must be reviewed",
        examples=[
            "margin domain suggest people.csv -o draft.json",
            "margin domain suggest 'people*.csv' > draft.json",
            'margin domain suggest --sql "SELECT * FROM rows" --table rows=people.csv',
        ],
    )
    add_table(suggest)
    suggest.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DRAFT.json",
        help="the file to write; default: print the draft",
    )
    add_force(suggest)
    check = add_command(
        group,
        "check",
        _check,
        does="list everything in a table that does not fit a domain, with the rows that break its "
        "rules ($impossible, $determined) and the public totals that differ ($rows, $known), which "
        "a release never checks; with --unit, how many rows the units have; the list is not "
        "private",
        examples=[
            "margin domain check people.csv domain.json",
            "margin domain check people.csv domain.json --unit person_id --rows-per-person 3",
            'margin domain check --sql "SELECT * FROM rows" --table rows=people.csv domain.json',
        ],
    )
    add_table(check)
    check.add_argument(
        "domain",
        type=Path,
        metavar="DOMAIN.json",
        help="the file that declares the attributes",
    )
    check.add_argument(
        "--unit",
        metavar="COLUMN",
        help="also check that every row names its unit (such as a person) in this column, as "
        "margin release --unit requires, and count the rows of the units",
    )
    check.add_argument(
        "--rows-per-person",
        type=int,
        metavar="M",
        help="with --unit: count the rows that a release with at most M rows of each unit leaves "
        "out, and compare $rows and $known with all rows that it may draw",
    )
    add_known(check)


def _suggest(parsed: argparse.Namespace) -> Said:
    from ..data.suggest import suggest_domain

    if parsed.output is not None:
        check_free(parsed.output, parsed)
    draft = suggest_domain(table_of(parsed))
    _warn("this draft is derived from the data, so it is not private; review it")
    # One attribute per line.
    lines = []
    for key, form in draft.items():
        lines.append(f"  {json.dumps(key)}: {json.dumps(form, ensure_ascii=False)}")
    inner = ",\n".join(lines)
    text = f"{{\n{inner}\n}}"
    if parsed.output is None:
        return Said(text, draft)
    with replacing(parsed.output) as file:
        file.write(f"{text}\n".encode())
    return Said(f"{parsed.output}: the draft of a domain", draft, is_kept=True)


def _check(parsed: argparse.Namespace) -> Said:
    from ..bases.known import with_known
    from ..data.checks.fit import check_fit
    from ..domain.domain import DRAFT, read_draft

    if parsed.file is None and parsed.sql is None and parsed.domain.name.endswith(_TABLES):
        raise FileError(
            f"a table and the file of its domain must be given, but only {str(parsed.domain)!r} "
            "is; write the domain behind it, as in margin domain check people.csv domain.json"
        )
    data = table_of(parsed)
    domain, is_draft = read_draft(parsed.domain)
    if is_draft:
        _warn(
            f"{parsed.domain} is a draft derived from the data, which no release accepts; review "
            f'it, then delete its line "{DRAFT}"'
        )
    known = known_of(parsed.known)
    if known is not None:
        domain = with_known(domain, known)
    found = check_fit(data, domain, unit=parsed.unit, rows_per_person=parsed.rows_per_person)
    lines = [f"  {one.line()}" for one in found.unread]
    for misfit in found.misfits:
        lines += [f"  {misfit.column}: {line}" for line in misfit.lines()]
    lines += [f"  {statement.line()}" for statement in found.false]
    lines += [f"  {line}" for line in _unchecked(found)]
    listed = {misfit.column for misfit in found.misfits}
    for one in found.gathered:
        if one.line() and one.column not in listed:
            lines.append(f"  {one.column}: {one.line()}")
    if found.units is not None:
        lines.append(f"  {parsed.unit}: {found.units.line()}")
    if any(misfit.values for misfit in found.misfits):
        lines.append(_SAFE)
    heading = _heading(domain, found, parsed.unit)
    # JSON states it as `output_may_be_published`.
    if lines and not parsed.json:
        _warn("this list is derived from the data, so it is not private; keep it on this machine")
    text = "\n".join([f"{parsed.file or 'the query'}: {heading}", *map(printable, lines)])
    said = {
        "fits": found.fits,
        "rows": found.rows,
        "draft": is_draft,
        "unit": parsed.unit,
        "output_may_be_published": False,
        "attributes": [misfit.to_json() for misfit in found.misfits],
        "statements": [vars(statement) for statement in found.false],
        "rows_against_rules": found.rows_against_rules,
        "unchecked": [vars(one) for one in found.unchecked],
        "units": None if found.units is None else vars(found.units),
        "gathered": [vars(one) for one in found.gathered],
        "unreadable": [vars(one) for one in found.unread],
    }
    return Said(text, said, code=0 if found.fits else 2)


def _heading(domain: "margin.Domain", found: "Fit", unit: str | None) -> str:
    """What was looked at, and how much of it does not fit."""
    misfits = [misfit for misfit in found.misfits if not misfit.fits]
    wrong = sum(not misfit.is_unit for misfit in misfits)
    if found.rows_against_rules is None:
        return "it cannot be read"
    if found.rows == 0 and found.fits:
        return f"it has no rows, so nothing was compared with the {len(domain)} attributes"
    parts = [f"all {len(domain)} attributes fit"]
    if wrong:
        parts = [f"{wrong} of {len(domain)} attributes do not fit"]
    if found.unread:
        lost = len(found.unread)
        parts = [f"{lost:,} file{'' if lost == 1 else 's'} cannot be read", f"else {parts[0]}"]
    if unit is not None:
        named = wrong == len(misfits)
        parts.append(f"{'every row names' if named else 'not every row names'} its unit")
    if domain.impossible or domain.determined:
        rows = found.rows_against_rules
        broken = f"{rows:,} row breaks" if rows == 1 else f"{rows:,} rows break"
        unchecked = sum(one.kind != "known" for one in found.unchecked)
        checked = len(domain.impossible) + len(domain.determined) - unchecked
        if checked:
            which = "a rule that was checked" if unchecked else "a rule"
            parts.append(f"{broken if rows else 'no row breaks'} {which}")
        if unchecked:
            parts.append(f"{_counted(unchecked, 'rule')} not checked")
    totals = [statement for statement in found.false if statement.kind in ("rows", "known")]
    if any(statement.kind == "rows" or statement.differing for statement in totals):
        parts.append("public totals differ")
    elif totals:
        parts.append("a draw decides whether public totals agree")
    elif any(one.kind == "known" for one in found.unchecked):
        parts.append("not all public totals were checked")
    elif domain.rows is not None and (unit is None or not misfits):
        parts.append("public totals agree")
    return "; ".join(parts)


def _unchecked(found: "Fit") -> list[str]:
    """How many rules and known tables were not checked for lack of each set of columns."""
    numbers: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for one in found.unchecked:
        kind = "known table" if one.kind == "known" else "rule"
        numbers[kind, tuple(one.columns)] += 1
    lines = []
    for (kind, columns), number in numbers.items():
        named = ", ".join(map(repr, columns))
        lack = f"column {named} is" if len(columns) == 1 else f"columns {named} are"
        lines.append(f"{_counted(number, kind)} not checked: {lack} missing or cannot be read")
    return lines


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun} was" if number == 1 else f"{number:,} {noun}s were"


def _warn(text: str) -> None:
    """Print a warning, so that it is not part of the output."""
    print(painted(f"margin: {text}", "beware", sys.stderr), file=sys.stderr)
