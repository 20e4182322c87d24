"""The command line of planning: margin plan | design. Neither looks at any data."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .budget import Budget
from .cli_workload import add_workload, workload_of
from .designs import best_known, covering_design, schonheim_bound
from .domain import Domain
from .errors import FileError, MarginError
from .plan import plan

__all__ = ["add_commands"]


def add_commands(
    commands: Any, add_budget: Callable[[argparse.ArgumentParser], None], budget: Callable[[argparse.Namespace], Budget]
) -> None:
    """Add `plan` and `design` to the commands; `add_budget` adds the options of which `budget` makes a budget."""
    planning = commands.add_parser("plan", help="what each mechanism is expected to give, before anything is spent")
    planning.add_argument("--domain", type=Path, required=True, help="JSON file that declares the attributes")
    add_budget(planning)
    add_workload(planning)
    planning.add_argument("--picture", type=Path, metavar="OUT.png", help="also draw error against cell limit")
    planning.set_defaults(command=lambda parsed: _plan(parsed, budget(parsed)))

    design = commands.add_parser("design", help="few blocks of K points out of V that hold every T points together")
    for name, help_text in (("v", "points"), ("k", "points of a block"), ("t", "points that must lie together")):
        design.add_argument(name, type=int, metavar=name.upper(), help=help_text)
    design.add_argument("--effort", type=int, default=1, metavar="N", help="length of the search; default: 1")
    design.add_argument("--blocks", action="store_true", help="print the blocks only, a line each")
    design.set_defaults(command=_design)


def _plan(parsed: argparse.Namespace, budget: Budget) -> str:
    domain = Domain(parsed.domain)
    found = plan(domain, workload=workload_of(domain, parsed.workload), budget=budget)
    if parsed.picture is not None:
        axes = found.plot()
        try:
            axes.figure.savefig(parsed.picture, dpi=150)
        except (OSError, ValueError) as error:
            problem = str(error)
        else:
            return f"{found}\n\n{parsed.picture}"
        raise FileError(f"{str(parsed.picture)!r} cannot be written: {problem}")
    return str(found)


def _design(parsed: argparse.Namespace) -> str:
    v, k, t = parsed.v, parsed.k, parsed.t
    problem = ""
    try:
        design = covering_design(v, k, t, effort=parsed.effort)
    except ValueError as error:
        problem = str(error)
    if problem:
        raise MarginError(problem)
    blocks = "\n".join(" ".join(map(str, block)) for block in design.blocks)
    if parsed.blocks:
        return blocks
    known = best_known(v, k, t)
    bound = schonheim_bound(v, k, t)
    lines = {
        "size": f"{design.size} blocks, from {design.provenance}",
        "best known": "not in the table" if known is None else f"{known.size} ({known.source})",
        "bound": f"{bound} (Schonheim): the size is {100 * (design.size / bound - 1):.1f} % above",
    }
    return "\n".join([blocks, "", *(f"{title:<12}{line}" for title, line in lines.items())])
