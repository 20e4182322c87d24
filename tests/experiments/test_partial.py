"""A study makes a page of whatever rows there are, and generated tables never pass for published
ones."""

import importlib
import inspect
import math

import pytest

from experiments.__main__ import _studies
from experiments.priview import _figures
from experiments.tools import pages, readings, study, tables
from margin import FileError

STUDIES = {
    name: module
    for name, module in _studies().items()
    if "sweep(" in inspect.getsource(importlib.import_module(module))
}
FIGURES = [f"figure{number}" for number in range(1, 7)]


@pytest.fixture(autouse=True)
def only_generated(monkeypatch):
    monkeypatch.delenv("MARGIN_DATA", raising=False)
    monkeypatch.setenv("MARGIN_CACHE", "/nonexistent")
    _figures.table.cache_clear()
    yield
    _figures.table.cache_clear()


@pytest.mark.parametrize("name", STUDIES)
def test_a_report_without_any_row(name, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "measuring", False)
    assert importlib.import_module(STUDIES[name]).run(smoke=True, out=tmp_path)


@pytest.mark.parametrize("name", [name for name in STUDIES if name.startswith("dualquery")])
def test_a_whole_report_without_any_row_claims_nothing(name, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "measuring", False)
    importlib.import_module(STUDIES[name]).run(smoke=False, out=tmp_path)
    claims = readings.load(tmp_path / readings.FILE).claims
    assert claims and {claim.holds for claim in claims} == {None}


def made_up(done):
    """A stand-in for the work of a sweep: made-up errors for the keys at some places."""

    def worked(work, keys, limit):
        for place, key in enumerate(keys):
            rows = [{study.STATUS: "failed: left out"}]
            if place in done:
                error = 0.01 * (1 + place)
                rows = [
                    {"query": query, "l2": error * (1 + query), "js": error, study.STATUS: "done"}
                    for query in range(3)
                ]
            yield key, rows, 0.0

    return worked


SOME = [{0}, {0, 1, 2}, {3}, set(range(1, 200, 2))]


@pytest.mark.parametrize("done", SOME, ids=["first", "three", "fourth", "every second"])
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_with_some_of_its_rows(name, done, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "_worked", made_up(done))
    monkeypatch.setattr(_figures.plots, "candlesticks", lambda *_, **__: [])
    module = importlib.import_module(STUDIES[name])
    assert module.run(smoke=True, out=tmp_path)
    for row in readings.load(tmp_path / readings.FILE).rows:
        assert math.isfinite(float(row["mean"]))


def test_nothing_measured_proves_no_claim():
    assert _figures.judged([]) is None
    assert _figures.judged([True, False]) is False


def test_a_generated_table_has_its_own_name(capsys):
    name = _figures.recorded("kosarak")
    assert name == "kosarak, generated"
    assert "Kosarak is not here; a GENERATED table is measured instead" in capsys.readouterr().err
    assert "a GENERATED table instead of kosarak" in _figures.described(name)
    assert _figures.recorded("aol") == "aol"
    with pytest.raises(FileError):
        _figures.table("kosarak")


def test_rows_of_a_generated_table_are_not_kept(tmp_path):
    path = tmp_path / "rows.csv"
    study.append(path, {"table": "kosarak", "error": 1}, {"table": "kosarak, generated"})
    with pytest.raises(ValueError, match="the pages need 'kosarak'"):
        readings.keep("figure6", tmp_path)


def test_published_names():
    assert tables.published(f"msnbc{tables.GENERATED}") == tables.published("msnbc") == "msnbc"


OF_THE_WHOLE = {
    "dualquery_figure2": ["500,000", "1000", "5000", "17,770", "480,189", "3 seeds"],
    "dualquery_figure3": ["494,021", "396", "1750", "3 seeds"],
    "dualquery_figure4": ["100,000", "3 seeds"],
    "dpsense": ["100,000 sets", "10,000 items", "queries"],
    "figure2": ["50 sets"],
    "figure3": ["100 sets", "the last 25"],
    "figure4": ["50 sets"],
    "spatial": ["check-ins", "512 x 512", "1,000,000", "3 runs"],
    "sparse_summaries": ["4,001", "131,072"],
}
"""Sizes that only the whole study has."""


def about(name, smoke, folder):
    module = importlib.import_module(STUDIES[name])
    module.run(smoke=smoke, out=folder)
    return readings.load(folder / readings.FILE).about


@pytest.mark.parametrize("name", OF_THE_WHOLE)
def test_a_smoke_report_names_no_size_of_the_whole_study(name, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "measuring", False)
    stated = about(name, True, tmp_path)
    assert not [size for size in OF_THE_WHOLE[name] if size in stated]
    # Whole tables of PriView take long to make.
    if not name.startswith("figure"):
        stated = about(name, False, tmp_path)
        assert all(size in stated for size in OF_THE_WHOLE[name])


def squared(number, run):
    return {"square": number**2}


@pytest.mark.parametrize("smoke", [False, True])
@pytest.mark.parametrize("missing", [0, 2])
def test_a_page_begins_with_what_was_run_and_what_was_not(smoke, missing, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "smoke", smoke)
    asked = [{"number": number, "run": 0} for number in (2, 3, 5)]
    study.sweep(tmp_path / "rows.csv", squared, asked[missing:])
    monkeypatch.setattr(study, "measuring", False)
    rows = study.sweep(tmp_path / "rows.csv", squared, asked)
    text = pages.page(tmp_path / "page.md", title="Squares", about="All squares.", rows=rows)
    before = text.partition("All squares.")[0]
    numbers = ", ".join(f"`{key['number']}`" for key in asked[missing:])
    assert (f"Measured: number: {numbers}; run: `0`." in before) == smoke
    assert ("No claim is checked" in before) == smoke
    assert ("2 of the 3 measurements of the study were not run" in before) == bool(missing)
    assert readings.load(tmp_path / readings.FILE).about == "All squares."
    claims = [pages.Claim(claim="squares grow", measured="yes", holds=True)]
    text = pages.page(
        tmp_path / "page.md", title="Squares", about="All squares.", rows=rows, claims=claims
    )
    assert ("A claim that holds at this size is no evidence" in text) == smoke
    assert "No claim is checked" not in text
    # Another folder is another study.
    other = pages.page(tmp_path / "other" / "page.md", title="Cubes", about="All cubes.")
    assert "measurements" not in other
