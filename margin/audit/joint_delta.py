"""Whether the noise of a call that was bought as a whole is enough: the audit's own arithmetic, to
about a percent.

The loss of each coordinate that may differ is rounded to the nearest point of a fine grid, and all
are added by the fast Fourier transform. That proves nothing, but shares no line with
`margin.privacy.composition`, which does.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from .._types import Floats
from ..noise.laws import DiscreteGaussian
from ..privacy.event import Event

__all__ = ["delta_together"]


_POINTS = 1 << 16
_FAR = 16.0  # deviations of the whole loss on each side of the grid
_CONTINUOUS = 400.0  # sigma2 above which discrete and continuous noise are taken for the same


def delta_together(events: Sequence[Event], epsilon: float) -> float:
    """About the delta at epsilon of all events, of discrete Gaussian noise, for the worst of two
    kinds of neighbours.

    Those whose answers differ by one in as many coordinates as the bounds allow, and those that
    differ by more in fewer and so are the furthest apart in L2.
    """
    return max(_delta(events, epsilon, spread) for spread in (False, True))


def _delta(
    events: Sequence[Event],
    epsilon: float,
    spread: bool,
) -> float:
    moves: dict[tuple[float, int], int] = {}
    for event in events:
        assert isinstance(event.sampler, DiscreteGaussian)
        shift = 1 if spread else _furthest(event)
        number = _number(event, shift)
        key = float(event.sampler.sigma2), shift
        moves[key] = moves.get(key, 0) + number
    variance = sum(number * shift**2 / sigma2 for (sigma2, shift), number in moves.items())
    step = 2 * (_FAR * math.sqrt(variance) + variance) / _POINTS
    together = np.ones(_POINTS // 2 + 1, np.complex128)
    for (sigma2, shift), number in moves.items():
        together *= np.fft.rfft(_masses(sigma2, shift, step)) ** number
    masses = np.fft.irfft(together, _POINTS)
    places = np.arange(_POINTS)
    losses = np.where(places < _POINTS // 2, places, places - _POINTS) * step
    above = losses > epsilon
    return float((masses[above] * -np.expm1(epsilon - losses[above])).sum())


def _number(event: Event, shift: int) -> int:
    """In how many coordinates answers may differ by so much."""
    return min(event.l1 // shift, event.l2_squared // shift**2)


def _furthest(event: Event) -> int:
    """The difference of some coordinates, equal in all, that is furthest in L2."""
    largest = min(event.l1, math.isqrt(event.l2_squared))
    shifts = range(max(1, largest - 1000), largest + 1)
    return max(shifts, key=lambda shift: _number(event, shift) * shift**2)


def _masses(
    sigma2: float,
    shift: int,
    step: float,
) -> Floats:
    """Of the loss of a shift of one coordinate, at the multiples of a step, the negative ones at
    the end."""
    masses = np.zeros(_POINTS)
    if sigma2 > _CONTINUOUS:
        places = np.arange(-_POINTS // 2, _POINTS // 2)
        deviation, mean = shift / math.sqrt(sigma2), shift**2 / (2 * sigma2)
        ends = ((np.append(places, _POINTS // 2) - 0.5) * step - mean) / deviation
        np.add.at(masses, places, np.diff(ndtr(ends)))
        return masses
    x = np.arange(-math.ceil(40 * math.sqrt(sigma2)), math.ceil(40 * math.sqrt(sigma2)) + 1)
    weights = np.exp(-(x**2) / (2 * sigma2))
    places = np.rint((2 * shift * x + shift**2) / (2 * sigma2) / step).astype(np.int64)
    np.add.at(masses, np.clip(places, -_POINTS // 2, _POINTS // 2 - 1), weights / weights.sum())
    return masses
