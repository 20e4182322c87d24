"""A study makes a page of whatever rows there are, and generated tables never pass for published
ones."""

import importlib
import inspect
import math

import pytest

from experiments.__main__ import _studies
from experiments.priview import _figures
from experiments.tools import readings, study, tables
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
