"""What the comparison with other systems is made of: queries, tasks, scripts that are stopped, verdicts, the page."""

import importlib.util
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from experiments import _peer_environments as environments
from experiments import peers
from experiments._peer_methods import METHODS, Cell, Script
from experiments._peer_tables import MOST_CELLS, Coded, queries, table
from experiments.peer_scripts.task import Task


@pytest.fixture(autouse=True)
def only_generated(monkeypatch):
    monkeypatch.delenv("MARGIN_DATA", raising=False)
    monkeypatch.setenv("MARGIN_CACHE", "/nonexistent")


@pytest.fixture
def cell():
    return Cell(name="tiny", budget="B3", sizes=(2, 3), seed=1, queries=5, build=False)


def test_queries_are_sorted_repeatable_and_the_first_of_more():
    asked = queries((2,) * 12, 4, 50)
    assert asked == queries((2,) * 12, 4, 80)[:50]
    assert all(list(axes) == sorted(set(axes)) and len(axes) == 4 for axes in asked)


def test_queries_stop_at_the_most_cells():
    sizes = (64,) * 8
    asked = queries(sizes, 3, 200)
    assert len(asked) * 64**3 <= MOST_CELLS < (len(asked) + 1) * 64**3
    assert len(queries(sizes, 6, 200)) == 1


def test_published_tables_are_none_where_they_are_not_at_hand():
    table.cache_clear()
    assert table("Adult-13") is None
    assert isinstance(table("tiny"), Coded)


def test_a_task_goes_through_its_folder(cell, tmp_path):
    cell.write(tmp_path, ways=2)
    task = Task.read(tmp_path)
    assert task.attributes == tuple(cell.table.sizes) and task.options == {"ways": 2}
    assert not task.pure and task.amount == 0.011785
    assert {k: len(asked) for k, asked in task.queries.items()} == {2: 5, 3: 5}
    counts = task.counts((1, 4))
    assert counts[1, 0] == ((task.rows[:, 1] == 1) & (task.rows[:, 4] == 0)).sum()
    assert task.error((1, 4), counts) == 0
    assert task.error((1, 4), counts + 3) == pytest.approx(6 / len(task.rows))


@pytest.mark.parametrize(("budget", "variance"), [("B4", 1 / (2 * 0.055)), ("B1", 2 / 0.5**2)])
def test_noise_of_a_share_of_the_budget(budget, variance, tmp_path):
    cell = Cell(name="tiny", budget=budget, sizes=(2,), seed=0, queries=1)
    task = Task.of(cell.public(), cell.table.rows, tmp_path)
    axes, drawn = tuple(range(6)), []
    for _ in range(300):
        noisy, deviation = task.noisy(axes, 0.5)
        drawn.append(noisy - task.counts(axes))
    assert deviation == pytest.approx(math.sqrt(variance))
    # 19,200 draws: the mean of squares is within 5 sqrt(5 / 19,200) = 8 % but for one time in a million.
    assert np.mean(np.square(drawn)) == pytest.approx(variance, rel=0.08)


def test_the_exponential_mechanism_follows_its_law(cell, tmp_path):
    task = Task.of(cell.public(), cell.table.rows, tmp_path)
    picks = np.array([task.pick(np.array([0.0, 2.0]), 1.0) for _ in range(4_000)])
    expected = math.e / (1 + math.e)
    assert picks.mean() == pytest.approx(expected, abs=5 * math.sqrt(expected * (1 - expected) / 4_000))


def test_without_its_packages_a_peer_is_left_out_and_says_so(cell, monkeypatch):
    monkeypatch.setitem(environments.PINS, "mbi", ("no-such-package==1.0",))
    rows = list(METHODS["MST"](cell))
    assert [row["k"] for row in rows] == [2, 3]
    assert all(row["note"] == "left out: needs no-such-package==1.0" for row in rows)


def test_a_method_for_zcdp_is_not_run_under_pure_differential_privacy(tmp_path):
    cell = Cell(name="tiny", budget="B1", sizes=(3,), seed=0, queries=2, build=False)
    assert [row["note"] for row in METHODS["AIM"](cell)] == ["not under pure differential privacy"]


def _script(monkeypatch, tmp_path, text):
    """A peer whose script is the text, run by this Python."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "peer.py").write_text("import json, sys, time\nfrom pathlib import Path\n" + text)
    monkeypatch.setattr(environments, "SCRIPTS", tmp_path / "scripts")
    monkeypatch.setattr(environments, "PINS", {"here": ()})
    return Script(script="peer", environment="here")


SAID = (
    "(Path(sys.argv[1]) / 'result.json').write_text(json.dumps({'release': 1.5, 'error 2': 0.25, 'answers 2': 0.5}))\n"
)


def test_a_script_that_is_stopped_leaves_what_it_had_done(cell, monkeypatch, tmp_path):
    peer = _script(monkeypatch, tmp_path, SAID + "time.sleep(600)")
    slow = Cell(name="tiny", budget="B3", sizes=(2, 3), seed=0, queries=2, build=False, limit=5)
    two, three = peer(slow)
    assert (two["release"], two["error"], two["answers"], two["note"]) == (1.5, 0.25, 0.5, "ended stopped after 5 s")
    assert three["error"] == ""


def test_a_script_that_fails_with_nothing_to_say_is_an_error(cell, monkeypatch, tmp_path):
    peer = _script(monkeypatch, tmp_path, "raise ValueError('too large')")
    with pytest.raises(RuntimeError, match="ValueError: too large"):
        list(peer(cell))


def _row(method, error, k=3, budget="B3", seed=0, note=""):
    named = {"table": "tiny", "budget": budget, "method": method, "sizes": "3", "seed": str(seed), "queries": "5"}
    return named | {"k": str(k), "release": "2", "error": error, "answers": "1", "note": note, "status": "done"}


def test_the_page_tells_what_is_lost(tmp_path):
    rows = [
        _row("Adaptive", "0.03"), _row("Adaptive", "0.05", seed=1), _row("Residual", "0.01"), _row("AIM", "0.02"),
        _row("Adaptive", "0.01", k=4), _row("MST", "0.0105", k=4), _row("MST", "", k=6, note="refused: too large"),
        _row("Adaptive", "0.01", k=6), _row("Direct", "0.04", k=6),
    ]  # fmt: skip
    compared = {line["k"]: line for line in peers._compared(peers._means(rows))}
    assert {k: line["verdict"] for k, line in compared.items()} == {3: "lost", 4: "tie", 6: "won"}
    assert compared[3]["by rule: error"] == pytest.approx(0.04)
    assert (compared[3]["best peer"], compared[3]["best of ours"]) == ("AIM", "Residual")
    text = peers.report(tmp_path, rows)
    assert "in 2 of 3, lost or tied above: tiny B3 k=3: 2.00" in text
    assert "in 1 of 3" in text and "refused: too large" in text
    assert "| AIM | 0.02 (3 s, 1) |" in text


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mbi") is None, reason="mbi is not installed")
def test_beliefs_answer_what_project_answers(cell, tmp_path):
    """Of a chain, a loop and an attribute apart: within a node, across nodes, across parts."""
    folder = tmp_path / "cell"
    folder.mkdir()
    cell.write(folder)
    (tmp_path / "same.py").write_text(
        f"""
import sys
sys.path.insert(0, {str(environments.SCRIPTS)!r})
from model import Fitted
from task import Task, Path
import numpy as np
task = Task.read(Path(sys.argv[1]))
fitted = Fitted(task, iterations=100)
for axes in [(0, 1), (1, 2), (0, 2), (2, 3), (4,)]:
    fitted.add(axes, *task.noisy(axes, 0.2))
fitted.fit()
gaps = {{}}
for axes in [(0, 1), (1, 3), (0, 3, 4), (4, 5), (2,), (0, 1, 2, 3, 4, 5)]:
    theirs = np.asarray(fitted._model.project(fitted.clique(axes)).values)
    gaps[str(axes)] = float(np.abs(fitted.answer(axes) - theirs).max())
task.note(**gaps)
"""
    )
    settings = environments._SETTINGS
    subprocess.run([sys.executable, tmp_path / "same.py", folder], check=True, env=os.environ | settings)
    gaps = json.loads((folder / "result.json").read_text())
    assert len(gaps) == 6 and max(gaps.values()) < 1e-6
    assert Task.read(folder).sizes == cell.table.domain.sizes
