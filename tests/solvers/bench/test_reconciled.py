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


@pytest.mark.parametrize(
    ("stated", "family", "objective", "outcome"),
    [
        (1e-4, "minimax", 30.2, "inaccurate"),
        (1e-4, "minimax", 30.4, "wrong"),  # more than 100 tolerances
        (1e-4, "cover", 30.2, "wrong"),  # the optimum of integers is exact
        (None, "minimax", 30.2, "wrong"),
        (9.0, "minimax", 32.9, "inaccurate"),
        (9.0, "minimax", 33.5, "wrong"),  # nobody is excused for more than 0.1
        (1e-8, "minimax", 30.0001, "solved"),
    ],
)
def test_a_claim_that_is_right_to_its_own_tolerance_is_inaccurate(
    stated, family, objective, outcome
):
    rows = [row("A", 30.0, family=family), row("B", objective, family=family)]
    rows[1]["stated_tolerance"] = stated
    judged = reconciled(rows)
    assert [one["outcome"] for one in judged] == ["solved", outcome]
    assert ("it stops at a tolerance of" in judged[1]["cause"]) == (outcome == "inaccurate")
    assert [one["outcome"] for one in reconciled(judged)] == ["solved", outcome]


@pytest.mark.parametrize("sense", ["minimise", "maximise"])
@pytest.mark.parametrize(
    ("better", "named"),
    [
        (0.0, "but 30 is known"),
        (1e-5, "but 30 is known"),  # rounding
        (0.1, "but an answer of A has"),
        (None, "but 30 is known"),
    ],
)
@pytest.mark.parametrize(
    ("status", "claim"),
    [
        ("OPTIMAL", "called OPTIMAL with"),
        ("INFEASIBLE", "called infeasible"),
        ("UNPROVEN", "claims the bound"),
    ],
)
def test_the_best_known_value_refutes_unless_an_answer_is_better(
    sense, better, named, status, claim
):
    sign = 1 if sense == "minimise" else -1
    known = {"sense": sense, "best_known": 30.0 * sign}
    worse = None if status == "INFEASIBLE" else 33.0 * sign
    bound = 31.0 * sign if status == "UNPROVEN" else None
    rows = [row("B", worse, status, bound=bound, **known)]
    if better is not None:
        rows.append(row("A", 30.0 * sign - sign * better, **known))
    refuted = reconciled(rows)[0]
    assert refuted["outcome"] == "wrong"
    assert claim in refuted["cause"] and named.replace("30", f"{30 * sign}") in refuted["cause"]


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


def judged(solver, objective, best, *, sense="minimise", **more):
    """A row as `compare` judges it before it knows of other answers."""
    gap = gap_to(sense, objective, best)
    made = {"outcome": "solved" if gap <= TOLERANCE else "feasible", "gap": gap}
    made |= {"best_known": best, "reference": best, "reference_by": "", "tells": True}
    made |= {"trace_seconds": [1.0], "trace_objectives": [objective], "time_limit": 4.0}
    made |= {"trace_gaps": [min(max(gap, 0.0), 1.0)]}
    return row(solver, objective, "UNPROVEN", sense=sense) | made | more


def test_an_answer_that_passes_the_best_known_value_is_the_measure_of_all():
    rows = [
        judged("highs", 3144.0, 4679.0),
        judged("greedy", 3466.0, 4679.0),
        judged("slow", 9000.0, 4679.0),
        judged("none", 0.0, 4679.0, outcome="nothing", feasible=False, gap=math.nan),
    ]
    found = reconciled(rows)
    assert [one["outcome"] for one in found] == ["solved", "feasible", "feasible", "nothing"]
    assert found[1]["cause"] == "not the best: 3466, but an answer of highs has 3144"
    assert {(one["reference"], one["reference_by"]) for one in found} == {(3144.0, "highs")}
    gap = (3466 - 3144) / 3144
    assert [one["gap"] for one in found[:2]] == [0.0, pytest.approx(gap)]
    # The curves and their integrals have the same measure: 1 until the answer, then its gap.
    assert [one["trace_gaps"] for one in found[:3]] == [[0.0], [pytest.approx(gap)], [1.0]]
    integrals = [bench.primal_integral(one) for one in found[:3]]
    assert integrals == [0.25, pytest.approx(0.25 + 0.75 * gap), 1.0]
    told = "cover: highs found 3144, better than the best known 4679, to mine"
    assert bench.notes(found)[0].startswith(told)
    assert not any("better than" in line for line in bench.notes(rows))


def test_a_better_answer_stays_a_fact_when_its_row_is_gone():
    (_, left) = reconciled([judged("A", 30.0, 40.0), judged("B", 35.0, 40.0)])
    assert reconciled([left]) == [left] and left["reference_by"] == "A"


def test_a_value_that_became_known_later_judges_earlier_rows():
    early, late = judged("A", 40.0, 40.0), judged("B", 30.0, 30.0)
    assert outcomes([early, late]) == ["feasible", "solved"]
    assert reconciled([early, late])[0]["cause"] == "not the best: 40, but 30 is known"


def test_an_answer_that_passes_a_proved_bound_is_no_fact():
    """Either the check or the bound is wrong, so that it says nothing of others."""
    rows = [judged("A", 30.0, 40.0, bound=39.0, outcome="wrong"), judged("B", 40.0, 40.0, bound=39)]
    assert outcomes(rows) == ["wrong", "solved"]
    assert not any(one["reference_by"] for one in reconciled(rows))


def test_an_answer_that_is_better_by_rounding_alone_measures_nothing():
    """Tables may break constraints a little, so that the best known value stays the measure."""
    rows = [judged("A", 29.999, 30.0), judged("B", 30.0025, 30.0)]
    assert outcomes(rows) == ["solved", "solved"] and reconciled(rows) == rows


def test_a_late_answer_is_a_fact_and_stays_late():
    rows = [judged("A", 30.0, 40.0, outcome="time"), judged("B", 40.0, 40.0)]
    assert outcomes(rows) == ["time", "feasible"]


def test_curves_without_objectives_are_left_out_where_gaps_change():
    """Files of earlier versions hold gaps alone, which are zero below the best known value."""
    old = judged("A", 35.0, 40.0)
    old["trace_objectives"] = None
    (alone,) = reconciled([old | {"objective": 40.0}])
    (changed, _) = reconciled([old, judged("B", 30.0, 40.0)])
    assert alone["trace_gaps"] == [0.0] and alone["tells"]
    assert changed["trace_gaps"] == [] and math.isnan(bench.primal_integral(changed))


def test_a_gap_of_an_earlier_version_is_measured_anew():
    """It was a share of 0.01 where the best value was smaller."""
    (found,) = reconciled([judged("A", 0.001805, 0.0018) | {"gap": 0.0005, "outcome": "solved"}])
    assert found["gap"] == pytest.approx(0.005 / 1.8) and found["outcome"] == "feasible"
    assert found["cause"] == "not the best: 0.001805, but 0.0018 is known"


def test_gaps_are_to_the_best_answer_of_the_rows_where_no_best_value_is_known():
    found = reconciled(
        [
            judged("A", 30.0, None, outcome="feasible", dual_bound=29.9),
            judged("B", 33.0, None, outcome="feasible", claimed_bound=10.0),
            # A claim of a bound is no reference, nor is the objective of an infeasible answer.
            judged("C", 36.0, None, outcome="feasible", claimed_bound=35.0, dual_bound=29.0),
            judged("D", 20.0, None, outcome="wrong", feasible=False, gap=math.nan),
        ]
    )
    assert [one["outcome"] for one in found] == ["feasible", "feasible", "wrong", "wrong"]
    assert {(one["reference"], one["reference_by"]) for one in found} == {(30.0, "A")}
    assert [one["gap"] for one in found[:3]] == pytest.approx([0.0, 0.1, 0.2])
    assert math.isnan(found[3]["gap"]) and not math.isnan(bench.primal_integral(found[1]))
    told = "cover: A found 30, the best in the rows, to mine: no best value is known, so gaps are "
    told += "to this answer; its gap to the bound that the multipliers of A prove is 0.0033"
    assert bench.notes(found)[0] == told
    assert reconciled(found[:3]) == found[:3]


positive = st.floats(0.0, 5.0)


@given(
    st.lists(positive, min_size=1, max_size=5),
    positive,
    st.sampled_from(["minimise", "maximise"]),
)
def test_an_answer_is_solved_exactly_if_nothing_is_better(objectives, known, sense):
    rows = [
        judged(str(place), objective, known, sense=sense)
        for place, objective in enumerate(objectives)
    ]
    best = (min if sense == "minimise" else max)([known, *objectives])
    # Rounding alone makes no better answer: a table may break constraints a little.
    reference = best if gap_to(sense, best, known) < -TOLERANCE else known
    found = reconciled(rows)
    for one in found:
        assert one["reference"] == reference
        assert one["gap"] == gap_to(sense, one["objective"], reference)
        assert (one["outcome"] == "solved") == (one["gap"] <= TOLERANCE)
    assert reconciled(found) == found
