"""A file that lacks a column: refused in a query as without one, whatever names the files."""

import json
from contextlib import closing
from dataclasses import dataclass

import pytest

import margin
from margin.cli.main import main
from margin.data.checks.fit import check_fit
from margin.data.files import connected
from margin.data.queries.tables import TableOfFiles
from margin.errors import DataError

duckdb = pytest.importorskip("duckdb")

KINDS = ("parquet", "csv", "json")
NAMED = {"folder": "t", "pattern": "t/*.{kind}"}
COUNTRIES = {"values": ["x", "y"], "missing": "none"}


def _written(path, rows):
    """A file of one of the kinds, with a header or a schema from the first row."""
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".json":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return
    cells = ", ".join(str(tuple(row.values())).replace(",)", ")") for row in rows)
    relation = duckdb.sql(f"FROM (VALUES {cells}) AS t({', '.join(rows[0])})")
    relation.write_parquet(str(path)) if path.suffix == ".parquet" else relation.write_csv(
        str(path)
    )


@pytest.fixture(params=KINDS)
def kind(request, tmp_path, monkeypatch):
    """Two files; only the first one has a country, and only the second one has a day."""
    monkeypatch.chdir(tmp_path)
    _written(
        tmp_path / f"t/1.{request.param}", [{"id": 0, "country": "x"}, {"id": 1, "country": "y"}]
    )
    _written(tmp_path / f"t/2.{request.param}", [{"id": 2, "day": 7}, {"id": 2, "day": 8}])
    return request.param


QUERIES = {
    "named": "SELECT id, country FROM t",
    "quoted": 'SELECT T."COUNTRY" AS country FROM t AS T',
    "star": "SELECT * FROM t",
    "aggregate": "SELECT id, max(country) AS country FROM t GROUP BY id",
    "condition": "SELECT id, 'x' AS country FROM t WHERE country IS NULL",
    "outer": "SELECT * FROM (SELECT 'x' AS country) WHERE EXISTS (FROM t WHERE country = 'x')",
    "join": "SELECT id, country FROM t JOIN (SELECT 1 AS id, 'x' AS country) USING (id, country)",
    "part": "SELECT country FROM t UNION ALL SELECT 'x'",
}
"""Queries that need the country."""


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("given", NAMED)
def test_a_query_is_refused_as_the_folder_is(kind, given, query, tmp_path):
    path = NAMED[given].format(kind=kind)
    ledger = margin.Ledger(tmp_path / "l.db")
    ledger.register("p", margin.PureDP(1))
    lacks = rf"data file 't/2.{kind}'.* has no column named 'country'"
    for table in (path, margin.Sql(QUERIES[query], files={"t": path})):
        with pytest.raises(DataError, match=lacks):
            margin.release(
                table,
                domain={"country": COUNTRIES},
                budget=margin.PureDP(1),
                ledger=ledger.dataset("p"),
            )
    assert not ledger.charged("p")


@pytest.mark.parametrize("query", ["SELECT id FROM t", "SELECT * FROM t"])
@pytest.mark.parametrize("given", NAMED)
def test_a_column_that_is_not_needed_may_be_in_some_files(kind, given, query):
    path = NAMED[given].format(kind=kind)
    domain = margin.Domain({"id": 3})
    for table in (path, margin.Sql(query, files={"t": path})):
        source = margin.data.open_source(table)
        source.check(domain)
        codes = [code for batch in source.batches(domain) for code in batch["id"].tolist()]
        assert codes == [0, 1, 2, 2]


@pytest.mark.parametrize("command", ["release", "check"])
def test_the_command_names_the_file_in_its_own_words(kind, command, tmp_path, capsys):
    (tmp_path / "d.json").write_text(json.dumps({"country": COUNTRIES}))
    query = ["--sql", QUERIES["named"], "--table", "t=t"]
    lines = {
        "release": ["release", *query, "--domain", "d.json", "--epsilon", "1", "-o", "o.margin"],
        "check": ["domain", "check", *query, "d.json"],
    }
    assert main(lines[command]) == 2
    told = "".join(capsys.readouterr())
    assert f"data file 't/2.{kind}' of --table t=... has no column named 'country'" in told


def test_a_mistake_of_the_query_is_told_as_such(kind):
    with pytest.raises(DataError, match="is not valid: Binder Error"):
        margin.Sql("SELECT coutry FROM t", files={"t": "t"}).check(margin.Domain({"country": 2}))
    with pytest.raises(DataError, match="must be one SELECT"):
        margin.Sql("DROP TABLE t", files={"t": "t"}).check(margin.Domain({"country": 2}))


@dataclass(frozen=True)
class Two:
    """The columns of two files, and those of their table."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    shared: tuple[str, ...]


SPELT = {
    "same": Two(("id", "a"), ("id", "a"), ("id", "a")),
    "another order": Two(("id", "a"), ("a", "id"), ("id", "a")),
    "another case": Two(("id", "A"), ("ID", "a"), ("id", "A")),
    "case of other letters": Two(("id", "É"), ("id", "é"), ("id",)),
    "white space": Two(("id", "a"), ("id", " a"), ("id",)),
    "more in the first": Two(("id", "a"), ("id",), ("id",)),
    "more in the second": Two(("id",), ("id", "a"), ("id",)),
}


@pytest.mark.parametrize("spelt", SPELT)
def test_the_columns_of_a_table_are_those_of_all_files(spelt, tmp_path):
    """As DuckDB compares names: no file leaves a column to be filled with nulls."""
    two = SPELT[spelt]
    for name, columns in (("1", two.first), ("2", two.second)):
        (tmp_path / f"{name}.csv").write_text(
            f"{','.join(columns)}\n{','.join('v' * len(columns))}\n"
        )
    table = TableOfFiles.read("t", margin.data.folders.open_path(tmp_path))
    with closing(connected()) as connection:
        found = connection.sql(table.rows())
        assert tuple(found.columns) == two.shared
        assert all(cell == "v" for row in found.fetchall() for cell in row)


def test_a_json_file_without_records_lacks_nothing(tmp_path):
    for name, text in (("1", "[]"), ("2", '{"id": 1, "country": "y"}\n')):
        (tmp_path / f"{name}.json").write_text(text)
    source = margin.Sql("SELECT country FROM t", files={"t": tmp_path})
    domain = margin.Domain({"country": COUNTRIES})
    assert [batch["country"].tolist() for batch in source.batches(domain)] == [[1]]


def test_values_in_names_of_folders_are_not_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for week, columns in (("46", "id,country\n1,x\n"), ("47", "id\n1\n")):
        (tmp_path / f"t/week={week}").mkdir(parents=True)
        (tmp_path / f"t/week={week}/1.csv").write_text(columns)
    domain = margin.Domain({"country": 2})
    query = margin.Sql("SELECT country FROM t", files={"t": "t"})
    with pytest.raises(DataError, match=r"'t/week=\*/1.csv'"):
        query.check(domain)
    # A check is for the holder of the data, who needs the whole path.
    with pytest.raises(DataError, match=r"'t/week=47/1\.csv'"):
        check_fit(query, domain)


def test_files_without_a_common_column_are_told_as_such(tmp_path):
    for name, columns in (("1", "a,b\nx,y\n"), ("2", "c\nz\n")):
        (tmp_path / f"{name}.csv").write_text(columns)
    with pytest.raises(DataError, match="must have columns in common"):
        margin.Sql("SELECT 1 AS a", files={"t": tmp_path}).check(margin.Domain({"a": 2}))


def test_a_pattern_in_the_text_of_a_query_is_told_what_may_be_wrong(tmp_path):
    _written(tmp_path / "t/1.parquet", [{"id": 0, "country": "x"}])
    _written(tmp_path / "t/2.parquet", [{"id": 2}])
    source = margin.Sql(f"SELECT country FROM '{tmp_path}/t/*.parquet'")
    with pytest.raises(DataError, match="a likely cause is that a Parquet file lacks a column;"):
        list(source.batches(margin.Domain({"country": COUNTRIES})))


RECORDS = 200_000
"""More than DuckDB looks at before it plans the query."""

DAMAGED = {
    "line ends": ("csv", b"id,country\r\n1,x\r\n2,secret\n", "line ends all alike"),
    "quotes": ("csv", b'id,country\n1,"secret\n', "quotes closed"),
    "letters": ("csv", b"id,country\n1,secret\xff\n", "UTF-8"),
    "cells": ("csv", b"id,country\n1,x\n1,2,secret\n", "as many cells in every row"),
    "record": (
        "jsonl",
        b'{"id": 1, "country": "x"}\n' * RECORDS + b'{"id": 1, "country": "secret\n',
        "one record per line",
    ),
}
"""Files that are damaged: the ending, the content, and what the message says must be so."""


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_behind_a_query_is_told_by_its_kind(tmp_path, case):
    ending, content, rule = DAMAGED[case]
    file = tmp_path / f"t.{ending}"
    file.write_bytes(content)
    source = margin.Sql("SELECT country FROM t", files={"t": file})
    with pytest.raises(DataError, match=f"a {ending[:4].upper().rstrip('L')} file is not") as told:
        list(source.batches(margin.Domain({"country": ["x", "secret"]})))
    assert rule in str(told.value)
    assert "Parquet" not in str(told.value) and "secret" not in str(told.value)


@pytest.mark.parametrize("text", ["strptime(country, '%Y')::VARCHAR", "error(country)"])
def test_a_function_that_fails_accuses_no_file(tmp_path, text):
    (tmp_path / "t.csv").write_text("country\nan error on Line: 7\n")
    query = f"SELECT {text} AS country FROM t"
    source = margin.Sql(query, files={"t": tmp_path / "t.csv"})
    with pytest.raises(DataError, match="run it in the database's own shell") as told:
        list(source.batches(margin.Domain({"country": ["x", "y"]})))
    assert "file" not in str(told.value)


def test_no_cell_is_told_in_the_place_of_a_line(tmp_path):
    (tmp_path / "t.csv").write_text("country\n54321\n")
    query = "SELECT error('CSV Error on Line: ' || country) AS country FROM t"
    source = margin.Sql(query, files={"t": tmp_path / "t.csv"})
    with pytest.raises(DataError) as told:
        list(source.batches(margin.Domain({"country": ["x", "y"]})))
    assert "54321" not in str(told.value)
