"""Certified (epsilon, delta) of a few choices of bounded range: the exact worst case, by dynamic
programming.

*The value.* Let F_t(y) be the largest hockey-stick curve that the rounds t, t+1, ... can have
together. The largest is over everything that was drawn before and every use that an adversary
makes of it. After the last round the curve is (1 - y)+. Take a round whose s draws come from one
pair of distributions with ln P/Q in [u - r, u]. Its curve is E[F_{t+1}(y e**-L)], where L is the
sum of the s losses. F_{t+1} is convex in y, because it is a maximum of convex functions, and
E_P[e**-L] = 1 for each draw. So, draw by draw, the expectation is largest for the two-point loss
with the ends u and u - r. Therefore

    F_t(y) = sup over u in [0, r] of E[F_{t+1}(y e**-L)],   L the sum of s such two-point losses.

One u is chosen for all outcomes of the round. The bound in `margin.privacy.loss` takes the largest
curve of each round; it lets u depend on the outcome as well, and is looser when draws are few. An
adaptive adversary attains the value F_t: Dong, Durfee and Rogers 2020, "Optimal differential
privacy composition for exponential mechanisms", section 5.

*Certified over u.* We cut [0, r] into cells. For a u in the cell [a, b], ln P/Q lies within
[a - r, b]. The two-point loss with these ends covers the loss.

*Certified over y.* We keep F at the points e**(k step). F is convex, so it lies below its chords:
with 0 <= d <= step and e**-d = (1 - w) + w e**-step,  F(y e**-d) <= (1 - w) F(y) + w F(y e**-step).
Below the grid, F <= 1. Above the grid, F is at most its value at the last point.

*Arithmetic.* Every number is a sum or product of non-negative floats, whose errors are relative;
`slack` bounds the errors of all draws many times over. A test repeats some cases in interval
arithmetic. The differences 1 - e**-x are computed by expm1. Its arguments are exact, because the
floats themselves define the losses: each was rounded to the side on which the curve is larger.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from .._types import Floats

__all__ = ["MOST_DRAWS", "curve_of_choices", "solved", "two_point"]


MOST_DRAWS = 80
"""Largest total number of draws for which the dynamic programme is fast."""

_LOOSE = 5e-4  # relative increase of epsilon that the grid may cause, about
_STEP = 0.01  # largest step of the grid, in standard deviations of the loss
_WIDTH = 2e-3  # width of the narrowest cells
_MOST_POINTS = 20_000  # largest number of points of the grid


def curve_of_choices(rounds: Sequence[tuple[float, int]], delta: float) -> tuple[float, Floats]:
    """An upper bound on the largest hockey-stick curve of all rounds together, on a grid.

    The grid has the points e**(k step), k = 0, 1, ... The value at such a point is at least
    F_1 there (see the top of this file).

    Parameters
    ----------
    rounds
        For each round, in order: the bounded range of one draw, > 0, and the number of draws. The
        numbers of draws sum to at most `MOST_DRAWS`.
    delta
        The value of the curve that matters. The grid does not resolve values far below it.

    Returns
    -------
    float, Floats
        The step, and the curve, shape (points,).
    """
    draws = sum(count for _, count in rounds)
    total = sum(reach * count for reach, count in rounds)
    variance = sum(reach**2 * count for reach, count in rounds)
    deviation = math.sqrt(variance) / 2

    # Hoeffding: the mean of the loss is at most deviation**2 / 2, and the loss exceeds that by
    # `far` deviations hardly ever. The grid ends there.
    far = math.sqrt(2 * math.log(1e4 * draws / delta))
    likely = far * deviation + deviation**2 / 2
    widest = max(reach for reach, _ in rounds)
    highest = max(min(total, likely), widest)
    finest = deviation * min(_STEP, math.sqrt(12 * _LOOSE / draws))
    step = max(finest, 2 * highest / _MOST_POINTS)
    points = math.ceil(highest / step) + 2
    grid: Floats = step * np.arange(-points, points + 1, dtype=np.float64)

    # From the last round back to the first: the largest curve over all cells of u.
    curve: Floats = np.maximum(-np.expm1(grid), 0.0)
    edges = _edges(draws).tolist()
    cells = list(itertools.pairwise(edges))
    for reach, count in reversed(rounds):
        best = np.zeros_like(curve)
        for low, high in cells:
            top = reach * high * (1 + 1e-15)
            bottom = -reach * (1 - low) * (1 + 1e-15)
            after = curve
            for _ in range(count):
                after = _drawn(after, top, bottom, step)
            np.maximum(best, after, out=best)
        curve = best
    return step, curve[points:] * slack(draws)


def slack(draws: int) -> float:
    """Factor by which rounding errors can change a result: an upper bound.

    A draw has fewer than 40 roundings, each with a relative error of 2**-53 to 4 * 2**-53.
    """
    return 1 + 4e-14 * (draws + 1)


def _edges(draws: int) -> Floats:
    """Ends of the cells into which [0, 1], the values of u / r, is cut: ascending, symmetric.

    A cell of width w enlarges the standard deviation of the loss by the factor 1 + w. With few
    draws every u may be the worst one, so all cells are narrow. With many draws the worst u is near
    1/2. At a distance z from 1/2 the variance of the loss is smaller by the factor 1 - 4 z**2, so
    cells may be wider there.
    """
    bounds = [0.0]
    while bounds[-1] < 0.5:
        last = bounds[-1]
        bounds.append(min(last + _WIDTH + draws / 500 * last**2, 0.5))
    half = np.array(bounds)
    return 0.5 + np.concatenate([-half[:0:-1], half])


def two_point(top: float, bottom: float) -> tuple[float, float]:
    """The probabilities of the losses `top` > 0 and `bottom` < 0 for which E[e**-L] = 1.

    The computation subtracts no two floats.
    """
    up = math.expm1(-bottom)
    down = -math.expm1(-top)
    return up / (up + down), down / (up + down)


def _drawn(
    curve: Floats,
    top: float,
    bottom: float,
    step: float,
) -> Floats:
    """The curve before one draw: E[F(y e**-L)] on the grid, for a two-point loss L.

    L has the values `top` and `bottom`, each less than half the length of the grid. `curve` holds
    F, shape (points,), as the result does.
    """
    # If top is 0, the loss is 0 with probability one, because E[e**-L] = 1.
    if top == 0:
        return curve
    size = curve.size
    pad = size // 2
    # Below the grid F <= 1; above it F is at most its last value.
    below = np.ones(pad)
    above = np.full(pad, curve[-1])
    padded = np.concatenate([below, curve, above])
    after = np.zeros(size)
    part = np.empty(size)
    for probability, loss in zip(two_point(top, bottom), (top, bottom), strict=True):
        places, near, next_one = chord(loss, step)
        shifts = ((probability * near, places), (probability * next_one, places + 1))
        for weight, moved in shifts:
            start = pad - moved
            np.multiply(padded[start : start + size], weight, out=part)
            after += part
    return after


def chord(loss: float, step: float) -> tuple[int, float, float]:
    """Bound a convex curve F at a shifted point by its values at two points of the grid.

    The grid has the points y e**-(k step) for whole numbers k. The result (k, a, b) satisfies
    F(y e**-loss) <= a F(y e**-(k step)) + b F(y e**-((k + 1) step)) for every y. The right side is
    the chord through the two points of the curve.
    """
    places = math.floor(loss / step)
    # The rest is rounded up: the larger the loss, the larger the curve.
    rest = loss - places * step + 4e-16 * (abs(loss) + step)
    rest = min(max(rest, 0.0), step)
    near = math.exp(-rest) * math.expm1(rest - step) / math.expm1(-step)
    next_one = math.expm1(-rest) / math.expm1(-step)
    return places, near, next_one


def solved(
    step: float,
    curve: Floats,
    delta: float,
) -> float | None:
    """The smallest epsilon at which a curve, joined by chords between its points, is at most delta.

    None when the whole curve lies above delta.
    """
    below = np.flatnonzero(curve <= delta)
    if not below.size:
        return None
    place = int(below[0])
    if place == 0:
        return 0.0
    # The chord between the last point above delta and the first point below, linear in e**epsilon.
    before = float(curve[place - 1])
    after = float(curve[place])
    part = (before - delta) / (before - after)
    epsilon = step * (place - 1) + math.log1p(part * math.expm1(step))
    return min(epsilon * (1 + 1e-13) + 1e-15, step * place)
