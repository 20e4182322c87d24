"""Each row by itself: its codes and its unit follow from that row and the declaration, whatever
source, order and split.

Every source x every kind of value: a table of random values is written down in the source's way,
cut at random into batches, files and partitions, and read back. Each row must have the code and the
identity of its own value, and read alone it must have the same: so no other row, batch, file or
inferred type has a part in it.
"""

import contextlib
import csv
import datetime
import itertools
import json
import math
import random
import sqlite3
import subprocess
import sys
import unicodedata
from decimal import Decimal
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kinds import BERLIN, DECLARED, KINDS, NOON, UTC

from margin.data import encode, files, rows_per_person, sets, source, sql
from margin.data.checks.fit import check_fit
from margin.data.count import count
from margin.data.opening import open_source
from margin.data.sql import Sql
from margin.domain.attribute import UNSEEN, Attribute
from margin.domain.domain import Domain
from margin.domain.values import identity, standard, telling, written
from margin.errors import DataError, DomainError

ROWS = 300  # of a table, in five batches: each value of a kind is there tens of times
ROWS_MIXED = 900
KEY = bytes(range(16))
ODD = [
    *(np.int8(7), np.bool_(True), np.str_("7"), np.float16(0.1), np.datetime64("2020-01-31")),
    *(pd.Timestamp(NOON), pd.NaT, pd.NA, UUID(int=7), datetime.time(12, 30)),
    *(Decimal("NaN"), Decimal("7"), 10**30),
]
MIXED = [value for values, _ in KINDS.values() for value in values] + ODD


def random_cuts(rng, rows):
    """A list of row numbers, from 0 to the number of rows, at which a table is cut."""
    return sorted({0, rows, *(rng.randrange(rows + 1) for _ in range(rng.randrange(6)))})


def pieces(rng, values):
    cuts = random_cuts(rng, len(values))
    return [values[low:high] for low, high in itertools.pairwise(cuts)]


def as_text(value):
    """A cell of a CSV file; an empty one for what is missing."""
    return "" if pd.isna(value) else str(value)


def as_json(value):
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float | np.floating) and value == value:
        return float(str(value))
    return as_text(value) or None


def typed(values, kind):
    """An Arrow array of a declared type; floats keep their NaN."""
    return pa.array(values, kind, from_pandas=False)


def arrow_table(rng, values, kind):
    chunks = [typed(piece, kind) for piece in pieces(rng, values)] or [typed([], kind)]
    return pa.table({"v": pa.chunked_array(chunks, kind)})


def write_csv(folder, values, name="table.csv"):
    with (folder / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["v", "w"])
        writer.writerows([[as_text(value), "1"] for value in values])
    return folder / name


def csv_folder(rng, values, kind, folder):
    for at, piece in enumerate(pieces(rng, values)):
        write_csv(folder, piece, f"{at:03d}.csv")
    return folder


def json_lines(rng, values, kind, folder):
    (folder / "table.jsonl").write_text(
        "\n".join(json.dumps({"v": as_json(value)}) for value in values)
    )
    return folder / "table.jsonl"


def parquet(rng, values, kind, folder):
    pq.write_table(
        arrow_table(rng, values, kind),
        folder / "t.parquet",
        row_group_size=rng.choice([7, 50, 1000]),
    )
    return folder / "t.parquet"


def parquet_folder(rng, values, kind, folder):
    """Files whose columns have other widths, where the values allow it."""
    for at, piece in enumerate(pieces(rng, values)):
        column = typed(piece, kind)
        if pa.types.is_integer(kind):
            column = rng.choice(
                [
                    lambda c: c,
                    lambda c: c.cast(pa.float64()),
                    lambda c: c.cast(pa.decimal128(25, 2)),
                ]
            )(column)
        elif pa.types.is_string(kind):
            column = rng.choice(
                [lambda c: c, lambda c: c.dictionary_encode(), lambda c: c.cast(pa.large_string())]
            )(column)
        pq.write_table(pa.table({"v": column}), folder / f"{at:03d}.parquet")
    return folder


def database(rng, values, kind, folder):
    table = arrow_table(rng, values, kind)
    with duckdb.connect(str(folder / "table.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    return Sql("SELECT v FROM rows ORDER BY rowid", attach=str(folder / "table.duckdb"))


def queried_text(rng, values, kind, folder):
    return Sql("SELECT v FROM t", files={"t": write_csv(folder, values)})


def categorical(rng, values, kind, folder):
    return pd.DataFrame(
        {"v": pd.Categorical([None if as_text(value) == "" else value for value in values])}
    )


def object_array(rng, values, kind, folder):
    array = np.empty(len(values), object)
    array[:] = values
    return {"v": array}


# Each source takes a random generator, the values, their Arrow type and a folder. Those of texts
# write any value.
OF_OBJECTS = {
    "dict of lists": lambda rng, values, kind, folder: {"v": list(values)},
    "dict of object arrays": object_array,
    "pandas, object": lambda rng, values, kind, folder: pd.DataFrame(
        {"v": pd.Series(list(values), dtype=object)}
    ),
    "csv": lambda rng, values, kind, folder: write_csv(folder, values),
    "csv folder": csv_folder,
    "csv in a query": queried_text,
    "json": json_lines,
}
OF_TYPES = {
    "pyarrow": lambda rng, values, kind, folder: arrow_table(rng, values, kind),
    "pyarrow, dictionary": lambda rng, values, kind, folder: pa.table(
        {"v": typed(values, kind).dictionary_encode()}
    ),
    "pandas": lambda rng, values, kind, folder: arrow_table(rng, values, kind).to_pandas(),
    "pandas, arrow": lambda rng, values, kind, folder: arrow_table(rng, values, kind).to_pandas(
        types_mapper=pd.ArrowDtype
    ),
    "polars": lambda rng, values, kind, folder: pl.from_arrow(arrow_table(rng, values, kind)),
    "parquet": parquet,
    "parquet folder": parquet_folder,
    "duckdb": database,
    "duckdb relation": lambda rng, values, kind, folder: duckdb.from_arrow(
        arrow_table(rng, values, kind)
    ),
}
CASES = [
    *((name, kind) for name in OF_OBJECTS for kind in [*KINDS, "mixed"]),
    *((name, kind) for name in OF_TYPES for kind in KINDS),
    ("pandas, categorical", "texts that look like numbers"),
    ("pandas, categorical", "missing among texts"),
]
SOURCES = {**OF_OBJECTS, **OF_TYPES, "pandas, categorical": categorical}


@pytest.fixture
def small_batches(monkeypatch):
    """Batches of a few rows, so that a small table has many."""
    for module in (encode, files, source, sql):
        monkeypatch.setattr(module, "ROWS", 64)


def read(data, attribute):
    """The codes and the identities of all rows, in order."""
    opened = open_source(data)
    opened.check(Domain({"v": attribute}))
    codes = [batch["v"] for batch in opened.batches(Domain({"v": attribute}))]
    return np.concatenate(codes).tolist() if codes else []


def ids(data):
    return [
        text
        for (column,) in open_source(data).columns(["v"])
        for text in rows_per_person.identities("v", column).to_pylist()
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_row_is_read_by_itself(name, kind, tmp_path):
    rng = random.Random(f"{name} {kind}")
    pool, arrow = (MIXED, None) if kind == "mixed" else KINDS[kind]
    # What is expected of a row is that of its place in the pool.
    places = [rng.randrange(len(pool)) for _ in range(ROWS_MIXED if kind == "mixed" else ROWS)]
    values = [pool[place] for place in places]
    identities = [identity(value) for value in pool]

    def expected(attribute):
        codes = [attribute.code(value) for value in pool]
        return [codes[place] for place in places]

    data = SOURCES[name](rng, values, arrow, tmp_path)
    assert read(data, DECLARED["values"]) == expected(DECLARED["values"])
    # One more pass for the other attributes and for the identities.
    batches = [column for (column,) in open_source(data).columns(["v"])]
    for attribute in DECLARED.values():
        encoder = encode.Encoder("v", attribute)
        codes = np.concatenate([encoder.encode(column) for column in batches])
        assert codes.tolist() == expected(attribute)
    found, start = [], 0
    for column in batches:
        whose = [identities[place] for place in places[start : start + len(column)]]
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        someone = [whole.slice(row, 1) for row, text in enumerate(whose) if text is not None]
        found += (
            rows_per_person.identities("v", pa.concat_arrays(someone)).to_pylist()
            if someone
            else []
        )
        start += len(column)
    assert found == [text for place in places if (text := identities[place]) is not None]


@pytest.mark.usefixtures("small_batches", "one_engine")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if "csv" in name or name == "json" else [])
        for name in OF_OBJECTS
    ],
)
def test_a_row_of_another_kind_moves_no_other_row(name, tmp_path):
    """One more row, of any kind, at any place: all others keep their codes and their identities."""
    rng = random.Random(name)
    in_memory = isinstance(SOURCES[name](rng, [], None, tmp_path), dict | pd.DataFrame)
    for number, odd in enumerate(MIXED if in_memory else MIXED[::9]):
        values = [rng.choice([1.5, 7.0, 0.1, -0.0]) for _ in range(130)]
        place = rng.randrange(len(values) + 1)
        more = [*values[:place], odd, *values[place:]]
        for folder in (before := tmp_path / f"{number}", after := tmp_path / f"{number}+"):
            folder.mkdir()
        codes = [
            read(SOURCES[name](rng, rows, None, folder), DECLARED["values"])
            for rows, folder in ((values, before), (more, after))
        ]
        assert codes[1] == [*codes[0][:place], DECLARED["values"].code(odd), *codes[0][place:]]


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("name", [*OF_OBJECTS, "parquet folder", "pyarrow", "duckdb"])
def test_nobody_counts_twice_whatever_form_an_id_has(name, tmp_path):
    """Rows of one person whose id is written in many ways are one person's; two tables differ by
    that person's rows alone."""
    rng = random.Random(name)
    typed_ids = name in OF_TYPES
    forms = (
        [7]
        if typed_ids
        else [7, 7.0, "7", " 7", "07", "7.0", Decimal("7.00"), np.float32(7), np.int8(7), "+7"]
    )
    others = [number for number in range(100, 140) for _ in range(3)]
    rows = [*others, *(rng.choice(forms) for _ in range(30))]
    rng.shuffle(rows)
    for number, most in enumerate((1, 2)):
        (folder := tmp_path / f"{number}").mkdir()
        data = SOURCES[name](rng, rows, pa.int64(), folder)
        kept = count(
            rows_per_person.bound(open_source(data), "v", most, KEY),
            Domain({"v": Attribute(size=200, other=8)}),
            [["v"]],
        )[0]
        assert kept[7] + kept[8] == most
        assert kept.sum() == 41 * most


OF_NUMBERS = [
    Attribute(bins=[0, 5, 10], missing="?"),
    Attribute(size=9, missing=8),
    Attribute(values=[3, 7], missing="?"),
]
NOT_A_NUMBER = ["NaN", "nan", " NAN ", math.nan, None]


@pytest.mark.parametrize("name", [*OF_OBJECTS, "pyarrow", "parquet", "duckdb", "polars"])
def test_nan_is_missing_among_numbers_in_every_source(name, tmp_path):
    """As a text, which CSV files and some databases hold for it, and as a number."""
    columns = [["7", *NOT_A_NUMBER[:3], None]]
    if name not in OF_TYPES:
        columns = [["7", *NOT_A_NUMBER]]
    else:
        columns.append([7.0, math.nan, None])
    for place, values in enumerate(columns):
        (folder := tmp_path / f"{place}").mkdir()
        data = SOURCES[name](random.Random(0), values, pa.array(values[:1]).type, folder)
        for attribute in OF_NUMBERS:
            absent = [attribute.missing_code] * (len(values) - 1)
            assert read(data, attribute) == [attribute.code(7), *absent]


@pytest.mark.parametrize("value", NOT_A_NUMBER, ids=repr)
@pytest.mark.parametrize("attribute", [Attribute(bins=[0, 10]), Attribute(size=9)], ids=repr)
def test_messages_about_missing_values_name_nan(attribute, value):
    table, domain = {"v": [7, value]}, Domain({"v": attribute})
    ((found, _),) = check_fit(table, domain).misfits[0].told()
    assert found == "no value in 1 row (null, blank or NaN)"
    with pytest.raises(DataError, match="holds nulls, empty cells or NaN"):
        count(table, domain, [["v"]])


def test_nan_is_a_text_among_texts_and_behind_a_sign():
    assert Attribute(values=["x"], other="o", missing="?").code("NaN") == 1
    assert Attribute(bins=[0, 5], other="o", missing="?").code("-NaN") == 1


NO_ID = [None, math.nan, np.float32("nan"), Decimal("NaN"), pd.NaT, pd.NA, "", "  ", "\u00a0"]


@pytest.mark.parametrize("nobody", NO_ID, ids=repr)
@pytest.mark.parametrize("name", OF_OBJECTS)
def test_a_row_without_an_id_is_no_person(name, nobody, tmp_path):
    data = SOURCES[name](random.Random(0), ["7", nobody, "8"], None, tmp_path)
    with pytest.raises(
        DataError, match=r"'v' holds nulls, NaN or blank cells, but every row must name its unit"
    ):
        ids(data)


def test_nan_is_no_person_in_a_typed_column():
    with pytest.raises(DataError, match="holds nulls, NaN or blank cells"):
        ids(pa.table({"v": [1.0, math.nan]}))


@pytest.mark.parametrize(
    "rounded", [pa.array([2.0**53]), pa.array([np.float32(2**24)]), pa.array([math.inf])]
)
def test_a_rounded_number_is_no_id(rounded):
    """Two people whose ids are rounded to one float cannot be told from one whose id was not:
    neither is guessed."""
    with pytest.raises(
        DataError, match=r"'v' cannot tell units apart: .*may have been rounded"
    ) as caught:
        ids(pa.table({"v": rounded}))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_files_that_differ_in_the_type_of_an_id_hold_the_same_people(tmp_path):
    """Whole numbers of eleven digits, once as integers and once as floats."""
    people = np.arange(5000) + 50_000_000_000
    for name, ids_of_file in (("1", pa.array(people)), ("2", pa.array(people.astype(float)))):
        pq.write_table(
            pa.table({"id": ids_of_file, "a": np.zeros(5000, int)}), tmp_path / f"{name}.parquet"
        )
    (table,) = count(
        rows_per_person.bound(open_source(tmp_path), "id", 1, KEY), Domain({"a": 2}), [["a"]]
    )
    assert table.tolist() == [5000, 0]


GUESSES = [
    "SELECT * FROM '{}'",
    "SELECT * FROM read_csv('{}')",
    "FROM (SELECT 1 AS dose, 2 AS sex) WHERE EXISTS (FROM read_csv_auto('{}'))",
    "SELECT 'x' AS dose, (SELECT count(*) FROM '{}') AS sex",
]


@pytest.mark.parametrize("text", GUESSES)
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_no_type_is_guessed_in_a_query(text, suffix, tmp_path):
    path = tmp_path / f"t.{suffix}"
    path.write_text(
        "dose,sex\n1.50,F\nunknown,M\n" if suffix == "csv" else '{"dose": 1.5, "sex": "F"}\n'
    )
    query = text.replace("read_csv", "read_json") if suffix == "jsonl" else text
    domain = Domain({"dose": {"values": ["1.5"], "other": "other"}})
    with pytest.raises(
        DataError,
        match="DuckDB would guess its types from some rows; name the file, as in files=",
    ):
        Sql(query.format(path)).check(domain)
    with pytest.raises(DataError, match="DuckDB guesses its types from some rows; pass the path"):
        open_source(duckdb.sql(query.format(path)))
    assert (
        count(Sql("FROM t", files={"t": path}), domain, [["dose"]])[0].tolist()
        == count(path, domain, [["dose"]])[0].tolist()
    )


def test_nor_of_a_pandas_frame():
    frame = pd.DataFrame({"v": pd.Series([2**53 + 1, 0.5], dtype=object)})
    with pytest.raises(DataError, match="or a pandas data frame, and DuckDB guesses its types"):
        open_source(duckdb.from_df(frame))
    assert read(frame, Attribute(values=[2**53 + 1], other="other")) == [0, 1]


def test_nor_in_a_view_of_an_attached_file(tmp_path):
    (tmp_path / "t.csv").write_text("dose\n1.50\n")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(f"CREATE VIEW doses AS SELECT * FROM '{tmp_path}/t.csv'")
    with pytest.raises(DataError, match="would guess its types from some rows"):
        Sql("SELECT * FROM doses", attach=str(tmp_path / "d.duckdb")).check(
            Domain({"dose": ["1.5"]})
        )


DROPPED = [
    "SELECT '01' AS v UNION ALL SELECT v::VARCHAR FROM {file} WHERE 1 = 0",
    "SELECT v FROM (VALUES (1.5), (2)) AS t(v) UNION ALL SELECT v FROM {file} WHERE false",
    "SELECT v FROM (SELECT 7 AS v UNION ALL SELECT v FROM {file}) LIMIT 0",
    "SELECT typeof(v) AS v FROM {file} LIMIT 0",
]
"""Queries whose types depend on a file of which the optimizer reads no row."""


# Before version 2, DuckDB tells nothing about what a relation reads but its last plan.
from_version_2 = pytest.mark.skipif(
    not source._can_query(), reason="DuckDB 2 tells what a relation reads"
)


@from_version_2
@pytest.mark.parametrize("text", DROPPED)
@pytest.mark.parametrize("by", ["file", "view", "macro", "frame"])
def test_nor_where_the_optimizer_drops_the_file(text, by, tmp_path):
    (tmp_path / "t.csv").write_text("v\n1\n2\n")
    path = f"'{tmp_path}/t.csv'"
    with duckdb.connect() as connection:
        connection.execute("SET explain_output = 'optimized_only'")
        connection.execute(f"CREATE VIEW seen AS SELECT * FROM {path}")
        connection.execute(f"CREATE MACRO made() AS TABLE SELECT * FROM {path}")
        connection.register("held", pd.DataFrame({"v": [1, 2]}))
        name = {"file": path, "view": "seen", "macro": "made()", "frame": "held"}[by]
        with pytest.raises(DataError, match="DuckDB guesses its types from some rows"):
            open_source(connection.sql(text.format(file=name)))
        # The connection stays as it was.
        kept = connection.sql("SELECT current_setting('explain_output')").fetchall()
        assert [word.lower() for (word,) in kept] == ["optimized_only"]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_relation_that_guesses_nothing_may_drop_parts(read_only, tmp_path):
    """Nothing is left in its database, which may be read-only."""
    pq.write_table(pa.table({"v": ["01", "2"]}), tmp_path / "t.parquet")
    path = str(tmp_path / "d.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE VIEW seen AS SELECT * FROM '{tmp_path}/t.parquet'")
    with duckdb.connect(path, read_only=read_only) as connection:
        text = "SELECT v FROM seen UNION ALL SELECT '1' WHERE 1 = 0"
        assert read(connection.sql(text), Attribute(values=["01", "2"])) == [0, 1]
        views = connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal")
        assert views.fetchall() == [("seen",)]


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("attached", [False, True])
@pytest.mark.parametrize("made", ["VIEW outer_days AS", "MACRO outer_days() AS TABLE"])
def test_views_and_macros_do_not_hide_the_names_of_folders(made, attached, settled, tmp_path):
    """A view of a view, and a macro of a view, over folders whose values look like dates."""
    domain = days(tmp_path)
    option = ", hive_types_autocast = false" if settled else ""
    text = "SELECT day FROM outer_days()" if "MACRO" in made else "SELECT day FROM Outer_Days"
    path = str(tmp_path / "d.duckdb")
    with duckdb.connect(path) as connection:
        rows = f"read_parquet('{tmp_path}/*/*.parquet'{option})"
        connection.execute(f"CREATE VIEW inner_rows AS SELECT * FROM {rows}")
        connection.execute(f"CREATE {made} SELECT * FROM inner_rows")

    def counted(connection):
        data = Sql(text, attach=path) if attached else connection.sql(text)
        return count(data, domain, [["day"]])[0].tolist()

    if not attached and not source._can_query():
        pytest.skip("DuckDB 2 tells what a relation reads")
    with duckdb.connect() if attached else duckdb.connect(path) as connection:
        if settled:
            assert counted(connection) == [2, 0]
            return
        with pytest.raises(DataError, match="the type of the values from all folders"):
            counted(connection)


@pytest.mark.parametrize("content", [b"PAR1 cut", b"\0", b"[{"])
@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_no_message_shows_the_value_of_a_folder(content, ending, tmp_path):
    folder = tmp_path / "site=S3cret" / "sex=S3cret"
    folder.mkdir(parents=True)
    (folder / f"t.{ending}").write_bytes(content)
    for data in (tmp_path, Sql("SELECT v FROM t", files={"t": tmp_path})):
        with pytest.raises(DataError) as error:
            count(data, Domain({"v": 2}), [["v"]])
        assert "S3cret" not in str(error.value)


def test_the_two_columns_of_pairs_are_read_by_value():
    """Users and items of several kinds, in many batches: what a user holds does not depend on
    anybody else's id."""
    whose = [1.0, "1", 1, "x", True, Decimal("1.0"), "y"]
    pairs = sets.Pairs({"user": whose, "item": ["p", "q", "p", "p", "q", "p", "q"]})
    baskets = pairs.baskets(Domain({"item": ["p", "q"]}))
    assert sorted(baskets.sizes.tolist()) == [1, 1, 2]
    assert "HIV" not in repr(sets.Pairs({"user": ["alice"], "item": ["HIV"]}))
    with pytest.raises(DataError, match="must name its unit"):
        sets.Pairs(pa.table({"user": [math.nan] * 2, "item": ["p", "q"]})).baskets(
            Domain({"item": ["p", "q"]})
        )


# What a value means, by itself.

numbers = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
    st.floats(width=32, allow_nan=False).map(np.float32),
    st.floats(width=16, allow_nan=False).map(np.float16),
    st.booleans(),
    st.integers(-128, 127).map(np.int8),
)
listed = st.lists(
    st.one_of(
        st.sampled_from(["7", "07", "1.5", "1.50", "x", "inf", "1e3", "é", ""]), numbers.map(str)
    ),
    max_size=4,
)


@given(numbers, listed)
@example(np.float32(0.1), ["0.1"])
@example(Decimal("1.50"), ["1.50"])
@example(-0.0, ["0"])
def test_a_number_means_what_its_text_means(value, values):
    attributes = [
        Attribute(bins=[-math.inf, -1.5, 0, 0.1, 7, math.inf]),
        Attribute(size=300, other=299),
    ]
    for declared in ([*values, str(value)], values):
        try:
            attributes.append(Attribute(values=["no", *declared], other="other"))
        except DomainError:  # two of them mean the same
            continue
    assert all(attribute.code(value) == attribute.code(str(value)) for attribute in attributes)


@given(numbers)
def test_a_number_declared_is_found_again_in_every_form(value):
    value = value.item() if isinstance(value, np.generic) else value
    attribute = Attribute(values=["x", str(value)])
    assert (
        attribute.code(value) == attribute.code(written(value)) == attribute.code(f" {value} ") == 1
    )
    assert standard(str(value)) == standard(written(value))


@given(st.text(), st.text())
def test_the_identity_of_texts(one, other):
    same = unicodedata.normalize("NFC", one).strip() == unicodedata.normalize("NFC", other).strip()
    assert identity(one) == identity(f" {one}\n") and identity(one) != ""
    assert not same or identity(one) == identity(other)
    assert (identity(one) is None) == (not unicodedata.normalize("NFC", one).strip())
    if (first := identity(one)) is not None:
        assert identity(first) == first  # a pattern may take it for its own


@given(st.text(st.sampled_from("0123456789eE+-.TZAax:_ "), max_size=12))
@example("2020-01-31T00:00Z")
@example("0x1F")
def test_a_text_that_is_its_own_identity_is_told_by_its_pattern(text):
    (found,) = rows_per_person._identities(pa.array([text], pa.string())).to_pylist()
    assert found == identity(text)


@given(st.datetimes(timezones=st.none() | st.timezones()))
def test_an_instant_has_one_form(moment):
    text = written(moment)
    assert standard(text) == text
    if moment.tzinfo is None and 1700 < moment.year < 2250:
        assert text == written(pd.Timestamp(moment)) == written(np.datetime64(moment))
    assert text == standard(moment.isoformat()) or moment.utcoffset().total_seconds() % 60
    if moment.tzinfo is not None and 1 < moment.year < 9999:
        assert text == written(moment.astimezone(BERLIN))


@given(st.dates())
def test_a_date_is_its_midnight(day):
    midnight = datetime.datetime.combine(day, datetime.time())
    forms = [
        day,
        midnight,
        np.datetime64(day),
        str(day),
        f"{day} 00:00:00",
        f"{day}T00:00Z",
        midnight.replace(tzinfo=UTC),
    ]
    assert {identity(form) for form in forms} == {str(day)}
    assert {Attribute(values=["x", str(day)]).code(form) for form in forms} == {1}


@pytest.mark.parametrize(
    "value",
    [
        b"x",
        [1],
        {"a": 1},
        object(),
        1j,
        datetime.timedelta(1),
        pd.Period("2020"),
        pd.Interval(0, 1),
    ],
)
def test_what_has_no_text_is_provided_for_by_no_attribute(value):
    with pytest.raises(
        TypeError, match="must be a text, number, truth value, date or time, but it is of"
    ):
        written(value)
    assert Attribute(values=["x"]).code(value) == UNSEEN
    assert Attribute(values=["x"], other="y", missing="z").code(value) == 1
    with pytest.raises(
        DataError, match="'v' holds values that cannot be read: each must be a text, a number"
    ):
        read({"v": [value, "x"]}, DECLARED["values"])


@pytest.mark.parametrize(
    "text",
    ["1e999999999", "1e-999999999", "9" * 5000, "1e9999999999", "." * 99, "1e400", "2020-99-99"],
)
def test_a_strange_number_costs_nothing_and_harms_nobody(text):
    for attribute in DECLARED.values():
        assert 0 <= attribute.code(text) < attribute.size
    assert identity(text)


# What other rows, files and settings could still decide.


@pytest.mark.parametrize(
    "big", [2.0**53, 1e17, -1e300, math.inf, -math.inf, np.float32(2**24), np.longdouble("1e4000")]
)
@pytest.mark.parametrize("other", [8.0, 8, "A-17", None, Decimal("0.5")])
def test_a_rounded_number_is_no_id_beside_others_of_any_kind(big, other):
    for values in ([big, other], pd.Series([big, other], dtype=object)):
        (column,) = next(iter(open_source({"v": values}).columns(["v"])))
        with pytest.raises(DataError, match="'v' cannot tell units apart"):
            rows_per_person.identities("v", column)
    with pytest.raises(ValueError, match="does not identify anyone") as caught:
        identity(big)
    assert str(big) not in str(caught.value)


@given(st.floats(allow_nan=False) | st.floats(width=32, allow_nan=False).map(np.float32))
@example(np.longdouble("1e4000"))
def test_the_mark_of_a_rounded_number_has_the_code_of_the_number(value):
    edges = Attribute(bins=[-math.inf, -(2.0**53), 0, 2.0**53, 1e300, math.inf])
    listed = Attribute(values=["x", str(value)], other="other")
    for attribute in (edges, listed, Attribute(size=300, other=299)):
        assert attribute.code(telling(value)) == attribute.code(value)


def test_a_date_finer_than_pythons_is_a_date_in_every_column():
    moments = np.array(["1970-01-02", "NaT", "1970-01-02T00:00:00.000000000001"], "M8[ps]")
    expected = ["1970-01-02", None, "1970-01-02T00:00:00.000000000001"]
    for values in (moments, list(moments), np.ma.array(moments, mask=[False, True, False])):
        (column,) = next(iter(open_source({"v": values}).columns(["v"])))
        assert [written(value) for value in column.to_pylist()] == expected[: len(column)]
    with pytest.raises(TypeError, match="it is of type timedelta64"):
        written(np.timedelta64("NaT"))


def test_printing_options_and_limits_have_no_part_in_a_text():
    with np.printoptions(legacy="1.13"):
        assert written(np.float64(0.1) + np.float64(0.2)) == "0.30000000000000004"
        assert written(np.float32(0.1)) == "0.1"
    assert written(10**5000) == standard("1" + "0" * 5000)
    east = datetime.timezone(datetime.timedelta(hours=1))
    assert written(datetime.datetime(1, 1, 1, tzinfo=east)) == "0001-01-01T00:00:00+01:00"
    assert written(datetime.time(12, 30, 5, 250_000, tzinfo=UTC)) == "12:30:05.25+00:00"


def test_periods_are_refused_among_categories_too():
    periods = pd.Series(pd.period_range("1970-01-01", periods=3)).astype("category")
    with pytest.raises(DataError, match="it must hold numbers, texts"):
        read(pd.DataFrame({"v": periods}), Attribute(size=5))


def test_a_series_of_polars_means_the_same_in_a_dict():
    series = pl.Series("v", [0.1, None], dtype=pl.Float32)
    attribute = Attribute(values=["x", 0.1], other="other", missing="missing")
    assert read({"v": series}, attribute) == read(pl.DataFrame([series]), attribute) == [1, 3]


def test_entries_of_a_dictionary_that_stand_in_no_row_are_not_looked_at():
    ids_of_rows = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array([7.0, 1e17]))
    assert ids(pa.table({"v": ids_of_rows})) == ["7", "7"]
    chunks = pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["7", None])),
            pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["8"])),
        ]
    )
    assert read({"v": chunks}, Attribute(values=["7", "8"], missing="missing")) == [0, 2, 1]


def test_parquet_keeps_the_width_of_floats_and_the_digits_of_decimals(tmp_path):
    table = pa.table({"v": np.array([0.1, 0.2], np.float16)})
    pq.write_table(table, tmp_path / "v.parquet")
    attribute = Attribute(values=["x", 0.1, 0.2])
    assert read(tmp_path / "v.parquet", attribute) == read(table, attribute) == [1, 2]
    pq.write_table(
        pa.table({"v": pa.array([Decimal(10**40)], pa.decimal256(45, 0))}), tmp_path / "w.parquet"
    )
    with pytest.raises(DataError, match="decimals of more than 38 digits, which would be rounded"):
        read(tmp_path / "w.parquet", Attribute(values=[1], other="other"))


def test_a_file_of_another_type_changes_no_row_of_a_query(tmp_path):
    """DuckDB casts the files of a view to one type; a 32-bit 0.1 is not 0.1 in 64 bits."""
    domain = Domain({"v": {"values": [0.1], "other": "other"}})
    pq.write_table(pa.table({"v": pa.array([0.1] * 5, pa.float32())}), tmp_path / "1.parquet")
    query = Sql("SELECT v FROM t", files={"t": tmp_path})
    assert count(query, domain, [["v"]])[0].tolist() == [5, 0]
    pq.write_table(pa.table({"v": pa.array([0.1], pa.float64())}), tmp_path / "2.parquet")
    said = r"'v' in different types \(float and double\).*pass the files themselves"
    with pytest.raises(DataError, match=said):
        query.check(domain)
    assert count(tmp_path, domain, [["v"]])[0].tolist() == [6, 0]


READ_TOGETHER = [
    "'{}/*.parquet'",
    "read_parquet('{}/*.parquet')",
    "read_parquet('{}/*.parquet', union_by_name = true)",
    "read_parquet(['{0}/1.parquet', '{0}/2.parquet'])",
    "read_parquet(['{0}/2.parquet', '{0}/1.parquet'], union_by_name = true)",
    "\"read_parquet\"(['{0}/?.parquet'])",
    "(SELECT '' AS empty, * /* don't */ FROM '{}/*.parquet')",
]


@pytest.mark.parametrize("first", [pa.int64(), pa.float64()])
@pytest.mark.parametrize("read_by", READ_TOGETHER)
def test_files_that_a_text_reads_together_have_one_type(read_by, first, tmp_path):
    """DuckDB would read 1.5 as 2 after a file of integers, and round 2^53 + 1 for a double."""
    domain = Domain({"v": {"values": [1, 2], "other": "other"}})
    text = f"SELECT v FROM {read_by}".format(tmp_path)
    pq.write_table(pa.table({"v": pa.array([1, 2], first)}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"v": pa.array([2], first)}), tmp_path / "2.parquet")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(f"CREATE VIEW together AS {text}")
    view = Sql("SELECT v FROM together", attach=str(tmp_path / "d.duckdb"))
    for data in (Sql(text), view, duckdb.sql(text)):
        assert count(data, domain, [["v"]])[0].tolist() == [1, 2, 0]
    second = pa.float64() if first == pa.int64() else pa.int64()
    pq.write_table(pa.table({"v": pa.array([2], second)}), tmp_path / "2.parquet")
    said = r"needs one type.*'v' is (BIGINT|DOUBLE) in .*[12].parquet.*cast the column to VARCHAR"
    for query in (Sql(text), view):
        with pytest.raises(DataError, match=said):
            query.check(domain)
    with pytest.raises(DataError, match=said):
        open_source(duckdb.sql(text))


@pytest.mark.parametrize(
    "read_by",
    [
        "read_parquet('{}/' || '*.parquet')",
        "read_parquet(['{0}/1.parquet'] || ['{0}/2.parquet'])",
        "query('FROM ' || '''{}/*.parquet''')",
        "of_macro('{}/1.parquet')",
    ],
)
def test_a_composed_name_of_parquet_files_is_refused(read_by, tmp_path):
    pq.write_table(pa.table({"v": [1, 2]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"v": [1.5]}), tmp_path / "2.parquet")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE MACRO of_macro(p) AS TABLE FROM read_parquet(p)")
    query = Sql(f"SELECT v FROM {read_by}".format(tmp_path), attach=str(tmp_path / "d.duckdb"))
    with pytest.raises(DataError, match=r"has a composed argument.*write the paths in quotes"):
        query.check(Domain({"v": 3}))


def test_files_of_other_types_may_be_read_by_themselves(tmp_path):
    pq.write_table(pa.table({"v": [1, 2]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"v": [1.5]}), tmp_path / "2.parquet")
    reads = [f"SELECT v::VARCHAR AS v FROM '{tmp_path}/{name}.parquet'" for name in (1, 2)]
    query = Sql(" UNION ALL ".join(reads) + " WHERE 'https://example.org/*' <> ''")
    assert count(query, Domain({"v": [1, 1.5, 2]}), [["v"]])[0].tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", ["t.csv", "t.json"])
def test_text_files_of_a_pattern_in_a_text_are_refused(name, tmp_path):
    (tmp_path / name).write_text('{"v": 1}\n' if name == "t.json" else "v\n1\n")
    query = Sql(f"SELECT v FROM '{tmp_path}/*.{name[2:]}'")
    with pytest.raises(DataError, match="would guess its types"):
        query.check(Domain({"v": 3}))


def test_a_folder_of_three_types_is_read_by_a_query_with_three_names(tmp_path):
    """Neither the folder nor one name for it, or for its numbers, is accepted. All messages say
    what is: each type by a name of its own, cast to text, which changes no number."""
    domain = Domain({"v": [7, 8.5, 2**53 + 1]})
    held = {"int64": [7, 2**53 + 1], "double": [7.0, 8.5], "string": ["07", "8.50"]}
    for name, values in held.items():
        pq.write_table(pa.table({"v": values}), tmp_path / f"n{name}.parquet")
    way_out = "of each type .*a name of their own.*cast the column to VARCHAR.*UNION ALL"
    with pytest.raises(DataError, match=way_out):
        open_source(tmp_path).check(domain)
    for pattern in ("*.parquet", "n[id]*.parquet"):
        with pytest.raises(DataError, match=way_out):
            Sql("SELECT v FROM t", files={"t": tmp_path / pattern}).check(domain)
    text = " UNION ALL ".join(f"SELECT v::VARCHAR AS v FROM {name}_" for name in held)
    files = {f"{name}_": tmp_path / f"n{name}.parquet" for name in held}
    assert count(Sql(text, files=files), domain, [["v"]])[0].tolist() == [3, 2, 1]


def test_a_file_of_sqlite_is_told_with_the_way_to_a_source(tmp_path):
    path = tmp_path / "people.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE people (v INTEGER)")
        connection.commit()
    query = Sql("SELECT v FROM people", attach=str(path))
    for refused in (lambda: open_source(path), lambda: query.check(Domain({"v": 2}))):
        with pytest.raises(DataError, match=r"SQLite.*sqlite3 -header -csv people[.]db .*> people"):
            refused()


def test_a_database_that_another_process_writes_is_not_called_a_wrong_file(tmp_path):
    path = str(tmp_path / "held.duckdb")
    text = f"import duckdb; c = duckdb.connect({path!r}); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        writer.stdout.readline()
        with pytest.raises(DataError, match="another process holds its lock; wait"):
            Sql("SELECT 1 AS v", attach=path).check(Domain({"v": 2}))
        writer.communicate(b"\n")
    Sql("SELECT 1 AS v", attach=path).check(Domain({"v": 2}))


def test_a_query_over_parquet_in_files_may_calculate(tmp_path):
    pq.write_table(pa.table({"v": [1, 2]}), tmp_path / "t.parquet")
    query = Sql("SELECT sum(v)::INT AS v FROM t", files={"t": tmp_path / "t.parquet"})
    assert count(query, Domain({"v": 5}), [["v"]])[0].tolist() == [0, 0, 0, 1, 0]


CAST = [" 12", "1_000", "1e3", "0x10", "true", "2026-01-02", "01/02/2026", "2026-13-45", "none"]


def written_as(ending, texts, path):
    """A file of one column of texts."""
    if ending == "csv":
        path.write_text("".join(f"{text}\n" for text in ["v", *texts]))
    elif ending == "jsonl":
        path.write_text("".join(f"{json.dumps({'v': text})}\n" for text in texts))
    else:
        pq.write_table(pa.table({"v": texts}), path)


@pytest.mark.parametrize("kind", ["INT", "DOUBLE", "BOOLEAN", "DATE", "VARCHAR"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_no_text_decides_how_a_query_casts_another(ending, kind, tmp_path):
    """DuckDB may cast in the reader of a file, where one odd text fails the query."""
    path = tmp_path / f"t.{ending}"
    query = Sql(f"SELECT try_cast(v AS {kind}) AS w FROM t", files={"t": path})
    domain = Domain({"w": {"values": ["1000", "2026-01-02", "true"], "missing": 0, "other": 1}})
    with contextlib.closing(duckdb.connect()) as connection:
        connection.register("t", pa.table({"v": CAST}))
        cast = connection.sql(query.text).to_arrow_table()
    for order in (CAST, CAST[::-1]):
        written_as(ending, order, path)
        assert count(query, domain, [["w"]])[0].tolist() == count(cast, domain, [["w"]])[0].tolist()
    for row, text in enumerate(CAST):
        written_as(ending, [text], path)
        own = cast.slice(row, 1)
        assert count(query, domain, [["w"]])[0].tolist() == count(own, domain, [["w"]])[0].tolist()


@pytest.mark.parametrize(
    "read_by", ["'{}/*/*.parquet'", "read_parquet(['{}/day=2020-1-1/t.parquet'])"]
)
def test_the_names_of_other_folders_do_not_decide_what_one_means(read_by, tmp_path):
    """DuckDB takes `2020-1-1` for a date unless some folder is called otherwise."""
    domain = days(tmp_path)
    text = f"SELECT * FROM {read_by}".format(tmp_path)
    with pytest.raises(
        DataError, match="DuckDB would guess the type of the values from all folders"
    ):
        Sql(text).check(domain)
    with pytest.raises(DataError, match="DuckDB guesses the type of the values from all folders"):
        open_source(duckdb.sql(text))
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(f"CREATE VIEW days AS {text}")
    with pytest.raises(DataError, match="hive_types_autocast = false"):
        Sql("SELECT * FROM days", attach=str(tmp_path / "d.duckdb")).check(domain)
    settled = f"SELECT * FROM read_parquet('{tmp_path}/*/*.parquet', hive_types_autocast = false)"
    for data in (Sql(settled), duckdb.sql(settled), tmp_path / "*" / "*.parquet"):
        assert count(data, domain, [["day"]])[0].tolist() == [2, 0]


_OF_DAYS = "SELECT * FROM read_parquet('{0}/*/*.parquet'{1})"
_SETTLED = ", hive_types_autocast = false"
TEXTS_OF_DAYS = {
    "one of two scans": f"{_OF_DAYS} UNION ALL {_OF_DAYS.replace('{1}', _SETTLED)}",
    "in a comment": f"{_OF_DAYS} /* hive_types_autocast = false */",
    "in a text": f"{_OF_DAYS} WHERE day <> 'hive_types_autocast = false'",
    "after an apostrophe in a comment": f"/* a day's */ {_OF_DAYS}",
    "a query in a text": "FROM query('SELECT * FROM ''{0}/*/*.parquet''')",
}


def days(folder):
    """A file in a folder whose name looks like a date, and the domain of its rows."""
    (folder / "day=2020-1-1").mkdir()
    pq.write_table(pa.table({"v": [1, 2]}), folder / "day=2020-1-1" / "t.parquet")
    return Domain({"day": {"values": ["2020-1-1"], "other": "other"}})


@pytest.mark.parametrize("text", TEXTS_OF_DAYS.values(), ids=TEXTS_OF_DAYS)
def test_an_option_for_folders_holds_for_its_own_scan(text, tmp_path):
    domain = days(tmp_path)
    with pytest.raises(DataError, match="guess the type of the values from all folders"):
        Sql(text.format(tmp_path, "")).check(domain)


@pytest.mark.parametrize("option", ["= false", "= 'false'", ":= 0", "=> FALSE"])
def test_an_option_for_folders_may_be_written_in_several_ways(option, tmp_path):
    domain = days(tmp_path)
    text = _OF_DAYS.format(tmp_path, f", hive_types_autocast {option}")
    assert count(Sql(f"{text} UNION ALL {text}"), domain, [["day"]])[0].tolist() == [4, 0]


def test_a_record_of_many_keys_does_not_hide_the_others(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('{"v": 7}\n' * 50 + json.dumps({f"k{place}": 1 for place in range(300)}) + "\n")
    assert read(path, Attribute(values=[7], missing="missing")) == [0] * 50 + [1]


def test_the_first_line_of_transactions_is_read_as_any_other(tmp_path):
    (tmp_path / "t.dat").write_bytes("\ufeff1 2\n1 2\n".encode())
    baskets = sets.Transactions(tmp_path / "t.dat").baskets(Domain({"item": ["1", "2"]}))
    assert (baskets.sizes.tolist(), baskets.items.tolist()) == ([2, 2], [0, 1, 0, 1])
