"""What another program does at this moment ends with code 75, and the same line succeeds later."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import margin
from margin.cli.claims import claimed
from margin.cli.main import main
from margin.counting import CountPlan

duckdb = pytest.importorskip("duckdb")

TABLE = ["--sql", "SELECT a, b FROM t", "--attach", "held.duckdb"]
PAID = ["--domain", "d.json", "--epsilon", "1", "-o", "o.margin", "--ledger", "l.db"]
PAID += ["--dataset", "p"]
LINES = {
    "release": ["release", *TABLE, *PAID],
    "check": ["domain", "check", *TABLE, "d.json"],
    "suggest": ["domain", "suggest", *TABLE],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n0,0\n1,0\n")
    (tmp_path / "d.json").write_text('{"a": 2, "b": 2}')
    with duckdb.connect("held.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 2 AS a, 1 AS b FROM range(9) AS t(i)")
    margin.Ledger("l.db").register("p", margin.PureDP(3))


@contextmanager
def held():
    """Another process has the database open for writing."""
    text = "import duckdb; c = duckdb.connect('held.duckdb'); print(1, flush=True); input()"
    words = [sys.executable, "-c", text]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        yield
        writer.communicate(b"\n")


@pytest.mark.parametrize("name", LINES)
def test_a_database_that_another_process_writes(name, capsys):
    with held():
        assert main(LINES[name]) == 75
        said = capsys.readouterr()
        assert "another process holds its lock; wait" in said.err and not said.out
        assert not margin.Ledger("l.db").charged("p")
    assert main(LINES[name]) == 0


def test_a_name_that_another_command_writes(capsys):
    with claimed(Path("o.margin")):
        assert main(LINES["release"]) == 75
    assert "another command is writing 'o.margin'" in capsys.readouterr().err
    assert not margin.Ledger("l.db").charged("p")
    assert main(LINES["release"]) == 0


@pytest.mark.parametrize("is_charged", [False, True])
def test_files_that_change_before_the_charge_and_after_it(is_charged, capsys, monkeypatch):
    """The table is read in a first pass, which comes before the charge, and in a second one."""
    accumulate = CountPlan.accumulate
    passes = []

    def changed(plan, batch):
        passes.append(plan)
        if len(passes) == 1 + is_charged:
            os.utime("t.csv", ns=(0, 1))
        return accumulate(plan, batch)

    monkeypatch.setattr(CountPlan, "accumulate", changed)
    own = f"twice_{is_charged}.py"  # a module of its own
    Path(own).write_text(OWN)
    line = ["release", "t.csv", *PAID, "--mechanism", f"{own}:Twice"]
    assert main(line) == (4 if is_charged else 75)
    assert "its files were changed meanwhile" in capsys.readouterr().err
    assert len(margin.Ledger("l.db").charged("p")) == is_charged


OWN = """
from margin.synopses.estimate import estimate

class Twice:
    def run(self, private, workload, /):
        one = private.measure([["a"]], spend="0.5")
        return estimate(private.domain, [*one, *private.measure([["b"]])])
"""


def test_what_stays_as_it_is_keeps_its_code():
    """A path and a file that are wrong: a new start would find the same."""
    wrong = {
        "no such database": ["--sql", "SELECT a, b FROM t", "--attach", "no.duckdb"],
        "no database": ["--sql", "SELECT a, b FROM t", "--attach", "t.csv"],
        "no such file": ["no.csv"],
    }
    for table in wrong.values():
        assert main(["release", *table, *PAID]) == 2
    assert main(LINES["release"]) == 0
    assert main(LINES["release"]) == 2  # the file exists already
