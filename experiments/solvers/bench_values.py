"""The best known objective and the proved bound of every instance of the bench of solvers.

Each instance is solved by our own solvers and by libraries, each within some seconds. Answers are
checked by the instance's family, and the best feasible one counts. Bounds of continuous families
are values of the dual problem, computed from the multipliers that a solver found; bounds of integer
families are those of the solver that is named. `python -m experiments.solvers.bench_values
results/DIR` copies what is better than before into the file that is shipped.
"""

import csv
import sys
import time
from pathlib import Path
from typing import Any

from experiments.solvers._bench_proofs import found
from experiments.tools.pages import page
from experiments.tools.study import bad, good, read, sweep
from margin.solvers import bench
from margin.solvers.bench.gaps import gap_to
from margin.solvers.bench.made.catalogue import BEST_KNOWN

SECONDS = {"small": 10.0, "medium": 20.0, "large": 20.0}
"""The seconds that each library is given for an instance, by the size of the instance."""
SECONDS_OF_COVERS = 60.0
"""The seconds that each library is given for a large cover: these are far from closed."""
_CLOSED = 1e-9
"""The relative gap at which no further solver is tried."""
_COLUMNS = ("name", "version", "digest", "best_known", "bound", "proved_by")


def run(smoke: bool, out: Path) -> str:
    """Solve all instances; return a table of how many are proved."""
    every = bench.instances()
    if smoke:
        every = [bench.instances(family=family.name)[0] for family in bench.FAMILIES]
    rows = sweep(out / "rows.csv", measure, [key_of(one) for one in every])
    return page(
        out / "bench_values.md",
        title="Best known values of the bench",
        about=" ".join((__doc__ or "").split()),
        rows=_proved(good(rows)),
        notes=bad(rows),
    )


def key_of(instance: bench.Instance) -> dict[str, Any]:
    """What `measure` needs to know of an instance."""
    is_hard = instance.family.name == "cover" and instance.size == "large"
    seconds = SECONDS_OF_COVERS if is_hard else SECONDS[instance.size]
    return {"name": instance.name, "version": instance.version, "seconds": seconds}


def measure(*, name: str, version: int, seconds: float) -> dict[str, Any]:
    """The best answer and the best bound of one instance."""
    instance = bench.instance(name)
    family = instance.family
    best: tuple[float, str] | None = None
    proved: tuple[float, str] | None = None
    began = time.process_time()
    for one in found(instance, seconds):
        if one.answer is not None:
            check = instance.check(one.answer)
            # A table that is slightly infeasible may have a better objective than any other one.
            good = check.feasible and (family.group != "entropy" or check.violation < 1e-8)
            if good and (best is None or family.better(check.objective, best[0])):
                best = (check.objective, one.who)
        if one.bound is not None and (proved is None or family.better(proved[0], one.bound)):
            proved = (one.bound, one.who)
        if best and proved and abs(best[0] - proved[0]) <= _CLOSED * max(1.0, abs(best[0])):
            break
    return {
        "family": family.name,
        "size": instance.size,
        "digest": instance.digest,
        "best_known": "" if best is None else repr(best[0]),
        "bound": "" if proved is None else repr(proved[0]),
        "proved_by": "; ".join(
            [
                *([f"found by {best[1]}"] if best else []),
                *([f"bound by {proved[1]}"] if proved else []),
            ]
        ),
        "cpu_seconds": f"{time.process_time() - began:.2f}",
    }


def _proved(rows: list[dict[str, str]]) -> list[dict[str, Any]]:
    """For each family and size, the number of instances and how many are proved."""
    table = []
    for family in bench.FAMILIES:
        for size in ("small", "medium", "large"):
            some = [row for row in rows if (row["family"], row["size"]) == (family.name, size)]
            closed = [row for row in some if _closed(row)]
            if some:
                table.append(
                    {
                        "family": family.name,
                        "size": size,
                        "instances": len(some),
                        "proved": len(closed),
                    }
                )
    return table


def _closed(row: dict[str, str]) -> bool:
    if not (row["best_known"] and row["bound"]):
        return False
    best, bound = float(row["best_known"]), float(row["bound"])
    return abs(gap_to("minimise", bound, best)) <= 1e-6


def ship(folder: Path) -> None:
    """Write what was found into the file of the package; what was known and is as good stays."""
    shipped = {_problem(row): row for row in read(BEST_KNOWN)}
    for row in good(read(folder / "rows.csv")):
        shipped[_problem(row)] = better(shipped.get(_problem(row)), row)
    present = [(one.name, str(one.version)) for one in bench.instances()]
    rows = {key[:2]: row for key, row in shipped.items()}
    with BEST_KNOWN.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in present if key in rows)


def _problem(row: dict[str, str]) -> tuple[str, str, str]:
    return row["name"], row["version"], row["digest"]


def better(before: dict[str, str] | None, row: dict[str, str]) -> dict[str, str]:
    """The better answer and the better bound of two rows of one problem, and who found each."""
    if before is None:
        return row
    family = bench.instance(row["name"]).family
    best, found_by = before["best_known"], _named(before, "found by")
    if row["best_known"] and (not best or family.better(float(row["best_known"]), float(best))):
        best, found_by = row["best_known"], _named(row, "found by")
    bound, bound_by = before["bound"], _named(before, "bound by")
    if row["bound"] and (not bound or family.better(float(bound), float(row["bound"]))):
        bound, bound_by = row["bound"], _named(row, "bound by")
    who = "; ".join(filter(None, [found_by, bound_by]))
    return {**row, "best_known": best, "bound": bound, "proved_by": who}


def _named(row: dict[str, str], kind: str) -> str:
    """The part of `proved_by` that begins so; empty if there is none."""
    parts = row["proved_by"].split("; ")
    return next((part for part in parts if part.startswith(kind)), "")


if __name__ == "__main__":
    ship(Path(sys.argv[1] if sys.argv[1:] else "results/bench_values"))
