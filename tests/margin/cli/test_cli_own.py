"""Mechanisms of a user's own file on the command line."""

import json
import sys

import pytest

import margin
from margin.cli.arguments.own import own
from margin.cli.arguments.written import own_mechanism
from margin.cli.main import main
from margin.errors import MarginError

CODE = """
from dataclasses import dataclass
from margin.synopses.estimate import estimate


@dataclass(frozen=True, kw_only=True)
class Singles:
    count: int = 1

    def run(self, private, workload):
        return estimate(private.domain, private.measure([[name] for name in private.domain]))


made = Singles(count=7)


class Idle:
    pass
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    # Each test has a file of its own.
    monkeypatch.delitem(sys.modules, "own_singles_of_a_test", raising=False)
    (tmp_path / "own_singles_of_a_test.py").write_text(CODE)
    (tmp_path / "t.csv").write_text("a,b\n" + "0,1\n1,1\n" * 50)
    (tmp_path / "d.json").write_text('{"a": 2, "b": 2}')


def test_a_mechanism_of_a_file_is_compared_and_released(capsys):
    given = "own_singles_of_a_test.py:Singles(count=3)"
    words = ["t.csv", "--domain", "d.json", "--epsilon", "1"]
    named = ["--mechanisms", f"Uniform,{given}", "own_singles_of_a_test:made", "--runs", "1"]
    assert main(["compare", *words, *named, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert given in json.dumps(found) and "own_singles_of_a_test:made" in json.dumps(found)
    assert main(["release", *words, "--mechanism", given, "-o", "o.margin"]) == 0
    assert margin.load("o.margin").provenance.mechanism["name"] == "Singles"


def test_objects_and_classes_become_mechanisms():
    assert own_mechanism("own_singles_of_a_test.py:made").count == 7
    assert own_mechanism("own_singles_of_a_test.py:Singles").count == 1
    assert own_mechanism("own_singles_of_a_test:Singles(count=2)").count == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nowhere.py:Singles", "there is no 'nowhere.py'"),
        ("nowhere_at_all:Singles", "No module named"),
        ("own_singles_of_a_test.py:Missing", "must define Missing"),
        ("own_singles_of_a_test.py:Idle", "it has none"),
        ("own_singles_of_a_test.py:Singles(size=3)", "must be among count"),
        ("own_singles_of_a_test.py:Singles(count=3)+1)", "as in Python"),
        ("json.py:Singles", "rename the file"),
        ("broken_file_of_a_test.py:Singles", "raised NameError"),
    ],
)
def test_what_cannot_be_a_mechanism_is_refused(tmp_path, given, message):
    (tmp_path / "json.py").write_text(CODE)
    (tmp_path / "broken_file_of_a_test.py").write_text("not_defined")
    with pytest.raises(MarginError, match=message):
        own_mechanism(given)


def test_a_solver_is_found_in_the_same_way():
    assert own("own_singles_of_a_test", "made", "solver").count == 7
