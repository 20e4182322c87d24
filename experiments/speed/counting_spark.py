"""CPU time of counting 20 and 106 views on Spark (local[2]); needs pyspark and Java."""

import importlib.util
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.speed.counting import ATTRIBUTES, DOMAIN, SIZE, write_rows
from experiments.tools import pages, study
from margin.data import SparkSource
from margin.data.count import count


def run(smoke: bool, out: Path) -> str:
    """Measure the CPU seconds of Spark for each number of views; write rows.csv and a page.

    The seconds are those of the driver, the JVM and its Python workers. The first run of each
    number is not counted, because it loads the JVM and the compiled loops.
    """
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        return "pyspark or Java is not installed: nothing was measured"
    rows, many = (20_000, (2, 3)) if smoke else (10_000_000, (20, 106))
    path = out / f"uint8-{rows}.parquet"
    write_rows(path, "uint8", rows)
    session = _session()
    try:
        results = _measured(session, path, rows, many, turns=1 if smoke else 3)
        for result in results:
            study.append(out / "rows.csv", result)
    finally:
        session.stop()
        path.unlink()
    best = {}
    for few in many:
        turns = [part for part in results if part["views"] == few and (part["turn"] or smoke)]
        best[few] = min(part["cpu"] for part in turns)
    ratio = best[many[1]] / best[many[0]]
    claim = pages.Claim(
        claim=f"{rows:,} rows: {many[1]} views cost at most 1.3 times what {many[0]} do",
        measured=f"{ratio:.2f} times the CPU ({best[many[1]]:.1f} s and {best[many[0]]:.1f} s)",
        holds=ratio <= 1.3,
    )
    return pages.page(
        out / "counting_spark.md",
        title="Counting on Spark",
        about=f"Views of {SIZE} of {ATTRIBUTES} binary attributes; "
        + ("one run." if smoke else "best of two runs after one that warms up."),
        claims=() if smoke else [claim],
        rows=results,
    )


def _session() -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.files.maxPartitionBytes", str(4 << 20))
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )


def _measured(
    session: Any, path: Path, rows: int, many: tuple[int, ...], turns: int
) -> list[dict[str, Any]]:
    """CPU and wall seconds of each number of views, in several turns; the tables are checked."""
    source = SparkSource(session.read.parquet(str(path)))
    rng = np.random.default_rng(1)
    views = [tuple(rng.choice(DOMAIN.attributes, SIZE, replace=False)) for _ in range(max(many))]
    results = []
    for turn in range(turns):
        for few in many:
            used, started = _used(), time.perf_counter()
            tables = count(source, DOMAIN, views[:few])
            cpu, wall = _used() - used, time.perf_counter() - started
            assert all(int(table.sum()) == rows for table in tables)
            if not turn:
                assert all(map(np.array_equal, tables, count(path, DOMAIN, views[:few])))
            seconds = {"cpu": round(cpu, 2), "wall": round(wall, 2)}
            results.append({"turn": turn, "views": few, **seconds})
    return results


def _used() -> float:
    """CPU seconds so far of this process and of all processes that it started."""
    ticks: dict[int, tuple[int, float]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields: list[Any] = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:  # the process has ended
                continue
            seconds = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            ticks[int(folder.name)] = int(fields[1]), seconds
    ours, size = {os.getpid()}, 0
    while len(ours) > size:
        size = len(ours)
        ours |= {process for process, (parent, _) in ticks.items() if parent in ours}
    return sum(seconds for process, (_, seconds) in ticks.items() if process in ours)
