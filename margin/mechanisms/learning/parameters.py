"""The rule by which Dual Query's parameters follow from public numbers; docs/dualquery.md says how
it was found."""

import math
from dataclasses import dataclass
from fractions import Fraction

from ..._numbers import UNIT
from ...privacy.budget import ApproxDP, Budget, PureDP
from ...privacy.loss import gaussian_epsilon

__all__ = ["Parameters", "chosen"]

_HEAT = 0.5
_ATTRIBUTES = 400
_MOST_DRAWS = 2e7
_MOST_POOLED = 150_000  # draws that are answered together, where there are many attributes


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """See `DualQuery`."""

    step: Fraction
    samples: int
    records: int
    pool: int


def chosen(budget: Budget, *, size: int, attributes: int) -> Parameters:
    """The parameters for a budget, a public number of rows, and the number of attributes that are
    asked about.

    Let N be all draws together, and A = step * rounds, the factor of a query's error in the
    exponent at the end. What N draws cost depends on N A (pure) or N A**2 (rho) only, however they
    are cut into rounds, so the budget leaves one choice: A = heat * sqrt(N), as errors fall like 1
    / sqrt(N), with less heat where more attributes need draws each.
    """
    heat = _HEAT * (_ATTRIBUTES / max(attributes, _ATTRIBUTES)) ** 0.5
    shift = budget.rows / size
    if isinstance(budget, PureDP):  # epsilon = N A shift / 2
        product = 2 * float(budget.epsilon) / shift
        draws = _within((product / heat) ** (2 / 3))
        factor = product / draws
    else:  # rho = N (A shift)**2 / 24
        square = 24 * _rho(budget) / shift**2
        draws = _within(math.sqrt(square) / heat)
        factor = math.sqrt(square / draws)
    wide = attributes > 4 * _ATTRIBUTES
    rounds = min(max(0.4 * math.sqrt(draws), 2.0), 120.0 if wide else 300.0)
    samples = max(1, round(draws / rounds))
    return Parameters(
        step=Fraction(f"{factor / rounds:.3g}"),
        samples=samples,
        records=1 if wide else min(max(4, round(400 / rounds)), 16),
        pool=min(max(3, round(_MOST_POOLED / samples)), 10) if wide else 4,
    )


def _within(draws: float) -> float:
    return min(max(draws, 4.0), _MOST_DRAWS)


def _rho(budget: Budget) -> float:
    """The rho that a budget buys; of an approximate one about the largest that can be certified."""
    rho = float(budget.units * UNIT)
    if not isinstance(budget, ApproxDP):
        return rho
    low, high = rho, 4 * rho
    for _ in range(30):
        middle = (low + high) / 2
        enough = gaussian_epsilon(middle, float(budget.delta)) <= budget.epsilon
        low, high = (middle, high) if enough else (low, middle)
    return low
