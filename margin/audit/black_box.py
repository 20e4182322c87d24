"""The black box: many runs on two neighbouring tables, and proof at a stated risk that their
outputs differ too much.

Half of the runs choose a feature of the output, a threshold and a direction; the other half test
this one event. As it is fixed before they are seen, the Clopper-Pearson bounds hold, and a correct
mechanism fails with probability `alpha` at most, at any number of runs.
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

__all__ = ["claim_of", "too_different"]

Claim = Callable[[Any], Any]
Feature = Callable[[Floats], Floats]

_THRESHOLDS = 40
_CELLS = 24  # whose differences are looked at


def claim_of(budget: Budget) -> Claim:
    """The largest probability of an event on a table, as a function of that on its neighbour."""
    if isinstance(budget, PureDP):
        return partial(_pure, epsilon=min(float(budget.epsilon), 700.0))
    if isinstance(budget, ApproxDP):
        powers = np.exp([min(float(budget.epsilon), 700.0)])
        return partial(
            _concentrated,
            powers=powers,
            deltas=np.array([float(budget.delta)]),
        )
    deltas: Floats = np.array([10.0**-power for power in range(1, 12)])
    rho = f"{budget.units}e-12"
    powers = np.exp([min(epsilon_of(rho, delta), 700.0) for delta in deltas.tolist()])
    return partial(
        _concentrated,
        powers=powers,
        deltas=deltas,
    )


def _pure(p: Any, epsilon: float) -> Any:
    return np.minimum(np.exp(epsilon) * p, 1 - (1 - p) * np.exp(-epsilon))


def _concentrated(
    p: Any,
    powers: Floats,
    deltas: Floats,
) -> Any:
    return np.minimum(1.0, (powers[:, None] * np.atleast_1d(p) + deltas[:, None]).min(axis=0))


def too_different(
    first: Floats,
    second: Floats,
    claim: Claim,
    alpha: float,
) -> str:
    """Why two samples of outputs, arrays (runs, numbers), cannot both come from a private
    mechanism; or nothing."""
    half = len(first) // 2
    width = max(first.shape[1], second.shape[1])
    first, second = (_widened(sample, width) for sample in (first, second))
    best = _best_event(first[:half], second[:half], claim)
    a, b = first[half:], second[half:]
    high, low = (b, a) if best.swapped else (a, b)
    runs = len(high)
    hits, misses = (int(best.happens(sample).sum()) for sample in (high, low))
    from scipy.special import betaincinv

    lower = float(betaincinv(hits, runs - hits + 1, alpha / 2)) if hits else 0.0
    upper = float(betaincinv(misses + 1, runs - misses, 1 - alpha / 2)) if misses < runs else 1.0
    if lower > float(np.max(claim(upper))):
        return f"{best}: {hits} of {runs} times on one table, {misses} times on its neighbour"
    return ""


_RELATIONS = {">=": np.greater_equal, "<=": np.less_equal, "==": np.equal}


def _widened(outputs: Floats, width: int) -> Floats:
    return np.pad(outputs, ((0, 0), (0, width - outputs.shape[1])), constant_values=np.inf)


@dataclass(
    frozen=True,
    kw_only=True,
)
class _Event:
    name: str
    feature: Feature
    relation: str
    cut: float
    swapped: bool
    excess: float

    def happens(self, outputs: Floats) -> npt.NDArray[np.bool_]:
        """Array (runs,): in which runs it happens."""
        happened: npt.NDArray[np.bool_] = _RELATIONS[self.relation](self.feature(outputs), self.cut)
        return happened

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.cut:g}"


def _best_event(
    first: Floats,
    second: Floats,
    claim: Claim,
) -> _Event:
    """The event whose frequencies exceed the claim by most standard errors."""
    runs = len(first)
    found = []
    for name, feature in _features(first, second):
        x, y = feature(first), feature(second)
        together = np.concatenate([x, y])
        cuts = np.unique(np.quantile(together, np.linspace(0, 1, _THRESHOLDS), method="nearest"))
        for relation, holds in _RELATIONS.items():
            p, q = (holds(sample[:, None], cuts).mean(axis=0) for sample in (x, y))
            for swapped, high, low in ((False, p, q), (True, q, p)):
                allowed = claim((low * runs + 1) / (runs + 2))
                error = np.sqrt((high * (1 - high) + allowed * (1 - allowed)) / runs + 1e-9)
                place = int(np.argmax((high - allowed) / error))
                excess = float(((high - allowed) / error)[place])
                found.append((excess, name, feature, relation, float(cuts[place]), swapped))
    excess, name, feature, relation, cut, swapped = max(found, key=lambda event: event[0])
    return _Event(
        name=name,
        feature=feature,
        relation=relation,
        cut=cut,
        swapped=swapped,
        excess=excess,
    )


def _features(first: Floats, second: Floats) -> Iterator[tuple[str, Feature]]:
    """Numbers to look at in an output: cells that change most, their sum, the total, zeros,
    fractions, differences."""
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
        yield f"cell {cell}", partial(_weighted, weights=_unit(shift.size, cell))
        yield f"whether cell {cell} has a fraction:", partial(_fraction, cell=cell)
    for i in order[:4].tolist():
        for j in order.tolist():
            if i != j:
                weights = _unit(shift.size, i) - _unit(shift.size, j)
                yield f"cell {i} less cell {j}", partial(_weighted, weights=weights)


def _unit(size: int, cell: int) -> Floats:
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
