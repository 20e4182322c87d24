"""Locks on files end with their process, and nothing breaks where there are none."""

import subprocess
import sys

import pytest

from margin.solvers import file_locks
from margin.solvers.file_locks import locked_file

TRY = """
import sys
from pathlib import Path
from margin.solvers.file_locks import locked_file
try:
    print(locked_file(Path(sys.argv[1])) is not None)
except BlockingIOError:
    print("held")
"""


def tried_elsewhere(path):
    """What another process finds."""
    line = [sys.executable, "-c", TRY, str(path)]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.skipif(file_locks.fcntl is None, reason="this system has no locks")
def test_one_process_at_a_time_holds_a_file(tmp_path):
    path = tmp_path / "x.lock"
    lock = locked_file(path)
    assert lock is not None
    assert tried_elsewhere(path) == "held"
    path.unlink()
    lock.close()
    # The process that took it next has ended, so its lock has, too.
    assert tried_elsewhere(path) == "True" and path.exists()
    assert tried_elsewhere(path) == "True"


def refuse(*_):
    raise OSError("no locks here")


@pytest.mark.parametrize("system", ["without locks", "a file system without locks"])
def test_no_file_is_left_where_there_are_no_locks(tmp_path, monkeypatch, system):
    if system == "without locks":
        monkeypatch.setattr(file_locks, "fcntl", None)
    else:
        monkeypatch.setattr(file_locks.fcntl, "flock", refuse)
    assert locked_file(tmp_path / "x.lock") is None
    assert not list(tmp_path.iterdir())
