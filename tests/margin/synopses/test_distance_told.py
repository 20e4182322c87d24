"""A synopsis that is told how far its answers are from the truth has error bars that say so."""

import itertools
import math

import numpy as np
import pytest

from margin import Domain
from margin.solvers import IPF
from margin.synopses.estimate import from_measurements

NAMES = "abcdef"
PAIRS = list(itertools.combinations(NAMES, 2))


def of_the_strongest_pair(deviation=1.0):
    """A pair that depends on each other, and single attributes."""
    pair = (["a", "b"], [[450.0, 50.0], [50.0, 450.0]], deviation)
    singles = [([name], [500.0, 500.0], deviation) for name in NAMES[2:]]
    return from_measurements([pair, *singles], domain=Domain(dict.fromkeys(NAMES, 2)))


def expected_distance(synopsis):
    answers = synopsis.marginals(PAIRS)
    return sum(np.sqrt(answer.variance / 2).sum() for answer in answers)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
def test_the_error_bars_expect_the_distance(share):
    made = of_the_strongest_pair()
    told = made.with_distance(PAIRS, share * expected_distance(made))
    assert expected_distance(told) == pytest.approx(share * expected_distance(made), rel=1e-2)
    for before, after in zip(made.marginals(PAIRS), told.marginals(PAIRS), strict=True):
        assert after.counts.tolist() == before.counts.tolist()
        assert after.noise_variance.tolist() == before.noise_variance.tolist()
        assert (after.missed_variance <= before.missed_variance).all()


@pytest.mark.parametrize("share", [1.2, 2.0, 3.0])
def test_error_bars_grow_if_the_distance_is_larger_than_they_say(share):
    """The measured views may depend less on each other than the others do."""
    made = of_the_strongest_pair()
    told = made.with_distance(PAIRS, share * expected_distance(made))
    assert expected_distance(told) == pytest.approx(share * expected_distance(made), rel=1e-4)
    for before, after in zip(made.marginals(PAIRS), told.marginals(PAIRS), strict=True):
        assert after.counts.tolist() == before.counts.tolist()
        assert (after.missed_variance >= before.missed_variance).all()


def test_noise_of_the_distance_widens_nothing():
    """Only what is beyond two standard deviations of it does."""
    made = of_the_strongest_pair()
    distance = expected_distance(made)
    unsure = made.with_distance(PAIRS, 1.5 * distance, deviation=0.3 * distance)
    assert expected_distance(unsure) == pytest.approx(distance, rel=1e-4)
    rather_sure = made.with_distance(PAIRS, 1.5 * distance, deviation=0.1 * distance)
    assert expected_distance(rather_sure) == pytest.approx(1.3 * distance, rel=1e-4)
    narrower = made.with_distance(PAIRS, 0.8 * distance, deviation=0.3 * distance)
    assert expected_distance(narrower) == pytest.approx(0.8 * distance, rel=1e-2)


@pytest.mark.parametrize("distance", [math.inf, 1e9])
def test_no_distance_is_larger_than_twice_the_rows(distance):
    made = of_the_strongest_pair()
    told = made.with_distance(PAIRS, distance)
    most = 2 * made.held.total * len(PAIRS)
    assert expected_distance(told) == pytest.approx(most, rel=1e-4)


@pytest.mark.parametrize("distance", [-100.0, 0.0])
def test_what_is_missed_is_at_least_as_large_as_the_noise(distance):
    """A noisy distance may be negative."""
    made = of_the_strongest_pair(10.0)
    answers = made.with_distance(PAIRS, distance).marginals(PAIRS)
    noise, missed = (
        sum(getattr(answer, name).sum() for answer in answers)
        for name in ("noise_variance", "missed_variance")
    )
    before = sum(answer.missed_variance.sum() for answer in made.marginals(PAIRS))
    assert 0.999 * noise <= missed < before / 100


def test_views_within_views_change_nothing():
    made = of_the_strongest_pair()
    assert made.with_distance([["a"], ["a", "b"]], 0.0) is made


def test_views_that_are_mostly_measured_are_told():
    """Their distance says little of what other answers miss."""
    made = of_the_strongest_pair()
    held = [["a", "b"], ["a"], ["c"]]
    with pytest.warns(UserWarning, match="measured views hold 3 of its 5 views"):
        assert made.with_distance([*held, ["a", "c"], ["a", "d"]], 1.0) is made
    half = [*held[:2], ["a", "c"], ["a", "d"]]
    assert made.with_distance(half, 1.0) is not made


def test_a_solver_without_error_bars_is_told():
    made = of_the_strongest_pair().with_reconstruction(IPF())
    with pytest.warns(UserWarning, match=r"changes no error bars, because IPF tells none"):
        assert made.with_distance(PAIRS, 100.0) is made
    assert made.with_distance([["a"], ["a", "b"]], 0.0) is made


def test_nothing_is_warned_of_if_noise_made_the_total_negative():
    made = from_measurements(
        [(["a", "b"], np.full((2, 2), -9.0), 1.0)], domain={"a": 2, "b": 2, "c": 2}
    )
    assert made.with_distance([["a", "c"]], 5.0) is made
