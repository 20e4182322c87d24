"""CPU time and memory of counting views.

The counting is compared with the group-bys of DuckDB, polars and pandas, and with the reading of
Parquet files.
"""

import math
import multiprocessing
import resource
import tempfile
import time
import unittest.mock
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import margin
from experiments.tools import pages, study
from margin.counting import plan
from margin.data.count import count
from margin.data.source import FileSource

ATTRIBUTES, SIZE = 32, 8
DOMAIN = margin.Domain({f"x{place}": 2 for place in range(ATTRIBUTES)})
CHUNK = 1_000_000


def run(smoke: bool, out: Path) -> str:
    """Measure every method; write rows.csv and counting.md.

    A row has the method, the numbers of rows and views, CPU seconds, nanoseconds per row and view,
    and the peak memory.
    """
    sizes = Sizes(20_000, 20_000, 40_000, 6) if smoke else Sizes(10**6, 10**7, 5 * 10**7, 106)
    with tempfile.TemporaryDirectory(prefix="margin-", dir=None if smoke else out) as folder:
        study.sweep(out / "rows.csv", _Work(folder, alone=not smoke), _keys(sizes))
    found = study.good(study.read(out / "rows.csv"))
    columns = ("method", "kind", "rows", "views", "cpu", "wall", "nanoseconds", "megabytes")
    return pages.page(
        out / "counting.md",
        title="Counting",
        about=f"{sizes.views} views of {SIZE} of {ATTRIBUTES} binary attributes; every table equal "
        "to that of numpy alone.",
        claims=() if smoke else _claims(found, sizes),
        rows=[{name: row[name] for name in columns} for row in found],
    )


class Sizes(NamedTuple):
    """Numbers of rows (for the group-bys, for margin, and of the largest file) and of views."""

    small: int
    rows: int
    large: int
    views: int


def _keys(sizes: Sizes) -> list[dict[str, Any]]:
    """What to measure, each once: method, kind of table, number of rows, number of views."""
    small, rows, large, views = sizes
    cases = [(method, "uint8", small, views) for method in ("margin", *GROUP_BYS)]
    cases += [
        ("margin", "uint8", rows, views),
        ("margin, numpy only", "uint8", rows, views),
        ("margin, repeated rows", "repeated", rows, views),
    ]
    for kind in ("uint8", "bool"):
        cases += [(method, kind, rows, views) for method in FROM_FILES]
    cases += [
        ("margin, Parquet", "uint8", large, views),
        ("margin, Parquet", "uint8", rows, max(views // 5, 1)),
    ]
    names = ("method", "kind", "rows", "views")
    return [dict(zip(names, case, strict=True)) for case in dict.fromkeys(cases)]


def _claims(found: list[study.Row], sizes: Sizes) -> list[pages.Claim]:
    small, rows, large, views = sizes
    measured = {
        (row["method"], row["kind"], int(row["rows"]), int(row["views"])): row for row in found
    }

    def cpu(method: str, kind: str = "uint8", size: int = rows) -> float:
        return float(measured[method, kind, size, views]["cpu"])

    claims = [
        _claim(
            f"{rows:,} rows x {ATTRIBUTES}, {views} views from memory: at most 3 s CPU",
            cpu("margin"),
            3,
            "s",
        )
    ]
    for kind in ("uint8", "bool"):
        quickest = min(cpu(method, kind) for method in FROM_FILES[:2])
        claim = f"from Parquet ({kind}): at most twice the CPU of the quickest reading of it"
        claims.append(_claim(claim, cpu("margin, Parquet", kind) / quickest, 2, "times"))
    for method in GROUP_BYS:
        ratio = cpu(method, size=small) / cpu("margin", size=small)
        claim = f"at least 10 times less CPU than the group-bys of {method}"
        claims.append(_claim(claim, 1 / ratio, 0.1, "of its CPU"))
    peak = float(measured["margin, Parquet", "uint8", large, views]["megabytes"])
    claim = f"{large:,} rows of Parquet: peak memory at most 500 MB"
    return [*claims, _claim(claim, peak, 500, "MB")]


def _claim(claim: str, figure: float, bar: float, unit: str) -> pages.Claim:
    return pages.Claim(claim=claim, measured=f"{figure:.3g} {unit}", holds=figure <= bar)


class _Work:
    """Measures one method in a separate process, so that only its memory is counted."""

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
    """CPU and wall seconds of the quickest of up to three runs, and the peak memory."""
    rng = np.random.default_rng(1)
    asked = [
        tuple(f"x{at}" for at in rng.choice(ATTRIBUTES, SIZE, replace=False)) for _ in range(views)
    ]
    action, check = METHODS[method](path, asked)
    runs: list[tuple[float, float]] = []
    while not runs or (len(runs) < 3 and sum(used for used, _ in runs) < 10):
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
    def lengths() -> list[Any]:
        chunks = FileSource(Path(path)).columns(DOMAIN.attributes)
        return [len(columns[0]) for columns in chunks]

    return lengths, False


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
    """The full table from the non-zero cells that a group-by gives."""
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
    """Load the compiled loops, as a long run does once; small tables do not use them."""
    if Path(path).stat().st_size < 10**6:
        return
    rng = np.random.default_rng(0)
    for most in (2, ATTRIBUTES):
        codes = rng.integers(0, 2, (400_000, ATTRIBUTES), np.uint8)
        codes[:, most:] = 0
        count(codes, DOMAIN, [*views, *views][:106] * -(-106 // len(views)))


def write_rows(path: Path, kind: str, rows: int) -> None:
    """Write rows of independent, skewed bits: almost all different, or 3,000 different ones."""
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
