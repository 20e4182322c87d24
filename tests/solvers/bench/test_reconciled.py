"""Claims that the checked answer of another solver refutes are wrong; what is a fact stays one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin.solvers import bench
from margin.solvers.bench.gaps import gap_to
from margin.solvers.bench.running.reconciled import reconciled

TOLERANCE = 1e-4


def row(solver, objective, status="OPTIMAL", *, bound=None, sense="minimise", **more):
    return {
        "instance": "mine",
        "version": 1,
        "digest": "d",
        "family": "cover",
        "sense": sense,
        "best_known": None,
        "tolerance": TOLERANCE,
        "solver": solver,
        "outcome": "solved" if status == "OPTIMAL" else "feasible",
        "cause": "",
        "status": status,
        "feasible": objective is not None,
        "objective": math.nan if objective is None else objective,
        "claimed_bound": bound,
        **more,
    }


def outcomes(rows):
    return [one["outcome"] for one in reconciled(rows)]


def test_an_answer_of_another_family_refutes_nothing():
    """The same table may be asked for in several ways, under one name."""
    assert outcomes([row("A", 30.0), row("B", 33.0, family="minimax")]) == ["solved", "solved"]


def test_a_false_optimum_does_not_win():
    rows = [row("highs", 30.0), row("liar", 33.0), row("greedy", 33.0, "UNPROVEN")]
    assert outcomes(rows) == ["solved", "wrong", "feasible"]
    assert [one["outcome"] for one in rows] == ["solved", "solved", "feasible"]
    assert (
        "cover: an answer of liar to mine is wrong: called OPTIMAL with 33, but an answer of "
        in ("".join(bench.notes(reconciled(rows))))
    )


def test_a_bound_that_an_answer_passes_is_wrong():
    rows = [row("A", 30.0), row("B", 33.0, "UNPROVEN", bound=31.0)]
    assert outcomes(rows) == ["solved", "wrong"]
    rows = [row("A", 30.0, sense="maximise"), row("B", 20.0, "UNPROVEN", bound=29.0)]
    rows[1]["sense"] = "maximise"
    assert outcomes(rows) == ["solved", "wrong"]


def test_an_instance_with_an_answer_is_not_infeasible():
    rows = [row("A", 3.0, "UNPROVEN"), row("B", None, "INFEASIBLE", outcome="nothing")]
    assert outcomes(rows) == ["feasible", "wrong"]


def test_a_wrong_claim_has_a_true_answer():
    """The answer of a solver that claims too much was checked all the same."""
    rows = [row("A", 30.0, outcome="wrong", cause="claims 0 seconds"), row("B", 33.0)]
    assert outcomes(rows) == ["wrong", "wrong"]


@pytest.mark.parametrize("change", [{"digest": "e"}, {"instance": "other"}, {"version": 2}])
def test_other_problems_refute_nothing(change):
    assert outcomes([row("A", 30.0), row("B", 33.0, **change)]) == ["solved", "solved"]


@pytest.mark.parametrize("outcome", ["lost", "time", "raised", "died", "memory"])
def test_what_ended_without_a_claim_stays(outcome):
    rows = [row("A", 30.0), row("B", None, None, outcome=outcome)]
    assert outcomes(rows) == ["solved", outcome]


values = st.floats(-5, 5)
claims = st.tuples(values, st.sampled_from(["OPTIMAL", "UNPROVEN"]), st.none() | values)


@given(st.lists(claims, min_size=1, max_size=5), st.sampled_from(["minimise", "maximise"]))
def test_a_claim_is_wrong_exactly_if_an_answer_refutes_it(listed, sense):
    rows = [
        row(str(place), objective, status, bound=bound, sense=sense)
        for place, (objective, status, bound) in enumerate(listed)
    ]
    found = reconciled(rows)
    for one in found:
        reached = [other["objective"] for other in rows]
        claimed = [one["objective"]] if one["status"] == "OPTIMAL" else []
        claimed += [] if one["claimed_bound"] is None else [one["claimed_bound"]]
        refuted = any(
            gap_to(sense, value, claim) < -TOLERANCE for value in reached for claim in claimed
        )
        assert (one["outcome"] == "wrong") == refuted
    assert reconciled(found) == found
