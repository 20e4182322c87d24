"""Output streams that are closed, full, or in another encoding."""

import json
import os
import subprocess
import sys

import pytest

import margin
from margin.cli.main import main

FULL = "/dev/full"
UNIT = ["--unit", "id", "--rows-per-person", "3"]
RELEASE = ["release", "t.csv", "--domain", "d.json", "--epsilon", "1", *UNIT]
PAID = ["--ledger", "l.db", "--dataset", "p"]

posix = pytest.mark.skipif(not os.path.exists(FULL), reason="needs a shell and a full device")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table whose names no ASCII can hold, and its ledger."""
    rows = "".join(f"{at // 2},{'å€'[at % 2]}\n" for at in range(50))
    (tmp_path / "t.csv").write_text(f"id,größe\n{rows}", encoding="utf-8")
    (tmp_path / "d.json").write_text('{"größe": ["å", "€"]}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    margin.Ledger("l.db").register("p", margin.PureDP(9), unit="id")
    return tmp_path


def ran(arguments, redirected="", encoding="utf-8"):
    """Run a command in a shell of its own, with streams that the shell redirects."""
    script = f'"$@" {redirected}'
    return subprocess.run(
        ["bash", "-c", script, "bash", sys.executable, "-m", "margin", *arguments],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        timeout=120,
    )


STREAMS = {
    ">&-": "stdout cannot be written (it is closed), but the command is complete: ü.margin: ",
    f"--json >{FULL}": "(No space left on device), but the command is complete: ü.margin: ",
    "2>&-": "",
    f"2>{FULL}": "",
    "<&- >&- 2>&-": "",
    f">{FULL} 2>{FULL}": "",
}


@pytest.mark.slow
@posix
@pytest.mark.parametrize("redirected", STREAMS)
def test_a_release_is_complete_whatever_becomes_of_its_output(redirected, folder):
    line = [*RELEASE, *PAID, "--label", "Größe", "-o", "ü.margin"]
    done = ran(line, redirected, "ascii")
    told = done.stderr.decode()
    assert done.returncode == 0, told
    assert STREAMS[redirected] in told and told.count("\n") == bool(STREAMS[redirected])
    if told:
        assert "charged to p as entry 2" in told
    (charge,) = margin.Ledger("l.db").charged("p")
    assert margin.load("ü.margin").provenance.token == charge.token and charge.label == "Größe"


ONLY_PRINTED = [["ledger", "show", "l.db"], ["--version"], ["--help"], ["release", "--help"]]


@posix
@pytest.mark.parametrize("redirected", [">&-", f">{FULL}"])
@pytest.mark.parametrize("line", ONLY_PRINTED)
def test_what_is_only_printed_is_an_error_without_a_reader(line, redirected, folder):
    done = ran(line, redirected)
    assert done.returncode == 2 and b"stdout cannot be written (" in done.stderr
    assert done.stderr.count(b"\n") == 1


@posix
@pytest.mark.parametrize("line", ONLY_PRINTED)
def test_a_reader_that_has_enough_is_no_error(line, folder):
    reader, writer = os.pipe()
    os.close(reader)
    whole = [sys.executable, "-m", "margin", *line]
    done = subprocess.run(whole, stdout=writer, stderr=subprocess.PIPE, timeout=120)
    os.close(writer)
    assert done.returncode == 0 and not done.stderr


@pytest.mark.slow
@posix
def test_an_error_keeps_its_exit_code_without_a_reader(folder):
    line = [*RELEASE, *PAID, "-o", "o.margin", "--epsilon", "10"]
    assert [ran(line, where).returncode for where in (">&- 2>&-", f">{FULL} 2>{FULL}")] == [3, 3]


READERS = {
    "info": ["info", "ü.margin", "--json"],
    "marginal": ["marginal", "ü.margin", "größe"],
    "csv": ["marginal", "ü.margin", "größe", "--format", "csv"],
    "ledger": ["ledger", "show", "l.db", "--json"],
}


@pytest.mark.slow
@posix
@pytest.mark.parametrize("name", READERS)
def test_a_pipe_gets_utf_8_whatever_the_locale(name, folder, capsys):
    assert main([*RELEASE, *PAID, "--label", "Größe", "-o", "ü.margin"]) == 0
    capsys.readouterr()
    assert main(READERS[name]) == 0
    expected = capsys.readouterr().out
    done = ran(READERS[name], encoding="ascii")
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.decode() == expected and "Größe".lower() in expected.lower()


def test_json_on_a_terminal_without_unicode_is_escaped(folder, capsys, monkeypatch):
    from margin.cli.main import _as_json

    class Terminal:
        encoding = "ascii"

    monkeypatch.setattr(sys, "stdout", Terminal())
    text = _as_json({"größe": "€"})
    assert text.isascii() and json.loads(text) == {"größe": "€"}


WITHOUT = """
import sys
sys.modules["margin.cli.main"] = None  # as if memory were short
from margin.__main__ import run
sys.exit(run())
"""


def test_a_command_that_cannot_be_imported_charged_nothing(folder):
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "internal error (ModuleNotFoundError" in done.stderr
    assert done.stderr.endswith("nothing has been charged\n")


UNTOLD = """
import sys
import margin.cli.main

def fail(_):
    raise MemoryError

margin.cli.main._explained = fail
from margin.__main__ import run
sys.exit(run())
"""


def test_nothing_is_said_of_the_charge_if_an_error_of_a_command_cannot_be_told(folder):
    """The command may have charged a budget."""
    line = [sys.executable, "-c", UNTOLD, "info", "none.margin"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 1 and "MemoryError" in done.stderr
    assert "charged" not in done.stderr
