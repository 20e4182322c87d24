"""Record and replay from raw tables: every source reads each row by itself, with and without
units."""

import contextlib
import datetime as dt
import decimal
import gzip
import importlib.util
import json
import os
import socket

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import spark_sessions

from margin import PureDP, Sql
from margin.audit import audit, replay
from margin.domain.domain import Domain
from margin.testing import check_source

DOMAIN = Domain(
    {
        "dose": {"values": ["0.5", "1.5", 7, "true story"], "other": "other", "missing": "missing"},
        "size": {"size": 3, "other": 2, "missing": 2},
        "age": {"bins": [0, 18, 65, None], "other": "other", "missing": "missing"},
    }
)

pytestmark = pytest.mark.slow
COLUMNS = ["id", *DOMAIN]

# Values of a column that may hold anything, those of texts, and of JSON.
ANY = [
    7,
    7.0,
    "7",
    " 7 ",
    np.float32(0.5),
    np.int8(1),
    np.float64(1.5),
    decimal.Decimal("1.50"),
    decimal.Decimal("7"),
    True,
    np.bool_(False),
    "True",
    None,
    float("nan"),
    "",
    "  ",
    "unknown",
    -1,
    10**30,
    1e300,
    -0.0,
    float("inf"),
    "nan",
    dt.date(2024, 1, 2),
    dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.UTC),
    pd.Timestamp("2024-01-02"),
    "1_000",
    "01",
    "1e0",
    "\u0661",
]
TEXTS = [
    "7",
    " 7 ",
    "7.0",
    "0.5",
    "0.50",
    "1.5",
    "1",
    "1.0",
    "true",
    "TRUE",
    "",
    " ",
    "unknown",
    "nan",
    "-1",
    "1e1",
    "é",
    "64.9",
    "18",
]
JSON = [
    7,
    7.0,
    "7",
    0.5,
    "0.50",
    1,
    True,
    False,
    None,
    "",
    " ",
    "unknown",
    -1,
    1e30,
    "1.5",
    1.5,
    64.9,
]
IDS = [
    5,
    5.0,
    "5",
    " 5",
    "5.0",
    5e10,
    50_000_000_000,
    "50000000000",
    True,
    "True",
    1,
    0.0,
    -0.0,
    0,
    "A-17",
    "a-17",
]
TEXT_IDS = ["5", " 5", "5.0", "50000000000", "5e10", "-0.0", "A-17", "a-17", "e\u0301"]


def made(values, ids=("a", "b", "c")):
    """Rows in which every attribute takes all values, and the id all ids, side by side in several
    ways."""
    size = len(values)
    return [
        {
            "id": ids[k % len(ids)],
            "dose": values[k % size],
            "size": values[(3 * k + 1) % size],
            "age": values[(7 * k + 2) % size],
        }
        for k in range(max(size, len(ids)))
    ]


def column(rows, name):
    return [row[name] for row in rows]


def objects(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


class Sources:
    """Makes tables of all kinds in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def dict(self, rows):
        return {name: column(rows, name) for name in COLUMNS}

    def object_arrays(self, rows):
        return {name: objects(column(rows, name)) for name in COLUMNS}

    def pandas_objects(self, rows):
        return pd.DataFrame(
            {name: pd.Series(objects(column(rows, name)), dtype=object) for name in COLUMNS}
        )

    def pandas_texts(self, rows):
        return pd.DataFrame(
            {name: pd.Series(column(rows, name), dtype="string") for name in COLUMNS}
        )

    def pandas_categories(self, rows):
        return pd.DataFrame(
            {name: pd.Series(pd.Categorical(column(rows, name))) for name in COLUMNS}
        )

    def polars(self, rows):
        return pl.DataFrame(
            {name: pl.Series(column(rows, name), dtype=pl.String) for name in COLUMNS}
        )

    def arrow(self, rows):
        return pa.table({name: pa.array(column(rows, name), pa.string()) for name in COLUMNS})

    def arrow_dictionaries(self, rows):
        return pa.table(
            {
                name: pa.array(column(rows, name), pa.string()).dictionary_encode()
                for name in COLUMNS
            }
        )

    def csv(self, rows):
        path = self.folder / "rows.csv"
        path.write_text(
            "\n".join(
                [",".join(COLUMNS), *(",".join(f'"{row[c]}"' for c in COLUMNS) for row in rows)]
            )
            + "\n"
        )
        return str(path)

    def tsv_gz(self, rows):
        path = self.folder / "rows.tsv.gz"
        lines = ["\t".join(COLUMNS), *("\t".join(row[c] for c in COLUMNS) for row in rows)]
        path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
        return str(path)

    def parquet(self, rows):
        path = self.folder / "rows.parquet"
        pq.write_table(self.arrow(rows), path, row_group_size=7)
        return str(path)

    def parquet_folder(self, rows):
        folder = self.folder / "parts"
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        middle = len(rows) // 3
        for number, part in enumerate([rows[:middle], rows[middle:]]):
            pq.write_table(self.arrow(part), folder / f"{number}.parquet")
        return str(folder)

    def json(self, rows):
        path = self.folder / "rows.jsonl"
        path.write_text("\n".join(json.dumps({c: row[c] for c in COLUMNS}) for row in rows) + "\n")
        return str(path)

    def json_array(self, rows):
        path = self.folder / "rows.json"
        path.write_text(json.dumps([{c: row[c] for c in COLUMNS} for row in rows]))
        return str(path)

    def duckdb(self, rows):
        self.parquet(rows)
        return Sql(f"SELECT * FROM '{self.folder / 'rows.parquet'}'")


@pytest.fixture
def sources(tmp_path):
    return Sources(tmp_path)


KINDS = [
    ("dict", ANY, IDS),
    ("object_arrays", ANY, IDS),
    ("pandas_objects", ANY, IDS),
    ("pandas_texts", TEXTS, TEXT_IDS),
    ("pandas_categories", TEXTS, TEXT_IDS),
    ("polars", TEXTS, TEXT_IDS),
    ("arrow", TEXTS, TEXT_IDS),
    ("arrow_dictionaries", TEXTS, TEXT_IDS),
    ("csv", TEXTS, TEXT_IDS),
    ("tsv_gz", [text for text in TEXTS if text.strip()], TEXT_IDS),
    ("parquet", TEXTS, TEXT_IDS),
    ("parquet_folder", TEXTS, TEXT_IDS),
    ("json", JSON, [i for i in IDS if type(i) in (int, float, str, bool)]),
    ("json_array", JSON, [i for i in IDS if type(i) in (int, float, str, bool)]),
    ("duckdb", TEXTS, TEXT_IDS),
]
each_kind = pytest.mark.parametrize(
    ("kind", "values", "ids"), KINDS, ids=[kind[0] for kind in KINDS]
)


@each_kind
def test_each_row_is_read_by_itself(kind, values, ids, sources):
    check_source(getattr(sources, kind), domain=DOMAIN, rows=made(values), tables=8)


@pytest.mark.usefixtures("one_engine")
@each_kind
def test_each_unit_is_told_by_itself(kind, values, ids, sources):
    rows = made(values[:6], ids)
    check_source(
        getattr(sources, kind), domain=DOMAIN, rows=rows, unit="id", rows_per_person=2, tables=6
    )


@pytest.mark.usefixtures("one_engine")
@pytest.mark.parametrize(
    ("kind", "values", "ids"),
    [KINDS[0], KINDS[2], KINDS[6], KINDS[12]],
    ids=["dict", "pandas", "arrow", "json"],
)
@pytest.mark.parametrize("unit", [None, "id"])
def test_beyond_a_batch(kind, values, ids, unit, sources):
    rows = made(values, ids)
    check_source(getattr(sources, kind), domain=DOMAIN, rows=rows, unit=unit, tables=2, beyond=True)


# Typed columns: a type is part of the declaration of a table, and the same in all tables.
TYPES = {
    "int8": ([0, 1, 2, -1, 7, 100], np.int8),
    "int64": ([0, 1, 2, -(2**63), 2**63 - 1, 7], np.int64),
    "uint64": ([0, 1, 2, 2**64 - 1, 7, 64], np.uint64),
    "float32": ([0.5, 1.5, 7.0, float("nan"), 1e30, -0.0], np.float32),
    "float64": ([0.5, 1.5, 7.0, float("nan"), float("inf"), 64.999999999999999], np.float64),
    "bool": ([True, False, True, True, False, False], np.bool_),
    "text": (["7", " 7", "0.50", "", "unknown", "1"], "U9"),
}


@pytest.mark.usefixtures("one_engine")
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("unit", [None, "id"])
@pytest.mark.parametrize("form", ["numpy", "pandas", "arrow", "parquet"])
def test_typed_columns(name, unit, form, tmp_path):
    values, kind = TYPES[name]

    def make(rows):
        columns = {c: np.array(column(rows, c), kind) for c in COLUMNS}
        if form == "numpy":
            return columns
        if form == "pandas":
            return pd.DataFrame(columns)
        if form == "arrow":
            return pa.table(columns)
        pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
        return str(tmp_path / "rows.parquet")

    ids = [value for value in values if value == value and str(value).strip()]
    rows = made(values, ids)
    check_source(make, domain=DOMAIN, rows=rows, unit=unit, tables=6)


FOLDER = [
    ([5, 7, 50_000_000_000], [pa.int64(), pa.float64()]),
    ([5, 7, 50_000_000_000], [pa.int64(), pa.string()]),
    ([1, 0], [pa.int64(), pa.bool_()]),
    ([5, 7], [pa.int32(), pa.decimal128(10, 2)]),
]


@pytest.mark.usefixtures("one_engine")
@pytest.mark.parametrize(("values", "types"), FOLDER, ids=["float", "text", "bool", "decimal"])
@pytest.mark.parametrize("unit", [None, "id"])
def test_files_of_a_folder_that_disagree_on_types_mean_the_same_or_are_refused(
    values, types, unit, tmp_path
):
    """Whether they are refused is public: it follows from the types of the files, not from their
    rows."""

    def table(rows, kind):
        texts = pa.types.is_string(kind)
        cells = {c: [str(row[c]) if texts else row[c] for row in rows] for c in COLUMNS}
        numbers = decimal.Decimal if pa.types.is_decimal(kind) else lambda cell: cell
        return pa.table({c: pa.array(map(numbers, cells[c])).cast(kind) for c in COLUMNS})

    def make(rows):
        rows = list(rows)
        for number, kind in enumerate(types):
            part = rows[number :: len(types)] or rows[:0]
            empty = pa.table({c: pa.array([], kind) for c in COLUMNS})
            pq.write_table(table(part, kind) if part else empty, tmp_path / f"{number}.parquet")
        return str(tmp_path)

    rows = [dict.fromkeys(COLUMNS, value) for value in values]
    with contextlib.suppress(_AllRefused):
        checked(make, rows, unit)


class _AllRefused(Exception):
    """Every table is refused, for what is public of it."""


def checked(make, rows, unit):
    try:
        check_source(make, domain=DOMAIN, rows=rows, unit=unit, tables=10)
    except AssertionError as error:
        if "all rows are refused" not in str(error):
            raise
        raise _AllRefused from None


def test_postgres(tmp_path):
    if (
        importlib.util.find_spec("adbc_driver_postgresql") is None
        or "MARGIN_POSTGRES" not in os.environ
    ):
        pytest.skip("no PostgreSQL server: set MARGIN_POSTGRES to a connection string")
    connection = os.environ["MARGIN_POSTGRES"]

    def make(rows):
        import adbc_driver_postgresql.dbapi

        with (
            adbc_driver_postgresql.dbapi.connect(connection) as session,
            session.cursor() as cursor,
        ):
            cursor.execute("DROP TABLE IF EXISTS margin_audit")
            cursor.adbc_ingest("margin_audit", Sources(tmp_path).arrow(rows), mode="create")
            session.commit()
        return Sql("SELECT * FROM margin_audit", connection=connection)

    rows = made(TEXTS, TEXT_IDS)
    check_source(make, domain=DOMAIN, rows=rows, tables=4)
    check_source(make, domain=DOMAIN, rows=rows, unit="id", rows_per_person=2, tables=4)


# pyspark's own: of pandas 3, which this test does not use, and of sockets that it leaves to the
# collector
@pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
)
def test_spark(tmp_path):
    session = spark_sessions.session()
    sources = Sources(tmp_path)
    # Each row is a job of the cluster. tests/margin/data/test_spark.py reads all values in one.
    rows = made(TEXTS[::3], TEXT_IDS[::2])
    types = ", ".join(f"{name} string" for name in COLUMNS)

    def make(rows):
        # With the types told, no job reads them from the file.
        return session.read.schema(types).parquet(sources.parquet(rows))

    check_source(make, domain=DOMAIN, rows=rows, tables=2)
    rows = made(TEXTS[::9], TEXT_IDS[::2])
    check_source(make, domain=DOMAIN, rows=rows, unit="id", rows_per_person=2, tables=2)


class CountsPast:
    """Measures, and lets out the true number of rows of a Spark source in another way."""

    def __init__(self, way):
        self._way = way

    def run(self, private, workload):
        private.measure([["dose"]])
        self._way(private._source._frame.count())


def listens(connections):
    """A server on the loopback address that accepts connections and does not answer."""
    server = socket.create_server(("127.0.0.1", 0), backlog=connections)
    return server, server.getsockname()


def sends(n):
    server, address = listens(1)
    with server, socket.create_connection(address) as connection:
        connection.sendall(b"%d" % n)


def connects_often(n):
    server, address = listens(n)
    with server:
        for _ in range(n):
            socket.create_connection(address).close()


def fetches_often(n):
    for _ in range(n):
        list(spark_sessions.session().range(0, 1, 1, 1).toLocalIterator())


WAYS_OUT = [
    (sends, "opens a connection"),
    (connects_often, "opens a connection"),
    (fetches_often, "past the gate"),
]


@pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
)
@pytest.mark.parametrize(("way", "finding"), WAYS_OUT, ids=[way.__name__ for way, _ in WAYS_OUT])
def test_what_leaves_beside_spark_is_found(way, finding, tmp_path, monkeypatch):
    """By sockets of the mechanism itself, and by the number of results that are fetched from
    Spark."""
    session = spark_sessions.session()
    monkeypatch.chdir(tmp_path)
    # No way out is random, so one repetition on the same table says as much as ten.
    monkeypatch.setattr(replay, "_REPETITIONS", 1)
    frames = []
    for number in (3, 4):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(Sources(tmp_path).arrow(made(TEXTS, TEXT_IDS)[:number]), path)
        frames.append(session.read.parquet(str(path)))

    def run(mechanism):
        found = audit(mechanism, domain=DOMAIN, budget=PureDP(1), pairs=[tuple(frames)])
        return found.findings

    assert run(CountsPast(lambda n: None)) == ()
    assert finding in run(CountsPast(way))[0]
