"""The command `margin compare`: the errors of mechanisms on a real table (not private)."""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import margin

from .._names import METRICS
from .._secrecy import masked
from ..errors import MarginError
from .arguments.budget import add_budget, budget_of
from .arguments.elsewhere import check_not_elsewhere
from .arguments.mechanisms import PLAIN, known_as
from .arguments.own import is_own
from .arguments.table import add_table, table_of
from .arguments.workload import add_workload, workload_of
from .arguments.written import is_class, is_written, own_mechanism, split_mechanisms, written
from .common import (
    INTERRUPTED,
    Said,
    add_command,
    add_domain,
    budget_values,
    did_you_mean,
    painted,
    split_names,
)
from .outputs import add_force, check_picture, draw

if TYPE_CHECKING:
    from ..compare.comparison import Compared

__all__ = ["COMPARED", "add_commands"]

COMPARED: Mapping[str, Callable[[], Any]] = {
    "PriView": lambda: margin.PriView(),
    **PLAIN,
    "DualQuery": lambda: margin.DualQuery(),
}
_DEFAULT = "Adaptive,Auto,PriView,PriView.paper,MatrixMechanism,Direct,Uniform"


def add_commands(commands: Any) -> None:
    """Add `margin compare` to the parser of the command line."""
    comparing = add_command(
        commands,
        "compare",
        _compare,
        does="simulate mechanisms on a table and compare the answers with the truth (not private)",
        examples=[
            "margin compare public.csv --domain domain.json --epsilon 1",
            "margin compare public.csv --domain domain.json --epsilon 1 "
            "--mechanisms PriView,Direct --workload 3way --runs 1 --picture errors.png",
            "margin compare public.csv --domain domain.json --epsilon 1 "
            "--mechanisms Auto,DualQuery 'Residual(order=1)' --runs 1",
            "margin compare public.csv --domain domain.json --epsilon 1 "
            "--metrics l2,js,largest,useful:0.01",
            'margin compare --sql "SELECT * FROM rows WHERE age IS NOT NULL" '
            "--table rows=public.csv "
            "--domain domain.json --epsilon 1",
        ],
    )
    comparing.description = (
        f"{comparing.description} Use a public table that resembles the private one. To compare "
        "with a limit on the rows of each person, let --sql keep these rows."
    )
    add_table(comparing)
    add_domain(comparing)
    add_budget(comparing)
    names: Any = comparing.add_argument(
        "--mechanisms",
        nargs="+",
        default=[_DEFAULT],
        metavar="NAME",
        help=f"the mechanisms to compare, of {', '.join(COMPARED)}; or with parameters as in "
        "Python, such as 'HighPass(theta=5)'; or FILE.py:NAME for one of your own; DualQuery "
        f"answers the cells of the workload; default: {_DEFAULT.replace(',', ', ')}; one that "
        "fails is listed with the reason, and the others go on; the exit code is 2 if all fail, "
        "otherwise 0",
    )
    names.completer = lambda **_: list(COMPARED)
    add_workload(
        comparing,
        default="2way",
        words="2way; each mechanism is told all of them; see --most-views",
    )
    comparing.add_argument(
        "--most-views",
        type=_number_of_views,
        default=200,
        metavar="N",
        help="measure the answers to at most N views of the workload, drawn at random, the same "
        "ones in every comparison; or all; default: 200",
    )
    measured: Any = comparing.add_argument(
        "--metrics",
        nargs="+",
        default=["l2"],
        metavar="NAME",
        help=f"what to measure, of {', '.join(METRICS)}, the first orders the mechanisms; a "
        "parameter follows a colon: relative:SANITY, useful:ALPHA (shares of the rows), "
        "inside:LEVEL, interval:LEVEL, ndcg:K, f1:K; default: l2",
    )
    measured.completer = lambda **_: list(METRICS)
    comparing.add_argument(
        "--runs",
        type=int,
        default=3,
        metavar="N",
        help="number of simulations per mechanism, each with its own noise; default: 3",
    )
    comparing.add_argument(
        "--picture",
        type=Path,
        metavar="OUT.png",
        help="also draw the distribution of the errors, as PNG, SVG or PDF",
    )
    add_force(comparing)


def _number_of_views(given: str) -> int | None:
    """What --most-views says: a number, or None for all."""
    if given == "all":
        return None
    if not given.isdecimal():
        raise argparse.ArgumentTypeError(
            f"expected a whole number or all, but it is {given!r}; pass one of these"
        )
    return int(given)


def _mechanism(given: str) -> tuple[str, Any]:
    """The name under which a mechanism is shown, and the mechanism."""
    if is_own(given):
        return given, own_mechanism(given)
    if is_written(given):
        return given, written(given)
    name = known_as(given, COMPARED)
    if name is not None:
        return name, COMPARED[name]()
    if is_class(given):
        return given, written(f"{given}()")
    check_not_elsewhere(given)
    raise MarginError(
        f"unknown mechanism {given!r}{did_you_mean(given, COMPARED)}; --mechanisms takes "
        f"{', '.join(COMPARED)}, a mechanism as in Python, such as 'DualQuery(size=60000)', or "
        "FILE.py:NAME for one of your own, so name some of these"
    )


def _compare(parsed: argparse.Namespace) -> Said:
    budget = budget_of(parsed)
    domain = margin.Domain(parsed.domain)
    # An option that took the table would find the name of the table wrong.
    data = table_of(parsed)
    mechanisms = dict(map(_mechanism, split_mechanisms(parsed.mechanisms)))
    if parsed.picture is not None:
        check_picture(parsed.picture, parsed)
    workload = workload_of(domain, parsed.workload, parsed.asked)
    assert workload is not None
    # An interrupt leaves what is done.
    done: list[margin.Comparison] = []
    try:
        margin.compare(
            data,
            domain=domain,
            budget=budget,
            mechanisms=mechanisms,
            workload=workload,
            metrics=split_names(parsed.metrics),
            runs=parsed.runs,
            most_views=parsed.most_views,
            so_far=done.append,
        )
    except KeyboardInterrupt:
        if not done:
            raise
    found = done[-1]
    left = [name for name in mechanisms if name not in {row.name for row in found.rows}]
    if parsed.debug:
        tracebacks = [row.traceback for row in found.rows]
        print(masked("".join(tracebacks)), end="", file=sys.stderr)
    rows = tuple(_shown(row, parsed.debug) for row in found.rows)
    found = dataclasses.replace(found, rows=rows)
    code = 0 if found.best else 2
    if left:
        code = INTERRUPTED
    # The first line says that the result is not private.
    warning, *table = str(found).split("\n")
    if left:
        table.append(f"interrupted, so these were not compared: {', '.join(left)}")
    text = "\n".join([painted(warning, "beware", sys.stdout), *table])
    values = found.to_json() | {"budget": budget_values(budget), "not_compared": left}
    if parsed.picture is None or not found.best or left:
        return Said(text, values, code)
    draw(found.plot(), parsed.picture)
    values["picture"] = str(parsed.picture)
    return Said(f"{text}\n{parsed.picture}", values)


def _shown(row: "Compared", debug: bool) -> "Compared":
    """A row whose problem may be printed: without --debug, without the text of an exception that is
    no `MarginError`, because it may quote the data."""
    problem = row.problem
    if row.raised and not debug:
        problem = f"{row.raised}; --debug shows the error, which may quote the data"
    return dataclasses.replace(row, problem=masked(problem))
