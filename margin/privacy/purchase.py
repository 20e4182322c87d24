"""The least Gaussian noise that is proved private when one call spends a whole (epsilon, delta)
budget."""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ..noise.laws import DiscreteGaussian
from .composition import LEAST_DELTA, Moved, composed_epsilon, smooth_limits, smooth_rho
from .gaussian import gaussian_rho_below

__all__ = ["at_once"]

_LARGE_SIGMA2 = 1000  # from this sigma2 on, smoothing loses at most a thousandth of epsilon
_MOST_GROUPS = 200  # largest number of kinds of answers on the grid
_TRIALS = 12  # largest number of steps of the secant search
_NEAR = 1e-4  # share of epsilon that the search may leave unused
_ELASTICITY = 0.6  # first guess of d ln(epsilon) / d ln(rho)


def at_once(
    shares: tuple[Fraction, ...],
    bounds: tuple[tuple[int, int], ...],
    limits: tuple[Fraction, Fraction],
    known: Fraction,
) -> tuple[DiscreteGaussian, ...]:
    """The least noise, found by search, with which all answers together are (epsilon,
    delta)-private.

    Answer i gets Gaussian noise with sigma2_i = l2_squared_i / (2 rho_i). rho_i is its share of
    rho, the largest total that the search finds. A total qualifies when a bound of
    `margin.privacy.composition` proves that all answers keep within the limits. The result is never
    worse than with the total `known`.

    Parameters
    ----------
    shares
        A positive weight for each answer.
    bounds
        For each answer: bounds on the L1 distance and on the squared L2 distance between its true
        values on neighbouring tables.
    limits
        epsilon and delta.
    known
        A rho that is known to keep within the limits.
    """
    # Equal answers form one kind; shares are scaled to sum to one.
    asked = [
        (share.as_integer_ratio(), *bound) for share, bound in zip(shares, bounds, strict=True)
    ]
    numbers = Counter(asked)
    total = sum(number * Fraction(*ratio) for (ratio, _, _), number in numbers.items())
    kinds = {}
    for key in numbers:
        ratio, l1, l2_squared = key
        kinds[key] = (Fraction(*ratio) / total, l1, l2_squared)

    # The plan is sorted, so that its cached result does not depend on the order of the answers.
    counted = [(kinds[key], number) for key, number in numbers.items()]
    plan = _Plan(tuple(sorted(counted)))
    rho = _largest_rho(plan, limits, known)
    noise = {key: _noise(rho, kind) for key, kind in kinds.items()}
    return tuple(noise[key] for key in asked)


_Kind = tuple[Fraction, int, int]  # the share, l1 and l2_squared of an answer


def _noise(rho: Fraction, kind: _Kind) -> DiscreteGaussian:
    share, _, l2_squared = kind
    return DiscreteGaussian(l2_squared / (2 * rho * share))


@dataclass(frozen=True)
class _Plan:
    """A list of kinds of answers (share, l1, l2_squared), each with its number of answers."""

    kinds: tuple[tuple[_Kind, int], ...]

    def answers(self, rho: Fraction) -> tuple[Moved, ...]:
        """The answers with the noise that they have when `rho` is the sum of their rhos."""
        found = []
        for kind, times in self.kinds:
            _, l1, l2_squared = kind
            found.append(Moved(_noise(rho, kind), l1, l2_squared, times))
        return tuple(found)

    @property
    def coordinates(self) -> int:
        """Upper bound on the number of coordinates that differ between neighbouring tables.

        The answers are integers, so each coordinate that differs adds at least one to both norms.
        """
        return sum(times * min(l1, l2_squared) for (_, l1, l2_squared), times in self.kinds)

    def least_sigma2(self, rho: Fraction) -> Fraction:
        """The smallest sigma2 of the noise."""
        return min(_noise(rho, kind).sigma2 for kind, _ in self.kinds)


@lru_cache(maxsize=512)
def _largest_rho(
    plan: _Plan,
    limits: tuple[Fraction, Fraction],
    known: Fraction,
) -> Fraction:
    """The largest total rho whose noise is proved to be (epsilon, delta)-differentially private.

    `limits` is the pair (epsilon, delta). If the noise is large, the proof is by smoothing;
    otherwise the grid is tried as well (see `margin.privacy.composition`). The result is at least
    `known`.
    """
    if limits[1] < LEAST_DELTA:
        return known
    rho = max(known, _smooth(plan, limits))
    if rho > known and plan.least_sigma2(rho) >= _LARGE_SIGMA2:
        return rho
    return _on_grid(plan, limits, rho) if len(plan.kinds) <= _MOST_GROUPS else rho


def _smooth(plan: _Plan, limits: tuple[Fraction, Fraction]) -> Fraction:
    """About the largest total rho that smoothing proves; zero when it proves none.

    It is searched in floats and then proved exactly.
    """
    inner = smooth_limits(plan.coordinates, *limits)
    if inner is None:
        return Fraction(0)
    allowed = gaussian_rho_below(*inner)

    # The rho of the Gaussian loss as a function of the total, by kinds; `variance` is sigma2 at a
    # total of one.
    share = np.array([float(share) for (share, _, _), _ in plan.kinds])
    squares = np.array([float(l2_squared) for (_, _, l2_squared), _ in plan.kinds])
    variance = squares / (2 * share)
    times = np.array([number for _, number in plan.kinds])

    # Bisection: the largest total whose Gaussian loss is allowed.
    low = 0.0
    high = min(float(allowed), float(variance.min()) / 2)
    for _ in range(60):
        middle = (low + high) / 2
        reached = float((times * share * middle / (1 - 2 * middle / variance)).sum())
        if reached <= allowed:
            low = middle
        else:
            high = middle

    # Exact check of the result.
    rho = _short(low * (1 - 1e-9))
    proved = smooth_rho(plan.answers(rho))
    return rho if proved is not None and proved <= allowed else Fraction(0)


def _on_grid(
    plan: _Plan,
    limits: tuple[Fraction, Fraction],
    rho: Fraction,
) -> Fraction:
    """About the largest total rho that the grid proves, and at least the given `rho`.

    The search uses secants of ln(epsilon) over ln(rho).
    """
    epsilon, delta = limits
    target = float(epsilon) * (1 - _NEAR / 2)
    best = rho
    failed = math.inf
    trial = max(float(gaussian_rho_below(epsilon, delta)), float(rho))
    before: tuple[float, float] | None = None
    for _ in range(_TRIALS):
        tried = _short(trial)
        certified = composed_epsilon(plan.answers(tried), delta)
        if certified is None:
            break
        reached = float(certified)
        if certified <= epsilon:
            best = max(best, tried)
            if reached >= float(epsilon) * (1 - _NEAR):
                break
        else:
            failed = min(failed, trial)

        # The next trial: along the secant through the last two, with a slope from 0.3 to 2.
        slope = _ELASTICITY
        if before is not None and reached > 0 and reached != before[1]:
            slope = math.log(reached / before[1]) / math.log(trial / before[0])
        if reached > 0:
            before = trial, reached
        bounded_slope = min(max(slope, 0.3), 2.0)
        trial *= (target / max(reached, target / 4)) ** (1 / bounded_slope)

        # Outside the bracket of the proved and the failed totals: its middle instead.
        if not float(best) < trial < failed:
            trial = (float(best) + failed) / 2 if failed < math.inf else 2 * float(best)
    return best


def _short(number: float) -> Fraction:
    """Round a number down to eight significant digits.

    Its exact value is a parameter of the noise. The last bits of floats differ between machines;
    with few digits they hardly ever change the result.
    """
    rounded = Fraction(f"{number:.7e}")
    if rounded <= number:
        return rounded
    last_digit = Fraction(f"1e{math.floor(math.log10(number)) - 7}")
    return rounded - last_digit
