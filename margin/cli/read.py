"""The commands that read a .margin file aloud: margin marginal | info."""

import argparse
import csv
import io
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import margin

from .common import (
    Said,
    add_command,
    add_spreadsheet,
    add_synopsis,
    for_spreadsheet,
    opened,
    painted,
    printable,
    titled,
)

if TYPE_CHECKING:
    from ..domain.attribute import Value

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add both to the parsers of a command line."""
    ask = add_command(
        commands,
        "marginal",
        _marginal,
        does="answer a marginal from a .margin file: the counts of all combinations of some attributes",
        examples=[
            "margin marginal people.margin age sex",
            "margin marginal people.margin sex --format csv > sex.csv",
            "margin marginal people.margin age sex --json",
        ],
    )
    add_synopsis(ask)
    attributes: Any = ask.add_argument(
        "attributes", nargs="+", metavar="ATTRIBUTE", help="see margin info OUT.margin"
    )
    attributes.completer = _attributes
    ask.add_argument(
        "--format", choices=["table", "csv", "json"], default="table", help="default: table"
    )
    add_spreadsheet(ask)

    info = add_command(
        commands,
        "info",
        _info,
        does="say what a .margin file holds and guarantees",
        examples=["margin info people.margin", "margin info people.margin --json"],
    )
    add_synopsis(info)


def _attributes(parsed_args: argparse.Namespace, **_: object) -> Sequence[str]:
    """What a shell offers after the file's name."""
    parsed_args.allow_simulation = True
    return opened(parsed_args).domain.attributes


def _marginal(parsed: argparse.Namespace) -> Said:
    marginal = opened(parsed).marginal(parsed.attributes)
    if parsed.format == "csv":
        text = _as_csv(marginal, for_spreadsheet if parsed.spreadsheet else _unchanged)
    else:
        text = _as_table(marginal) if parsed.format == "table" else marginal.to_json()
    return Said(text, json.loads(marginal.to_json()))


def _info(parsed: argparse.Namespace) -> Said:
    synopsis = opened(parsed)
    provenance = synopsis.provenance
    assert provenance is not None
    kind = (
        provenance.mechanism["name"]
        if isinstance(provenance.mechanism, dict)
        else provenance.mechanism
    )
    summary = synopsis.summary()
    statement = provenance.statement
    none = "none: a simulation, which is not private"
    lines = {
        "guarantee": statement.budget.describe() if provenance.private else none,
        **({"protects": statement.whom} if provenance.private else {}),
        "mechanism": f"{kind}, margin {provenance.version}",
        "attributes": ", ".join(
            f"{name} ({attribute.size})" for name, attribute in synopsis.domain.items()
        ),
        **_stated(synopsis.domain),
        "declared": f"domain {statement.domain}",
        **summary,
    }
    values = {
        "private": provenance.private,
        "guarantee": provenance.spent.describe(),
        "spent": provenance.spent.to_json(),
        "statement": statement.to_json(),
        "mechanism": provenance.mechanism,
        "version": provenance.version,
        "domain": json.loads(synopsis.domain.to_json()),
        "summary": summary,
    }
    return Said(titled(lines), values)


def _stated(domain: "margin.Domain") -> dict[str, str]:
    """What the domain says beside its attributes: texts by their titles."""
    lines = {}
    if domain.impossible:
        rules = [
            " with ".join(f"{name} {_listed(form)}" for name, form in rule.items())
            for rule in domain.impossible
        ]
        lines["impossible"] = "\n".join(rules)
    if domain.rows is not None:
        lines["rows"] = f"{domain.rows:,}, declared to be public"
    return lines


def _listed(form: object) -> str:
    return " or ".join(map(str, form if isinstance(form, list) else [form]))


def _rows(marginal: "margin.Marginal") -> "Iterator[tuple[tuple[Value, ...], float, float | None]]":
    """Cell by cell: categories, count, and the standard error of the noise part where it is known."""
    labels = itertools.product(*(attribute.labels for attribute in marginal.domain.values()))
    for label, count, variance in zip(
        labels, marginal.counts.flat, marginal.variance.flat, strict=True
    ):
        yield label, float(count), None if math.isnan(variance) else math.sqrt(variance)


def _as_table(marginal: "margin.Marginal") -> str:
    rows = [
        (*map(printable, label), f"{count:,.1f}", "" if error is None else f"{error:,.1f}")
        for label, count, error in _rows(marginal)
    ]
    head = (*map(printable, marginal.attributes), "count", "noise sd")
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    names = len(marginal.attributes)
    first, *others = (
        "  ".join(
            cell.ljust(width) if place < names else cell.rjust(width)
            for place, (cell, width) in enumerate(pairs)
        )
        for pairs in (list(zip(row, widths, strict=True)) for row in (head, *rows))
    )
    return "\n".join([painted(first, "bold", sys.stdout), *others])


def _unchanged(label: "Value") -> "Value":
    return label


def _as_csv(marginal: "margin.Marginal", form: "Callable[[Value], Value]") -> str:
    head = _csv_line([*map(form, marginal.attributes), "count", "noise_sd"])
    rows = (_csv_line([*map(form, label), count, error]) for label, count, error in _rows(marginal))
    return "\n".join([head, *rows])


def _csv_line(cells: Sequence[object]) -> str:
    """One line, without its end. Both letters of the usual end are quoted in cells, whatever end
    lines have here."""
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue().removesuffix("\r\n")
