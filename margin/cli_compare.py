"""The command `margin compare`: mechanisms side by side on one's own table, as a simulation that is not private."""

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .budget import Budget
from .cli_mechanisms import PLAIN
from .cli_workload import add_workload, workload_of
from .compare import compare
from .domain import Domain
from .errors import FileError, MarginError
from .mechanisms import PriView

__all__ = ["COMPARED", "add_commands"]

COMPARED: Mapping[str, Callable[[], Any]] = {"priview": PriView, **PLAIN}
_DEFAULT = "priview,priview-paper,optimised,direct,uniform"


def add_commands(
    commands: Any, add_budget: Callable[[argparse.ArgumentParser], None], budget: Callable[[argparse.Namespace], Budget]
) -> None:
    """Add it to the parsers of a command line."""
    comparing = commands.add_parser(
        "compare", help="simulate mechanisms on a table and compare their answers with the truth; not private"
    )
    comparing.add_argument("file", type=Path, help="CSV or Parquet; best a public table that is like the private one")
    comparing.add_argument("--domain", type=Path, required=True, help="JSON file that declares the attributes")
    add_budget(comparing)
    comparing.add_argument(
        "--mechanisms", default=_DEFAULT, metavar="A,B,...", help=f"of {', '.join(COMPARED)}; default: {_DEFAULT}"
    )
    add_workload(comparing)
    comparing.add_argument("--runs", type=int, default=3, help="how often each, with other noise; default: 3")
    comparing.add_argument("--picture", type=Path, metavar="OUT.png", help="also draw the spread of the errors")
    comparing.add_argument("--json", action="store_true", help="print JSON")
    comparing.set_defaults(command=lambda parsed: _compare(parsed, budget(parsed)))


def _compare(parsed: argparse.Namespace, budget: Budget) -> str:
    domain = Domain(parsed.domain)
    names = parsed.mechanisms.split(",")
    if unknown := [name for name in names if name not in COMPARED]:
        raise MarginError(f"there is no mechanism {unknown[0]!r} to compare; there are {', '.join(COMPARED)}")
    found = compare(
        parsed.file,
        domain=domain,
        budget=budget,
        mechanisms={name: COMPARED[name]() for name in names},
        workload=workload_of(domain, parsed.workload),
        runs=parsed.runs,
    )
    if parsed.picture is not None:
        _draw(found, parsed.picture)
    return json.dumps(found.to_json(), indent=1) if parsed.json else str(found)


def _draw(found: Any, path: Path) -> None:
    figure = found.plot()
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise FileError(f"{str(path)!r} cannot be written: {type(error).__name__}") from None
