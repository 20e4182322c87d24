"""CPU time and memory of counting views, against the group-bys of DuckDB, polars and pandas, and
from Parquet."""

import math
import multiprocessing
import resource
import tempfile
import time
import unittest.mock
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import margin
from margin.counting import plan
from margin.data.count import count
from margin.data.source import FileSource

from . import _pages, _study

ATTRIBUTES, SIZE = 32, 8
DOMAIN = margin.Domain({f"x{place}": 2 for place in range(ATTRIBUTES)})
CHUNK = 1_000_000


def run(smoke: bool, out: Path) -> str:
    """A row a method: how many rows and views, CPU seconds, nanoseconds a row and view, peak
    memory."""
    small, rows, large, views = (
        (20_000, 20_000, 40_000, 6) if smoke else (1_000_000, 10_000_000, 50_000_000, 106)
    )
    with tempfile.TemporaryDirectory(prefix="margin-", dir=None if smoke else out) as folder:
        keys = [
            {"method": method, "kind": kind, "rows": size, "views": few}
            for method, kind, size, few in (
                *((method, "uint8", small, views) for method in ("margin", *GROUP_BYS)),
                ("margin", "uint8", rows, views),
                ("margin, numpy only", "uint8", rows, views),
                ("margin, repeated rows", "repeated", rows, views),
                *(
                    (method, kind, rows, views)
                    for kind in ("uint8", "bool")
                    for method in FROM_FILES
                ),
                ("margin, Parquet", "uint8", large, views),
                ("margin, Parquet", "uint8", rows, max(views // 5, 1)),
            )
        ]
        keys = list({tuple(key.items()): key for key in keys}.values())
        _study.sweep(out / "rows.csv", _Work(folder, alone=not smoke), keys)
    found = _study.good(_study.read(out / "rows.csv"))
    ours = {(row["method"], row["kind"], int(row["rows"]), int(row["views"])): row for row in found}

    def cpu(method: str, kind: str = "uint8", size: int = rows, many: int = views) -> float:
        return float(ours[method, kind, size, many]["cpu"])

    ratios = {method: cpu(method, size=small) / cpu("margin", size=small) for method in GROUP_BYS}
    reading = {
        kind: cpu("margin, Parquet", kind) / min(cpu(method, kind) for method in FROM_FILES[:2])
        for kind in ("uint8", "bool")
    }
    peak = float(ours["margin, Parquet", "uint8", large, views]["megabytes"])
    claims = [
        _claim(
            f"{rows:,} rows x {ATTRIBUTES}, {views} views from memory: at most 3 s CPU",
            cpu("margin"),
            3,
            "s",
        ),
        *(
            _claim(
                f"from Parquet ({kind}): at most twice the CPU of the quickest reading of it",
                ratio,
                2,
                "times",
            )
            for kind, ratio in reading.items()
        ),
        *(
            _claim(
                f"at least 10 times less CPU than the group-bys of {method}",
                1 / ratio,
                0.1,
                "of its CPU",
            )
            for method, ratio in ratios.items()
        ),
        _claim(f"{large:,} rows of Parquet: peak memory at most 500 MB", peak, 500, "MB"),
    ]
    return _pages.page(
        out / "counting.md",
        title="Counting",
        about=f"{views} views of {SIZE} of {ATTRIBUTES} binary attributes; every table equal to that of numpy alone.",
        claims=claims if not smoke else (),
        rows=[
            {
                name: row[name]
                for name in (
                    "method",
                    "kind",
                    "rows",
                    "views",
                    "cpu",
                    "wall",
                    "nanoseconds",
                    "megabytes",
                )
            }
            for row in found
        ],
    )


def _claim(claim: str, figure: float, bar: float, unit: str) -> _pages.Claim:
    return _pages.Claim(claim=claim, measured=f"{figure:.3g} {unit}", holds=figure <= bar)


class _Work:
    """Measures one method, in a process of its own, so that its memory is its own too."""

    def __init__(self, folder: str, *, alone: bool) -> None:
        self.folder = folder
        self.alone = alone

    def __call__(self, **key: Any) -> dict[str, Any]:
        path = Path(self.folder) / f"{key['kind']}-{key['rows']}.parquet"
        if not path.exists():
            write_rows(path, key["kind"], key["rows"])
        if not self.alone:
            return _measured(str(path), **key)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(_measured, (str(path),), key)


def _measured(path: str, *, method: str, kind: str, rows: int, views: int) -> dict[str, Any]:
    """CPU and wall seconds of the quickest run, and the peak of the process's memory."""
    rng = np.random.default_rng(1)
    asked = [
        tuple(f"x{at}" for at in rng.choice(ATTRIBUTES, SIZE, replace=False)) for _ in range(views)
    ]
    action, check = METHODS[method](path, asked)
    runs: list[tuple[float, float]] = []
    while not runs or (
        len(runs) < 3 and sum(used for used, _ in runs) < 10
    ):  # the best of up to three
        used, started = time.process_time(), time.perf_counter()
        tables = action()
        runs.append((time.process_time() - used, time.perf_counter() - started))
    used, started = min(runs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if check:
        assert all(map(np.array_equal, tables, count(path, DOMAIN, asked)))
    return {
        "cpu": round(used, 4),
        "wall": round(started, 4),
        "nanoseconds": round(used / rows / views * 1e9, 3),
        "megabytes": round(peak),
    }


Prepared = tuple[Callable[[], Any], bool]
Views = Sequence[tuple[str, ...]]


def _from_memory(path: str, views: Views) -> Prepared:
    codes = _codes(path)
    _warm(path, views)
    return lambda: count(codes, DOMAIN, views), True


def _numpy_only(path: str, views: Views) -> Prepared:
    codes = _codes(path)

    def tables() -> list[Any]:
        with (
            unittest.mock.patch.object(plan, "_WORTH_COMPILING", math.inf),
            unittest.mock.patch.object(plan, "_WORTH_USING", math.inf),
        ):
            return count(codes, DOMAIN, views)

    return tables, False


def _from_file(path: str, views: Views) -> Prepared:
    _warm(path, views)
    return lambda: count(path, DOMAIN, views), False


def _reading(path: str, views: Views) -> Prepared:
    return lambda: [
        len(columns[0]) for columns in FileSource(Path(path)).columns(DOMAIN.attributes)
    ], False


def _reading_pyarrow(path: str, views: Views) -> Prepared:
    import pyarrow.parquet as pq

    return lambda: [batch.num_rows for batch in pq.ParquetFile(path).iter_batches()], False


def _duckdb(path: str, views: Views) -> Prepared:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"CREATE TABLE rows AS SELECT * FROM '{path}'")

    def tables() -> list[Any]:
        texts = (", ".join(view) for view in views)
        queries = (f"SELECT {text}, count(*) AS n FROM rows GROUP BY {text}" for text in texts)
        found = [connection.execute(query).fetchnumpy() for query in queries]
        return [
            _table([part[name] for name in view], part["n"])
            for part, view in zip(found, views, strict=True)
        ]

    return tables, True


def _polars(path: str, views: Views) -> Prepared:
    import polars

    frame = polars.read_parquet(path).lazy()

    def tables() -> list[Any]:
        parts = polars.collect_all([frame.group_by(view).len() for view in views])
        return [
            _table([part[name].to_numpy() for name in view], part["len"].to_numpy())
            for part, view in zip(parts, views, strict=True)
        ]

    return tables, True


def _pandas(path: str, views: Views) -> Prepared:
    import pandas

    frame = pandas.read_parquet(path)

    def tables() -> list[Any]:
        parts = ((frame.groupby(list(view)).size().reset_index(name="n"), view) for view in views)
        return [
            _table([part[name].to_numpy() for name in view], part["n"].to_numpy())
            for part, view in parts
        ]

    return tables, True


def _table(codes: Sequence[Any], numbers: Any) -> Any:
    """The table of which a group-by gives the non-zero cells."""
    table = np.zeros((2,) * SIZE, np.int64)
    table[tuple(np.asarray(column, int) for column in codes)] = numbers
    return table


def _codes(path: str) -> Any:
    import pyarrow.parquet as pq

    batches = pq.ParquetFile(path).iter_batches()
    return np.concatenate(
        [np.stack([column.to_numpy() for column in batch.columns], axis=1) for batch in batches]
    )


def _warm(path: str, views: Views) -> None:
    """Load the compiled loops, which a long run does once; a small table is counted without."""
    if Path(path).stat().st_size < 10**6:
        return
    rng = np.random.default_rng(0)
    for most in (2, ATTRIBUTES):
        codes = rng.integers(0, 2, (400_000, ATTRIBUTES), np.uint8)
        codes[:, most:] = 0
        count(codes, DOMAIN, [*views, *views][:106] * -(-106 // len(views)))


def write_rows(path: Path, kind: str, rows: int) -> None:
    """Rows of independent, skewed bits, almost all different; or of 3,000 different ones."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    dtype = np.bool_ if kind == "bool" else np.uint8
    schema = pa.schema([(name, pa.from_numpy_dtype(dtype)) for name in DOMAIN])
    with pq.ParquetWriter(path, schema) as writer:
        for chunk in _chunks(kind, rows):
            columns = [
                pa.array(np.ascontiguousarray(chunk[:, place]).astype(dtype))
                for place in range(ATTRIBUTES)
            ]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=122_880)


def _chunks(kind: str, rows: int) -> Iterator[Any]:
    rng = np.random.default_rng(2)
    chances = rng.uniform(0.02, 0.5, ATTRIBUTES)
    few = rng.random((3_000, ATTRIBUTES)) < chances
    for start in range(0, rows, CHUNK):
        size = min(CHUNK, rows - start)
        if kind == "repeated":
            yield few[rng.integers(0, len(few), size)]
        else:
            yield rng.random((size, ATTRIBUTES), np.float32) < chances


GROUP_BYS = ("DuckDB", "polars", "pandas")
FROM_FILES = ("reading Parquet", "reading Parquet with pyarrow", "margin, Parquet")
METHODS: dict[str, Callable[[str, Views], Prepared]] = {
    "margin": _from_memory,
    "margin, numpy only": _numpy_only,
    "margin, repeated rows": _from_memory,
    "margin, Parquet": _from_file,
    "reading Parquet": _reading,
    "reading Parquet with pyarrow": _reading_pyarrow,
    "DuckDB": _duckdb,
    "polars": _polars,
    "pandas": _pandas,
}
