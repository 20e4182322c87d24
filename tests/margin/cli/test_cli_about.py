"""`--about`: what readers are told, written once for the page and for the folder."""

import json
import re
from pathlib import Path

import pytest
from browsing import held

import margin
from margin import PureDP
from margin.cli.main import main

DOCUMENT = Path(__file__).parents[3] / "docs" / "howto" / "publish.md"


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = margin.release({"a": [0, 1, 1]}, domain={"a": 2}, budget=PureDP(1))
    made.save("people.margin")
    return tmp_path


def told(folder):
    """The title, the description and the imprint of the page, and of the folder."""
    page = held((folder / "people.html").read_text())
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    return [(one["title"], one["description"], one["imprint"]) for one in (page, manifest)]


def both(*options):
    """Write the page and the folder with the same options."""
    assert main(["report", "people.margin", "--force", *options]) == 0
    command = ["publish", "people.margin", "--tables", "1way", "-o", "out", "--force"]
    assert main([*command, "--format", "csv", *options]) == 0


def test_the_documented_file_tells_the_page_and_the_folder_the_same(saved, capsys):
    (text,) = re.findall(r"```json\n(\{\n \"title\".*?)```", DOCUMENT.read_text(), re.DOTALL)
    Path("about.json").write_text(text)
    both("--about", "about.json", "--date", "2026-01-31")
    assert "readers are not told" not in capsys.readouterr().err
    page, folder = told(saved)
    assert page == folder
    title, description, imprint = page
    about = json.loads(text)
    assert (title, description) == (about.pop("title"), about.pop("description"))
    assert about and all(imprint[key.capitalize()] == said for key, said in about.items())


def test_whoever_tells_readers_nothing_hears_of_the_file(saved, capsys):
    both()
    assert capsys.readouterr().err.count("--about names one file") == 2
    Path("about.json").write_text("{}")
    both("--about", "about.json")
    said = capsys.readouterr().err
    assert "readers are not told" in said and "--about names" not in said


def test_the_page_calls_rows_what_its_publisher_calls_them(saved):
    Path("about.json").write_text('{"row_name": "people"}')
    for options, name in (
        ([], "rows"),
        (["--about", "about.json"], "people"),
        (["--about", "about.json", "--row-name", "visits"], "visits"),
    ):
        both(*options)
        text = Path("people.html").read_text()
        assert held(text)["row_name"] == name
        assert f"Numbers of {name} by a." in text
        assert re.search(rf"About -?\d+ {name} in all: ", text)


def test_the_page_and_the_folder_name_those_who_are_protected_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {"id": [1, 1, 2], "a": [0, 1, 1]}
    made = margin.release(rows, domain={"a": 2}, budget=PureDP(1), unit="id", rows_per_person=1)
    made.save("people.margin")
    Path("about.json").write_text('{"unit_name": "patient"}')
    for options, name in (
        ([], "id"),
        (["--about", "about.json"], "patient"),
        (["--about", "about.json", "--unit-name", "client"], "client"),
    ):
        both(*options)
        readme = " ".join(Path("out/README.txt").read_text("utf-8").split())
        page = Path("people.html").read_text("utf-8")
        assert f"the column 'id' counts as one {name}. Whoever has two such values" in readme
        assert f"the column &#x27;id&#x27; counts as one {name}. Whoever has two such" in page
        assert f"counted rows (at most 1 of each {name}) in all: " in page


KEYS = (
    "title",
    "population",
    "coverage",
    "period",
    "source",
    "publisher",
    "contact",
    "licence",
    "cite",
)


@pytest.mark.parametrize("key", [*KEYS, "description", "date"])
def test_an_option_of_the_command_line_goes_before_the_file(saved, key):
    values = {"file": "2024-02-03", "option": "2025-04-05"}
    Path("about.json").write_text(json.dumps({key: values["file"]}))
    both("--about", "about.json")
    assert all(values["file"] in str(one) for one in told(saved))
    both("--about", "about.json", f"--{key}", values["option"])
    for one in told(saved):
        assert values["option"] in str(one) and values["file"] not in str(one)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"license": "CC BY 4.0"}', "did you mean 'licence'?"),
        ('{"epsilon": "1"}', "has the key 'epsilon'"),
        ('{"title": "a", "title": "b"}', "has 'title' twice"),
        ('{"title": 2025}', "'title' in --about file 'about.json' must be a text"),
        ('{"date": "1 May"}', "must be a date such as 2025-12-31"),
        ('["title"]', "must hold a JSON object"),
        ("{", "must be a JSON file in UTF-8"),
        (None, "does not exist; write one such as"),
    ],
)
@pytest.mark.parametrize("command", [["report"], ["publish", "--tables", "1way", "-o", "out"]])
def test_a_file_that_says_something_else_is_refused_before_anything_is_written(
    saved, capsys, command, text, said
):
    if text is not None:
        Path("about.json").write_text(text)
    name, *options = command
    assert main([name, "people.margin", *options, "--about", "about.json"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("people.html").exists() and not Path("out").exists()
