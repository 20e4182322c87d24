"""`Judge`: what pairs miss and what their noise does, against simulations of their tables."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from margin import ZCDP, Domain, PureDP, Workload
from margin.mechanisms.choosing.contests import l2_share
from margin.mechanisms.choosing.look import Found, Judge, best_shares, look_share
from margin.mechanisms.fitted import JUDGE_DOUBT, LOOK_DOUBT
from margin.private.counts import LARGEST_WEIGHT
from margin.solvers import Evidence, Newton

SIZES = (3, 4, 2, 2)
DOMAIN = Domain(dict(zip("abcd", SIZES, strict=True)))
MEASURED = {(0, 1): 30.0, (1, 2): 12.0, (3,): 50.0}
BUDGETS = [PureDP("0.4"), ZCDP("0.02")]


def names(axes):
    return tuple(DOMAIN.attributes[axis] for axis in axes)


def found(measured=MEASURED):
    rng = np.random.default_rng(0)
    array = 2_000 * rng.dirichlet(np.full(math.prod(SIZES), 0.3)).reshape(SIZES)
    evidence = Evidence(sizes=SIZES)
    for axes, variance in measured.items():
        table = array.sum(axis=tuple(axis for axis in range(4) if axis not in axes))
        evidence.add_table(axes, table + rng.normal(0, math.sqrt(variance), table.shape), variance)
    return Found(evidence=evidence, views=[names(axes) for axes in measured])


ASKED = {
    "pairs that are measured": [(0, 1), (1, 2)],
    "all pairs": list(itertools.combinations(range(4), 2)),
    "triples": list(itertools.combinations(range(4), 3)),
    "attributes and one pair": [(0,), (1,), (1, 3)],
}


class Told:
    """A gate that tells the weighted sum of given distances."""

    def __init__(self, distances):
        self.distances = distances

    def total_distance(self, views, public, *, weights, spend):
        assert all(
            np.shape(one) == DOMAIN.shape(view) for view, one in zip(views, public, strict=True)
        )
        assert sum(weights) <= LARGEST_WEIGHT
        self.public, self.spend = public, spend
        return int(np.dot(weights, self.distances))


class Silent:
    """A gate that tells no distance."""

    def total_distance(self, views, public, *, weights, spend):
        return 0


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("distance", [0, 40, 900, 5_000])
def test_what_is_missed_is_the_squared_distance_less_the_squared_noise(asked, distance):
    judge = Judge(DOMAIN, Workload([names(axes) for axes in asked]), found())
    gate = Told([distance * (place + 1) for place in range(len(asked))])
    judge.measure(gate, spend=Fraction(1, 7))
    assert gate.spend == Fraction(1, 7)
    errors = judge._errors_of_noise(judge.found.evidence.precision)
    shares = [l2_share(answer) for answer in gate.public]
    pairs = zip(shares, errors, strict=True)
    of_noise = np.mean([share * np.abs(error).sum() for share, error in pairs])
    noise = np.mean([np.sum(error**2) for error in errors])
    # The noise tells how the two distances compare.
    l2_distance = np.mean(np.multiply(shares, gate.distances)) * math.sqrt(noise) / of_noise
    assert judge.noise == pytest.approx(noise)
    # Weights are rounded to thousandths.
    expected = max(0.0, l2_distance**2 - noise)
    assert judge.missed == pytest.approx(expected, rel=0.02, abs=0.02 * noise)


WIDE = (12, 10, 12, 3)
WIDE_MEASURED = {(0, 1): 30.0, (1, 2): 12.0, (3,): 50.0}
WIDE_ASKED = {
    "pairs that are measured": [(0, 1), (1, 2)],
    "a pair that is not": [(0, 2)],
    "triples": [(0, 1, 2), (0, 2, 3)],
}


def wide_look():
    """Pairs that share an attribute, and a domain of their sizes."""
    rng = np.random.default_rng(1)
    array = 40_000 * rng.dirichlet(np.full(math.prod(WIDE), 0.5)).reshape(WIDE)
    evidence = Evidence(sizes=WIDE)
    for axes, variance in WIDE_MEASURED.items():
        table = array.sum(axis=tuple(axis for axis in range(4) if axis not in axes))
        evidence.add_table(axes, table + rng.normal(0, math.sqrt(variance), table.shape), variance)
    domain = Domain(dict(zip("abcd", WIDE, strict=True)))
    return domain, Found(evidence=evidence, views=[names(axes) for axes in WIDE_MEASURED])


def simulated_noise(domain, look, measured, asked):
    """The mean squared error of answers if the tables of a look were true and measured anew."""
    views = [names(axes) for axes in asked]
    synopsis = look.synopsis(domain)
    true = synopsis.marginals(views)
    squares = []
    for seed in range(20):
        rng = np.random.default_rng([7, seed])
        evidence = Evidence(sizes=domain.sizes)
        for axes, variance in measured:
            table = synopsis.marginal(list(names(axes))).counts
            noise = rng.normal(0, math.sqrt(variance), table.shape)
            evidence.add_table(axes, table + noise, variance)
        again = Found(evidence=evidence, views=look.views).synopsis(domain).marginals(views)
        squares += [
            np.sum((one.counts - other.counts) ** 2) for one, other in zip(again, true, strict=True)
        ]
    return np.mean(squares)


@pytest.mark.parametrize("asked", WIDE_ASKED.values(), ids=WIDE_ASKED)
def test_noise_is_that_of_tables_that_are_measured_anew(asked):
    """Noise reaches answers that are not measured, too. One simulation, whose noise has the
    expected size, is compared with the mean of 20."""
    domain, look = wide_look()
    judge = Judge(domain, Workload([names(axes) for axes in asked]), look)
    judge.measure(Silent(), spend=None)
    expected = simulated_noise(domain, look, WIDE_MEASURED.items(), asked)
    assert judge.noise == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("asked", WIDE_ASKED.values(), ids=WIDE_ASKED)
def test_noise_after_another_measurement_is_that_of_both(asked, budget):
    domain, look = wide_look()
    left = Fraction(4, 5)
    judge = Judge(domain, Workload([names(axes) for axes in asked]), look)
    judge.measure(Silent(), spend=None)
    shares = best_shares(domain, budget, look.views)
    again = []
    for axes, share in zip(WIDE_MEASURED, shares, strict=True):
        units = int(budget.units * left * Fraction(share / sum(shares)))
        again.append((axes, budget.count_noise(units).variance))
    expected = simulated_noise(domain, look, [*WIDE_MEASURED.items(), *again], asked)
    assert judge.noise_after(budget, left) == pytest.approx(expected, rel=0.25)
    assert expected < 0.95 * judge.noise


SHARES = {
    "noise of pairs decides": ({"noise": 3.0, "error": 12.0, "choice_noise": 1.0}, "0.11"),
    "choices decide": ({"noise": 3.0, "error": 60.0, "choice_noise": 8.0}, "0.1408"),
    "never more than the most": ({"noise": 7.0, "error": 6.0, "choice_noise": 1.0}, "0.22"),
    "never less than the least": ({"noise": 1.0, "error": 99.0, "choice_noise": 1.0}, "0.03"),
}


@pytest.mark.parametrize(("told", "expected"), SHARES.values(), ids=SHARES)
def test_a_look_spends_no_more_than_it_must(told, expected):
    share = look_share(Fraction("0.22"), rows=1_000.0, **told)
    assert share == Fraction(expected)


@pytest.mark.parametrize("distance", [0, 40, 900])
def test_what_the_noise_of_the_distance_hides_counts_as_missed(distance):
    """The distance of answers that miss nothing is near its noise: the error is never taken as
    that of another measurement alone."""
    look, asked = found(), ASKED["all pairs"]
    judge = Judge(DOMAIN, Workload([names(axes) for axes in asked]), look)
    judge.measure(Told([distance] * len(asked)), spend=Fraction(1, 7))
    budget, left = PureDP(1), Fraction(1, 2)
    expected = judge.missed + LOOK_DOUBT * judge.noise + judge.noise_after(budget, left)
    assert judge.error_after(budget, left) == pytest.approx(expected)


def test_scales_are_lowered_so_that_answers_miss_as_much_as_was_judged():
    # No table holds the last attribute: its own scale is not of what pairs miss.
    measured = {axes: variance for axes, variance in MEASURED.items() if axes != (3,)}
    look, asked = found(measured), ASKED["triples"]
    judge = Judge(DOMAIN, Workload([names(axes) for axes in asked]), look)
    synopsis = look.synopsis(DOMAIN, reconstruction=Newton())
    learnt = synopsis.usual_scales()
    assert any(depth == 0 for depth, _ in learnt) and any(depth > 0 for depth, _ in learnt)
    answers = synopsis.marginals(judge.sets)
    assumed = np.mean([answer.missed_variance.sum() for answer in answers])
    judge.noise = noise = assumed / 10
    for judged in (2 * assumed, assumed / 2, assumed / 6, 0.0):
        judge.distance = math.sqrt(judged)
        told = judge.with_missed(synopsis)
        least = JUDGE_DOUBT**2 * max(judged, 4 * noise)
        factor = math.sqrt(min(1.0, least / assumed))
        expected = {key: scale * (factor if key[0] else 1) for key, scale in learnt.items()}
        assert told is not synopsis and told.held is synopsis.held
        assert (told.scales or learnt) == pytest.approx(expected)
        after = np.mean([one.missed_variance.sum() for one in told.marginals(judge.sets)])
        # The part of a random sample of rows stays.
        assert factor**2 * assumed * 0.999 <= after <= assumed * 1.001
