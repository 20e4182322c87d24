"""How much Gaussian noise an (epsilon, delta) budget must pay for, when one call spends all of it."""

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

_LARGE_SIGMA2 = 1000  # from which smoothing costs next to nothing: a thousandth of epsilon
_MOST_GROUPS = 200  # of answers with the same noise and bounds, on the grid
_TRIALS = 12
_NEAR = 1e-4  # the part of epsilon that may be left unused
_ELASTICITY = 0.6  # of epsilon by rho, about


def at_once(
    shares: tuple[Fraction, ...],
    bounds: tuple[tuple[int, int], ...],
    limits: tuple[Fraction, Fraction],
    known: Fraction,
) -> tuple[DiscreteGaussian, ...]:
    """The noise of answers that together are (epsilon, delta)-differentially private.

    sigma2_i = l2_squared_i / (2 rho_i) with rho_i a share of the largest rho that is found at which
    the answers are proved to keep within the limits, by one of the bounds of
    `margin.privacy.composition`, or that is known to.

    Parameters
    ----------
    shares
        Of each answer, positive.
    bounds
        Of each answer the L1 distance, and the squared L2 distance, of its true values, at most.
    limits
        epsilon and delta.
    known
        A rho that keeps within the limits.
    """
    asked = [
        (share.as_integer_ratio(), *bound) for share, bound in zip(shares, bounds, strict=True)
    ]
    numbers = Counter(asked)
    total = sum(number * Fraction(*ratio) for (ratio, _, _), number in numbers.items())
    kinds = {(ratio, l1, l2): (Fraction(*ratio) / total, l1, l2) for ratio, l1, l2 in numbers}
    plan = _Plan(tuple(sorted((kinds[key], number) for key, number in numbers.items())))
    rho = _largest_rho(plan, limits, known)
    noise = {key: _noise(rho, kind) for key, kind in kinds.items()}
    return tuple(noise[key] for key in asked)


_Kind = tuple[Fraction, int, int]  # the share, l1 and l2_squared of an answer


def _noise(rho: Fraction, kind: _Kind) -> DiscreteGaussian:
    share, _, l2_squared = kind
    return DiscreteGaussian(l2_squared / (2 * rho * share))


@dataclass(frozen=True)
class _Plan:
    """What is answered: kinds of answers and how many there are of each."""

    kinds: tuple[tuple[_Kind, int], ...]

    def answers(self, rho: Fraction) -> tuple[Moved, ...]:
        """The answers, when that is the sum of their rhos."""
        return tuple(
            Moved(_noise(rho, kind), kind[1], kind[2], times) for kind, times in self.kinds
        )

    @property
    def coordinates(self) -> int:
        """How many coordinates differ between neighbours, at most: integers that differ do so by
        one or more."""
        return sum(times * min(l1, l2_squared) for (_, l1, l2_squared), times in self.kinds)

    def least_sigma2(self, rho: Fraction) -> Fraction:
        """The smallest parameter of the noise."""
        return min(_noise(rho, kind).sigma2 for kind, _ in self.kinds)


@lru_cache(maxsize=512)
def _largest_rho(plan: _Plan, limits: tuple[Fraction, Fraction], known: Fraction) -> Fraction:
    if limits[1] < LEAST_DELTA:
        return known
    rho = max(known, _smooth(plan, limits))
    if rho > known and plan.least_sigma2(rho) >= _LARGE_SIGMA2:
        return rho
    return _on_grid(plan, limits, rho) if len(plan.kinds) <= _MOST_GROUPS else rho


def _smooth(plan: _Plan, limits: tuple[Fraction, Fraction]) -> Fraction:
    """About the largest rho by smoothing, found in floats and then proved; zero when there is none."""
    inner = smooth_limits(plan.coordinates, *limits)
    if inner is None:
        return Fraction(0)
    allowed = gaussian_rho_below(*inner)
    share = np.array([float(kind[0]) for kind, _ in plan.kinds])
    variance = np.array(
        [kind[2] / (2 * float(kind[0])) for kind, _ in plan.kinds]
    )  # sigma2 at a rho of one
    times = np.array([number for _, number in plan.kinds])
    low, high = 0.0, min(float(allowed), float(variance.min()) / 2)
    for _ in range(60):
        middle = (low + high) / 2
        reached = float((times * share * middle / (1 - 2 * middle / variance)).sum())
        low, high = (middle, high) if reached <= allowed else (low, middle)
    rho = _short(low * (1 - 1e-9))
    proved = smooth_rho(plan.answers(rho))
    return rho if proved is not None and proved <= allowed else Fraction(0)


def _on_grid(plan: _Plan, limits: tuple[Fraction, Fraction], rho: Fraction) -> Fraction:
    """The largest rho that is found on the grid, at least the given one: by secants in logarithms."""
    epsilon, delta = limits
    target = float(epsilon) * (1 - _NEAR / 2)
    best, failed = rho, math.inf
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
        slope = _ELASTICITY
        if before is not None and reached > 0 and reached != before[1]:
            slope = math.log(reached / before[1]) / math.log(trial / before[0])
        if reached > 0:
            before = trial, reached
        trial *= (target / max(reached, target / 4)) ** (1 / min(max(slope, 0.3), 2.0))
        if not float(best) < trial < failed:
            trial = (float(best) + failed) / 2 if failed < math.inf else 2 * float(best)
    return best


def _short(number: float) -> Fraction:
    """At most the number, and within a part of 10**-7 of it, with few digits.

    Exact noise is drawn by it, and the last bits of floats, which differ between machines, hardly
    ever enter it.
    """
    rounded = Fraction(f"{number:.7e}")
    return (
        rounded
        if rounded <= number
        else rounded - Fraction(f"1e{math.floor(math.log10(number)) - 7}")
    )
