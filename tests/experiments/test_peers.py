"""What the comparison with other systems is made of: queries, tasks, scripts that are stopped,
verdicts, the page."""

import argparse
import csv
import importlib
import importlib.util
import math
import os
import signal
import subprocess
import sys
import types

import numpy as np
import pytest

from experiments.peers import _environments as environments
from experiments.peers import _own_table, peers, records
from experiments.peers._methods import BUDGETS, METHODS, Cell, Script
from experiments.peers._tables import MOST_CELLS, TABLES, Coded, queries, table
from experiments.peers.scripts.task import Task
from experiments.tools import study as measurements
from experiments.tools.study import append


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
    # 19,200 draws: the mean of squares is within 5 sqrt(5 / 19,200) = 8 % but for one time in a
    # million.
    assert np.mean(np.square(drawn)) == pytest.approx(variance, rel=0.08)


def test_the_exponential_mechanism_follows_its_law(cell, tmp_path):
    task = Task.of(cell.public(), cell.table.rows, tmp_path)
    picks = np.array([task.pick(np.array([0.0, 2.0]), 1.0) for _ in range(4_000)])
    expected = math.e / (1 + math.e)
    assert picks.mean() == pytest.approx(
        expected, abs=5 * math.sqrt(expected * (1 - expected) / 4_000)
    )


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
    (tmp_path / "scripts" / "peer.py").write_text(
        "import json, sys, time\nfrom pathlib import Path\n" + text
    )
    monkeypatch.setattr(environments, "SCRIPTS", tmp_path / "scripts")
    monkeypatch.setattr(environments, "PINS", {"here": ()})
    return Script(script="peer", environment="here")


SAID = (
    "(Path(sys.argv[1]) / 'result.json').write_text("
    "json.dumps({'release': 1.5, 'error 2': 0.25, 'answers 2': 0.5}))\n"
)


@pytest.mark.parametrize(
    ("waits", "limit", "note"),
    [
        ("time.sleep(600)", 0.4, "stopped after 2 s by the clock"),
        ("os.kill(os.getpid(), signal.SIGXCPU)", 5, "stopped after 5 CPU s"),
    ],
)
def test_a_script_that_is_stopped_leaves_what_it_had_done(
    cell, monkeypatch, tmp_path, waits, limit, note
):
    peer = _script(monkeypatch, tmp_path, f"import os, signal\n{SAID}{waits}")
    slow = Cell(name="tiny", budget="B3", sizes=(2, 3), seed=0, queries=2, build=False, limit=limit)
    two, three = peer(slow)
    assert (two["release"], two["error"], two["answers"], two["note"]) == (1.5, 0.25, 0.5, note)
    assert three["error"] == ""


def test_a_script_stops_itself_when_its_processor_time_is_spent(tmp_path):
    cell = Cell(name="tiny", budget="B3", sizes=(2,), seed=0, queries=1, limit=0.5)
    cell.write(tmp_path)
    busy = (
        f"import sys; sys.path.insert(0, {str(environments.SCRIPTS)!r})\n"
        "import task\ndef forever(_):\n    while True: pass\ntask.main(forever)"
    )
    done = subprocess.run([sys.executable, "-c", busy, tmp_path])
    assert done.returncode == -signal.SIGXCPU


def test_a_script_that_fails_with_nothing_to_say_is_an_error(cell, monkeypatch, tmp_path):
    peer = _script(monkeypatch, tmp_path, "raise ValueError('too large')")
    with pytest.raises(RuntimeError, match="ValueError: too large"):
        list(peer(cell))


def _environment(monkeypatch, tmp_path, pip):
    """An environment whose pip is a script that answers with this text."""

    def create(folder, with_pip):
        (folder / "bin").mkdir(parents=True)
        python = folder / "bin" / "python"
        python.write_text(f"#!/bin/sh\n{pip}\n")
        python.chmod(0o755)

    monkeypatch.setattr(environments.venv, "create", create)
    monkeypatch.setitem(environments.PINS, "peer", ("package==1.0",))
    monkeypatch.setenv("MARGIN_PEERS", str(tmp_path / "envs"))
    return tmp_path / "envs"


def test_an_environment_is_built_once_for_the_same_pins(monkeypatch, tmp_path):
    home = _environment(monkeypatch, tmp_path, f'echo "$PYTHONPATH" "$@" >> {tmp_path}/log')
    monkeypatch.setenv("PYTHONPATH", "/ours")
    for _ in range(2):
        assert environments.interpreter("peer", build=True) == str(home / "peer" / "bin" / "python")
    monkeypatch.setitem(environments.PINS, "peer", ("package==2.0",))
    environments.interpreter("peer", build=True)
    assert (tmp_path / "log").read_text().splitlines() == [
        f" -m pip install --quiet package=={version}.0" for version in (1, 2)
    ]
    assert [path.name for path in home.iterdir()] == ["peer"]


@pytest.mark.parametrize(
    ("pip", "said"),
    [
        ("echo 'WARNING: slow' >&2; echo 'ERROR: No match' >&2; exit 1", "ERROR: No match"),
        ("echo 'Killed' >&2; exit 137", "Killed"),
        ("exit 3", "non-zero exit status 3"),
        ("exec sleep 60", "timed out"),
    ],
)  # fmt: skip
def test_an_environment_that_fails_is_one_line_and_leaves_nothing(monkeypatch, tmp_path, pip, said):
    home = _environment(monkeypatch, tmp_path, pip)
    monkeypatch.setattr(environments, "_BUILD_LIMIT", 0.5)
    with pytest.raises(RuntimeError, match=said) as raised:
        environments.interpreter("peer", build=True)
    assert str(raised.value).startswith("the environment peer was not built: ")
    assert "\n" not in str(raised.value) and list(home.iterdir()) == []


def test_one_that_fails_does_not_take_away_the_one_before(monkeypatch, tmp_path):
    home = _environment(monkeypatch, tmp_path, "exit 0")
    environments.interpreter("peer", build=True)
    _environment(monkeypatch, tmp_path, "exit 1")
    monkeypatch.setitem(environments.PINS, "peer", ("package==2.0",))
    with pytest.raises(RuntimeError):
        environments.interpreter("peer", build=True)
    assert (home / "peer" / "pins.txt").read_text() == "package==1.0"


@pytest.mark.slow
def test_the_study_goes_on_without_an_environment(monkeypatch, tmp_path):
    """What was measured in it before stays on the page, with why it is not there."""
    monkeypatch.setattr(peers, "TABLES", {"small": peers.TABLES["tiny"]})
    monkeypatch.setattr(peers, "table", lambda name: table("tiny"))
    monkeypatch.setattr(
        peers, "METHODS", {name: METHODS[name] for name in ("Flat", "AIM", "OpenDP MST")}
    )
    _environment(monkeypatch, tmp_path, "exit 0")

    def fails(environment, pins):
        raise OSError("no network")

    monkeypatch.setattr(environments, "_build", fails)
    before = _row("AIM", "0.02") | {"table": "small", "sizes": "3 4 6", "queries": "200"}
    append(tmp_path / "rows.csv", before)
    monkeypatch.setattr(peers, "measure", _measured)
    monkeypatch.setattr(peers, "points", lambda *given, **options: [])
    text = peers.run(smoke=False, out=tmp_path)
    assert "the environment mbi was not built: no network" in text
    assert "| AIM | 0.02 (3 s, 1) |" in text and "| Flat | 0.5 (2 s, 3) |" in text
    assert "OpenDP MST |" not in text.split("**small")[1]


@pytest.mark.parametrize("study", [peers, records], ids=["peers", "records"])
def test_a_report_builds_no_environment(study, monkeypatch, tmp_path):
    def fails(environment, pins):
        raise AssertionError(f"{environment} is built")

    monkeypatch.setattr(measurements, "measuring", False)
    monkeypatch.setenv("MARGIN_PEERS", str(tmp_path / "peers"))
    monkeypatch.setattr(environments, "_build", fails)
    text = study.run(smoke=False, out=tmp_path)
    assert "measurements of the study were not run" in text
    assert not (tmp_path / "peers").exists()


def _measured(sizes, **key):
    return [{"k": k, "release": 1, "answers": 1, "error": 0.5} for k in map(int, sizes.split())]


def _row(method, error, k=3, budget="B3", seed=0, note=""):
    named = {
        "table": "tiny",
        "budget": budget,
        "method": method,
        "sizes": "3",
        "seed": str(seed),
        "queries": "5",
    }
    return named | {
        "k": str(k),
        "release": "2",
        "error": error,
        "answers": "1",
        "note": note,
        "status": "done",
    }


@pytest.mark.slow
def test_the_page_tells_what_is_lost(tmp_path):
    rows = [
        _row(peers.RULE, "0.03"),
        _row(peers.RULE, "0.05", seed=1),
        _row("Residual", "0.01"),
        _row("AIM", "0.02"),
        _row(peers.RULE, "0.01", k=4),
        _row("MST", "0.0105", k=4),
        _row("MST", "", k=6, note="refused: too large"),
        _row(peers.RULE, "0.01", k=6),
        _row("Direct", "0.04", k=6),
    ]
    compared = {line["k"]: line for line in peers._compared(peers._means(rows))}
    assert {k: line["verdict"] for k, line in compared.items()} == {3: "lost", 4: "tie", 6: "won"}
    assert compared[3]["by rule: error"] == pytest.approx(0.04)
    assert (compared[3]["best peer"], compared[3]["best of ours"]) == ("AIM", "Residual")
    text = peers.report(tmp_path, rows)
    assert "in 2 of 3" in text
    assert "in 1 of 3" in text and "refused: too large" in text
    assert "| AIM | 0.02 (3 s, 1) |" in text
    assert "tiny B3 k=3 2.00 (AIM)" in text and "Not measured: PriView," in text
    drawn = importlib.util.find_spec("matplotlib") is not None
    for picture in ("error-over-ours", "time-tiny", "error-tiny"):
        assert (tmp_path / f"{picture}.svg").exists() == drawn == (f"({picture}.png)" in text)


@pytest.mark.slow
def test_errors_that_are_not_finite_are_no_answers(tmp_path):
    rows = [
        _row("MST", "nan"),  # the first: min() keeps a NaN that comes first
        _row("AIM", "0.02"),
        _row("MWEM+PGM", "inf"),
        _row(peers.RULE, "0.03"),
        _row("MST", "nan", k=4),
        _row(peers.RULE, "0.03", k=4),
    ]
    found = peers._means(rows)
    assert {place[3] for place in found} == {"AIM", peers.RULE}
    compared = {line["k"]: line for line in peers._compared(found)}
    assert (compared[3]["best peer"], compared[3]["verdict"]) == ("AIM", "lost")
    assert (compared[4]["best peer"], compared[4]["verdict"]) == ("none", "not run")
    assert peers._verdict(math.nan) == "not run"
    assert "MST: an error that is not finite" in peers.report(tmp_path, rows)


@pytest.mark.parametrize("ways", [2, 3])
def test_mwem_measures_marginals_of_its_workload(cell, monkeypatch, tmp_path, ways):
    """Six rounds after the table that counts the rows, with a model that is always uniform."""
    monkeypatch.syspath_prepend(environments.SCRIPTS)
    monkeypatch.setitem(sys.modules, "model", types.SimpleNamespace(Fitted=_Uniform))
    monkeypatch.delitem(sys.modules, "mwem_pgm", raising=False)
    public = cell.public(ways=ways, megabytes=25)
    task = Task.of(public, cell.table.rows, tmp_path)
    answer = importlib.import_module("mwem_pgm").release(task)
    assert [len(axes) for axes in answer.__self__.measured] == [1, *[ways] * 6]


class _Uniform:
    """A model in place of mbi's."""

    def __init__(self, task):
        self.task, self.measured = task, []

    def add(self, axes, noisy, deviation):
        self.measured.append(axes)

    def fit(self):
        pass

    def megabytes(self, *more):
        return 0.0

    def answer(self, axes):
        shape = [self.task.sizes[axis] for axis in axes]
        return np.full(shape, len(self.task.rows) / math.prod(shape))


BELIEFS = """
fitted = Fitted(task, iterations=100)
for axes in [(0, 1), (1, 2), (0, 2), (2, 3), (4,)]:
    fitted.add(axes, *task.noisy(axes, 0.2))
fitted.fit()
for axes in [(0, 1), (1, 3), (0, 3, 4), (4, 5), (2,), (0, 1, 2, 3, 4, 5)]:
    theirs = np.asarray(fitted._model.project(fitted.clique(axes)).values)
    assert np.abs(fitted.answer(axes) - theirs).max() < 1e-6, axes
"""

APPROXIMATE = """
fitted = Fitted(task)
for axes in [(0, 1, 2), (2, 3, 4), (0, 4, 5), (1, 3, 5)]:
    fitted.add(axes, *task.noisy(axes, 0.25))
loss = marginal_loss.from_linear_measurements(fitted.measurements, fitted.domain)
found, total, used = approximate(fitted, 2_000)
step = 1 / (float(loss.lipschitz) * total)
theirs = approximate_oracles.ApproxMirrorDescent(stepsize=step).estimate(
    fitted.domain, loss, known_total=total, iters=used)
assert float(loss(found)) <= float(loss(theirs)), (float(loss(found)), float(loss(theirs)))
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mbi") is None, reason="mbi is not installed")
@pytest.mark.parametrize("text", [BELIEFS, APPROXIMATE], ids=["beliefs", "approximate"])
def test_models_of_mbi(cell, tmp_path, text):
    """Beliefs answer what `project` does, of a chain, a loop and an attribute apart: within a node,
    across nodes and parts. The approximate estimator fits no worse with steps searched for than
    with the one sure to converge."""
    cell.write(tmp_path)
    head = (
        f"import sys\nsys.path.insert(0, {str(environments.SCRIPTS)!r})\nfrom pathlib import Path\n"
    )
    head += "from model import *\nfrom task import Task\ntask = Task.read(Path(sys.argv[1]))\n"
    done = subprocess.run(
        [sys.executable, "-c", head + text, tmp_path],
        capture_output=True,
        text=True,
        env=os.environ | environments._SETTINGS,
    )
    assert done.returncode == 0, done.stderr


def test_the_command_peers_runs_methods_on_a_table_of_the_user(tmp_path, capsys, monkeypatch):
    for known in (TABLES, BUDGETS):
        monkeypatch.setitem(known, "own", None)  # so that both are restored
    path, domain = tmp_path / "t.csv", tmp_path / "d.json"
    path.write_text("sex,age,smokes\n" + "F,3,0\nM,40,1\n" * 200)
    domain.write_text('{"sex": ["F", "M"], "age": {"bins": [0, 18, 65]}, "smokes": 2}')
    parser = argparse.ArgumentParser()
    _own_table.add_arguments(parser)
    words = [str(path), str(domain), "--rho", "1", "--ways", "2", "--queries", "3", "--methods"]
    written = tmp_path / "errors.csv"
    rows = _own_table.run(
        parser.parse_args([*words, "Residual,Flat,Independent", "--csv", str(written)])
    )
    errors = {row["method"]: row["error"] for row in rows}
    assert errors["Flat"] < 0.1 < errors["Independent"] and errors["Residual"] < 0.1
    assert "not private" in capsys.readouterr().out
    with written.open(newline="") as file:
        again = list(csv.DictReader(file))
    assert {row["method"]: float(row["error"]) for row in again} == errors
    with pytest.raises(ValueError, match="there is no method 'PrivBayes'; choose among"):
        _own_table.run(parser.parse_args([*words, "PrivBayes"]))
