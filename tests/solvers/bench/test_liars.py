"""Solvers that lie are caught, each in a process of its own; an honest one is not."""

import dataclasses

import pytest
from liars import (
    CAUGHT,
    ChildrenEatMemory,
    Dies,
    EatsMemory,
    ForgesTheCheck,
    Hangs,
    Honest,
    InTurn,
    Leaves,
    OnTheWay,
    OptimalButInfeasible,
    Raises,
    TurnsTheClock,
)

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


QUICK = (OptimalButInfeasible, Dies)
ENDING = (Dies, EatsMemory, ChildrenEatMemory, Hangs, Leaves, Raises)
"""Those that end their process, so that each needs one of its own."""


def is_caught(kind, row):
    outcome, words = CAUGHT[kind]
    return row["outcome"] == outcome and words in row["cause"]


def test_some_liars_are_caught(instance):
    rows = judged(instance, {"Honest": Honest(), **{kind.__name__: kind() for kind in QUICK}})
    assert rows.pop("Honest")["outcome"] == "solved"
    for kind in QUICK:
        assert is_caught(kind, rows[kind.__name__]), rows[kind.__name__]


@pytest.mark.slow
def test_every_liar_that_answers_is_caught(instance):
    """One process for all: its first solve is honest, and each solve after it lies in its way.

    Those that change the process come last. Seconds are compared in warm solves only.
    """
    changing = (ForgesTheCheck, TurnsTheClock)
    answering = [kind for kind in CAUGHT if kind not in (*ENDING, *changing)]
    kinds = [Honest, *answering, *changing]
    solvers = {"all": InTurn([kind() for kind in kinds])}
    first, *rows = bench.compare([instance], solvers, repeats=len(kinds) - 1)
    assert first["outcome"] == "solved"
    for kind, row in zip(kinds[1:], rows, strict=True):
        assert is_caught(kind, row), (kind, row)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [kind for kind in ENDING if kind not in QUICK], ids=lambda kind: kind.__name__
)
def test_every_liar_that_ends_its_process_is_caught(instance, kind):
    limit = 1 if kind is Hangs else 60
    (row,) = judged(instance, {"x": kind()}, memory_limit=6e8, time_limit=limit).values()
    assert is_caught(kind, row), row


def test_there_are_enough_ways():
    assert len(CAUGHT) >= 19


def test_what_beats_a_proved_bound_is_told(instance):
    """Either the check or the bound is wrong: here it is the bound."""
    higher = dataclasses.replace(instance, best_known=BEST + 0.1, bound=BEST + 0.1)
    row = judged(higher, {"Honest": Honest()})["Honest"]
    assert row["outcome"] == "wrong" and "proved bound" in row["cause"]


def test_answers_on_the_way_are_checked_and_kept(instance):
    row = judged(instance, {"OnTheWay": OnTheWay()})["OnTheWay"]
    first, last = row["trace_gaps"]
    assert row["outcome"] == "solved" and first > 1e-4 and last == pytest.approx(0, abs=1e-9)
    assert 0 <= row["trace_seconds"][0] <= row["trace_seconds"][1] <= row["wall"]
    assert 0 < bench.primal_integral(row) < 1
