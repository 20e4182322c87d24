"""Thresholds: frequent items above a cut, and comparisons with a noisy threshold, exactly."""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
from audit_checks import CELLS, DOMAIN, ITEMS, Ask

from margin import ZCDP, ApproxDP, BudgetError, Domain, DomainError, Ledger, PureDP
from margin.audit import audit
from margin.audit.thresholds import law_of_first
from margin.data.source import CodesSource
from margin.noise.entropy import SeededEntropy
from margin.noise.geometric import unclamped
from margin.noise.laws import DiscreteLaplace
from margin.privacy.budget import Neighbours
from margin.privacy.event import Event
from margin.privacy.thresholds import least_gap
from margin.private import Private

APPROX = [
    ApproxDP(1, "1e-2"),
    ApproxDP(2, "1e-2", rows_per_person=3),
    ApproxDP(1, "1e-3", neighbours=Neighbours.REPLACE_ROW),
    ApproxDP(3, "1e-1", neighbours=Neighbours.REPLACE_ROW, rows_per_person=2),
]


def private(codes, domain, budget, seed=1):
    source = CodesSource(np.array(codes, np.int64).reshape(-1, len(domain)))
    return Private(source, domain=domain, budget=budget, entropy=SeededEntropy(seed))


# Frequent items


def law_of_item(count, scale, least, threshold, reach):
    """The probabilities that an item is not published, and that it is with each value up to
    `reach`."""
    values = np.arange(threshold, reach)
    if count < least:
        return np.concatenate([[1.0], np.zeros(values.size)])
    masses = np.exp(-np.abs(values - count) / scale) * math.tanh(1 / (2 * scale))
    return np.concatenate([[1 - masses.sum()], masses])


def excess(first, second, epsilon):
    """The smallest delta with P(S) <= exp(epsilon) Q(S) + delta, for products of the laws."""
    p, q = np.ones(1), np.ones(1)
    for one, other in zip(first, second, strict=True):
        p = np.multiply.outer(p, one).ravel()
        q = np.multiply.outer(q, other).ravel()
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def worst(budget, most, least, threshold, items=2):
    """The largest excess over the counts around `least` of all neighbouring tables."""
    m, replaced = budget.rows_per_person, budget.neighbours is Neighbours.REPLACE_ROW
    rows = m * (2 if replaced else 1)
    scale = rows * most / float(budget.epsilon)
    reach = threshold + math.ceil(8 * scale)
    around = range(max(0, least - m), least + m + 1)
    largest = 0.0
    for counts in itertools.combinations_with_replacement(around, items):
        for moves in itertools.product(range(-m, m + 1), repeat=items):
            up = sum(max(move, 0) for move in moves)
            down = sum(max(-move, 0) for move in moves)
            if max(up, down) > m * most or (not replaced and min(up, down) > 0):
                continue
            moved = [count + move for count, move in zip(counts, moves, strict=True)]
            if min(moved) < 0:
                continue
            laws = [
                [law_of_item(count, scale, least, threshold, reach) for count in table]
                for table in (counts, moved)
            ]
            largest = max(largest, excess(laws[1], laws[0], float(budget.epsilon)))
    return largest


@pytest.mark.parametrize("budget", APPROX, ids=repr)
@pytest.mark.parametrize(("most", "least"), [(1, 1), (2, 1), (2, 4)])
def test_the_exact_laws_on_neighbours_are_within_epsilon_and_delta(budget, most, least):
    domain = Domain(dict.fromkeys("ab", 2))
    found = private([[1, 1]] * 50, domain, budget).frequent_items(most=most, least=least)
    delta = float(budget.delta)
    assert worst(budget, most, least, found.threshold) <= delta * (1 + 1e-9)
    # Much lower thresholds are not private: the bound is not an empty one.
    scale = budget.rows * most / float(budget.epsilon)
    lower = found.threshold - math.ceil(2 * scale)
    if lower > least + budget.rows_per_person:
        assert worst(budget, most, least, lower) > delta


def test_one_lower_threshold_is_too_low_where_the_bound_is_attained():
    """One item that one row makes frequent: delta is P(X >= t - 1), and nothing is lost."""
    budget = ApproxDP(1, "1e-2")
    found = private([[1]] * 50, Domain({"a": 2}), budget).frequent_items(most=1)
    assert worst(budget, 1, 1, found.threshold, items=1) <= 1e-2
    assert worst(budget, 1, 1, found.threshold - 1, items=1) > 1e-2


@pytest.mark.parametrize("scale", [F(1, 7), F(1), F(5, 2), F(40)])
@pytest.mark.parametrize("person", [1, 2, 6])
@pytest.mark.parametrize(("most", "delta"), [(1, F(1, 10**9)), (9, F(1, 100)), (4, F(1, 2))])
def test_the_gap_is_the_smallest_for_which_the_conditions_hold(scale, person, most, delta):
    a = math.exp(-1 / float(scale))

    def holds(gap):
        tails = [(j, a ** (gap - j) / (1 + a)) for j in range(1, person + 1)]
        rare = all(person * most / j * p <= float(delta) for j, p in tails)
        return rare and all(p <= 1 - a**j for j, p in tails)

    gap = least_gap(scale, delta=delta, person=person, most=most)
    assert gap >= person and holds(gap)
    assert gap == person or not holds(gap - 1)


def test_rare_items_never_leave_and_frequent_ones_do():
    codes = np.zeros((400, 3), np.int64)
    codes[:300, 0] = 1
    codes[:5, 1] = 1
    budget = ApproxDP(1, "1e-6")
    published = set()
    for seed in range(40):
        gate = private(codes, Domain(dict.fromkeys("abc", 2)), budget, seed)
        found = gate.frequent_items(most=2, least=6, threshold=40)
        assert (found.counts >= 40).all() and found.threshold == 40
        published |= set(found.places.tolist())
        assert gate.spent.kind == "certified"
    assert published == {0}


@pytest.mark.parametrize(
    "budget", [PureDP(1), ZCDP("0.5"), ApproxDP(1, "1e-6")], ids=lambda budget: budget.kind
)
def test_only_a_whole_budget_with_delta_pays(budget):
    gate = private([[1, 1]] * 9, Domain(dict.fromkeys("ab", 2)), budget)
    if budget.kind == "approx":
        gate.measure([["a"]], spend="1/2")
    before = gate.events
    with pytest.raises(BudgetError, match="whole ApproxDP budget"):
        gate.frequent_items(most=1)
    assert gate.events == before


def test_a_ledger_which_adds_up_rhos_refuses(tmp_path):
    budget = ApproxDP(1, "1e-6")
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.register("data", budget)
    gate = Private(
        CodesSource(np.ones((5, 1), np.int64)),
        domain=Domain({"a": 2}),
        budget=budget,
        entropy=SeededEntropy(1),
        ledger=ledger.dataset("data"),
    )
    with pytest.raises(BudgetError, match="without a ledger"):
        gate.frequent_items(most=1)
    assert not gate.events


def test_a_threshold_below_the_least_is_refused():
    gate = private([[1, 1]] * 9, Domain(dict.fromkeys("ab", 2)), ApproxDP(1, "1e-6"))
    with pytest.raises(DomainError, match=r"threshold \(3\) must be at least 15"):
        gate.frequent_items(most=1, threshold=3)
    assert not gate.events


# Comparisons


def events_of(moved, epsilon, factor=2):
    """The two events of `above_threshold`, with the second noise a `factor` of the distance."""
    scales = (moved / (F(2, 5) * epsilon), factor * moved / (F(3, 5) * epsilon))
    return [
        Event(
            method="above_threshold",
            about=(),
            units=1,
            sampler=DiscreteLaplace(scale),
            l1=1,
            l2_squared=1,
        )
        for scale in scales
    ]


def largest_ratio(moved, epsilon, factor=2, most=4, queries=3):
    """The largest ratio of probabilities of a result over all small neighbouring scores."""
    events = events_of(moved, epsilon, factor)
    scores = list(itertools.product(range(most), repeat=queries))
    laws = {score: law_of_first(events, [np.array([2]), np.array(score)]) for score in scores}
    ratio = 0.0
    for one, other in itertools.product(scores, scores):
        if max(abs(x - y) for x, y in zip(one, other, strict=True)) <= moved:
            ratio = max(ratio, float((laws[one] / laws[other]).max()))
    return ratio


@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize("epsilon", [F(1, 2), F(3)])
def test_comparisons_are_private_on_all_small_scores(moved, epsilon):
    assert largest_ratio(moved, epsilon) <= math.exp(epsilon) * (1 + 1e-9)
    assert largest_ratio(moved, F(3), factor=F(1, 2)) > math.exp(3)


def test_the_law_of_the_first_is_a_law():
    events = events_of(1, F(1))
    law = law_of_first(events, [np.array([5]), np.array([0, 9, 3, 5])])
    assert law.shape == (5,) and (law > 0).all()
    assert abs(law.sum() - 1) < 1e-9


def test_the_place_is_the_first_noisy_score_above():
    """With next to no noise the answer is what the definition says."""
    codes = [[0, 0, 0]] * 30 + [[1, 2, 3]] * 20
    gate = private(codes, DOMAIN, PureDP(10**5))
    asked = {"threshold": 10, "spend": "1/10"}
    zero = np.zeros(len(CELLS), int)
    counts = gate._query_counts(CELLS)[0]
    large = np.flatnonzero(counts >= 10).tolist()
    assert gate.above_threshold(CELLS, zero, **asked) == large[0]
    assert gate.above_threshold(CELLS, zero, start=large[0] + 1, **asked) == large[1]
    assert gate.above_threshold(CELLS, counts, **asked) is None
    off = counts.copy()
    off[7] += 12
    assert gate.above_threshold(CELLS, off, **asked) == 7


class Stub:
    """Noise with given draws, clamped as a sampler clamps them."""

    scale = F(10**16)

    def __init__(self, *draws):
        self.draws = np.array(draws, np.int64)

    def sample(self, count, entropy):
        assert count == self.draws.size
        return self.draws


C = 2**62 - 1


@pytest.mark.parametrize(
    ("limit", "draws", "place"),
    [
        (-C, [-5, 0], 0),  # every draw that fits is above a limit beyond the lower end
        (C, [5, 2**61], -1),  # and below one beyond the upper end
        (C, [5, C - 1], 1),
        (0, [5 - C, -C, 9], 2),
        (0, [-C, C], 1),
    ],
    ids=str,
)
def test_draws_at_the_ends_of_64_bits_are_continued(limit, draws, place):
    gate = private([[0, 0, 0]], DOMAIN, PureDP(1))
    scores = np.full(len(draws), 2**60)
    scores[:-1] = 0
    for _ in range(5):
        assert gate._first_above(np.array([7]), scores, Stub(limit), Stub(*draws)) == place


def test_a_clamped_draw_is_continued_with_the_law_of_its_excess():
    entropy = SeededEntropy(3)
    scale = F(10**16)
    assert unclamped(-C + 1, scale, entropy) == -C + 1
    drawn = [unclamped(sign * C, scale, entropy) for sign in (1, -1) for _ in range(300)]
    assert min(drawn[:300]) >= C and max(drawn[300:]) <= -C
    excess = [float(F(abs(it) - C, 10**16)) for it in drawn]
    # An exponential variable of mean 1: the mean of 600 is within 6 standard errors, 0.25.
    assert abs(np.mean(excess) - 1) < 0.25


@pytest.mark.parametrize(
    "bad",
    [
        {"threshold": 0},
        {"threshold": -5},
        {"threshold": 2**50},
        {"threshold": 1, "start": 18},
        {"threshold": 1, "start": -1},
        {"threshold": 1, "spend": "2e-12"},
    ],
    ids=str,
)
def test_bad_arguments_are_refused_before_anything_is_charged(bad):
    gate = private([[0, 0, 0]], DOMAIN, PureDP(1))
    with pytest.raises((BudgetError, DomainError)):
        gate.above_threshold(CELLS, np.zeros(len(CELLS), int), **bad)
    assert not gate.events


# Both


class Watch:
    """Three comparisons, each after the last, and then a count."""

    def run(self, gate, workload):
        place, found = 0, []
        for _ in range(3):
            found.append(
                gate.above_threshold(
                    CELLS, np.arange(len(CELLS)) % 4, threshold=2, start=place, spend="1/4"
                )
            )
            place = 0 if found[-1] is None else (found[-1] + 1) % len(CELLS)
        return found, gate.count_rows()


@pytest.mark.slow
@pytest.mark.parametrize("budget", APPROX, ids=repr)
def test_the_audit_passes(budget):
    for most, least in [(1, 1), (3, 2)]:
        ask = Ask("frequent_items", most=most, least=least)
        assert audit(ask, domain=ITEMS, budget=budget, pairs=5).findings == ()
    assert audit(Watch(), domain=DOMAIN, budget=budget, pairs=5).findings == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "budget", [PureDP(2), ZCDP("0.5", rows_per_person=2)], ids=lambda budget: budget.kind
)
def test_the_audit_of_comparisons_passes_for_other_budgets(budget):
    assert audit(Watch(), domain=DOMAIN, budget=budget, pairs=5).findings == ()
