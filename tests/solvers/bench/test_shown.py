"""Profiles, means, integrals and tables against brute force; pages hold what they say."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.solvers import bench
from margin.solvers.bench.gaps import gap_to
from margin.solvers.bench.running.rows import primal_gap
from margin.solvers.bench.running.verdict import WAITED, Outcome
from margin.solvers.bench.shown.pictures import _round_numbers
from margin.solvers.bench.shown.pictures import _style as style
from margin.solvers.bench.shown.tables import caption, shown

LIMIT = 10.0


def row(instance, solver, cpu, outcome="solved", **more):
    return {
        "instance": instance,
        "solver": solver,
        "family": "response",
        "cold": True,
        "repeat": 0,
        "outcome": outcome,
        "cause": "" if outcome == "solved" else "why <b>",
        "cpu": cpu,
        "wall": 2 * cpu,
        "gap": 0.0 if outcome == "solved" else 0.5,
        "feasible": outcome in ("solved", "feasible"),
        "best_known": 1.0,
        "time_limit": LIMIT,
        "tells": True,
        "trace_seconds": [cpu] if outcome == "solved" else [],
        "trace_gaps": [0.0] if outcome == "solved" else [],
        "peak_memory": 10**8,
        "versions": '{"numpy": "2"}',
        "date": "2026-01-01T00:00:00",
        "load": 1.0,
        "machine": "machine",
        "threads": 1,
        "jobs": 1,
        "tolerance": 1e-4,
        "margin": "0",
        "commit": "",
        "python": "3",
        **more,
    }


ROWS = [
    row("one", "A", 1.0),
    row("one", "B", 2.0),
    row("two", "A", 4.0),
    row("two", "B", 1.0),
    row("three", "A", 3.0),
    row("three", "B", 1.0, "wrong"),
    row("four", "A", 3.0, "time"),
    row("four", "B", 1.0, "raised"),
]

seconds = st.floats(1e-3, 9.0)
grids = st.lists(st.tuples(seconds, seconds, seconds), min_size=1, max_size=6)


def rows_of(grid, failed):
    return [
        row(str(place), name, taken, "time" if (place, name) in failed else "solved")
        for place, line in enumerate(grid)
        for name, taken in zip("ABC", line, strict=True)
    ]


def test_profiles_can_be_read_in_grey_and_on_dark_pages():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    rows = [row("one", name, 1.0) for name in "ABCDEFGHIJ"]
    for draw in (bench.draw_performance_profile, bench.draw_data_profile):
        figure = draw(rows)
        (axes,) = figure.axes
        styles = {(str(line._dash_pattern), line.get_marker()) for line in axes.lines}
        assert len(styles) == len(axes.lines) == 10
        assert figure.patch.get_facecolor() == axes.patch.get_facecolor() == (1, 1, 1, 1)


def test_profiles_by_hand():
    profile = bench.performance_profile(ROWS)
    assert [profile.share("A", at) for at in (1, 3.9, 4)] == [0.5, 0.5, 0.75]
    assert [profile.share("B", at) for at in (1, 2)] == [0.25, 0.5]
    data = bench.data_profile(ROWS)
    assert [data.share("A", at) for at in (0.9, 1, 3, 9)] == [0, 0.25, 0.5, 0.75]


@settings(max_examples=50, deadline=None)
@given(grids, st.sets(st.tuples(st.integers(0, 5), st.sampled_from("ABC"))), st.floats(1, 50))
def test_a_profile_is_its_definition(grid, failed, factor):
    profile = bench.performance_profile(rows_of(grid, failed))
    for solver, column in zip("ABC", range(3), strict=True):
        count = 0
        for place, line in enumerate(grid):
            solved = {n: t for n, t in zip("ABC", line, strict=True) if (place, n) not in failed}
            if solver in solved and line[column] / min(solved.values()) <= factor:
                count += 1
        assert profile.share(solver, factor) == pytest.approx(count / len(grid))


OUTCOMES = [outcome.value for outcome in Outcome]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from([*OUTCOMES, None]), min_size=2, max_size=3), max_size=6),
    st.sampled_from([None, 1e-4, 0.6]),
)
def test_a_line_adds_up_to_all_instances(grid, gap):
    """Of each instance there are several solves of A, or none; None stands for no row."""
    rows = [row("all", "A", 1.0), *(row(str(place), "B", 1.0) for place in range(len(grid)))]
    rows += [
        row(str(place), "A", 1.0, outcome, repeat=repeat, cold=not repeat)
        for place, outcomes in enumerate(grid)
        if None not in outcomes
        for repeat, outcome in enumerate(outcomes)
    ]
    (line,) = [line for line in bench.summary(rows, gap=gap) if line["solver"] == "A"]
    ended = ("solved", "feasible", "inaccurate", "time", "wrong", "other")
    assert sum(line[name] for name in ended) == line["instances"]
    assert line["instances"] + line["not tried"] == 1 + len(grid)
    assert line["wrong"] == bench.failures(rows)["A"]["wrong"]
    written = bench.table_of(rows, gap=gap).splitlines()
    is_marked = {text.split(" | ")[1]: "*" in text for text in written[2:]}
    assert is_marked["A"] == (line["not tried"] > 0 and not line["lost"])


def test_who_takes_the_easy_instances_only_is_no_measure():
    rows = [row("easy", "A", 0.1), row("hard", "A", 0.1, "unsupported")]
    rows += [row("easy", "B", 0.2), row("hard", "B", 8.0), row("easy", "C", 0.3)]
    rows += [row("hard", "C", 9.0)]
    ratios = {line["solver"]: line["ratio"] for line in bench.summary(rows)}
    assert ratios["A"] < 1 == ratios["B"] < ratios["C"]
    # Where none of all instances has solved any, the best of the others is the measure.
    failed = [row("easy", "D", 1.0, "time"), row("hard", "D", 1.0, "time")]
    for chosen in ([rows[0], rows[3]], [rows[0], *failed]):
        assert next(line["ratio"] for line in bench.summary(chosen)) == 1


def test_rows_of_an_edited_solver_are_told():
    """A line that mixes two versions of a solver says nothing of either."""
    rows = [
        row(name, "mine", 1.0, options=f'{{"class": "mine.Mine", "code": "{code}"}}')
        for name, code in (("one", "a"), ("two", "b"), ("three", "b"))
    ]
    note = "the rows of mine are of 2 versions of its file; run it again on all instances"
    assert bench.notes(rows) == [f"response: {note}"] and bench.notes(rows[1:]) == []
    pytest.importorskip("matplotlib")
    assert note in bench.page(rows)


def test_profiles_say_which_solvers_lack_instances():
    """A solver that was tried on the easy half would else seem to solve all."""
    rows = [*ROWS[:2], row("two", "A", 4.0)]
    for profile in (bench.performance_profile(rows), bench.data_profile(rows)):
        assert [profile.share(solver, 99) for solver in "AB"] == [1, 0.5]
        assert profile.tried == {"A": 2, "B": 1} and profile.instances == 2
    pytest.importorskip("matplotlib")
    for draw in (bench.draw_performance_profile, bench.draw_data_profile):
        (axes,) = draw(rows).axes
        assert [line.get_label() for line in axes.lines] == ["A", "B\n(tried on 1 of 2)"]
        assert max(axes.lines[1].get_ydata()) == 0.5
    assert "B was tried on 1 of 2 instances" in bench.page(rows)
    assert "B was tried on 1 of 2 instances" in "".join(bench.notes(rows))


def test_means_count_failures_with_the_limit():
    means = bench.shifted_geometric_means(ROWS, shift=1.0)
    logs = [math.log(1 + t) for t in (1.0, 4.0, 3.0, LIMIT)]
    assert means["A"] == pytest.approx(math.exp(np.mean(logs)) - 1)
    assert bench.shifted_geometric_means(ROWS, clock="wall")["A"] > means["A"]


def test_warm_solves_count_if_there_are_some():
    rows = [
        row("one", "A", 5.0),
        row("one", "A", 1.0, cold=False),
        row("one", "A", 2.0, cold=False),
    ]
    assert bench.times(rows).seconds[0, 0] == 1.0
    assert bench.times(rows, warm=False).seconds[0, 0] == 5.0
    rows.append(row("one", "A", 2.0, "time", cold=False))
    assert bench.times(rows).seconds[0, 0] == math.inf


def test_a_wider_gap_counts_more_but_never_what_is_wrong():
    rows = [row("one", "A", 1.0, "feasible"), row("one", "B", 1.0, "wrong", gap=0.0)]
    assert np.isinf(bench.times(rows).seconds).all()
    assert bench.times(rows, gap=0.5).seconds.tolist() == [[1.0, math.inf]]


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        ([], 1.0),
        ([(0.0, 0.0)], 0.0),
        ([(5.0, 0.0)], 0.5),
        ([(2.0, 0.5), (4.0, 0.0)], 0.3),
        ([(20.0, 0.0)], 1.0),
    ],
)
def test_the_primal_integral_by_hand(trace, expected):
    made = row(
        "one",
        "A",
        1.0,
        trace_seconds=[time for time, _ in trace],
        trace_gaps=[gap for _, gap in trace],
    )
    assert bench.primal_integral(made) == pytest.approx(expected)
    assert math.isnan(bench.primal_integral(made | {"best_known": None}))
    assert math.isnan(bench.primal_integral(made | {"tells": False}))


@pytest.mark.parametrize(
    ("trace", "gap", "expected"),
    [
        ([], 0.01, math.inf),
        ([(0.0, 0.0)], 0.0, 0.0),
        ([(2.0, 0.5), (4.0, 0.01), (5.0, 0.0)], 0.01, 4.0),
        ([(2.0, 0.5), (4.0, 0.01)], 0.5, 2.0),
        ([(2.0, 0.5), (4.0, 0.01)], 0.001, math.inf),
        ([(20.0, 0.0)], 0.01, math.inf),  # after the time limit
    ],
)
def test_the_time_to_a_target_by_hand(trace, gap, expected):
    made = row(
        "one",
        "A",
        1.0,
        trace_seconds=[time for time, _ in trace],
        trace_gaps=[reached for _, reached in trace],
    )
    assert bench.time_to_target(made, gap=gap) == expected
    for unknown in ({"best_known": None}, {"tells": False}):
        assert math.isnan(bench.time_to_target(made | unknown, gap=gap))
    with pytest.raises(ValueError, match=r"gap \(-0.1\) must be >= 0"):
        bench.time_to_target(made, gap=-0.1)


CLAIMS = [
    ({"status": "OPTIMAL", "claimed_bound": None}, True),
    ({"status": "OPTIMAL", "claimed_bound": 1.00005}, True),
    ({"status": "OPTIMAL", "claimed_bound": 2.0}, False),  # a bound that proves less
    ({"status": "UNPROVEN", "claimed_bound": 1.0}, False),
    ({"status": None, "claimed_bound": None}, False),
    ({"status": "OPTIMAL", "claimed_bound": None, "outcome": "wrong"}, False),
    ({"status": "OPTIMAL", "claimed_bound": None, "outcome": "time"}, False),
]


@pytest.mark.parametrize(("claim", "is_claimed"), CLAIMS)
def test_solved_needs_no_claim_but_claimed_does(claim, is_claimed):
    made = {"sense": "maximise", "objective": 1.0}
    rows = [row("one", "quick", 1.0, **made) | claim]
    rows += [row("one", "sure", 2.0, **made, status="OPTIMAL", claimed_bound=1.0)]
    lines = {line["solver"]: line for line in bench.summary(rows)}
    assert lines["quick"]["claimed"] == is_claimed and lines["sure"]["claimed"] == 1
    # By claims, a quick answer without one is no better than none.
    first, second = bench.summary(bench.claimed_only(rows))
    assert first["solver"] == ("quick" if is_claimed else "sure")
    assert first["solved"] == first["claimed"] == 1
    assert (second["solved"], second["claimed"]) == (int(is_claimed),) * 2
    # All solves of an instance must be claimed, and what failed stays as it failed.
    again = [*rows, rows[0] | {"cold": False, "status": "UNPROVEN", "outcome": "solved"}]
    assert {line["claimed"] for line in bench.summary(again)} == {0, 1}
    kept = [one["outcome"] for one in bench.claimed_only(rows)]
    outcome = rows[0]["outcome"]
    unclaimed = "feasible" if outcome == "solved" and not is_claimed else outcome
    assert kept == [unclaimed, "solved"]
    # The note says what is wrong with such an answer: it is the best known.
    (note,) = bench.notes(bench.claimed_only(rows)) or [""]
    if unclaimed == "feasible":
        told = "quick found a best known answer, but did not call it optimal, to 1 of 1 instance"
        assert note == f"response: {told} (one)"


def test_a_solver_that_tells_nothing_on_the_way_has_no_primal_integral():
    """When it found its answer is not known: its last line is the end of its proof."""
    rows = [row("one", "A", 5.0), row("one", "B", 5.0, tells=False)]
    integrals = {line["solver"]: line["primal integral"] for line in bench.summary(rows)}
    assert integrals["A"] == 0.5 and math.isnan(integrals["B"])
    (written,) = [line for line in bench.table_of(rows).splitlines() if "| B |" in line]
    assert written.split(" | ")[-2] == "-"


def test_the_worst_solve_of_an_instance_counts():
    rows = [row("one", "A", 1.0), row("one", "A", 1.0, "wrong", cold=False)]
    assert bench.failures(rows) == {"A": {"wrong": 1}}
    assert bench.failures(ROWS)["A"] == {"solved": 3, "time": 1}


def test_agreement_is_kendalls_tau():
    slower = [entry | {"cpu": 1.01 * entry["cpu"]} for entry in ROWS]
    assert bench.agreement(ROWS, slower) == {"response": 1.0}
    turned = [entry | {"solver": {"A": "B", "B": "A"}[entry["solver"]]} for entry in ROWS]
    assert bench.agreement(ROWS, turned) == {"response": -1.0}


def test_tables_for_papers():
    latex = bench.table_of([entry | {"solver": "a_b&c"} for entry in ROWS[:1]], "latex")
    assert r"a\_b\&c" in latex and latex.count(r"\midrule") == 1
    markdown = bench.table_of(ROWS)
    assert markdown.splitlines()[0].startswith(
        "| family | solver | instances | solved | claimed | feasible | inaccurate | time | wrong | "
        "other | not tried | lost |"
    )
    counts = "| response | A | 4 | 3 | 0 | 0 | 0 | 1 | 0 | 0 | 0 |"
    assert markdown.splitlines()[2].startswith(counts)
    comments = [line for line in latex.splitlines() if line.startswith("%")]
    assert len(comments) == 1 + len(caption()) and "time limit 10 s" in comments[0]
    assert "machine" in comments[0] and "numpy 2" in comments[0]
    assert any("one with * is over fewer instances" in line for line in comments)
    assert latex.splitlines()[len(comments)].startswith(r"\begin{tabular}")
    assert bench.table_of(ROWS, "csv").splitlines()[0].startswith("family,solver,instances")
    with pytest.raises(ValueError, match="form must be"):
        bench.table_of(ROWS, "word")


@pytest.mark.parametrize(("cpu", "ratio"), [(1.0, "1.0"), (1.09, "~1.1"), (1.12, "1.1")])
def test_a_ratio_within_the_noise_has_a_mark(cpu, ratio):
    lines = bench.summary([row("one", "A", 1.0), row("one", "B", cpu)])
    assert [shown("ratio", line) for line in lines] == ["1.0", ratio]


@pytest.mark.parametrize(
    ("ratio", "told"), [(0.00794, "0.0079*"), (0.0347, "0.035*"), (0.7, "0.7*"), (1.54, "1.5*")]
)
def test_a_small_ratio_is_no_zero(ratio, told):
    """A solver that was tried on fewer instances may be much faster than the measure."""
    assert shown("ratio", {"ratio": ratio, "not tried": 1}) == told


@pytest.mark.parametrize("sense", ["minimise", "maximise"])
def test_an_equal_objective_has_no_negative_gap(sense):
    assert f"{gap_to(sense, 22.0, 22.0):.3g}" == "0"


LOST = {
    "best known": {"gap": 0.0, "bound": 1.0},
    "worse": {"gap": 0.5, "bound": 1.0},
    "not proved": {"gap": 0.0, "bound": None},
    "a loose bound": {"gap": 0.0, "bound": 2.0},
}


@pytest.mark.parametrize("kinds", [["best known"], ["worse"], ["best known", *LOST], list(LOST)])
def test_what_was_lost_with_a_proved_best_value_is_no_failure(kinds):
    common = {"cause": f"{WAITED} 5 s", "feasible": True, "sense": "maximise"}
    rows = [row(str(n), "A", 1.0, "lost", **common | LOST[kind]) for n, kind in enumerate(kinds)]
    text = " ".join(bench.notes(rows))
    best = kinds.count("best known")
    assert (f"of which {best} had found a proved best value" in text) == (best > 0)
    assert ("which might have been failures" in text) == (best == 0)
    assert ("the others might have failed" in text) == (0 < best < len(kinds))


def test_no_rows_are_refused():
    for function in (bench.times, bench.page):
        with pytest.raises(ValueError, match="at least one row"):
            function([])


@pytest.mark.slow
def test_the_page_asks_nobody_and_hides_nothing():
    pytest.importorskip("matplotlib")
    text = bench.page(ROWS, title="<i>mine</i>")
    assert "<i>mine" not in text and "why <b>" not in text and "why &lt;b&gt;" in text
    assert not re.findall(r"<(?:link|img|iframe|script)\b|@import|\bsrc=", text)
    assert "default-src 'none'" in text and text.count("<svg") == 4
    assert "prefers-color-scheme: dark" in text and "width=device-width" in text
    # Every name of a part of a picture occurs once.
    names = re.findall(r'\bid="([^"]+)"', text)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "change",
    [
        {"time_limit": 61.0},
        {"memory_limit": 7e9},
        {"threads": 61},
        {"jobs": 61},
        {"tolerance": 0.61},
        {"machine": "another"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_each_limit_separates_rows(change):
    other = [{**one, **change} for one in ROWS]
    assert list(bench.by_limits([*ROWS, *other]).values()) == [ROWS, other]


@pytest.mark.parametrize("asked", [(0, 2), (2, 0), (1, 2), (2, 2)])
def test_the_fewest_repeats_of_a_family_count(asked):
    rows = [
        {**ROWS[0], "family": family, "solver": solver, "repeat": repeat, "repeats": repeats}
        for family, numbers in (("cover", asked), ("response", (2, 2)))
        for solver, repeats in zip("AB", numbers, strict=True)
        for repeat in range(repeats + 1)
    ]
    (held,) = bench.by_limits(rows).values()
    for family, least in (("cover", min(asked)), ("response", 2)):
        for solver in "AB":
            own = [one for one in held if (one["family"], one["solver"]) == (family, solver)]
            assert [one["repeat"] for one in own] == list(range(least + 1))
    told = [line for line in bench.notes(held) if "repeats" in line]
    expected = f"cover: the numbers are of {min(asked)} repeats"
    assert [line.startswith(expected) for line in told] == [True] * (asked != (2, 2))
    # The sentence is of rows from which repeats were left out.
    assert not [line for line in bench.notes(rows) if "the numbers are of" in line]


def test_solves_under_different_limits_are_not_compared():
    longer = [{**one, "time_limit": 60.0, "solver": "C"} for one in ROWS if one["solver"] == "A"]
    groups = bench.by_limits([*ROWS, *longer])
    assert list(groups.values()) == [ROWS, longer]
    assert all(
        text.startswith(f"time limit {n} s") for text, n in zip(groups, (10, 60), strict=True)
    )
    asked = [bench.times, bench.summary, bench.table_of, bench.performance_profile]
    drawn = [bench.draw_gaps, bench.draw_failures]
    for ask in [*asked, *drawn, bench.failures, bench.primal_integrals]:
        with pytest.raises(ValueError, match=r"one time limit.*\(10 s, 60 s\).*by_limits"):
            ask([*ROWS, *longer])
    # Families are never compared with each other.
    apart = [{**one, "family": "cover"} for one in longer]
    assert len(bench.by_limits([*ROWS, *apart])) == 1
    assert bench.table_of([*ROWS, *apart])
    assert bench.failures([*ROWS, *apart])["C"] == bench.failures(apart)["C"]


def axes_of(figure):
    (axes,) = figure.axes
    return axes


def labels(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


@pytest.mark.parametrize("gap", [0.0, 1e-12, 2e-8, 0.3, 40.0])
def test_the_picture_of_gaps_shows_its_line_and_all_points(gap):
    pytest.importorskip("matplotlib")
    axes = axes_of(bench.draw_gaps([row("one", "A", 1.0, gap=gap), row("two", "A", 2.0)]))
    low, high = axes.get_ylim()
    assert low < 1e-9 < high and gap < high
    assert labels(axes.yaxis)[0] == r"$\leq 10^{-9}$" and len(labels(axes.yaxis)) <= 8
    # The line says what the rows below it are.
    (note,) = axes.texts
    assert "in a row for each solver" in note.get_text() and note.xy[1] == 1e-9
    # Without a gap above the line, the picture has no empty part above it.
    assert (len(labels(axes.yaxis)) >= 3) == (gap > 1e-9) == (high > 1e-8)


@pytest.mark.parametrize(
    ("clock", "on_the_way", "label"),
    [
        ("cpu", True, "processor seconds (lines: wall seconds less waiting)"),
        ("cpu", False, "processor seconds"),
        ("wall", True, "wall seconds (lines: wall seconds less waiting)"),
        ("wall", False, "wall seconds"),
    ],
)
def test_the_axis_of_gaps_says_which_seconds_it_has(clock, on_the_way, label):
    pytest.importorskip("matplotlib")
    trace = {"trace_seconds": [0.1, 0.5], "trace_gaps": [0.2, 0.1]} if on_the_way else {}
    axes = axes_of(bench.draw_gaps([row("one", "A", 1.0, gap=0.1, **trace)], clock=clock))
    assert axes.get_xlabel() == label


@pytest.mark.parametrize("clock", ["cpu", "wall"])
def test_each_instance_and_solver_has_a_line(clock):
    """The fastest warm solve stands for them; the best known value may be that of the rows."""
    facts = {"objective": 12.5, "claimed_bound": None, "reference": None}
    told = {"claimed_bound": 7, "dual_bound": 6.5, "reference": 12.0}
    rows = [
        row("two", "A", 9.0, **facts),
        row("one", "A", 1.0, **facts),
        row("two", "B", 2.0, "feasible", **facts | told),
        row("two", "A", 5.0, cold=False, **facts),
        row("two", "A", 4.0, cold=False, **facts),
    ]
    lines = bench.solves(rows, clock=clock)
    pairs = [(line["instance"], line["solver"], line["outcome"]) for line in lines]
    assert pairs == [("two", "A", "solved"), ("two", "B", "feasible"), ("one", "A", "solved")]
    factor = {"cpu": 1, "wall": 2}[clock]
    assert [line["seconds"] for line in lines] == [4 * factor, 2 * factor, factor]
    assert [line["best known"] for line in lines] == [1.0, 12.0, 1.0]
    assert lines[1]["bound"] == 7 and math.isnan(lines[0]["bound"])
    # Files of earlier versions have no bound of multipliers.
    assert lines[1]["dual bound"] == 6.5 and math.isnan(lines[0]["dual bound"])
    text = bench.table_of(rows, each=True, clock=clock).splitlines()
    assert (
        text[3] == f"| response | two | B | feasible | 12.5 | 12 | 0.5 | 7 | 6.5 | {2 * factor} |"
    )
    assert len(text) == 2 + len(lines)
    assert "claims" in bench.table_of(rows, "latex", each=True)
    assert bench.table_of(rows, "csv", each=True).count("\n") == 1 + len(lines)


@pytest.mark.parametrize(
    ("outcome", "points"), [("solved", 1), ("time", 1), ("wrong", 0), ("lost", 0)]
)
def test_the_picture_of_gaps_leaves_out_what_is_wrong_or_lost(outcome, points):
    pytest.importorskip("matplotlib")
    axes = axes_of(bench.draw_gaps([row("one", "A", 1.0, outcome, feasible=True, gap=0.1)]))
    (drawn,) = [line for line in axes.lines if line.get_label() == "A"]
    assert len(drawn.get_xdata()) == points


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"best_known": None, "gap": math.nan, "trace_gaps": [math.nan]}, "no best value is known"),
        ({"outcome": "time", "feasible": False, "gap": math.nan}, "no feasible answers"),
    ],
)
def test_an_empty_picture_says_why(change, words):
    pytest.importorskip("matplotlib")
    axes = axes_of(bench.draw_gaps([row("one", "A", 1.0, **change)]))
    assert [text.get_text() for text in axes.texts] == [words]


def test_an_empty_profile_says_why():
    pytest.importorskip("matplotlib")
    for draw in (bench.draw_data_profile, bench.draw_performance_profile):
        axes = axes_of(draw([row("one", "A", 1.0, "time")]))
        assert [text.get_text() for text in axes.texts] == ["no instance was solved"]


@given(st.floats(1.5, 1e6))
def test_ratios_can_be_read_at_both_ends_of_an_axis(ratio):
    stop = max(2.0, 1.3 * ratio)
    ticks = _round_numbers(1.0, stop)
    assert 4 <= len(ticks) <= 7 and ticks == sorted(set(ticks))
    # The labels at the ends are less than half of the axis away from them, and no more than a
    # power of ten.
    assert ticks[0] == 1.0 and stop < 10 * ticks[-1] and stop < ticks[-1] ** 2


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.floats(1e-5, 1e3), st.floats(1.0, 1e6))
def test_the_labels_of_seconds_are_round_and_do_not_overlap(least, ratio):
    pytest.importorskip("matplotlib")
    rows = [row("one", "A", least), row("two", "A", least * ratio)]
    for draw in (bench.draw_gaps, bench.draw_data_profile):
        figure = draw(rows)
        axes = axes_of(figure)
        figure.draw_without_rendering()
        boxes = [tick.get_window_extent() for tick in axes.xaxis.get_ticklabels()]
        assert boxes
        assert all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))
        for text in labels(axes.xaxis):
            assert len(text.replace(".", "").strip("0")) <= 2 or "e" in text


@given(st.floats(-3, 3), st.floats(-3, 3), st.sampled_from(["minimise", "maximise"]))
def test_the_gap_of_a_trace_is_the_gap_of_a_row(objective, best, sense):
    """Also where the best objective is zero."""
    gap = gap_to(sense, objective, best)
    assert primal_gap(sense, objective, best) == min(max(gap, 0.0), 1.0)


def test_the_page_says_what_the_integral_is():
    pytest.importorskip("matplotlib")
    assert "primal integral: the mean gap over the seconds of the time limit" in bench.page(
        ROWS[:2]
    )


def test_notes_of_an_instance_of_which_nothing_is_known():
    rows = [row("one", "A", 1.0, "feasible", best_known=None, cause="no best value is known")]
    assert bench.notes(rows) == [
        "response: A found an answer, which it does not call optimal, to 1 of 1 instance (one): no "
        "best value is known"
    ]


def test_notes_say_why_instances_were_not_solved():
    row = {"family": "cover", "cause": ""}
    rows = [row | {"instance": name, "solver": "A", "outcome": "solved"} for name in ("1", "2")]
    rows += [
        row | {"instance": "1", "solver": "B", "outcome": "raised", "cause": "KeyError: 3"},
        row | {"instance": "2", "solver": "B", "outcome": "time"},
    ]
    assert bench.notes(rows) == [
        "cover: B raised an error on 1 of 2 instances (1): KeyError: 3",
        "cover: B had no answer within the time limit on 1 of 2 instances (2)",
    ]
    rows += [row | {"instance": name, "solver": "C", "outcome": "time"} for name in ("2", "1")]
    assert bench.notes(rows)[2:] == [
        "cover: C had no answer within the time limit on 2 of 2 instances (first: 2)",
    ]


def test_no_two_of_many_solvers_are_drawn_alike():
    colours, dashes, marks = zip(*map(style, range(28)), strict=True)
    assert len(set(colours[:11])) == 11
    assert len(set(zip(colours, marks, strict=True))) == 28
    assert len(set(zip(dashes, marks, strict=True))) == 28


def test_a_solver_of_a_library_has_the_same_look_in_every_picture():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")

    def looks(names):
        (axes,) = bench.draw_performance_profile([row("one", name, 1.0) for name in names]).axes
        drawn = [(line.get_color(), line.get_marker()) for line in axes.lines]
        assert len(set(drawn)) == len(names)
        return dict(zip(names, drawn, strict=True))

    first, second = looks(["mine", "highs", "Milp", "scip"]), looks(["scip", "clarabel", "highs"])
    assert all(first[name] == second[name] for name in ("highs", "scip"))


def test_notes_count_wrong_answers_and_say_where_all_causes_are():
    """An instance counts once, however many of its solves are wrong."""
    causes = {"one": "no cover", "two": "the problem was changed"}
    wrong = [row(name, "A", 1.0, "wrong", cause=cause) for name, cause in causes.items()]
    repeated = row("one", "A", 1.0, "wrong", cause="no cover", repeat=1)
    solved = row("three", "A", 1.0)
    assert bench.notes([wrong[0], repeated, solved]) == [
        "response: an answer of A to one is wrong: no cover"
    ]
    assert bench.notes([*wrong, repeated, solved]) == [
        "response: answers of A to 2 of 3 instances are wrong; the first one, to one: no cover; "
        "bench.page (margin bench show --page) tells all causes"
    ]
    pytest.importorskip("matplotlib")
    page = bench.page([*wrong, repeated, solved])
    assert all(cause in page for cause in causes.values())


def test_all_views_show_the_same_solve():
    """The fastest warm solve: neither the first, nor the last, nor a mean of several."""
    pytest.importorskip("matplotlib")
    solves = [(True, 5.0), (False, 3.0), (False, 1.0), (False, 2.0)]
    rows = [
        row("one", "A", cpu, cold=cold, repeat=place, gap=cpu / 100, trace_gaps=[cpu / 100])
        for place, (cold, cpu) in enumerate(solves)
    ]
    for warm, (fastest,) in ((True, rows[2:3]), (False, rows[:1])):
        assert bench.times(rows, warm=warm).seconds[0, 0] == fastest["cpu"]
        assert bench.primal_integrals(rows, warm=warm)["A"] == bench.primal_integral(fastest)
        (line,) = bench.draw_gaps(rows, warm=warm).axes[0].get_lines()[:1]
        assert line.get_xydata().tolist() == [[fastest["cpu"], fastest["gap"]]]
    # By the other clock, another solve is the fastest.
    rows[3]["wall"] = 0.5
    wall = bench.primal_integrals(rows, clock="wall")
    assert wall["A"] == bench.primal_integral(rows[3])
    assert bench.summary(rows, clock="wall")[0]["primal integral"] == wall["A"]
    # A solve that failed stands for all.
    rows[1] |= {"outcome": "raised", "trace_seconds": [], "trace_gaps": []}
    assert bench.times(rows).seconds[0, 0] == math.inf
    assert bench.primal_integrals(rows) == {"A": 1.0}
    assert bench.failures(rows) == {"A": {"raised": 1}}


INTEGRALS = [(0.0, "<0.001"), (9e-4, "<0.001"), (0.00123, "0.001"), (0.25, "0.250"), (1.0, "1.000")]


@pytest.mark.parametrize(("value", "text"), INTEGRALS)
def test_a_primal_integral_has_no_digits_below_its_error(value, text):
    trace = {"trace_seconds": [LIMIT * value], "trace_gaps": [0.0]}
    table = bench.table_of([row("one", "A", 1.0, **trace)])
    head, _, line = [[cell.strip() for cell in one.split("|")] for one in table.splitlines()]
    assert line[head.index("primal integral")] == text


@pytest.mark.parametrize(
    ("load", "cores", "is_busy"), [(3, 2, False), (3.1, 2, True), (9, 8, False)]
)
def test_a_busy_machine_is_told_once(load, cores, is_busy):
    made = {"machine": f"AMD EPYC; {cores} cores; 25 GB; Linux"}
    rows = [row("one", name, 1.0, **made, load=load) for name in "AB"]
    rows.append(row("one", "C", 1.0, **made, family="cover"))
    assert len(bench.notes(rows)) == is_busy
    if is_busy:
        assert "load of the machine was up to 3.1, with 2 cores" in bench.notes(rows)[0]
        assert bench.notes(rows)[0] in bench.page(rows)
