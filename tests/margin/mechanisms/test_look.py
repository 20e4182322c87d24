"""`Judge`: what pairs miss and what their noise does, against dense algebra."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from margin import ZCDP, Domain, PureDP, Workload
from margin.mechanisms.choosing.contests import l2_share
from margin.mechanisms.choosing.look import Found, Judge, best_shares
from margin.mechanisms.fitted import LOOK_DOUBT
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


def projection(axes):
    """The matrix that sums the cells of the whole table to a marginal."""
    parts = [
        np.eye(size) if axis in axes else np.ones((1, size)) for axis, size in enumerate(SIZES)
    ]
    matrix = np.ones((1, 1))
    for part in parts:
        matrix = np.kron(matrix, part)
    return matrix


def expected_noise(measured, asked):
    """The mean squared error of least squares: moments that are not measured are taken as known."""
    information = sum(
        projection(axes).T @ projection(axes) / variance for axes, variance in measured
    )
    covariance = np.linalg.pinv(information, rcond=1e-10)
    traces = [np.trace(projection(axes) @ covariance @ projection(axes).T) for axes in asked]
    return np.mean(traces)


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


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("distance", [0, 40, 900, 5_000])
def test_what_is_missed_is_the_squared_distance_less_the_squared_noise(asked, distance):
    judge = Judge(DOMAIN, Workload([names(axes) for axes in asked]), found())
    gate = Told([distance * (place + 1) for place in range(len(asked))])
    judge.measure(gate, spend=Fraction(1, 7))
    assert gate.spend == Fraction(1, 7)
    l2_distances = np.multiply([l2_share(answer) for answer in gate.public], gate.distances)
    noise = expected_noise(MEASURED.items(), asked)
    expected = max(0.0, np.mean(l2_distances) ** 2 - noise)
    # Weights are rounded to thousandths.
    assert judge.missed == pytest.approx(expected, rel=0.02, abs=0.02 * noise)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("left", [Fraction(4, 5), Fraction(1, 1000)], ids=str)
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_noise_after_another_measurement_is_that_of_least_squares(asked, left, budget):
    look = found()
    judge = Judge(DOMAIN, Workload([names(axes) for axes in asked]), look)
    shares = best_shares(DOMAIN, budget, look.views)
    again = []
    for axes, share in zip(MEASURED, shares, strict=True):
        units = int(budget.units * left * Fraction(share / sum(shares)))
        again.append((axes, budget.count_noise(units).variance))
    expected = expected_noise([*MEASURED.items(), *again], asked)
    assert judge.noise_after(budget, left) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("distance", [0, 40, 900])
def test_what_the_noise_of_the_distance_hides_counts_as_missed(distance):
    """The distance of answers that miss nothing is near its noise: the error is never taken as
    that of another measurement alone."""
    look, asked = found(), ASKED["all pairs"]
    judge = Judge(DOMAIN, Workload([names(axes) for axes in asked]), look)
    judge.measure(Told([distance] * len(asked)), spend=Fraction(1, 7))
    noise = expected_noise(MEASURED.items(), asked)
    budget, left = PureDP(1), Fraction(1, 2)
    expected = judge.missed + LOOK_DOUBT * noise + judge.noise_after(budget, left)
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
    noise = expected_noise(measured.items(), asked)
    for judged in (2 * assumed, assumed, assumed / 3, 0.0):
        judge.distance = math.sqrt(judged)
        told = judge.with_missed(synopsis)
        least = max(judged, 4 * noise)
        factor = math.sqrt(min(1.0, least / assumed))
        expected = {key: scale * (factor if key[0] else 1) for key, scale in learnt.items()}
        assert told is not synopsis and told.held is synopsis.held
        assert (told.scales or learnt) == pytest.approx(expected)
        after = np.mean([one.missed_variance.sum() for one in told.marginals(judge.sets)])
        # The part of a random sample of rows stays.
        assert factor**2 * assumed * 0.999 <= after <= assumed * 1.001
    # The least that is taken as missed is below what the synopsis assumed.
    assert 4 * noise < assumed / 2
