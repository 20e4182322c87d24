"""`LogThreshold`, `Zealous` and `PMW`: contracts, thresholds of the papers, and accuracy."""

import math

import numpy as np
import pytest

import margin
from margin import MWEM, ZCDP, ApproxDP, BudgetError, Domain, DomainError, PureDP
from margin.mechanisms import PMW, LogThreshold, Zealous
from margin.privacy.budget import Neighbours
from margin.testing import check_mechanism

ITEMS = Domain(dict.fromkeys("abcdef", 2))
FEW = Domain({"a": 2, "b": 3, "c": 2})
APPROX = [
    ApproxDP(1, "1e-3"),
    ApproxDP(2, "1e-2", rows_per_person=3),
    ApproxDP(3, "1e-1", neighbours=Neighbours.REPLACE_ROW),
]


def released(codes, domain, mechanism, budget, seed=1, workload=None):
    simulated = margin.simulate(
        codes, domain=domain, budget=budget, mechanism=mechanism, seed=seed, workload=workload
    )
    return simulated.synopsis


# Frequent items


@pytest.mark.parametrize("mechanism", [LogThreshold(most=2), Zealous(most=1, least=3)])
def test_frequent_items_keep_the_contract(mechanism):
    check_mechanism(mechanism, domain=ITEMS, budgets=APPROX, pairs=12)


@pytest.mark.parametrize("epsilon", ["0.1", 1, 4])
@pytest.mark.parametrize("delta", ["1e-9", "1e-5", "1e-2"])
@pytest.mark.parametrize("most", [1, 3, 20])
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_our_thresholds_are_at_most_those_of_the_papers(epsilon, delta, most, neighbours):
    """Zealous et al. take users' logs to be replaced; Korolova et al. take them to come or go."""
    budget = ApproxDP(epsilon, delta, neighbours=neighbours)
    domain = Domain(dict.fromkeys(map(str, range(20)), 2))
    codes = np.ones((3, 20), np.int64)
    ours = released(codes, domain, LogThreshold(most=most), budget).parameters["threshold"]
    if neighbours is Neighbours.ADD_REMOVE_ROW:
        assert ours <= LogThreshold.paper(budget, most=most).threshold
    theirs = Zealous.paper(budget, most=most, least=7, users=10_000)
    found = released(codes, domain, Zealous(most=most, least=7), budget)
    assert found.parameters["threshold"] == ours + 6
    assert found.parameters["threshold"] <= theirs.threshold


def test_formulas_of_the_papers():
    budget = ApproxDP(2, "1e-5")
    expected = 5 * (1 - math.log(2e-5 / 5) / 2)
    assert LogThreshold.paper(budget, most=5).threshold == math.ceil(expected + 0.5)
    scale = 2 * 5 / 2
    gap = max(
        -scale * math.log(2 - 2 * math.exp(-1 / scale)), -scale * math.log(2e-5 / (1000 * 5 / 8))
    )
    zealous = Zealous.paper(budget, most=5, least=8, users=1000)
    assert (zealous.least, zealous.threshold) == (8, 8 + math.ceil(gap + 0.5))


def test_what_is_published_is_ranked_and_all_else_is_zero():
    rng = np.random.default_rng(1)
    codes = (rng.random((5000, 6)) < [0.9, 0.001, 0.5, 0, 0.3, 0.02]).astype(np.int64)
    synopsis = released(codes, ITEMS, LogThreshold(most=6), ApproxDP(1, "1e-6"))
    assert synopsis.top(3) == ["a", "c", "e"]
    dropped = [1, 3]
    assert not synopsis.counts[dropped].any() and not synopsis.variance[dropped].any()
    assert np.abs(synopsis.counts[[0, 2, 4]] - codes[:, [0, 2, 4]].sum(axis=0)).max() < 150


def test_a_pure_budget_is_refused():
    with pytest.raises(BudgetError, match="ApproxDP"):
        released(np.ones((3, 6), int), ITEMS, LogThreshold(most=1), PureDP(1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: LogThreshold(most=0),
        lambda: LogThreshold(most=1, threshold=0),
        lambda: Zealous(most=1, least=0),
        lambda: Zealous(most=1.5),
        lambda: PMW(rounds=0),
        lambda: PMW(threshold=-1),
        lambda: PMW(replays=0),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises((BudgetError, DomainError)):
        make()


# Private multiplicative weights


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [PMW(rounds=2, replays=2, threshold=3), PMW.paper(rounds=2)])
def test_pmw_keeps_the_contract(mechanism):
    budgets = [PureDP(2), ZCDP("0.5", rows_per_person=2), ApproxDP(1, "1e-6")]
    check_mechanism(mechanism, domain=FEW, budgets=budgets, pairs=6)


def correlated(rows=5000, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.choice(4, rows, p=[0.6, 0.2, 0.15, 0.05])
    second = np.where(rng.random(rows) < 0.8, first, rng.integers(0, 4, rows))
    third = np.where(rng.random(rows) < 0.7, second % 3, rng.integers(0, 3, rows))
    return np.stack([first, second, third], axis=1), Domain({"x": 4, "y": 4, "z": 3})


def error(synopsis, codes, domain):
    gaps = []
    workload = margin.Workload.all_kway(domain, 2)
    for view, answer in zip(workload.views, synopsis.marginals(workload), strict=True):
        truth = np.zeros(domain.shape(view))
        np.add.at(truth, tuple(codes[:, axis] for axis in domain.axes(view)), 1)
        gaps.append(np.abs(answer.counts - truth).max() / len(codes))
    return max(gaps)


@pytest.mark.parametrize("mechanism", [PMW(rounds=6), PMW.paper(rounds=40, threshold=20)])
def test_the_table_comes_near_the_truth_with_little_noise(mechanism):
    codes, domain = correlated()
    uniform = np.stack(np.unravel_index(np.arange(48), domain.sizes), axis=1)
    before = error(released(uniform, domain, MWEM(rounds=1), PureDP(1000)), codes, domain)
    after = error(released(codes, domain, mechanism, PureDP(1000)), codes, domain)
    assert after < (0.01 if mechanism.whole else 0.9 * before)


def test_a_uniform_table_surprises_nobody():
    """No query is measured where the first table answers all of them."""
    domain = Domain({"x": 4, "y": 4, "z": 3})
    codes = np.tile(np.stack(np.unravel_index(np.arange(48), domain.sizes), axis=1), (50, 1))

    class Watched:
        def run(self, private, workload):
            synopsis = PMW.paper(rounds=5).run(private, workload)
            Watched.methods = [event.method for event in private.events]
            return synopsis

    released(codes, domain, Watched(), PureDP(50))
    assert Watched.methods == ["measure_linear", "above_threshold", "above_threshold"]


def test_the_stream_goes_on_behind_the_query_that_was_measured():
    codes, domain = correlated()
    places = []

    class Watched:
        def run(self, private, workload):
            synopsis = PMW.paper(rounds=8).run(private, workload)
            starts = [e.about[3] for e in private.events if e.method == "above_threshold"]
            places.extend(starts[::2])
            return synopsis

    released(codes, domain, Watched(), PureDP(1000))
    assert places == sorted(set(places)) and len(places) > 3


def test_a_large_table_is_refused_before_anything_is_spent():
    domain = Domain({f"a{number}": 10 for number in range(8)})
    with pytest.raises(DomainError, match="PMW needs 100,000,000 cells"):
        released(np.zeros((2, 8), int), domain, PMW(), PureDP(1))
