"""A lower bound on the delta of several events at a given epsilon, by composing privacy losses.

The distribution of the privacy loss of each event is rounded down to a grid. The distributions are
added up by the fast Fourier transform. Everything that is left out or rounded lowers the result.
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from .._types import Floats
from ..noise.laws import DiscreteGaussian, DiscreteLaplace
from ..privacy.event import Event
from .event_cost import is_choice

__all__ = ["delta_lower_bound"]

# Step of the grid of privacy losses.
_GRID = 2e-4

# Largest number of points of a composed loss distribution.
_POINTS = 1 << 22

# Largest number of values on each side of zero in a table of noise.
_LONGEST_TABLE = 10**6

# Shares of the range of a choice that its upper end takes, for the pairs of laws that are tried.
_SHARES = (0.5, 0.4, 0.6, 0.25, 0.75)

# Kind of noise, its parameter, and its distance or number of draws.
Key = tuple[str, Fraction, int]


def delta_lower_bound(events: Sequence[Event], epsilon: float) -> float:
    """A lower bound on the delta of all events together at a given epsilon, if neighbours are as
    far apart as declared.

    The neighbours differ in one number by all of the declared distance. For choices of range e, the
    worst pair of laws on two outcomes is tried with several upper ends of the range.
    """
    keys = tuple(sorted(Counter(map(_key, events)).items()))
    shares = _SHARES if any(is_choice(event) for event in events) else _SHARES[:1]
    return max(_delta(keys, epsilon, share) for share in shares)


def _key(event: Event) -> Key:
    """Everything of an event that determines its loss."""
    sampler = event.sampler
    if isinstance(sampler, DiscreteGaussian):
        return ("gaussian", Fraction(sampler.sigma2), math.isqrt(event.l2_squared))
    if isinstance(sampler, DiscreteLaplace):
        return ("laplace", Fraction(sampler.scale), event.l1)
    return ("choice", Fraction(sampler.rate) * event.spread, event.draws)


@lru_cache(maxsize=256)
def _delta(
    keys: tuple[tuple[Key, int], ...],
    epsilon: float,
    share: float,
) -> float:
    composed, low = np.ones(1), 0
    for (kind, parameter, size), times in keys:
        loss, least = _loss(kind, parameter, size, share)
        power, least = _power(loss, least, times)
        composed, low = _convolved(composed, power), low + least
        if composed.size > _POINTS:
            return 0.0  # too many points for a statement
    losses = (low + np.arange(composed.size)) * _GRID
    above = losses > epsilon
    # delta = E[max(0, 1 - exp(epsilon - loss))].
    return float((composed[above] * -np.expm1(epsilon - losses[above])).sum()) * (1 - 1e-6)


def _loss(
    kind: str,
    parameter: Fraction,
    size: int,
    share: float,
) -> tuple[Floats, int]:
    """The distribution of the privacy loss on the grid, and the place of its first point."""
    if kind == "choice":
        reach = float(parameter)
        if reach == 0:
            return np.ones(1), 0
        # Two outcomes with losses `top` and `top - reach`; p makes both laws add up to one.
        top = share * reach
        p = -math.expm1(reach - top) / (math.exp(-top) - math.exp(reach - top))
        loss, least = _on_grid(np.array([top, top - reach]), np.array([p, 1 - p]))
        return _power(loss, least, size)
    width = float(parameter) if kind == "laplace" else math.sqrt(parameter)
    reach = int(40 * width + 10) + size
    if reach > _LONGEST_TABLE:
        return np.ones(1), 0  # a loss of zero, which keeps the bound valid
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    if kind == "laplace":
        logs, losses = -np.abs(x) / width, (np.abs(x - size) - np.abs(x)) / width
    else:
        logs, losses = -(x**2) / (2 * width**2), (size**2 - 2 * x * size) / (2 * width**2)
    weights = np.exp(logs)
    return _on_grid(losses, weights / weights.sum())


def _on_grid(losses: Floats, weights: Floats) -> tuple[Floats, int]:
    """Losses rounded down to the grid. Very unlikely losses are left out, which lowers delta."""
    kept = weights > 1e-18
    places = np.floor(losses[kept] / _GRID).astype(np.int64)
    least = int(places.min())
    return np.bincount(places - least, weights[kept]).astype(np.float64), least


def _power(
    loss: Floats,
    least: int,
    times: int,
) -> tuple[Floats, int]:
    """The distribution of the sum of `times` independent losses, by repeated squaring."""
    result, low = np.ones(1), 0
    while times:
        if times & 1:
            result, low = _convolved(result, loss), low + least
        times >>= 1
        if times:
            loss, least = _convolved(loss, loss), 2 * least
        if max(result.size, loss.size) > _POINTS:
            return np.ones(1), 0
    return result, low


def _convolved(first: Floats, second: Floats) -> Floats:
    """The distribution of the sum of two independent losses."""
    if min(first.size, second.size) < 64:
        return np.convolve(first, second)
    size = first.size + second.size - 1
    length = 1 << (size - 1).bit_length()
    product = np.fft.irfft(np.fft.rfft(first, length) * np.fft.rfft(second, length), length)[:size]
    return np.maximum(product - 1e-15, 0.0)  # removes what rounding may have added
