"""Rounds of `Adaptive` that go on as long as they pay."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from watched import Watched

import margin
from margin import ZCDP, Adaptive, ApproxDP, Domain, PureDP, Workload
from margin.mechanisms.choosing import in_rounds
from margin.mechanisms.choosing.in_rounds import PayingRounds
from margin.solvers import Evidence

SIZES = {"a": 2, "b": 3, "c": 2, "d": 4, "e": 5, "f": 1}


class Gate:
    """What `PayingRounds` asks of the gate before anything is measured."""

    domain = Domain(SIZES)


def rounds(workload, **options):
    known = {
        "views": [("a", "b", "d"), ("b", "d", "e"), ("c", "d", "e")],
        "rows": 1e9,
        "spread": 1.0,
        "each": Fraction(1, 100),
        "most": 3,
        "cost": 1.0,
    }
    return PayingRounds(private=Gate(), workload=workload, **{**known, **options})


@pytest.mark.parametrize("view", [("a", "b", "c"), ("b", "d", "e")])
@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_the_worth_of_a_view_is_summed_over_all_answers_that_hold_it(view, k):
    every = Workload.all_kway(Gate.domain, k)
    listed = Workload.of(Gate.domain, list(every.views))
    cells = Gate.domain.cells
    expected = sum(cells(view) / cells(asked) for asked in every.views if {*view} <= {*asked})
    assert rounds(every)._worth(view) == pytest.approx(expected, rel=1e-12)
    assert rounds(listed)._worth(view) == pytest.approx(expected, rel=1e-12)


def test_the_worth_of_a_view_follows_the_weights():
    weights = {("a", "b", "c"): 2.0, ("a", "b", "c", "d"): 8.0, ("a", "b", "d"): 16.0}
    workload = Workload.of(Gate.domain, weights)
    assert rounds(workload)._worth(("a", "b", "c")) == pytest.approx(2 + 8 / 4)


def interaction(shape, seed=0):
    """A table whose sums over each axis are zero."""
    table = np.random.default_rng(seed).normal(size=shape)
    for axis in range(table.ndim):
        table -= table.mean(axis=axis, keepdims=True)
    return table


@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2, 4)])
def test_the_gain_counts_only_what_involves_all_attributes(shape):
    """What the rest of the budget measures anyway is no gain."""
    some = rounds(Workload.all_kway(Gate.domain, 3))
    own, variance = interaction(shape), 0.01
    rng = np.random.default_rng(1)
    fewer = sum(
        np.expand_dims(rng.normal(size=shape[:axis] + shape[axis + 1 :]), axis) for axis in range(3)
    )
    moments = math.prod(size - 1 for size in shape)
    # With very many rows all noise is left: it counts twice, as what is in the difference, and as
    # what takes the place of the error.
    expected = (own**2).sum() - 2 * moments * variance
    assert some._gain(own + fewer, variance) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("strength", [0.0, 3.0])
def test_the_gain_is_unbiased(strength):
    """The mean over 2,000 draws of noise is within 5.5 standard errors (a false alarm: 4e-8)."""
    shape, variance = (3, 2, 4), 2.0
    some = rounds(Workload.all_kway(Gate.domain, 3))
    own = strength * interaction(shape)
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(2_000, *shape)) * math.sqrt(variance)
    gains = np.array([some._gain(own + drawn, variance) for drawn in noise])
    expected = (own**2).sum() - 6 * variance
    error = gains.std() / math.sqrt(len(gains))
    assert abs(gains.mean() - expected) < 5.5 * error


GAINS = {
    "none pays": ([0.5, 9, 9, 9], 1),
    "the first alone": ([3, 0.5, 0.5, 9], 3),
    "one in between fails": ([9, 0, 9, 9], 4),
    "all pay": ([9, 9, 9, 9], 4),
}


@pytest.mark.parametrize("case", GAINS)
def test_rounds_end_when_two_together_do_not_pay(monkeypatch, case):
    gains, expected = GAINS[case]
    left = iter(gains)
    asked = []

    def measured(private, views, answers, *, spend, is_last):
        assert not is_last and len(answers) == len(views)
        return 0, np.zeros((2, 3, 4)), 1.0

    def answers(evidence, views):
        asked.append(list(views))
        return [np.zeros((2, 3, 4)) for _ in views]

    monkeypatch.setattr(in_rounds, "measured_in_round", measured)
    monkeypatch.setattr(PayingRounds, "_gain", lambda *_: next(left))
    monkeypatch.setattr(PayingRounds, "_worth", lambda *_: 1.0)
    some = rounds(Workload.all_kway(Gate.domain, 3), most=4)
    before = Evidence(sizes=Gate.domain.sizes)
    found, count = some.make(before, answers)
    assert count == expected
    assert not before.precision and (0, 1, 3) in found.precision
    # At first all views; then those that share two attributes with the one that was measured.
    assert asked[0] == list(some.views)
    assert all(views == [("a", "b", "d"), ("b", "d", "e")] for views in asked[1:])


DOMAIN = Domain(
    {f"x{axis:02}": size for axis, size in enumerate([2, 2, 3, 2, 2, 8, 2, 3, 2, 4, 2, 5])}
)


def people(strong, rows=20_000, seed=7):
    """Four classes of people, whose attributes depend on the class; if `strong`, two of them often
    copy another, and the last one is half of the time a sum of three others, which pairs hide."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 4, rows)
    columns = []
    for axis, size in enumerate(DOMAIN.sizes):
        shares = rng.dirichlet(np.full(size, 0.7), size=4)[classes]
        own = (rng.random((rows, 1)) > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)
        if strong and axis in (5, 9):
            own = np.where(rng.random(rows) < 0.8, columns[axis - 3] % 2, own)
        if strong and axis == 11:
            of_three = (columns[0] + columns[2] + columns[4]) % size
            own = np.where(rng.random(rows) < 0.5, of_three, own)
        columns.append(own)
    return np.stack(columns, axis=1)


def made(codes, mechanism, budget, seed=0):
    spy = Watched(mechanism)
    done = margin.simulate(
        codes,
        domain=DOMAIN,
        budget=budget,
        mechanism=spy,
        workload=Workload.all_kway(DOMAIN, 3),
        seed=seed,
    )
    return done, [event.method for event in spy.events], sum(event.units for event in spy.events)


@pytest.mark.slow
@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize("budget", [ZCDP("0.02"), ApproxDP("0.5", delta="1e-6")], ids=repr)
def test_all_of_the_budget_is_spent_whatever_the_rounds_find(budget, strong):
    _, methods, units = made(people(strong), Adaptive(), budget)
    assert units == budget.units
    # The last answers are those of the candidate, with all that is left.
    assert methods[-1] != "select"


def test_no_rounds_under_pure_differential_privacy():
    codes, budget = people(strong=True), PureDP("1")
    with_rounds, methods, _ = made(codes, Adaptive(), budget)
    without, others, _ = made(codes, Adaptive(rounds=0), budget)
    assert methods == others
    view = ("x00", "x01", "x02")
    assert (with_rounds.marginal(view).counts == without.marginal(view).counts).all()


@pytest.mark.slow
def test_rounds_find_triples_that_pairs_do_not_tell():
    """The error falls by a quarter at least, and intervals hold the true counts."""
    codes = people(strong=True)
    views = list(itertools.combinations(DOMAIN, 3))
    errors = {}
    for name, mechanism in {"rounds": Adaptive(), "none": Adaptive(rounds=0)}.items():
        done, _, _ = made(codes, mechanism, ZCDP("0.01"))
        answers = done.synopsis.marginals(views)
        truth = [done.truth(view).counts for view in views]
        pairs = list(zip(answers, truth, strict=True))
        errors[name] = np.mean([np.linalg.norm(one.counts - true) for one, true in pairs])
        inside = [
            ((low <= true) & (true <= high)).ravel()
            for one, true in pairs
            for low, high in [one.interval(0.95)]
        ]
        if name == "rounds":
            assert 0.92 <= np.concatenate(inside).mean() <= 0.995
    assert errors["rounds"] < 0.75 * errors["none"]
