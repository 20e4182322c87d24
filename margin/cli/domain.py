"""The commands `margin domain suggest` and `margin domain check`. Their output is not private."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from .._replace import replacing
from ..errors import FileError
from .arguments.table import add_table, table_of
from .common import Said, add_command, add_force, add_group, check_free, painted, printable

__all__ = ["add_commands"]

_TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq")
"""Endings of the names of tables. A JSON file may be a domain."""


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
        does="list everything in a table that does not fit a domain; the list is not private",
        examples=[
            "margin domain check people.csv domain.json",
            "margin domain check people.csv domain.json --unit person_id",
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
        "margin release --unit requires",
    )


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
    from ..data.fit import check_fit
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
    found = check_fit(data, domain, unit=parsed.unit)
    misfits = [misfit for misfit in found if not misfit.fits]
    values = []
    lines = []
    for misfit in found:
        values.append({**vars(misfit), "values": [list(shown) for shown in misfit.values]})
        lines += [f"  {misfit.column}: {line}" for line in misfit.lines()]
    wrong = sum(not misfit.is_unit for misfit in misfits)
    heading = f"all {len(domain)} attributes fit"
    if wrong:
        heading = f"{wrong} of {len(domain)} attributes do not fit"
    if parsed.unit is not None:
        named = wrong == len(misfits)
        heading += f"; {'every row names' if named else 'not every row names'} its unit"
    if found:
        _warn("this list is derived from the data, so it is not private; keep it on this machine")
    text = "\n".join([f"{parsed.file or parsed.sql}: {heading}", *map(printable, lines)])
    said = {
        "fits": not misfits,
        "draft": is_draft,
        "unit": parsed.unit,
        "output_may_be_published": False,
        "attributes": values,
    }
    return Said(text, said, code=2 if misfits else 0)


def _warn(text: str) -> None:
    """Print a warning, so that it is not part of the output."""
    print(painted(f"margin: {text}", "beware", sys.stderr), file=sys.stderr)
