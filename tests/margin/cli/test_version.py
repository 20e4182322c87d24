"""`margin --version`: the version, and the commit where pip recorded it (PEP 610)."""

import importlib.metadata
import json
from pathlib import Path

import pytest

import margin
from margin._version import installed_commit
from margin.cli.main import main

HERE = Path(margin.__file__).parent / "_version.py"
FROM_REPOSITORY = {"url": "x", "vcs_info": {"vcs": "git", "commit_id": "0123abcd"}}
FROM_FOLDER = {"url": "file:///x", "dir_info": {}}


class Installed:
    """What `importlib.metadata` says about an installation."""

    def __init__(self, file, origin):
        self._file = file
        self._origin = origin

    def locate_file(self, path):
        return self._file

    def read_text(self, name):
        return None if self._origin is None else json.dumps(self._origin)


@pytest.mark.parametrize(
    ("file", "origin", "commit"),
    [
        (HERE, FROM_REPOSITORY, "0123abcd"),
        (HERE, FROM_FOLDER, None),
        (HERE, None, None),
        (HERE, {**FROM_REPOSITORY, "vcs_info": {"commit_id": 5}}, None),
        (Path("/elsewhere/margin/_version.py"), FROM_REPOSITORY, None),
    ],
)
def test_a_commit_is_told_only_if_it_is_that_of_this_installation(
    file, origin, commit, monkeypatch, capsys
):
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: Installed(file, origin))
    assert installed_commit() == commit
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert not ended.value.code
    told = f"margin {margin.__version__}" + (f", commit {commit}" if commit else "")
    assert capsys.readouterr().out == f"{told}\n"


def test_a_copy_that_is_not_installed_has_no_commit(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    assert installed_commit() is None
