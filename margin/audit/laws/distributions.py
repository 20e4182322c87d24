"""Exact distribution functions of the declared noise, computed from the definitions.

They share no code with `margin.noise`, which draws the noise.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from ..._types import Floats, Integers
from ...noise.kept_cells import Keep
from ...noise.laws import DiscreteGaussian, DiscreteLaplace
from ...private import Cut

__all__ = ["at_most", "kept_counts", "mean_cosine", "median_size", "variance_of"]

# Largest rate 1 / scale. Beyond it, exp(-rate) is zero.
_LARGEST_RATE = 700.0

# Largest number of values on each side of zero in a table of probabilities.
_LONGEST_TABLE = 10**6


def variance_of(sampler: Any) -> float:
    """The variance of discrete Gaussian or discrete Laplace noise."""
    if isinstance(sampler, DiscreteGaussian):
        return _tabulated(sampler)[2]
    # With r = exp(-1 / scale), the variance is 2 r / (1 - r)**2.
    rate = 1 / float(sampler.scale) if sampler.scale > 1e-3 else 1e3
    rate = min(rate, _LARGEST_RATE)
    return 2 * math.exp(-rate) / math.expm1(-rate) ** 2


def at_most(sampler: Any, values: npt.NDArray[np.int64]) -> Floats:
    """P(X <= x) for each value x, an array of the same shape.

    For discrete Laplace noise with r = exp(-1 / scale) this is 1 - r**(x + 1) / (1 + r) if x >= 0
    and r**-x / (1 + r) otherwise. For discrete Gaussian noise it is a sum over a table, or the
    normal distribution function if the table would be too long.
    """
    x = np.asarray(values, np.float64)
    if isinstance(sampler, DiscreteLaplace):
        rate = min(1 / float(sampler.scale), _LARGEST_RATE)
        tails = np.exp(-rate * np.where(x >= 0, x + 1, -x)) / (1 + math.exp(-rate))
        return np.asarray(np.where(x >= 0, 1 - tails, tails), np.float64)
    reach, table, _ = _tabulated(sampler)
    if not reach:
        return np.asarray(ndtr((x + 0.5) / math.sqrt(sampler.sigma2)), np.float64)
    places = np.clip(np.asarray(values, np.int64) + reach + 1, 0, table.size - 1)
    return np.asarray(table[places], np.float64)


@lru_cache(maxsize=64)
def _tabulated(sampler: DiscreteGaussian) -> tuple[int, Floats, float]:
    """The largest value of a table, P(X <= -reach - 1 + place) for each place, and the variance."""
    sigma2 = float(sampler.sigma2)
    reach = int(12 * math.sqrt(sigma2)) + 4
    if reach > _LONGEST_TABLE:
        return 0, np.zeros(1), sigma2
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-(x**2) / (2 * sigma2))
    weights /= weights.sum()
    return reach, np.concatenate([[0.0], np.cumsum(weights)]), float(weights @ x**2)


@lru_cache(maxsize=1024)
def mean_cosine(sampler: Any, angle: float) -> float:
    """E[cos(angle X)] of the noise X. With r = exp(-1 / scale), it is
    (1 - r)**2 / (1 - 2 r cos(angle) + r**2) for discrete Laplace noise."""
    if isinstance(sampler, DiscreteLaplace):
        r = math.exp(-min(1 / float(sampler.scale), _LARGEST_RATE))
        return (1 - r) ** 2 / ((1 - r) ** 2 + 2 * r * (1 - math.cos(angle)))
    reach, table, _ = _tabulated(sampler)
    if not reach:
        return 0.0
    return float(np.diff(table) @ np.cos(angle * np.arange(-reach, reach + 1)))


@lru_cache(maxsize=64)
def median_size(sampler: Any) -> tuple[int, float]:
    """A number m near the median of |X|, and P(|X| > m)."""
    # The median of |X| is 0.67 standard deviations for the normal law, and 0.49 for the Laplace
    # law.
    deviations = 0.69 * math.sqrt(variance_of(sampler))
    m = int(deviations * (0.72 if isinstance(sampler, DiscreteLaplace) else 1.0))
    low, high = at_most(sampler, np.array([-m - 1, m]))
    return m, float(1 - (high - low))


@lru_cache(maxsize=4096)
def kept_counts(
    sampler: Any,
    rule: Keep | Cut,
    count: int,
) -> tuple[Floats, Integers, float]:
    """The distribution of what a filter with Laplace noise publishes about one cell.

    A noisy count v of at least theta is kept with probability min(1, |v| / tau); for a two-sided
    rule, |v| must be at least theta. A `Cut` keeps it from its threshold on, if the true count is
    at least `least`.

    Parameters
    ----------
    sampler
        The discrete Laplace noise.
    rule
        The rule of the filter.
    count
        The true count of the cell.

    Returns
    -------
    below
        Array (values + 1,): the probability that the cell is not kept, then for each value the
        probability that it is not kept or kept with at most this value.
    values
        Array (values,): the noisy counts in increasing order.
    total
        The probability that the cell is kept.
    """
    reach = int(45 * float(sampler.scale)) + 10
    values = np.arange(count - reach, count + reach + 1)
    if isinstance(rule, Cut):
        chance = (values >= rule.threshold) * float(count >= rule.least)
    else:
        if rule.theta > count + reach:
            # Only values far away from the count are kept.
            far = np.arange(rule.theta, rule.theta + reach + 1)
            values = np.concatenate([-far[::-1], far]) if rule.two_sided else far
        size = np.abs(values) if rule.two_sided else values
        share = np.minimum(1.0, np.abs(values) / float(rule.tau))
        chance = np.where(size >= rule.theta, share, 0.0)
    # P(X = x) = tanh(1 / (2 scale)) exp(-|x| / scale).
    rate = 1 / float(sampler.scale)
    weights = np.exp(-rate * np.abs(values - count)) * math.tanh(rate / 2)
    masses = weights * chance
    total = float(masses.sum())
    below = np.minimum(np.concatenate([[1 - total], 1 - total + np.cumsum(masses)]), 1.0)
    below[-1] = 1.0
    return below, values, total
