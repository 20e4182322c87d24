"""The same table means the same wherever it comes from, and nothing that is refused shows a
value."""

import csv
import gzip
import io
import json
import shutil
import subprocess
import sys
import traceback
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.counting import CountPlan
from margin.data import source as source_module
from margin.data.encode import code_type
from margin.data.opening import open_source
from margin.data.source import CodesSource, ColumnsSource, FileSource, FrameSource, Source
from margin.data.sql import Sql
from margin.domain.domain import Domain
from margin.errors import DataError

SECRET = "s3cr3t"
DOMAIN = Domain(
    {
        "age": {"bins": [0, 18, 65, 120], "missing": "?"},
        "sex": ["F", "M"],
        "town, or city": {
            "values": ['say "hi"', "x,y", "two\nlines", "é", "#1", "a;b|c\td"],
            "other": "else",
            "missing": "?",
        },
        "children": 4,
        "score": {"bins": [None, 0, 0.5, None], "missing": "none"},
        "member": [True, False],
    }
)
towns = st.sampled_from(
    [*DOMAIN["town, or city"].values[:6], "elsewhere", "NULL", "'", "\\N", None]
)
rows_of_values = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 120)),
        st.sampled_from(["F", "M"]),
        towns,
        st.integers(0, 3),
        st.one_of(st.none(), st.sampled_from([-1.5, 0.0, 0.25, 0.5, 1e300])),
        st.booleans(),
    ),
    max_size=12,
)
SCHEMA = pa.schema(
    [
        ("member", pa.bool_()),
        ("town, or city", pa.string()),
        ("ignored", pa.binary()),
        ("children", pa.int16()),
        ("score", pa.float64()),
        ("sex", pa.string()),
        ("age", pa.int32()),
    ]
)


def arrow(rows):
    """The rows as an Arrow table, with a column more and in an order other than the domain's."""
    columns = (
        dict(zip(DOMAIN, map(list, zip(*rows, strict=True)), strict=True))
        if rows
        else {name: [] for name in DOMAIN}
    )
    return pa.table({**columns, "ignored": [SECRET.encode()] * len(rows)}, SCHEMA)


def as_text(table, path, delimiter=",", end="\r\n", opener=open):
    with opener(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator=end)
        writer.writerow(table.column_names)
        writer.writerows(
            ["" if cell is None else cell for cell in row.values()] for row in table.to_pylist()
        )
    return path


def as_parquet(table, path):
    pq.write_table(table, path)
    return path


def as_json(table, path):
    """A record a line, without the keys of nulls, but for the first; or one array."""
    records = table.drop_columns(["ignored"]).to_pylist()
    sparse = [
        {key: value for key, value in record.items() if value is not None} for record in records[1:]
    ]
    whole = path.suffix == ".json"
    path.write_text(
        json.dumps(records) if whole else "\n".join(map(json.dumps, records[:1] + sparse))
    )
    return path


def as_parts(table, folder):
    """Two files, of which one has numbers of another width, read by a pattern."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    half = table.num_rows // 2
    narrow = table.schema.set(table.schema.get_field_index("age"), pa.field("age", pa.int8()))
    as_parquet(table.slice(0, half).cast(narrow), folder / "1.parquet")
    as_parquet(table.slice(half), folder / "2.parquet")
    return f"{folder}/*.parquet"


def as_hive(table, folder):
    """A folder of folders named after a value, as Spark and Hive write them."""
    shutil.rmtree(folder, ignore_errors=True)
    pq.write_to_dataset(table, folder, partition_cols=["sex"]) if table.num_rows else None
    empty = folder / "sex=F" / "empty.parquet"
    empty.parent.mkdir(parents=True, exist_ok=True)
    as_parquet(table.slice(0, 0).drop_columns(["sex"]), empty)
    (folder / "_SUCCESS").touch()
    return folder


def as_database(table, path):
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE visits AS SELECT * FROM given")
    return Sql("SELECT * FROM visits", attach=str(path))


def frame(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def relation(table):
    return duckdb.from_arrow(table)


def categorical(table):
    data = table.to_pandas()
    return data.assign(sex=pd.Categorical(data["sex"], ["other", "M", "unused", "F"]))


def swapped(table):
    children = table["children"].to_numpy().astype(">i4")
    return {**{name: table[name] for name in table.column_names}, "children": children}


FORMS = {
    "csv": lambda table, folder: as_text(table, folder / "table.csv"),
    "csv, LF": lambda table, folder: as_text(table, folder / "lf.csv", end="\n"),
    "csv, semicolons": lambda table, folder: str(as_text(table, folder / "semi.CSV", ";")),
    "tsv": lambda table, folder: as_text(table, folder / "table.tsv", "\t"),
    "csv.gz": lambda table, folder: as_text(table, folder / "table.csv.gz", opener=gzip.open),
    "tsv.gz": lambda table, folder: as_text(table, folder / "table.tsv.gz", "\t", opener=gzip.open),
    "parquet": lambda table, folder: as_parquet(table, folder / "table.parquet"),
    "pq": lambda table, folder: as_parquet(table, folder / "table.pq"),
    "json": lambda table, folder: as_json(table, folder / "table.json"),
    "jsonl": lambda table, folder: as_json(table, folder / "table.jsonl"),
    "parts": lambda table, folder: as_parts(table, folder / "parts"),
    "hive": lambda table, folder: as_hive(table, folder / "hive"),
    "sql": lambda table, folder: Sql(
        f"SELECT * FROM '{as_parquet(table, folder / 'queried.parquet')}' ORDER BY sex;"
    ),
    "database": lambda table, folder: as_database(table, folder / "table.duckdb"),
    "pyarrow": lambda table, folder: table,
    "pyarrow, encoded": lambda table, folder: table.set_column(
        1, "town, or city", table["town, or city"].dictionary_encode()
    ),
    "polars": lambda table, folder: pl.from_arrow(table),
    "polars, categorical": lambda table, folder: pl.from_arrow(table).with_columns(
        pl.col("sex").cast(pl.Categorical)
    ),
    "polars, enum": lambda table, folder: pl.from_arrow(table).with_columns(
        pl.col("sex").cast(pl.Enum(["x", "M", "F"]))
    ),
    "pandas": lambda table, folder: table.to_pandas(),
    "pandas, nullable": lambda table, folder: table.to_pandas().convert_dtypes(),
    "pandas, arrow": lambda table, folder: frame(table),
    "pandas, object": lambda table, folder: table.to_pandas().astype(object),
    "pandas, categorical": lambda table, folder: categorical(table),
    "pandas, odd index": lambda table, folder: table.to_pandas().set_index(
        pd.Index([-0.5] * len(table), name="age")
    ),
    "relation": lambda table, folder: relation(table),
    "dict of lists": lambda table, folder: table.to_pydict(),
    "dict of arrays": lambda table, folder: swapped(table),
    "dict of series": lambda table, folder: dict(pl.from_arrow(table).to_dict()),
}


def tables(data, domain=DOMAIN):
    """All counts of a table, in one view, and again in a second pass; types and lengths are checked
    on the way."""
    source = open_source(data)
    source.check(domain)
    results = []
    for _ in range(2):
        plan = CountPlan(domain, [domain.attributes])
        for batch in source.batches(domain):
            assert list(batch) == list(domain)
            assert all(batch[name].dtype == code_type(domain[name]) for name in domain)
            plan.accumulate(batch)
        results.append(plan.tables[0])
    assert np.array_equal(*results)
    return results[0]


def expected(rows, domain=DOMAIN):
    table = np.zeros(domain.sizes, np.int64)
    for row in rows:
        table[
            tuple(
                attribute.code(value) for attribute, value in zip(domain.values(), row, strict=True)
            )
        ] += 1
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=6, deadline=None)
@given(rows=rows_of_values)
def test_the_same_table_in_any_form(form, folder, rows):
    assert np.array_equal(tables(FORMS[form](arrow(rows), folder)), expected(rows))


ONE = (30, "M", "é", 2, 0.25, False)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [[], [ONE]], ids=["no rows", "one row"])
@pytest.mark.parametrize("form", FORMS)
def test_a_table_of_no_rows_or_one(form, tmp_path, rows):
    assert np.array_equal(tables(FORMS[form](arrow(rows), tmp_path)), expected(rows))


@pytest.mark.parametrize("form", FORMS)
def test_a_value_not_provided_for_is_not_shown(form, tmp_path):
    strict = Domain({**DOMAIN, "town, or city": {"values": ["é"], "missing": "?"}})
    data = FORMS[form](arrow([ONE, (30, "M", SECRET, 2, 0.25, False)]), tmp_path)
    refused(lambda: tables(data, strict), "'town, or city'.*declare other=")


def refused(action, message):
    """The action raises a `DataError` that carries nothing of the data, nor of a library's
    error."""
    with pytest.raises(DataError, match=message) as caught:
        action()
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert SECRET not in str(error)
    assert SECRET not in "".join(traceback.format_exception(error))
    return str(error)


def file(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(data, **declared):
    domain = Domain(
        declared or {"a": ["x", "y", SECRET + "?"], "b": {"values": [0, 1], "other": 2}}
    )
    return tables(data, domain)


def late(end):
    """A text that goes wrong far behind what is looked at first."""
    return b"a,b\n" + b"x,1\ny,0\n" * 300_000 + end


parquet_bytes = io.BytesIO()
pq.write_table(pa.table({"a": ["x", SECRET]}), parquet_bytes)
PARQUET = parquet_bytes.getvalue()
TEXT = f"a,b\nx,1\n{SECRET},1\n".encode()

BAD_FILES = [
    ("f.csv", b"", "must name the columns, but the file has no header"),
    ("f.csv", b"\n\na,b\nx,1\n", "must name the columns, but the file has no header"),
    ("f.csv", b"a\nx\n", "no column named 'b'"),
    ("f.csv", b"A,b\nx,1\n", "no column named 'a'"),
    ("f.csv", b"x,1\ny,0\n", "no column named 'a'"),
    ("f.csv", b"a,b,a\nx,1,x\n", "more than one column named 'a'"),
    ("f.csv", b"a , a,b\nx,x,1\n", "more than one column named 'a'"),
    ("f.csv", f"a,b\nx,1\n{SECRET}\n", r"record 3, .*as many cells"),
    (
        "f.csv",
        f"a,b\nx,1\n{SECRET},1,{SECRET}\n",
        r"record 3, .*as many cells",
    ),
    ("f.csv", f'a,b\nx,1\n"{SECRET},1\n', r"record 3, .*quotes closed"),
    (
        "f.csv",
        f'a,b\nx,1\n"{SECRET}"{SECRET},1\n',
        r"record 3, .*quotes closed",
    ),
    ("f.csv", b"a,b\r\nx,1\nx,1\r\n", "line ends all alike"),
    # A row with a line break inside quotes is one record.
    ("f.csv", f'a,b\n"x\ny",1\n{SECRET}\n', r"record 3, .*as many cells"),
    (
        "f.csv",
        f"a,b\nx,1\n{SECRET}".encode() + b"\xff,1\n",
        r"record 3, .*UTF-8",
    ),
    ("f.csv", "a,b\nx,1\n".encode("utf-16"), "must be text in UTF-8"),
    ("f.csv", f"a,b\nx,1\n{SECRET}\0,1\n", "must be text in UTF-8"),
    ("f.csv", late(SECRET.encode() + b"\n"), r"record 600002, .*as many cells"),
    ("f.csv", late(SECRET.encode() + b"\xff,1\n"), r"record 600002, .*UTF-8"),
    ("f.csv", late(SECRET.encode() + b"\0,1\n"), "NUL character in column 'a'"),
    ("f.csv", PARQUET, "must be text in UTF-8"),
    ("f.csv", gzip.compress(TEXT, mtime=0), "must be text in UTF-8"),
    ("f.tsv", TEXT, "no column named 'a'"),
    ("f.csv.gz", TEXT, "must be a complete gzip file"),
    ("f.csv.gz", gzip.compress(TEXT, mtime=0)[:-9], "must be a complete gzip file"),
    ("f.csv.gz", gzip.compress(late(b""), mtime=0)[:-9], "its checksum is wrong"),
    ("f.csv.gz", gzip.compress(late(b""), mtime=0)[:-8] + b"wrong...", "its checksum is wrong"),
    ("f.csv.gz", gzip.compress(b"", mtime=0), "must name the columns, but the file has no header"),
    ("f.parquet", b"", "must be a Parquet file"),
    ("f.parquet", TEXT, "must be a Parquet file"),
    ("f.parquet", PARQUET[:-5], "must be a Parquet file"),
    ("f.parquet", PARQUET, "no column named 'b'"),
    ("f.parquet", PARQUET[:4] + bytes(60) + PARQUET[64:], "cannot be read|no column"),
    ("f.csv", f"a,b\n{SECRET},1\n", "'a'.*declare other="),
    ("f.csv", "a,b\n,1\n", "'a'.*declare missing="),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES)
def test_a_bad_file_is_refused_by_name(tmp_path, name, content, message):
    path = file(tmp_path, name, content)
    text = refused(lambda: read(path), message)
    assert name in text or "column 'a'" in text


@pytest.mark.parametrize(
    "name", ["f.txt", "f", "f.xlsx", "f.parquet.gz", "https://example.org/x", ".csvx", "SELECT 1"]
)
def test_a_name_that_says_nothing(name):
    refused(lambda: open_source(name), "a data file must end in .csv")


@pytest.mark.parametrize(
    "name", ["f.csv", "f.csv.gz", "f.parquet", "f.tsv", "https://example.org/x.csv"]
)
def test_a_file_that_does_not_exist(tmp_path, name):
    source = open_source(f"{tmp_path}/{name}")
    refused(lambda: source.check(Domain({"a": 2})), "does not exist")


def test_an_empty_folder(tmp_path):
    (tmp_path / "f.csv").mkdir()
    refused(lambda: read(tmp_path / "f.csv"), "has no files")


def test_the_check_judges_no_row(tmp_path):
    path = file(tmp_path, "f.csv", f"a,b\n{SECRET},9\n")
    open_source(path).check(Domain({"a": 2, "b": 2}))


def test_duplicates_that_are_not_declared_do_no_harm(tmp_path):
    path = file(tmp_path, "f.csv", "a,z,z,b,a_1\nx,1,2,0,9\n")
    assert read(path).sum() == 1
    as_parquet(
        pa.Table.from_arrays([pa.array(["x"])] + [pa.array([1])] * 3, ["a", "b", "z", "z"]),
        tmp_path / "f.pq",
    )
    assert read(tmp_path / "f.pq").sum() == 1


def test_a_repeated_column_is_found_whatever_the_library_calls_it(tmp_path):
    twice = pa.Table.from_arrays([pa.array(["x"]), pa.array(["x"]), pa.array([1])], ["a", "a", "b"])
    for data in (as_parquet(twice, tmp_path / "f.parquet"), twice, twice.to_pandas()):
        refused(lambda data=data: read(data), "more than one column named 'a'")


def test_names_are_told_apart_by_case(tmp_path):
    table = pa.table({"A": ["y"], "a": ["x"], "B": [1], "b": [0], "c0": [5]})
    for data in (
        as_parquet(table, tmp_path / "f.parquet"),
        as_text(table, tmp_path / "f.csv"),
        table,
        table.to_pandas(),
    ):
        assert read(data)[0, 0] == 1


def test_a_name_counts_without_white_space_unless_there_is_an_exact_one(tmp_path):
    assert read(file(tmp_path, "f.csv", "a , b\nx,1\n")).sum() == 1
    assert read(file(tmp_path, "f.csv", "a ,a,b\ny,x,1\n"))[0].sum() == 1


@pytest.mark.parametrize(
    "name",
    ["a[1].csv", "a*.csv", "a?.csv", "it's.csv", "two words.csv", "k=5.csv", "{x}.csv", "é.csv"],
)
def test_file_names_are_taken_literally(tmp_path, name):
    for other in ("a1.csv", "ab.csv", "a.csv"):
        file(tmp_path, other, f"a,b\n{SECRET},1\n")
    folder = tmp_path / "b=1" / "c0=y"
    folder.mkdir(parents=True)
    assert read(file(tmp_path, name, "a,b\nx,1\n")).sum() == 1
    assert read(file(folder, name, "a,b\nx,0\n"))[0].tolist() == [1, 0, 0]
    table = pa.table({"a": ["x"], "b": [0]})
    assert read(as_parquet(table, folder / name.replace(".csv", ".parquet")))[0].tolist() == [
        1,
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (b"\xef\xbb\xbfa,b\nx,1\n", 1),
        (b'\xef\xbb\xbf"a","b"\r\n"x","1"\r\n', 1),
        (b"a,b\nx,1\ny,1", 2),
        (b"a,b\nx,1\n\n\n", 1),
        (b"a,b\rx,1\ry,1\r", 2),
        (b'a,b\n"x","1"\n', 1),
        (b"a,b\n x , 1\n", 1),
        (b"a,b\na?,b\n", 1),
        (b"# c,a,b\n#x,x,1\n#,y,0\n", 2),
        (b"a,b", 0),
        (b"a;b\nx;1\n", 1),
        (b"a|b\nx|1\n", 1),
        (b"a\tb\nx\t1\n", 1),
        (b'"c;d;e",a,b\n1;2;3,x,1\n', 1),
        (b'"c\nd",a,b\n1,x,1\n', 1),
    ],
)
def test_the_csv_that_is_accepted(tmp_path, content, count):
    domain = Domain(
        {"a": {"values": ["x", "y"], "other": "z"}, "b": {"values": ["0", "1"], "other": "z"}}
    )
    assert tables(file(tmp_path, "f.csv", content), domain).sum() == count


def test_an_empty_cell_is_null_and_an_empty_text_in_quotes_is_not(tmp_path):
    domain = Domain({"a": {"values": ["", "x"], "missing": "?"}, "b": 2})
    path = file(tmp_path, "f.csv", 'a,b\n"",1\n,1\nx,1\n')
    assert tables(path, domain)[:, 1].tolist() == [1, 1, 1]


def test_the_cells_of_one_column_may_be_empty(tmp_path):
    domain = Domain({"a": {"values": ["x"], "missing": "?"}})
    assert tables(file(tmp_path, "f.csv", 'a\nx\n""\nx\n'), domain).tolist() == [2, 1]


BAD_DATA = [
    ("postgres://bob:hunter2@host/db.csv", r"data file '\*\*\*' does not exist"),
    (None, "type NoneType is not accepted"),
    (3, "type int is not accepted"),
    (b"f.csv", "type bytes is not accepted"),
    ([["x", 1]], "type list is not accepted"),
    ({"a", "b"}, "type set is not accepted"),
    (io.StringIO("a,b"), "type StringIO is not accepted"),
    (pl.LazyFrame({"a": ["x"], "b": [1]}), "LazyFrame is a query that has not run yet"),
    (pa.table({"a": ["x"]}).to_reader(), "read only once"),
    ({"a": ["x"]}, "no column named 'b'"),
    ({"a": ["x"], "b": [1, 0]}, "'b' is not as long as column 'a'"),
    ({"a": "x", "b": [1]}, "'a' must be a list"),
    ({"a": iter(["x"]), "b": [1]}, "'a' must be a list"),
    ({"a": {"x": 1}, "b": [1]}, "'a' must be a list"),
    ({"a": np.array([["x"]]), "b": [1]}, "'a' must be a list.*one dimension"),
    ({"a": [["x"]], "b": [1]}, "'a' holds values that cannot be read: each must be a text"),
    ({"a": [b"x"], "b": [1]}, "'a' holds values that cannot be read: each must be a text"),
    ({"a": [SECRET], "b": [1]}, "'a'.*declare other="),
    ({"a": [None], "b": [1]}, "'a'.*declare missing="),
    ({"a": ["x\ud800"], "b": [1]}, "'a' holds values that cannot be read"),
    (pa.table({"a": [["x"]], "b": [1]}), "'a' is of type list"),
    (pl.DataFrame({"a": [SECRET], "b": [1]}), "'a'.*declare other="),
    (
        pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object), "b": [1]}),
        "'a' is of type fixed_size_binary",
    ),
    (pd.DataFrame({"a": ["x"]}), "no column named 'b'"),
    (pd.DataFrame([["x", "x", 1]], columns=["a", "a", "b"]), "more than one column named 'a'"),
    (pd.DataFrame({"a": [SECRET, 3], "b": [1, 1]}), "'a'.*declare other="),
    (np.array([["x", "y"]]), "integer codes"),
    (np.array([[0.0, 1.0]]), "integer codes"),
    (np.array([[True, False]]), "integer codes"),
    (np.array([[0, 1]], object), "integer codes"),
    (np.array([0, 1]), "two-dimensional"),
    (np.zeros((1, 2, 3), int), "two-dimensional"),
    (np.zeros((5, 3), int), "has 3 columns, but the domain has 2"),
    (np.array([[0, -1]]), "'b' holds a code that is not one of 0 ... 2"),
    (np.array([[3, 0]]), "'a' holds a code that is not one of 0 ... 2"),
    (np.array([[0, 2**63]], np.uint64), "'b' holds a code"),
    (np.ma.masked_array([[0, 1]], [[True, False]]), "masked"),
]


@pytest.mark.parametrize(("data", "message"), BAD_DATA)
def test_bad_data_is_refused_by_name(data, message):
    refused(lambda: read(data), message)


class Mine:
    """A source of a user's own."""

    def check(self, domain):
        pass

    def batches(self, domain):
        yield {name: np.array([0, 1], np.uint8) for name in domain}


def test_the_kinds_of_sources(tmp_path):
    mine = Mine()
    assert open_source(mine) is mine
    kinds = {
        FileSource: tmp_path / "f.csv",
        CodesSource: np.zeros((1, 1), int),
        ColumnsSource: {"a": [1]},
        FrameSource: pa.table({}),
    }
    for kind, data in kinds.items():
        source = open_source(data)
        assert type(source) is kind
        assert isinstance(source, Source)
        assert open_source(source) is source


def test_a_frame_with_columns_called_check_and_batches_is_a_frame():
    data = pd.DataFrame({"check": [1], "batches": [0]})
    assert tables(data, Domain({"check": 2, "batches": 2})).tolist() == [[0, 0], [1, 0]]


@given(
    st.integers(0, 60), st.sampled_from(["u1", ">i2", "<i8", "u8", "i1"]), st.sampled_from("CFSR")
)
def test_codes(rows, dtype, layout):
    rng = np.random.default_rng(rows)
    codes = np.stack([rng.integers(0, 3, rows), rng.integers(0, 100, rows)], axis=1).astype(dtype)
    codes = {
        "C": codes,
        "F": np.asfortranarray(codes),
        "S": np.repeat(codes, 2, 0)[::2],
        "R": codes[::-1],
    }[layout]
    codes.flags.writeable = False
    domain = Domain({"a": 3, "b": 100})
    assert np.array_equal(tables(codes, domain), expected(codes.tolist(), domain))


@given(
    st.lists(
        st.sampled_from(
            [
                1,
                "1",
                1.0,
                True,
                " 1",
                "true",
                0,
                False,
                "0.0",
                2.5,
                "2.5",
                None,
                "",
                Decimal(1),
                np.nan,
            ]
        )
    )
)
def test_values_of_several_types_in_one_column(values):
    attribute = {"values": [0, 1, 2.5], "missing": "?"}
    domain = Domain({"a": attribute})
    codes = [domain["a"].code(value) for value in values]
    assert tables({"a": values}, domain).tolist() == np.bincount(codes, minlength=4).tolist()
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    assert tables(frame, domain).tolist() == np.bincount(codes, minlength=4).tolist()


def test_pandas_nulls_of_every_kind():
    domain = Domain({"a": {"values": ["x"], "missing": "?"}})
    frame = pd.DataFrame(
        {"a": pd.Series(["x", None, np.nan, pd.NA, pd.NaT, 5.0, ""], dtype=object)}
    )
    refused(lambda: tables(frame, domain), "'a'.*declare other=")
    assert tables(frame.drop(index=5), domain).tolist() == [1, 5]


def test_dates_and_times_are_their_texts(tmp_path):
    days = np.array(["2020-01-31", "2021-12-01", "2020-01-31"], "M8[D]")
    domain = Domain({"a": ["2020-01-31", "2021-12-01"]})
    table = pa.table({"a": days})
    for data in (
        table,
        pl.from_arrow(table),
        {"a": days},
        as_parquet(table, tmp_path / "d.pq"),
        as_text(table, tmp_path / "d.csv"),
    ):
        assert tables(data, domain).tolist() == [2, 1]
    times = Domain({"a": ["2020-01-31 00:00:00", "2021-12-01 00:00:00"]})
    for unit in ("s", "ns"):
        table = pa.table({"a": days.astype(f"M8[{unit}]")})
        for data in (table, table.to_pandas(), as_parquet(table, tmp_path / "t.pq")):
            assert tables(data, times).tolist() == [2, 1]


class Stream:
    """A stranger that speaks Arrow, and can be read once only."""

    def __init__(self, table):
        self._reader = table.to_reader()

    def __arrow_c_stream__(self, requested_schema=None):
        table, self._reader = (
            self._reader.read_all(),
            pa.table({"a": pa.array([], pa.int64())}).to_reader(),
        )
        return table.__arrow_c_stream__(requested_schema)


def test_a_stream_that_dries_up_is_noticed():
    domain = Domain({"a": 2})
    source = open_source(Stream(pa.table({"a": [0, 1]})))
    assert sum(len(batch["a"]) for batch in source.batches(domain)) == 2
    refused(lambda: list(source.batches(domain)), "another number of rows when it was read again")


def test_a_refused_relation_leaves_its_connection_free():
    with duckdb.connect() as connection:
        bad = connection.sql(
            f"SELECT if(i = 0, '{SECRET}', 'x') AS a, 1 AS b FROM range(1_000_000) AS t(i)"
        )
        with pytest.raises(DataError, match="other=") as caught:
            read(bad)
        assert read(connection.sql("SELECT 'x' AS a, 1 AS b")).sum() == 1
        assert caught.value.__traceback__ is not None


def test_a_library_that_fails_is_not_quoted():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyError(SECRET)

    refused(lambda: tables(Broken()), "cannot be read through Arrow")
    connection = duckdb.connect()
    failing = connection.sql(f"SELECT error('{SECRET}') AS a, 1 AS b")
    refused(lambda: read(failing), "cannot be read through Arrow")
    connection.close()
    refused(lambda: read(failing), "cannot be read through Arrow")


def test_batches_are_bounded(monkeypatch, tmp_path):
    for module in ("source", "files", "encode"):
        monkeypatch.setattr(sys.modules[f"margin.data.{module}"], "ROWS", 100)
    domain = Domain({"a": 5})
    values = np.arange(2050) % 5
    table = pa.table({"a": values})
    for data in (
        table,
        table.to_pandas(),
        {"a": values},
        values[:, None],
        relation(table),
        as_parquet(table, tmp_path / "f.pq"),
    ):
        lengths = [len(batch["a"]) for batch in open_source(data).batches(domain)]
        assert sum(lengths) == 2050
        assert isinstance(open_source(data), FileSource) or max(lengths) <= 100
        codes = np.concatenate([batch["a"] for batch in open_source(data).batches(domain)])
        assert np.array_equal(codes, values)


def test_heavy_libraries_are_loaded_when_they_are_used():
    program = (
        "import sys; import margin.data as data, margin.data.suggest; data.open_source('x.csv'); "
        "sys.exit(any(name in sys.modules for name in ('duckdb', 'pyarrow', 'polars')))"
    )
    alone = (
        "import sys, types; sys.modules['margin'] = m = types.ModuleType('margin'); "
        "m.__path__ = [{!r}]; "
    )
    folder = source_module.__file__.removesuffix("/data/source.py")
    done = subprocess.run([sys.executable, "-c", alone.format(folder) + program], check=False)
    assert done.returncode == 0


PASS = """
import resource, sys
from margin.domain.domain import Domain
from margin.data import open_source
domain = Domain({f"x{i}": 2 for i in range(8)})
print(sum(len(batch["x0"]) for batch in open_source(sys.argv[1]).batches(domain)))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_rows(tmp_path, suffix):
    peaks = []
    for rows in (100_000, 4_000_000):
        columns = ", ".join(f"(hash(i + {place}) % 2)::INT AS x{place}" for place in range(8))
        path = tmp_path / f"{rows}.{suffix}"
        with duckdb.connect() as connection:
            connection.execute(f"COPY (SELECT {columns} FROM range({rows}) AS t(i)) TO '{path}'")
        output = subprocess.run(
            [sys.executable, "-c", PASS, path], check=True, capture_output=True, text=True
        ).stdout
        read_rows, peak = map(int, output.split())
        assert read_rows == rows
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 250


@pytest.mark.parametrize(
    ("name", "rows", "column", "ones"),
    [
        ("kosarak32_first100k.parquet", 100_000, None, None),
        ("msnbc9.parquet", 989_818, "frontpage", 313_181),
    ],
)
def test_real_binary_tables(real_data, name, rows, column, ones):
    path = real_data / name
    if not path.exists():
        pytest.skip(f"{name} is not in MARGIN_DATA")
    domain = Domain(dict.fromkeys(pq.read_schema(path).names, 2))
    plan = CountPlan(domain, [[name] for name in domain] + [list(domain)[:9]])
    for batch in open_source(path).batches(domain):
        plan.accumulate(batch)
    assert all(table.sum() == rows for table in plan.tables)
    truth = pq.read_table(path).to_pandas()
    assert [int(table[1]) for table in plan.tables[:-1]] == truth.sum().tolist()
    if ones is not None:
        assert plan.tables[domain.attributes.index(column)][1] == ones
        assert plan.tables[-1].flat[0] == 72_659


def test_a_real_table_of_texts(real_data):
    path = real_data / "adult_raw.parquet"
    if not path.exists():
        pytest.skip("adult_raw.parquet is not in MARGIN_DATA")
    domain = Domain(
        {
            "income": ["<=50K", ">50K"],
            "age": {"bins": [0, 30, 60, None]},
            "workclass": {"values": ["?"], "other": "any"},
        }
    )
    table = tables(path, domain)
    assert table.sum(axis=(1, 2)).tolist() == [37_155, 11_687]
    assert np.array_equal(table, tables(pq.read_table(path), domain))


TYPOS = {
    "SELECT agee FROM t": 'column "agee" not found',
    "SELEC age FROM t": 'syntax error at or near "SELEC"',
    "SELECT age FROM tt": "Table with name tt does not exist",
    "SELECT 1 + [age] = {a: 1} FROM t": "No function matches",
}


@pytest.mark.parametrize(("query", "told"), TYPOS.items())
def test_an_error_in_the_text_of_a_query_is_shown(query, told, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,S3cret\n1,2\n")
    source = Sql(query, files={"t": path})
    with pytest.raises(DataError) as error:
        source.check(Domain({"age": 2}))
    text = str(error.value)
    assert told in text and f"LINE 1: {query}" in text
    assert "S3cret" not in text and "Candidate" not in text and "EXPLAIN" not in text


@pytest.mark.parametrize(
    "query",
    [
        "SELECT age::INT AS age FROM t",
        "SELECT agee FROM read_csv('{folder}/t.csv')",
        "SELECT error(age) AS age FROM t",
    ],
)
def test_an_error_that_may_hold_a_row_is_not_shown(query, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,name\nS3cret,2\n")
    source = Sql(query.format(folder=tmp_path), files={"t": path})
    with pytest.raises(DataError, match=r"it failed|guess its types") as error:
        list(source.batches(Domain({"age": 2})))
    assert "S3cret" not in str(error.value)
