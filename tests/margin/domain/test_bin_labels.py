"""Bins with declared labels: what shows them, what reads them, and what is refused."""

import csv
import json

import numpy as np
import pytest

import margin
from margin import Attribute, Domain, DomainError
from margin.cli.main import main

EDGES = [0, 18, 65, None]
LABELS = ["child", "of working age", "65+"]
AGE = Attribute(bins=EDGES, labels=LABELS, missing="not stated", ordered=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table of ages with its domain and a release of it."""
    monkeypatch.chdir(tmp_path)
    ages = np.random.default_rng(0).integers(0, 90, 4_000)
    rows = [[age if age % 10 else "", "FM"[age % 2]] for age in ages.tolist()]
    with open("people.csv", "w", newline="") as file:
        csv.writer(file).writerows([["age", "sex"], *rows])
    form = {
        "age": {"bins": EDGES, "labels": LABELS, "missing": "not stated"},
        "sex": ["F", "M"],
    }
    (tmp_path / "domain.json").write_text(json.dumps(form))
    start = ["release", "people.csv", "--domain", "domain.json", "--epsilon", "100"]
    assert main([*start, "--workload", "age,sex", "-o", "out.margin"]) == 0
    return tmp_path


def test_labels_stand_for_bins():
    assert AGE.labels == AGE.captions == (*LABELS, "not stated")
    assert [AGE.category(label) for label in AGE.labels] == [0, 1, 2, 3]
    assert Attribute.from_json(json.loads(json.dumps(AGE.to_json()))) == AGE
    assert Attribute(bins=EDGES) != Attribute(bins=EDGES, labels=LABELS)


def test_values_of_the_data_are_compared_with_the_edges_alone():
    plain = Attribute(bins=EDGES, missing="not stated")
    for value in (0, 17.99, 18, "65", None, -1, "child", "65+", "not stated", " 70 "):
        assert AGE.code(value) == plain.code(value)


def test_a_label_that_is_a_number_has_one_meaning():
    years = Attribute(bins=[0, 1, 2, 10], labels=["0", "1", "2 to 9"])
    assert [years.category(value) for value in ("0", 0, "1", 1, 5, "2 to 9")] == [0, 0, 1, 1, 2, 2]
    with pytest.raises(DomainError, match=r"the label '2' of the bin 18 to under 65 does not"):
        Attribute(bins=EDGES, labels=["1", "2", "3"])


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"labels": LABELS[:2]}, "there are 3 bins .one fewer than edges. and 2 labels; give 3"),
        ({"labels": [*LABELS, "more"]}, "there are 3 bins .* and 4 labels"),
        ({"labels": ["a", "b", "a"]}, "'a' and 'a' are the same label"),
        ({"labels": ["a", "b", " b "]}, "'b' and 'b' are the same label"),
        ({"labels": ["a", "b", "none"], "missing": "none"}, "from other and missing"),
        ({"labels": ["a", "b", ""]}, "must be a text that is not empty"),
        ({"labels": ["a", "b", 3]}, "must be a text that is not empty"),
        ({"labels": "abc"}, "labels must be a list with a text for each bin"),
        ({"labels": None, "label": ["a", "b", "c"]}, "did you mean 'labels'"),
    ],
)
def test_what_is_refused(form, says):
    with pytest.raises(DomainError, match=f"'age'.*{says}"):
        Domain({"age": {"bins": EDGES, **form}})


@pytest.mark.parametrize("kind", [{"values": ["a", "b"]}, {"size": 2}])
def test_only_bins_have_labels(kind):
    with pytest.raises(DomainError, match="this attribute declares no bins"):
        Attribute(**kind, labels=["x", "y"])


def test_answers_and_conditions_name_them(folder, capsys):
    synopsis = margin.load("out.margin")
    ages = synopsis.marginal(["age"])
    assert list(ages.to_pandas().index) == list(AGE.labels)
    assert ages.to_arrow()["age"].to_pylist() == list(AGE.labels)
    assert json.loads(ages.to_json())["attributes"]["age"] == list(AGE.labels)
    # A condition takes a label, several, a pair of edges, and comparisons with an edge.
    adults = synopsis.count({"age": ["of working age", "65+"]})
    assert adults.estimate == synopsis.count({"age": (18, float("inf"))}).estimate
    capsys.readouterr()
    counted = []
    for condition in (["age=of working age,65+"], ["age>=18"], ["age=65+"]):
        assert main(["count", "out.margin", *condition, "--json"]) == 0
        counted.append(json.loads(capsys.readouterr().out)["count"])
    assert counted[0] == counted[1] == adults.estimate > counted[2]
    assert main(["count", "out.margin", "age=65"]) == 2
    assert "lies in '65+'; name a bin by its label, such as '65+'" in capsys.readouterr().err


def test_tables_pages_records_and_publications_show_them(folder, capsys):
    for command in (
        ["marginal", "out.margin", "age", "sex"],
        ["marginal", "out.margin", "age", "--format", "csv"],
        ["domain", "check", "people.csv", "domain.json"],
        ["report", "out.margin", "-o", "page.html"],
        ["publish", "out.margin", "--tables", "age,sex", "-o", "tables"],
        ["records", "out.margin", "-n", "500", "-o", "records.csv"],
    ):
        assert main(command) == 0
        shown = capsys.readouterr().out
        assert command[0] != "marginal" or all(label in shown for label in AGE.labels)
    assert "of working age" in (folder / "page.html").read_text(encoding="utf-8")
    published = [*(folder / "tables").glob("001-*.csv")]
    assert published and all("of working age" in path.read_text() for path in published)
    with open("records.csv", newline="") as file:
        assert {row["age"] for row in csv.DictReader(file)} <= set(AGE.labels)


def test_rules_and_known_tables_name_them():
    rule = {"age": "child", "married": "yes"}
    declared = {"age": {"bins": EDGES, "labels": LABELS}, "married": ["no", "yes"]}
    domain = Domain(declared, impossible=[rule], known={("age",): [3, 5, 2]})
    assert domain.impossible == (rule,)
    assert Domain.from_json(domain.to_json()) == domain
    table = {"age": [2, 5, 9, 20, 30, 40, 50, 60, 70, 80], "married": ["no"] * 10}
    made = margin.release(table, domain=domain, budget=margin.PureDP(1))
    assert made.marginal(["age"]).counts.tolist() == pytest.approx([3, 5, 2])
    assert made.count({"age": "child", "married": "yes"}).estimate == 0
