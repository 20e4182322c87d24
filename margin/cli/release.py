"""The commands that look at a private table: margin release, and margin domain suggest, which is
not private."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import margin

from ..errors import FileError, MarginError
from .budget import add_budget, add_unit, budget_of
from .common import Said, add_command, add_force, add_group, check_free, painted
from .ledger import charged
from .mechanisms import add_options, mechanism_of
from .workload import add_workload, views_of, workload_of

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add both to the parsers of a command line."""
    new = add_command(
        commands,
        "release",
        _release,
        does="make a private synopsis of a table",
        examples=[
            "margin release people.csv --domain domain.json --epsilon 1 -o people.margin",
            "margin release people.parquet --domain domain.json --rho 0.1 --workload 2way -o people.margin",
            "margin release people.csv --domain domain.json --epsilon 1 --unit person_id --max-rows 3 -o people.margin",
            "margin release people.csv --domain domain.json --epsilon 1 --ledger agency.db --dataset people "
            "-o people.margin",
            "margin release people.csv --domain domain.json --epsilon 1 --mechanism 'HighPass(theta=9)' -o c.margin",
            "margin release --sql \"SELECT * FROM 'people.parquet'\" --domain domain.json --epsilon 1 -o people.margin",
            'margin release --sql "SELECT * FROM rows" --table rows=people.csv --domain domain.json --epsilon 1 '
            "-o people.margin",
        ],
    )
    new.add_argument(
        "file",
        nargs="?",
        help="CSV, Parquet or JSON; a folder or 'pattern*.csv' of these; or leave out, with --sql",
    )
    new.add_argument(
        "--sql",
        metavar="SELECT",
        help="instead of a file: a query, such as \"SELECT * FROM 'x.parquet'\"",
    )
    new.add_argument(
        "--attach",
        metavar="DATABASE",
        help="where the query runs: a DuckDB file, or postgres:host=... dbname=...",
    )
    new.add_argument(
        "--table",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a file that the query calls NAME; the cells of CSV and JSON are texts. Once for each file",
    )
    new.add_argument(
        "--memory-limit",
        default="1GB",
        metavar="SIZE",
        help="the most that a query takes; default: 1GB",
    )
    add_unit(new)
    new.add_argument(
        "--domain", type=Path, required=True, help="JSON file that declares the attributes"
    )
    add_budget(new)
    new.add_argument("--ledger", type=Path, help="charge this ledger first; with --dataset")
    new.add_argument("--dataset", help="the name of the data set in the ledger")
    new.add_argument(
        "--views",
        nargs="+",
        metavar="A,B,C",
        help="attributes of each view, or a JSON file with a list of lists",
    )
    add_options(new)
    add_workload(new, default=None)
    new.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT.margin", help="the file to write"
    )
    add_force(new)

    suggest = add_command(
        add_group(commands, "domain", "work on domains"),
        "suggest",
        _suggest,
        does="draft a domain from a file; not private, to be reviewed",
        examples=["margin domain suggest people.csv > draft.json"],
    )
    suggest.add_argument("file", type=Path, help="CSV, Parquet or JSON")


def _release(parsed: argparse.Namespace) -> Said:
    budget = budget_of(parsed)
    domain = margin.Domain(parsed.domain)
    mechanism = mechanism_of(
        parsed, domain, None if parsed.views is None else views_of(parsed.views)
    )
    check_free(parsed.output, parsed)
    data = _data(parsed)
    ledger = charged(parsed.ledger, parsed.dataset)
    unit: dict[str, Any] = {"unit": parsed.unit, "max_rows": parsed.max_rows}
    asked = None if parsed.workload is None else workload_of(domain, parsed.workload)
    synopsis = margin.release(
        data,
        domain=domain,
        budget=budget,
        mechanism=mechanism,
        workload=asked,
        ledger=ledger,
        **unit,
    )
    _save(synopsis, parsed.output)
    summary = synopsis.summary()
    title, text = next(iter(summary.items()))
    provenance = synopsis.provenance
    assert provenance is not None
    return Said(
        f"{parsed.output}: {text.split()[0].rstrip(',')} {title}; {synopsis.spent.describe()}",
        {
            "output": str(parsed.output),
            "guarantee": synopsis.spent.describe(),
            "spent": synopsis.spent.to_json(),
            "statement": provenance.statement.to_json(),
            "mechanism": provenance.mechanism,
            "summary": summary,
        },
    )


def _save(synopsis: "margin.Synopsis", path: Path) -> None:
    """Write the release. If that fails, the budget is gone all the same, and the message says so."""
    lost = f"the release was made, and its budget spent, but {str(path)!r} has not been written"
    try:
        synopsis.save(path)
    except FileError as error:
        problem = str(error)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {lost}") from None
    else:
        return
    raise FileError(f"{problem}; {lost}")


def _data(parsed: argparse.Namespace) -> object:
    """The file, or the query."""
    if (parsed.file is None) == (parsed.sql is None):
        raise MarginError("give either a file or --sql, not both")
    if parsed.sql is not None:
        files = dict(map(_named, parsed.table))
        return margin.Sql(
            parsed.sql, attach=parsed.attach, memory_limit=parsed.memory_limit, files=files
        )
    if parsed.attach is not None:
        raise MarginError("--attach says where a query runs: give one with --sql")
    if parsed.table:
        raise MarginError("--table names a file for a query: give one with --sql")
    return parsed.file


def _named(text: str) -> tuple[str, str]:
    """The name and the path of a table."""
    name, separator, path = text.partition("=")
    if not (name and separator and path):
        raise MarginError(f"--table {text!r} must be NAME=FILE, such as visits=visits.csv")
    return name, path


def _suggest(parsed: argparse.Namespace) -> Said:
    from ..data.suggest import suggest_domain

    draft = suggest_domain(parsed.file)
    beware = "margin: this draft is derived from the data and not private; review it before use"
    print(painted(beware, "beware", sys.stderr), file=sys.stderr)
    inner = ",\n".join(
        f"  {json.dumps(key)}: {json.dumps(form, ensure_ascii=False)}"
        for key, form in draft.items()
    )
    return Said(f"{{\n{inner}\n}}", draft)
