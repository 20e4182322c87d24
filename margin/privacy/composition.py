"""The (epsilon, delta) of noisy answers whose noise is fixed beforehand, by their privacy loss.

*What is fixed.* The distribution of the noise of every answer, and bounds on the distance between
the true answers of neighbouring tables. The questions themselves may depend on earlier answers.

*The loss.* Noise is independent in each coordinate. So the loss between two tables is a sum over
the coordinates that differ, and each term is the loss of a shift by an integer v. The noise is
symmetric, so both signs of v, and both directions, have the same loss. Suppose that the loss of
each answer is dominated by another loss. Then the dominating losses together dominate all answers
together, also when answers are asked adaptively (Zhu, Dong and Wang 2022, arXiv:2106.08567,
Theorem 10).

*Which shifts.* Take an integer vector of L1 norm at most l1 and squared L2 norm at most l2_squared.
Its absolute values, in falling order, are one of finitely many lists. Both distributions are
log-concave, so the curve of a shift by v + 1 is nowhere below the curve of a shift by v. So we need
only the lists that no other list exceeds in every place (`shifts`): (1) for counts of a table when
a row is added, (1, 1) when a row is replaced, (2) or (1, 1) for two rows of a person. If there are
several lists, we take the largest curve at each point.

*Two bounds* are computed.

- On a grid (`composed_epsilon`): exact up to rounding, which enlarges epsilon by about
  0.02 percent. The loss of a shift v is (2 v X + v**2) / (2 sigma2) for Gaussian noise X, and
  (|X + v| - |X|) / scale for Laplace noise X.
- By smoothing (`smooth_rho`): for all shifts, discrete Gaussian noise of parameter sigma2 is as
  private as continuous Gaussian noise of variance sigma2 - 2. This bound is fast for any number of
  answers, and almost exact when sigma2 is large.

The proofs are in docs/proofs/composition.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from .._types import Floats
from ..errors import BudgetError
from ..noise.laws import DiscreteGaussian, DiscreteLaplace, Noise
from .loss import float_above, float_below
from .weights import Weights

__all__ = ["LEAST_DELTA", "Moved", "composed_epsilon", "smooth_limits", "smooth_rho"]


LEAST_DELTA = Fraction(1, 10**250)
"""Smallest delta that is handled; it is far above the products of floats that underflow."""

_GRID_INCREASE = 2e-4
"""By what share of itself the grid increases epsilon if many coordinates change, about."""
_LARGEST_STEP = 5e-3
"""Largest step of the grid, in standard deviations of the loss."""
_LARGEST_DEVIATION = 30.0
"""Largest standard deviation of the loss that is handled."""
_MOST_COORDINATES = 3000
"""Largest number of coordinates that change, on the grid."""
_MOST_SQUARED = 36
"""Largest l2_squared for which all lists of shifts are enumerated: six rows of a person."""
_MOST_SIGMA2 = 10**10
"""Largest sigma2 on the grid."""
_DENOMINATOR = 10**50
"""Sums of fractions are rounded up to multiples of 1 / _DENOMINATOR."""
_SMOOTHING = 2
"""What smoothing subtracts from sigma2."""
_ROUGHNESS = Fraction(15, 10**18)
"""Upper bound on 2 * (sum over n >= 1 of exp(-2 pi**2 n**2 _SMOOTHING)) = 1.43e-17."""


@dataclass(frozen=True)
class Moved:
    """A group of noisy answers with equal noise and equal sensitivity.

    Attributes
    ----------
    noise
        The noise of every coordinate. It is independent from coordinate to coordinate.
    l1, l2_squared
        Bounds on the L1 distance and on the squared L2 distance between the true answers of
        neighbouring tables.
    times
        Number of such answers.
    """

    noise: Noise
    l1: int
    l2_squared: int
    times: int = 1


@lru_cache(maxsize=1024)
def composed_epsilon(answers: tuple[Moved, ...], delta: Fraction) -> Fraction | None:
    """The smallest epsilon for which all answers together are proved (epsilon, delta)-private.

    The proof computes the distribution of the privacy loss on a grid. The result is None when the
    answers are outside the range that the grid handles.

    Parameters
    ----------
    answers
        All answers that are ever given, in any order.
    delta
        Above 0 and below 1.

    Raises
    ------
    BudgetError
        When `answers` is empty.

    Examples
    --------
    >>> tables = Moved(DiscreteGaussian(Fraction(100)), l1=1, l2_squared=1, times=100)
    >>> round(float(composed_epsilon((tables,), Fraction(1, 10**6))), 2)
    4.89
    """
    if not answers:
        raise BudgetError(
            "answers must hold at least one answer, but it is empty; add the answers to compose"
        )

    # Answers that the grid cannot handle.
    moves = [shifts(answer.l1, answer.l2_squared) for answer in answers]
    coordinates = sum(
        answer.times * max(map(len, lists))
        for answer, lists in zip(answers, moves, strict=True)
        if lists
    )
    variance = sum(answer.times * _loss_variance(answer) for answer in answers)
    fits = all(moves) and coordinates <= _MOST_COORDINATES and variance <= _LARGEST_DEVIATION**2
    large = any(_has_large_sigma2(answer) for answer in answers)
    if not fits or large or delta < LEAST_DELTA:
        return None

    # The grid: its step, its half length in standard deviations, and what may be cut off.
    allowed = float_below(delta)
    step = math.sqrt(variance) * min(_LARGEST_STEP, math.sqrt(12 * _GRID_INCREASE / coordinates))
    far = math.sqrt(2 * math.log(1e4 * coordinates / allowed))
    little = 1e-5 * allowed / len(answers)

    # Composition is the convolution of weights that cover each answer.
    together = Weights.none()
    for answer, lists in zip(answers, moves, strict=True):
        one = _covering(answer.noise, lists, step, far, little / answer.times)
        together = together.then(one.times(answer.times, little)).trimmed(little)
    found = together.epsilon(step, allowed)

    pure = _pure(answers)
    if found is None:
        return pure
    if pure is None:
        return Fraction(found)
    return min(Fraction(found), pure)


def _has_large_sigma2(answer: Moved) -> bool:
    noise = answer.noise
    return isinstance(noise, DiscreteGaussian) and noise.sigma2 > _MOST_SIGMA2


def _pure(answers: Sequence[Moved]) -> Fraction | None:
    """The sum of the epsilons of Laplace noise; None when some noise is Gaussian."""
    total = Fraction(0)
    for answer in answers:
        if not isinstance(answer.noise, DiscreteLaplace):
            return None
        total += answer.times * answer.l1 / answer.noise.scale
    return total


@lru_cache(maxsize=256)
def shifts(l1: int, l2_squared: int) -> tuple[tuple[int, ...], ...]:
    """The worst cases for how far the true answers of two neighbouring tables lie apart.

    Each case is a list of absolute changes, one for each coordinate that changes, in falling order.
    Their sum is at most l1, and their squares sum to at most l2_squared. Only maximal lists are
    returned: no other list is at least as large in every place. The result is empty when
    min(l2_squared, l1**2) is above `_MOST_SQUARED`.
    """
    if min(l2_squared, l1**2) > _MOST_SQUARED:
        return ()

    # All lists, by depth-first search: each value is at most the value before it.
    found: list[tuple[int, ...]] = []

    def extend(
        taken: tuple[int, ...],
        left: int,
        squares: int,
    ) -> None:
        before = taken[-1] if taken else left
        most = min(before, left, math.isqrt(squares))
        for value in range(1, most + 1):
            extend((*taken, value), left - value, squares - value**2)
        found.append(taken)

    extend((), l1, l2_squared)

    def below(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        if one == other or len(one) > len(other):
            return False
        return all(a <= b for a, b in zip(one, other, strict=False))

    return tuple(one for one in found if not any(below(one, other) for other in found))


def _loss_variance(answer: Moved) -> float:
    """An approximate upper bound on the variance of the privacy loss of one answer."""
    if isinstance(answer.noise, DiscreteGaussian):
        return float(answer.l2_squared / answer.noise.sigma2)
    return float((answer.l1 / answer.noise.scale) ** 2)


def _covering(
    noise: Noise,
    lists: Sequence[tuple[int, ...]],
    step: float,
    far: float,
    little: float,
) -> Weights:
    """Bound the privacy loss of one answer, for every list of shifts in `lists`.

    A list of shifts states by how much each changed coordinate of the true answer differs between
    neighbouring tables.
    """
    values = {v for one in lists for v in one}
    single = {v: _single(noise, v, step, far) for v in values}
    every = []
    for one in lists:
        together = Weights.none()
        for v in one:
            together = together.then(single[v]).trimmed(little / len(one))
        every.append(together)
    if len(every) == 1:
        return every[0]
    # Of several lists: weights whose curve is above all curves at the points of a common grid.
    low = min(weights.low for weights in every) - 1
    high = max(weights.low + weights.weights.size for weights in every) + 1
    curves = [weights.curve(step, low, high - low) for weights in every]
    grid: Floats = step * np.arange(low, high, dtype=np.float64)
    return Weights.of_curve(low, grid, np.max(curves, axis=0))


def _single(
    noise: Noise,
    v: int,
    step: float,
    far: float,
) -> Weights:
    """Bound the privacy loss of one number with noise, if its true value changes by v."""
    if isinstance(noise, DiscreteGaussian):
        return _gaussian(float_below(noise.sigma2), float_above(noise.sigma2), v, step, far)
    return _laplace(float_below(noise.scale), v, step)


def _gaussian(
    low: float,
    high: float,
    v: int,
    step: float,
    far: float,
) -> Weights:
    """Weights that cover a shift by v of discrete Gaussian noise, low <= sigma2 <= high.

    `low` and `high` are neighbouring floats. Their relative distance is 2**-52, which changes the
    sum of the weights by less than that. The probabilities are exp(-x**2 / (2 sigma2)) divided by
    their sum over |x| <= K; that sum lacks the terms beyond K, so the quotients are too large.
    Beyond K the probabilities fall faster than the powers of exp(-K / sigma2), so each side sums to
    at most p_K / (exp(K / sigma2) - 1). The mass below -K is given the loss of -K. The mass above K
    counts as an infinite loss. An exponent of at most far**2 carries fewer than five roundings.
    """
    # Probabilities from -K to K, enlarged by more than all roundings.
    end = math.ceil(far * math.sqrt(high)) + 1
    x: Floats = np.arange(-end, end + 1, dtype=np.float64)
    mass = np.exp(-(x**2) / (2 * high))
    mass *= (1 + 1e-14 + 4e-15 * far**2 + 4e-16 * x.size) / mass.sum()
    # Bound on the mass beyond K on one side; a larger exponent would overflow.
    exponent = min(end / high, 700.0)
    beyond = float(mass[-1]) / math.expm1(exponent) * (1 + 1e-12)
    mass[0] += beyond
    # Losses (2 v x + v**2) / (2 sigma2), rounded up.
    twice = 2 * v * x + v**2
    losses = np.maximum(twice / (2 * low), twice / (2 * high))
    losses += 4e-16 * np.abs(losses)
    return Weights.of_atoms(losses, mass, beyond, step)


def _laplace(
    low: float,
    v: int,
    step: float,
) -> Weights:
    """Weights that cover a shift by v of discrete Laplace noise with a scale of at least `low`.

    Noise of a larger scale is noise of a smaller scale plus independent noise, which gives an
    adversary no advantage.

    With r = exp(-1 / scale), P(X = x) = (1 - r) / (1 + r) r**|x| and P(X >= x) = r**x / (1 + r) for
    x >= 0. The loss is v / scale for X >= 0, -v / scale for X <= -v and (2 x + v) / scale between.
    """
    rate = math.nextafter(1 / low, math.inf)
    x: Floats = np.arange(-v + 1, 0, dtype=np.float64)
    losses = np.concatenate([[-v], 2 * x + v, [v]]) * rate
    losses += 4e-16 * np.abs(losses)
    share = 1 / (1 + math.exp(-rate))
    inner = -math.expm1(-rate) * share * np.exp(x * rate)
    errors = 1 + 1e-14 + 4e-15 * v * rate
    masses = np.concatenate([[share * math.exp(-v * rate)], inner, [share]]) * errors
    return Weights.of_atoms(losses, masses, 0.0, step)


def smooth_rho(answers: Sequence[Moved]) -> Fraction | None:
    """The rho of a Gaussian privacy loss (mu**2 = 2 rho) that bounds the loss of all answers.

    The bound holds within the limits of `smooth_limits`. The result is None unless all noise is
    discrete Gaussian with sigma2 above 2.
    """
    total = 0
    for answer in answers:
        noise = answer.noise
        if not isinstance(noise, DiscreteGaussian) or noise.sigma2 <= _SMOOTHING:
            return None
        variance = noise.sigma2 - _SMOOTHING
        total += math.ceil(_DENOMINATOR * answer.times * answer.l2_squared / (2 * variance))
    return Fraction(total, _DENOMINATOR)


def smooth_limits(
    coordinates: int,
    epsilon: Fraction,
    delta: Fraction,
) -> tuple[Fraction, Fraction] | None:
    """Limits (epsilon', delta') on a Gaussian loss that imply (epsilon, delta) for the answers.

    The Gaussian loss is that of `smooth_rho`.

    `coordinates`, the number m below, is how many coordinates of the answers change. The result is
    None when m is too large for epsilon.

    P <= (1 + a)**m P' and Q >= ((1 - a) / (1 + a))**m Q', where P' and Q' come from the Gaussian
    pair and a is `_ROUGHNESS`. So P(S) - e**epsilon Q(S) is at most
    (1 + a)**m (P'(S) - e**(epsilon - 4 a m) Q'(S)), because (1 + a)**2 / (1 - a) <= e**(4 a).
    """
    small = _ROUGHNESS * coordinates
    if 4 * small >= epsilon or small >= Fraction(1, 1000):
        return None
    return epsilon - 4 * small, delta * (1 - 2 * small)
