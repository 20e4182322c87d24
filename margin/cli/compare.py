"""The command `margin compare`: the errors of mechanisms on a real table (not private)."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import margin

from ..errors import MarginError
from .budget import add_budget, budget_of
from .common import (
    Said,
    add_command,
    add_domain,
    add_force,
    check_picture,
    did_you_mean,
    draw,
    painted,
    split_names,
)
from .mechanisms import PLAIN, known_as
from .workload import add_workload, workload_of

__all__ = ["COMPARED", "add_commands"]

COMPARED: Mapping[str, Callable[[], Any]] = {"PriView": lambda: margin.PriView(), **PLAIN}
_DEFAULT = "Auto,PriView,PriView.paper,MatrixMechanism,Direct,Uniform"

METRICS = {
    "l2": "L2",
    "l1": "L1",
    "js": "JensenShannon",
    "largest": "LargestError",
    "relative": "RelativeError",
    "useful": "Usefulness",
    "ndcg": "NDCG",
    "f1": "F1",
}
"""The names that `--metrics` takes, and the classes of `margin.metrics`."""

_WITH_PARAMETER = ("relative", "useful", "ndcg", "f1")


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
            "--metrics l2,js,largest,useful:0.01",
        ],
    )
    comparing.add_argument(
        "file",
        type=Path,
        metavar="TABLE",
        help="a CSV or Parquet file; use a public table that resembles the private one",
    )
    add_domain(comparing)
    add_budget(comparing)
    names: Any = comparing.add_argument(
        "--mechanisms",
        nargs="+",
        default=[_DEFAULT],
        metavar="NAME",
        help=f"the mechanisms to compare, of {', '.join(COMPARED)}; default: {_DEFAULT}",
    )
    names.completer = lambda **_: list(COMPARED)
    add_workload(comparing)
    measured: Any = comparing.add_argument(
        "--metrics",
        nargs="+",
        default=["l2"],
        metavar="NAME",
        help=f"what to measure, of {', '.join(METRICS)}, the first orders the mechanisms; a "
        "parameter follows a colon: relative:SANITY, useful:ALPHA (shares of the rows), ndcg:K, "
        "f1:K; default: l2",
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


def _metric(text: str) -> Any:
    """The metric that a text such as "l2" or "ndcg:20" names."""
    name, colon, written = text.partition(":")
    if name not in METRICS:
        raise MarginError(
            f"unknown metric {name!r}{did_you_mean(name, METRICS)}; --metrics takes "
            f"{', '.join(METRICS)}, so name some of these"
        )
    # `margin.metrics` loads numpy, so it is looked up only when the command runs.
    kind = getattr(margin.metrics, METRICS[name])
    if not colon:
        return kind()
    if name not in _WITH_PARAMETER:
        raise MarginError(
            f"the metric {name!r} takes no parameter, but {text!r} has one; leave it out"
        )
    try:
        parameter = int(written) if written.isdigit() else float(written)
    except ValueError:
        raise MarginError(
            f"the parameter of a metric must be a number, but {text!r} has none after the colon; "
            f"write it as in {name}:{'10' if name in ('ndcg', 'f1') else '0.01'}"
        ) from None
    return kind(parameter)


def _compare(parsed: argparse.Namespace) -> Said:
    budget = budget_of(parsed)
    domain = margin.Domain(parsed.domain)
    names = []
    for given in split_names(parsed.mechanisms):
        name = known_as(given, COMPARED)
        if name is None:
            raise MarginError(
                f"unknown mechanism {given!r}{did_you_mean(given, COMPARED)}; --mechanisms takes "
                f"{', '.join(COMPARED)}, so name some of these"
            )
        names.append(name)
    if parsed.picture is not None:
        check_picture(parsed.picture, parsed)
    found = margin.compare(
        parsed.file,
        domain=domain,
        budget=budget,
        mechanisms={name: COMPARED[name]() for name in names},
        workload=workload_of(domain, parsed.workload, parsed.asked),
        metrics=[_metric(text) for text in split_names(parsed.metrics)],
        runs=parsed.runs,
    )
    # The first line says that the result is not private.
    warning, *table = str(found).split("\n")
    text = "\n".join([painted(warning, "beware", sys.stdout), *table])
    if parsed.picture is None:
        return Said(text, found.to_json())
    draw(found.plot(), parsed.picture)
    values = found.to_json() | {"picture": str(parsed.picture)}
    return Said(f"{text}\n{parsed.picture}", values)
