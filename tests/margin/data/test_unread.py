"""`margin domain check` and `suggest` name each file that cannot be read, and look at the others; a
release names no folder."""

import json

import duckdb
import pytest

import margin
from margin.cli.main import main
from margin.errors import DataError

ROWS = "SELECT i % 3 AS a, i % 2 AS b FROM range(3000) AS t(i)"
WEEKS = ("2026-W46", "2026-W47", "2026-W48", "2026-W49")


def _cut(path):
    """A file of which the end is missing."""
    path.write_bytes(path.read_bytes()[:-20])


def _overwritten(path):
    """A file whose columns can be found, but not its rows."""
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])


def _uneven(path):
    """A CSV file with a row that has too many cells."""
    path.write_text(path.read_text() + "0,1,1\n")


BROKEN = {
    "cut": (".parquet", _cut),
    "overwritten": (".parquet", _overwritten),
    "uneven": (".csv", _uneven),
    "empty": (".csv", lambda path: path.write_text("")),
}


@pytest.fixture(params=BROKEN)
def broken(request, tmp_path, monkeypatch):
    """The folder of a table, and its files that are broken."""
    ending, damage = BROKEN[request.param]
    paths = [tmp_path / "t" / f"week={week}" / f"part-04{ending}" for week in WEEKS]
    for path in paths:
        path.parent.mkdir(parents=True)
        write = "write_csv" if ending == ".csv" else "write_parquet"
        getattr(duckdb.sql(ROWS), write)(str(path))
    for path in paths[1:3]:
        damage(path)
    (tmp_path / "d.json").write_text('{"a": {"values": [0, 1], "other": "more"}, "b": 2}')
    monkeypatch.chdir(tmp_path)
    return [str(path.relative_to(tmp_path)) for path in paths[1:3]]


def test_each_file_that_cannot_be_read_is_named_and_the_others_are_checked(broken, capsys):
    assert main(["domain", "check", "t", "d.json", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert [one["file"] for one in told["unreadable"]] == broken
    assert not told["fits"] and told["attributes"] == []
    # A file may be read to the place where it is damaged.
    (gathered,) = told["gathered"]
    assert 6000 <= gathered["rows"] <= 12000
    assert gathered["other_rows"] * 3 == pytest.approx(gathered["rows"], abs=3)

    assert main(["domain", "check", "t", "d.json"]) == 2
    out = capsys.readouterr().out
    assert "t: 2 files cannot be read; else all 2 attributes fit\n" in out
    assert [out.count(file) for file in broken] == [1, 1] and "week=*" not in out


def test_a_file_by_itself_is_told_in_the_document_too(broken, capsys):
    assert main(["domain", "check", broken[0], "d.json", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert [one["file"] for one in told["unreadable"]] == broken[:1]


def test_the_files_of_a_query_are_named_if_their_columns_cannot_be_found(broken, capsys):
    query = ["--sql", "SELECT * FROM rows", "--table", "rows=t"]
    code = main(["domain", "check", *query, "d.json", "--json"])
    out, err = capsys.readouterr()
    assert code == 2
    if out:
        assert [one["file"] for one in json.loads(out)["unreadable"]] == broken
    else:
        # DuckDB does not say in which file the rows cannot be read.
        assert "the SQL query" in err


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_parquet_file_that_a_query_names_in_quotes_is_named(tmp_path, capsys, is_cut):
    for week in WEEKS:
        (tmp_path / f"week={week}").mkdir()
        duckdb.sql(ROWS).write_parquet(str(tmp_path / f"week={week}" / "part-04.parquet"))
    broken = tmp_path / f"week={WEEKS[2]}" / "part-04.parquet"
    if is_cut:
        _cut(broken)
    (tmp_path / "d.json").write_text('{"a": 3, "b": 2}')
    query = f"FROM read_parquet('{tmp_path}/*/*.parquet', hive_partitioning = false)"
    check = ["domain", "check", "--sql", query, str(tmp_path / "d.json"), "--json"]
    assert main(check) == (2 if is_cut else 0)
    told = json.loads(capsys.readouterr().out)["unreadable"]
    assert [one["file"] for one in told] == ([str(broken)] if is_cut else [])


def test_a_file_that_lacks_a_column_is_named(tmp_path, capsys):
    for week, rows in zip(WEEKS, (ROWS, ROWS, "SELECT 1 AS a", ROWS), strict=True):
        (tmp_path / f"week={week}").mkdir()
        duckdb.sql(rows).write_parquet(str(tmp_path / f"week={week}" / "part-04.parquet"))
    (tmp_path / "d.json").write_text('{"a": 3, "b": 2}')
    assert main(["domain", "check", str(tmp_path / "*" / "*"), str(tmp_path / "d.json")]) == 2
    out = capsys.readouterr().out
    assert f"b: data file '{tmp_path}/week=2026-W48/part-04.parquet' has no column" in out


def test_a_release_names_no_folder(broken):
    with pytest.raises(DataError) as refused:
        margin.release("t", domain="d.json", budget=margin.PureDP(1))
    assert "week=2026" not in str(refused.value)
    assert str(refused.value).endswith("; margin domain check names the file")


def test_a_draft_names_the_files_that_it_leaves_out(broken, capsys):
    assert main(["domain", "suggest", "t"]) == 0
    draft = json.loads(capsys.readouterr().out)
    _, left_out = draft.pop("$draft").split("; left out, because they cannot be read: ")
    assert [left_out.count(file) for file in broken] == [1, 1]
    assert draft == {"a": 3, "b": 2, "week": [WEEKS[0], WEEKS[3]]}


def test_a_draft_needs_a_file_that_can_be_read(tmp_path, capsys):
    for week in WEEKS[:2]:
        (tmp_path / f"week={week}").mkdir()
        (tmp_path / f"week={week}" / "t.parquet").write_text("no table")
    assert main(["domain", "suggest", str(tmp_path)]) == 2
    assert f"'{tmp_path}/week={WEEKS[0]}/t.parquet' must be a Parquet" in capsys.readouterr().err


def test_public_totals_are_not_compared_with_a_part_of_the_rows(broken, tmp_path, capsys):
    declared = {"a": {"values": [0, 1], "other": "more"}, "b": 2, "$rows": 12_000}
    (tmp_path / "d.json").write_text(json.dumps(declared))
    main(["domain", "check", "t", "d.json", "--json"])
    assert json.loads(capsys.readouterr().out)["statements"] == []
