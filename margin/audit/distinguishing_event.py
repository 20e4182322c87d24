"""The statistics of the black box: an event that is more probable on one table than the budget
allows.

Half of the runs choose a feature of the output, a threshold and a direction. The other half test
this one event. It is fixed before the second half is looked at, so the Clopper-Pearson bounds hold,
and a correct mechanism is accused with probability at most `alpha`, for any number of runs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Floats
from ..privacy.budget import ApproxDP, Budget, PureDP
from ..privacy.conversion import epsilon_of

__all__ = ["distinguishing_event", "largest_probability"]

Bound = Callable[[Any], Any]
Feature = Callable[[Floats], Floats]

# Number of candidate thresholds of a feature.
_THRESHOLDS = 40

# Number of cells whose values and differences are features.
_CELLS = 24

# Largest exponent that does not overflow.
_LARGEST_EPSILON = 700.0

_RELATIONS = {">=": np.greater_equal, "<=": np.less_equal, "==": np.equal}


def largest_probability(budget: Budget) -> Bound:
    """The largest probability of an event on a table, as a function of its probability on a
    neighbour."""
    if isinstance(budget, PureDP):
        return partial(_pure, epsilon=min(float(budget.epsilon), _LARGEST_EPSILON))
    if isinstance(budget, ApproxDP):
        pairs = [(float(budget.epsilon), float(budget.delta))]
    else:
        # zCDP implies an epsilon for each delta.
        rho = f"{budget.units}e-12"
        pairs = [(epsilon_of(rho, 10.0**-power), 10.0**-power) for power in range(1, 12)]
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


def distinguishing_event(
    first: Floats,
    second: Floats,
    bound: Bound,
    alpha: float,
) -> str:
    """Why two samples of outputs cannot both come from a private mechanism; empty if they can.

    Parameters
    ----------
    first, second
        Arrays (runs, numbers): the outputs on a table and on its neighbour.
    bound
        See `largest_probability`.
    alpha
        The probability of a false alarm.
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
    allowed = float(np.max(bound(upper)))
    if lower <= allowed:
        return ""
    return (
        f"An event is more probable than the budget allows: {event} in {hits} of {runs} runs on "
        f"one table and in {misses} of {runs} runs on its neighbour. Its probability is at least "
        f"{lower:.3g} on the one table; at most {allowed:.3g} is allowed."
    )


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
    yield "the total", partial(_weighted, weights=np.ones(shift.size))
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
