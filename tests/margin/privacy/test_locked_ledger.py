"""A ledger that another process has locked: code 75, which means "try again later"."""

import sqlite3
from contextlib import closing, contextmanager

import pytest

import margin
from margin.cli.main import main
from margin.privacy.ledger import Ledger

RELEASE = ["release", "t.csv", "--domain", "d.json", "--epsilon", "1", "-o", "o.margin"]
LINES = {
    "create": ["ledger", "create", "l.db", "--dataset", "q", "--epsilon", "3"],
    "show": ["ledger", "show", "l.db", "--json"],
    "verify": ["ledger", "verify", "l.db"],
    "check": ["ledger", "check", "l.db", "--releases", "."],
    "release": [*RELEASE, "--ledger", "l.db", "--dataset", "p"],
}


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("margin.privacy.ledger_file._WAIT", 0.05)
    (tmp_path / "t.csv").write_text("a\n0\n1\n")
    (tmp_path / "d.json").write_text('{"a": 2}')
    made = margin.Ledger("l.db")
    made.register("p", margin.PureDP(3))
    return made


@contextmanager
def locked():
    with closing(sqlite3.connect("l.db", isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        yield


@pytest.mark.parametrize("name", LINES)
def test_every_command_tells_a_locked_ledger_from_an_error(name, ledger, capsys):
    with locked():
        assert main(LINES[name]) == 75
    said = capsys.readouterr()
    assert "is locked by another process; try again later" in said.err and not said.out
    assert main(LINES[name]) == 0


@pytest.mark.parametrize("waiting", ["begin", "commit"])
def test_a_lock_that_comes_at_the_charge_costs_nothing(waiting, ledger, capsys, monkeypatch):
    """The release does not have to ask the locked ledger whether it was charged."""
    charge = Ledger._charge
    reader = sqlite3.connect("l.db", isolation_level=None)

    def late(*arguments):
        # A reader lets a charge begin, but not end.
        reader.execute("BEGIN EXCLUSIVE" if waiting == "begin" else "BEGIN")
        reader.execute("SELECT count(*) FROM entry").fetchall()
        return charge(*arguments)

    monkeypatch.setattr(Ledger, "_charge", late)
    with closing(reader):
        assert main(LINES["release"]) == 75
        said = capsys.readouterr().err
        assert "try again later" in said and "not known" not in said
    assert not ledger.charged("p")
