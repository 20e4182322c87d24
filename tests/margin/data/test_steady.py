"""A release reads one table: files that change meanwhile are noticed, whatever names them."""

import os
from pathlib import Path

import duckdb
import pytest

import margin
from margin.counting import CountPlan
from margin.data.opening import open_source
from margin.data.steady import one_table, unchanged
from margin.errors import DataError
from margin.synopses.estimate import estimate

DOMAIN = margin.Domain({"a": 2, "b": 2})
CHANGED = "its files were changed meanwhile; release a copy or a snapshot"


def _written(path):
    """A file of a table, in a folder that is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = "SELECT i % 2 AS a, i % 3 // 2 AS b FROM range(90) AS t(i)"
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE visits AS {rows}")
    elif path.suffix == ".parquet":
        duckdb.sql(rows).write_parquet(str(path))
    else:
        duckdb.sql(rows).write_csv(str(path))
    return path


SOURCES = {
    "csv": ("t.csv", lambda path: path),
    "parquet": ("t.parquet", lambda path: path),
    "folder": ("t/week=7/t.parquet", lambda path: path.parent.parent),
    "pattern": ("t/t.csv", lambda path: str(path.parent / "*.csv")),
    "files": ("t.csv", lambda path: margin.Sql("SELECT * FROM v", files={"v": path})),
    "query": ("t/t.parquet", lambda path: margin.Sql(f"FROM '{path.parent}/*.parquet'")),
    "attach": ("t.duckdb", lambda path: margin.Sql("FROM visits", attach=str(path))),
}
"""The file of each kind of source, and the data of a release that reads it."""


def _replaced(path):
    """Another file with the same bytes and the same times takes the name."""
    times = path.stat()
    copy = path.with_name(f"copy-{path.name}")
    copy.write_bytes(path.read_bytes())
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))
    os.replace(copy, path)


def _touched(path):
    """As if it was written again: nothing but the time differs."""
    os.utime(path, ns=(0, 1))


CHANGES = {"replaced": _replaced, "touched": _touched, "removed": Path.unlink}
MOMENTS = ("first pass", "between", "second pass", "never")


class _Twice:
    """A mechanism that reads the table in two passes, with something in between."""

    def __init__(self, between):
        self.between = between

    def run(self, private, workload, /):
        one = private.measure([["a"]], spend="0.5")
        self.between()
        return estimate(private.domain, [*one, *private.measure([["b"]])])


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", SOURCES)
def test_a_table_that_changes_stops_the_release(tmp_path, monkeypatch, kind, change, moment):
    name, data = SOURCES[kind]
    path = _written(tmp_path / name)
    source = data(path)
    # The table is changed when its first batch of a pass has been read.
    accumulate = CountPlan.accumulate
    passes = []

    def counted(plan, batch):
        passes.append(plan)
        if moment in ("first pass", "second pass")[len(passes) - 1 : len(passes)]:
            CHANGES[change](path)
        return accumulate(plan, batch)

    monkeypatch.setattr(CountPlan, "accumulate", counted)
    ledger = margin.Ledger(tmp_path / "ledger.db")
    ledger.register("visits", margin.PureDP(1))
    mechanism = _Twice(lambda: CHANGES[change](path) if moment == "between" else None)

    def release():
        return margin.release(
            source,
            domain=DOMAIN,
            budget=margin.PureDP(1),
            mechanism=mechanism,
            ledger=ledger.dataset("visits"),
        )

    if moment == "never":
        assert release().provenance.token is not None
        return
    with pytest.raises(DataError, match=CHANGED) as refused:
        release()
    is_charged = moment != "first pass"
    assert len(ledger.charged("visits")) == is_charged
    assert refused.value.budget_is_lost == is_charged
    # The names of folders and files may be values of the data.
    assert path.name not in str(refused.value) and "week" not in str(refused.value)


def test_a_file_that_joins_a_pattern_of_a_query_is_noticed(tmp_path):
    _written(tmp_path / "t1.parquet")
    source = margin.Sql(f"FROM '{tmp_path}/*.parquet'")
    with one_table():
        list(source.batches(DOMAIN))
        _written(tmp_path / "t2.parquet")
        with pytest.raises(DataError, match=CHANGED):
            list(source.batches(DOMAIN))


def test_rows_that_move_between_the_files_of_a_folder_are_noticed(tmp_path):
    """A row of a file that was read could be read again in another one, in the same pass."""
    paths = [_written(tmp_path / "t" / name) for name in ("1.csv", "2.csv")]
    with one_table():
        batches = open_source(tmp_path / "t").batches(DOMAIN)
        next(batches)
        paths[1].write_text(paths[1].read_text() + "0,0\n")
        with pytest.raises(DataError, match=CHANGED):
            list(batches)


def test_outside_of_a_release_a_source_may_change(tmp_path):
    source = open_source(_written(tmp_path / "t.csv"))
    list(source.batches(DOMAIN))
    _touched(tmp_path / "t.csv")
    assert len(list(source.batches(DOMAIN))) == 1
    # Each release begins anew.
    for _ in range(2):
        _touched(tmp_path / "t.csv")
        with one_table():
            list(source.batches(DOMAIN))


def test_another_error_is_kept_if_nothing_was_changed(tmp_path):
    path = _written(tmp_path / "t.csv")

    def read(change):
        with one_table(), unchanged("t", [path]):
            change(path)
            raise DataError("first")

    with pytest.raises(DataError, match="first"):
        read(Path.exists)
    with pytest.raises(DataError, match=CHANGED):
        read(Path.unlink)
