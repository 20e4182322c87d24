"""The commands that look at no data: margin plan | design."""

import argparse
from pathlib import Path
from typing import Any

import margin

from ..errors import MarginError
from .budget import add_budget, budget_of
from .common import Said, add_command, add_force, check_picture, draw, titled
from .workload import add_workload, workload_of

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add both to the parsers of a command line."""
    planning = add_command(
        commands,
        "plan",
        _plan,
        does="say what error each mechanism is expected to give, before anything is spent",
        examples=[
            "margin plan --domain domain.json --epsilon 1",
            "margin plan --domain domain.json --rho 0.1 --workload age,sex sex,region --picture plan.png",
            "margin plan --domain domain.json --rho 0.1 --rows 50000 --structure weak",
        ],
    )
    planning.add_argument(
        "--domain", type=Path, required=True, help="JSON file that declares the attributes"
    )
    add_budget(planning)
    add_workload(planning)
    planning.add_argument(
        "--rows",
        type=float,
        metavar="N",
        help="about how many rows there are, if that is public: adds what Auto considers",
    )
    planning.add_argument(
        "--structure",
        choices=("weak", "medium", "strong"),
        default="medium",
        help="what that assumes; default: medium",
    )
    planning.add_argument(
        "--picture", type=Path, metavar="OUT.png", help="also draw error against cell limit"
    )
    add_force(planning)

    design = add_command(
        commands,
        "design",
        _design,
        does="find few blocks of K points out of V that hold every T points together",
        examples=["margin design 32 8 2", "margin design 9 6 2 --blocks"],
    )
    for name, help_text in (
        ("v", "points"),
        ("k", "points of a block"),
        ("t", "points that must lie together"),
    ):
        design.add_argument(name, type=int, metavar=name.upper(), help=help_text)
    design.add_argument(
        "--effort", type=int, default=1, metavar="N", help="length of the search; default: 1"
    )
    design.add_argument("--blocks", action="store_true", help="print the blocks only, a line each")


def _plan(parsed: argparse.Namespace) -> Said:
    budget, domain = budget_of(parsed), margin.Domain(parsed.domain)
    if parsed.picture is not None:
        check_picture(parsed.picture, parsed)
    asked = workload_of(domain, parsed.workload)
    found = margin.plan(
        domain, workload=asked, budget=budget, rows=parsed.rows, structure=parsed.structure
    )
    values = {
        "budget": budget.to_json(),
        "views": [list(view) for view in found.workload.views],
        "mechanisms": [
            {
                "name": row.name,
                "squared_error": row.error,
                "missed": row.missed,
                "per_count": row.per_cell,
                "note": row.note or None,
            }
            for row in found.table
        ],
    }
    if parsed.picture is None:
        return Said(str(found), values)
    draw(found.plot().figure, parsed.picture)
    return Said(f"{found}\n\n{parsed.picture}", values | {"picture": str(parsed.picture)})


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
    values = {
        "blocks": [[int(point) for point in block] for block in design.blocks],
        "provenance": str(design.provenance),
        "best_known": None if known is None else known.size,
        "bound": bound,
    }
    blocks = "\n".join(" ".join(map(str, block)) for block in design.blocks)
    if parsed.blocks:
        return Said(blocks, values)
    above = (
        "no design is smaller"
        if design.size == bound
        else f"the size is {100 * (design.size / bound - 1):.1f} % above"
    )
    lines = {
        "size": f"{design.size} block{'' if design.size == 1 else 's'}, from {design.provenance}",
        "best known": "not in the table" if known is None else f"{known.size} ({known.source})",
        "bound": f"{bound} (Schonheim): {above}",
    }
    return Said(f"{blocks}\n\n{titled(lines)}", values)
