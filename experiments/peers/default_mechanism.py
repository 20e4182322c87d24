"""`Auto` and `Adaptive` on generated tables, to decide which one is the default of `release`.

The tables are those of the families of `zoo` that validate: no constant was fitted on them. Each
table is released once with either mechanism, at one budget and one number k of attributes. The
error is the mean L2 distance of random marginals, divided by the number of rows. CPU seconds are of
a release and its answers.
"""

import math
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.peers._zoo_tables import FAMILIES
from experiments.peers.zoo import OURS, coded, error_of, settings
from experiments.tools.pages import Claim, page
from experiments.tools.study import Key, Row, bad, good, sweep
from margin import Adaptive, Auto

TIE = 0.98
"""Ratio of errors above which the mechanisms are taken to be equally good."""


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
    return sorted(found.values(), key=lambda key: key["draw"])


def measure(family: str, draw: int, budget: str, k: int, seed: int) -> list[dict[str, Any]]:
    """The error and the CPU seconds of both mechanisms in one setting."""
    made, cell = coded((family, draw, budget, k))
    rows = []
    for name, mechanism in (("Auto", Auto()), ("Adaptive", Adaptive())):
        started = time.process_time()
        error = error_of(made, cell, k, mechanism, seed)
        seconds = time.process_time() - started
        rows.append({"method": name, "error": error, "seconds": seconds})
    return rows


def report(out: Path, rows: Sequence[Row]) -> str:
    """Write the page: the errors and seconds of both, and the ratios of errors."""
    found: dict[tuple[str, ...], dict[str, Row]] = defaultdict(dict)
    for row in good(rows):
        setting = tuple(row[name] for name in ("family", "draw", "budget", "k"))
        found[setting][row["method"]] = row
    lines = [
        dict(zip(("family", "draw", "budget", "k"), setting, strict=True))
        | {name: float(methods[name]["error"]) for name in OURS}
        | {f"{name} seconds": float(methods[name]["seconds"]) for name in OURS}
        | {"ratio": float(methods["Adaptive"]["error"]) / float(methods["Auto"]["error"])}
        for setting, methods in found.items()
    ]
    ratios = [line["ratio"] for line in lines]
    middle = math.exp(np.mean(np.log(ratios))) if ratios else math.nan
    told = f"{middle:.3f}, from {min(ratios):.2f} to {max(ratios):.2f}" if ratios else "not run"
    seconds = {
        name: float(np.median([line[f"{name} seconds"] for line in lines] or [math.nan]))
        for name in OURS
    }
    summary = {"family": "all", "ratio": middle, "tables": len(lines)}
    summary |= {"least": min(ratios, default=math.nan), "most": max(ratios, default=math.nan)}
    summary |= {f"{name} seconds": seconds[name] for name in OURS}
    return page(
        out / "page.md",
        title="Which mechanism is the default",
        about=(__doc__ or "").strip(),
        claims=[
            Claim(
                claim=f"error of Adaptive over that of Auto: geometric mean < {TIE}",
                measured=told,
                holds=middle < TIE if ratios else None,
            )
        ],
        rows=[summary, *lines],
        notes=bad(rows),
    )
