"""A sweep makes the same rows after any interruption; pictures and pages show their input."""

import os
import time

import numpy as np
import pytest

from experiments import __main__ as main
from experiments.tools import study
from experiments.tools.pages import Claim, markdown, page
from experiments.tools.plots import candlesticks, lines
from experiments.tools.study import append, bad, good, read, seed_of, sweep

KEYS = [{"k": k, "run": run} for k in (4, 6) for run in range(3)]


def measure(k, run):
    rng = np.random.default_rng(seed_of("views", k=k, run=run))
    return [{"view": view, "error": rng.random() / k} for view in range(2)]


def counted(k, run):
    """Leaves a mark for each call, and fails on one key while the file of that name is there."""
    folder = os.environ["STUDY_TEST"]
    with open(os.path.join(folder, "calls"), "a") as file:
        file.write(f"{k}{run} ")
    if (k, run) == (6, 0) and os.path.exists(os.path.join(folder, "broken")):
        raise ValueError("no, thanks,\nnot today")
    return {"error": k / (run + 1)}


def naughty(k, run):
    if (k, run) == (4, 1):
        time.sleep(60)
    if (k, run) == (6, 2):
        os._exit(3)
    return {"error": 1.0}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_TEST", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(os.sys.path))
    return tmp_path


@pytest.mark.slow
def test_the_same_rows_with_any_number_of_processes(folder, monkeypatch):
    alone = sweep(folder / "one.csv", measure, KEYS)
    monkeypatch.setattr(study, "processes", 2)
    assert sweep(folder / "two.csv", measure, KEYS) == alone
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()
    assert [(row["k"], row["run"], row["view"]) for row in alone[:3]] == [
        ("4", "0", "0"),
        ("4", "0", "1"),
        ("4", "1", "0"),
    ]
    assert good(alone) == alone and bad(alone) == []


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_what_is_done_is_not_done_again(folder, cut):
    path = folder / "rows.csv"
    whole = sweep(path, counted, KEYS)
    text = path.read_text()
    lost = text[len(text) - cut :].count("\n") + (not text[: len(text) - cut].endswith("\n"))
    path.write_text(text[: len(text) - cut])  # as a full disk or a power cut leaves it
    assert sweep(path, counted, KEYS) == whole
    assert path.read_text() == text
    assert len((folder / "calls").read_text().split()) == len(KEYS) + max(1, lost - 1)


def test_a_failure_is_told_and_tried_again(folder):
    (folder / "broken").touch()
    rows = sweep(folder / "rows.csv", counted, KEYS)
    assert len(good(rows)) == 5
    assert bad(rows) == ["failed: ValueError: no, thanks, not today: k 6, run 0"]
    (folder / "broken").unlink()
    assert len(good(sweep(folder / "rows.csv", counted, KEYS))) == 6
    assert (folder / "calls").read_text().split().count("60") == 2
    assert (folder / "calls").read_text().split().count("40") == 1


@pytest.mark.slow
def test_a_key_that_takes_too_long_or_ends_its_process_costs_only_itself(folder, monkeypatch):
    monkeypatch.setattr(study, "processes", 2)
    rows = sweep(folder / "rows.csv", naughty, KEYS, limit=3.0)
    assert {(row["k"], row["run"]): row["status"] for row in rows if row["status"] != "done"} == {
        ("4", "1"): "time limit",
        ("6", "2"): "failed: its process ended",
    }


def test_a_report_shows_what_there_is(folder, monkeypatch):
    path = folder / "rows.csv"
    sweep(path, measure, KEYS[:2])
    text = path.read_text()
    monkeypatch.setattr(study, "measuring", False)
    rows = sweep(path, measure, KEYS)
    assert len(good(rows)) == 4
    assert bad(rows) == ["4 measurements of the study were not run."]
    assert path.read_text() == text


def test_rows_of_other_keys_stay(folder):
    path = folder / "rows.csv"
    sweep(path, measure, KEYS[:2])
    assert len(sweep(path, measure, KEYS[2:3])) == 2
    assert len(read(path)) == 6


def test_new_columns_are_added(tmp_path):
    path = tmp_path / "rows.csv"
    append(path, {"a": 1})
    append(path, {"a": 2, "b": "x,y"})
    append(path, {"b": "z"})
    assert read(path) == [{"a": "1", "b": ""}, {"a": "2", "b": "x,y"}, {"a": "", "b": "z"}]


def test_a_page_says_what_holds(tmp_path):
    claims = [
        Claim(claim="A is best", measured="A 1, B 2", holds=True),
        Claim(claim="B is second", measured="B 2, C 1.5", holds=False, why="C is tuned | better"),
        Claim(claim="D is last", measured="", holds=None),
    ]
    text = page(
        tmp_path / "page.md",
        title="T",
        about="On X.",
        claims=claims,
        pictures=[tmp_path / "sub" / "p.png"],
    )
    assert (tmp_path / "page.md").read_text() == text
    assert "| A is best | A 1, B 2 | yes |" in text
    assert "| **no**: C is tuned \\| better |" in text
    assert "not tested" in text and "(sub/p.png)" in text


def test_numbers_are_short():
    assert (
        markdown([{"a": "0.123456", "b": 1e-9, "c": "x"}]).splitlines()[-1]
        == "| 0.1235 | 1e-09 | x |"
    )


@pytest.mark.slow
@pytest.mark.parametrize("draw", ["candlesticks", "lines"])
def test_pictures_are_the_same_each_time(tmp_path, draw):
    pytest.importorskip("matplotlib")
    values = np.random.default_rng(1).gamma(1, 1, 50)
    for name in ("a", "b"):
        if draw == "candlesticks":
            panels = {"k = 4": {"ours": values, "flat": 2 * values}, "k = 6": {"ours": values}}
            written = candlesticks(
                tmp_path / name, panels, xlabel="error", marks={"k = 6": {"flat": 3.0}}
            )
        else:
            written = lines(
                tmp_path / name,
                {"": {"ours": ([1, 2], [3, 4]), "b": ([1, 2], [1, 2], [1, 1], [3, 3])}},
                xlabel="x",
                ylabel="y",
            )
        assert [file.suffix for file in written] == [".png", ".svg"]
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_text_without_its_pictures_says_where_they_are_kept():
    text = "# T\n\n![one](one.png)\n\nNotes."
    shown = main._without_pictures(text)
    assert "one.png" not in shown and "Notes." in shown and "--out DIR" in shown
    assert main._without_pictures("# T\n\nNotes.") == "# T\n\nNotes."
