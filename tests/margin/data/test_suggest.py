"""A suggested domain is a draft, says so, and once reviewed takes the table that it was made
from."""

import datetime
import functools
import itertools
import json
import math

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import margin
from margin.data import count
from margin.data.checks.fit import check_fit
from margin.data.opening import open_source
from margin.data.suggest import _bins, suggest_domain
from margin.domain.domain import DRAFT, Domain
from margin.errors import DataError, DomainError
from margin.interrupts.share import listening

rng = np.random.default_rng(11)
MANY = [f"w{number:03}" for number in range(300)]
TABLE = pa.table(
    {
        "run": rng.integers(0, 4, 500),
        "gap": rng.choice([1, 2, 5], 500),
        "half": rng.choice([0.5, 1.0, 2.0], 500),
        "amount": rng.integers(0, 100_000, 500),
        "word": rng.choice(["b", "a", "c"], 500),
        "many": rng.choice(MANY, 500, p=np.arange(1, 301) / 45_150),
        "truth": rng.random(500) < 0.5,
        "holes": pa.array([None, "x"] * 250),
        "numbers with holes": pa.array([None, 0, 1, 1] * 125),
        "day": np.array(["2020-01-31", "2020-02-01"] * 250, "M8[D]"),
    }
)


def taken(draft, data):
    """The number of rows that the draft takes once its mark is deleted."""
    domain = Domain({name: form for name, form in draft.items() if name != DRAFT})
    return sum(len(next(iter(batch.values()))) for batch in open_source(data).batches(domain))


def in_forms(table, folder):
    path = folder / "table.parquet"
    pq.write_table(table, path)
    text = folder / "table.csv"
    table.to_pandas().to_csv(text, index=False)
    return {
        "parquet": path,
        "csv": text,
        "pyarrow": table,
        "polars": pl.from_arrow(table),
        "dict": table.to_pydict(),
    }


def test_days_with_a_time_in_the_order_of_another_country_are_dates():
    days = [f"{1 + row % 28}.12.2025 {row % 24}:{row % 60:02}" for row in range(500)]
    told = suggest_domain({"seen": days, "x": [0, 1] * 250})[DRAFT]
    assert "'seen' (dates that are not written as YYYY-MM-DD: a query with --sql" in told


@pytest.mark.parametrize(
    ("form", "odd", "says"),
    [
        ("%d.%m.%Y", 0, "try_strptime(column, '%d.%m.%Y')::DATE in the form of your dates"),
        ("%m/%d/%y", 5, '"missing": "not stated" for texts that are no dates'),
        ("%Y-%m-%d", 5, '"other": "other" for texts that are no dates'),
        ("%Y-%m-%d", 0, "'seen' (dates: declare the first and the last one"),
    ],
)
def test_most_texts_of_a_column_may_be_dates(form, odd, says):
    start = datetime.date(2025, 1, 1)
    days = [f"{start + datetime.timedelta(days=row % 300):{form}}" for row in range(600)]
    days[:odd] = ["unknown"] * odd
    told = suggest_domain({"seen": days, "x": [0, 1] * 300})[DRAFT]
    assert says in told
    assert ("for texts that are no dates" in told) == (odd > 0)
    assert ("not written as YYYY-MM-DD" in told) == (form[:2] != "%Y")


@pytest.mark.parametrize("form", ["parquet", "csv", "pyarrow", "polars", "dict"])
def test_each_kind_of_column(tmp_path, form):
    data = in_forms(TABLE, tmp_path)[form]
    draft = suggest_domain(data)
    assert list(draft) == [DRAFT, *(name for name in TABLE.column_names if name != "day")]
    assert "'day' (dates: declare the first and the last one" in draft[DRAFT]
    assert "not private" in draft[DRAFT]
    assert "delete this line" in draft[DRAFT]
    assert draft["run"] == 4
    assert draft["gap"] == [1, 2, 5]
    assert draft["half"] == [0.5, 1, 2]
    edges = draft["amount"]["bins"]
    assert (edges[0], edges[-1]) == (None, None)
    assert 7 <= len(edges) <= 14
    assert all(edge % 5000 == 0 for edge in edges[1:-1])
    assert draft["word"] == ["a", "b", "c"]
    assert set(draft["many"]) == {"values", "other"}
    assert len(draft["many"]["values"]) == 49
    assert draft["many"]["values"] == sorted(draft["many"]["values"])
    assert sum(int(word[1:]) > 150 for word in draft["many"]["values"]) > 35
    assert sorted(str(value).lower() for value in draft["truth"]) == ["false", "true"]
    assert draft["holes"] == {"values": ["x"], "missing": "missing"}
    assert draft["numbers with holes"] == {"values": [0, 1], "missing": "missing"}
    assert json.loads(json.dumps(draft, allow_nan=False)) == draft
    assert taken(draft, data) == 500
    with pytest.raises(DomainError, match="draft"):
        Domain(draft)


def test_a_relation_and_pandas():
    for data in (duckdb.from_arrow(TABLE), TABLE.to_pandas().drop(columns="day")):
        assert taken(suggest_domain(data), data) == 500


cells = st.one_of(
    st.none(),
    st.sampled_from(
        [
            "a",
            " a",
            "b ",
            "",
            "  ",
            "true",
            "True",
            "1",
            "1.0",
            "01",
            "-0",
            "1e3",
            "nan",
            "inf",
            "other",
            "missing",
        ]
    ),
    st.text("aAb01.-+_ \t\n\"'\\$é²\u00a0😀", max_size=3),
)


@settings(deadline=None, max_examples=40)
@given(
    st.one_of(
        st.lists(cells, max_size=8).map(lambda values: pa.array(values, pa.string())),
        st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=8).map(
            lambda values: pa.array(values, pa.int64())
        ),
        st.lists(st.one_of(st.none(), st.floats()), max_size=8).map(
            lambda values: pa.array(values, pa.float64())
        ),
        st.lists(st.decimals(-99, 99, places=1), max_size=8).map(
            lambda values: pa.array(values, pa.decimal128(5, 1))
        ),
        st.lists(st.booleans(), max_size=3).map(lambda values: pa.array(values, pa.bool_())),
    )
)
def test_the_draft_takes_the_table_it_was_made_from(column):
    table = pa.table({"a": column})
    draft = suggest_domain(table)
    json.dumps(draft, allow_nan=False)
    assert taken(draft, table) == len(column)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(60) * 1e-9,
        np.arange(60) - 1e12,
        np.r_[np.zeros(5000), np.arange(60.0)],
        np.exp(np.arange(200.0)),
        np.array([1.0, np.inf]),
        np.array([np.inf, -np.inf]),
    ],
)
def test_numbers_of_any_size(values):
    table = pa.table({"a": values})
    draft = suggest_domain(table)
    json.dumps(draft, allow_nan=False)
    assert taken(draft, table) == len(values)


@given(st.floats(-1e15, 1e15), st.floats(1e-6, 1e15))
def test_edges_are_round_and_ascend(low, width):
    high = low + width
    edges = _bins(low, high)
    inner = edges[1:-1]
    assert (edges[0], edges[-1]) == (None, None)
    assert all(a < b for a, b in itertools.pairwise(inner))
    assert len(inner) <= 16
    if high > low and width > abs(low) * 1e-9:
        assert len(inner) >= 4
        power = 10.0 ** math.floor(math.log10(width))
        steps = np.diff(inner) / power
        assert np.allclose(steps, steps[0], rtol=1e-3)


def test_spellings_of_one_category_are_told():
    table = {
        "sex": ["Female", "female", "male"] * 40,
        "income": ["under 10k", "under 10 k", "10-20k"] * 40,
        "town": ["north", "south", "east"] * 40,
    }
    draft = suggest_domain(table)
    assert draft["sex"] == ["Female", "female", "male"]
    assert draft["$draft"].endswith(
        "; these look like spellings of one category: 'sex' ('Female', 'female'), "
        "'income' ('under 10 k', 'under 10k')"
    )
    # A rare text is not shown, here neither.
    table["sex"][0] = "FEMALE"
    assert "FEMALE" not in str(suggest_domain(table))


def test_rare_texts_that_may_be_misspelt_are_told():
    table = {
        "status": ["Employed"] * 600 + ["Unemployed"] * 60 + ["Unemployd"] * 2 + ["Emploed"] * 6,
        "town": ["Kingsport"] * 300 + ["Kingston"] * 300 + ["Kingspor"] * 9 + ["Queensport"] * 59,
        "sex": ["female"] * 600 + ["male"] * 20 + ["femal"] * 20 + ["Female"] * 20 + ["NA"] * 8,
        "band": ["10-20 years"] * 600 + ["20-30 years"] * 4 + ["10-20 yers"] * 4 + ["x"] * 60,
    }
    draft = suggest_domain(table)
    # Two rows are too few to show a text. A code, another number and a frequent text are not wrong.
    assert draft["$draft"].split("; ")[2:] == [
        "these may be misspelt: 'status' ('Emploed' in 6 rows: 'Employed'?), "
        "'town' ('Kingspor' in 9 rows: 'Kingsport'?), 'sex' ('femal' in 20 rows: 'female'?), "
        "'band' ('10-20 yers' in 4 rows: '10-20 years'?)",
        "these look like spellings of one category: 'sex' ('Female', 'female')",
    ]


def test_cells_that_are_no_numbers_are_counted():
    """Amounts that are nearly all different, with a few texts among them, have bins; identifiers do
    not, and of mixed codes the draft says how many are no numbers."""
    draws = np.random.default_rng(7)
    amounts = draws.permutation(10**6)[:4000].astype(str).tolist()
    amounts[:28] = ["12,500", "NA"] * 14
    numbers = [str(row) for row in range(4000)]
    numbers[:2] = ["first", "second"]
    codes = [f"x{row}" if row % 4 else str(7 * row) for row in range(4000)]
    draft = suggest_domain({"income": amounts, "row": numbers, "code": codes})
    assert set(draft["income"]) == {"bins", "other"} and len(draft["income"]["bins"]) >= 7
    assert "cells that are not numbers, counted as other: 'income' (28)" in draft[DRAFT]
    assert "'row' (an identifier: whole numbers that are nearly all different)" in draft[DRAFT]
    assert "all different; 3,000 of 4,000 cells are not numbers)" in draft[DRAFT]


@pytest.mark.parametrize("extra", [0, 100])
@pytest.mark.parametrize("as_texts", [False, True])
def test_rare_values_are_not_shown(extra, as_texts):
    """Also beside `other`, where there are many texts; numbers like texts."""
    common = ["a", "b"] * 60 + [f"c{place}" for place in range(extra)] * 3
    secrets = ["secret", "twice", "twice"]
    numbers = [*[1, 2, 3] * 3, *[1] * (len(common) - 9), 14, 17, 17]
    if as_texts:
        # One number has two spellings, each of them rare.
        numbers = [*map(str, numbers), "4", "4", "4.0"]
        common += ["a"] * 3
    draft = suggest_domain({"word": common + secrets, "number": numbers})
    assert "secret" not in json.dumps(draft) and "twice" not in json.dumps(draft)
    assert draft["word"]["other"] == "other"
    shown = [1, 2, 3, 4] if as_texts else [1, 2, 3]
    assert draft["number"] == {"values": shown, "other": "other"}
    rare = "in fewer than 3 rows each, counted as other: 'word' (2), 'number' (2)"
    assert draft[DRAFT].endswith(rare)
    few = suggest_domain({"word": ["a", "a", "once"], "number": [1, 1, 14]})
    assert few["word"] == ["a", "once"] and few["number"] == [1, 14]


def test_numbers_of_which_all_are_rare_have_bins():
    """As have more numbers than are listed, of which none is shown."""
    draft = suggest_domain({"pairs": [*range(50)] * 2, "many": [*range(90), *[5] * 10]})
    assert "bins" in draft["pairs"] and "bins" in draft["many"]
    assert "fewer than 3 rows" not in draft[DRAFT]


@pytest.mark.parametrize("kind", ["files", "database"])
def test_a_query(tmp_path, kind):
    path = in_forms(TABLE, tmp_path)["parquet"]
    if kind == "files":
        query = margin.Sql("SELECT * FROM t", files={"t": str(path)}, memory_limit="200MB")
    else:
        with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
            database.execute(f"CREATE TABLE t AS SELECT * FROM '{path}'")
        query = margin.Sql("SELECT * FROM t", attach=str(tmp_path / "t.duckdb"))
    assert suggest_domain(query) == suggest_domain(path)
    shares = []
    with listening(lambda share, declared: shares.append(share)):
        suggest_domain(query)
    assert shares == sorted(shares) and all(0 <= share <= 1 for share in shares)


def test_an_error_of_a_query_shows_no_row():
    query = margin.Sql("SELECT CAST('s3cr' || i AS INT) AS a FROM range(3) AS r(i)")
    with pytest.raises(DataError, match="must run without an error") as caught:
        suggest_domain(query)
    assert "s3cr" not in str(caught.value)


LEFT_OUT = {
    "person_id": "an identifier, by its name",
    "caseId": "an identifier, by its name",
    "row": "whole numbers that are nearly all different",
    "code": "nearly all different",
    "remark": "free text",
    "seen": "dates",
    "seen as text": "dates",
    "street": "too many different texts",
}


def people(rows=4000):
    """A table with columns that should not be declared, and some that should."""
    draws = np.random.default_rng(5)
    days = np.datetime64("2020-01-01") + draws.integers(0, 900, rows)
    return pa.table(
        {
            "person_id": [f"P{number:05}" for number in draws.integers(0, 900, rows)],
            "caseId": draws.integers(10**8, 10**9, rows),
            "row": np.arange(rows),
            "code": [f"x{number}y" for number in draws.permutation(rows)],
            "remark": [f"the {k} th visit went as it was planned" for k in range(300)]
            * (rows // 300)
            + ["none"] * (rows % 300),
            "seen": days,
            "seen as text": days.astype(str),
            "street": [f"street {number}" for number in draws.integers(0, 2000, rows)],
            "paid": draws.integers(0, 60, rows),
            "income": np.exp(draws.normal(10, 1, rows)).round(2),
            "sex": draws.choice(["F", "M"], rows),
        }
    )


@pytest.mark.parametrize("form", ["parquet", "csv", "pyarrow", "dict"])
def test_columns_that_should_not_be_declared_are_left_out_with_the_reason(form, tmp_path):
    data = in_forms(people(), tmp_path)[form]
    draft = suggest_domain(data)
    assert list(draft) == [DRAFT, "paid", "income", "sex"]
    for name, reason in LEFT_OUT.items():
        told = draft[DRAFT].split(f"{name!r} (")[1].split(")")[0]
        assert reason in told, (name, told)
    assert taken(draft, data) == 4000
    assert "P0" not in json.dumps(draft) and "street 1" not in json.dumps(draft)


def test_bins_hold_about_as_many_rows_each_and_have_round_edges():
    draft = suggest_domain(people(20_000).select(["income"]))
    edges = draft["income"]["bins"]
    assert all(len(str(edge).rstrip("0")) <= 3 for edge in edges[1:-1]), edges
    counts = count(people(20_000), Domain({"income": draft["income"]}), [["income"]])[0]
    assert 8 <= len(counts) <= 11 and counts.min() > 800 and counts.max() < 3600


def test_a_folder_with_a_value_in_its_name(tmp_path):
    table = people(600).select(["sex", "paid", "person_id"])
    for place, year in enumerate(("2020", "2021")):
        folder = tmp_path / "all" / f"year={year}"
        folder.mkdir(parents=True)
        half = table.slice(300 * place, 300)
        # Another order of the columns in the second file.
        names = table.column_names if place else table.column_names[::-1]
        pq.write_table(half.select(names), folder / "t.parquet")
    draft = suggest_domain(tmp_path / "all")
    assert list(draft) == [DRAFT, "paid", "sex", "year"]
    assert draft["year"] == [2020, 2021] and draft["sex"] == ["F", "M"]
    assert taken(draft, tmp_path / "all") == 600


def test_a_file_of_a_header_and_no_rows(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("a,b\n")
    draft = suggest_domain(path)
    assert list(draft) == [DRAFT, "a", "b"]
    assert taken(draft, path) == 0


NESTED = {
    "lists": ([[1], None], pa.list_(pa.int32()), "len(column)"),
    "fixed lists": ([[1, 2], None], pa.list_(pa.int32(), 2), "len(column)"),
    "records": ([{"x": 1}, None], pa.struct({"x": pa.int32()}), "column.field"),
    "maps": ([[("x", 1)], None], pa.map_(pa.string(), pa.int32()), "column['key']"),
    "bytes": ([b"x", None], pa.binary(), "hex(column)"),
}
FORMS = ["table", "file", "folder", "folder of two types"]


@pytest.mark.parametrize(
    ("nested", "form"), [*itertools.product(NESTED, FORMS), ("lists", "query"), ("maps", "query")]
)
def test_a_nested_column_is_left_out(tmp_path, nested, form):
    """A folder, too, whose files may hold it in different types."""
    cells, kind, advice = NESTED[nested]
    table = pa.table({"a": [0, 1], "nested": pa.array(cells, kind)})
    other = pa.table({"a": [0, 1], "nested": pa.array([{"y": True}] * 2)})
    last = other if form == "folder of two types" else table
    for name, rows in {"1": table, "2": last}.items():
        (tmp_path / f"day={name}").mkdir()
        pq.write_table(rows, tmp_path / f"day={name}" / "f.parquet")
    file = tmp_path / "day=1" / "f.parquet"
    query = f"SELECT * FROM read_parquet('{file}', hive_partitioning = false)"
    held = {"table": table, "file": file, "query": margin.Sql(query)}
    data = held.get(form, tmp_path)
    draft = suggest_domain(data)
    days = ["day"] if form.startswith("folder") else []
    assert list(draft) == [DRAFT, "a", *days] and draft["a"] == 2
    assert "left out: 'nested' (its cells are not plain values but " in draft[DRAFT]
    assert advice in draft[DRAFT]
    # A release and a check read the other columns.
    assert check_fit(data, Domain({"a": 2})).fits
    assert taken(draft, data) == (4 if days else 2)


@pytest.mark.parametrize("nested", NESTED)
def test_the_advice_on_nested_columns_makes_plain_values(nested):
    cells, kind, advice = NESTED[nested]
    rows = duckdb.from_arrow(pa.table({"c": pa.array(cells, kind)}))
    own = {"column": "c", "key": "x", "field": "x"}
    expression = functools.reduce(lambda text, word: text.replace(word, own[word]), own, advice)
    assert rows.project(expression).limit(1).fetchall() in [[(1,)], [(2,)], [("78",)]]


def test_what_is_left_out_is_said(tmp_path):
    table = pa.table({"a": [1, 2], "": [1, 2], "span": pa.array([1, 2], pa.duration("s"))})
    path = tmp_path / "f.parquet"
    pq.write_table(table, path)
    for data in (table, path):
        draft = suggest_domain(data)
        assert list(draft) == [DRAFT, "a"]
        plain = "its cells are not plain values"
        assert draft[DRAFT].endswith(f"left out: '' (no name), 'span' ({plain})")
    assert list(suggest_domain(pa.table({"blob": [b"x"]}))) == [DRAFT]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((3, 2), int), "files, a query, a data frame or a dict"),
        (open_source(np.zeros((3, 2), int)), "files, a query, a data frame or a dict"),
        (
            pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]),
            "more than one column named 'a'",
        ),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than one column named 'a'"),
        ({"a": [1], "b": [1, 2]}, "must have the same length"),
        ("nowhere.csv", "does not exist"),
        (3, "not accepted"),
    ],
)
def test_bad_data(data, message):
    with pytest.raises(DataError, match=message) as caught:
        suggest_domain(data)
    assert caught.value.__context__ is None


def test_a_malformed_file_shows_nothing(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("a,b\nx,1\ns3cr3t\n")
    with pytest.raises(DataError, match=r"f\.csv.*not well-formed \(record 3, ") as caught:
        suggest_domain(path)
    assert "s3cr3t" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("name", ["adult_raw.parquet", "kosarak32_first100k.parquet"])
def test_real_tables(real_data, name):
    path = real_data / name
    if not path.exists():
        pytest.skip(f"{name} is not in MARGIN_DATA")
    draft = suggest_domain(path)
    assert taken(draft, path) == pq.read_metadata(path).num_rows
    if name.startswith("adult"):
        assert draft["sex"] == ["Female", "Male"]
        assert draft["education-num"] == list(range(1, 17))
        assert 20 in draft["age"]["bins"]


NUMBERED = st.builds(
    lambda number, rest: f"{number}{rest}",
    st.integers(1, 10**6),
    st.sampled_from(["", "+", "-9", " to 12", "-1,000", " or more"]),
)
WORDS = st.sampled_from(["not stated", "n/a", "unknown", "none"])


def listed(texts):
    """The categories of a column of these texts in the draft."""
    form = suggest_domain({"size": list(texts) * 3})["size"]
    return form["values"] if isinstance(form, dict) else form


@settings(deadline=None, max_examples=40)
@given(
    numbered=st.lists(NUMBERED, min_size=1, max_size=12, unique=True),
    words=st.lists(WORDS, max_size=2, unique=True),
    data=st.data(),
)
def test_categories_that_begin_with_numbers_are_in_the_order_of_these(numbered, words, data):
    texts = [*numbered, *words, "5 or less"]
    found = listed(texts)
    assert listed(data.draw(st.permutations(texts))) == found
    assert {*found} == {*texts}
    numbers = [
        int("".join(itertools.takewhile(str.isdigit, text))) for text in found if text[0] < "A"
    ]
    assert numbers == sorted(numbers)
    # Those without a number are the last ones, in text order.
    assert found[len(numbers) :] == sorted(words)


@pytest.mark.parametrize(
    "texts",
    [
        ["1-9", "10-49", "50-249", "250-999", "1000+"],
        ["1-9", "10-49", "50-999", "1,000-9,999", "10,000+", "not stated"],
        ["1-4", "1-10", "2", "2.5 or more", "10"],
        ["-10 to -1", "0", "+5", "7a"],
        # Codes and words keep text order.
        ["01", "011 Crops", "012 Herds", "02"],
        ["10-49", "50+", "6-9", "under 6"],
        ["B1", "a10", "a9"],
    ],
)
def test_the_order_of_listed_texts(texts):
    for some in (texts, texts[::-1], sorted(texts)):
        assert listed(some) == texts
