"""The readings of docs/results/benchopt.md, from the Parquet file that `benchopt run` writes.

``python -m experiments.benchopt.table FILE.parquet`` writes experiments/readings/benchopt.json.
"""

import datetime
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.tools.manifest import environment
from experiments.tools.readings import READINGS, Readings, save
from margin.solvers import bench

_SOLVED = 1e-4
"""The largest gap to the best value of the run at which an instance counts as solved."""


def table(results: pd.DataFrame) -> list[dict[str, Any]]:
    """One row for each family and solver: instances, solved, geometric mean of seconds.

    The best value of an instance is the least one that any solver of the run reached, as checked
    by the bench. The time of an instance is the median of its repetitions; it excludes the first
    solve, which benchopt runs as a warm-up.
    """
    rows = []
    for (data, solver), part in results.groupby(["dataset_name", "solver_name"], sort=False):
        rows.append(
            {
                "instance": _inner(str(data)),
                "solver": _inner(str(solver)),
                "value": float(part["objective_value"].max()),
                "seconds": float(part["time"].median()),
            }
        )
    frame = pd.DataFrame(rows)
    frame["family"] = [bench.instance(name).family.name for name in frame["instance"]]
    best = frame.groupby("instance")["value"].transform("min")
    frame["solved"] = frame["value"] - best <= _SOLVED * np.maximum(best.abs(), 0.01)
    found = []
    for (family, solver), own in frame.groupby(["family", "solver"], sort=False):
        found.append(
            {
                "family": family,
                "solver": solver,
                "instances": len(own),
                "solved": int(own["solved"].sum()),
                "seconds": float(np.exp(np.log(own["seconds"]).mean())),
            }
        )
    order = list(dict.fromkeys(row["family"] for row in found))
    return sorted(found, key=lambda row: (order.index(row["family"]), row["seconds"]))


def readings(file: Path) -> Readings:
    """The readings of a run; its date is that of the file's name."""
    results = pd.read_parquet(file)
    named = re.search(r"run_(\d{4}-\d{2}-\d{2})", file.name)
    day = named[1] if named else datetime.date.fromtimestamp(file.stat().st_mtime).isoformat()
    made = {name: [value] for name, value in environment().items()}
    return Readings(
        title="The bench in benchopt",
        about="Wall seconds of solves after a warm-up, all solvers in one process.",
        rows=tuple(table(results)),
        manifest={"dates": [day, day], "keys": len(results), "cpu_seconds": None, **made},
    )


def _inner(name: str) -> str:
    """The parameter within a name such as bench[solver=IPF]."""
    found = re.search(r"=([^\]]+)\]", name)
    return found[1] if found else name


if __name__ == "__main__":
    save(readings(Path(sys.argv[1])), READINGS / "benchopt.json")
