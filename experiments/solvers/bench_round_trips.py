"""Every file format of the bench, read by another program and solved, instance by instance.

An instance is written, read back, and solved from what was read: MPS and LP files by HiGHS and by
SCIP, each with its own reader, CBF files by Clarabel through our reader (by HiGHS where there are
integers), WCNF files by RC2 of python-sat with the reader of python-sat. The optimum must equal the
best known objective of the instance up to 1e-6 of the larger of 1 and its size. A saved file (npz)
must hold the same arrays to the bit. Large instances, those
that are not proved, and quadratic ones of medium size for SCIP are left out.
"""

import importlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from experiments.tools.pages import Claim, page
from experiments.tools.study import Row, bad, good, sweep
from margin.solvers import bench
from margin.solvers.bench import Instance
from margin.solvers.bench.engines.clarabel import ClarabelEngine
from margin.solvers.bench.engines.highs import HighsEngine
from margin.solvers.bench.engines.scip import solved

SECONDS = 10.0
"""The seconds that a solver is given for one file."""
_LINEAR = ("minimax", "response", "cover")
EQUAL = 1e-6
"""The largest relative difference of equal optima."""


def run(smoke: bool, out: Path) -> str:
    """Write, read and solve; return a table of how many optima are equal."""
    every = [one for one in bench.instances() if one.size != "large" and one.proved]
    if smoke:
        every = [bench.instances(family=family.name)[0] for family in bench.FAMILIES]
    keys = [
        {"name": one.name, "ending": ending, "solver": solver}
        for one in every
        for ending, solver in _pairs(one)
    ]
    rows = sweep(out / "rows.csv", measure, keys)
    done = good(rows)
    return page(
        out / "bench_round_trips.md",
        title="Round trips of the bench",
        about=" ".join((__doc__ or "").split()),
        claims=[] if smoke else [_all_equal(done)],
        rows=_table(done),
        notes=[*_exceptions(done), *bad(rows)],
    )


def _pairs(instance: Instance) -> Iterator[tuple[str, str]]:
    """The formats that hold an instance, each with the solvers that read it."""
    yield "npz", "numpy"
    group = instance.family.group
    if group == "entropy":
        yield "cbf", "Clarabel"
        return
    for ending in ("mps", "lp"):
        yield ending, "HiGHS"
        # SCIP takes minutes for quadratic programmes of some hundred columns.
        if instance.family.name in _LINEAR or instance.size == "small":
            yield ending, "SCIP"
    if group in ("response", "cover"):
        yield "cbf", "HiGHS"
        yield "wcnf", "RC2"
    else:
        yield "mps", "Clarabel"
        yield "cbf", "Clarabel"


def measure(*, name: str, ending: str, solver: str) -> dict[str, Any]:
    """Write one instance, read it, solve what was read, and compare the optimum."""
    instance = bench.instance(name)
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"instance.{ending}"
        if ending == "npz":
            instance.save(path)
            return {"ended": "read", "equal": _same_arrays(instance, bench.load(path))}
        instance.export(path)
        ended, objective = _solved(instance, path, solver)
    equal = ""
    if objective is not None and ended == "OPTIMAL":
        equal = str(abs(objective - instance.best_known) <= EQUAL * max(1.0, abs(objective)))
    return {
        "ended": ended,
        "equal": equal,
        "objective": "" if objective is None else repr(objective),
        "best_known": repr(instance.best_known),
        "cpu_seconds": f"{time.process_time() - began:.2f}",
    }


def _same_arrays(instance: Instance, other: Instance) -> str:
    """Whether two instances have the same arrays, to the bit."""
    one, two = instance.family.pack(instance.problem), other.family.pack(other.problem)
    same = one.keys() == two.keys() and all(
        array.dtype == two[key].dtype and np.array_equal(array, two[key])
        for key, array in one.items()
    )
    return str(same)


def _solved(instance: Instance, path: Path, solver: str) -> tuple[str, float | None]:
    """How a solver ended on a file, and the optimum in the sense of the instance's family."""
    if solver == "RC2":
        return _maxsat(instance, path)
    if solver == "SCIP":
        scip: Any = importlib.import_module("pyscipopt")
        model = scip.Model()
        model.hideOutput()
        model.readProblem(str(path))
        model.setParam("limits/time", SECONDS)
        status = solved(model)
        objective = model.getObjVal() if model.getNSols() else None
        return status.name, None if objective is None else instance.family.from_model(objective)
    read = bench.read(path)
    assert isinstance(read, bench.Model)
    engine = HighsEngine() if solver == "HiGHS" else ClarabelEngine()
    ended = engine(read, time_limit=SECONDS)
    if ended.point is None:
        return ended.status.name, None
    return ended.status.name, instance.family.from_model(read.objective(ended.point))


def _maxsat(instance: Instance, path: Path) -> tuple[str, float | None]:
    """The optimum of a WCNF file by RC2, interrupted after the time limit."""
    formulas: Any = importlib.import_module("pysat.formula")
    rc2: Any = importlib.import_module("pysat.examples.rc2")
    threading: Any = importlib.import_module("threading")
    formula = formulas.WCNF(from_file=str(path))
    with rc2.RC2Stratified(formula) as solver:
        timer = threading.Timer(SECONDS, solver.interrupt)
        timer.start()
        found = solver.compute(expect_interrupt=True)
        timer.cancel()
        cost = solver.cost
    if found is None:
        return "TIME_LIMIT", None
    offset = bench.read(path).offset
    return "OPTIMAL", float(offset - cost if instance.family.sense == "maximise" else offset + cost)


def _table(rows: list[Row]) -> list[dict[str, Any]]:
    """For each family, format and solver: the round trips, those that ended, and the equal ones."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        family = bench.instance(row["name"]).family.name
        groups.setdefault((family, row["ending"], row["solver"]), []).append(row)
    return [
        {
            "family": family,
            "format": ending,
            "solver": solver,
            "round trips": len(some),
            "solved in time": sum(bool(row["equal"]) for row in some),
            "equal": sum(row["equal"] == "True" for row in some),
        }
        for (family, ending, solver), some in groups.items()
    ]


def _all_equal(rows: list[Row]) -> Claim:
    solved_rows = [row for row in rows if row["equal"]]
    equal = [row for row in solved_rows if row["equal"] == "True"]
    return Claim(
        claim="Every optimum that a solver proves from a file equals the best known one",
        measured=f"{len(equal)} of {len(solved_rows)} round trips; {len(rows) - len(solved_rows)} "
        f"did not end within {SECONDS:g} s",
        holds=len(equal) == len(solved_rows),
    )


def _exceptions(rows: list[Row]) -> list[str]:
    """A line for each optimum that differs."""
    return [
        f"{row['name']} as {row['ending']} by {row['solver']}: {row['objective']}, best known "
        f"{row['best_known']}"
        for row in rows
        if row["equal"] == "False"
    ]
