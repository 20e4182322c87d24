"""The list of quality of a folder: as readers compute it from the files."""

import csv
import json
import statistics

import numpy as np
import pytest

import margin
from margin import Domain, FileError, Marginal, PureDP
from margin.cli.main import main
from margin.publication import publish, sign_folder, verify_folder
from margin.publication.quality import listed, quality_of

DOMAIN = Domain(
    {"=age": ["child", "adult"], "job": ["none", "cook", "smith"], "town": 5},
    impossible=[{"=age": "child", "job": ["cook", "smith"]}],
)
VIEWS = [["=age", "job"], ["town"], ["job", "town"], ["=age", "town"]]


@pytest.fixture(scope="module")
def synopsis():
    draw = np.random.default_rng(3)
    job = draw.choice(3, 400, p=[0.8, 0.18, 0.02])
    age = np.where(job > 0, 1, draw.integers(0, 2, 400))
    table = {"=age": age, "job": job, "town": draw.integers(0, 5, 400)}
    columns = {name: np.take(DOMAIN[name].labels, codes) for name, codes in table.items()}
    views = [["=age", "job"], ["job", "town"]]
    return margin.release(
        columns, domain=DOMAIN, budget=PureDP(2), mechanism=margin.PriView(views=views)
    )


def rows_of(path):
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("limit", [5, 30, 1000])
def test_the_list_follows_from_the_published_numbers(synopsis, tmp_path, limit):
    manifest = publish(synopsis, VIEWS, tmp_path / "out", uncertain=limit, spreadsheet=True)
    quality = rows_of(tmp_path / "out" / "quality.csv")
    readme = (tmp_path / "out" / "README.txt").read_text("utf-8")
    assert [line["attributes"] for line in quality][:2] == ["'=age, job", "town"]
    for entry, line in zip(manifest["tables"], quality, strict=True):
        halves = []
        for row in rows_of(tmp_path / "out" / entry["files"]["csv"]["name"]):
            count, low, high = (int(row[name]) for name in ("count", "low", "high"))
            if (low, high) != (0, 0):
                halves.append(
                    100 * max(high - count, count - low) / count if count else float("inf")
                )
        middle = statistics.median(halves)
        uncertain = 100 * sum(half > limit for half in halves) / len(halves)
        found = entry["quality"]
        assert found["cells"] == len(halves) == int(line["cells"])
        assert found["half_width"] == pytest.approx(middle, abs=0.051)
        assert found["uncertain"] == pytest.approx(uncertain, abs=0.051)
        assert line["table"] == entry["name"] and line["source"] == entry["source"]
        assert float(line["half_width_percent"]) == found["half_width"]
        assert float(line["uncertain_percent"]) == found["uncertain"]
        assert float(line["limit_percent"]) == manifest["uncertain_above"] == limit
    # Two of six cells must be 0.
    assert manifest["tables"][0]["quality"]["cells"] == 4
    assert listed(manifest["tables"]) in readme and f"above {limit} %" in readme


@pytest.mark.parametrize(
    ("counts", "variance", "expected"),
    [
        ([0.0, 0.0], [0.0, 0.0], (0, None, None)),
        ([5.0, 0.0], [0.0, 0.0], (1, 0.0, 0.0)),
        ([50.0, 0.0], [4.0, 4.0], (2, None, 50.0)),
        ([100.0, 50.0], [np.nan, np.nan], (2, None, 100.0)),
    ],
)
def test_cells_without_noise_without_rows_and_without_bounds(counts, variance, expected):
    table = Marginal(Domain({"a": 2}), np.array(counts), noise_variance=np.array(variance))
    found = quality_of(table, 30)
    assert tuple(found.values()) == expected
    shown = listed([{"name": "x", "quality": found}]).splitlines()[1].split()
    assert ("-" in shown) == (expected[1] is None)


@pytest.mark.parametrize("names", [("job",), ("job", "town"), ("town", "job")])
def test_categories_for_missing_and_other_values_are_left_out(names):
    """They are often empty, and would make a good table look uncertain."""
    jobs = {"values": ["cook", "smith"], "other": "other", "missing": "not stated"}
    domain = Domain({"job": jobs, "town": {"values": ["A", "B"], "missing": "B"}})
    shape = tuple(domain[name].size for name in names)
    counts = np.zeros(shape)
    # Of towns, only A is named: B stands for missing values, too.
    named = np.ix_(*([0, 1] if name == "job" else [0] for name in names))
    counts[named] = 100.0
    view = Domain({name: domain[name] for name in names})
    found = quality_of(Marginal(view, counts, noise_variance=np.full(shape, 4.0)), 30)
    assert found == {"cells": 2, "half_width": 4.0, "uncertain": 0.0}


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf")])
def test_a_limit_is_a_positive_percentage(synopsis, tmp_path, limit):
    with pytest.raises(FileError, match="percentage > 0"):
        publish(synopsis, VIEWS, tmp_path / "out", uncertain=limit)
    assert not (tmp_path / "out").exists()


def test_the_command_prints_the_list(synopsis, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("margin.cli.publish._SHOWN", 2)
    synopsis.save("x.margin")
    command = ["publish", "x.margin", "--tables", "1way", "--uncertain", "12.5", "-o", "out"]
    assert main(command) == 0
    out = capsys.readouterr().out
    tables = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))["tables"]
    assert listed(tables[:2]) in out and "the other 1 tables" not in out
    assert "the other table is in out/quality.csv" in out and "above 12.5 %" in out
    assert main([*command, "--force", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["uncertain_above"] == 12.5
    assert values["quality"] == [{"table": one["name"], **one["quality"]} for one in tables]
    assert main([*command, "--force", "--uncertain", "0"]) == 2
    assert "percentage > 0" in capsys.readouterr().err


def test_the_list_is_signed(synopsis, tmp_path):
    pytest.importorskip("cryptography")
    margin.keygen(tmp_path / "key")
    publish(synopsis, VIEWS, tmp_path / "out", formats=["csv"])
    sign_folder(tmp_path / "out", tmp_path / "key")
    verify_folder(tmp_path / "out", tmp_path / "key.pub")
    path = tmp_path / "out" / "quality.csv"
    path.write_text(path.read_text().replace("measured", "known"))
    with pytest.raises(FileError, match="changed"):
        verify_folder(tmp_path / "out", tmp_path / "key.pub")
