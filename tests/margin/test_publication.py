"""`publish` and `margin publish`: all formats hold the same numbers, whole or not at all."""

import csv
import datetime
import hashlib
import itertools
import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import margin
from margin import ZCDP, Domain, DomainError, FileError, PureDP
from margin.cli import publish as publish_command
from margin.cli.main import main
from margin.domain.bounds import whole_bounds
from margin.privacy.words import in_a_paragraph
from margin.publication import FORMATS, Imprint, formats, publish
from margin.publication.adding import adding
from margin.publication.numbers import NUMBERS
from margin.publication.readme import _line
from margin.publication.sdmx import _identifiers
from margin.report.content import content
from margin.store import release_digest
from margin.synopses.source import base_told

DOMAIN = Domain(
    {
        "sex": ["F", "M"],
        "age/band": {"bins": [0, 18, 65, 120], "missing": "?"},
        "=town": ["A, old", "-B", "\u00e9"],
        "measure": 4,
    },
    rows=900,
)
VIEWS = [["sex"], ["sex", "age/band"], ["measure", "=town", "sex"], ["=town", "age/band"]]


@pytest.fixture(scope="module")
def synopsis():
    rows = np.random.default_rng(0).integers(0, DOMAIN.sizes, (900, len(DOMAIN)))
    mechanism = margin.PriView(views=[["sex", "age/band"], ["=town", "measure"]])
    return margin.release(
        {name: DOMAIN[name].labels and np.take(_values(name), rows[:, axis]).tolist()
         for axis, name in enumerate(DOMAIN)},
        domain=DOMAIN,
        budget=PureDP(2, neighbours=margin.Neighbours.REPLACE_ROW),
        mechanism=mechanism,
    )  # fmt: skip


def _values(name):
    return np.array([5, 30, 80, None], object) if name == "age/band" else DOMAIN[name].labels


def of_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return head, [tuple(row) for row in rows]


def of_parquet(path):
    table = pyarrow.parquet.read_table(path)
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return table.column_names, [tuple("" if x is None else str(x) for x in row) for row in rows]


def of_json_stat(path):
    form = json.loads(path.read_text(encoding="utf-8"))
    assert form["version"] == "2.0" and form["class"] == "dataset"
    *names, measure = form["id"]
    assert form["role"] == {"metric": [measure]}
    assert form["size"] == [
        len(form["dimension"][name]["category"]["index"]) for name in form["id"]
    ]
    labels = []
    for name in names:
        category = form["dimension"][name]["category"]
        labels.append([category["label"][index] for index in category["index"]])
    numbers = form["dimension"][measure]["category"]["index"]
    values = ["" if value is None else str(value) for value in form["value"]]
    rows = [
        (*cell, *values[len(numbers) * place : len(numbers) * (place + 1)])
        for place, cell in enumerate(itertools.product(*labels))
    ]
    return [form["dimension"][name]["label"] for name in names] + numbers, rows


def test_all_formats_and_the_manifest_say_the_same(synopsis, tmp_path):
    manifest = publish(synopsis, VIEWS, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8")) == manifest
    tables = synopsis.tables(VIEWS)
    named = {"manifest.json", manifest["readme"]["name"], manifest["quality"]["name"]}
    for entry, view, table in zip(manifest["tables"], VIEWS, tables, strict=True):
        assert entry["attributes"] == view and entry["cells"] == table.counts.size
        assert entry["reconstructed"] is table.reconstructed
        paths = {}
        for form, file in entry["files"].items():
            paths[form] = tmp_path / "out" / file["name"]
            named.add(file["name"])
            assert hashlib.sha256(paths[form].read_bytes()).hexdigest() == file["sha256"]
        head, rows = of_csv(paths["csv"])
        assert head == [*view, "count", "low", "high"]
        assert of_parquet(paths["parquet"]) == (head, rows) == of_json_stat(paths["json-stat"])
        assert [int(row[len(view)]) for row in rows] == table.counts.ravel().tolist()
        low, high = whole_bounds(*table.interval(0.95))
        bounds = np.array([[int(cell) for cell in row[-2:]] for row in rows])
        assert (bounds == np.stack([low.ravel(), high.ravel()], axis=1)).all()
        metadata = pyarrow.parquet.read_schema(paths["parquet"]).metadata[b"margin"]
        assert json.loads(metadata)["statement"] == manifest["statement"]
    assert set(os.listdir(tmp_path / "out")) == named
    assert manifest["total"] == 900 and manifest["private"] is True
    assert manifest["statement"] == synopsis.provenance.statement.to_json()
    statement = synopsis.provenance.statement
    assert manifest["privacy"] == in_a_paragraph(statement, synopsis.domain)
    assert statement.describe() in manifest["privacy"]
    assert "by a factor of at most 7.39 (epsilon = 2)" in manifest["privacy"]


def test_files_of_all_kinds_can_be_joined(synopsis, tmp_path, monkeypatch, capsys):
    """The page, published files, the command line and exports have one name for each category."""
    monkeypatch.chdir(tmp_path)
    synopsis.save("x.margin")
    publish(synopsis, [["age/band"]], "out")
    names = ["0 to under 18", "18 to under 65", "65 to 120", "?"]
    page = content(synopsis, title="t", live=False)["attributes"][1]["labels"]
    assert page == names == [row[0] for row in of_csv(tmp_path / "out" / "001-age_band.csv")[1]]
    assert main(["marginal", "x.margin", "age/band", "--format", "csv"]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == names
    marginal = synopsis.marginal(["age/band"])
    assert marginal.to_arrow()["age/band"].to_pylist() == names
    assert list(marginal.to_pandas().index) == names
    assert main(["records", "x.margin", "-n", "50", "-o", "rows.csv"]) == 0
    capsys.readouterr()
    assert {row[1] for row in of_csv(tmp_path / "rows.csv")[1]} <= set(names)
    # A name that was read somewhere can be asked for.
    for code, name in enumerate(names):
        same = synopsis.count({"age/band": DOMAIN["age/band"].labels[code]})
        assert synopsis.count({"age/band": name}).estimate == same.estimate
        assert main(["count", "x.margin", f"age/band={name}"]) == 0
        assert f"{same.estimate:,.1f}" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::DeprecationWarning:pyjstat")
def test_json_stat_is_read_by_pyjstat(synopsis, tmp_path):
    pyjstat = pytest.importorskip("pyjstat.pyjstat", reason="pyjstat is not installed")
    for entry, table in published(synopsis, tmp_path, "json-stat"):
        read = pyjstat.Dataset.read((tmp_path / "out" / entry).read_text("utf-8"))
        frame = read.write("dataframe")
        counts = frame[frame.iloc[:, -2] == "count"]["value"]
        assert counts.astype(int).tolist() == table.counts.ravel().tolist()
        for name in table.attributes:
            assert set(frame[name]) == set(map(str, table.domain[name].names))


def test_sdmx_csv_is_read_by_pysdmx(synopsis, tmp_path):
    reader = pytest.importorskip("pysdmx.io", reason="pysdmx is not installed")
    structures = set()
    for entry, table in published(synopsis, tmp_path, "sdmx-csv"):
        (dataset,) = reader.get_datasets(tmp_path / "out" / entry)
        structures.add(str(dataset.structure))
        frame = dataset.data
        measures = ["OBS_VALUE", "LOW_95", "HIGH_95"]
        dimensions = [name for name in frame.columns if name not in measures]
        assert len(dimensions) == len(table.attributes)
        assert frame["OBS_VALUE"].astype(int).tolist() == table.counts.ravel().tolist()
        cells = np.stack(np.unravel_index(np.arange(len(frame)), table.counts.shape), axis=1)
        assert frame[dimensions].astype(int).to_numpy().tolist() == cells.tolist()
    # Tables with different dimensions have different structures.
    assert len(structures) == len(VIEWS)


def test_csvw_is_read_by_csvw(synopsis, tmp_path):
    csvw = pytest.importorskip("csvw", reason="csvw is not installed")
    for entry, table in published(synopsis, tmp_path, "csvw"):
        read = csvw.Table.from_file(tmp_path / "out" / entry)
        rows = list(read.iterdicts())
        titles = [*table.attributes, "count", "low", "high"]
        names = [column.name for column in read.tableSchema.columns]
        assert [str(column.titles) for column in read.tableSchema.columns] == titles
        assert [row["count"] for row in rows] == table.counts.ravel().tolist()
        keys = [tuple(row[name] for name in names[:-3]) for row in rows]
        labels = [map(str, form.names) for form in table.domain.values()]
        assert keys == list(itertools.product(*labels))


def published(synopsis, folder, form):
    """Each file of a format, with its table."""
    manifest = publish(synopsis, VIEWS, folder / "out")
    tables = synopsis.tables(VIEWS)
    for entry, table in zip(manifest["tables"], tables, strict=True):
        yield entry["files"][form]["name"], table


def test_identifiers_of_sdmx_are_valid_and_differ():
    names = ["a b", "a-b", "A_B", "1st", "\u00e9", "count", "OBS_VALUE", "obs value", "", "a b"]
    found = _identifiers(names)
    assert list(found) == list(dict.fromkeys(names))
    assert len(set(found.values())) == len(found)
    for identifier in found.values():
        assert re.fullmatch(r"[A-Z][A-Z0-9_]*", identifier)
    assert "OBS_VALUE" not in found.values()


def test_csvw_needs_its_csv(synopsis, tmp_path):
    with pytest.raises(FileError, match="csv is not among the formats"):
        publish(synopsis, VIEWS, tmp_path / "out", formats=["csvw"])


def test_the_command_line_knows_all_formats():
    assert tuple(publish_command._FORMATS) == FORMATS


def test_the_same_seed_writes_the_same_bytes(synopsis, tmp_path):
    for name in ("one", "other"):
        imprint = Imprint(date=datetime.date(2026, 1, 31))
        publish(synopsis, VIEWS, tmp_path / name, seed=3, title="Tables", imprint=imprint)
    for file in os.listdir(tmp_path / "one"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_what_was_there(synopsis, tmp_path, monkeypatch, form, error):
    publish(synopsis, VIEWS[:1], tmp_path / "out")
    before = {name: (tmp_path / "out" / name).read_bytes() for name in os.listdir(tmp_path / "out")}
    writers = dict(formats.WRITERS)

    def fail(*_):
        raise error

    writers[form] = fail
    monkeypatch.setattr(formats, "WRITERS", writers)
    expected = FileError if isinstance(error, OSError) else KeyboardInterrupt
    for folder in ("out", "new"):
        with pytest.raises(expected):
            publish(synopsis, VIEWS, tmp_path / folder, replace=True)
    assert os.listdir(tmp_path) == ["out"]
    after = {name: (tmp_path / "out" / name).read_bytes() for name in os.listdir(tmp_path / "out")}
    assert after == before


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_a_failure_between_the_two_folders_keeps_the_old_one(
    synopsis, tmp_path, monkeypatch, error
):
    publish(synopsis, VIEWS[:1], tmp_path / "out")
    rename = Path.rename

    def fail(path, target):
        if path.name.endswith(".part"):
            raise error
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(FileError if isinstance(error, OSError) else KeyboardInterrupt):
        publish(synopsis, VIEWS, tmp_path / "out", replace=True)
    assert os.listdir(tmp_path) == ["out"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert len(manifest["tables"]) == 1


def test_what_is_refused(synopsis, tmp_path):
    (tmp_path / "mine").mkdir()
    publish(synopsis, VIEWS[:1], tmp_path / "out", formats=["csv"])
    for folder, options, message in (
        ("mine", {"replace": True}, "is no publication"),
        ("out", {}, "--force"),
        ("no/out", {}, "create it first"),
        ("new", {"formats": ["xls"]}, "one of csv, csvw, parquet, json-stat"),
        ("new", {"formats": []}, "at least one of"),
    ):
        with pytest.raises(FileError, match=message):
            publish(synopsis, VIEWS, tmp_path / folder, **options)
    named = margin.simulate({"low": [0, 1]}, domain={"low": 2}, budget=PureDP(1), seed=0).synopsis
    with pytest.raises(DomainError, match="named 'low'"):
        publish(named, [["low"]], tmp_path / "new")
    bare = margin.synopses.ViewSynopsis.of_tables(
        DOMAIN, synopsis.held, reconstruction=synopsis.reconstruction
    )
    with pytest.raises(DomainError, match="not yet"):
        publish(bare, VIEWS, tmp_path / "new")
    assert sorted(os.listdir(tmp_path)) == ["mine", "out"]


def run(capsys, *arguments):
    code = main(["publish", "x.margin", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command(synopsis, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    synopsis.save("x.margin")
    code, out, err = run(capsys, "--tables", "all:1", "all:2", "sex,measure", "-o", "out/")
    assert code == 0, err
    assert out.partition("\n\n")[0] == (
        "out: 10 tables, 75 cells, each with the total 900; 6 measured, 4 reconstructed. "
        "They agree exactly.\n"
        "Reconstructed tables are estimates from smaller tables, and groups in them must not be "
        "compared. For the next release, name the tables that matter with --workload, and to have "
        "each of them measured also with --mechanism PriView --views. To publish chosen tables "
        "only, use margin publish --tables"
    )
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    every = [
        list(view) for size in (1, 2) for view in itertools.combinations(DOMAIN.attributes, size)
    ]
    assert [entry["attributes"] for entry in manifest["tables"]] == every
    code, _, err = run(capsys, "--tables", "all:1", "-o", "out")
    assert code == 2 and "--force" in err
    (tmp_path / "asked.json").write_text('[["=town", "sex"]]')
    options = ["--format", "csv", "--spreadsheet", "--json", "--force"]
    code, out, err = run(capsys, "--tables", "asked.json", "-o", "out", *options)
    assert code == 0, err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert json.loads(out) == {
        "output": "out",
        "tables": 1,
        "cells": 6,
        "reconstructed": 1,
        "sources": {"reconstructed": 1},
        "widened": 0,
        "total": 900,
        "formats": ["csv"],
        "uncertain_above": 30,
        "quality": [{"table": "001-_town-sex", **manifest["tables"][0]["quality"]}],
    }
    files = ["001-_town-sex.csv", "README.txt", "manifest.json", "quality.csv"]
    assert sorted(os.listdir("out")) == files
    head, rows = of_csv(tmp_path / "out" / "001-_town-sex.csv")
    assert head[0] == "\ufeff'=town" and {row[0] for row in rows} == {"A, old", "'-B", "\u00e9"}


def test_the_command_takes_levels(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    levels = {"names": ["state", "town"], "paths": [["S", "x"], ["S", "y"], ["T", "z"]]}
    domain = Domain({"place": {"levels": levels}, "sex": 2})
    data = {"place": ["x", "y", "z"], "sex": [0, 1, 1]}
    margin.release(data, domain=domain, budget=PureDP(1)).save("x.margin")
    options = ["--format", "csv", "-o", "out"]
    code, _, err = run(capsys, "--tables", "place@state,sex", "place", "sex", *options)
    assert code == 0, err
    assert len(os.listdir("out")) == 6
    head, rows = of_csv(tmp_path / "out" / "001-place_state-sex.csv")
    assert head == ["place@state", "sex", "count", "low", "high"]
    assert [row[:2] for row in rows] == [("S", "0"), ("S", "1"), ("T", "0"), ("T", "1")]


def test_tables_with_a_base_are_reconstructed_where_no_view_holds_them(
    synopsis, tmp_path, monkeypatch, capsys
):
    """A base has a part in every answer, which the source says; that alone is no reconstruction."""
    monkeypatch.chdir(tmp_path)
    rows = {name: [form.labels[0]] * 900 for name, form in DOMAIN.items() if name != "age/band"}
    mechanism = margin.PriView(views=[["sex", "age/band"], ["=town", "measure"]])
    made = margin.release(
        {**rows, "age/band": [5] * 900},
        domain=DOMAIN,
        budget=synopsis.spent,
        mechanism=mechanism,
        base=synopsis,
    )
    made.save("x.margin")
    code, out, err = run(capsys, "--tables", "sex,age/band", "sex,measure", "-o", "out")
    assert code == 0, err
    assert "; 1 measured and combined with the base, 1 reconstructed." in out
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    marks = [(entry["source"], entry["reconstructed"]) for entry in manifest["tables"]]
    assert marks == [("based", False), ("reconstructed", True)]
    # The file holds what the base is: its digest is the one that its own publication names.
    assert manifest["base"]["digest"] == release_digest(synopsis)
    plain = " ".join((tmp_path / "out" / "README.txt").read_text("utf-8").split())
    told = base_told(manifest["base"])
    assert release_digest(synopsis)[:23] in told and plain.count(told) == 1
    first = plain.index("combined with the base. ")
    assert "Changes since the base: these tables lean towards it" in plain
    assert first < plain.index(told) < plain.index("what the base does not say")


def test_the_folder_says_in_words_what_it_is(synopsis, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    synopsis.save("x.margin")
    options = ["--title", "Towns 2025", "--description", "A made-up land.\\nIt is small"]
    options += ["--contact", "office@example.org", "--licence", "CC BY 4.0", "--source", "Census"]
    options += ["--date", "2026-01-31", "--format", "csv", "sdmx-csv"]
    code, _, err = run(capsys, "--tables", "=town,sex", "sex", "-o", "out", *options)
    assert code == 0, err
    said = (tmp_path / "out" / "README.txt").read_text("utf-8")
    assert said.startswith("Towns 2025\n==========\n\nA made-up land.")
    lines = said.splitlines()
    for line in (
        "Published: 2026-01-31",
        "Source: Census",
        "Contact: office@example.org",
        "Licence: CC BY 4.0",
        "  .csv: text for spreadsheets and programs",
        "  .sdmx.csv: SDMX-CSV 2.0",
    ):
        assert line in lines
    # How far bounds reach, against the numbers of the files.
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    starts = [
        "001-_town-sex: =town, sex (6 cells, reconstructed",
        "002-sex: sex (2 cells, measured",
    ]
    for start, entry in zip(starts, manifest["tables"], strict=True):
        with open(tmp_path / "out" / entry["files"]["csv"]["name"], encoding="utf-8") as file:
            rows = [{name: row[name] for name in NUMBERS} for row in csv.DictReader(file)]
        farthest = max(
            max(int(row["high"]) - int(row["count"]), int(row["count"]) - int(row["low"]))
            for row in rows
        )
        assert entry["farthest_bound"] == farthest > 0
        assert f"{start}; low and high at most {farthest:,} from count)" in lines
    assert "parquet" not in said and max(map(len, lines)) < 200
    plain = " ".join(said.split())
    assert manifest["privacy"] in plain and manifest["meaning"] in plain
    assert all(entry["how"] in plain for entry in manifest["tables"])
    # The tables differ in what their bounds promise.
    probable = "In measured tables, with about 95 % probability, the true number lies between"
    average = "In tables that were reconstructed, on average over many tables, 95 % of the true"
    assert probable in plain and average in plain
    # Readers of files know no commands, and need no word about a base or about null.
    assert "margin marginal" not in said and "base" not in said.lower() and "empty in CSV" in plain
    assert "import the file with a comma as delimiter" in plain
    assert adding(has_contact=True, has_smaller=False) in plain
    # What the reconstructed table lacks.
    assert "No measured table holds these attributes together: =town and sex." in plain
    assert [entry["unmeasured_pairs"] for entry in manifest["tables"]] == [[["=town", "sex"]], []]
    assert manifest["title"] == "Towns 2025" and manifest["imprint"]["Licence"] == "CC BY 4.0"
    assert manifest["readme"]["name"] == "README.txt"


@pytest.mark.parametrize(
    ("tables", "has_smaller"),
    [
        (["age/band,sex", "=town,measure"], False),
        (["age/band,sex", "measure"], False),
        (["sex"], False),
        (["age/band,sex", "=town,measure", "measure"], True),
        # The lines of the second table are sums of lines of a table that was not measured.
        (["=town,sex", "sex"], False),
        (["=town,sex", "sex", "measure"], False),
    ],
)
def test_the_readme_names_smaller_tables_only_where_there_are_some(
    synopsis, tmp_path, tables, has_smaller
):
    publish(synopsis, [one.split(",") for one in tables], tmp_path / "out", formats=["csv"])
    plain = " ".join((tmp_path / "out" / "README.txt").read_text("utf-8").split())
    assert adding(has_contact=False, has_smaller=has_smaller) in plain
    assert ("a table with fewer attributes" in plain) is has_smaller


@pytest.mark.parametrize("most", [500, 2])
def test_the_readme_says_what_belongs_to_which_level(most, tmp_path, monkeypatch):
    monkeypatch.setattr("margin.publication.readme._MOST_LEAVES", most)
    levels = {"names": ["state", "town"], "paths": [["S", "x"], ["S", "y"], ["T", "z"]]}
    visit = {"dates": {"from": "2024-01", "to": "2024-12", "by": "month"}}
    domain = {"place": {"levels": levels}, "sex": 2, "visit": visit}
    rows = {"place": ["x", "z"] * 20, "sex": [0, 1] * 20, "visit": ["2024-03"] * 40}
    made = margin.release(rows, domain=domain, budget=PureDP(1))
    publish(made, [["place@state"], ["visit@quarter"]], tmp_path / "out", formats=["parquet"])
    said = (tmp_path / "out" / "README.txt").read_text("utf-8")
    title = "What of town belongs to which state (place)"
    listed = f"{title}\n{'-' * len(title)}\n- S: x, y\n- T: z\n"
    assert (listed in said) is (most > 3)
    assert ("as the paths of place" in said) is (most < 3)
    assert "quarter belongs" not in said and "spreadsheet" not in said
    publish(made, [["sex"]], tmp_path / "sex", formats=["csv"])
    assert "belongs" not in (tmp_path / "sex" / "README.txt").read_text("utf-8")


@pytest.mark.parametrize("rules", [[], [{"age": "[0, 18)", "sex": ["M", "X"]}]])
def test_the_readme_lists_what_is_declared_as_impossible(rules, tmp_path):
    forms = {"age": {"bins": [0, 18, 120]}, "sex": ["F", "M", "X"]}
    table = {"age": [3, 30, 40], "sex": ["F", "M", "F"]}
    domain = Domain(forms, impossible=rules)
    made = margin.release(table, domain=domain, budget=PureDP(1))
    publish(made, [["age", "sex"]], tmp_path / "out", formats=["csv"])
    said = (tmp_path / "out" / "README.txt").read_text("utf-8")
    assert ("- age 0 to under 18 with sex M or X" in said) == bool(rules)
    assert ("Declared as impossible" in said) == bool(rules)


@pytest.mark.parametrize("unit", ["person", None])
def test_every_file_says_which_rows_bounds_are_for(tmp_path, monkeypatch, capsys, unit):
    """If rows of a person were left out, bounds are for the rows that were counted."""
    monkeypatch.chdir(tmp_path)
    rows = {"person": [1] * 8 + [2], "sex": [0, 1] * 4 + [0]}
    limit = {"unit": unit, "rows_per_person": 3} if unit else {}
    mechanism = margin.PriView(views=[["sex"]])
    made = margin.release(rows, domain={"sex": 2}, budget=PureDP(1), mechanism=mechanism, **limit)
    made.save("x.margin")
    code, _, err = run(capsys, "--tables", "sex", "-o", "out")
    assert code == 0 and "(--description)" in err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    described = json.loads((tmp_path / "out" / "001-sex.csv-metadata.json").read_text("utf-8"))
    stat = json.loads((tmp_path / "out" / "001-sex.json").read_text("utf-8"))
    parquet = pyarrow.parquet.read_schema(tmp_path / "out" / "001-sex.parquet").metadata[b"margin"]
    readme = " ".join((tmp_path / "out" / "README.txt").read_text("utf-8").split())
    meanings = [manifest["meaning"], described["dc:description"], " ".join(stat["note"]), readme]
    for meaning in [*meanings, json.loads(parquet)["meaning"]]:
        assert ("true number of counted rows, not of all rows" in meaning) is (unit is not None)
        limited = "at most 3 are counted: if there are more, 3 of them are chosen at random. "
        limited += "For example, 8 such rows would count as 3."
        assert (limited in meaning) is (unit is not None)
        assert ("do not allow for the rows left out" in meaning) is (unit is not None)
        weighs = "weighs less in totals and in percentages. This release does not say how many"
        assert (weighs in meaning) is (unit is not None)
    assert ("same value of the column 'person' counts as one" in readme) is (unit is not None)
    whose = " of counted rows" if unit else ""
    low = described["tableSchema"]["columns"][-2]["dc:description"]
    assert low == f"lower bound of the true number{whose}, 95%"
    assert f"the true number{whose} lies between" in manifest["tables"][0]["how"]
    assert (manifest["left_out"] is None) is (unit is None)


def test_a_level_says_whose_it_is_before_it_says_what_that_is(tmp_path):
    """A name with an @ that is declared as such is no level."""
    levels = {"names": ["state", "town"], "paths": [["S", "x"], ["S", "y"], ["T", "z"]]}
    domain = {
        "place": {"levels": levels, "description": "of residence"},
        "e@mail": {"values": ["yes", "no"], "description": "has an address"},
    }
    rows = {"place": ["x", "y", "z"], "e@mail": ["yes", "no", "no"]}
    made = margin.release(rows, domain=domain, budget=PureDP(1))
    publish(made, [["place@state", "e@mail"]], tmp_path / "out")
    described = json.loads(
        (tmp_path / "out" / "001-place_state-e_mail.csv-metadata.json").read_text()
    )
    stat = json.loads((tmp_path / "out" / "001-place_state-e_mail.json").read_text("utf-8"))
    parquet = pyarrow.parquet.read_schema(tmp_path / "out" / "001-place_state-e_mail.parquet")
    told = {"place@state": "a level of place (of residence)", "e@mail": "has an address"}
    columns = described["tableSchema"]["columns"][:2]
    assert [one["dc:description"] for one in columns] == [f"{k}: {v}" for k, v in told.items()]
    assert {name: stat["dimension"][name]["note"] for name in told} == {
        name: [words] for name, words in told.items()
    }
    assert json.loads(parquet.metadata[b"margin"])["attributes"] == told


def test_a_readme_shows_no_hidden_characters():
    assert _line("a\u202eb\nc\x1b[2J") == "a b c [2J"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tables", "all:9", "-o", "new"], "from 1 to 4, the number of attributes"),
        (["--tables", "sex,nobody", "-o", "new"], "nobody"),
        (["--tables", "all:1", "-o", "new", "--seed", "-1"], "must be >= 0"),
        (["--tables", "all:1", "-o", "none/new"], "create it first"),
    ],
)
def test_wrong_arguments_write_nothing(synopsis, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    synopsis.save("x.margin")
    code, _, err = run(capsys, *arguments)
    assert code == 2 and message in err
    assert os.listdir(tmp_path) == ["x.margin"]


def test_a_simulation_says_that_it_is_not_private(tmp_path):
    made = margin.simulate({"a": [0, 1]}, domain={"a": 2}, budget=PureDP(1), seed=0).synopsis
    manifest = publish(made, [["a"]], tmp_path / "out")
    assert manifest["private"] is False and "simulation" in manifest["privacy"]


@pytest.mark.parametrize("rows", [None, 6])
@pytest.mark.parametrize(
    ("budgets", "alone", "together"),
    [
        ([ZCDP("0.08")], "rho = 0.08", ""),
        ([ZCDP("0.08"), ZCDP("0.08")], "rho = 0.08", "release that it uses, rho = 0.16"),
        ([PureDP(1), PureDP(2)], "epsilon = 2", "release that it uses, epsilon = 3"),
        ([ZCDP(1), ZCDP(2), ZCDP(3)], "rho = 3", "releases that it uses, rho = 6"),
        ([PureDP(1), ZCDP(2)], "rho = 2", "to be added to that of the earlier release that"),
    ],
)
def test_the_citation_adds_up_what_the_publication_holds(budgets, alone, together, rows):
    domain = Domain({"sex": ["F", "M"], "smokes": 2}, rows=rows)
    table = {"sex": ["F", "M"] * 3, "smokes": [0, 1, 1] * 2}
    made = None
    for budget in budgets:
        made = margin.release(
            table, domain=domain, budget=budget, mechanism=margin.PriView(), base=made
        )
    cited = Imprint().lines("T", made)["How to cite"]
    guarantee = cited.split("random noise; ")[1].split(". Made with")[0]
    assert alone in guarantee
    if rows is not None and together[-1:].isdigit():
        # With a public total, the sum is that of two steps.
        name, _, number = together.rpartition(" = ")
        factor = 2 if name.endswith("epsilon") else 4
        whole = float(number)
        assert guarantee.endswith(
            f"{name} = {factor} x {whole:g} = {factor * whole:g} given the public totals"
        )
    else:
        assert (together in guarantee) if together else ("uses" not in guarantee)
    assert content(made, title="T", live=False)["imprint"]["How to cite"] == cited
