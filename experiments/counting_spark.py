"""Counting on Spark (local[2], where pyspark and Java are installed): what 106 views cost beside
20."""

import importlib.util
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from margin import SparkSource
from margin.data.count import count

from . import _pages, _study
from .counting import ATTRIBUTES, DOMAIN, SIZE, write_rows


def run(smoke: bool, out: Path) -> str:
    """CPU seconds of the driver, the JVM and its Python workers for each number of views, after a
    first run of each."""
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        return "pyspark or Java is not installed: nothing was measured"
    rows, many = (20_000, (2, 3)) if smoke else (10_000_000, (20, 106))
    path = out / f"uint8-{rows}.parquet"
    write_rows(path, "uint8", rows)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = (
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
    try:
        source = SparkSource(session.read.parquet(str(path)))
        rng = np.random.default_rng(1)
        views = [
            tuple(rng.choice(DOMAIN.attributes, SIZE, replace=False)) for _ in range(max(many))
        ]
        results = []
        for turn in range(1 if smoke else 3):  # the first warms the JVM and the compiled loops up
            for few in many:
                used, started = _used(), time.perf_counter()
                tables = count(source, DOMAIN, views[:few])
                used, started = _used() - used, time.perf_counter() - started
                assert all(int(table.sum()) == rows for table in tables)
                results.append(
                    {"turn": turn, "views": few, "cpu": round(used, 2), "wall": round(started, 2)}
                )
                _study.append(out / "rows.csv", results[-1])
                if not turn:
                    assert all(map(np.array_equal, tables, count(path, DOMAIN, views[:few])))
    finally:
        session.stop()
        path.unlink()
    best = {
        few: min(
            part["cpu"] for part in results if part["views"] == few and (part["turn"] or smoke)
        )
        for few in many
    }
    ratio = best[many[1]] / best[many[0]]
    claim = _pages.Claim(
        claim=f"{rows:,} rows: {many[1]} views cost at most 1.3 times what {many[0]} do",
        measured=f"{ratio:.2f} times the CPU ({best[many[1]]:.1f} s and {best[many[0]]:.1f} s)",
        holds=ratio <= 1.3,
    )
    return _pages.page(
        out / "counting_spark.md",
        title="Counting on Spark",
        about=f"Views of {SIZE} of {ATTRIBUTES} binary attributes; best of two runs after one that warms up.",
        claims=() if smoke else [claim],
        rows=results,
    )


def _used() -> float:
    """CPU seconds so far of this process and all that it started."""
    ticks: dict[int, tuple[int, float]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields: list[Any] = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:  # it has ended since
                continue
            ticks[int(folder.name)] = (
                int(fields[1]),
                sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"),
            )
    ours, size = {os.getpid()}, 0
    while len(ours) > size:
        size = len(ours)
        ours |= {process for process, (parent, _) in ticks.items() if parent in ours}
    return sum(seconds for process, (_, seconds) in ticks.items() if process in ours)
