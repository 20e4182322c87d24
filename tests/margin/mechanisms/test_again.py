"""The second choice of `Adaptive` under concentrated differential privacy."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from watched import Watched

import margin
from margin import ZCDP, Adaptive, Domain, PureDP, Workload
from margin.mechanisms.by_table import of_components
from margin.mechanisms.choosing.again import chosen_again
from margin.mechanisms.choosing.candidates import Candidates
from margin.mechanisms.choosing.probes import variance_after
from margin.mechanisms.choosing.strength import Strength
from margin.solvers import Evidence

BUDGET = ZCDP("0.02")
ROWS = 20_000.0
STRENGTHS = {
    "none": Strength.of("weak").scaled(1e-4),
    "medium": Strength.of("medium"),
    "strong": replace(Strength.of("strong"), pairs=0.3, triples=0.2),
}


def binary(count):
    return Domain({f"x{axis}": 2 for axis in range(count)})


def considered(domain):
    return Candidates(domain, Workload.all_kway(domain, 3), BUDGET)


def candidate(found, note):
    (one,) = (other for other in found if other.note == note)
    return one


def measured(domain, order, variance):
    """Evidence of all components of up to `order` attributes, all of whose moments are zero."""
    evidence = Evidence(sizes=domain.sizes)
    axes = range(len(domain))
    parts = [part for size in range(order + 1) for part in itertools.combinations(axes, size)]
    for part in parts:
        total = np.array(ROWS) if not part else np.zeros((1,) * len(part))
        evidence.add_component(part, total, variance)
    return evidence


@pytest.mark.parametrize("note", ["one-way tables", "components of up to 2 attributes"])
def test_two_halves_are_as_good_as_the_whole(note):
    """The noise of one candidate, measured with two halves of the budget, is that with all of it.

    Rows are spread evenly, and are very many: so no noise is removed with negative counts.
    """
    domain = binary(6)
    rows, strength = 1e12, replace(STRENGTHS["medium"], spread=1.0)
    prices = considered(domain)
    whole = candidate(prices.priced(strength, rows), note)
    half = variance_after(BUDGET, Fraction(1, 2))

    offered = prices.precision(whole)
    both = prices.combined(
        lambda axes: offered(axes) / half,
        whole,
        strength,
        rows,
        variance=half,
    )
    kept = [one.candidate for one in both if one.keeps]
    together = candidate(kept, note)
    assert together.noise == pytest.approx(whole.noise, rel=1e-6)
    assert together.missed == pytest.approx(whole.missed, rel=1e-9)


def test_the_removal_of_negative_counts_acts_on_both_halves():
    """In sparse tables little noise is left, in the earlier tables as in the later ones."""
    domain = binary(12)
    rows, strength = 3_000.0, replace(STRENGTHS["medium"], spread=0.4)
    prices = Candidates(domain, Workload.all_kway(domain, 3), ZCDP("0.5"))
    half = variance_after(ZCDP("0.5"), Fraction(1, 2))
    priced = prices.priced(strength, rows, variance=half)
    note = "6 views of up to 256 cells"
    first = candidate(priced, note)
    even = candidate(prices.priced(replace(strength, spread=1.0), rows, variance=half), note)
    assert first.noise < 0.7 * even.noise

    offered = prices.precision(first)
    both = prices.combined(
        lambda axes: offered(axes) / half,
        first,
        strength,
        rows,
        variance=half,
    )
    together = candidate([one.candidate for one in both if one.keeps], note)
    # A half, but for the largest size that noise can have.
    assert together.noise == pytest.approx(first.noise / 2, rel=0.05)


def test_a_tree_does_not_follow():
    domain = binary(8)
    held = of_components(domain, {(): 1.0})
    prices = considered(domain)
    first = prices.priced(STRENGTHS["medium"], ROWS)[0]
    both = prices.combined(held, first, STRENGTHS["medium"], ROWS, variance=2.0)
    assert "a spanning tree of pairs" not in {one.candidate.note for one in both}
    errors = [one.candidate.error for one in both]
    assert errors == pytest.approx(sorted(errors), rel=1e-3)


@pytest.mark.parametrize(
    ("strength", "order", "keeps"),
    [
        # What is asked is measured whole, beside what was measured before.
        ("strong", 3, True),
        # Pairs say nothing: their measurements are left out.
        ("none", 1, False),
    ],
)
def test_it_follows_what_was_learnt(strength, order, keeps):
    domain = binary(8)
    prices = considered(domain)
    first = candidate(prices.priced(STRENGTHS["medium"], ROWS), "components of up to 2 attributes")
    evidence = measured(domain, 2, 4e4)
    chosen, left, others = chosen_again(
        domain,
        prices,
        evidence,
        first,
        STRENGTHS[strength],
        ROWS,
        variance_after(BUDGET, Fraction(1, 2)),
    )
    deepest = max(
        size
        for size in range(4)
        if (prices.precision(chosen)(np.array([list(range(size))]))[0, -1]) > 0
    )
    assert deepest == order
    orders = {len(axes) for axes in left.precision}
    assert orders == ({0, 1, 2} if keeps else {0, 1})
    # Nothing is lost, and nothing is counted twice.
    parts = [left] if keeps else [left, others]
    assert others is None or not keeps
    for part in parts:
        for axes, precision in part.precision.items():
            assert precision == evidence.precision[axes]
            assert np.array_equal(part.weighted[axes], evidence.weighted[axes])
    assert sum(len(part.precision) for part in parts) == len(evidence.precision)
    # What is left is a set of tables that can be answered from.
    assert left.tables().total == pytest.approx(ROWS)


@pytest.mark.parametrize(
    ("budget", "choices"),
    [(ZCDP("0.02"), 1), (PureDP("0.5"), 0)],
    ids=repr,
)
def test_concentrated_privacy_alone_has_a_second_choice(monkeypatch, budget, choices):
    """The first choice has half of what the number of rows left, and all of it is spent."""
    left = []

    def spy(*asked):
        left.append(asked[-1])
        return chosen_again(*asked)

    monkeypatch.setattr("margin.mechanisms.choosing.adaptive.chosen_again", spy)
    monkeypatch.setattr("margin.mechanisms.choosing.adaptive.pays", lambda *_: False)
    monkeypatch.setattr("margin.mechanisms.choosing.adaptive._Course._look_share", lambda _: None)
    watched = Watched(Adaptive(rounds=0))
    margin.simulate(
        np.random.default_rng(0).integers(0, 2, (20_000, 6)),
        domain=binary(6),
        budget=budget,
        mechanism=watched,
        workload=Workload.all_kway(binary(6), 2),
        seed=0,
    )
    spent = [event.units for event in watched.events]
    assert sum(spent) == budget.units
    assert left == [variance_after(budget, Fraction(1, 2) + Fraction(1, 200))] * choices
    if choices:
        after_count = np.cumsum(spent[1:]) / sum(spent[1:])
        assert np.abs(after_count - 0.5).min() < 1e-3
