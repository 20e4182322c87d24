"""The command line: margin demo | release | marginal | info | domain suggest | ledger."""

import argparse
import csv
import io
import itertools
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import (
    ZCDP,
    ApproxDP,
    Domain,
    FileError,
    Marginal,
    MarginError,
    PureDP,
    Sql,
    __version__,
    load,
    release,
)
from .attribute import Value
from .budget import Budget, Neighbours
from .cli_compare import add_commands as add_compare_commands
from .cli_ledger import add_commands, charged
from .cli_mechanisms import add_options, mechanism_of
from .cli_plan import add_commands as add_plan_commands
from .cli_records import add_commands as add_record_commands
from .cli_report import add_commands as add_report_commands
from .cli_workload import add_workload, views_of, workload_of
from .progress import shown

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 an unexpected failure, 2 a mistake that the message
    explains."""
    parsed = _parser().parse_args(arguments)
    problem = ""
    try:
        with shown():
            output = parsed.command(parsed)
        if output:
            print(output)
        return 0
    except MarginError as error:
        problem = str(error)
    except KeyboardInterrupt as interrupt:
        problem = str(interrupt) or "interrupted; if noise had been drawn, the budget is spent"
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except Exception as error:
        if parsed.debug:
            raise
        # The text of an unforeseen error may quote the data, so it is not shown unless asked for.
        print(f"margin: internal error ({type(error).__name__}); run again with --debug to see it", file=sys.stderr)
        return 1
    print(f"margin: {problem}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="margin", description="Differentially private release of marginals.")
    parser.add_argument("--version", action="version", version=f"margin {__version__}")
    parser.add_argument(
        "--debug", action="store_true", help="show the full text of unforeseen errors, which may quote the data"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="release a made-up table and show answers beside the truth")
    demo.add_argument("-o", "--output", type=Path, default=Path("demo.margin"), help="default: demo.margin")
    demo.add_argument("--epsilon", default="1", help="default: 1")
    demo.set_defaults(command=_demo)

    new = commands.add_parser("release", help="make a private synopsis of a table")
    new.add_argument(
        "file", nargs="?", help="CSV, Parquet or JSON; a folder or 'pattern*.csv' of these; or leave out, with --sql"
    )
    new.add_argument(
        "--sql", metavar="SELECT", help="instead of a file: a query, such as \"SELECT * FROM 'x.parquet'\""
    )
    new.add_argument(
        "--attach", metavar="DATABASE", help="where the query runs: a DuckDB file, or postgres:host=... dbname=..."
    )
    new.add_argument("--memory-limit", default="1GB", metavar="SIZE", help="the most that a query takes; default: 1GB")
    new.add_argument("--unit", metavar="COLUMN", help="whose a row is: protects all rows of a person, not one row")
    new.add_argument("--max-rows", type=int, metavar="M", help="with --unit: how many rows of a person are counted")
    new.add_argument("--domain", type=Path, required=True, help="JSON file that declares the attributes")
    _add_budget(new)
    new.add_argument("--ledger", type=Path, help="charge this ledger first; with --dataset")
    new.add_argument("--dataset", help="the name of the data set in the ledger")
    new.add_argument(
        "--views", nargs="+", metavar="A,B,C", help="attributes of each view, or a JSON file with a list of lists"
    )
    add_options(new)
    add_workload(new, default=None)
    new.add_argument("-o", "--output", type=Path, required=True, metavar="OUT.margin")
    new.set_defaults(command=_release)

    ask = commands.add_parser("marginal", help="answer a marginal from a .margin file")
    ask.add_argument("file", type=Path, metavar="OUT.margin")
    ask.add_argument("attributes", nargs="+", metavar="ATTRIBUTE")
    ask.add_argument("--format", choices=["table", "csv", "json"], default="table")
    ask.set_defaults(command=_marginal)

    info = commands.add_parser("info", help="what a .margin file holds and guarantees")
    info.add_argument("file", type=Path, metavar="OUT.margin")
    info.set_defaults(command=_info)

    add_commands(commands, _add_budget, _budget)
    add_plan_commands(commands, _add_budget, _budget)
    add_compare_commands(commands, _add_budget, _budget)
    add_report_commands(commands)
    add_record_commands(commands)

    domain = commands.add_parser("domain", help="work on domains").add_subparsers(required=True, metavar="COMMAND")
    suggest = domain.add_parser("suggest", help="draft a domain from a file; not private, to be reviewed")
    suggest.add_argument("file", type=Path)
    suggest.set_defaults(command=_suggest)
    return parser


def _add_budget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--epsilon", help="alone: pure differential privacy")
    parser.add_argument("--delta", help="with --epsilon: approximate differential privacy, spent as zCDP")
    parser.add_argument("--rho", help="instead of --epsilon: zero-concentrated differential privacy")
    parser.add_argument("--rows-per-person", type=int, default=1, metavar="M", help="protect all rows of a person")
    parser.add_argument("--replace-row", action="store_true", help="neighbours replace a row; their number is public")


def _demo(parsed: argparse.Namespace) -> str:
    from .demo import demo

    _check_output(parsed.output)
    return demo(parsed.output, parsed.epsilon)


def _release(parsed: argparse.Namespace) -> str:
    budget = _budget(parsed)
    domain = Domain(parsed.domain)
    mechanism = mechanism_of(parsed, domain, None if parsed.views is None else views_of(parsed.views))
    _check_output(parsed.output)
    data = _data(parsed)
    ledger = charged(parsed.ledger, parsed.dataset)
    unit: dict[str, Any] = {"unit": parsed.unit, "max_rows": parsed.max_rows}
    asked = None if parsed.workload is None else workload_of(domain, parsed.workload)
    synopsis = release(data, domain=domain, budget=budget, mechanism=mechanism, workload=asked, ledger=ledger, **unit)
    synopsis.save(parsed.output)
    title, text = next(iter(synopsis.summary().items()))
    return f"{parsed.output}: {text.split()[0].rstrip(',')} {title}; {synopsis.spent.describe()}"


def _data(parsed: argparse.Namespace) -> object:
    """The file, or the query."""
    if (parsed.file is None) == (parsed.sql is None):
        raise MarginError("give either a file or --sql, not both")
    if parsed.sql is not None:
        return Sql(parsed.sql, attach=parsed.attach, memory_limit=parsed.memory_limit)
    if parsed.attach is not None:
        raise MarginError("--attach says where a query runs: give one with --sql")
    return parsed.file


def _marginal(parsed: argparse.Namespace) -> str:
    marginal = load(parsed.file).marginal(parsed.attributes)
    return {"table": _as_table, "csv": _as_csv, "json": Marginal.to_json}[parsed.format](marginal)


def _info(parsed: argparse.Namespace) -> str:
    synopsis = load(parsed.file)
    provenance = synopsis.provenance
    assert provenance is not None
    kind = provenance.mechanism["name"] if isinstance(provenance.mechanism, dict) else provenance.mechanism
    lines = {
        "guarantee": provenance.spent.describe(),
        "mechanism": f"{kind}, margin {provenance.version}",
        "attributes": ", ".join(f"{name} ({attribute.size})" for name, attribute in synopsis.domain.items()),
        **synopsis.summary(),
    }
    return "\n".join(f"{title:<12}{line}" for title, text in lines.items() for title, line in _titled(title, text))


def _titled(title: str, text: str) -> Iterator[tuple[str, str]]:
    """The lines of a text, the first with its title."""
    for place, line in enumerate(text.split("\n")):
        yield "" if place else title, line


def _suggest(parsed: argparse.Namespace) -> str:
    from .suggest import suggest_domain

    draft = suggest_domain(parsed.file)
    print("margin: this draft is derived from the data and not private; review it before use", file=sys.stderr)
    inner = ",\n".join(f"  {json.dumps(key)}: {json.dumps(form, ensure_ascii=False)}" for key, form in draft.items())
    return f"{{\n{inner}\n}}"


def _budget(parsed: argparse.Namespace) -> Budget:
    unit: dict[str, Any] = {
        "neighbours": Neighbours.REPLACE_ROW if parsed.replace_row else Neighbours.ADD_REMOVE_ROW,
        "rows_per_person": parsed.rows_per_person,
    }
    if parsed.rho is not None:
        if parsed.epsilon is not None or parsed.delta is not None:
            raise MarginError("give either --rho or --epsilon (with or without --delta), not both")
        return ZCDP(parsed.rho, **unit)
    if parsed.epsilon is None:
        raise MarginError("a budget is needed: --epsilon E, --epsilon E --delta D, or --rho R")
    if parsed.delta is None:
        return PureDP(parsed.epsilon, **unit)
    return ApproxDP(parsed.epsilon, parsed.delta, **unit)


def _check_output(path: Path) -> None:
    """Refuse, before anything is spent, a place that cannot be written."""
    if path.is_dir() or not path.parent.is_dir():
        raise FileError(
            f"{str(path)!r} cannot be written: {'it is a folder' if path.is_dir() else 'its folder does not exist'}"
        )
    try:
        trial = path.with_name(f"{path.name}.trial")
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be written: {error.strerror}") from None


def _rows(marginal: Marginal) -> Iterator[tuple[tuple[Value, ...], float, float | None]]:
    """Cell by cell: categories, count, and the standard error of the noise part where it is known."""
    labels = itertools.product(*(attribute.labels for attribute in marginal.domain.values()))
    for label, count, variance in zip(labels, marginal.counts.flat, marginal.variance.flat, strict=True):
        yield label, float(count), None if math.isnan(variance) else math.sqrt(variance)


def _as_table(marginal: Marginal) -> str:
    rows = [
        (*map(str, label), f"{count:,.1f}", "" if error is None else f"{error:,.1f}")
        for label, count, error in _rows(marginal)
    ]
    head = (*marginal.attributes, "count", "noise sd")
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    names = len(marginal.attributes)
    lines = [
        "  ".join(
            cell.ljust(width) if place < names else cell.rjust(width) for place, (cell, width) in enumerate(pairs)
        )
        for pairs in (list(zip(row, widths, strict=True)) for row in (head, *rows))
    ]
    return "\n".join(lines)


def _as_csv(marginal: Marginal) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*marginal.attributes, "count", "noise_sd"])
    writer.writerows([*label, count, error] for label, count, error in _rows(marginal))
    return text.getvalue().rstrip("\n")
