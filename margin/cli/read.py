"""The commands `margin marginal` and `margin info`, which print the content of a .margin file."""

import argparse
import csv
import io
import itertools
import json
import math
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import margin

from .arguments.categories import add_categories
from .arguments.workload import names_in
from .common import (
    Said,
    add_command,
    add_spreadsheet,
    add_synopsis,
    explained,
    left_out,
    measured_views,
    opened,
    painted,
    printable,
    spent_of,
    titled,
)

if TYPE_CHECKING:
    from ..domain.attribute import Value
    from ..privacy.event import Course

__all__ = ["add_commands"]

_SHOWN = 1000
"""Shares of the budget below one over this number are shown as "< 0.1 %"."""

_COLUMNS = ("count", "low", "high", "noise_sd", "missed_sd")


def add_commands(commands: Any) -> None:
    """Add `margin marginal` and `margin info` to the parser of the command line."""
    _add_marginal(commands)
    _add_info(commands)


def _add_marginal(commands: Any) -> None:
    ask = add_command(
        commands,
        "marginal",
        _marginal,
        does="print a marginal: the counts of all combinations of the values of some attributes",
        examples=[
            "margin marginal people.margin age sex",
            "margin marginal people.margin sex --format csv > sex.csv",
            "margin marginal people.margin age sex --json",
            "margin marginal visits.margin place@state sex",
        ],
    )
    add_synopsis(ask)
    add_categories(ask)
    attributes: Any = ask.add_argument(
        "attributes",
        nargs="+",
        metavar="ATTRIBUTE",
        help="the attributes to count by, or levels of them such as place@state, with blanks or "
        "commas between them; margin info "
        "FILE.margin lists them",
    )
    attributes.completer = _attributes
    ask.add_argument(
        "--format",
        choices=["table", "csv", "json"],
        default="table",
        help="the form of the output; default: table",
    )
    add_spreadsheet(ask)


def _add_info(commands: Any) -> None:
    info = add_command(
        commands,
        "info",
        _info,
        does="print the attributes, the privacy guarantee and the origin of a .margin file",
        examples=[
            "margin info people.margin",
            "margin info people.margin --json",
            "margin info people.margin --registry > people.yaml",
        ],
    )
    add_synopsis(info)
    info.add_argument(
        "--registry",
        action="store_true",
        help="print the draft of an entry for the Differential Privacy Deployments Registry",
    )


def _attributes(parsed_args: argparse.Namespace, **_: object) -> Sequence[str]:
    """The attributes that a shell offers after the name of the file."""
    parsed_args.allow_simulation = True
    domain = opened(parsed_args).domain
    return (*domain.attributes, *domain.level_names)


def _marginal(parsed: argparse.Namespace) -> Said:
    from ..publication.apart import told_apart

    synopsis = opened(parsed)
    names = [name for text in parsed.attributes for name in names_in(synopsis.domain, text)]
    marginal = synopsis.marginal([name for name in names if name])
    source = synopsis.source(marginal.attributes)
    made = {"source": source.value, "left_out": left_out(synopsis) or None}
    values = {**json.loads(marginal.to_json()), **made}
    if parsed.format == "csv":
        text = _for_spreadsheets(marginal) if parsed.spreadsheet else _as_csv(marginal, _unchanged)
    elif parsed.format == "json":
        text = json.dumps(values, ensure_ascii=False)
    else:
        has_bounds = not any(map(math.isnan, marginal.variance.flat))
        meaning = explained(synopsis, source, has_bounds=has_bounds)
        apart = textwrap.fill(told_apart(synopsis, marginal.attributes), 88)
        text = f"{_as_table(marginal)}\n{meaning}\n{apart}".rstrip()
    return Said(text, values)


def _info(parsed: argparse.Namespace) -> Said:
    from ..domain.level_views import attribute_at
    from ..privacy.statement import OTHER_RELEASES, not_protected
    from ..privacy.strength import given, spent_before, strength
    from ..privacy.words import how_strong
    from ..store import FORMAT

    synopsis = opened(parsed)
    if parsed.registry:
        from ..publication import registry_entry

        entry = registry_entry(synopsis)
        return Said(json.dumps(entry, indent=1, ensure_ascii=False), entry)
    provenance = synopsis.provenance
    assert provenance is not None
    mechanism = provenance.mechanism
    statement = provenance.statement
    summary = synopsis.summary()
    lines = {}
    if provenance.description is not None:
        lines["about"] = provenance.description
    if provenance.private:
        # The sum with earlier releases stands first: this release alone has a smaller number.
        earlier = spent_before(statement, provenance.base, synopsis.domain)
        if earlier:
            lines["adds up"] = earlier
        lines["guarantee"] = statement.guarantee
        lines["protects"] = f"{statement.whom} {OTHER_RELEASES}"
        strong = how_strong(statement, synopsis.domain, base=provenance.base)
        lines["strength"] = strong.removeprefix("Strength: ")
        more = {
            "unprotected": not_protected(synopsis.domain),
            "given": given(statement, synopsis.domain, provenance.base),
        }
        lines |= {title: text for title, text in more.items() if text}
    else:
        lines["guarantee"] = "none: this is a simulation, which is not private"
    kind = mechanism["name"] if isinstance(mechanism, dict) else mechanism
    lines["mechanism"] = str(kind)
    lines["written by"] = f"margin {provenance.version}, as a file of format {FORMAT}"
    if provenance.course is not None and provenance.course.steps:
        lines["charged"] = _charged(provenance.course)
    sizes = [f"{name} ({attribute.size})" for name, attribute in synopsis.domain.items()]
    lines["attributes"] = ", ".join(sizes)
    if synopsis.domain.level_names:
        lines["levels"] = ", ".join(
            f"{name} ({attribute_at(synopsis.domain, name).size})"
            for name in synopsis.domain.level_names
        )
    lines |= _stated(synopsis.domain)
    lines["declared"] = f"domain {statement.domain}"
    lines |= summary
    values = {
        "description": provenance.description,
        "private": provenance.private,
        "guarantee": statement.guarantee,
        "spent": spent_of(synopsis),
        "statement": statement.to_json(),
        "strength": asdict(strength(statement, synopsis.domain)),
        "base": provenance.base,
        "mechanism": mechanism,
        "course": None if provenance.course is None else provenance.course.to_json(),
        "version": provenance.version,
        "domain": json.loads(synopsis.domain.to_json()),
        "summary": summary,
        "views": measured_views(synopsis),
    }
    return Said(titled(lines), values)


def _charged(course: "Course") -> str:
    """How the budget was divided, as a line for each step of a run, and one for what was left."""
    lines = []
    left = course.units
    for step in course.steps:
        left -= step.units
        answers = f"{step.answers:,} answer{'' if step.answers == 1 else 's'} of {step.method}"
        said = f"{answers}: {step.purpose}" if step.purpose else answers
        lines.append(f"{_percent(step.units, course.units)}  {printable(said)}")
    if left * _SHOWN > course.units:
        lines.append(f"{_percent(left, course.units)}  not used, but spent")
    return "\n".join(lines)


def _percent(units: int, whole: int) -> str:
    share = 100 * units / whole if whole else 0.0
    return f"{share:5.1f} %" if share >= 100 / _SHOWN or not units else "< 0.1 %"


def _stated(domain: "margin.Domain") -> dict[str, str]:
    """What a domain declares besides its categories: what attributes say, the impossible cells, the
    public number of rows and the known tables, as texts by their titles."""
    from ..domain.rules import rule_in_words

    lines = {}
    described = {name: form.description for name, form in domain.items() if form.description}
    if described:
        lines["meaning"] = "\n".join(f"{name}: {told}" for name, told in described.items())
    if domain.impossible:
        lines["impossible"] = "\n".join(map(rule_in_words, domain.impossible))
    if domain.determined:
        forms = domain.determined.items()
        by = [form if isinstance(form, str) else next(iter(form)) for _, form in forms]
        pairs = zip(domain.determined, by, strict=True)
        lines["determined"] = "\n".join(f"{name} by {other}" for name, other in pairs)
    if domain.rows is not None:
        lines["rows"] = f"{domain.rows:,}, declared as public"
    if domain.known:
        tables = domain.known.items()
        listed = [f"{', '.join(names)} ({table.size:,} counts)" for names, table in tables]
        lines["known"] = "\n".join(listed)
    return lines


def _rows(marginal: "margin.Marginal") -> "Iterator[tuple[tuple[Value, ...], list[float | None]]]":
    """Each cell: its categories, and its numbers in the order of `_COLUMNS`, None if unknown."""
    kinds = [attribute.names for attribute in marginal.domain.values()]
    from ..domain.exports import uncertainty

    columns = {"count": marginal.counts, **uncertainty(marginal)}
    numbers = zip(*(columns[name].flat for name in _COLUMNS), strict=True)
    for labels, cell in zip(itertools.product(*kinds), numbers, strict=True):
        yield labels, [None if math.isnan(number) else float(number) for number in cell]


def _as_table(marginal: "margin.Marginal") -> str:
    """Write a marginal as a table for people: labels on the left, numbers on the right."""
    rows = [[*map(printable, marginal.attributes), "count", "low", "high"]]
    for labels, numbers in _rows(marginal):
        shown = ["" if number is None else f"{number:,.1f}" for number in numbers[:3]]
        rows.append([*map(printable, labels), *shown])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    names = len(marginal.attributes)
    lines = []
    for row in rows:
        cells = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            cells.append(cell.ljust(width) if place < names else cell.rjust(width))
        lines.append("  ".join(cells))
    head, *others = lines
    return "\n".join([painted(head, "bold", sys.stdout), *others])


def _unchanged(label: "Value") -> "Value":
    return label


def _for_spreadsheets(marginal: "margin.Marginal") -> str:
    """Write a marginal as CSV for spreadsheets."""
    from ..publication.spreadsheets import BYTE_ORDER_MARK, for_spreadsheet

    text = _as_csv(marginal, for_spreadsheet)
    # An output that is not UTF-8 has no such mark.
    is_utf8 = str(sys.stdout.encoding).lower() in ("utf-8", "utf8")
    return BYTE_ORDER_MARK + text if is_utf8 else text


def _as_csv(marginal: "margin.Marginal", form: "Callable[[Value], Value]") -> str:
    """Write a marginal as CSV. `form` is applied to each name and label."""
    head = _csv_line([*map(form, marginal.attributes), *_COLUMNS])
    lines = [head]
    for labels, numbers in _rows(marginal):
        lines.append(_csv_line([*map(form, labels), *numbers]))
    return "\n".join(lines)


def _csv_line(cells: Sequence[object]) -> str:
    """Write one CSV line, without its line break."""
    # With this line break, `csv` quotes a cell that contains either of its two characters.
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue().removesuffix("\r\n")
