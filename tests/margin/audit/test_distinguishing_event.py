"""The statistics of the black box: errors are found, at a stated risk of false alarms."""

from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaincinv

from margin.audit.distinguishing_event import (
    JudgedEvent,
    distinguishing_event,
    largest_probability,
)
from margin.noise.entropy import SeededEntropy
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace
from margin.privacy.budget import ZCDP, ApproxDP, PureDP

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "own_mechanism.md").read_text()


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
        ).finding(claim)
        != ""
        for seed in range(60)
    ]
    assert sum(alarms) <= 12


@pytest.mark.parametrize("scale", [F(1, 2), F(1, 10)])
def test_too_little_noise_is_found(scale):
    claim = largest_probability(PureDP(1))
    event = distinguishing_event(
        laplace(scale, 0, 20_000, 1), laplace(scale, 1, 20_000, 2), claim, 1e-6
    )
    assert "on its neighbour" in event.finding(claim)
    # What is shown is true, and not much less than the truth.
    assert 0.6 < event.least_loss(PureDP(1)) * scale <= 1


def test_the_only_number_of_an_output_is_called_the_output():
    claim = largest_probability(PureDP(1))
    outputs = [laplace(F(1, 2), shift, 20_000, seed, cells=1) for shift, seed in ((0, 1), (1, 2))]
    finding = distinguishing_event(*outputs, claim, 1e-6).finding(claim)
    assert "the output" in finding and "total" not in finding


@pytest.mark.parametrize(
    "budget", [PureDP, lambda e: ApproxDP(e, F(1, 1000)), ZCDP], ids=["pure", "approx", "zcdp"]
)
def test_the_least_loss_is_just_allowed(budget):
    """A budget of the least loss allows the bounds, and one of a little less does not."""
    for lower, upper in [(0.5, 0.1), (0.99, 0.9), (0.2, 0.19)]:
        event = JudgedEvent(name="e", hits=1, misses=1, runs=2, lower=lower, upper=upper)
        least = event.least_loss(budget(F(1)))
        above, below = (
            budget(F(least * factor).limit_denominator(10**9)) for factor in (1.01, 0.97)
        )
        assert least > 0 and not event.finding(largest_probability(above))
        assert event.finding(largest_probability(below))
    nothing = JudgedEvent(name="e", hits=1, misses=1, runs=2, lower=0.1, upper=0.2)
    assert nothing.least_loss(budget(F(1))) == 0


def test_too_little_gaussian_noise_is_found():
    first, second = (
        DiscreteGaussian(F(1, 8)).sample(20_000, SeededEntropy(seed)).reshape(-1, 1) + float(seed)
        for seed in (0, 1)
    )
    claim = largest_probability(ZCDP("0.5"))
    event = distinguishing_event(first, second, claim, 1e-6)
    # A shift by one under a variance of 1 / 8 is 4-zCDP.
    assert event.finding(claim) and 0.5 < event.least_loss(ZCDP("0.5")) <= 4


def test_float_noise_is_found_by_its_last_bits():
    """Noise on a grid of 2**-53 that does not hold for counts of one: the fractions differ (Mironov
    2012)."""
    rng = np.random.default_rng(1)
    noise = rng.laplace(size=(2, 4000, 1))
    first, second = noise[0], noise[1] + 1
    fractions = [(table * 2.0**53) % 1 for table in (first, second)]
    claim = largest_probability(PureDP(1))
    assert distinguishing_event(*fractions, claim, 1e-6).finding(claim)


def test_the_claims():
    pure = largest_probability(PureDP(1))
    assert pure(0.1) == pytest.approx(np.e * 0.1) and pure(1.0) == 1.0
    assert pure(0.9) == pytest.approx(1 - 0.1 / np.e)
    concentrated = largest_probability(ZCDP("0.5"))
    assert (np.diff(concentrated(np.linspace(0, 1, 50))) >= 0).all() and 0 < concentrated(0.0)[
        0
    ] <= 1e-10


# (stated epsilon, how many times larger the epsilon of the noise is): number of runs.
FOUND = {
    (0.1, 1.5): 140_000,
    (0.1, 2): 34_000,
    (0.1, 4): 4_200,
    (0.5, 1.2): 49_000,
    (0.5, 1.5): 8_400,
    (0.5, 2): 2_400,
    (0.5, 4): 390,
    (1, 1.2): 20_000,
    (1, 1.5): 3_600,
    (1, 2): 1_100,
    (1, 4): 240,
    (2, 1.2): 13_000,
    (2, 1.5): 2_600,
    (2, 2): 950,
    (2, 4): 340,
}
THRESHOLDS = np.arange(0.5, 1, 0.1)


def probability_to_find(stated, runs, p, q):
    """The probability that an audit finds an event, by exact sums: p and q are its probabilities on
    the two tables."""
    tested = runs // 2
    alpha = 1e-6 / 3
    hits = np.arange(tested + 1)
    lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1), tested - hits + 1, alpha / 2), 0.0)
    misses = np.minimum(hits, tested - 1)
    upper = np.where(hits < tested, betaincinv(misses + 1, tested - misses, 1 - alpha / 2), 1.0)
    # The fewest hits that are found, for each number of misses.
    least = np.searchsorted(lower, largest_probability(PureDP(F(str(stated))))(upper), side="right")
    return max(
        stats.binom.pmf(hits, tested, low) @ stats.binom.sf(least - 1, tested, high)
        for high, low in zip(p, q, strict=True)
    )


def of_noise(epsilon):
    """The probabilities of "at least c + t" for counts of c + 1 and c with Laplace noise."""
    return 1 - np.exp(-epsilon * (1 - THRESHOLDS)) / 2, np.exp(-epsilon * THRESHOLDS) / 2


@pytest.mark.parametrize(("stated", "factor"), FOUND, ids=str)
def test_the_stated_number_of_runs_finds_the_excess(stated, factor):
    """The table of docs/howto/own_mechanism.md: nine of ten audits find it."""
    runs = FOUND[stated, factor]
    assert f"| {runs:,} |" in PAGE
    assert 0.87 < probability_to_find(stated, runs, *of_noise(stated * factor)) < 0.96


def test_the_smallest_of_two_counts_is_found_and_each_alone_is_not():
    """Both counts have the noise of the whole budget: 2,300 runs, as the same page says."""
    p, q = of_noise(1)
    assert "2,300 runs" in PAGE
    assert 0.87 < probability_to_find(1, 2_300, p**2, q**2) < 0.96
    assert probability_to_find(1, 2_300, p, q) < 1e-6
