"""A query names the file that is missing, empty or without a column; a release shows no folder."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import margin
from margin.cli.main import main
from margin.data.queries.causes import missing_file
from margin.errors import DataError

DAYS = ("2026-11-02", "2026-11-03", "2026-11-04")
OPTION = "hive_types_autocast = false"
PATTERN = f"read_parquet('clicks/day=*/*.parquet', {OPTION})"
LISTED = ", ".join(f"'clicks/day={day}/*.parquet'" for day in DAYS)
LIST = f"read_parquet([{LISTED}], {OPTION})"
CLEANED = "SELECT lower(trim(page)) AS page FROM"


@pytest.fixture
def days(tmp_path, monkeypatch):
    """The files of three days, in a folder each; the domain of their column `page`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.json").write_text('{"page": ["home"]}')
    for day in DAYS:
        (tmp_path / "clicks" / f"day={day}").mkdir(parents=True)
        write(tmp_path, day)
    return tmp_path


def write(folder, day, column="page"):
    """Write the file of a day anew."""
    rows = pa.table({column: ["Home ", None], "user_id": [1, 2]})
    pq.write_table(rows, file_of(folder, day))


def file_of(folder, day):
    return folder / "clicks" / f"day={day}" / "part.parquet"


def released(query):
    """What a release says of a query that it refuses."""
    domain = {"page": {"values": ["home"], "missing": "none"}}
    with pytest.raises(DataError) as caught:
        margin.release(margin.Sql(query), domain=domain, budget=margin.PureDP(1))
    assert caught.value.__cause__ is None
    return str(caught.value)


def checked(query, capsys):
    """What `margin domain check` says of a query that it refuses."""
    assert main(["domain", "check", "--sql", query, "d.json"]) == 2
    said = capsys.readouterr()
    return said.out + said.err


@pytest.mark.parametrize("day", DAYS)
def test_a_listed_folder_that_is_missing_is_named_as_the_query_names_it(days, capsys, day):
    file_of(days, day).unlink()
    file_of(days, day).parent.rmdir()
    # A pattern does not know of the day.
    margin.Sql(f"{CLEANED} {PATTERN}").check(margin.Domain({"page": 2}))
    query = f"{CLEANED} {LIST}"
    said = f"there is none for 'clicks/day={day}/*.parquet'"
    assert said in released(query) and said in checked(query, capsys)


@pytest.mark.parametrize("options", ["", ", hive_partitioning = false"])
@pytest.mark.parametrize("day", range(7))
def test_a_missing_file_of_a_long_list_is_named(tmp_path, monkeypatch, capsys, day, options):
    """DuckDB looks for the first two of a list when it plans the query, and for others later."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.json").write_text('{"page": ["home"]}')
    names = [f"{number}.parquet" for number in range(7)]
    for name in names:
        pq.write_table(pa.table({"page": ["home"]}), name)
    (tmp_path / names[day]).unlink()
    listed = ", ".join(f"'{name}'" for name in names)
    query = f"SELECT page FROM read_parquet([{listed}]{options})"
    said = f"there is none for '{day}.parquet'"
    assert said in released(query) and said in checked(query, capsys)


def test_no_row_can_name_a_file(days):
    """A query may make any text of a row an error: DuckDB puts other words before it."""
    text = QUOTED.format("x.parquet")
    query = f"SELECT error('{text}') AS page FROM {PATTERN} WHERE page <> 'x.parquet'"
    assert "none for" not in released(query)


QUOTED = 'IO Error: No files found that match the pattern "{}"'


def test_only_a_text_of_the_query_is_shown():
    """Whatever DuckDB says: its words are compared, not shown."""
    query = "SELECT * FROM 'it''s.parquet' WHERE name <> 'x.parquet'"
    shown = missing_file(OSError(QUOTED.format("it's.parquet")), query)
    assert 'none for "it\'s.parquet"' in shown
    for other in ("y.parquet", "it's.parque", "SELECT", ""):
        assert missing_file(OSError(QUOTED.format(other)), query) == ""
    assert missing_file(OSError("Error: " + QUOTED.format("x.parquet")), query) == ""
    assert missing_file(OSError(QUOTED.format("x.parquet") + " Alice"), query) == ""


@pytest.mark.parametrize("table", [PATTERN, LIST])
@pytest.mark.parametrize("day", DAYS)
def test_an_empty_file_is_named(days, capsys, table, day):
    file_of(days, day).write_bytes(b"")
    query = f"{CLEANED} {table}"
    said = released(query)
    assert "'clicks/day=*/part.parquet' of the query is empty (0 bytes)" in said
    assert day not in said.replace(LISTED, "")
    whole = checked(query, capsys)
    assert f"'clicks/day={day}/part.parquet'" in whole and "is empty (0 bytes)" in whole
    # The files themselves, without a query.
    assert main(["domain", "check", "clicks", "d.json"]) == 2
    assert f"'clicks/day={day}/part.parquet' must be" in capsys.readouterr().out


@pytest.mark.parametrize("text", [f"{CLEANED} {PATTERN}", f"SELECT * FROM {PATTERN}"])
@pytest.mark.parametrize("renamed", [DAYS[:1], DAYS[1:2], DAYS[1:], DAYS])
def test_a_renamed_column_is_named_with_its_file(days, capsys, text, renamed):
    for day in renamed:
        write(days, day, "site")
    said, whole = released(text), checked(text, capsys)
    assert not any(day in said for day in DAYS)
    if text.startswith(CLEANED) and DAYS[0] in renamed:
        assert "have no column of this name" in said and "have no column of this name" in whole
    if renamed == DAYS:
        assert "its files differ" not in whole and "'page'" in whole.replace('"', "'")
        return
    lost = "site" if DAYS[0] in renamed else "page"
    other = next(day for day in DAYS[1:] if (day in renamed) != (DAYS[0] in renamed))
    place = f"column '{lost}' is in 'clicks/day={DAYS[0]}/part.parquet'"
    assert f"{place}, but not in 'clicks/day={other}/part.parquet'" in whole
    assert (" and 1 more" in whole) == (len(renamed) != 1 or DAYS[0] in renamed)


def test_a_check_of_no_rows_says_so_first(days, capsys):
    query = f"SELECT coalesce(page, 'home') AS page FROM {PATTERN} WHERE user_id > "
    for least, rows in ((2, 0), (1, 3)):
        assert main(["domain", "check", "--sql", f"{query}{least}", "d.json"]) == 0
        first = capsys.readouterr().out.splitlines()[0]
        assert first.startswith("the query: it has no rows, so nothing was") == (rows == 0)
        main(["domain", "check", "--sql", f"{query}{least}", "d.json", "--json"])
        assert json.loads(capsys.readouterr().out)["rows"] == rows
