"""The auditor: it passes what is private, at a stated risk, and says what is wrong in words."""

from collections import Counter
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin import MarginError, PriView
from margin.audit import BlackBox, audit, neighbours
from margin.audit.distinguishing_event import distinguishing_event, largest_probability
from margin.domain.domain import Domain
from margin.noise.entropy import SeededEntropy
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace
from margin.privacy.budget import ZCDP, ApproxDP, Neighbours, PureDP
from margin.testing import check_mechanism

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 4})
VIEWS = [["a", "b"], ["b", "c", "d"]]
MECHANISMS = [
    PriView(),
    PriView(views=VIEWS),
    PriView.paper(views=VIEWS),
    PriView(views=VIEWS, nonnegativity=None),
]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["default", "views", "paper", "raw"])
def test_our_mechanisms_pass(mechanism):
    """Forty made-up pairs for each of five budgets."""
    check_mechanism(mechanism)


BUDGETS = [
    PureDP(1),
    ZCDP("0.1"),
    ApproxDP(1, "1e-6"),
    PureDP(1, neighbours=Neighbours.REPLACE_ROW),
]
rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)),
    max_size=30,
)


@settings(max_examples=40)
@given(rows, rows.filter(bool), st.booleans(), st.sampled_from(BUDGETS))
def test_our_mechanism_passes_on_any_pair(shared, news, swapped, budget):
    other = [news[-1]] if budget.neighbours is Neighbours.REPLACE_ROW else []
    pair = tuple(
        np.array(table, int).reshape(-1, 4) for table in (shared + other, [*shared, news[0]])
    )
    pair = pair[::-1] if swapped else pair
    assert audit(PriView(views=VIEWS), domain=DOMAIN, budget=budget, pairs=[pair]).findings == ()


@pytest.mark.parametrize(
    "budget", [PureDP(10**4), PureDP("1e-6"), ZCDP(10**4), ZCDP("1e-9")], ids=repr
)
def test_extreme_budgets_raise_no_alarm(budget):
    assert audit(Plain(), domain=DOMAIN, budget=budget, pairs=20).findings == ()


class Plain:
    def run(self, private, workload):
        return np.concatenate([m.counts.ravel() for m in private.measure(VIEWS)])


class Leaky:
    def run(self, private, workload):
        return private._tables([("a",)])[0].sum()


@pytest.mark.parametrize(
    "budget", [PureDP(1), pytest.param(ZCDP("0.5"), marks=pytest.mark.slow)], ids=repr
)
def test_the_black_box_passes_what_is_private(budget):
    found = audit(
        Plain(),
        domain=DOMAIN,
        budget=budget,
        pairs=3,
        black_box=BlackBox(runs=1000, output=lambda out: out),
    )
    assert found.ok and found.runs == 1000 and found.pairs == 3


def test_the_black_box_looks_at_the_tables_of_a_synopsis():
    assert audit(
        PriView(views=VIEWS, nonnegativity=None),
        domain=DOMAIN,
        budget=PureDP(1),
        pairs=1,
        black_box=BlackBox(runs=40),
    ).ok


def test_what_was_found_is_said():
    found = audit(Leaky(), domain=DOMAIN, budget=PureDP(1), pairs=5)
    assert not found.ok and "past the gate" in found.findings[0]
    with pytest.raises(AssertionError, match="Leaky is not private"):
        check_mechanism(Leaky(), domain=DOMAIN, pairs=5)


@pytest.mark.parametrize("mechanism", [PriView, None, "priview", object()])
def test_a_mechanism_is_an_object_with_run(mechanism):
    with pytest.raises(MarginError, match="run"):
        audit(mechanism, domain=DOMAIN, budget=PureDP(1))


@pytest.mark.parametrize("budget", [*BUDGETS, ZCDP(1, rows_per_person=3)], ids=repr)
def test_made_up_tables_are_neighbours(budget):
    pairs = list(neighbours(DOMAIN, budget, 60))
    for first, second in pairs:
        ours, theirs = (sorted(map(tuple, table.tolist())) for table in (first, second))
        removed = sum((Counter(ours) - Counter(theirs)).values())
        added = sum((Counter(theirs) - Counter(ours)).values())
        if budget.neighbours is Neighbours.REPLACE_ROW:
            assert removed == added <= budget.rows_per_person
        else:
            assert min(removed, added) == 0 and 1 <= max(removed, added) <= budget.rows_per_person
    assert {len(first) for first, _ in pairs} >= set(range(3, 20))


# The statistics of the black box


def laplace(scale, shift, count, seed, cells=6):
    noise = DiscreteLaplace(scale).sample(count * cells, SeededEntropy(seed)).reshape(count, cells)
    return (noise + np.array([shift] + [0] * (cells - 1))).astype(float)


def test_the_false_alarms_are_as_rare_as_stated():
    """At a risk of 0.05 a correct mechanism is accused in at most 12 of 60 audits but with
    probability 1e-4."""
    claim = largest_probability(PureDP(1))
    alarms = [
        distinguishing_event(
            laplace(F(1), 0, 400, seed), laplace(F(1), 1, 400, 1000 + seed), claim, 0.05
        )
        != ""
        for seed in range(60)
    ]
    assert sum(alarms) <= 12


@pytest.mark.parametrize("scale", [F(1, 2), F(1, 10)])
def test_too_little_noise_is_found(scale):
    found = distinguishing_event(
        laplace(scale, 0, 20_000, 1),
        laplace(scale, 1, 20_000, 2),
        largest_probability(PureDP(1)),
        1e-6,
    )
    assert "on its neighbour" in found


def test_too_little_gaussian_noise_is_found():
    first, second = (
        DiscreteGaussian(F(1, 8)).sample(20_000, SeededEntropy(seed)).reshape(-1, 1) + float(seed)
        for seed in (0, 1)
    )
    assert distinguishing_event(first, second, largest_probability(ZCDP("0.5")), 1e-6)


def test_float_noise_is_found_by_its_last_bits():
    """Noise on a grid of 2**-53 that does not hold for counts of one: the fractions differ (Mironov
    2012)."""
    rng = np.random.default_rng(1)
    noise = rng.laplace(size=(2, 4000, 1))
    first, second = noise[0], noise[1] + 1
    fractions = [(table * 2.0**53) % 1 for table in (first, second)]
    assert distinguishing_event(*fractions, largest_probability(PureDP(1)), 1e-6)


def test_the_claims():
    pure = largest_probability(PureDP(1))
    assert pure(0.1) == pytest.approx(np.e * 0.1) and pure(1.0) == 1.0
    assert pure(0.9) == pytest.approx(1 - 0.1 / np.e)
    concentrated = largest_probability(ZCDP("0.5"))
    assert (np.diff(concentrated(np.linspace(0, 1, 50))) >= 0).all() and 0 < concentrated(0.0)[
        0
    ] <= 1e-10
