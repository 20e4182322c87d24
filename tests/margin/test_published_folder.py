"""A folder of `margin publish` is what docs/reference/folder.md says that it is."""

import hashlib
import json
import re
from pathlib import Path

import pyarrow.parquet
import pytest
from json_pages import check, fields

from margin.cli.main import main
from margin.publication import FORMATS
from margin.publication.folder import FORMAT
from margin.synopses.source import Source

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "folder.md").read_text("utf-8")
_, MANIFEST, TABLES = re.split(r"^## .*$", PAGE, flags=re.MULTILINE)
TOLD = fields(MANIFEST)
(READER,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)

ITEMS = {"values": [1, 2, 3], "other": "more"}
ALL = {"event": ["view", "buy"], "items": ITEMS, "old": 2, "part": [0.5, 1.5], "new": [True, False]}
KINDS = {"event": "string", "items": "string", "old": "int64", "part": "double", "new": "bool"}
DOMAINS = {
    "rows": (ALL, []),
    "people": (ALL, ["--unit", "id"]),
    "total": ({**ALL, "$rows": 40}, []),
}
"""Domains, each with options of its release."""


@pytest.fixture(scope="module", params=DOMAINS)
def folder(request, tmp_path_factory):
    """A folder in all formats."""
    place = tmp_path_factory.mktemp("published")
    domain, options = DOMAINS[request.param]
    if options:
        options = [*options, "--rows-per-person", "2"]
    rows = "".join(f"{row // 3},view,{row % 5},{row % 2},0.5,true\n" for row in range(40))
    (place / "t.csv").write_text(f"id,event,items,old,part,new\n{rows}")
    (place / "d.json").write_text(json.dumps(domain))
    made = str(place / "o.margin")
    line = [str(place / "t.csv"), "--domain", str(place / "d.json"), "--epsilon", "1", *options]
    views = ["--mechanism", "PriView", "--views", "event,items", "old,part", "new"]
    assert main(["release", *line, *views, "-o", made]) == 0
    tables = ["event,items", "items,old", "old,part,new"]
    written = ["-o", str(place / "out"), "--format", *FORMATS]
    assert main(["publish", made, "--tables", *tables, *written]) == 0
    return place / "out"


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text("utf-8"))


def test_the_manifest_has_the_fields_of_the_page(folder):
    manifest = manifest_of(folder)
    for table in manifest["tables"]:
        files = table["files"]
        assert set(files) == set(FORMATS)
        assert all(f"`{form}`" in TOLD["tables[].files"] for form in files)
        for file in [*files.values(), manifest["readme"], manifest["quality"]]:
            content = (folder / file["name"]).read_bytes()
            assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert all(file["name"].startswith(f"{table['name']}.") for file in files.values())
    for form in FORMATS:
        tables = [{**one, "files": {"FORMAT": one["files"][form]}} for one in manifest["tables"]]
        check({**manifest, "tables": tables}, TOLD)


def test_the_page_names_the_format_and_all_ways():
    assert f"text: `{FORMAT}`" in TOLD["format"] and f'"{FORMAT}"' in READER
    ways = re.findall("`(.*?)`", TOLD["tables[].source"])
    assert ways == [source.value for source in Source]


def test_the_tables_have_the_columns_of_the_page(folder):
    listed = re.findall(r"^\| `(\w+)` \| `int64`, (never null)?", TABLES, re.MULTILINE)
    assert [name for name, _ in listed] == ["count", "low", "high"]
    manifest = manifest_of(folder)
    for entry in manifest["tables"]:
        table = pyarrow.parquet.read_table(folder / entry["files"]["parquet"]["name"])
        kinds = [(field.name, str(field.type)) for field in table.schema]
        categories = [(name, KINDS[name]) for name in entry["attributes"]]
        assert all(f"`{kind}`" in TABLES for _, kind in categories)
        assert kinds == categories + [(name, "int64") for name, _ in listed]
        assert all(table[name].null_count == 0 for name, never in listed if never)
        assert sum(table["count"].to_pylist()) == manifest["total"]
        assert table.num_rows == entry["cells"]
        about = json.loads(table.schema.metadata[b"margin"])
        keys = re.findall("`(.*?)`", TABLES.partition("JSON object")[2].partition(", as in")[0])
        assert len(keys) > 4 and set(keys) <= set(about)
        content = (folder / entry["files"]["csv"]["name"]).read_bytes().decode()
        assert content.count("\r\n") == content.count("\n") == entry["cells"] + 1


def test_the_reader_of_the_page_finds_tables_and_stops_at_another_format(folder, tmp_path):
    names = {}
    exec(READER, names)
    table = names["published"](str(folder), {"old", "items"})
    assert list(table.columns) == ["items", "old", "count", "low", "high"]
    assert table["items"].tolist() == ["1", "1", "2", "2", "3", "3", "more", "more"]
    assert table["old"].tolist() == ["0", "1"] * 4
    with pytest.raises(KeyError):
        names["published"](str(folder), {"event", "old"})
    other = {**manifest_of(folder), "format": "margin publication 2"}
    (tmp_path / "manifest.json").write_text(json.dumps(other))
    with pytest.raises(ValueError, match="another format"):
        names["published"](str(tmp_path), {"old"})


def test_the_readme_leads_programs_to_the_page(folder):
    said = " ".join((folder / "README.txt").read_text("utf-8").split())
    assert "find tables by their attributes" in said and f'"{FORMAT}"' in said
    assert "docs/reference/folder.md" in said and (ROOT / "docs/reference/folder.md").exists()
