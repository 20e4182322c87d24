"""`Auto`, and `Adaptive` with and without rounds, to decide which is the default of `release`.

The tables are those of the families of `zoo` that validate: no constant was fitted on them. Each
table is released twice with each mechanism, at one budget and one number k of attributes. The error
is the mean L2 distance of random marginals, divided by the number of rows. CPU seconds are of a
release and its answers.
"""

import math
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.peers._zoo_tables import FAMILIES
from experiments.peers.zoo import DEFAULT, OURS, coded, error_of, settings
from experiments.tools.pages import Claim, page
from experiments.tools.study import Key, Row, bad, good, sweep

SEEDS = 2
"""Number of releases of each table with each mechanism."""


def run(smoke: bool, out: Path) -> str:
    """Measure what has not been measured yet, and write the page."""
    keys = _keys()
    if smoke:
        keys = [key for key in keys if key["family"] == "register" and key["draw"] == 2]
    return report(out, sweep(out / "rows.csv", measure, keys))


def _keys() -> list[Key]:
    """One setting for each table of a family that validates, one table of each family at a time."""
    found = {}
    for key in settings():
        if key["draw"] >= 0 and not FAMILIES[key["family"]].fits:
            found[key["family"], key["draw"]] = key
    first = sorted(found.values(), key=lambda key: key["draw"])
    return [{**key, "seed": seed} for seed in range(SEEDS) for key in first]


def measure(family: str, draw: int, budget: str, k: int, seed: int) -> list[dict[str, Any]]:
    """The error and the CPU seconds of each mechanism in one setting."""
    made, cell = coded((family, draw, budget, k))
    rows = []
    for name, mechanism in OURS.items():
        started = time.process_time()
        error = error_of(made, cell, k, mechanism, seed)
        seconds = time.process_time() - started
        rows.append({"method": name, "error": error, "seconds": seconds})
    return rows


def report(out: Path, rows: Sequence[Row]) -> str:
    """Write the page: for each mechanism its seconds, and the ratios of its errors to `Auto`'s."""
    found: dict[tuple[str, ...], dict[str, Row]] = defaultdict(dict)
    for row in good(rows):
        setting = tuple(row[name] for name in ("family", "draw", "budget", "k", "seed"))
        found[setting][row["method"]] = row
    whole = {setting: some for setting, some in found.items() if len(some) == len(OURS)}
    ratios = {
        name: [float(some[name]["error"]) / float(some["Auto"]["error"]) for some in whole.values()]
        for name in OURS
    }
    middles = {name: _geometric_mean(some) for name, some in ratios.items()}
    lines = [
        {
            "method": name,
            "tables": len({setting[:2] for setting in whole}),
            "releases": len(whole),
            "ratio": middles[name],
            "least": min(ratios[name], default=math.nan),
            "most": max(ratios[name], default=math.nan),
            "error of the logarithm": _standard_error(ratios[name]),
            "seconds": _middle([float(some[name]["seconds"]) for some in whole.values()]),
            "most seconds": max(
                (float(some[name]["seconds"]) for some in whole.values()), default=math.nan
            ),
        }
        for name in OURS
    ]
    best = min(middles, key=lambda name: middles[name])
    lead = middles[DEFAULT] / middles[best] - 1
    told = ", ".join(f"{name} {middles[name]:.3f}" for name in OURS) if whole else "not run"
    return page(
        out / "page.md",
        title="Which mechanism is the default",
        about=(__doc__ or "").strip(),
        claims=[
            Claim(
                claim=f"geometric mean of errors over those of Auto: {DEFAULT} has the smallest",
                measured=told,
                holds=best == DEFAULT if whole else None,
                why=f"that of {best} is smaller by {lead:.2%}" if lead > 0 else "",
            )
        ],
        rows=lines,
        notes=bad(rows),
    )


def _geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(np.mean(np.log(ratios))) if ratios else math.nan


def _standard_error(ratios: Sequence[float]) -> float:
    """The standard error of the mean logarithm of ratios."""
    return float(np.std(np.log(ratios)) / math.sqrt(len(ratios))) if ratios else math.nan


def _middle(seconds: Sequence[float]) -> float:
    return float(np.median(seconds)) if seconds else math.nan
