"""`--categories`: every command that shows counts takes the same file of changed categories."""

import csv
import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

import margin
from margin.cli.main import main

PATHS = [["N", "N1"], ["N", "N2"], ["S", "S1"], ["S", "S2"]]
FORMS = {
    "place": {
        "levels": {"names": ["region", "town"], "paths": PATHS},
        "description": "town of residence",
    },
    "stay": {"values": ["short", "61 or more"]},
    "sex": ["F", "M"],
}
NEW = {"place": {"N1+N2": ["N1", "N2"]}, "stay": {"62 or more": "61 or more"}}
WORDS = "'N1+N2' is 'N1' and 'N2' together"


def release(seed, forms=FORMS, place=("N1", "N2", "S1", "S2"), stay=("short", "61 or more")):
    draw = np.random.default_rng(seed)
    table = {
        "place": np.array(place)[draw.integers(0, len(place), 4000)],
        "stay": np.array(stay)[draw.integers(0, 2, 4000)],
        "sex": np.array(["F", "M"])[draw.integers(0, 2, 4000)],
    }
    mechanism = margin.PriView(views=[["place", "stay"], ["sex"]])
    budget = margin.PureDP(1)
    return margin.release(table, domain=forms, budget=budget, mechanism=mechanism)


@pytest.fixture
def synopsis(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = release(1)
    found.save("x.margin")
    (tmp_path / "new.json").write_text(json.dumps(NEW))
    return found


def run(capsys, *words):
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def lines(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_a_folder_has_the_new_categories_in_every_format(synopsis, capsys, tmp_path):
    options = ["--categories", "new.json"]
    tables = ["place,stay", "place@region,stay"]
    code, _, err = run(
        capsys, "publish", "x.margin", "--tables", *tables, "-o", "t", *options, "--seed", "3"
    )
    assert code == 0, err
    folder = tmp_path / "t"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["categories"] == {**NEW, "stay": {"62 or more": ["61 or more"]}}
    before = synopsis.tables([["place", "stay"]], seed=3)[0].counts
    rows = lines(folder / "001-place-stay.csv")
    places = ["N1+N2", "S1", "S2"]
    stays = ["short", "62 or more"]
    assert [(one["place"], one["stay"]) for one in rows] == [(p, s) for p in places for s in stays]
    # The sums of the published numbers, whose total is the same in all tables.
    counts = np.array([int(one["count"]) for one in rows]).reshape(3, 2)
    assert counts.sum() == manifest["total"] == before.sum()
    regions = lines(folder / "002-place_region-stay.csv")
    assert [int(one["count"]) for one in regions] == [*counts[0], *(counts[1] + counts[2])]
    # The bounds are those of count, rounded outwards, unless agreement moved a count out of them.
    low, high = synopsis.count({"place": ["N1", "N2"], "stay": "short"}).interval(0.95)
    assert int(rows[0]["low"]) == min(np.floor(low), counts[0, 0])
    assert int(rows[0]["high"]) == max(np.ceil(high), counts[0, 0])
    stat = json.loads((folder / "001-place-stay.json").read_text())
    assert list(stat["dimension"]["place"]["category"]["label"].values()) == places
    assert WORDS in stat["dimension"]["place"]["note"][0]
    table = pq.read_table(folder / "001-place-stay.parquet")
    assert table.column("stay").unique().to_pylist() == stays
    assert "62 or more" in (folder / "001-place-stay.sdmx.csv").read_text()
    described = json.loads((folder / "001-place-stay.csv-metadata.json").read_text())
    assert WORDS in described["tableSchema"]["columns"][0]["dc:description"]
    readme = (folder / "README.txt").read_text()
    assert "Categories changed after the release" in readme and f"place: {WORDS}." in readme
    assert "stay: '62 or more' is the new name of '61 or more'." in readme
    assert "N: N1+N2" in readme
    # The same release as without the change: one digest.
    assert run(capsys, "publish", "x.margin", "--tables", "place", "-o", "u")[0] == 0
    other = json.loads((tmp_path / "u" / "manifest.json").read_text())
    assert other["categories"] is None
    for name in ("statement", "privacy", "strength"):
        assert other[name] == manifest[name]
    assert other["imprint"]["Release"] == manifest["imprint"]["Release"]


def test_the_page_and_the_numbers_have_them_too(synopsis, capsys, tmp_path):
    assert run(capsys, "report", "x.margin", "-o", "x.html", "--categories", "new.json")[0] == 0
    page = (tmp_path / "x.html").read_text()
    # The old name is there as what the new one stands for, and as no category.
    assert '"N1+N2"' in page and WORDS in page and '"N1"' not in page
    new = synopsis.recoded(NEW)
    where = {"place": "N1+N2", "stay": "62 or more"}
    asked = ["place=N1+N2", "stay=62 or more", "--categories", "new.json", "--json"]
    code, out, _ = run(capsys, "count", "x.margin", *asked)
    assert code == 0 and json.loads(out)["count"] == new.count(where).estimate
    code, out, _ = run(
        capsys, "marginal", "x.margin", "place", "--categories", "new.json", "--json"
    )
    assert json.loads(out)["counts"] == new.marginal(["place"]).counts.tolist()


def test_a_page_of_changed_categories_holds_what_is_computed_in_time(synopsis, monkeypatch):
    """The error of a reconstructed sum takes as many weights as the released table has cells."""
    page = margin.report.content
    new = synopsis.recoded(NEW)
    sets = {}
    for most in (page._CHANGED_WEIGHTS, 3 * 2 * 4 * 2):
        monkeypatch.setattr(page, "_CHANGED_WEIGHTS", most)
        answers = page.content(new, title="x", live=False)["answers"]
        sets[most] = {tuple(one["axes"]) for one in answers}
    every, few = sets.values()
    # (place, sex) is reconstructed and fits; (place, stay) is measured; what follows does not fit.
    assert {(0, 1), (0, 2)} <= few < every


def test_a_later_release_may_be_made_with_the_new_categories(synopsis, capsys):
    later = {**FORMS, "place": ["N1+N2", "S1", "S2"], "stay": ["short", "62 or more"]}
    other = release(2, later, later["place"], later["stay"])
    other.save("y.margin")
    asked = ["place=N1+N2", "stay=62 or more", "--json"]
    code, _, err = run(capsys, "count", "x.margin", "y.margin", *asked)
    assert code == 2 and "declares no category 'N1+N2'" in err
    for files in (["x.margin", "y.margin"], ["y.margin", "x.margin"]):
        code, out, err = run(capsys, "count", *files, *asked, "--categories", "new.json")
        assert code == 0, err
        change = json.loads(out)["change"]
        numbers = [
            synopsis.recoded(NEW).count({"place": "N1+N2", "stay": "62 or more"}),
            other.count({"place": "N1+N2", "stay": "62 or more"}),
        ]
        sign = 1 if files[0] == "x.margin" else -1
        assert change == pytest.approx(sign * (numbers[1].estimate - numbers[0].estimate))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist; write one such as"),
        ("{", "must be a JSON file in UTF-8"),
        ('{"place": {"x": "N1", "x": "N2"}}', "has 'x' twice"),
        ('{"place": {"x": "N9"}}', "declares no category 'N9'"),
        ('["place"]', "must be a mapping from attributes"),
        ("{}", "but it is empty"),
    ],
)
def test_a_file_that_changes_nothing_right_is_refused(synopsis, capsys, tmp_path, content, message):
    (tmp_path / "new.json").unlink()
    if content is not None:
        (tmp_path / "new.json").write_text(content)
    for words in (
        ["count", "x.margin"],
        ["marginal", "x.margin", "sex"],
        ["publish", "x.margin", "--tables", "1way", "-o", "t"],
        ["report", "x.margin", "-o", "t.html"],
    ):
        code, out, err = run(capsys, *words, "--categories", "new.json")
        assert code == 2 and not out and message in err and "--categories 'new.json'" in err
    assert not re.findall("t.html|/t$", " ".join(map(str, tmp_path.iterdir())))


ASKED = [
    ["count", "x.margin", "--by", "place@region"],
    ["count", "x.margin", "place@region=N"],
    ["marginal", "x.margin", "place@region", "sex"],
    ["publish", "x.margin", "-o", "t", "--tables", "place@region"],
    ["publish", "x.margin", "-o", "t", "--tables", "1way", "place@region,sex"],
    ["report", "x.margin", "-o", "t.html", "--tables", "place@region,sex"],
]


@pytest.mark.parametrize("words", ASKED, ids=" ".join)
def test_a_level_that_the_file_left_out_is_told(synopsis, capsys, tmp_path, words):
    changes = {"place": {"border": ["N2", "S1"]}}
    (tmp_path / "new.json").write_text(json.dumps(changes))
    code, out, err = run(capsys, *words, "--categories", "new.json")
    assert code == 2 and not out
    assert "the release has the level 'place@region'" in err and "is in 'N' and 'S'" in err
    changes["place@region"] = {"N": ["N", "S"]}
    (tmp_path / "new.json").write_text(json.dumps(changes))
    assert run(capsys, *words, "--categories", "new.json")[0] == 0
