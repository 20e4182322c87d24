"""Intervals of reconstructed counts near zero are shorter than their variance says."""

import math
from statistics import NormalDist

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from margin import Domain, Marginal
from margin.domain.bounds import half_widths, whole_bounds
from margin.synopses import Count

QUANTILE = 1.959964


def _widths(counts, sd, *, missed_share):
    variance = np.full(len(counts), sd**2)
    missed = missed_share * variance
    return half_widths(counts, variance - missed, missed, level=0.95)


def test_only_reconstructed_counts_near_zero_have_shorter_intervals():
    counts = np.array([-5.0, 0.0, 10.0, 20.0, 1000.0])
    full = np.full(5, 10 * QUANTILE)
    assert _widths(counts, 10.0, missed_share=0.0) == pytest.approx(full)
    near_zero = [2.5, 2.5, 3.5, 4.5, 10.0]
    found = _widths(counts, 10.0, missed_share=1e-12)
    assert found == pytest.approx(QUANTILE * np.array(near_zero))


def test_a_little_that_is_missed_makes_intervals_near_zero_much_longer():
    counts = np.zeros(1)
    shares = [0.01, 0.02, 0.9, 1.0]
    found = [_widths(counts, 1.0, missed_share=share).item() / QUANTILE for share in shares]
    noise = [(1 - share) / 16 for share in shares]
    missed = [0.16, 0.32, 0.1 + 0.16 * 0.9, 0.16]
    assert found == pytest.approx(np.sqrt(np.add(noise, missed)).tolist())


@settings(max_examples=200)
@given(
    st.floats(1e-6, 30),
    st.floats(1e-6, 10),
    st.floats(0.0, 10),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
    st.sampled_from([0.0, 3.0]),
)
def test_intervals_that_begin_at_zero_hold_the_rows_of_a_random_sample(
    count, missed, noise, level, kurtosis
):
    half = half_widths(count, noise, missed, level=level, kurtosis=kurtosis).item()
    if half >= count:
        assert scipy.stats.poisson.cdf(count + half + 1e-9, count) >= level - 1e-12
    # Counts within views, and counts that nothing is known to miss, have no such bound.
    within = half_widths(count, noise, 0.0, level=level).item()
    assert within == pytest.approx(NormalDist().inv_cdf((1 + level) / 2) * noise**0.5)


def test_the_high_bound_is_the_quantile_of_a_poisson_law():
    counts = np.array([0.0, 0.05, 0.06, 0.35, 0.36, 0.81, 0.82])
    high = counts + half_widths(counts, np.zeros(7), counts**2, level=0.95)
    assert high == pytest.approx([0, 0.05 + 0.7 * 0.05 * QUANTILE, 1, 1, 2, 2, 3])


def test_what_has_no_error_or_an_unknown_one_stays():
    assert _widths(np.array([7.0]), 0.0, missed_share=0.5).tolist() == [0.0]
    assert np.isnan(_widths(np.array([7.0]), math.nan, missed_share=0.5)).all()


def test_what_has_no_noise_stays_whatever_its_law():
    kurtosis = np.array([0.0, 3.0])
    assert half_widths(7.0, np.zeros(2), 0.0, level=0.95, kurtosis=kurtosis).tolist() == [0, 0]
    assert half_widths(7.0, 0.0, 0.0, level=0.95, kurtosis=3.0) == 0


@pytest.mark.parametrize("level", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("variance", [2.0, 4.0, 1e4])
def test_sums_of_many_draws_have_little_wider_intervals_than_normal_noise(level, variance):
    wide = half_widths(0.0, variance, 0.0, level=level, kurtosis=1e-9)
    normal = half_widths(0.0, variance, 0.0, level=level)
    assert normal <= wide <= min(2.5 * normal, normal + 0.6)


def test_a_count_and_a_marginal_of_one_cell_have_the_same_bounds():
    marginal = Marginal(
        Domain({"x": 1}),
        np.array([3.0]),
        np.array([16.0]),
        missed_variance=np.array([9.0]),
    )
    count = Count(estimate=3.0, noise_variance=16.0, missed_variance=9.0, reconstructed=True)
    low, high = marginal.interval(0.9)
    assert (low.item(), high.item()) == pytest.approx(count.interval(0.9))


def test_counts_that_cannot_be_negative_are_inside():
    """Poisson counts of rate 0.5 and the smooth estimate of each: the rate of the group. The noise
    of a cell is far larger. False alarm: below 10^-6."""
    truth = np.random.default_rng(0).poisson(0.5, 10_000)
    half = _widths(np.full(len(truth), 0.5), 10.0, missed_share=0.01)
    assert (np.abs(truth - 0.5) <= half).mean() > 0.99


def test_what_the_documentation_says_of_counts_with_laplace_noise():
    """P(|X| <= k) = 1 - 2 a^(k + 1) / (1 + a) for discrete Laplace noise with a = exp(-epsilon)."""

    def held(epsilon):
        ratio = math.exp(-epsilon)
        half = half_widths(0.0, 2 * ratio / (1 - ratio) ** 2, 0.0, level=0.95, kurtosis=3.0)
        return 1 - 2 * ratio ** (math.floor(half) + 1) / (1 + ratio)

    assert min(held(place / 1000) for place in range(10, 6000)) >= 0.95
    assert max(held(place / 1000) for place in range(10, 101)) < 0.956
    assert held(1.0) == pytest.approx(0.973, abs=1e-3)


@given(
    low=st.floats(0, 1e9),
    width=st.floats(0, 1e6),
)
def test_whole_bounds_are_the_nearest_ones_outside(low, width):
    high = low + width
    whole_low, whole_high = whole_bounds(low, high)
    assert whole_low == int(whole_low) and whole_high == int(whole_high)
    # A millionth of a row is taken for a rounding error.
    assert low - 1 < whole_low <= low + 1e-6 and high - 1e-6 <= whole_high < high + 1


def test_whole_bounds_keep_what_is_certain_and_what_is_not_known():
    low, high = whole_bounds(np.array([3 + 1e-9, np.nan]), np.array([3 - 1e-9, np.nan]))
    assert low[0] == high[0] == 3 and np.isnan([low[1], high[1]]).all()
