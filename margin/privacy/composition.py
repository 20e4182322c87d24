"""The (epsilon, delta) of a list of noisy answers that is fixed beforehand: by its privacy loss.

*What is fixed.* The law of the noise of every answer, and bounds on how far the true answers of
neighbouring tables are apart. What is asked may depend on earlier answers.

*The loss.* Noise is independent in each coordinate. So the loss between two tables is the sum, over
the coordinates that differ, of the losses of shifts by integers v. The noise has the law of its
negative, so that both signs of v, and both directions, have the same loss. Losses that dominate
those of the answers, one by one, dominate together, also when answers are asked adaptively (Zhu,
Dong and Wang 2022, arXiv:2106.08567, Theorem 10).

*Which shifts.* An integer vector of L1 norm at most l1 and squared L2 norm at most l2_squared: its
absolute values, ordered, are one of finitely many lists. A shift by v + 1 has a curve nowhere below
that of v, since both laws are log-concave. So only lists matter that no other exceeds in every
place (`shifts`): (1) for counts of a table when a row is added, (1, 1) when one is replaced, (2) or
(1, 1) for two rows of a person. Of several the largest curve is taken.

*Two bounds* are known.

- On a grid (`composed_epsilon`): exact up to rounding, which enlarges epsilon by about 0.02 percent.
  For Gaussian noise X the loss of a shift v is (2 v X + v**2) / (2 sigma2), for Laplace noise (|X +
  v| - |X|) / scale.
- By smoothing (`smooth_rho`): discrete Gaussian noise of parameter sigma2 is as good as continuous
  noise of variance sigma2 - 2, for all shifts. Quick, however many answers there are, and next to
  exact when sigma2 is large.

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
"""The smallest delta for which anything is computed: far above what underflows in all products of
floats."""

_LOOSE = 2e-4  # by how much, about, the grid may enlarge epsilon when many coordinates change
_STEP = 5e-3  # of the grid, in deviations of the loss, at most
_LARGEST_DEVIATION = 30.0  # of the loss, above which nothing is computed
_MOST_COORDINATES = 3000  # that change, on the grid
_MOST_SQUARED = (
    36  # the largest l2_squared whose lists of shifts are all looked at: six rows of a person
)
_MOST_SIGMA2 = 10**10  # on the grid
_FINE = 10**50  # the inverse of what sums of fractions are rounded up to
_SMOOTHING = 2  # what is taken from sigma2
_ROUGHNESS = Fraction(15, 10**18)
"""Above 2 * sum over n >= 1 of exp(-2 pi**2 n**2 _SMOOTHING) = 1.43e-17."""


@dataclass(frozen=True)
class Moved:
    """Answers with independent noise of one law, and how far those of neighbouring tables are
    apart.

    Attributes
    ----------
    noise
        Of every coordinate.
    l1, l2_squared
        The L1 distance, and the squared L2 distance, of the true answers, at most.
    times
        How many such answers there are.
    """

    noise: Noise
    l1: int
    l2_squared: int
    times: int = 1


@lru_cache(maxsize=1024)
def composed_epsilon(answers: tuple[Moved, ...], delta: Fraction) -> Fraction | None:
    """An epsilon such that all answers together are (epsilon, delta)-differentially private,
    proved; None when the grid is not fine enough for them.

    Parameters
    ----------
    answers
        All that is ever answered, in any order.
    delta
        Above 0 and below 1.

    Raises
    ------
    BudgetError
        When there are no answers.

    Examples
    --------
    >>> tables = Moved(DiscreteGaussian(Fraction(100)), l1=1, l2_squared=1, times=100)
    >>> round(float(composed_epsilon((tables,), Fraction(1, 10**6))), 2)
    4.89
    """
    if not answers:
        raise BudgetError("there must be at least one answer")
    moves = [shifts(answer.l1, answer.l2_squared) for answer in answers]
    coordinates = sum(
        answer.times * max(map(len, lists))
        for answer, lists in zip(answers, moves, strict=True)
        if lists
    )
    variance = sum(answer.times * _loss_variance(answer) for answer in answers)
    fits = all(moves) and coordinates <= _MOST_COORDINATES and variance <= _LARGEST_DEVIATION**2
    large = any(
        isinstance(a.noise, DiscreteGaussian) and a.noise.sigma2 > _MOST_SIGMA2 for a in answers
    )
    if not fits or large or delta < LEAST_DELTA:
        return None
    allowed = float_below(delta)
    step = math.sqrt(variance) * min(_STEP, math.sqrt(12 * _LOOSE / coordinates))
    far = math.sqrt(2 * math.log(1e4 * coordinates / allowed))
    little = 1e-5 * allowed / len(answers)
    together = Weights.none()
    for answer, lists in zip(answers, moves, strict=True):
        one = _covering(answer.noise, lists, step, far, little / answer.times)
        together = together.then(one.times(answer.times, little)).trimmed(little)
    found = together.epsilon(step, allowed)
    pure = _pure(answers)
    if found is None or pure is None:
        return pure if found is None else Fraction(found)
    return min(Fraction(found), pure)


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
    """The lists of absolute values, falling, of integer vectors within both norms that no other
    list exceeds.

    None at all when `l2_squared`, beyond what `l1` implies, is above `_MOST_SQUARED`.
    """
    if min(l2_squared, l1**2) > _MOST_SQUARED:
        return ()
    found: list[tuple[int, ...]] = []

    def extend(taken: tuple[int, ...], left: int, squares: int) -> None:
        most = min(taken[-1] if taken else left, left, math.isqrt(squares))
        for value in range(1, most + 1):
            extend((*taken, value), left - value, squares - value**2)
        found.append(taken)

    extend((), l1, l2_squared)

    def below(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        return (
            one != other
            and len(one) <= len(other)
            and all(a <= b for a, b in zip(one, other, strict=False))
        )

    return tuple(one for one in found if not any(below(one, other) for other in found))


def _loss_variance(answer: Moved) -> float:
    """Of the loss of one answer, about, at most."""
    if isinstance(answer.noise, DiscreteGaussian):
        return float(answer.l2_squared / answer.noise.sigma2)
    return float((answer.l1 / answer.noise.scale) ** 2)


def _covering(
    noise: Noise, lists: Sequence[tuple[int, ...]], step: float, far: float, little: float
) -> Weights:
    """Weights that cover one answer: those of the only list of shifts, or of the largest curve of
    several."""
    single = {v: _single(noise, v, step, far) for v in {v for one in lists for v in one}}
    every = []
    for one in lists:
        together = Weights.none()
        for v in one:
            together = together.then(single[v]).trimmed(little / len(one))
        every.append(together)
    if len(every) == 1:
        return every[0]
    low = min(weights.low for weights in every) - 1
    high = max(weights.low + weights.weights.size for weights in every) + 1
    curves = [weights.curve(step, low, high - low) for weights in every]
    grid: Floats = step * np.arange(low, high, dtype=np.float64)
    return Weights.of_curve(low, grid, np.max(curves, axis=0))


def _single(noise: Noise, v: int, step: float, far: float) -> Weights:
    """Weights that cover a shift of one coordinate."""
    if isinstance(noise, DiscreteGaussian):
        return _gaussian(float_below(noise.sigma2), float_above(noise.sigma2), v, step, far)
    return _laplace(float_below(noise.scale), v, step)


def _gaussian(low: float, high: float, v: int, step: float, far: float) -> Weights:
    """Of discrete Gaussian noise whose sigma2 lies between two neighbouring floats.

    These are a relative 2**-52 apart, which moves the sum of the weights by less. The weights are
    exp(-x**2 / (2 sigma2)) over a sum of the same that lacks what is beyond. Beyond the end at K
    they fall faster than the powers of exp(-K / sigma2): at most p_K / (exp(K / sigma2) - 1) on
    each side. What is below is given the loss of -K, what is above counts as infinite. An exponent
    of at most far**2 carries fewer than five roundings.
    """
    end = math.ceil(far * math.sqrt(high)) + 1
    x: Floats = np.arange(-end, end + 1, dtype=np.float64)
    mass = np.exp(-(x**2) / (2 * high))
    mass *= (1 + 1e-14 + 4e-15 * far**2 + 4e-16 * x.size) / mass.sum()
    beyond = (
        float(mass[-1]) / math.expm1(min(end / high, 700.0)) * (1 + 1e-12)
    )  # of more, exp overflows
    mass[0] += beyond
    twice = 2 * v * x + v**2
    losses = np.maximum(twice / (2 * low), twice / (2 * high))
    losses += 4e-16 * np.abs(losses)
    return Weights.of_atoms(losses, mass, beyond, step)


def _laplace(low: float, v: int, step: float) -> Weights:
    """Of discrete Laplace noise with a scale of at least `low`.

    Noise of a larger scale is that of a smaller one, plus independent noise: no better for an
    adversary.

    With r = exp(-1 / scale), P(X = x) = (1 - r) / (1 + r) r**|x| and P(X >= x) = r**x / (1 + r) for
    x >= 0. The loss is v / scale for X >= 0, -v / scale for X <= -v and (2 x + v) / scale between.
    """
    rate = math.nextafter(1 / low, math.inf)
    x: Floats = np.arange(-v + 1, 0, dtype=np.float64)
    losses = np.concatenate([[-v], 2 * x + v, [v]]) * rate
    losses += 4e-16 * np.abs(losses)
    share = 1 / (1 + math.exp(-rate))
    inner = -math.expm1(-rate) * share * np.exp(x * rate)
    masses = np.concatenate([[share * math.exp(-v * rate)], inner, [share]]) * (
        1 + 1e-14 + 4e-15 * v * rate
    )
    return Weights.of_atoms(losses, masses, 0.0, step)


def smooth_rho(answers: Sequence[Moved]) -> Fraction | None:
    """The rho of the Gaussian loss (mu**2 = 2 rho) which, within `smooth_limits`, no loss of the
    answers exceeds.

    None when an answer has other noise than discrete Gaussian with sigma2 above 2.
    """
    total = 0
    for answer in answers:
        if not isinstance(answer.noise, DiscreteGaussian) or answer.noise.sigma2 <= _SMOOTHING:
            return None
        total += math.ceil(
            _FINE * answer.times * answer.l2_squared / (2 * (answer.noise.sigma2 - _SMOOTHING))
        )
    return Fraction(total, _FINE)


def smooth_limits(
    coordinates: int, epsilon: Fraction, delta: Fraction
) -> tuple[Fraction, Fraction] | None:
    """What the Gaussian loss must satisfy so that answers that change in so many coordinates
    satisfy (epsilon, delta).

    P <= (1 + a)**m P' and Q >= ((1 - a) / (1 + a))**m Q', where P', Q' come from the Gaussian pair
    and a is `_ROUGHNESS`. So P(S) - e**epsilon Q(S) is at most (1 + a)**m (P'(S) - e**(epsilon - 4
    a m) Q'(S)), as (1 + a)**2 / (1 - a) <= e**(4 a).
    """
    small = _ROUGHNESS * coordinates
    if 4 * small >= epsilon or small >= Fraction(1, 1000):
        return None
    return epsilon - 4 * small, delta * (1 - 2 * small)
