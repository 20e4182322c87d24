"""A solver that the machine gave no processor is started again, and never counts as a failure."""

import math
import os
import threading
import time

import pytest

from margin.solvers import IPF, bench
from margin.solvers.bench import Instance
from margin.solvers.bench.running import tree
from margin.solvers.bench.running.process import Found
from margin.solvers.testing import examples


@pytest.fixture(scope="module")
def instance():
    return Instance.of(examples()["mixed pairs"], name="pairs", family="exact-entropy")


def lost():
    return Found(repeat=0, end="time", wall=60.0, cpu=1.0, watched=60.0, waited=50.0)


def answered(instance):
    solution = IPF().solve(instance.problem)
    claim = {"status": "OPTIMAL"}
    return Found(repeat=0, end="answered", answer=solution.table, claim=claim, wall=0.1, cpu=0.1)


def runner(monkeypatch, results):
    """Let `compare` receive these results, one after another, and count them."""
    left = list(results)
    monkeypatch.setattr(f"{bench.compare.__module__}.run", lambda *_: [left.pop(0)])
    return left


@pytest.mark.parametrize("first", [lost, lambda: Found(repeat=0, lost=True)])
def test_what_is_lost_is_started_again(instance, monkeypatch, first):
    left = runner(monkeypatch, [first(), answered(instance)])
    (row,) = bench.compare([instance], {"IPF": IPF()}, repeats=0)
    assert row["outcome"] == "solved" and not left


def test_what_stays_lost_counts_as_not_tried_and_runs_again(instance, monkeypatch, tmp_path):
    other = Instance.of(examples()["binary pairs"], name="other", family="exact-entropy")
    results = [lost(), lost(), lost(), answered(other), answered(instance)]
    left = runner(monkeypatch, results)
    options = {"repeats": 0, "to": tmp_path / "rows.parquet"}
    rows = bench.compare([instance, other], {"IPF": IPF()}, **options)
    assert [row["outcome"] for row in rows] == ["lost", "solved"]
    assert "waited 50 s for a processor" in rows[0]["cause"]
    assert math.isnan(bench.times(rows).seconds[0, 0])
    assert bench.shifted_geometric_means(rows)["IPF"] == pytest.approx(0.1)
    profile = bench.performance_profile(rows)
    assert profile.share("IPF", 1) == 0.5 and profile.tried == {"IPF": 1}
    assert bench.summary(rows)[0]["instances"] == 1
    again = bench.compare([instance, other], {"IPF": IPF()}, **options)
    assert [row["outcome"] for row in again] == ["solved", "solved"] and not left


def test_only_lost_solves_leave_numbers_that_are_none(instance, monkeypatch):
    runner(monkeypatch, [lost(), lost(), lost()])
    rows = bench.compare([instance], {"IPF": IPF()}, repeats=0)
    (line,) = bench.summary(rows)
    assert line["instances"] == line["solved"] == 0 and math.isnan(line["mean seconds"])
    (note,) = bench.notes(rows)
    assert "0 of 1 instances; not counted: it waited 50 s for a processor" in note


def test_a_limit_that_is_reached_on_a_free_machine_is_the_solvers_own():
    assert not Found(repeat=0, end="time", waited=0.5).is_lost(10.0)
    assert Found(repeat=0, claim={"status": "TIME_LIMIT"}, waited=1.5).is_lost(10.0)
    assert not Found(repeat=0, end="answered", waited=9.0).is_lost(10.0)


@pytest.mark.parametrize(("watched", "is_lost"), [(10.0, True), (14.0, False)])
def test_a_solver_that_had_the_whole_limit_for_itself_is_not_lost(watched, is_lost):
    """An endless solver on a busy machine is a failure of the solver."""
    assert Found(repeat=0, end="time", watched=watched, waited=9.0).is_lost(3.0) == is_lost


def test_a_process_that_ends_before_the_solver_begins_is_lost(instance, monkeypatch):
    """Such as one that cannot import margin, because somebody edits its files."""
    process = "margin.solvers.bench.running.process"
    monkeypatch.setattr(f"{process}._START", "raise NameError('half a file')")
    (row,) = bench.compare([instance], {"IPF": IPF()}, repeats=0)
    assert row["outcome"] == "lost" and "half a file" in row["cause"]


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="the system does not tell")
def test_the_time_without_a_processor_is_known():
    before = tree.waited(os.getpid())
    stop = threading.Event()
    until = time.process_time() + 0.1
    while time.process_time() < until:
        stop.wait(0)
    assert 0 <= before <= tree.waited(os.getpid())
