"""A comparison that is killed leaves no process and no folder; two never write to one file."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from margin.solvers import IPF, bench
from margin.solvers.bench import Instance
from margin.solvers.bench.running.locks import only_writer, own_folder
from margin.solvers.testing import examples

_KILLED = """
import subprocess
import sys
import time

from margin.solvers import bench


class Sleeper:
    '''Tells that it began through a file that its child holds open, too.'''

    families = ("cover",)

    def __init__(self, path):
        self.path = path

    def solve(self, cover):
        with open(self.path, "wb", buffering=0) as told:
            subprocess.Popen(["sleep", "60"], pass_fds=[told.fileno()])
            told.write(b"begun")
            time.sleep(60)
            told.write(b"not ended")


instances = bench.instances(family="cover", size="small")[:1]
bench.compare(instances, [Sleeper(sys.argv[1])], repeats=0)
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder of temporary files for this test alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_comparison_started_ends_with_it(temporary):
    told = temporary / "told"
    os.mkfifo(told)
    environment = {**os.environ, "TMPDIR": str(temporary)}
    comparison = subprocess.Popen([sys.executable, "-c", _KILLED, str(told)], env=environment)
    with told.open("rb", buffering=0) as reading:
        assert reading.read(5) == b"begun"
        comparison.kill()
        comparison.wait()
        # The file ends when the last process that holds it has ended.
        assert reading.read() == b""
    (left,) = temporary.glob("margin-bench-*")
    with own_folder() as folder:
        assert list(temporary.glob("margin-bench-*")) == [folder] != [left]
    assert not list(temporary.glob("margin-bench-*"))


def test_folders_in_use_and_folders_of_others_stay(temporary):
    other = temporary / "margin-bench-of-somebody"
    other.mkdir()
    with own_folder() as first, own_folder() as second:
        assert first.exists() and second.exists() and other.exists()


@pytest.fixture
def instance():
    return Instance.of(examples()["nothing"], name="nothing", family="exact-entropy")


def test_two_comparisons_never_write_to_one_file(instance, tmp_path):
    path = tmp_path / "rows.parquet"
    link = tmp_path / "link.parquet"
    link.symlink_to(path)
    with only_writer(path):
        for name in (path, link):
            with pytest.raises(BlockingIOError, match=r"one comparison at a time .*wait for"):
                bench.compare([instance], {"IPF": IPF()}, to=name)
    assert os.listdir(tmp_path) == ["link.parquet"]


def test_a_lock_that_a_killed_comparison_left_is_taken(tmp_path):
    path = tmp_path / "rows.parquet"
    (tmp_path / ".rows.parquet.lock").touch()
    with only_writer(path):
        pass
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_missing_is_told_before_anything_runs(instance, tmp_path):
    path = Path(tmp_path, "none", "rows.parquet")
    with pytest.raises(FileNotFoundError, match=r"the folder of .* must exist"):
        bench.compare([instance], {"IPF": IPF()}, to=path)
