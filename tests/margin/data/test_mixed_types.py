"""Files of one table with different types: their holder is told which, and nobody else is."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import margin
from margin.cli.main import main
from margin.data.checks.fit import check_fit
from margin.data.failures import MixedTypesError
from margin.data.suggest import suggest_domain

WEEKS = ("2026-W40", "2026-W41", "2026-W42")
ODD, FIRST = ("events/week=2026-W41/t.parquet", "events/week=2026-W40/t.parquet")
PARQUET = "SELECT * FROM read_parquet('events/**/*.parquet', hive_partitioning = false)"
TABLES = {
    "folder": (["events"], "numbers", "texts"),
    "pattern": (["events/*/*.parquet"], "numbers", "texts"),
    "path in a query": (["--sql", PARQUET], "BIGINT", "VARCHAR"),
    "table of a query": (
        ["--sql", "SELECT * FROM e", "--table", "e=events"],
        "integer",
        "string",
    ),
}
"""The options that name the table, and what the types are called."""
IN_PYTHON = {
    "folder": "events",
    "pattern": "events/*/*.parquet",
    "path in a query": margin.Sql(PARQUET),
    "table of a query": margin.Sql("SELECT * FROM e", files={"e": "events"}),
}


@pytest.fixture(autouse=True)
def events(tmp_path, monkeypatch):
    """Three weeks; in the second one, `status` is text."""
    monkeypatch.chdir(tmp_path)
    for week in WEEKS:
        folder = tmp_path / "events" / f"week={week}"
        folder.mkdir(parents=True)
        status = ["200", "201"] if week == "2026-W41" else [200, 201]
        pq.write_table(pa.table({"status": status, "ok": [0, 1]}), folder / "t.parquet")
    (tmp_path / "d.json").write_text('{"status": [200, 201], "ok": 2}')


@pytest.mark.parametrize("table", TABLES)
def test_a_check_names_the_first_file_of_each_type(table, capsys):
    options, numbers, texts = TABLES[table]
    assert main(["domain", "check", *options, "d.json"]) == 2
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "status" in line]
    assert (
        f"column 'status' holds {texts} in 1 file, '{ODD}', and {numbers} in 2 files, the first of "
        f"which is '{FIRST}'; write"
    ) in line
    assert main(["domain", "check", "--json", *options, "d.json"]) == 2
    found = json.loads(capsys.readouterr().out)
    (misfit,) = found["attributes"]
    assert misfit["column"] == "status" and misfit["problem"].startswith("column 'status' holds")
    assert misfit["files"] == {texts: ODD, numbers: FIRST}
    # Of a folder, the other columns are still looked at; a query cannot run at all.
    assert (found["rows_against_rules"] is None) == ("--sql" in options)


@pytest.mark.parametrize("table", TABLES)
def test_a_release_names_no_value_no_place_and_no_number_of_files(table):
    domain = {"status": [200, 201], "ok": 2}
    with pytest.raises(MixedTypesError) as caught:
        margin.release(IN_PYTHON[table], domain=domain, budget=margin.PureDP(1))
    message = str(caught.value)
    assert "margin domain check names the files" in message and "'status'" in message
    numbers = {character for character in message if character.isdigit()}
    assert not numbers, message
    # Both names without their values are the same, so only one is written.
    assert message.count("week=*") == (table != "table of a query")


@pytest.mark.parametrize("table", TABLES)
def test_a_draft_names_them_too(table, capsys):
    options, numbers, texts = TABLES[table]
    is_query = "--sql" in options
    assert main(["domain", "suggest", *options]) == (2 if is_query else 0)
    out, err = capsys.readouterr()
    told = err if is_query else json.loads(out)["$draft"]
    assert f"column 'status' holds {texts} in 1 file, '{ODD}', and {numbers} in 2 files" in told
    assert "'ok'" not in told


def test_a_draft_of_equal_types_says_nothing_of_them():
    assert "holds" not in suggest_domain("events/week=2026-W40")["$draft"]


def test_a_unit_column_and_a_relation_are_told_alike():
    found = check_fit("events", margin.Domain({"ok": 2}), unit="status")
    (misfit,) = found.misfits
    assert misfit.is_unit and misfit.files == {"texts": ODD, "numbers": FIRST}
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        found = check_fit(connection.sql(PARQUET), margin.Domain({"ok": 2}))
    (misfit,) = found.misfits
    assert misfit.files == {"VARCHAR": ODD, "BIGINT": FIRST} and not found.fits
