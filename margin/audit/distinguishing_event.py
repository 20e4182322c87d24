"""The statistics of the black box: an event that is more probable on one table than the budget
allows.

Half of the runs choose a feature of the output, a threshold and a direction. The other half test
this one event. It is fixed before the second half is looked at, so the Clopper-Pearson bounds hold,
and a correct mechanism is accused with probability at most `alpha`, for any number of runs.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Floats
from ..privacy.budget import ApproxDP, Budget, PureDP
from ..privacy.conversion import epsilon_of

__all__ = ["JudgedEvent", "distinguishing_event", "largest_probability"]

Bound = Callable[[Any], Any]
Feature = Callable[[Floats], Floats]

# Number of candidate thresholds of a feature.
_THRESHOLDS = 40

# Number of cells whose values and differences are features.
_CELLS = 24

# Largest exponent that does not overflow.
_LARGEST_EPSILON = 700.0

# rho = 1 in the units in which budgets state it, the largest rho that is looked for, and the
# precision of the search.
_RHO_UNITS = 10**12
_MOST_RHO_UNITS = 100 * _RHO_UNITS
_PRECISION = 1000

_RELATIONS = {">=": np.greater_equal, "<=": np.less_equal, "==": np.equal}


def largest_probability(budget: Budget) -> Bound:
    """The largest probability of an event on a table, as a function of its probability on a
    neighbour."""
    if isinstance(budget, PureDP):
        return partial(_pure, epsilon=min(float(budget.epsilon), _LARGEST_EPSILON))
    if isinstance(budget, ApproxDP):
        pairs = [(float(budget.epsilon), float(budget.delta))]
    else:
        return _of_rho(budget.units)
    return _of_pairs(pairs)


def _of_rho(units: int) -> Bound:
    """The bound of zCDP, which implies an epsilon for each delta; `units` are rho in 1e-12."""
    rho = f"{units}e-12"
    return _of_pairs([(epsilon_of(rho, 10.0**-power), 10.0**-power) for power in range(1, 12)])


def _of_pairs(pairs: Sequence[tuple[float, float]]) -> Bound:
    """The bound of several pairs (epsilon, delta) that all hold."""
    powers = np.exp([min(epsilon, _LARGEST_EPSILON) for epsilon, _ in pairs])
    deltas = np.array([delta for _, delta in pairs])
    return partial(_approximate, powers=powers, deltas=deltas)


def _pure(p: Any, epsilon: float) -> Any:
    return np.minimum(np.exp(epsilon) * p, 1 - (1 - p) * np.exp(-epsilon))


def _approximate(
    p: Any,
    powers: Floats,
    deltas: Floats,
) -> Any:
    return np.minimum(1.0, (powers[:, None] * np.atleast_1d(p) + deltas[:, None]).min(axis=0))


@dataclass(
    frozen=True,
    kw_only=True,
)
class JudgedEvent:
    """An event that was tested on samples of outputs on a table and on its neighbour.

    Attributes
    ----------
    name
        The event, in words.
    hits, misses
        The numbers of runs in which it happens: on the table where it is more frequent, and on the
        other one.
    runs
        The number of runs on each table that tested it.
    lower, upper
        A lower bound on its probability on the one table, and an upper bound on the other.
    """

    name: str
    hits: int
    misses: int
    runs: int
    lower: float
    upper: float

    def finding(self, bound: Bound) -> str:
        """Why a private mechanism cannot have these outputs; empty if it can.

        `bound` is that of `largest_probability`.
        """
        allowed = float(np.max(bound(self.upper)))
        if self.lower <= allowed:
            return ""
        return (
            f"An event is more probable than the budget allows: {self.name} in {self.hits} of "
            f"{self.runs} runs on one table and in {self.misses} of {self.runs} runs on its "
            f"neighbour. Its probability is at least {self.lower:.3g} on the one table; at most "
            f"{allowed:.3g} is allowed."
        )

    def least_loss(self, budget: Budget) -> float:
        """The least epsilon that allows the two bounds, with the delta of the budget; or the least
        rho, for a budget of zCDP. It is 0 if the bounds show nothing."""
        if isinstance(budget, PureDP):
            # exp(epsilon) upper and 1 - (1 - upper) exp(-epsilon) must both be at least `lower`.
            ratios = ((self.lower, self.upper), (1 - self.upper, 1 - self.lower))
            return max(_log_ratio(*ratio) for ratio in ratios)
        if isinstance(budget, ApproxDP):
            return _log_ratio(self.lower - float(budget.delta), self.upper)
        low, high = 0, _MOST_RHO_UNITS
        if self.lower <= self.upper:
            return 0.0
        # The bound grows with rho: halve the interval in which the least rho lies.
        while high - low > max(1, low // _PRECISION):
            middle = (low + high) // 2
            is_enough = _of_rho(middle)(self.upper)[0] >= self.lower
            low, high = (low, middle) if is_enough else (middle, high)
        return low / _RHO_UNITS


def distinguishing_event(
    first: Floats,
    second: Floats,
    bound: Bound,
    alpha: float,
) -> JudgedEvent:
    """The event that seems to distinguish two samples of outputs best, tested on half of them.

    Parameters
    ----------
    first, second
        Arrays (runs, numbers): the outputs on a table and on its neighbour.
    bound
        See `largest_probability`.
    alpha
        The probability that one of the bounds on the probabilities of the event does not hold.
    """
    half = len(first) // 2
    width = max(first.shape[1], second.shape[1])
    first, second = (_widened(sample, width) for sample in (first, second))
    event = _best_event(first[:half], second[:half], bound)
    a, b = first[half:], second[half:]
    high, low = (b, a) if event.swapped else (a, b)
    runs = len(high)
    hits, misses = (int(event.happens(sample).sum()) for sample in (high, low))
    from scipy.special import betaincinv

    # Clopper-Pearson bounds on both probabilities.
    lower = float(betaincinv(hits, runs - hits + 1, alpha / 2)) if hits else 0.0
    upper = float(betaincinv(misses + 1, runs - misses, 1 - alpha / 2)) if misses < runs else 1.0
    return JudgedEvent(
        name=str(event),
        hits=hits,
        misses=misses,
        runs=runs,
        lower=lower,
        upper=upper,
    )


def _log_ratio(high: float, low: float) -> float:
    """The logarithm of a ratio of probabilities, at least 0."""
    return math.log(high / low) if high > low > 0 else 0.0


def _widened(outputs: Floats, width: int) -> Floats:
    return np.pad(outputs, ((0, 0), (0, width - outputs.shape[1])), constant_values=np.inf)


@dataclass(
    frozen=True,
    kw_only=True,
)
class _Event:
    """An event: a feature of the output in a relation to a threshold."""

    name: str
    feature: Feature
    relation: str
    threshold: float
    swapped: bool

    def happens(self, outputs: Floats) -> npt.NDArray[np.bool_]:
        """Array (runs,): in which runs it happens."""
        holds = _RELATIONS[self.relation]
        happened: npt.NDArray[np.bool_] = holds(self.feature(outputs), self.threshold)
        return happened

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.threshold:g}"


def _best_event(
    first: Floats,
    second: Floats,
    bound: Bound,
) -> _Event:
    """The event whose frequencies exceed the bound by the most standard errors."""
    runs = len(first)
    found: list[tuple[float, _Event]] = []
    for name, feature in _features(first, second):
        x, y = feature(first), feature(second)
        values = np.concatenate([x, y])
        levels = np.linspace(0, 1, _THRESHOLDS)
        thresholds = np.unique(np.quantile(values, levels, method="nearest"))
        for relation, holds in _RELATIONS.items():
            p, q = (holds(sample[:, None], thresholds).mean(axis=0) for sample in (x, y))
            for swapped, high, low in ((False, p, q), (True, q, p)):
                allowed = bound((low * runs + 1) / (runs + 2))
                variance = high * (1 - high) + allowed * (1 - allowed)
                excess = (high - allowed) / np.sqrt(variance / runs + 1e-9)
                place = int(np.argmax(excess))
                event = _Event(
                    name=name,
                    feature=feature,
                    relation=relation,
                    threshold=float(thresholds[place]),
                    swapped=swapped,
                )
                found.append((float(excess[place]), event))
    return max(found, key=lambda pair: pair[0])[1]


def _features(first: Floats, second: Floats) -> Iterator[tuple[str, Feature]]:
    """Features of an output: the cells that change most, their sum, the total, zeros, fractions and
    differences."""
    with np.errstate(invalid="ignore"):
        shift = np.nan_to_num(second.mean(axis=0) - first.mean(axis=0))
    order = np.argsort(-np.abs(shift), kind="stable")[:_CELLS]
    name = "the output" if shift.size == 1 else "the total"
    yield name, partial(_weighted, weights=np.ones(shift.size))
    changed = np.zeros(shift.size)
    changed[order[:4]] = np.sign(shift[order[:4]])
    yield "the sum of the changed cells", partial(_weighted, weights=changed)
    yield "the number of zero cells", _zeros
    yield "the number of missing cells", _missing
    for cell in order.tolist():
        yield f"cell {cell}", partial(_weighted, weights=_one(shift.size, cell))
        yield f"the indicator of a fraction in cell {cell}", partial(_fraction, cell=cell)
    for i in order[:4].tolist():
        for j in order.tolist():
            if i != j:
                weights = _one(shift.size, i) - _one(shift.size, j)
                yield f"cell {i} less cell {j}", partial(_weighted, weights=weights)


def _one(size: int, cell: int) -> Floats:
    """Weights of one for a cell and zero for all others."""
    weights = np.zeros(size)
    weights[cell] = 1.0
    return weights


def _weighted(outputs: Floats, weights: Floats) -> Floats:
    used = np.flatnonzero(weights)
    values = np.nan_to_num(
        outputs[:, used],
        nan=-1e9,
        posinf=1e9,
        neginf=-1e9,
    )
    return np.asarray(values @ weights[used], np.float64)


def _zeros(outputs: Floats) -> Floats:
    return np.asarray((outputs == 0).sum(axis=1), np.float64)


def _missing(outputs: Floats) -> Floats:
    return np.asarray((~np.isfinite(outputs)).sum(axis=1), np.float64)


def _fraction(outputs: Floats, cell: int) -> Floats:
    with np.errstate(invalid="ignore"):
        return (outputs[:, cell] % 1.0 > 0).astype(np.float64)
