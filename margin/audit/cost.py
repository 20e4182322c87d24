"""What answers cost, computed anew from their noise and from how far true answers are apart.

Nothing here asks the code that is audited: not `Budget`, not `Event`'s charges, not the account.
Numbers are Python's, which are of any size, or fractions; floats only where a bound is sought from
below.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..noise.laws import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism
from ..privacy.budget import ApproxDP, Budget, PureDP
from ..privacy.event import Event
from .look import Violation
from .together import delta_together

__all__ = ["apart", "check_costs", "chooses", "cost", "least_delta", "sparse_apart"]

_GRID = 2e-4  # of privacy losses
_FAR = Fraction(10**9)
_TOLERANCE = 1.02  # of a delta, for the grid of `delta_together`
_ROUNDING = 1e-12  # of the same, for the Fourier transform
_SLACK = Fraction(1, 10**12)  # charges are whole numbers of it
_POINTS = 1 << 22  # of a composed loss distribution


Key = tuple[str, Fraction, int]


@dataclass(frozen=True)
class Apart:
    """How far two true answers are apart: the sum, the sum of squares, the range and the largest of
    the changes of their numbers."""

    l1: int
    l2_squared: int
    spread: int
    furthest: int


def apart(ours: Any, theirs: Any) -> Apart:
    """How far two arrays of integers of one shape are apart, in numbers of any size.

    Raises
    ------
    Violation
        When they are not integers, or their shapes or types differ.
    """
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        raise Violation("a true answer has another shape or type on a neighbouring table")
    if ours.dtype.kind not in "iu":
        raise Violation(f"a true answer is of {ours.dtype}, not of integers")
    places = np.flatnonzero(ours.ravel() != theirs.ravel())
    pairs = zip(ours.ravel()[places].tolist(), theirs.ravel()[places].tolist(), strict=True)
    changes = [after - before for before, after in pairs]
    if len(changes) < ours.size:
        changes.append(0)
    return _apart(changes)


def sparse_apart(ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> Apart:
    """How far two tables are apart that are given by their cells, as rows of words, and the counts
    in these."""
    change: Counter[tuple[int, ...]] = Counter()
    for (words, counts), sign in ((ours, -1), (theirs, 1)):
        if np.asarray(counts).dtype.kind not in "iu":
            raise Violation("a true answer is not of integers")
        for word, count in zip(
            np.asarray(words).tolist(), np.asarray(counts).tolist(), strict=True
        ):
            change[tuple(word)] += sign * count
    return _apart([*change.values(), 0])


def _apart(changes: Sequence[int]) -> Apart:
    if not changes:
        return Apart(0, 0, 0, 0)
    return Apart(
        sum(abs(change) for change in changes),
        sum(change * change for change in changes),
        max(changes) - min(changes),
        max(abs(change) for change in changes),
    )


def chooses(event: Event) -> bool:
    """Whether an event is a choice among candidates, not noise on numbers."""
    return isinstance(event.sampler, ExponentialMechanism)


def cost(event: Event, budget: Budget) -> Fraction:
    """What an event really costs, by the parameter of its noise: epsilon for a pure budget, else
    rho.

    Laplace noise of scale b on answers l1 apart: epsilon = l1 / b. Gaussian noise of parameter s on
    answers of squared distance d: rho = d / (2 s). Scores whose changes are at most `spread` apart,
    at a rate r: choices of bounded range r * spread, which is epsilon, and rho = epsilon**2 / 8 for
    a choice, epsilon**2 / 2 for noise.
    """
    sampler, pure = event.sampler, isinstance(budget, PureDP)
    if isinstance(sampler, DiscreteGaussian):
        return _FAR if pure else Fraction(event.l2_squared) / (2 * Fraction(sampler.sigma2))
    if isinstance(sampler, DiscreteLaplace):
        epsilon = Fraction(event.l1) / Fraction(sampler.scale)
        return epsilon if pure else epsilon**2 / 2
    if not isinstance(sampler, ExponentialMechanism):
        return _FAR
    epsilon = Fraction(sampler.rate) * event.spread
    return event.draws * (epsilon if pure else epsilon**2 / 8)


def check_costs(events: Sequence[Event], budget: Budget) -> None:
    """Violation unless all events together keep to the budget, each to its charge; by their noise
    alone.

    Rounds of draws are charged together. An (epsilon, delta) budget is kept to if the rhos add up
    to one that implies it, or else unless the loss distributions of noise and choices, composed,
    are proved to exceed delta.
    """
    total = sum((cost(event, budget) for event in events), Fraction(0))
    charged = sum(event.units for event in events) * _SLACK
    exceeded = charged > _allowed(budget) + _SLACK
    for event in events:
        if event.rounds is None and cost(event, budget) > event.units * _SLACK:
            exceeded = True
    exceeded |= total > charged
    if not exceeded:
        return
    if isinstance(budget, ApproxDP) and _is_below(
        events, float(budget.epsilon), float(budget.delta)
    ):
        return
    methods = ", ".join(dict.fromkeys(event.method for event in events))
    raise Violation(
        f"has less noise than was paid for, or spends more than the budget, in {methods}"
    )


def _allowed(budget: Budget) -> Fraction:
    """The epsilon or the rho that a budget may spend, read from its declaration.

    For (epsilon, delta) it is the largest rho for which the infimum over alpha of
    ``exp((alpha - 1) (alpha rho - epsilon)) / (alpha - 1) * (1 - 1 / alpha)**alpha`` is at most
    delta (Canonne, Kamath and Steinke 2020, Proposition 12), and a millionth more for rounding.
    """
    if isinstance(budget, PureDP):
        return Fraction(budget.epsilon)
    if not isinstance(budget, ApproxDP):
        return Fraction(budget.rho)  # type: ignore[attr-defined]
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    orders = 1 + np.logspace(-6, 7, 20_001)
    shrink = -np.log(orders - 1) + orders * np.log1p(-1 / orders)

    def implied(rho: float) -> float:
        return float(((orders - 1) * (orders * rho - epsilon) + shrink).min())

    low, high = 0.0, epsilon + 1.0
    while implied(high) <= math.log(delta):
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if implied(middle) <= math.log(delta) else (low, middle)
    return Fraction(high) * (1 + Fraction(1, 10**6))


def least_delta(events: Sequence[Event], epsilon: float) -> float:
    """A delta that all events together cannot be below at that epsilon, if neighbours are as far
    apart as declared.

    One number changes by all of the declared distance; losses are rounded down to a grid and added
    up by convolution. For choices of range e the worst pair of laws on two outcomes is tried with
    several upper ends of the range.
    """
    keys = tuple(sorted(Counter(map(_key, events)).items()))
    shares = (0.5, 0.4, 0.6, 0.25, 0.75) if any(chooses(event) for event in events) else (0.5,)
    return max(_least_delta(keys, epsilon, share) for share in shares)


@lru_cache(maxsize=256)
def _least_delta(
    keys: "tuple[tuple[Key, int], ...]",
    epsilon: float,
    share: float,
) -> float:
    composed, low = np.ones(1), 0
    for (kind, parameter, size), times in keys:
        loss, least = _loss(kind, parameter, size, share)
        power, least = _power(loss, least, times)
        composed, low = _fft(composed, power), low + least
        if composed.size > _POINTS:
            return 0.0  # too many to say
    losses = (low + np.arange(composed.size)) * _GRID
    above = losses > epsilon
    return float((composed[above] * -np.expm1(epsilon - losses[above])).sum()) * (1 - 1e-6)


def _is_below(
    events: Sequence[Event],
    epsilon: float,
    delta: float,
) -> bool:
    """Whether nothing is known by which all events together would exceed delta: no bound from
    below, nor, for Gaussian noise alone, the sum over many coordinates, which is known to about a
    percent."""
    if least_delta(events, epsilon) > delta:
        return False
    if all(isinstance(event.sampler, DiscreteGaussian) for event in events):
        return delta_together(events, epsilon) <= _TOLERANCE * delta + _ROUNDING
    return True


def _key(event: Event) -> Key:
    sampler = event.sampler
    if isinstance(sampler, DiscreteGaussian):
        return ("gaussian", Fraction(sampler.sigma2), math.isqrt(event.l2_squared))
    if isinstance(sampler, DiscreteLaplace):
        return ("laplace", Fraction(sampler.scale), event.l1)
    return ("choice", Fraction(sampler.rate) * event.spread, event.draws)


def _loss(
    kind: str,
    parameter: Fraction,
    size: int,
    share: float,
) -> tuple[npt.NDArray[np.float64], int]:
    """The distribution of the privacy loss on the grid, and the place of its first point."""
    if kind == "choice":
        reach = float(parameter)
        if reach == 0:
            return np.ones(1), 0
        top = share * reach
        p = -math.expm1(reach - top) / (math.exp(-top) - math.exp(reach - top))
        loss, least = _on_grid(np.array([top, top - reach]), np.array([p, 1 - p]))
        return _power(loss, least, size)
    width = float(parameter) if kind == "laplace" else math.sqrt(parameter)
    reach = int(40 * width + 10) + size
    if reach > 10**6:
        return np.ones(
            1
        ), 0  # too fine to be tabulated: taken to cost nothing, for a bound from below
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    if kind == "laplace":
        logs, losses = -np.abs(x) / width, (np.abs(x - size) - np.abs(x)) / width
    else:
        logs, losses = -(x**2) / (2 * width**2), (size**2 - 2 * x * size) / (2 * width**2)
    weights = np.exp(logs)
    return _on_grid(losses, weights / weights.sum())


def _on_grid(
    losses: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], int]:
    """Losses rounded down; what is very unlikely is left out, which lowers delta."""
    kept = weights > 1e-18
    places = np.floor(losses[kept] / _GRID).astype(np.int64)
    least = int(places.min())
    return np.bincount(places - least, weights[kept]).astype(np.float64), least


def _power(
    loss: npt.NDArray[np.float64],
    least: int,
    times: int,
) -> tuple[npt.NDArray[np.float64], int]:
    """The distribution of the sum of `times` independent losses."""
    result, low = np.ones(1), 0
    while times:
        if times & 1:
            result, low = _fft(result, loss), low + least
        times >>= 1
        if times:
            loss, least = _fft(loss, loss), 2 * least
        if max(result.size, loss.size) > _POINTS:
            return np.ones(1), 0
    return result, low


def _fft(
    first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    if min(first.size, second.size) < 64:
        return np.convolve(first, second)
    size = first.size + second.size - 1
    length = 1 << (size - 1).bit_length()
    product = np.fft.irfft(np.fft.rfft(first, length) * np.fft.rfft(second, length), length)[:size]
    return np.maximum(product - 1e-15, 0.0)  # what rounding may have added
