"""The command `margin compare`: mechanisms side by side on one's own table, as a simulation that is
not private."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import margin

from ..errors import MarginError
from .budget import add_budget, budget_of
from .common import Said, add_command, add_force, check_picture, draw, painted
from .mechanisms import PLAIN
from .workload import add_workload, workload_of

__all__ = ["COMPARED", "add_commands"]

COMPARED: Mapping[str, Callable[[], Any]] = {"priview": lambda: margin.PriView(), **PLAIN}
_DEFAULT = "auto,priview,priview-paper,optimised,direct,uniform"


def add_commands(commands: Any) -> None:
    """Add it to the parsers of a command line."""
    comparing = add_command(
        commands,
        "compare",
        _compare,
        does="simulate mechanisms on a table and compare their answers with the truth; not private",
        examples=[
            "margin compare public.csv --domain domain.json --epsilon 1",
            "margin compare public.csv --domain domain.json --epsilon 1 --mechanisms priview,direct --workload 3way "
            "--runs 1 --picture errors.png",
        ],
    )
    comparing.add_argument(
        "file", type=Path, help="CSV or Parquet; best a public table that is like the private one"
    )
    comparing.add_argument(
        "--domain", type=Path, required=True, help="JSON file that declares the attributes"
    )
    add_budget(comparing)
    names: Any = comparing.add_argument(
        "--mechanisms",
        default=_DEFAULT,
        metavar="A,B,...",
        help=f"of {', '.join(COMPARED)}; default: {_DEFAULT}",
    )
    names.completer = lambda **_: list(COMPARED)
    add_workload(comparing)
    comparing.add_argument(
        "--runs", type=int, default=3, help="how often each, with other noise; default: 3"
    )
    comparing.add_argument(
        "--picture", type=Path, metavar="OUT.png", help="also draw the spread of the errors"
    )
    add_force(comparing)


def _compare(parsed: argparse.Namespace) -> Said:
    budget, domain = budget_of(parsed), margin.Domain(parsed.domain)
    names = parsed.mechanisms.split(",")
    if unknown := [name for name in names if name not in COMPARED]:
        raise MarginError(
            f"there is no mechanism {unknown[0]!r} to compare; there are {', '.join(COMPARED)}"
        )
    if parsed.picture is not None:
        check_picture(parsed.picture, parsed)
    found = margin.compare(
        parsed.file,
        domain=domain,
        budget=budget,
        mechanisms={name: COMPARED[name]() for name in names},
        workload=workload_of(domain, parsed.workload),
        runs=parsed.runs,
    )
    beware, *table = str(found).split("\n")
    text = "\n".join([painted(beware, "beware", sys.stdout), *table])
    if parsed.picture is None:
        return Said(text, found.to_json())
    draw(found.plot(), parsed.picture)
    return Said(f"{text}\n{parsed.picture}", found.to_json() | {"picture": str(parsed.picture)})
