"""Certified (epsilon, delta) of many rounds of choices of bounded range, by privacy loss
distributions that are rounded up.

*One round.* All draws of a round come from one distribution: P for a table, Q for its neighbour.
ln P/Q lies within [u - r, u] for some unknown u in [0, r] (bounded range r; Dong, Durfee, Rogers
2020). Write h(y) = E_P[(1 - y e**-L)+] for the hockey-stick curve of a loss L. The function
x -> (1 - y x)+ is convex and E_P[e**-L] = 1, so no curve lies above the curve of the two-point loss
with the ends u and u - r. The curve of s draws is at most the curve of s two-point losses, which is
a binomial. The curve of the round is the largest of these over u. It bounds both directions,
because exchanging P and Q exchanges u and r - u. It is certified over all u in this way: [0, r] is
cut into cells. For a u in the cell [a, b], ln P/Q lies within [a - r, b], and the two-point loss
with these ends covers the loss. Cells are narrow around r / 2, where the largest curves are, and
wide elsewhere (`_cells`).

*Rounding to a grid.* A maximum of convex curves is convex. So between the points of a grid it lies
below its chords. The chords are the curve of weights on the points of the grid and at infinity
(Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). The weights need not sum to one.

*Composition.* The curve of two rounds is h(y) = E[h_2(y e**-L_1)], also when the second round is
chosen after seeing the first. It grows with h_2. If h_2 is the curve of weights w_j at x_j, then
h(y) is the sum of w_j h_1(y e**-x_j), which grows with h_1. So if weights cover each round, their
convolution covers all rounds together.

*Arithmetic.* Every number is a sum or product of non-negative floats, whose errors are relative.
`_slack` bounds the errors of a round many times over, and the weights are enlarged by it. Two
numbers are subtracted only where the floats themselves define the quantities, or where the
difference of two exponentials is computed by expm1. Mass that is cut off at the ends moves upwards,
to the next point kept or to infinity.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from .._types import Floats
from .choices import MOST_DRAWS, curve_of_choices, solved
from .conversion import epsilon_above
from .weights import Weights, sums_from

__all__ = ["certified_epsilon", "float_above", "float_below", "gaussian_epsilon"]


_LOOSE = 5e-4
"""Relative increase of epsilon that cells and grid may cause, about."""
# Largest standard deviation of the loss for the grid; above it only zCDP and pure DP certify.
_LARGEST = 30.0


@lru_cache(maxsize=256)
def certified_epsilon(rounds: tuple[tuple[Fraction, int], ...], delta: Fraction) -> Fraction:
    """An epsilon for which all rounds together are proved (epsilon, delta)-differentially private.

    Parameters
    ----------
    rounds
        For each round: the bounded range of one draw and the number of draws. Ranges may be zero.
    delta
        Above 0 and below 1.

    Returns
    -------
    Fraction
        The smallest of three bounds: by the loss distribution, by zero-concentrated privacy, and by
        pure privacy. For up to 80 draws in total it is within about 1 percent of the smallest
        possible epsilon when an adversary may choose every round.
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
    if sum(draws for _, draws in some) <= MOST_DRAWS:
        step, curve = curve_of_choices(some, allowed)
        found = solved(step, curve, allowed)
    else:
        found = _convolved(some, deviation, allowed)
    return known if found is None else min(known, Fraction(found))


def _convolved(
    rounds: Sequence[tuple[float, int]],
    deviation: float,
    allowed: float,
) -> float | None:
    """The epsilon of the weights that cover all rounds together.

    `deviation` is an upper bound on the standard deviation of the loss; `allowed` is delta.
    """
    step = deviation * math.sqrt(12 * _LOOSE / len(rounds))
    far = math.sqrt(2 * math.log(1e4 * len(rounds) / allowed))
    little = 1e-5 * allowed / len(rounds)
    together = Weights.none()
    for reach, draws in rounds:
        together = together.then(_round(reach, draws, step, far)).trimmed(little)
    return together.epsilon(step, allowed)


def gaussian_epsilon(rho: float, delta: float) -> float:
    """An estimate of `certified_epsilon` for many rounds that together are rho-zCDP.

    It is the epsilon of the Gaussian loss, the limit of many rounds: Dong, Roth and Su 2022,
    Corollary 2.13, with mu = sqrt(2 rho). Use it to choose parameters, never for a guarantee.
    """
    from scipy.special import log_ndtr

    mu = math.sqrt(2 * rho)

    def excess(epsilon: float) -> float:
        ends = np.array([mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu])
        first, second = log_ndtr(ends)
        return math.exp(first) - math.exp(min(epsilon + second, 700.0)) - delta

    low, high = 0.0, 1.0
    while excess(high) > 0:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if excess(middle) > 0:
            low = middle
        else:
            high = middle
    return high


@lru_cache(maxsize=16)
def _cells(draws: int) -> Floats:
    """Ends of the cells into which [-1/2, 1/2], the values of u / r - 1/2, is cut: ascending.

    Let w be the width of a cell and z its point nearest to 0. The variance of its loss is about
    (1 + w)**2 (1/4 - z**2) r**2. For w = 2 z**2 this is below the variance of the middle cell. So
    a cell may have that width, and a little more. With few draws in a round the variance does not
    determine the largest curve, so cells are narrower.
    """
    widening = min(2.0, max(0.2, draws / 500))
    bounds = [0.0]
    while bounds[-1] < 0.5:
        last = bounds[-1]
        bounds.append(min(last + widening * last**2 + _LOOSE, 0.5))
    half = np.array(bounds)
    return np.concatenate([-half[:0:-1], half])


def _round(
    reach: float,
    draws: int,
    step: float,
    far: float,
) -> Weights:
    """Weights that cover (see `Weights`) the privacy loss of one round.

    `reach` is the bounded range of one draw. The grid has steps of `step` and ends `far` standard
    deviations from 0.
    """
    # The grid. Hoeffding: the deviation is at most this, the mean is in [0, draws reach**2 / 8].
    deviation = math.sqrt(draws) * reach / 2
    lowest = -math.ceil(far * deviation / step) - 1
    highest = math.ceil((far * deviation + draws * reach**2 / 8) / step) + 1
    grid: Floats = step * np.arange(lowest, highest + 1, dtype=np.float64)

    # The two ends of the loss in each cell, rounded outwards.
    cells = _cells(min(draws, 1000))
    top = reach * (0.5 + cells[1:]) * (1 + 1e-15)
    bottom = reach * (cells[:-1] - 0.5) * (1 + 1e-15)

    # Every curve is at least 1 - y.
    largest = np.maximum(_curves(top, bottom, draws, grid), -np.expm1(grid))
    curve = largest * _slack(reach, draws, grid.size)
    return Weights.of_curve(lowest, grid, curve)


def _slack(
    reach: float,
    draws: int,
    points: int,
) -> float:
    """A factor by which the computed curve is enlarged, so that it is an upper bound in spite of
    rounding in powers, in sums, and in losses within a step of the lattice."""
    terms = 40 + points + 20 * math.sqrt(draws)
    return 1 + 1e-15 * (20 * draws + 20 * terms) + 1e-14 * (1 + draws * reach) / reach


def _curves(
    top: Floats,
    bottom: Floats,
    draws: int,
    grid: Floats,
) -> Floats:
    """The curve of `draws` two-point losses, the largest over all cells.

    `top` and `bottom` are the ends of the loss in each cell, shape (cells,). `grid` is ascending,
    shape (points,); the result has the same shape.

    With b draws at the top the loss is l_b = draws bottom + b (top - bottom). The curve at y = e**x
    is the sum over l_b > x of P_b (1 - e**(x - l_b)). It is piecewise linear in y with slopes
    -(sum of Q_j over j >= b), where Q_b = P_b e**-l_b.
    """
    # For each cell, the numbers b whose losses lie on the grid: shape (cells, length).
    width = (top - bottom)[:, None]
    reached = (grid[0] - draws * bottom) / width[:, 0]
    first = np.clip(np.floor(reached), 0, draws)
    steps = (grid[-1] - grid[0]) / width.min()
    length = int(min(draws + 1, math.ceil(steps) + 4))
    first = np.minimum(first, draws + 1 - length)[:, None]
    b = first + np.arange(length)

    # The losses l_b, rounded up, and their probabilities P_b.
    odds = (np.expm1(-bottom) / -np.expm1(-top))[:, None]
    least = draws * bottom[:, None]
    loss = least + b * width
    loss += 4e-16 * (1 + np.abs(loss) + draws * np.abs(bottom[:, None]))
    p, beyond = _binomial(b, odds, draws)

    # The curve at each e**l_b, summed from the right: slope times distance, segment by segment.
    q_above = sums_from(p * np.exp(-loss))
    lengths = np.exp(loss[:, :-1]) * np.expm1(np.diff(loss, axis=1))
    at = np.zeros_like(loss)
    at[:, :-1] = sums_from(lengths * q_above[:, 1:])

    # The curve on the grid: from the next l_b above, back along its segment.
    best = np.zeros(grid.size)
    for row in range(len(loss)):
        place = np.searchsorted(loss[row], grid, side="right")
        inside = np.minimum(place, length - 1)
        distance = np.exp(grid) * np.expm1(loss[row, inside] - grid)
        reached = at[row, inside] + distance * q_above[row, inside]
        on_lattice = np.where(place < length, reached, 0.0)
        np.maximum(best, beyond[row] + on_lattice, out=best)
    return best


def _binomial(
    b: Floats,
    odds: Floats,
    draws: int,
) -> tuple[Floats, Floats]:
    """Upper bounds on binomial probabilities, and on the mass above the last of them.

    The first result has the shape of `b`, (cells, length); the second has shape (cells,). The
    probabilities follow from one another by their ratios. They are divided by a sum that lacks the
    numbers outside `b`, so they are too large.
    """
    # Logarithms of the probabilities, up to a constant, from the ratios P(b + 1) / P(b).
    up = (draws - b) / (b + 1) * odds
    sums = np.zeros(b.shape)
    np.cumsum(
        np.log(up[:, :-1]),
        axis=1,
        out=sums[:, 1:],
    )
    # The added 1e-290 is above everything that underflows.
    largest = sums.max(
        axis=1,
        keepdims=True,
    )
    weights = np.exp(sums - largest) + 1e-290
    p = weights / weights.sum(
        axis=1,
        keepdims=True,
    )
    # The ratios fall, so the mass above the last b is at most a geometric series.
    ratio = up[:, -1]
    series = ratio / np.maximum(1 - ratio, 1e-300)
    tail = p[:, -1] * np.where(ratio < 1, series, np.inf)
    above = np.minimum(tail, 1.0)
    return p, np.where(b[:, -1] >= draws, 0.0, above)


def float_above(number: Fraction) -> float:
    """The smallest float that is at least `number`."""
    nearest = float(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def float_below(number: Fraction) -> float:
    """The largest float that is at most `number`, for a number >= 0."""
    nearest = float(number)
    return nearest if nearest <= number else math.nextafter(nearest, 0.0)
