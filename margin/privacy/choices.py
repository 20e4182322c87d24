"""Certified (epsilon, delta) of few choices of bounded range: the worst case itself, by dynamic
programming.

*The value.* Let F_t(y) be the largest hockey-stick curve that rounds t, t+1, ... can have together,
whatever was drawn before and however the adversary uses it. After the last round it is (1 - y)+. A
round whose s draws come from one pair of distributions with ln P/Q in [u - r, u] has the curve
E[F_{t+1}(y e**-L)], L the sum of the s losses. F_{t+1} is convex in y, being the largest of convex
functions, and E_P[e**-L] = 1 for each draw. So the expectation is largest for the two-point loss
with the ends u and u - r, draw by draw, and

    F_t(y) = sup over u in [0, r] of E[F_{t+1}(y e**-L)],   L the sum of s such two-point losses.

One u is chosen for all that the round may lead to. A bound by each round's own largest curve
(`exact.loss`) lets u depend on the outcome as well, and is looser when draws are few. The value is
attained by an adaptive adversary: Dong, Durfee and Rogers 2020, "Optimal differential privacy
composition for exponential mechanisms", section 5.

*Certified over u.* [0, r] is cut into cells. A u in the cell [a, b] has ln P/Q within [a - r, b],
whose two-point loss covers it.

*Certified over y.* F is kept at the points e**(k step). It is convex, so a chord is above it: with
0 <= d <= step and e**-d = (1 - w) + w e**-step,  F(y e**-d) <= (1 - w) F(y) + w F(y e**-step).
Below the grid F <= 1; above it, F is at most what it is at the last point.

*Arithmetic.* Everything is a sum or product of non-negative floats, whose errors are relative;
`slack` bounds those of all draws many times over. A test repeats some cases in interval arithmetic.
The differences 1 - e**-x are taken by expm1 of floats that are themselves what is defined: each is
rounded to the side on which the curve is larger.
"""

import math
from collections.abc import Sequence

import numpy as np

from .._types import Floats

__all__ = ["MOST_DRAWS", "curve_of_choices", "solved", "two_point"]


MOST_DRAWS = 80
"""The number of draws, in all, up to which the dynamic programme is quick."""

_LOOSE = 5e-4  # by how much, about, the grid may enlarge epsilon
_STEP = 0.01  # of the grid, in deviations of the loss, at most
_WIDTH = 2e-3  # of the narrowest cells
_MOST_POINTS = 20_000  # of the grid


def curve_of_choices(rounds: Sequence[tuple[float, int]], delta: float) -> tuple[float, Floats]:
    """A step and the curve F at the points e**(k step), k = 0, 1, ..., certified from above.

    Parameters
    ----------
    rounds
        Of each round, in order, the bounded range of one draw, > 0, and the number of draws, at
        most `MOST_DRAWS` in all.
    delta
        The value of the curve that matters: what is far below it is not resolved.
    """
    draws = sum(count for _, count in rounds)
    total = sum(reach * count for reach, count in rounds)
    deviation = math.sqrt(sum(reach**2 * count for reach, count in rounds)) / 2
    # Hoeffding: the mean of the loss is at most deviation**2 / 2, and it exceeds that by `far`
    # deviations hardly ever.
    far = math.sqrt(2 * math.log(1e4 * draws / delta))
    highest = max(min(total, far * deviation + deviation**2 / 2), max(reach for reach, _ in rounds))
    step = max(deviation * min(_STEP, math.sqrt(12 * _LOOSE / draws)), 2 * highest / _MOST_POINTS)
    points = math.ceil(highest / step) + 2
    grid: Floats = step * np.arange(-points, points + 1, dtype=np.float64)
    curve: Floats = np.maximum(-np.expm1(grid), 0.0)
    edges = _edges(draws)
    for reach, count in reversed(rounds):
        best = np.zeros_like(curve)
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            top = reach * high * (1 + 1e-15)
            bottom = -reach * (1 - low) * (1 + 1e-15)
            after = curve
            for _ in range(count):
                after = _drawn(after, top, bottom, step)
            np.maximum(best, after, out=best)
        curve = best
    return step, curve[points:] * slack(draws)


def slack(draws: int) -> float:
    """More than the product of all relative errors: fewer than 40 roundings a draw, of 2**-53 to 4
    * 2**-53 each."""
    return 1 + 4e-14 * (draws + 1)


def _edges(draws: int) -> Floats:
    """The bounds of the cells of u / r, ascending from 0 to 1 and symmetric.

    A cell of width w enlarges the deviation of the loss by the factor 1 + w. With few draws every u
    may decide, and all cells are narrow. With many, the u that decide are near 1/2: at a distance z
    the variance of the loss is below that of the middle by the factor 1 - 4 z**2, and cells may be
    wider there.
    """
    bounds = [0.0]
    while bounds[-1] < 0.5:
        bounds.append(min(bounds[-1] + _WIDTH + draws / 500 * bounds[-1] ** 2, 0.5))
    half = np.array(bounds)
    return 0.5 + np.concatenate([-half[:0:-1], half])


def two_point(top: float, bottom: float) -> tuple[float, float]:
    """The probabilities of the loss `top` > 0 and of `bottom` < 0, such that E[e**-L] = 1; no
    difference is taken."""
    up, down = math.expm1(-bottom), -math.expm1(-top)
    return up / (up + down), down / (up + down)


def _drawn(curve: Floats, top: float, bottom: float, step: float) -> Floats:
    """E[F(y e**-L)] on the grid, for a two-point loss of less than half the length of the grid."""
    if top == 0:  # then it is 0 surely: E[e**-L] = 1 leaves nothing for the other end
        return curve
    size, pad = curve.size, curve.size // 2
    padded = np.concatenate([np.ones(pad), curve, np.full(pad, curve[-1])])
    after, part = np.zeros(size), np.empty(size)
    for probability, loss in zip(two_point(top, bottom), (top, bottom), strict=True):
        places, near, next_one = chord(loss, step)
        for weight, moved in ((probability * near, places), (probability * next_one, places + 1)):
            np.multiply(padded[pad - moved : pad - moved + size], weight, out=part)
            after += part
    return after


def chord(loss: float, step: float) -> tuple[int, float, float]:
    """Whole steps, and two weights: F(y e**-loss) is at most their sum of F that many steps lower,
    and one more."""
    places = math.floor(loss / step)
    # The rest is rounded up: the larger the loss, the larger the curve.
    rest = loss - places * step + 4e-16 * (abs(loss) + step)
    rest = min(max(rest, 0.0), step)
    near = math.exp(-rest) * math.expm1(rest - step) / math.expm1(-step)
    return places, near, math.expm1(-rest) / math.expm1(-step)


def solved(step: float, curve: Floats, delta: float) -> float | None:
    """The least epsilon at which the chords of a curve are at most delta; None when it does not
    come down to it."""
    below = np.flatnonzero(curve <= delta)
    if not below.size:
        return None
    place = int(below[0])
    if place == 0:
        return 0.0
    before, after = float(curve[place - 1]), float(curve[place])
    part = (before - delta) / (before - after)
    epsilon = step * (place - 1) + math.log1p(part * math.expm1(step))
    return min(epsilon * (1 + 1e-13) + 1e-15, step * place)
