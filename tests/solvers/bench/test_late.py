"""An answer after the time limit does not count, and failing is never cheaper than answering."""

import dataclasses
import math
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.solvers import IPF, Status, bench
from margin.solvers.bench import Instance
from margin.solvers.bench.running import messages, worker
from margin.solvers.bench.running import rows as row_files
from margin.solvers.bench.running.process import Found, Limits, Task, _Watch
from margin.solvers.bench.running.verdict import judged
from margin.solvers.testing import examples

LIMIT = 1.0
BEST = 0.3406114748
"""The least divergence of the instance, as in `test_liars`."""


@pytest.fixture(scope="module")
def instance():
    made = Instance.of(examples()["binary pairs"], name="pairs", family="exact-entropy")
    return dataclasses.replace(made, best_known=BEST, bound=BEST)


@pytest.fixture(scope="module")
def best(instance):
    return IPF(tolerance=1e-12).solve(instance.problem).table


ANSWERS = [
    # whether the answer is the best one, another one or none; its status; in time; too late
    ("best", "OPTIMAL", "solved", "time"),
    ("best", "TIME_LIMIT", "solved", "time"),
    ("worse", "OPTIMAL", "wrong", "wrong"),
    ("none", "TIME_LIMIT", "nothing", "nothing"),
    ("none", "UNSUPPORTED", "unsupported", "unsupported"),
]


@pytest.mark.parametrize(("kind", "status", "in_time", "late"), ANSWERS)
@pytest.mark.parametrize(
    ("wall", "waited", "is_late"),
    [(0.9, 0.0, False), (1.01, 0.0, True), (2.2, 0.0, True), (2.2, 1.3, False), (2.2, 1.1, True)],
)
def test_an_answer_counts_if_it_comes_within_the_limit(
    instance, best, kind, status, in_time, late, wall, waited, is_late
):
    """Waiting for a processor is not counted, and a wrong answer is wrong at any time."""
    table = {"best": best, "worse": instance.problem.uniform, "none": None}[kind]
    found = Found(
        repeat=1,
        end="answered",
        answer=table,
        claim={"status": status},
        wall=wall,
        waited=waited,
        cpu=wall - waited,
        watched=wall,
    )
    verdict = judged(instance, found, tolerance=1e-4, limit=LIMIT)
    assert verdict.outcome == (late if is_late else in_time)
    if verdict.outcome == "time":
        assert "after the limit of 1 s" in verdict.cause
        assert verdict.check.feasible and verdict.gap == pytest.approx(0, abs=1e-6)


class Late:
    """Answers rightly, but after the limit and before its process is ended."""

    families = ("exact-entropy",)

    def solve(self, problem):
        solution = IPF(tolerance=1e-12).solve(problem)
        time.sleep(0.6)
        return solution


def test_a_late_solver_is_late(instance):
    (row,) = bench.compare([instance], {"late": Late()}, time_limit=0.5, repeats=0)
    assert row["outcome"] == "time"
    (line,) = bench.summary([row])
    assert line["solved"] == 0 and line["time"] == 1 and math.isnan(line["primal integral"])


def row(name, solver, seconds, outcome="solved", *, cold=False):
    is_best = outcome == "solved"
    return {
        "instance": name,
        "solver": solver,
        "family": "cover",
        "outcome": outcome,
        "cause": "",
        "cold": cold,
        "cpu": seconds,
        "wall": seconds,
        "time_limit": LIMIT,
        "best_known": 1.0,
        "gap": 0.0 if is_best else math.nan,
        "peak_memory": 1,
        "tells": True,
        "trace_seconds": [seconds] if is_best else [],
        "trace_gaps": [0.0] if is_best else [],
    }


grids = st.lists(
    st.tuples(st.floats(1e-3, 4.0), st.floats(1e-3, 4.0), st.booleans(), st.booleans()),
    min_size=1,
    max_size=6,
)


@settings(max_examples=100, deadline=None)
@given(grids)
def test_who_solves_a_superset_never_ranks_below(grid):
    """Processor seconds may be above the limit, if there are several threads."""
    rows = []
    for place, (one, other, is_common, is_more) in enumerate(grid):
        rows.append(row(str(place), "less", one, "solved" if is_common else "time"))
        rows.append(row(str(place), "more", other, "solved" if is_common or is_more else "time"))
    first, second = bench.summary(rows)
    assert first["solved"] >= second["solved"]
    if any(is_more and not is_common for _, _, is_common, is_more in grid):
        assert first["solver"] == "more" and first["ratio"] == 1
    seconds = bench.times(rows).seconds
    assert all(value <= LIMIT for value in seconds.ravel() if math.isfinite(value))
    means = bench.shifted_geometric_means(rows)
    assert max(means.values()) <= LIMIT * (1 + 1e-9)
    assert all(0 <= bench.primal_integral(one) <= 1 for one in rows)


def test_a_first_solve_that_is_late_by_its_imports_fails_no_solver_that_is_warm_in_time():
    rows = [row("a", "A", 1.8, "time", cold=True), row("a", "A", 0.2), row("a", "A", 0.3)]
    (line,) = bench.summary(rows)
    assert line["solved"] == 1 and line["time"] == 0 and line["first solve"] == LIMIT
    assert line["mean seconds"] == pytest.approx(0.2)
    assert bench.failures(rows) == {"A": {"solved": 1}} and not bench.notes(rows)
    (cold,) = bench.summary(rows, warm=False)
    assert cold["solved"] == 0 and cold["time"] == 1
    # Without a warm solve, the first one decides; and any other failure of it does.
    for failed in (rows[:1], [rows[0] | {"outcome": "wrong"}, *rows[1:]]):
        (line,) = bench.summary(failed)
        assert line["solved"] == 0 and math.isnan(line["first solve"])


def test_first_solves_are_those_of_the_solved_instances():
    rows = [row("a", "A", 0.4, cold=True), row("b", "A", 0.9, "wrong", cold=True)]
    (line,) = bench.summary(rows)
    assert line["first solve"] == 0.4


def test_answers_on_the_way_have_the_clock_of_the_limit(instance, best, tmp_path, monkeypatch):
    """What a solver waited for a processor delays neither its limit nor its primal integral."""
    limits = Limits(seconds=9.0, memory=None, threads=1)
    task = Task(instance=tmp_path / "x.npz", solver=b"", repeats=0, limits=limits)
    watch = _Watch(task, tmp_path, threading.Event())
    watch._take(({"kind": "begin", "repeat": 0}, {}))
    monkeypatch.setattr(watch, "_delay", lambda: 2.0)
    kind, arrays = messages.packed_answer(best)
    for elapsed, cpu in [(1.0, 0.25), (5.0, 2.5)]:
        told = {"kind": "improved", "seconds": elapsed, "cpu": cpu, "answer": kind}
        watch._take((told, arrays))
    (found,) = watch._found
    # It worked for 0.25 of the first second, so it cannot have waited for more than the rest.
    assert [seconds for seconds, _ in found.trace] == [0.25, 3.0]

    answered = Found(
        repeat=0, end="answered", answer=best, wall=5.0, waited=2.0, cpu=3.0, watched=5.0
    )
    monkeypatch.setattr(f"{bench.compare.__module__}.run", lambda *_: [answered])
    (made,) = bench.compare([instance], {"IPF": IPF()}, time_limit=10, repeats=0)
    assert (made["wall"], made["waited"], made["trace_seconds"]) == (5.0, 2.0, [3.0])
    assert bench.primal_integral(made | {"tells": True}) == pytest.approx(0.3)


TIMES = [
    # threads, wall and processor seconds of the solver; waiting as seen from outside, and counted
    (1, 0.015846, 0.003808, 0.020760, 0.015846 - 0.003808),
    (1, 1.0, 0.4, 0.1, 0.1),
    (1, 1.0, 1.0, 0.5, 0.0),
    (1, 1.0, 1.25, 0.5, 0.0),  # a library that took a second processor
    (4, 1.0, 2.0, 0.75, 0.5),
]


@pytest.mark.parametrize(("threads", "wall", "cpu", "seen", "waited"), TIMES)
def test_a_solver_waited_at_most_while_its_processors_did_not_work(
    instance, best, tmp_path, monkeypatch, threads, wall, cpu, seen, waited
):
    limits = Limits(seconds=9.0, memory=None, threads=threads)
    task = Task(instance=tmp_path / "x.npz", solver=b"", repeats=0, limits=limits)
    watch = _Watch(task, tmp_path, threading.Event())
    monkeypatch.setattr(watch, "_delay", lambda: seen)
    kind, arrays = messages.packed_answer(best)
    ended = {"wall": wall, "cpu": cpu, "peak": 1, "error": "", "is_memory": False}
    ended |= {"answer": kind, "changed": False, "claim": {}, "versions": {}}
    watch._take(({"kind": "begin", "repeat": 0}, {}))
    watch._take(({"kind": "improved", "seconds": wall, "cpu": cpu, "answer": kind}, arrays))
    watch._take(({"kind": "solved"}, {}))
    watch._take(({"kind": "answer", **ended}, arrays))
    (found,) = watch._found
    assert found.waited == pytest.approx(waited, abs=1e-12)
    verdict = judged(instance, found, tolerance=1e-4, limit=9.0)
    made = row_files.trace(instance, found.trace, found.own_seconds, verdict)
    # No clock of the solver shows less than what its processors worked.
    for seconds in (found.own_seconds, *made["trace_seconds"]):
        assert seconds == pytest.approx(wall - waited, abs=1e-12)
        assert seconds >= min(wall, cpu / threads) - 1e-12


def test_the_later_answer_is_no_earlier(instance, best):
    """Also if it seems to be, because the waiting is known better at the end."""
    sign = (-1.0) ** np.indices(best.shape).sum(axis=0)
    worse = best + 0.5 * best.min() * sign
    found = Found(repeat=0, end="answered", answer=best, wall=5.0, waited=2.0, watched=5.0)
    verdict = judged(instance, found, tolerance=1e-4, limit=9.0)
    made = row_files.trace(instance, [(3.5, worse)], found.own_seconds, verdict)
    assert made["trace_seconds"] == [3.5, 3.5]
    assert made["trace_gaps"][0] > 1e-4 > made["trace_gaps"][1]


def test_a_late_claim_that_another_answer_refutes_is_wrong():
    fact = {
        "family": "cover",
        "instance": "mine",
        "version": 1,
        "digest": "",
        "claimed_bound": None,
    }
    fact |= {"sense": "minimise", "tolerance": 1e-4, "feasible": True, "cause": ""}
    good = fact | {"solver": "A", "objective": 30, "outcome": "solved", "status": None}
    late = fact | {"solver": "B", "objective": 33, "outcome": "time", "status": "OPTIMAL"}
    assert [one["outcome"] for one in bench.reconciled([good, late])] == ["solved", "wrong"]


def test_the_seconds_for_sending_an_answer_do_not_count(best, monkeypatch):
    """Each answer takes 1 second to find, and 10 seconds to send, which are ours."""
    now = [100.0]
    clock = {"perf_counter": lambda: now[0], "thread_time": lambda: now[0]}
    for name, read in (clock | {"_cpu_seconds": lambda: now[0]}).items():
        monkeypatch.setattr(worker, name, read)
    sent = []

    class Channel:
        def send(self, values, arrays):
            sent.append((values["seconds"], values["cpu"]))
            now[0] += 10.0

    reporter = worker._Reporter(Channel(), begun=100.0, before=100.0)
    for _ in range(3):
        now[0] += 1.0
        reporter(best)
    assert sent == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]
    assert reporter.wall == reporter.cpu == 30.0


class Burns:
    """Works for 3 ms of processor time, tells an answer, and works for 3 ms more."""

    families = ("cover",)

    def solve(self, cover, *, improved=None):
        begun = time.process_time()
        for until in (0.003, 0.006):
            while time.process_time() - begun < until:
                pass
            answer = bench.Chosen(sets=np.arange(cover.sets), status=Status.UNPROVEN)
            if improved is not None and until == 0.003:
                improved(answer)
        return answer


def test_no_answer_is_dated_before_the_work_that_led_to_it(monkeypatch):
    """Also if the process that watches had no turn meanwhile, and reads all messages at the end."""
    follow = _Watch._follow

    def follow_late(self, process, reading):
        process.wait()
        return follow(self, process, reading)

    monkeypatch.setattr(_Watch, "_follow", follow_late)
    cover = bench.instance("cover-design-7-3-2")
    rows = bench.compare([cover], {"burns": Burns()}, repeats=2)
    assert len(rows) == 3
    assert all(row["trace_seconds"][0] >= 0.003 for row in rows), rows
