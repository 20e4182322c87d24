"""A solver that the machine gave no processor is started again, and never counts as a failure."""

import math
import os
import shutil
import subprocess
import sys
import threading

import pytest

from margin.solvers import IPF, bench
from margin.solvers.bench import Instance
from margin.solvers.bench.running import tree
from margin.solvers.bench.running.process import Found, Limits, Task, _Watch
from margin.solvers.bench.running.verdict import judged
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
    cause = rows[0]["cause"]
    assert "waited 50 s for a processor, so that it had 10 s of its limit of 60 s" in cause
    assert "--jobs 1" in cause
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
    note, *_ = bench.notes(rows)  # a busy machine has one, too
    assert "0 of 1 instance; not counted: it waited 50 s for a processor" in note


def test_a_limit_that_is_reached_on_a_free_machine_is_the_solvers_own():
    assert not Found(repeat=0, end="time", waited=0.5).is_lost(10.0)
    assert Found(repeat=0, claim={"status": "TIME_LIMIT"}, waited=1.5).is_lost(10.0)
    assert not Found(repeat=0, end="answered", waited=9.0).is_lost(10.0)


@pytest.mark.parametrize(("waited", "is_lost"), [(0.9, False), (1.4, False), (1.6, True)])
def test_a_solver_that_had_nearly_its_limit_is_not_lost_at_it(waited, is_lost):
    """It stopped at 9.5 of 10 seconds by its own clock, which counts the waiting."""
    stopped = Found(repeat=0, claim={"status": "TIME_LIMIT"}, wall=9.5, waited=waited)
    assert stopped.is_lost(10.0) == is_lost


@pytest.mark.parametrize("knows_limit", [True, False])
@pytest.mark.parametrize("end", ["answered", "raised"])
@pytest.mark.parametrize(
    ("status", "may_be_stopped"),
    [
        ("UNPROVEN", True),
        ("FAILED", True),
        (None, True),
        ("OPTIMAL", False),
        ("ITERATION_LIMIT", False),
        ("INFEASIBLE", False),
        ("UNSUPPORTED", False),
    ],
)
@pytest.mark.parametrize(
    ("wall", "waited", "is_open"),
    [(8.6, 7.0, True), (7.9, 7.0, False), (8.6, 0.9, False), (9.5, 1.4, False)],
)
def test_a_solver_with_a_clock_of_its_own_may_be_stopped_by_it_without_saying_so(
    knows_limit, end, status, may_be_stopped, wall, waited, is_open
):
    """Open: it ended near the limit of 10 seconds, but had little of it for itself."""
    found = Found(repeat=0, end=end, wall=wall, waited=waited, knows_limit=knows_limit)
    found.claim = {"status": status}
    is_lost = knows_limit and end == "answered" and may_be_stopped and is_open
    assert found.is_lost(10.0) == is_lost


@pytest.mark.parametrize(("limit", "knows_limit"), [(None, True), (3.0, True), ("none", False)])
def test_a_solver_with_a_time_limit_is_known_as_such(instance, monkeypatch, limit, knows_limit):
    """Also if it is no number of ours. The process that watches is told."""
    solver = IPF()
    if limit != "none":
        solver = type("Limited", (), {"time_limit": limit, "solve": lambda self, problem: None})()
    tasks = []
    monkeypatch.setattr(
        f"{bench.compare.__module__}.run",
        lambda task, _: tasks.append(task) or [answered(instance)],
    )
    bench.compare([instance], {"one": solver}, repeats=0)
    assert [task.knows_limit for task in tasks] == [knows_limit]


def test_a_solver_that_its_own_clock_stopped_early_is_lost(instance, tmp_path):
    """It waited for 7 of 8.6 seconds, and calls its answer unproven."""
    limits = Limits(seconds=10.0, memory=None, threads=1)
    task = Task(instance=tmp_path / "x.npz", solver=b"", repeats=0, limits=limits, knows_limit=True)
    watch = _Watch(task, tmp_path, threading.Event())
    watch._take(({"kind": "begin", "repeat": 0}, {}))
    (found,) = watch._found
    found.end, found.wall, found.waited = "answered", 8.6, 7.0
    found.answer, found.claim = answered(instance).answer, {"status": "UNPROVEN"}
    verdict = judged(instance, found, tolerance=1e-4, limit=10.0)
    assert verdict.outcome == "lost" and verdict.cause.startswith("it waited 7 s")
    # The answer is valued all the same.
    assert verdict.check == instance.check(found.answer)


def test_who_lost_instances_at_the_limit_is_not_ranked(instance, monkeypatch):
    """Else it would seem faster than it is, as only the slow instances are missing."""
    others = [
        Instance.of(examples()["binary pairs"], name=name, family="exact-entropy")
        for name in ("two", "three")
    ]
    killed = [Found(repeat=0, lost=True)] * 3
    losses = [lost(), lost(), lost()]
    good = [answered(one) for one in (instance, *others)]
    for missing, late in ((losses, 1), (killed, 0)):
        results = [good[0], *missing, good[1], good[1], good[2], good[2]]
        runner(monkeypatch, results)
        rows = bench.compare([instance, *others], {"A": IPF(), "B": IPF()}, repeats=0)
        first, second = bench.summary(rows)
        assert (first["solver"], first["lost"], first["ratio"]) == ("A", 0, 1)
        assert (second["solved"], second["lost"], second["not tried"]) == (2, 1, 1)
        assert math.isnan(second["mean seconds"]) and math.isnan(second["ratio"])
        known = {"tells": True, "best_known": 1.0, "trace_seconds": [], "trace_gaps": []}
        told = bench.summary([row | known for row in rows])
        assert not math.isnan(told[0]["primal integral"])
        assert math.isnan(told[1]["primal integral"])
        note = f"1 lost, {late} of them at the time limit"
        assert note in "".join(bench.notes(rows))
        # If nobody has a mean, there is no measure.
        (alone,) = bench.summary([row for row in rows if row["solver"] == "B"])
        assert alone["solved"] == 2 and math.isnan(alone["ratio"])


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


_SPIN = "import time\nwhile time.process_time() < 0.3: pass"
_PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {_SPIN!r}])"


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="the system does not tell")
def test_what_a_child_waited_is_known_after_its_end():
    """A solver that works in a child process; another process has the same processor."""
    processor = min(os.sched_getaffinity(0))

    def bind():
        os.sched_setaffinity(0, [processor])

    # The other process works until its input ends.
    other = (
        "import os, sys\nos.set_blocking(0, False)\nwhile sys.stdin.buffer.read(1) is None: pass"
    )
    rival = subprocess.Popen([sys.executable, "-c", other], stdin=subprocess.PIPE, preexec_fn=bind)
    parent = subprocess.Popen([sys.executable, "-c", _PARENT], preexec_fn=bind)
    turns = tree.Turns(parent.pid)
    pause = threading.Event()
    while parent.poll() is None:
        ran, waited = turns.look()
        pause.wait(0.01)
    rival.stdin.close()
    rival.wait()
    assert ran > 0.2 and waited > 0.05
    assert turns.look() == (ran, waited)


def threads_of(proc, process, threads, children=""):
    """Write what the system tells: nanoseconds on a processor and in its queue, by thread."""
    for number, (ran, waited) in threads.items():
        thread = proc / str(process) / "task" / str(number)
        thread.mkdir(parents=True, exist_ok=True)
        (thread / "schedstat").write_text(f"{ran} {waited} 1\n")
        (thread / "children").write_text(children if number == process else "")


def test_the_turns_of_all_threads_are_added_up(tmp_path, monkeypatch):
    monkeypatch.setattr(tree, "_PROC", tmp_path)
    turns = tree.Turns(7)
    second = 10**9
    threads_of(tmp_path, 7, {7: (second, 0), 8: (2 * second, 3 * second)}, children="9 ")
    threads_of(tmp_path, 9, {9: (0, 5 * second)})
    assert turns.look() == (3.0, 8.0)
    # The child ends; another thread of the parent gets its number, and begins at zero.
    shutil.rmtree(tmp_path / "9")
    threads_of(tmp_path, 7, {7: (4 * second, second), 9: (0, 2 * second)})
    assert turns.look() == (6.0, 11.0)


@pytest.mark.parametrize(
    ("ran", "waited", "processors", "expected"),
    [
        (10.0, 0.0, 1, 0.0),  # it had its processor all the time
        (0.0, 0.0, 1, 0.0),  # it slept
        (4.0, 6.0, 1, 6.0),  # other programs had the processor for six seconds
        (10.0, 10.0, 1, 0.0),  # its two threads waited for each other
        (5.0, 15.0, 1, 5.0),  # its two threads had half a processor together
        (4.0, 6.0, 2, 6.0),  # one of two threads works, and waits
        (20.0, 0.0, 2, 0.0),  # two threads had a processor each
        (10.0, 10.0, 2, 5.0),  # two threads had one processor instead of two
    ],
)
def test_threads_of_one_solver_do_not_count_as_other_programs(ran, waited, processors, expected):
    assert tree.kept_waiting(10.0, ran, waited, processors) == expected
