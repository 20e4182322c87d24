"""The commands `margin plan` and `margin design`, which need no data."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import margin

from ..errors import MarginError
from .arguments.budget import add_budget, budget_of
from .arguments.known import add_known, known_of
from .arguments.workload import USUAL, add_workload, workload_of
from .common import (
    Said,
    add_command,
    add_domain,
    budget_values,
    titled,
)
from .outputs import add_force, check_picture, draw

if TYPE_CHECKING:
    from ..plan import Expectation, Plan

__all__ = ["add_commands"]


_NO_TABLES = -1
"""The value of --tables that stands for its absence; None is that of --tables without a number."""


def add_commands(commands: Any) -> None:
    """Add `margin plan` and `margin design` to the parser of the command line."""
    _add_plan(commands)
    _add_design(commands)


def _add_plan(commands: Any) -> None:
    planning = add_command(
        commands,
        "plan",
        _plan,
        does="print the expected error of each mechanism; needs no data and spends no budget",
        examples=[
            "margin plan --domain domain.json --epsilon 1",
            "margin plan --domain domain.json --rho 0.1 --workload age,sex sex,region "
            "--picture plan.png",
            "margin plan --domain domain.json --rho 0.1 --rows 50000 --structure weak",
            "margin plan --domain domain.json --epsilon 1 --workload 2way --copy 3",
            "margin plan --domain domain.json --epsilon 1 --workload age,sex region --tables",
            "margin plan --domain domain.json --epsilon 1 --known states.csv",
        ],
    )
    add_domain(planning)
    add_budget(planning)
    add_workload(planning, default=None, words=f"{USUAL}, as for margin release")
    add_known(planning)
    planning.add_argument(
        "--rows",
        type=float,
        metavar="N",
        help="the approximate number of rows, if it is public; then the candidates of the "
        "mechanism Auto are listed too",
    )
    planning.add_argument(
        "--structure",
        choices=("weak", "medium", "strong"),
        default="medium",
        help="with --rows: how strongly the attributes depend on each other; default: medium",
    )
    planning.add_argument(
        "--copy",
        type=int,
        metavar="N",
        help="print only what --mechanism of margin release takes for row N of the plan",
    )
    planning.add_argument(
        "--tables",
        type=int,
        nargs="?",
        default=_NO_TABLES,
        metavar="N",
        help="also print the expected error of each table, by the mechanism of row N; default: the "
        "row with a star, or row 1",
    )
    planning.add_argument(
        "--picture",
        type=Path,
        metavar="OUT.png",
        help="also draw the expected error of each mechanism, as PNG, SVG or PDF",
    )
    add_force(planning)


def _add_design(commands: Any) -> None:
    design = add_command(
        commands,
        "design",
        _design,
        does="find few blocks of K out of V points so that every T points lie in a common block",
        examples=["margin design 32 8 2", "margin design 9 6 2 --blocks"],
    )
    design.add_argument(
        "v",
        type=int,
        metavar="V",
        help="number of points",
    )
    design.add_argument(
        "k",
        type=int,
        metavar="K",
        help="number of points in a block",
    )
    design.add_argument(
        "t",
        type=int,
        metavar="T",
        help="number of points that must share a block",
    )
    design.add_argument(
        "--effort",
        type=int,
        default=1,
        metavar="N",
        help="effort of the search; each unit above 1 takes about a second more and may find "
        "fewer blocks; default: 1",
    )
    design.add_argument(
        "--blocks",
        action="store_true",
        help="print only the blocks, one per line",
    )


def _plan(parsed: argparse.Namespace) -> Said:
    from ..bases.known import with_known
    from ..plan import LEFT_OUT, printed, printed_tables  # the command line starts without numpy

    budget = budget_of(parsed)
    domain = margin.Domain(parsed.domain)
    known = known_of(parsed.known)
    if known is not None:
        domain = with_known(domain, known)
    if parsed.picture is not None:
        check_picture(parsed.picture, parsed)
    asked = workload_of(domain, parsed.workload, parsed.asked)
    found = margin.plan(
        domain,
        workload=asked,
        budget=budget,
        rows=parsed.rows,
        structure=parsed.structure,
    )
    # A limit of 1 leaves rows out, too, but the budget does not tell it from no limit.
    limit = [LEFT_OUT] if parsed.rows_per_person == 1 else []
    rows: list[dict[str, Any]] = [
        {
            "name": row.name,
            "squared_error": row.error,
            "missed": row.missed,
            "per_count": row.per_cell,
            "note": row.note or None,
            "default": row.default,
            "mechanism": row.command,
            "python": row.python,
        }
        for row in found.table
    ]
    values = {
        "budget": budget_values(budget),
        "views": [list(view) for view in found.workload.names],
        "mechanisms": rows,
        "odds": found.odds,
        "remarks": [*found.remarks, *limit],
    }
    if parsed.copy is not None:
        return Said(_row(found, parsed.copy, "--copy").command or "", values)
    text = "\n".join([printed(found, _copied, _hints(parsed, found)), *limit])
    if parsed.tables != _NO_TABLES:
        number = found.first if parsed.tables is None else parsed.tables
        _row(found, number, "--tables")
        text += f"\n\nthe tables, by row {number}:\n{printed_tables(found, number)}"
        for place, values_of_row in enumerate(rows, 1):
            values_of_row["tables"] = _tables(found, place)
    if parsed.picture is None:
        return Said(text, values)
    draw(found.plot().figure, parsed.picture)
    return Said(f"{text}\n\n{parsed.picture}", values | {"picture": str(parsed.picture)})


def _tables(found: "Plan", number: int) -> list[dict[str, Any]] | None:
    """The expected error of each table by the mechanism of a row; None if it is not known."""
    try:
        tables = found.tables(number)
    except MarginError:  # the mechanism cannot handle the workload, or chooses from the data
        return None
    return [
        {
            "view": list(table.view),
            "cells": table.counts,
            "published": table.published,
            "typical_error": table.typical_error,
            "largest_error": table.largest_error,
            "reconstructed": table.reconstructed,
        }
        for table in tables
    ]


def _row(found: "Plan", number: int, option: str) -> "Expectation":
    """The row of a plan that an option names."""
    if not 1 <= number <= len(found.table):
        raise MarginError(
            f"{option} ({number}) must be the number of a row, from 1 to {len(found.table)}; run "
            f"margin plan without {option} to see the rows"
        )
    return found.table[number - 1]


def _copied(row: "Expectation", number: int) -> str:
    """The line of a plan with the options that choose a mechanism."""
    from ..plan import LONGEST

    words = row.command or ""
    if len(words) > LONGEST:
        return f"(long: add --copy {number})"
    return f"--mechanism {_quoted(words)}"


def _hints(parsed: argparse.Namespace, found: "Plan") -> tuple[str, str, str]:
    """The lines below a plan: what to do with the options, and what the star means."""
    # A mechanism of one's own choice needs the views; what `margin release` takes are all k-way.
    given = parsed.workload or [f"{len(found.workload.views[0])}way"]
    workload = f"--workload {' '.join(_quoted(word) for word in given)}"
    if parsed.asked:
        workload += f" --asked {' '.join(_quoted(word) for word in parsed.asked)}"
    for path in parsed.known:
        workload += f" --known {_quoted(str(path))}"
    star = (
        "*: the first choice of margin release for this workload and number of rows, "
        "unless it learns better"
    )
    return (
        f"copy --mechanism into margin release, with {workload}",
        star,
        "add --rows to see the first choice of margin release",
    )


def _quoted(text: str) -> str:
    """A text as one argument for a shell, a mechanism always in quotes; the quotes are double if
    the text has single ones and nothing that a shell replaces within double quotes."""
    quoted = shlex.quote(text)
    if quoted == text and "(" not in text:
        return text
    if "'" in text and not set(text) & set('"$`\\!'):
        return f'"{text}"'
    return f"'{text}'" if quoted == text else quoted


def _design(parsed: argparse.Namespace) -> Said:
    v, k, t = parsed.v, parsed.k, parsed.t
    problem = ""
    try:
        design = margin.designs.covering_design(v, k, t, effort=parsed.effort)
    except ValueError as error:
        problem = str(error)
    if problem:
        raise MarginError(problem)
    known = margin.designs.best_known(v, k, t)
    bound = margin.designs.schonheim_bound(v, k, t)
    # For some designs that are larger than the bound, the table says that none is smaller.
    by_table = known is not None and known.optimal and design.size == known.size
    values = {
        "blocks": [[int(point) for point in block] for block in design.blocks],
        "provenance": str(design.provenance),
        "best_known": None if known is None else known.size,
        "bound": bound,
        "optimal": by_table or design.size == bound,
    }
    blocks = "\n".join(" ".join(map(str, block)) for block in design.blocks)
    if parsed.blocks:
        return Said(blocks, values)
    if design.size == bound:
        above = "no smaller design exists"
    else:
        above = f"the design is {100 * (design.size / bound - 1):.1f} % larger"
        if by_table:
            above += ", but best possible: the table says that no smaller design exists"
    lines = {
        "size": f"{design.size} block{'' if design.size == 1 else 's'}, from {design.provenance}",
        "best known": "not in the table" if known is None else f"{known.size} ({known.source})",
        "bound": f"{bound} (Schonheim): {above}",
    }
    return Said(f"{blocks}\n\n{titled(lines)}", values)
