"""The delta of Gaussian noise on many coordinates, to about a percent, by the audit's own
arithmetic.

The privacy loss of each coordinate that may differ is rounded to the nearest point of a fine grid.
All losses are added by the fast Fourier transform. This proves nothing, but it shares no line with
`margin.privacy.composition`, which does.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from .._types import Floats
from ..noise.laws import DiscreteGaussian
from ..privacy.event import Event

__all__ = ["gaussian_delta"]

# Number of points of the grid of privacy losses.
_POINTS = 1 << 16

# Number of standard deviations of the total loss on each side of the grid.
_FAR = 16.0

# Parameter sigma2 above which discrete noise is treated as continuous.
_CONTINUOUS = 400.0


def gaussian_delta(events: Sequence[Event], epsilon: float) -> float:
    """An estimate of the delta of all events with discrete Gaussian noise at a given epsilon, for
    the worse of two kinds of neighbours.

    In the first kind, the answers differ by one in as many coordinates as the bounds allow. In the
    second kind, they differ by more in fewer coordinates, which makes the L2 distance largest.
    """
    return max(_delta(events, epsilon, spread) for spread in (False, True))


def _delta(
    events: Sequence[Event],
    epsilon: float,
    spread: bool,
) -> float:
    # The number of coordinates for each pair of noise and shift.
    moves: dict[tuple[float, int], int] = {}
    for event in events:
        assert isinstance(event.sampler, DiscreteGaussian)
        shift = 1 if spread else _furthest(event)
        key = float(event.sampler.sigma2), shift
        moves[key] = moves.get(key, 0) + _coordinates(event, shift)
    variance = sum(number * shift**2 / sigma2 for (sigma2, shift), number in moves.items())
    step = 2 * (_FAR * math.sqrt(variance) + variance) / _POINTS
    transform = np.ones(_POINTS // 2 + 1, np.complex128)
    for (sigma2, shift), number in moves.items():
        transform *= np.fft.rfft(_masses(sigma2, shift, step)) ** number
    masses = np.fft.irfft(transform, _POINTS)
    places = np.arange(_POINTS)
    losses = np.where(places < _POINTS // 2, places, places - _POINTS) * step
    above = losses > epsilon
    # delta = E[max(0, 1 - exp(epsilon - loss))].
    return float((masses[above] * -np.expm1(epsilon - losses[above])).sum())


def _coordinates(event: Event, shift: int) -> int:
    """The largest number of coordinates in which answers may differ by `shift`."""
    return min(event.l1 // shift, event.l2_squared // shift**2)


def _furthest(event: Event) -> int:
    """The shift, equal in all coordinates that differ, with the largest L2 distance."""
    largest = min(event.l1, math.isqrt(event.l2_squared))
    shifts = range(max(1, largest - 1000), largest + 1)
    return max(shifts, key=lambda shift: _coordinates(event, shift) * shift**2)


def _masses(
    sigma2: float,
    shift: int,
    step: float,
) -> Floats:
    """The distribution of the loss of one shifted coordinate on the multiples of `step`, array
    (_POINTS,), with the negative losses at the end."""
    masses = np.zeros(_POINTS)
    if sigma2 > _CONTINUOUS:
        # The loss is normal with mean shift**2 / (2 sigma2) and variance shift**2 / sigma2.
        places = np.arange(-_POINTS // 2, _POINTS // 2)
        deviation, mean = shift / math.sqrt(sigma2), shift**2 / (2 * sigma2)
        ends = ((np.append(places, _POINTS // 2) - 0.5) * step - mean) / deviation
        np.add.at(masses, places, np.diff(ndtr(ends)))
        return masses
    reach = math.ceil(40 * math.sqrt(sigma2))
    x = np.arange(-reach, reach + 1)
    weights = np.exp(-(x**2) / (2 * sigma2))
    places = np.rint((2 * shift * x + shift**2) / (2 * sigma2) / step).astype(np.int64)
    places = np.clip(places, -_POINTS // 2, _POINTS // 2 - 1)
    np.add.at(masses, places, weights / weights.sum())
    return masses
