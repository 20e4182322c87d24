"""Certified (epsilon, delta) of many rounds of choices, each of bounded range: privacy loss
distributions, rounded up.

*One round.* All draws of a round come from one distribution, P on a table and Q on its neighbour,
with ln P/Q within [u - r, u] for some unknown u in [0, r] (bounded range r; Dong, Durfee, Rogers
2020). Write h(y) = E_P[(1 - y e**-L)+] for the hockey-stick curve of a loss L. As x -> (1 - y x)+
is convex and E_P[e**-L] = 1, no curve lies above that of the two-point loss with the ends u and u -
r, and s draws have at most the curve of s two-point losses, a binomial. The curve of the round is
the largest of these over u. It bounds both directions, since exchanging P and Q exchanges u and r -
u. Certified over all u: [0, r] is cut into cells; a u in the cell [a, b] has ln P/Q within [a - r,
b], whose two-point loss covers it. Cells are narrow around r / 2, where they decide, and wide
elsewhere (`_cells`).

*Rounding to a grid.* The largest of convex curves is convex, so between the points of a grid it
lies below its chords, and these are the curve of weights on the points of the grid, with some at
infinity (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). The weights need not sum to one.

*Composition.* h of two rounds is E[h_2(y e**-L_1)], also when the second is chosen knowing the
first; it grows with h_2, and for h_2 of weights w_j at x_j it is the sum of w_j h_1(y e**-x_j),
which grows with h_1. So weights that cover every round give, convolved, weights that cover all
rounds together.

*Arithmetic.* Everything is a sum or product of non-negative floats, by which errors are relative;
`_slack` bounds those of a round many times over, and the weights are enlarged by it. Where two
numbers are subtracted, the floats in question are themselves what is defined, or the difference is
one of exponentials and taken by expm1. What is cut off at the ends is moved upwards, to the next
point kept or to infinity.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from .._types import Floats
from .choices import MOST_DRAWS, curve_of_choices, solved
from .conversion import epsilon_above
from .weights import Weights

__all__ = ["certified_epsilon", "float_above", "float_below", "gaussian_epsilon"]


_LOOSE = 5e-4
"""By how much, about, cells and grid may enlarge epsilon."""
_LARGEST = 30.0  # the standard deviation of the loss above which nothing is certified but by zCDP


@lru_cache(maxsize=256)
def certified_epsilon(rounds: tuple[tuple[Fraction, int], ...], delta: Fraction) -> Fraction:
    """An epsilon such that the rounds together are (epsilon, delta)-differentially private, proved.

    Parameters
    ----------
    rounds
        Of each round the bounded range of one draw and the number of draws. Ranges may be zero.
    delta
        Above 0 and below 1.

    Returns
    -------
    Fraction
        The least of what the loss distribution, zero-concentrated and pure privacy give. Up to 80
        draws in all it is within about a percent of the least possible when every round may be
        chosen by an adversary.
    """
    some = [(float_above(reach), draws) for reach, draws in rounds if reach > 0 and draws > 0]
    if not some:
        return Fraction(0)
    rho = sum((reach**2 * draws for reach, draws in rounds), Fraction(0)) / 8
    pure = sum((reach * draws for reach, draws in rounds), Fraction(0))
    known = min(epsilon_above(rho, delta), pure)
    deviation = math.sqrt(sum(reach**2 * draws for reach, draws in some)) / 2
    if deviation > _LARGEST or delta < Fraction(1, 10**300):
        return known
    allowed = float_below(delta)
    few = sum(draws for _, draws in some) <= MOST_DRAWS
    found = (
        solved(*curve_of_choices(some, allowed), allowed)
        if few
        else _convolved(some, deviation, allowed)
    )
    return known if found is None else min(known, Fraction(found))


def _convolved(
    rounds: Sequence[tuple[float, int]], deviation: float, allowed: float
) -> float | None:
    """The epsilon of the weights that cover all rounds together, `deviation` being that of the loss
    at most."""
    step = deviation * math.sqrt(12 * _LOOSE / len(rounds))
    far = math.sqrt(2 * math.log(1e4 * len(rounds) / allowed))
    together = Weights.none()
    for reach, draws in rounds:
        together = together.then(_round(reach, draws, step, far)).trimmed(
            1e-5 * allowed / len(rounds)
        )
    return together.epsilon(step, allowed)


def gaussian_epsilon(rho: float, delta: float) -> float:
    """About what `certified_epsilon` gives for many rounds of rho-zCDP in all: that of the Gaussian
    loss it tends to.

    Dong, Roth and Su 2022, Corollary 2.13, with mu = sqrt(2 rho). For choosing parameters, never
    for a guarantee.
    """
    from scipy.special import log_ndtr

    mu = math.sqrt(2 * rho)

    def excess(epsilon: float) -> float:
        tail = log_ndtr(np.array([mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu]))
        return math.exp(tail[0]) - math.exp(min(epsilon + tail[1], 700.0)) - delta

    low, high = 0.0, 1.0
    while excess(high) > 0:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


@lru_cache(maxsize=16)
def _cells(draws: int) -> Floats:
    """The bounds of the cells of u / r - 1/2, ascending from -1/2 to 1/2.

    A cell of width w whose nearest point to 0 is z has a loss of variance about (1 + w)**2 (1/4 -
    z**2) r**2, for w = 2 z**2 below that of the middle. So a cell may be as wide as that, and a
    little wider. With few draws in a round it is not the variance that decides, and cells are
    narrower.
    """
    widening = min(2.0, max(0.2, draws / 500))
    bounds = [0.0]
    while bounds[-1] < 0.5:
        bounds.append(min(bounds[-1] + widening * bounds[-1] ** 2 + _LOOSE, 0.5))
    half = np.array(bounds)
    return np.concatenate([-half[:0:-1], half])


def _round(reach: float, draws: int, step: float, far: float) -> Weights:
    """Weights that cover a round."""
    deviation = (
        math.sqrt(draws) * reach / 2
    )  # at most, and the mean is between 0 and draws reach**2 / 8: Hoeffding
    lowest = -math.ceil(far * deviation / step) - 1
    highest = math.ceil((far * deviation + draws * reach**2 / 8) / step) + 1
    grid: Floats = step * np.arange(lowest, highest + 1, dtype=np.float64)
    cells = _cells(min(draws, 1000))
    top = reach * (0.5 + cells[1:]) * (1 + 1e-15)
    bottom = reach * (cells[:-1] - 0.5) * (1 + 1e-15)
    curve = np.maximum(_curves(top, bottom, draws, grid), -np.expm1(grid)) * _slack(
        reach, draws, grid.size
    )
    return Weights.of_curve(lowest, grid, curve)


def _slack(reach: float, draws: int, points: int) -> float:
    """More than the product of all relative errors: of powers, of sums, and of losses within a step
    of the lattice."""
    terms = 40 + points + 20 * math.sqrt(draws)
    return 1 + 1e-15 * (20 * draws + 20 * terms) + 1e-14 * (1 + draws * reach) / reach


def _curves(top: Floats, bottom: Floats, draws: int, grid: Floats) -> Floats:
    """The largest over the cells of the curve of `draws` two-point losses: shape of the grid, in
    which it is ascending.

    With b draws at the top the loss is l_b = draws bottom + b (top - bottom). The curve at y = e**x
    is the sum over l_b > x of P_b (1 - e**(x - l_b)); it is piecewise linear in y with slopes -(sum
    of Q_j over j >= b), Q_b = P_b e**-l_b.
    """
    width = (top - bottom)[:, None]
    first = np.clip(np.floor((grid[0] - draws * bottom) / width[:, 0]), 0, draws)
    length = int(min(draws + 1, math.ceil((grid[-1] - grid[0]) / width.min()) + 4))
    first = np.minimum(first, draws + 1 - length)[:, None]
    b = first + np.arange(length)
    odds = (np.expm1(-bottom) / -np.expm1(-top))[:, None]
    loss = draws * bottom[:, None] + b * width
    loss += 4e-16 * (1 + np.abs(loss) + draws * np.abs(bottom[:, None]))
    p, beyond = _binomial(b, odds, draws)
    q_above = np.cumsum((p * np.exp(-loss))[:, ::-1], axis=1)[:, ::-1]
    rise = np.exp(loss[:, :-1]) * np.expm1(np.diff(loss, axis=1)) * q_above[:, 1:]
    at = np.zeros_like(loss)
    at[:, :-1] = np.cumsum(rise[:, ::-1], axis=1)[:, ::-1]
    best = np.zeros(grid.size)
    for row in range(len(loss)):
        place = np.searchsorted(loss[row], grid, side="right")
        inside = np.minimum(place, length - 1)
        above = np.exp(grid) * np.expm1(loss[row, inside] - grid) * q_above[row, inside]
        np.maximum(
            best, beyond[row] + np.where(place < length, at[row, inside] + above, 0.0), out=best
        )
    return best


def _binomial(b: Floats, odds: Floats, draws: int) -> tuple[Floats, Floats]:
    """Probabilities at b, shape (cells, length), not below the true ones; more than what lies
    beyond, shape (cells,).

    From ratio to ratio, and divided by a sum that lacks the rest.
    """
    up = (draws - b) / (b + 1) * odds  # P(b + 1) / P(b), falling in b
    sums = np.zeros(b.shape)
    np.cumsum(np.log(up[:, :-1]), axis=1, out=sums[:, 1:])
    weights = np.exp(sums - sums.max(axis=1, keepdims=True)) + 1e-290  # what underflowed is no less
    p = weights / weights.sum(axis=1, keepdims=True)
    ratio = up[:, -1]
    tail = p[:, -1] * np.where(ratio < 1, ratio / np.maximum(1 - ratio, 1e-300), np.inf)
    return p, np.where(b[:, -1] >= draws, 0.0, np.minimum(tail, 1.0))


def float_above(number: Fraction) -> float:
    """The number, or the next float above it."""
    nearest = float(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def float_below(number: Fraction) -> float:
    """The number, or the next float below it."""
    nearest = float(number)
    return nearest if nearest <= number else math.nextafter(nearest, 0.0)
