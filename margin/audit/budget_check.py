"""Whether all answers of a run together keep to the budget, and each keeps to its charge."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..noise.laws import DiscreteGaussian
from ..privacy.budget import ApproxDP, Budget, PureDP
from ..privacy.event import Event
from .delta_lower_bound import delta_lower_bound
from .event_cost import cost
from .gaussian_delta import gaussian_delta
from .violation import Violation

__all__ = ["check_costs"]

# Charges are integers in this unit of epsilon or rho.
_UNIT = Fraction(1, 10**12)

# Relative and absolute tolerance of a delta from `gaussian_delta`, for its grid and its rounding.
_TOLERANCE = 1.02
_ROUNDING = 1e-12


def check_costs(
    events: Sequence[Event],
    budget: Budget,
    *,
    may_certify: bool = True,
) -> None:
    """Check that the noise of the events costs no more than their charges, and that these charges
    keep to the budget.

    Rounds of draws are charged together. Without a ledger (`may_certify`), a run also keeps to an
    (epsilon, delta) budget if no bound on its composed privacy loss exceeds delta. A ledger adds up
    rhos, so with a ledger the rho of the run must keep to the budget.

    Raises
    ------
    Violation
        If the noise is too small, or the charges exceed the budget.
    """
    total = sum((cost(event, budget) for event in events), Fraction(0))
    charged = sum(event.units for event in events) * _UNIT
    allowed = _allowed(budget)
    undercharged = [
        event.method
        for event in events
        if event.rounds is None and cost(event, budget) > event.units * _UNIT
    ]
    exceeds_budget = charged > allowed + _UNIT
    if not exceeds_budget and not undercharged and total <= charged:
        return
    if may_certify and isinstance(budget, ApproxDP) and _keeps_to_delta(events, budget):
        return
    unit = "an epsilon" if isinstance(budget, PureDP) else "a rho"
    if exceeds_budget and not undercharged and total <= charged:
        raise Violation(
            f"The charges add up to {unit} of {float(charged):.6g}, but the budget allows "
            f"{float(allowed):.6g}."
        )
    methods = ", ".join(dict.fromkeys(undercharged or [event.method for event in events]))
    raise Violation(
        f"There is less noise than was paid for, in {methods}: by its noise the run costs {unit} "
        f"of {float(total):.6g}, but {float(charged):.6g} was charged, and the budget allows "
        f"{float(allowed):.6g}."
    )


def _allowed(budget: Budget) -> Fraction:
    """The epsilon or the rho that a budget may spend, from its declaration.

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

    def log_delta(rho: float) -> float:
        return float(((orders - 1) * (orders * rho - epsilon) + shrink).min())

    # Double the upper end until it exceeds the budget, then bisect.
    low, high = 0.0, epsilon + 1.0
    while log_delta(high) <= math.log(delta):
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) <= math.log(delta) else (low, middle)
    return Fraction(high) * (1 + Fraction(1, 10**6))


def _keeps_to_delta(events: Sequence[Event], budget: ApproxDP) -> bool:
    """True if no known bound shows that all events together exceed delta.

    The lower bound holds for every event. For Gaussian noise alone, the privacy loss over many
    coordinates is computed as well, to about a percent.
    """
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    if delta_lower_bound(events, epsilon) > delta:
        return False
    if all(isinstance(event.sampler, DiscreteGaussian) for event in events):
        return gaussian_delta(events, epsilon) <= _TOLERANCE * delta + _ROUNDING
    return True
