"""`python -m experiments peers`: other systems and mechanisms of margin on a table of one's own.

The table must not be secret: errors are measured against the truth.
"""

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

from experiments.peers import _environments as environments
from experiments.peers._methods import BUDGETS, METHODS, Cell, Mechanism, Script
from experiments.peers._tables import TABLES, Coded
from margin import Domain
from margin.data.opening import open_source

_DEFAULT = ("Adaptive", "AIM (2d)", "MST", "MWEM+PGM")

_UNTOLD = tuple(
    name for name, made in METHODS.items() if isinstance(made, Mechanism) and not made.knows
)
"""The methods in this process that are not told the workload."""

_COLUMNS = ("method", "run", "error", "release", "answers", "note")
"""The columns of the CSV file: the mean error as a share of the rows, and CPU seconds."""

_OWN = "own"
"""The name of the table and of the budget among those of the study."""

_SECONDS = 3600.0
"""CPU seconds after which another system is stopped."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument("table", type=Path, metavar="TABLE", help="a CSV, Parquet or JSON file")
    parser.add_argument("domain", type=Path, metavar="DOMAIN.json", help="its declared domain")
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--epsilon", metavar="E", help="pure differential privacy")
    budget.add_argument("--rho", metavar="R", help="zero-concentrated differential privacy")
    parser.add_argument(
        "--methods",
        default=",".join(_DEFAULT),
        metavar="NAME,...",
        help=f"of {', '.join(METHODS)}; default: {', '.join(_DEFAULT)}. "
        f"Not told the queries, so that one release serves all: {', '.join(_UNTOLD)}; all others "
        "of margin are told them. A (3) says that views of three attributes are measured, whatever "
        "--ways says; without it, Residual and MWEM+PGM measure pairs",
    )
    parser.add_argument(
        "--csv",
        type=Path,
        metavar="FILE",
        help="also write a CSV file with a line for each run: " + ", ".join(_COLUMNS),
    )
    parser.add_argument(
        "--ways", type=int, default=3, metavar="K", help="attributes of each query; default: 3"
    )
    parser.add_argument(
        "--queries", type=int, default=100, metavar="N", help="number of queries; default: 100"
    )
    parser.add_argument(
        "--runs", type=int, default=1, metavar="N", help="runs of each method; default: 1"
    )


def run(parsed: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the methods, print a line for each run, and return the lines as rows.

    Raises
    ------
    ValueError
        If a method is unknown.
    """
    methods = [name.strip() for name in parsed.methods.split(",")]
    if unknown := [name for name in methods if name not in METHODS]:
        raise ValueError(
            f"there is no method {unknown[0]!r}; choose among {', '.join(METHODS)}, or write a "
            "script as those of experiments/peers/scripts and add it to METHODS"
        )
    coded = _coded(parsed.table, Domain(parsed.domain))
    TABLES[_OWN] = lambda: coded
    BUDGETS[_OWN] = ("pure", parsed.epsilon) if parsed.rho is None else ("zcdp", parsed.rho)
    print("SIMULATION on the true table, not private")
    print(f"{'method':<24}{'run':>4}{'mean L2/N':>12}{'release CPU s':>15}  note")
    rows = []
    for number in range(parsed.runs):
        for method in methods:
            rows += _rows(method, number, parsed)
    if parsed.csv is not None:
        with parsed.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, _COLUMNS, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
    return rows


def _rows(method: str, seed: int, parsed: argparse.Namespace) -> list[dict[str, Any]]:
    """One run of a method: a row for its error, or for the reason why there is none."""
    made = METHODS[method]
    # An environment is built only if its packages are not in this one.
    is_other = isinstance(made, Script)
    build = is_other and environments.interpreter(made.environment, build=False) is None
    cell = Cell(
        name=_OWN,
        budget=_OWN,
        sizes=(parsed.ways,),
        seed=seed,
        queries=parsed.queries,
        limit=_SECONDS if is_other else None,
        build=build,
    )
    try:
        found = [{"method": method, "run": seed, **row} for row in made(cell)]
    except RuntimeError as error:
        found = [{"method": method, "run": seed, "note": str(error)}]
    for row in found:
        error, release = (_number(row.get(name)) for name in ("error", "release"))
        print(f"{method:<24}{seed + 1:>4}{error:>12}{release:>15}  {row.get('note', '')}")
    sys.stdout.flush()
    return found


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "-"


def _coded(path: Path, domain: Domain) -> Coded:
    """The codes of all rows of a file."""
    batches = list(open_source(path).batches(domain))
    columns = [np.concatenate([batch[name] for batch in batches]) for name in domain]
    rows = np.column_stack(columns).astype(np.int64)
    sizes = dict(zip(domain.attributes, domain.sizes, strict=True))
    return Coded(sizes=sizes, rows=rows, note=path.name)
