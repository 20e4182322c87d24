"""What replays of `MWEM` change: the error and the time for few and many passes.

The table and the errors are those of the online study of `survey_systems`.
"""

import time
from pathlib import Path
from typing import Any

from experiments.priview.survey_systems import online_errors
from experiments.tools.pages import page
from experiments.tools.study import bad, good, seed_of, sweep
from margin import MWEM

REPLAYS = (0, 5, 10, 20, 100)
EPSILONS = ("0.1", "1", "10")


def run(smoke: bool, out: Path) -> str:
    """Run the study; write rows.csv and page.md."""
    keys = [
        {"replays": replays, "epsilon": epsilon, "size": 0 if smoke else 1, "run": number}
        for replays in (REPLAYS[:2] if smoke else REPLAYS)
        for epsilon in (EPSILONS[:1] if smoke else EPSILONS)
        for number in range(1 if smoke else 5)
    ]
    rows = sweep(out / "rows.csv", measure, keys)
    return page(
        out / "page.md",
        title="Replays of MWEM",
        about=" ".join((__doc__ or "").split()),
        rows=good(rows),
        notes=bad(rows),
    )


def measure(replays: int, epsilon: str, size: int, run: int) -> dict[str, Any]:
    """Make one release; return its errors. All numbers of replays have the same seeds."""
    started = time.process_time()
    found = online_errors(MWEM(replays=replays), epsilon, size, seed_of(epsilon, run))
    return {**found, "seconds": round(time.process_time() - started, 3)}
