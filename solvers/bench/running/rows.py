"""The rows of a comparison: one for each solve, in one Parquet file."""

import json
import math
import os
from pathlib import Path
from typing import Any

from ..families.family import Check
from ..gaps import gap_to
from ..instance import Instance
from ..models.model import Model
from ..models.residuals import Residuals, residuals
from .process import Found
from .verdict import Verdict

__all__ = [
    "COLUMNS",
    "key_of",
    "primal_gap",
    "programme_of",
    "read",
    "repeats_in",
    "residuals_of",
    "task_of",
    "trace",
    "write",
]

_TEXT, _NUMBER, _WHOLE, _FLAG, _NUMBERS = "string", "double", "int64", "bool", "list"

COLUMNS: dict[str, str] = {
    "instance": _TEXT,
    "version": _WHOLE,
    "digest": _TEXT,
    "family": _TEXT,
    "group": _TEXT,
    "size": _TEXT,
    "sense": _TEXT,
    "best_known": _NUMBER,
    "bound": _NUMBER,
    "solver": _TEXT,
    "options": _TEXT,
    "library": _TEXT,
    "inside": _TEXT,
    "repeat": _WHOLE,
    "repeats": _WHOLE,
    "cold": _FLAG,
    "outcome": _TEXT,
    "cause": _TEXT,
    "detail": _TEXT,
    "status": _TEXT,
    "feasible": _FLAG,
    "objective": _NUMBER,
    "violation": _NUMBER,
    "reference": _NUMBER,
    "reference_by": _TEXT,
    "gap": _NUMBER,
    "bound_gap": _NUMBER,
    "claimed_objective": _NUMBER,
    "claimed_bound": _NUMBER,
    "claimed_seconds": _NUMBER,
    "primal_residual": _NUMBER,
    "dual_residual": _NUMBER,
    "dual_bound": _NUMBER,
    "wall": _NUMBER,
    "waited": _NUMBER,
    "cpu": _NUMBER,
    "peak_memory": _WHOLE,
    "runaways": _WHOLE,
    "tells": _FLAG,
    "trace_seconds": _NUMBERS,
    "trace_objectives": _NUMBERS,
    "trace_gaps": _NUMBERS,
    "time_limit": _NUMBER,
    "memory_limit": _WHOLE,
    "threads": _WHOLE,
    "jobs": _WHOLE,
    "tolerance": _NUMBER,
    "stated_tolerance": _NUMBER,
    "versions": _TEXT,
    "python": _TEXT,
    "margin": _TEXT,
    "commit": _TEXT,
    "machine": _TEXT,
    "load": _NUMBER,
    "date": _TEXT,
}
"""The columns and their types. Times are in seconds, memory is in bytes."""

_LATER = (
    *("library", "inside", "waited", "tells"),
    *("reference", "reference_by", "trace_objectives"),
    *("primal_residual", "dual_residual", "dual_bound", "stated_tolerance"),
)
"""The columns that files written by earlier versions may lack."""

_KEY = (
    "instance",
    "version",
    "digest",
    "solver",
    "options",
    "repeats",
    "time_limit",
    "memory_limit",
    "threads",
    "tolerance",
)
"""The columns that tell whether a task is done already."""


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """The key that identifies a task: the instance, the solver with its options, the limits."""
    return tuple(row[name] for name in _KEY)


def repeats_in(key: tuple[Any, ...]) -> int:
    """The number of repeats of the task of a key."""
    return int(key[_KEY.index("repeats")])


def task_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """The key of a task, without the code of a solver that is not ours."""
    options = json.loads(row["options"])
    options.pop("code", None)
    return key_of({**row, "options": json.dumps(options)})


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the rows of a file, as dictionaries.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    OSError
        If the file cannot be read.
    ValueError
        If the file does not hold rows of a comparison.
    """
    import pyarrow.parquet

    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{os.fspath(path)} must be a file of a comparison, but there is no such file; check "
            "the name, or make the file with bench.compare or margin bench run"
        )
    try:
        table = pyarrow.parquet.read_table(path)
        schema = _schema()
        for name in _LATER:
            if name not in table.column_names:
                empty = pyarrow.nulls(len(table), schema.field(name).type)
                table = table.append_column(name, empty)
        return list(table.select(list(COLUMNS)).cast(schema).to_pylist())
    except (pyarrow.ArrowInvalid, KeyError, ValueError):
        raise ValueError(
            f"{os.fspath(path)} must hold the rows of a comparison, written by bench.compare, but "
            "it does not; name such a file"
        ) from None


def write(rows: list[dict[str, Any]], path: Path) -> None:
    """Write all rows to a file; an interruption leaves the file as it was."""
    import pyarrow.parquet

    table = pyarrow.Table.from_pylist(rows, schema=_schema())
    beside = path.with_name(f".{path.name}.part")
    try:
        pyarrow.parquet.write_table(table, beside, compression="zstd")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _schema() -> Any:
    """The columns as a schema of pyarrow."""
    import pyarrow

    numbers = pyarrow.list_(pyarrow.float64())
    types = {
        name: numbers if kind == _NUMBERS else pyarrow.type_for_alias(kind)
        for name, kind in COLUMNS.items()
    }
    return pyarrow.schema(types)


def trace(
    instance: Instance,
    answers: list[tuple[float, Any]],
    seconds: float,
    verdict: Verdict,
) -> dict[str, list[float]]:
    """The objective and the primal gap against time, from the checked answers on the way and the
    last one.

    The last answer came after `seconds`; see `Found.own_seconds`, the clock of all of them. Only
    answers that are better than those before are kept.
    """
    checks = [(elapsed, instance.check(answer)) for elapsed, answer in answers]
    if verdict.check is not None:
        checks.append((seconds, verdict.check))
    kept: list[tuple[float, float]] = []
    latest = 0.0
    for elapsed, check in checks:
        if not check.feasible:
            continue
        # The waiting is known better at the end, but an answer is no earlier than the last.
        latest = max(latest, elapsed)
        if not kept or instance.family.better(check.objective, kept[-1][1]):
            kept.append((latest, check.objective))
    sense, best = instance.family.sense, instance.best_known
    return {
        "trace_seconds": [elapsed for elapsed, _ in kept],
        "trace_objectives": [objective for _, objective in kept],
        "trace_gaps": [primal_gap(sense, objective, best) for _, objective in kept],
    }


def programme_of(instance: Instance, found: list[Found]) -> Model | None:
    """The programme of an instance without integers, if a solve told a point or multipliers of it.

    The instance does not keep it: those of large instances fill the memory.
    """
    tells = any(one.point is not None or one.dual is not None for one in found)
    return (
        instance.family.model(instance.problem) if tells and not instance.family.integral else None
    )


def residuals_of(
    instance: Instance,
    model: Model | None,
    found: Found,
    verdict: Verdict,
) -> dict[str, float]:
    """The part of a row that says how far the programme is from its optimum."""
    told = Residuals()
    if model is not None:
        check = verdict.check or Check.unreadable("no answer")
        box = instance.family.box(instance.problem, model.columns, check)
        told = residuals(model, found.point, found.dual, box=box)
    return {
        "primal_residual": told.primal,
        "dual_residual": told.dual,
        "dual_bound": instance.family.from_model(told.bound),
    }


def primal_gap(sense: str, objective: float, best: float | None) -> float:
    """The primal gap of an objective: `gap_to` the best one, but from 0 to 1.

    NaN if no best objective is known. Berthold (Measuring the impact of primal heuristics,
    Operations Research Letters 41, 2013, equation 1) divides by the larger of both objectives,
    which makes every answer 1 where the best objective is zero.
    """
    gap = gap_to(sense, objective, best)
    return gap if math.isnan(gap) else min(max(gap, 0.0), 1.0)
