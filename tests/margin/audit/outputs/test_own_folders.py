"""Runs that change nothing share their folders; any change makes new ones."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from margin.audit.outputs.own_folders import own_folders
from margin.data.scratch import remove_stale


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "table.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def nothing():
    assert Path("table.csv").read_text() == "a\n1\n"


def a_new_file():
    Path("made.txt").write_text("1")


def another_content():
    Path("table.csv").write_text("a\n22\n")


def a_file_that_is_gone():
    Path("table.csv").unlink()


@pytest.mark.parametrize("does", [nothing, a_new_file, another_content, a_file_that_is_gone])
def test_a_run_finds_what_was_there_before_the_first(does, home):
    for _ in range(3):
        with own_folders(0) as folders:
            nothing()
            assert not Path("made.txt").exists()
            does()
            assert bool(folders.changed()) == (does is not nothing)
    nothing()
    assert not (home / "made.txt").exists()


def test_folders_are_kept_until_something_changes(home):
    with own_folders(0) as first:
        nothing()
    with own_folders(0) as second:
        nothing()
    assert second is first
    (home / "table.csv").write_text("b\n333\n")
    with own_folders(0) as third:
        assert Path("table.csv").read_text() == "b\n333\n"
    assert third is not first


_KILLED = """
import os
import signal
from margin.audit.outputs.own_folders import own_folders

with own_folders(0):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_folders_of_a_killed_audit_are_removed_by_the_next(home, monkeypatch):
    temporary = home / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    environment = {**os.environ, "TMPDIR": str(temporary)}
    subprocess.run([sys.executable, "-c", _KILLED], env=environment, check=False)
    assert list(temporary.iterdir())
    remove_stale()
    assert not list(temporary.iterdir())
