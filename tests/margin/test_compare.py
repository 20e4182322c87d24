import dataclasses
import importlib
import json
import math
import pickle
import platform
import re

import failing
import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import margin
from margin import Domain, DomainError, Marginal, MarginError, PriView, PureDP, Workload, metrics
from margin.cli.arguments.mechanisms import PLAIN
from margin.cli.main import main
from margin.compare import Compared, Comparison, compare
from margin.compare.comparison import _rounded
from margin.plots import plot_error, plot_lattice, plot_marginal
from margin.privacy.statement import digest
from margin.solvers import Ladder
from margin.synopses.synopsis import describe

GOOD = PriView(views=[["age", "sex", "region"], ["children", "income"]])
NARROW = PriView(views=[["age", "sex"]])
BROKEN = PriView(views=[["nobody"]])


@pytest.fixture
def compared(table, domain):
    mechanisms = {"broken": BROKEN, "narrow": NARROW, "good": GOOD}
    workload = Workload.of(domain, [["age", "region"], ["sex"], ["children"]])
    return compare(
        table, domain=domain, budget=PureDP(5), mechanisms=mechanisms, workload=workload, runs=2
    )


def test_the_best_comes_first_and_what_failed_last(compared):
    assert [row.name for row in compared.rows] == [
        "good",
        "narrow",
        "broken",
    ] and compared.best == "good"
    good, narrow, broken = compared.rows
    assert len(good.errors) == 6 and good.error < narrow.error
    assert good.percentile(0.5) <= good.percentile(0.95)
    assert "nobody" in broken.problem and math.isnan(broken.error) and not broken.errors
    assert good.release_seconds > 0 and good.answer_seconds > 0


def test_the_errors_are_those_of_simulations(table, domain, compared):
    errors = []
    for run in range(2):
        simulation = margin.simulate(
            table, domain=domain, budget=PureDP(5), mechanism=GOOD, seed=run
        )
        for view in compared.views:
            truth = simulation.truth(view)
            errors.append(
                np.linalg.norm(simulation.marginal(view).counts - truth.counts) / truth.total
            )
    assert compared.rows[0].errors == pytest.approx(errors)


def test_it_is_marked_as_not_private(compared):
    assert "not private" in str(compared) and "smallest mean L2/N: good" in str(compared)
    assert compared.to_json()["private"] is False
    json.dumps(compared.to_json(), allow_nan=False)


def test_a_comparison_says_how_to_repeat_it(table, domain, compared):
    written = compared.to_json()
    assert written["version"] == margin.__version__ and written["domain"] == digest(domain)
    by_name = {row["name"]: row["mechanism"] for row in written["mechanisms"]}
    assert by_name["good"] == describe(GOOD) and by_name["broken"] is None
    comment = compared.to_latex().splitlines()[0]
    for part in ("seeds 0 to 1", margin.__version__, digest(domain), json.dumps(describe(GOOD))):
        assert part in comment


def test_a_comparison_says_which_table_it_measured_and_with_what(table, domain, compared):
    written = compared.to_json()
    assert written["environment"]["numpy"] == np.__version__
    assert written["environment"]["python"] == platform.python_version()
    asked = {
        "domain": domain,
        "budget": margin.ZCDP(1),
        "mechanisms": {"ours": margin.Residual()},
        "workload": [["sex"], ["age"]],
        "runs": 1,
    }
    first = compare(table, **asked, seed=5)
    again = compare(table, **asked, seed=9, most_views=None)
    other = compare(table.slice(0, table.num_rows - 1), **asked, seed=5)
    assert first.truth == again.truth == first.to_json()["truth"] != other.truth
    assert first.rows != again.rows
    # A release has no digest of the data.
    made = margin.release(table, domain=domain, budget=margin.ZCDP(1))
    assert first.truth.removeprefix("sha256:") not in repr(made.provenance)


def test_a_mechanism_is_compared_with_a_base_and_without(table, domain):
    public = margin.PublicTable(table, source="example.org/it")
    found = compare(
        table,
        domain=domain,
        budget=margin.ZCDP("0.001"),
        mechanisms={
            "without": margin.Residual(),
            "with": margin.Residual(),
            "flat": margin.mechanisms.Flat(),
        },
        workload=[["age", "region"], ["sex", "age"]],
        bases={"with": public, "flat": public},
        runs=2,
    )
    rows = {row.name: row for row in found.rows}
    # The base is the table itself, so that it is right.
    assert rows["with"].error < 0.7 * rows["without"].error
    assert rows["with"].base["source"] == "example.org/it" and rows["without"].base is None
    assert "base is used by" in rows["flat"].problem
    json.dumps(found.to_json(), allow_nan=False)
    # Each row is that of simulations with the same seeds.
    made = margin.simulate(
        table,
        domain=domain,
        budget=margin.ZCDP("0.001"),
        mechanism=margin.Residual(),
        workload=[["age", "region"], ["sex", "age"]],
        base=public,
        seed=0,
    )
    views = [["age", "region"], ["sex", "age"]]
    errors = metrics.L2()(made.marginals(views), made.truths(views))
    assert rows["with"].errors[:2] == pytest.approx(errors)
    with pytest.raises(DomainError, match=r"bases must name mechanisms of \['a'\]"):
        compare(
            table,
            domain=domain,
            budget=PureDP(1),
            mechanisms={"a": NARROW},
            workload=[["sex"]],
            bases={"b": public},
        )


@pytest.mark.parametrize("runs", [1, 3])
def test_weighted_means_use_the_weights_of_the_measured_views(table, domain, runs):
    weights = {("sex",): 1.0, ("age", "region"): 5.0, ("children",): 2.0, ("region",): 9.0}
    found = compare(
        table,
        domain=domain,
        budget=PureDP(5),
        mechanisms={"good": GOOD, "broken": BROKEN},
        metrics=["l2", "largest"],
        workload=weights,
        most_views=3,
        runs=runs,
    )
    assert found.weights == tuple(weights[view] for view in found.views)
    by_run = np.reshape(found.rows[0].values[0], (runs, 3))
    expected = np.average(by_run, axis=1, weights=found.weights)
    (mean, error), of_largest = found.weighted_means(found.rows[0])
    assert mean == pytest.approx(expected.mean()) and np.isnan(of_largest).all()
    frame = found.to_pandas()
    assert frame.loc[0, "L2/N weighted"] == mean and math.isnan(frame.loc[1, "L2/N weighted"])
    assert found.to_json()["mechanisms"][0]["weighted_means"] == [mean, None]
    assert found.to_json()["mechanisms"][1]["weighted_means"] is None
    if runs == 1:
        assert math.isnan(error)
    else:
        assert error == pytest.approx(expected.std(ddof=1) / math.sqrt(runs))
    json.dumps(found.to_json(), allow_nan=False)


def test_only_weights_that_differ_are_spoken_of(compared, table, domain):
    assert compared.weights == () and "weights" not in str(compared)
    assert not [name for name in compared.to_pandas() if "weighted" in name]
    asked = {"domain": domain, "budget": PureDP(5), "mechanisms": {"good": GOOD}, "runs": 1}
    found = compare(table, workload={("sex",): 1.0, ("age",): 3.0}, **asked)
    assert "all views count equally" in str(found) and "count equally" in found._repr_html_()


@pytest.mark.parametrize("runs", [1, 2, 5])
@pytest.mark.parametrize("measured", [[metrics.L2()], [metrics.JensenShannon(), metrics.L2()]])
def test_the_standard_error_is_that_of_the_means_of_runs(table, domain, runs, measured):
    found = compare(
        table,
        domain=domain,
        budget=PureDP(1),
        mechanisms={"views": NARROW, "also views": NARROW},
        workload=[["sex"], ["age", "region"]],
        metrics=measured,
        runs=runs,
    )
    assert found.runs == runs and f"{runs} run" in str(found)
    for row in found.rows:
        for numbers, error in zip(row.values, row.standard_errors, strict=True):
            assert len(numbers) == 2 * runs
            means = [np.mean(numbers[2 * run : 2 * run + 2]) for run in range(runs)]
            if runs == 1:
                assert np.isnan(error)
            else:
                assert error == pytest.approx(scipy.stats.sem(means), rel=1e-9)
    # Equal mechanisms have the same answers: that is no matter of chance.
    assert "(the same errors in every run: also views" in str(found)
    assert "t-test, than" not in str(found)
    assert ("a single run has no standard error" in str(found)) == (runs == 1)
    shown = found._repr_html_()
    assert all(
        name in shown for name in ("std. error", "release CPU s", f"mean {measured[0].name}")
    )


def runs_of(name, means):
    return Compared(name=name, values=(tuple(means),), runs=len(means))


@settings(max_examples=200)
@given(
    st.integers(2, 6).flatmap(
        lambda runs: st.tuples(*[st.lists(st.integers(1, 1000), min_size=runs, max_size=runs)] * 2)
    )
)
def test_a_difference_is_clear_if_the_paired_test_says_so(pair):
    first, second = sorted(pair, key=np.mean)
    found = Comparison(
        budget=PureDP(1),
        views=(("a",),),
        rows=(runs_of("first", first), runs_of("second", second)),
        runs=len(first),
    )
    if np.var(np.subtract(first, second)) == 0:
        clear = first != second
    else:
        clear = scipy.stats.ttest_rel(first, second).pvalue < 0.05
    same = first == second
    than = "at 95 %, by a paired t-test, than: second"
    assert (f"(clearly better {than}" in str(found)) == clear
    assert (f"(not clearly better {than}" in str(found)) == (not clear and not same)
    assert ("the same errors in every run: second" in str(found)) == same


def test_two_runs_need_a_large_difference():
    """With one degree of freedom, three standard errors of the difference are not yet clear."""
    rows = (runs_of("first", [1, 2]), runs_of("second", [4, 6]))
    found = Comparison(budget=PureDP(1), views=(("a",),), rows=rows, runs=2)
    assert "not clearly better at 95 %, by a paired t-test, than: second" in str(found)


@pytest.mark.parametrize("runs", [2, 3, 6])
@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.95])
def test_equal_mechanisms_are_told_apart_in_5_percent_of_comparisons(correlation, runs):
    """With independent and with shared noise. If the rate is 5 %, the test fails for any of its
    cases with a probability of at most 1e-6 over its seeds, which are fixed."""
    comparisons, cases = 1_000, 9
    rng = np.random.default_rng(7)
    covariance = [[1.0, correlation], [correlation, 1.0]]
    clear = 0
    for _ in range(comparisons):
        drawn = 10 + rng.multivariate_normal([0.0, 0.0], covariance, size=runs).T
        rows = sorted(map(runs_of, "ab", drawn), key=lambda row: row.error)
        found = Comparison(budget=PureDP(1), views=(("v",),), rows=tuple(rows), runs=runs)
        clear += "not clearly better" not in found._doubt()
    least, most = scipy.stats.binom.interval(1 - 1e-6 / cases, comparisons, 0.05)
    assert least <= clear <= most


def test_runs_of_two_mechanisms_with_the_same_seed_share_noise(table, domain):
    """Both measure one view of the same size, with the same noise; one removes negative counts."""
    found = compare(
        table,
        domain=domain,
        budget=PureDP("0.1"),
        mechanisms={"kept": margin.mechanisms.Direct(nonnegativity=None), "cut": NARROW},
        workload=[["age", "sex"]],
        runs=12,
    )
    kept, cut = (np.array(row.errors) for row in found.rows)
    assert np.corrcoef(kept, cut)[0, 1] > 0.5
    assert "by a paired t-test over the runs" in str(found)
    assert "of m pairs test each at 5 % / m" in str(found)


def test_numbers_that_differ_by_rounding_are_the_same():
    rows = (runs_of("first", [0.1, 0.2]), runs_of("second", [0.1 + 1e-16, 0.2 + 1e-16]))
    found = Comparison(budget=PureDP(1), views=(("a",),), rows=rows, runs=2)
    assert "the same errors in every run: second" in str(found)


def test_none_is_the_default(table, domain):
    found = compare(
        table,
        domain=domain,
        budget=PureDP(1),
        mechanisms={"none": None, "default": margin.Adaptive()},
        workload=[["sex", "age"]],
        runs=1,
    )
    first, second = found.rows
    assert first.values == second.values and not first.problem
    said = f"(the same errors in every run: {second.name}; a single run has no standard error"
    assert said in str(found)


class Probe:
    """A mechanism that keeps the workload that it is told."""

    def __init__(self):
        self.told = []

    def run(self, private, workload):
        self.told.append(workload)
        return margin.mechanisms.Uniform().run(private, workload)


MANY = Domain({f"a{place}": 2 for place in range(12)})
MANY_ROWS = np.random.default_rng(3).integers(0, 2, (50, 12))
WORKLOADS = {
    "one": Workload.of(MANY, [["a1"]]),
    "66": Workload.all_kway(MANY, 2),
    "200": Workload.of(MANY, Workload.all_kway(MANY, 3).views[:200]),
    "201": Workload.of(MANY, Workload.all_kway(MANY, 3).views[:201]),
    "all of 220": Workload.all_kway(MANY, 3),
    "all of 495": Workload.all_kway(MANY, 4),
    "weights": Workload.of(MANY, {view: len(view[0]) for view in Workload.all_kway(MANY, 3)}),
}


@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_mechanism_is_told_the_whole_workload_and_measured_on_200_views(name, runs):
    """Its release is the one that `simulate` makes for this workload."""
    workload, probe, again = WORKLOADS[name], Probe(), Probe()
    asked = {"domain": MANY, "budget": PureDP(1), "workload": workload}
    found = compare(MANY_ROWS, mechanisms={"a": probe, "b": again}, runs=runs, seed=5, **asked)
    for told in [*probe.told, *again.told]:
        assert told == workload and told.kway == workload.kway
        assert list(told.weights) == list(workload.weights)
    assert len(probe.told) == len(again.told) == runs
    assert found.workload_size == len(workload)
    assert len(found.views) == min(200, len(workload)) == len(set(found.views))
    assert set(found.views) <= set(workload.views)
    drawn = f"{len(workload)} views asked, of which 200, drawn at random but the same "
    drawn += "for every seed, are measured"
    assert (drawn in str(found)) == (len(workload) > 200)
    simulation = margin.simulate(MANY_ROWS, mechanism=Probe(), seed=5, **asked)
    answers, truths = simulation.marginals(found.views), simulation.truths(found.views)
    assert list(found.rows[0].errors[: len(found.views)]) == metrics.L2()(answers, truths)


@pytest.mark.parametrize("most", [1, 7, 219, 220, 221, None])
def test_so_many_views_are_measured_the_same_ones_for_all_seeds_and_budgets(most):
    workload = WORKLOADS["all of 220"]
    found = [
        compare(
            MANY_ROWS,
            domain=MANY,
            budget=budget,
            mechanisms={"uniform": margin.mechanisms.Uniform()},
            workload=workload,
            runs=1,
            seed=seed,
            most_views=most,
        )
        for budget, seed in ((PureDP(1), 0), (PureDP(1), 8), (margin.ZCDP(1), 0))
    ]
    first, *others = found
    assert len(first.views) == min(most or 220, 220)
    assert all(other.views == first.views for other in others)
    assert ("drawn at random" in str(first)) == (len(first.views) < 220)
    assert first.rows[0].values != others[0].rows[0].values


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "all"])
def test_a_wrong_number_of_views_is_refused(most):
    with pytest.raises(DomainError, match="most_views"):
        compare(
            MANY_ROWS,
            domain=MANY,
            budget=PureDP(1),
            mechanisms={"uniform": margin.mechanisms.Uniform()},
            workload=[["a1"]],
            most_views=most,
        )


@pytest.mark.parametrize(("said", "number"), [("all", 3), ("2", 2), ("200", 3)])
def test_the_command_takes_a_number_of_views_or_all(comparing, said, number, capsys):
    words = ["--mechanisms", "Uniform", "--runs", "1", "--workload", "2way", "--json"]
    assert main([*comparing, *words, "--most-views", said]) == 0
    assert len(json.loads(capsys.readouterr().out)["views"]) == number


@pytest.mark.parametrize("said", ["0", "-1", "1.5", "some"])
def test_the_command_refuses_a_wrong_number_of_views(comparing, said, capsys):
    try:
        code = main([*comparing, "--most-views", said])
    except SystemExit as ended:
        code = ended.code
    told = capsys.readouterr().err
    assert code and re.search(r"whole number|most-views", told) and "_number" not in told


def test_noise_of_a_large_workload_is_that_of_all_its_views():
    """`Direct` shares its budget between all views, not between those that are measured."""
    asked = {"domain": MANY, "budget": PureDP(1), "workload": WORKLOADS["all of 495"]}
    direct = margin.mechanisms.Direct(nonnegativity=None)
    found = compare(MANY_ROWS, mechanisms={"direct": direct}, runs=1, **asked)
    # Noise of the geometric law with scale 495 has the variance 2 * 495**2, up to a constant.
    spread = found.rows[0].error * len(MANY_ROWS) / math.sqrt(16)
    assert spread == pytest.approx(math.sqrt(2) * 495, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", failing.KINDS)
def test_a_mechanism_that_fails_is_listed_and_the_others_go_on(table, domain, kind):
    found = compare(
        table,
        domain=domain,
        budget=PureDP(1),
        mechanisms={"first": NARROW, "broken": failing.Failing(kind), "last": NARROW},
        workload=[["sex"], ["age", "region"]],
        runs=2,
    )
    assert [row.name for row in found.rows] == ["first", "last", "broken"]
    first, last, broken = found.rows
    assert first.values == last.values and not first.problem and not first.raised
    assert f"broken failed: {broken.problem}" in str(found) and not broken.values
    assert json.dumps(found.to_json(), allow_nan=False)
    assert str(pickle.loads(pickle.dumps(found))) == str(found)
    if kind in failing.SAID:
        assert failing.SAID[kind] in broken.problem and not broken.raised + broken.traceback
        return
    type_name = failing.LATE.get(kind, kind)
    place = "simulations.py" if kind == "no marginals" else "failing.py"
    assert re.fullmatch(rf"{type_name} in {place}, line \d+", broken.raised)
    assert broken.problem.startswith(broken.raised)
    assert broken.traceback.startswith("Traceback") and type_name in broken.traceback
    has_text = kind not in ("NotImplementedError", "TypeError", "RecursionError", "Mute")
    if has_text and kind != "no marginals":
        assert failing.SECRET in broken.problem or kind == "JSONDecodeError"
        assert failing.SECRET in broken.traceback or kind == "JSONDecodeError"


def test_an_interrupt_ends_the_comparison(table, domain):
    class Interrupted:
        def run(self, private, workload):
            raise KeyboardInterrupt

    asked = {"domain": domain, "budget": PureDP(1), "workload": [["sex"]]}
    with pytest.raises(KeyboardInterrupt):
        compare(table, mechanisms={"a": Interrupted()}, **asked)


def test_data_that_does_not_fit_is_no_failure_of_a_mechanism(domain):
    asked = {"domain": domain, "budget": PureDP(1), "workload": [["sex"]]}
    for data in ("nowhere.csv", {"sex": ["no such"]}):
        probe = Probe()
        with pytest.raises(MarginError):
            compare(data, mechanisms={"a": probe}, **asked)
        assert not probe.told


def test_an_error_of_a_metric_is_not_one_of_the_mechanism(table, domain):
    class Wrong:
        name, larger_is_better = "wrong", False

        def __call__(self, answers, truths):
            raise ZeroDivisionError

    asked = {"domain": domain, "budget": PureDP(1), "workload": [["sex"]]}
    with pytest.raises(ZeroDivisionError):
        compare(table, mechanisms={"a": NARROW}, metrics=[Wrong()], **asked)


def test_a_metric_that_is_unknown_for_a_mechanism_comes_after_those_that_are_known(table, domain):
    class Sometimes:
        name, larger_is_better, calls = "sometimes", False, 0

        def __call__(self, answers, truths):
            self.calls += 1
            return [math.nan if self.calls == 1 else float(-self.calls)]

    found = compare(
        table,
        domain=domain,
        budget=PureDP(1),
        mechanisms={"first": NARROW, "second": NARROW, "third": NARROW},
        metrics=[Sometimes()],
        workload=[["sex"]],
        runs=1,
    )
    assert [row.name for row in found.rows] == ["third", "second", "first"]


def test_a_column_without_intervals_says_why(table, domain):
    mechanisms = {"known": NARROW, "fitted": margin.MWEM(rounds=1), "broken": BROKEN}
    asked = {"domain": domain, "budget": PureDP(1), "workload": [["sex"]], "runs": 1}
    found = compare(table, mechanisms=mechanisms, metrics=["l2", "inside", "interval"], **asked)
    said = "over the counts that have an interval, in all runs together (fitted: 0 of 2)"
    assert said in str(found) and said in found._repr_html_()
    json.dumps(found.to_json(), allow_nan=False)
    del mechanisms["fitted"]
    again = compare(table, mechanisms=mechanisms, metrics=["l2", "inside"], **asked)
    assert "nan" not in str(again) and "have an interval" not in str(again)


PAIRS_OF_CELLS = {("age", "sex"): 6, ("age", "region"): 12, ("sex", "region"): 8}
SOME_PAIRS = [[], [("age", "sex")], [("sex", "region"), ("age", "sex")], list(PAIRS_OF_CELLS)]


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("measured", SOME_PAIRS, ids=len)
@pytest.mark.parametrize("first", ["inside", "interval", "l2"])
def test_metrics_of_intervals_are_over_the_counts_that_have_one(
    table, domain, measured, runs, first
):
    """`Ladder` gives no intervals, so the views that are measured have them alone."""
    some = PriView(views=[*measured, ["age"], ["sex"], ["region"]], reconstruction=Ladder())
    asked = dict.fromkeys(PAIRS_OF_CELLS, 1.0)
    asked["age", "sex"] = 3.0
    found = compare(
        table,
        domain=domain,
        budget=PureDP(1),
        mechanisms={"some": some, "all": margin.Residual()},
        metrics=[first, *({"inside", "interval", "l2"} - {first})],
        workload=asked,
        runs=runs,
    )
    rows = {row.name: row for row in found.rows}
    cells = runs * sum(PAIRS_OF_CELLS.values())
    known = runs * sum(PAIRS_OF_CELLS[view] for view in measured)
    assert (rows["all"].intervals, rows["all"].counts) == (cells, cells)
    assert (rows["some"].intervals, rows["some"].counts) == (known, cells)
    for shown in (str(found), found._repr_html_()):
        assert (f"(some: {known} of {cells})" in shown) == (known < cells)
    json.dumps(found.to_json(), allow_nan=False)
    # The means are those over the views that have intervals.
    places = [place for place, view in enumerate(found.views) if view in measured]
    for metric, numbers, mean, (weighted, _) in zip(
        found.metrics,
        rows["some"].values,
        rows["some"].means,
        found.weighted_means(rows["some"]),
        strict=True,
    ):
        by_run = np.reshape(numbers, (runs, -1))
        of_intervals = metric.name != "L2/N"
        taken = places if of_intervals else range(len(found.views))
        assert int(np.isnan(by_run).sum()) == runs * (len(found.views) - len(taken))
        if not len(taken):
            assert math.isnan(mean) and math.isnan(weighted)
            continue
        weights = [found.weights[place] for place in taken]
        assert mean == pytest.approx(by_run[:, taken].mean())
        assert weighted == pytest.approx(np.average(by_run[:, taken].mean(axis=0), weights=weights))
    # A mean over some of the views is not compared with that over all.
    is_partial = first != "l2" and known < cells
    assert rows["some"].is_partial == is_partial
    if is_partial:
        assert [row.name for row in found.rows] == ["all", "some"]
    untested = "not tested, because some views have no number: some"
    assert (untested in str(found)) == (is_partial and runs > 1)


@pytest.mark.parametrize("runs", [1, 2])
def test_a_metric_of_ones_own_without_some_numbers_says_so(table, domain, runs):
    class Sometimes:
        name, larger_is_better = "sometimes", False

        def __call__(self, answers, truths):
            return [math.nan, 2.0]

    found = compare(
        table,
        domain=domain,
        budget=PureDP(1),
        mechanisms={"a": NARROW},
        metrics=[Sometimes()],
        workload=[["sex"], ["age"]],
        runs=runs,
    )
    assert found.rows[0].means == (2.0,)
    said = f"mean sometimes of a: over {runs} of {2 * runs} numbers, because the others are nan"
    assert said in str(found)


def test_the_display_of_progress_counts_all_simulations(table, domain, caplog):
    caplog.set_level("INFO", logger="margin")
    mechanisms = {"a": NARROW, "b": BROKEN, "c": NARROW}
    asked = {"domain": domain, "budget": PureDP(1), "workload": [["sex"]]}
    compare(table, mechanisms=mechanisms, runs=2, **asked)
    steps = [text for text in caplog.messages if text.startswith("simulation")]
    assert steps == [f"simulation {step} of 6" for step in (1, 2, 3, 5, 6)]


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_all_metrics_have_standard_errors_in_every_form(table, domain, runs):
    found = compare(
        table,
        domain=domain,
        budget=PureDP(1),
        mechanisms={"50% of_views": NARROW, "broken_&": BROKEN},
        metrics=["l2", "relative:0.001", "useful:0.5"],
        workload=[["sex"], ["age", "region"]],
        runs=runs,
    )
    row = found.rows[0]
    frame = found.to_pandas()
    for metric, mean, error in zip(found.metrics, row.means, row.standard_errors, strict=True):
        columns = [metric.name, f"{metric.name} std. error"]
        assert np.array_equal(frame.loc[0, columns].astype(float), [mean, error], equal_nan=True)
        assert frame.loc[1, columns].isna().all()
        assert " & ".join(_rounded(mean, error)) in found.to_latex()
        assert re.search(rf" {mean:.4g} +{'-' if runs == 1 else f'{error:.2g}'} ", str(found))
    assert "%" not in "".join(frame.columns)
    printed = str(found).splitlines()
    assert printed[1].count("std. error") == 3 and len({len(line) for line in printed[1:3]}) == 1
    said = (
        f"over {runs} runs on this table ({runs - 1} degree{'' if runs == 2 else 's'} of freedom)"
    )
    assert (said in str(found)) == (said in found._repr_html_()) == (runs > 1)
    latex = found.to_latex().splitlines()
    assert latex[0].startswith("% SIMULATION on the true table, not private")
    assert latex[1] == r"\begin{tabular}{lrrrrrr}" and latex[-1] == r"\end{tabular}"
    assert found.to_latex().endswith("\n")
    assert r"50\% of\_views & " in found.to_latex()
    assert r"broken\_\& & -- & --" in found.to_latex()


@pytest.mark.parametrize(
    ("mean", "error", "expected"),
    [
        (0.013512, 0.0004211, ("0.01351", "0.00042")),
        (0.5, 0.0996, ("0.50", "0.10")),
        (12345.6, 678.9, ("12350", "680")),
        (3.14159, 1.26, ("3.1", "1.3")),
        (0.0013164, 0.0000005, ("0.0013164", "0.0000005")),
        (0.0013164, 0.000000005, ("0.0013164", "5e-09")),
        (12345.6, 0.52, ("12346", "0.5")),
        (0.0, 0.52, ("0.00", "0.52")),
        (0.25, 0.0, ("0.25", "0")),
        (0.123456, math.nan, ("0.1235", "--")),
        (math.nan, math.nan, ("--", "--")),
    ],
)
def test_a_mean_ends_where_its_error_does(mean, error, expected):
    assert _rounded(mean, error) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"mechanisms": {}},
        {"mechanisms": [NARROW]},
        {"mechanisms": {"a": 5}},
        {"mechanisms": {"a": PriView}},
        {"metrics": []},
        {"metrics": "l2"},
        {"metrics": ["l3"]},
        {"metrics": ["l2:5"]},
        {"metrics": ["ndcg:few"]},
        {"metrics": [5]},
        {"metrics": [margin.metrics.L2]},
        {"runs": 0},
        {"runs": True},
        {"seed": "x"},
        {"seed": -1},
        {"seed": 1.5},
        {"workload": [["nobody"]]},
        {"workload": "2way"},
        {"budget": 1.0},
        {"budget": None},
        {"budget": PureDP},
    ],
    ids=str,
)
def test_bad_arguments_are_typed_errors_before_any_work(table, domain, wrong, monkeypatch):
    monkeypatch.setattr(importlib.import_module("margin.compare.simulations"), "simulate", None)
    with pytest.raises(MarginError, match="; "):
        compare(
            table,
            **{
                "domain": domain,
                "budget": PureDP(1),
                "mechanisms": {"a": NARROW},
                "workload": [["sex"]],
            }
            | wrong,
        )


def test_metrics_by_name_are_those_of_the_classes(table, domain):
    asked = {"domain": domain, "budget": PureDP(1), "workload": [["sex"]], "runs": 1}
    by_name = compare(table, mechanisms={"a": NARROW}, metrics=["l2", "js", "useful:0.01"], **asked)
    kinds = [margin.metrics.L2(), margin.metrics.JensenShannon(), margin.metrics.Usefulness(0.01)]
    by_class = compare(table, mechanisms={"a": NARROW}, metrics=kinds, **asked)
    assert by_name.rows[0].values == by_class.rows[0].values


def test_nothing_works_is_said(table, domain):
    found = compare(
        table, domain=domain, budget=PureDP(1), mechanisms={"a": BROKEN}, workload=[["sex"]]
    )
    assert found.best is None and "every mechanism failed" in str(found)
    with pytest.raises(DomainError, match="every mechanism of this comparison failed"):
        found.plot()


@pytest.mark.parametrize("runs", [1, 2])
def test_a_picture_has_a_panel_for_each_metric(table, domain, runs):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    budget = margin.ZCDP("0.1", neighbours=margin.Neighbours.REPLACE_ROW, rows_per_person=3)
    found = compare(
        table,
        domain=domain,
        budget=budget,
        mechanisms={"good": GOOD, "broken": BROKEN, "direct": margin.mechanisms.Direct()},
        workload=[["age", "region"], ["sex"]],
        metrics=["l2", "largest", "inside"],
        runs=runs,
    )
    figure = found.plot()
    labels = [panel.get_xlabel().split("\n")[0] for panel in figure.axes]
    largest = found.metrics[1].name
    assert labels[:2] == ["error of each answer, as L2/N", f"error of each run, as {largest}"]
    assert len(labels) == 3 and labels[2].startswith(found.metrics[2].name)
    for panel, place in zip(figure.axes, range(3), strict=True):
        assert len(panel.get_yticklabels()) == 2
        (means,) = {
            tuple(float(line.get_xdata()[0]) for line in panel.lines if line.get_marker() == "D")
        }
        expected = [row.means[place] for row in found.rows[1::-1]]
        known = [mean for mean in expected if not np.isnan(mean)]
        assert [mean for mean in means if not np.isnan(mean)] == pytest.approx(known)
    # The title is within the figure, although the budget is long.
    figure.canvas.draw()
    title = figure.axes[0].title.get_window_extent()
    assert title.x0 >= 0 and title.x1 <= figure.bbox.width
    # On given axes there is the first metric alone.
    single = type(figure)().subplots()
    assert found.plot(axes=single).axes == [single]


@pytest.mark.parametrize(
    "name", ["A", "mine.py:SinglesAndCover(share='0.3',size=3)", 9 * "a,bc" * 9]
)
def test_the_picture_has_room_for_long_names(name, compared):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    rows = tuple(dataclasses.replace(row, name=name) for row in compared.rows)
    figure = dataclasses.replace(compared, rows=rows).plot()
    figure.draw_without_rendering()
    axes = figure.axes[0]
    for text in (axes.title, axes.xaxis.label, *axes.get_yticklabels()):
        drawn = text.get_window_extent()
        assert figure.bbox.x0 <= drawn.x0 and drawn.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= drawn.y0 and drawn.y1 <= figure.bbox.y1


def test_the_pictures(compared, table, domain):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    axes = compared.plot().axes[0]
    assert len(axes.get_yticklabels()) == 2
    assert "not private\npure differential privacy, epsilon = 5" in axes.get_title()
    assert "diamond: mean,\nwith its standard error over 2 runs" in axes.get_xlabel()
    synopsis = margin.release(table, domain=domain, budget=PureDP(5), mechanism=GOOD)
    bars = plot_marginal(synopsis.marginal(["sex", "age"]))
    labels = list(domain["age"].captions) * domain["sex"].size
    assert [label.get_text() for label in bars.get_yticklabels()] == labels
    assert [text.get_text().strip() for text in bars.texts] == list(domain["sex"].labels)
    assert len(bars.patches) == 6 and len(bars.collections[0].get_segments()) == 6
    heat = plot_marginal(synopsis.marginal(["age", "region"]))
    assert (
        np.asarray(heat.images[0].get_array()) == synopsis.marginal(["age", "region"]).counts
    ).all()
    error = plot_error(synopsis, sizes=(1, 2))
    assert [label.get_text() for label in error.get_xticklabels()] == ["1", "2"]


def test_the_picture_of_a_lattice_has_a_frame_for_each_set_on_its_level():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    views = [["age", "sex", "region"], ["sex", "region", "income"], ["income", "children"]]
    drawn = plot_lattice(views)
    heights = {text.get_text(): text.xy[1] for text in drawn.texts}
    shared = {"{}", "income", "region, sex"}
    assert set(heights) == shared | {", ".join(sorted(view)) for view in views}
    assert heights["{}"] < heights["region, sex"] < heights["age, region, sex"]
    squares = [
        text for text in drawn.texts if "Square" in str(text.get_bbox_patch().get_boxstyle())
    ]
    assert len(squares) == 3


def test_what_is_too_large_to_draw_is_refused():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    with pytest.raises(DomainError, match="have 511 intersections"):
        plot_lattice([[a for a in range(9) if a != out] for out in range(9)])
    domain = Domain({"a": 4, "b": 4, "c": 5, "d": 2})
    with pytest.raises(DomainError, match="but this marginal has 160 cells of 4 attributes"):
        plot_marginal(Marginal(domain, np.ones((4, 4, 5, 2)), np.ones((4, 4, 5, 2))))


def test_a_heat_map_without_room_for_numbers_says_how_wide_its_intervals_are():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    wide = Domain({"a": 8, "b": 9})
    drawn = plot_marginal(Marginal(wide, np.full((8, 9), 50.0), np.full((8, 9), 25.0)))
    said = "95 % intervals of counts are 20 rows wide"
    assert drawn.get_title() == said and not drawn.texts
    cube = Domain({"a": 8, "b": 9, "c": 2})
    drawn = plot_marginal(Marginal(cube, np.full((8, 9, 2), 50.0), np.full((8, 9, 2), 25.0)))
    assert drawn.figure._suptitle.get_text() == said
    # A few long numbers in many columns have no room either.
    few = Domain({"a": 3, "b": 20})
    drawn = plot_marginal(Marginal(few, np.full((3, 20), 50_000.0), np.full((3, 20), 25.0)))
    assert drawn.get_title() == said and not drawn.texts


def test_a_heat_map_writes_the_bounds_of_intervals_that_end_at_zero():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    small = Domain({"a": 3, "b": 3})
    counts = np.array([[34.0, 5.0, 0.0], [8.0, 1234.0, 7.0], [1.0, 2.0, 3.0]])
    drawn = plot_marginal(Marginal(small, counts, np.full((3, 3), 400.0)))
    texts = [text.get_text() for text in drawn.texts]
    assert texts[:3] == ["34\n0 to 73", "5\n0 to 44", "0\n0 to 39"]
    assert texts[4] == "1,234\n1,195 to 1,273"


def test_a_marginal_of_three_attributes_has_a_heat_map_for_each_category_of_the_smallest():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    domain = Domain({"a": 5, "b": ["x", "y", "z", "w"], "c": {"bins": [0, 1, 2, 3, 4, None]}})
    counts = np.arange(100.0).reshape(5, 4, 5)
    marginal = Marginal(domain, counts, np.ones((5, 4, 5)))
    figure = plot_marginal(marginal).figure
    panels = [panel for panel in figure.axes if panel.images and panel.get_visible()]
    titles = [panel.get_title() for panel in panels[:4]]
    assert titles == ["b: x", "b: y", "b: z", "b: w"]
    for place, panel in enumerate(panels[:4]):
        assert np.array_equal(np.asarray(panel.images[0].get_array()), counts[:, place])
        assert panel.images[0].get_clim() == (0, 99)
        assert "[" not in "".join(text.get_text() for text in panel.get_xticklabels())
    assert figure._supylabel.get_text() == "a" and figure._supxlabel.get_text() == "c"
    assert figure._suptitle.get_text() == ""  # the cells say it
    with pytest.raises(DomainError, match="leave out axes"):
        plot_marginal(marginal, axes=panels[0])


def test_the_command_compares(table, domain, tmp_path, capsys):
    import pyarrow.csv

    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    (tmp_path / "domain.json").write_text(domain.to_json())
    command = [
        "compare",
        str(tmp_path / "people.csv"),
        "--domain",
        str(tmp_path / "domain.json"),
        "--epsilon",
        "1",
    ]
    command += ["--mechanisms", "priview,direct,uniform", "--workload", "2way", "--runs", "1"]
    assert main(command) == 0
    output = capsys.readouterr().out
    assert "not private" in output and all(
        name in output for name in ("PriView", "Direct", "Uniform")
    )
    picture = tmp_path / "picture.png"
    assert main([*command, "--json", "--picture", str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (
        found["private"] is False
        and len(found["mechanisms"]) == 3
        and picture.stat().st_size > 1000
    )
    assert main([*command[:-4], "--mechanisms", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err


STOPPED = """
class Stopped:
    def run(self, private, workload):
        raise KeyboardInterrupt
"""


def test_an_interrupt_leaves_what_is_done(table, domain, tmp_path, capsys):
    import pyarrow.csv

    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    (tmp_path / "domain.json").write_text(domain.to_json())
    (tmp_path / "interrupting.py").write_text(STOPPED)
    stopped = f"{tmp_path / 'interrupting.py'}:Stopped"
    command = [
        *("compare", str(tmp_path / "people.csv"), "--domain", str(tmp_path / "domain.json")),
        *("--epsilon", "1", "--runs", "1", "--mechanisms"),
    ]
    assert main([*command, "Direct", "Uniform", stopped, "Auto"]) == 130
    output = capsys.readouterr().out
    assert "Direct" in output and "Uniform" in output
    assert output.endswith(f"interrupted, so these were not compared: {stopped}, Auto\n")
    assert main([*command, "Direct", stopped, "--json"]) == 130
    found = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in found["mechanisms"]] == ["Direct"]
    assert found["not_compared"] == [stopped]
    # Nothing is done yet.
    assert main([*command, stopped, "Direct"]) == 130
    assert capsys.readouterr() == ("", "margin: interrupted\n")


def test_the_comparison_so_far_is_told_after_each_mechanism(table, domain):
    told = []
    whole = compare(
        table,
        domain=domain,
        budget=PureDP(1),
        mechanisms={"uniform": margin.mechanisms.Uniform(), "direct": margin.mechanisms.Direct()},
        workload=[["sex"]],
        runs=1,
        so_far=told.append,
    )
    assert [row.name for row in told[0].rows] == ["uniform"]
    names = [[(row.name, row.values) for row in part.rows] for part in (told[1], whole)]
    assert len(told) == 2 and names[0] == names[1]


def test_the_command_measures_what_it_is_told(table, domain, tmp_path, capsys):
    import pyarrow.csv

    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    (tmp_path / "domain.json").write_text(domain.to_json())
    command = ["compare", str(tmp_path / "people.csv"), "--domain", str(tmp_path / "domain.json")]
    command += ["--epsilon", "1", "--mechanisms", "uniform", "--workload", "1way", "--runs", "1"]
    named = "js,l2,l1,tv,largest,relative,useful:0.2,ndcg:3,f1,inside:0.9,interval"
    assert main([*command, "--json", "--metrics", named]) == 0
    found = json.loads(capsys.readouterr().out)
    names = ["JS", "L2/N", "L1/N", "TV", "largest/N", "relative(0.001)", "useful(0.2)"]
    names += ["NDCG@3", "F1@10", "inside(0.9)", "interval(0.95)"]
    assert found["metrics"] == names
    assert len(found["mechanisms"][0]["means"]) == 11
    for wrong, part in [
        ("larges", "did you mean"),
        ("l2:3", "no parameter"),
        ("ndcg:x", "ndcg:10"),
    ]:
        assert main([*command, "--metrics", wrong]) == 2
        assert part in capsys.readouterr().err
    assert main([*command, "--metrics", "ndcg:0.5"]) == 2
    assert "whole number" in capsys.readouterr().err


def test_the_first_metric_orders_the_mechanisms(table, domain):
    """Ranking by quality puts the largest mean first; all metrics are of the same runs."""
    measured = [metrics.NDCG(3), metrics.L2(), metrics.Usefulness(alpha=0.05)]
    found = compare(
        table,
        domain=domain,
        budget=PureDP(5),
        mechanisms={"broken": BROKEN, "narrow": NARROW, "good": GOOD},
        workload=[["age", "region"], ["sex"], ["children"]],
        metrics=measured,
        runs=2,
    )
    assert found.rows[0].error >= found.rows[1].error and found.rows[2].name == "broken"
    assert found.best == found.rows[0].name
    assert [len(numbers) for numbers in found.rows[0].values] == [2, 6, 2]
    alone = {
        row.name: row
        for row in compare(
            table,
            domain=domain,
            budget=PureDP(5),
            mechanisms={"narrow": NARROW, "good": GOOD},
            workload=[["age", "region"], ["sex"], ["children"]],
            runs=2,
        ).rows
    }
    for row in found.rows[:2]:
        assert row.values[1] == alone[row.name].errors
    shown = str(found)
    assert all(f"mean {metric.name}" in shown for metric in measured)
    assert f"largest mean NDCG@3: {found.best}" in shown
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    panels = found.plot().axes
    assert panels[0].get_xlabel() == "NDCG@3" and "box: quartiles" in panels[-1].get_xlabel()


def test_items_of_sets_are_ranked():
    """Rows that are sets of items: a cell of the marginal is an item."""
    matrix = scipy.sparse.random_array((400, 30), density=0.2, rng=np.random.default_rng(5))
    matrix = matrix.tocsr() > 0
    found = compare(
        matrix,
        domain={"item": 30},
        budget=PureDP(10_000),
        mechanisms={"items": margin.DPSense()},
        workload=[["item"]],
        metrics=[metrics.NDCG(5), metrics.F1(5)],
        runs=1,
    )
    assert found.rows[0].problem == ""
    assert found.rows[0].means == pytest.approx((1.0, 1.0))


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_every_name_is_a_mechanism_that_releases(table, domain, tmp_path, name, capsys):
    import pyarrow.csv

    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    (tmp_path / "domain.json").write_text(
        Domain({n: domain[n] for n in ("age", "sex", "region")}).to_json()
    )
    out = tmp_path / "out.margin"
    command = [
        "release",
        str(tmp_path / "people.csv"),
        "--domain",
        str(tmp_path / "domain.json"),
        "--epsilon",
        "1",
    ]
    assert main([*command, "--mechanism", name, "--workload", "age,sex", "-o", str(out)]) == 0
    assert main(["marginal", str(out), "age", "sex"]) == 0 and main(["info", str(out)]) == 0
    assert "age" in capsys.readouterr().out
    assert main([*command, "--mechanism", name, "--views", "age,sex", "-o", str(out)]) == 2
    assert "--workload" in capsys.readouterr().err


def test_a_mechanism_for_queries_answers_the_cells_of_the_views(table, domain):
    found = compare(
        table,
        domain=domain,
        budget=margin.ZCDP(5),
        mechanisms={"queries": margin.DualQuery(), "uniform": margin.mechanisms.Uniform()},
        workload=[["age", "sex"], ["region"]],
        runs=1,
    )
    assert found.best == "queries" and len(found.rows[0].errors) == 2
    assert not any(row.problem for row in found.rows)


CLICKS = {f"page{place}": np.arange(60) % (place + 2) == 0 for place in range(4)}
OTHER_ANSWERS = {
    "items": margin.DPSense(),
    "itemsets": margin.mechanisms.DiffPart(),
    "sketch": margin.mechanisms.CountSketch(width=16),
}


def test_what_releases_no_marginals_says_why_and_what_to_do():
    found = compare(
        CLICKS,
        domain=dict.fromkeys(CLICKS, 2),
        budget=PureDP(1),
        mechanisms=OTHER_ANSWERS,
        workload=[["page0", "page1"]],
        runs=1,
    )
    problems = {row.name: row.problem for row in found.rows}
    for problem in problems.values():
        assert "measures answers to the views" in problem
        assert "leave this mechanism out, or simulate it" in problem
    assert "counts of 'item', which is no attribute of the table" in problems["items"]
    assert "answers views of all 4 attributes" in problems["sketch"]
    assert problems["itemsets"] in str(found)


@pytest.fixture
def comparing(table, domain, tmp_path):
    """The start of a command line that compares mechanisms on a few attributes."""
    import pyarrow.csv

    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    chosen = Domain(
        {
            "age": {**domain["age"].to_json(), "ordered": True},
            "sex": domain["sex"],
            "region": domain["region"],
        }
    )
    (tmp_path / "domain.json").write_text(chosen.to_json())
    files = [str(tmp_path / "people.csv"), "--domain", str(tmp_path / "domain.json")]
    return ["compare", *files, "--rho", "5", "--workload", "age,sex", "--runs", "1"]


def test_the_command_compares_queries_and_mechanisms_with_parameters(comparing, capsys):
    given = ["dualquery,SpanningTree", "Residual(order=1),PriView(views=[['age', 'sex']])"]
    assert main([*comparing, "--mechanisms", *given]) == 0
    out = capsys.readouterr().out
    for name in (
        "DualQuery",
        "SpanningTree",
        "Residual(order=1)",
        "PriView(views=[['age', 'sex']])",
    ):
        (line,) = [line for line in out.splitlines()[2:-1] if line.startswith(f"{name} ")]
        assert "failed" not in line


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("dualquerry", "did you mean 'DualQuery'"),
        ("Residual(order=1", "must be a name, or a mechanism as in Python"),
        ("Newton()", "Newton() must be a mechanism, but it is a part of a mechanism"),
    ],
)
def test_the_command_says_what_a_mechanism_may_be(comparing, given, says, capsys):
    assert main([*comparing, "--mechanisms", given]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("kind", failing.KINDS)
def test_the_command_lists_what_fails_without_its_text(comparing, kind, debug, capsys):
    """The text of an exception may quote the data, so it is shown with --debug only."""
    given = f"{failing.__file__}:Failing('{kind}')"
    words = ["--mechanisms", "Uniform", given, *(["--debug"] if debug else [])]
    assert main([*comparing, *words]) == 0
    out, err = capsys.readouterr()
    assert "smallest mean L2/N: Uniform" in out
    (line,) = [line for line in out.splitlines() if line.startswith(f"{given} failed: ")]
    if kind in failing.SAID:
        assert failing.SAID[kind] in line and not err
    elif debug:
        assert err.startswith("Traceback") and failing.LATE.get(kind, kind) in err
    else:
        assert f"failed: {failing.LATE.get(kind, kind)} in " in line
        assert "--debug shows the error, which may quote the data" in line
    assert debug or failing.SECRET not in out + err


@pytest.mark.parametrize("kinds", [["ValueError"], ["None", "late"]])
def test_the_command_ends_with_2_if_all_fail(comparing, kinds, tmp_path, capsys):
    given = [f"{failing.__file__}:Failing('{kind}')" for kind in kinds]
    picture = tmp_path / "x.png"
    words = ["--mechanisms", *given, "--picture", str(picture)]
    assert main([*comparing, *words, "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["best"] is None and failing.SECRET not in json.dumps(found)
    assert main([*comparing, *words]) == 2 and not picture.exists()
    assert "every mechanism failed" in capsys.readouterr().out


def test_the_help_says_what_is_told_and_how_it_ends(capsys):
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "each mechanism is told all of them" in said and "at most N views" in said
    assert "the exit code is 2 if all fail, otherwise 0" in said


AGES = Domain({"age": {"size": 9, "ordered": True}, "region": 3})
RANGES = Workload.of(AGES, [["age", "region"], ["age"]], asked={"age": "ranges"})
PEOPLE = {"age": np.arange(300) % 9, "region": np.arange(300) % 3}


def of_ranges(measured, workload=RANGES):
    return compare(
        PEOPLE,
        domain=AGES,
        budget=PureDP(1),
        mechanisms={"wavelet": margin.mechanisms.Wavelet(), "flat": margin.mechanisms.Flat()},
        workload=workload,
        metrics=measured,
        runs=2,
    )


def test_the_metric_asked_measures_what_the_workload_asks():
    found = of_ranges(["asked", "absolute"])
    simulation = margin.simulate(
        PEOPLE,
        domain=AGES,
        budget=PureDP(1),
        mechanism=margin.mechanisms.Flat(),
        workload=RANGES,
        seed=1,
    )
    run = simulation.marginals(RANGES), simulation.truths(RANGES)
    (flat,) = [row for row in found.rows if row.name == "flat"]
    for numbers, metric in zip(
        flat.values, (metrics.AskedError({"age": "ranges"}), metrics.AbsoluteError()), strict=True
    ):
        assert numbers[2:] == pytest.approx(metric(*run))
    assert found.to_json()["asked"] == {"age": "ranges"}
    assert found.to_json()["metrics"] == ["abs. error asked", "abs. error"]
    # What the metric states itself is not replaced.
    stated = of_ranges([metrics.AskedError({"age": "cells"})])
    (row,) = [row for row in stated.rows if row.name == "flat"]
    assert row.values[0] == pytest.approx(flat.values[1])


@pytest.mark.parametrize(
    ("measured", "workload", "noted"),
    [
        (["l2", "asked", "js"], RANGES, "mean L2/N, mean JS: of the cells of each view, although"),
        (["asked"], RANGES, ""),
        (["l2"], [["age", "region"]], ""),
        (["l2"], Workload.of(AGES, [["age"]], asked={"age": "cells"}), ""),
    ],
)
def test_a_comparison_says_which_metrics_measure_cells_although_more_is_asked(
    measured, workload, noted
):
    found = of_ranges(measured, workload)
    for shown in (str(found), found._repr_html_()):
        assert ("although the workload asks ranges of age" in shown) == bool(noted)
        assert noted in shown


def test_too_many_queries_are_refused_before_any_mechanism_runs():
    wide = Domain({name: {"size": 300, "ordered": True} for name in "abc"})
    probe = Probe()
    with pytest.raises(DomainError, match=r"the metric asked needs .* sums of the table"):
        compare(
            {name: [0, 1] for name in "abc"},
            domain=wide,
            budget=PureDP(1),
            mechanisms={"probe": probe},
            workload=Workload.of(wide, [list("abc")], asked=dict.fromkeys("abc", "ranges")),
            metrics=["asked"],
        )
    assert not probe.told


def test_the_command_measures_what_is_asked(comparing, capsys):
    given = ["--mechanisms", "Wavelet,Residual", "--asked", "age=ranges", "--metrics", "asked,l2"]
    assert main([*comparing, *given]) == 0
    said = capsys.readouterr().out
    assert "mean abs. error asked" in said
    assert "mean L2/N: of the cells of each view, although the workload asks ranges of age" in said
