"""Solvers that lie are caught, each in a process of its own; an honest one is not."""

import dataclasses

import pytest
from liars import CAUGHT, ClaimsNoTime, Hangs, Honest, OnTheWay

from margin.solvers import bench
from margin.solvers.bench import Instance
from margin.solvers.testing import examples

BEST = 0.3406114748
"""The least divergence of the instance; `test_the_best_known_value_is_right` checks it."""


@pytest.fixture(scope="module")
def instance():
    problem = examples()["binary pairs"]
    made = Instance.of(problem, name="pairs", family="exact-entropy")
    return dataclasses.replace(made, best_known=BEST, bound=BEST)


def test_the_best_known_value_is_right(instance):
    from margin.solvers import IPF

    check = instance.check(IPF(tolerance=1e-12).solve(instance.problem))
    assert check.feasible and check.objective == pytest.approx(BEST, abs=1e-9)


def judged(instance, solvers, **options):
    rows = bench.compare([instance], solvers, **{"repeats": 0, "jobs": 2, **options})
    return {row["solver"]: row for row in rows}


QUICK = [kind for kind in CAUGHT if kind.__name__ in ("OptimalButInfeasible", "Dies")]


def check_caught(instance, kinds, **options):
    solvers = {"Honest": Honest(), **{kind.__name__: kind() for kind in kinds}}
    rows = judged(instance, solvers, **options)
    assert rows.pop("Honest")["outcome"] == "solved"
    for kind in kinds:
        outcome, words = CAUGHT[kind]
        row = rows[kind.__name__]
        assert row["outcome"] == outcome and words in row["cause"], (kind, row)


def test_some_liars_are_caught(instance):
    check_caught(instance, QUICK)


@pytest.mark.slow
def test_every_liar_is_caught(instance):
    """Nineteen made-up ways."""
    kinds = [kind for kind in CAUGHT if kind not in (ClaimsNoTime, Hangs, *QUICK)]
    check_caught(instance, kinds, memory_limit=6e8, time_limit=60)


@pytest.mark.slow
def test_what_claims_no_time_is_caught(instance):
    """One repeat, because seconds are compared in warm solves only."""
    check_caught(instance, [ClaimsNoTime], repeats=1)


@pytest.mark.slow
def test_what_hangs_is_ended(instance):
    rows = judged(instance, {"Hangs": Hangs()}, time_limit=1)
    outcome, words = CAUGHT[Hangs]
    assert rows["Hangs"]["outcome"] == outcome and words in rows["Hangs"]["cause"]


def test_there_are_enough_ways():
    assert len(CAUGHT) >= 10


def test_what_beats_a_proved_bound_is_told(instance):
    """Either the check or the bound is wrong: here it is the bound."""
    higher = dataclasses.replace(instance, best_known=BEST + 0.1, bound=BEST + 0.1)
    row = judged(higher, {"Honest": Honest()})["Honest"]
    assert row["outcome"] == "wrong" and "proved bound" in row["cause"]


def test_answers_on_the_way_are_checked_and_kept(instance):
    row = judged(instance, {"OnTheWay": OnTheWay()})["OnTheWay"]
    first, last = row["trace_gaps"]
    assert row["outcome"] == "solved" and first > 1e-4 and last == pytest.approx(0, abs=1e-9)
    assert 0 <= row["trace_seconds"][0] <= row["trace_seconds"][1] == row["wall"]
    assert 0 < bench.primal_integral(row) < 1
