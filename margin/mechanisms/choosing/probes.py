"""The views that `Adaptive` learns from, their share of the budget, and whether learning is
expected to reduce the error."""

import math
from fractions import Fraction

import numpy as np

from ...domain.domain import Domain, View
from ...privacy.budget import Budget
from ...synopses.noisy_tables import LEAST_VARIANCE
from ..fitted import COMMON_DOUBT, ENOUGH_NOISE, USELESS_NOISE
from .candidates import Candidates
from .strength import Strength

__all__ = ["learning_share", "pays", "probes", "variance_after"]

_PROBES = 4
"""Number of views that are measured to learn from."""

_PROBE_CELLS = 64
"""Largest number of cells of such a view, if it has more than three attributes."""

_MOST_PROBE_CELLS = 4096
"""Largest number of cells of such a view of up to three attributes."""

_STEPS = 10
"""Number of steps from no share of the budget to the largest share."""

_FIRST_STEP = 3
"""Smallest share that is tried, in steps."""

_DEVIATIONS = np.linspace(-2, 2, 7)
"""Values of the common factor of all strengths that are tried, in standard deviations."""


def probes(domain: Domain) -> list[View]:
    """Choose the few small views that `Adaptive` measures first, by a public rule.

    The choice depends on the sizes of the attributes only. A view of two or three attributes has at
    most 4,096 cells, and a view of more attributes at most 64.
    """
    rng = np.random.default_rng(0)
    varying = [name for name in domain if domain[name].size > 1] or [domain.attributes[0]]
    views: list[View] = []
    for _ in range(_PROBES):
        view: list[str] = []
        for place in rng.permutation(len(varying)).tolist():
            wider = [*view, varying[place]]
            most = _PROBE_CELLS if len(wider) > 3 else _MOST_PROBE_CELLS
            if domain.cells(wider) <= most:
                view = wider
        names = view or [varying[0]]
        views.append(tuple(sorted(names, key=domain.position.__getitem__)))
    return list(dict.fromkeys(views))


def learning_share(
    domain: Domain,
    budget: Budget,
    rows: float,
    most: Fraction,
) -> Fraction:
    """The share of a budget that `Adaptive` should spend on measuring the probes.

    With it, the noise is small enough to learn from a table of `rows` rows. It is from three tenths
    of `most` to `most`, or 0 if even `most` leaves too much noise.
    """
    views = probes(domain)
    cells = max(map(domain.cells, views))
    deviation = math.inf
    for step in range(_FIRST_STEP, _STEPS + 1):
        share = most * step / _STEPS
        units = max(1, math.floor(budget.units * share / len(views)))
        variance = budget.count_noise(units).variance
        # The noise of a moment. From n moments their mean square is learnt as well with n ** (1/4)
        # times the noise.
        deviation = math.sqrt(variance * cells) / rows * (_PROBE_CELLS / cells) ** 0.25
        if deviation <= ENOUGH_NOISE:
            return share
    return most if deviation <= USELESS_NOISE else Fraction(0)


def variance_after(budget: Budget, spent: Fraction) -> float:
    """The factor by which the variance of noise grows when a share of the budget is spent."""
    left = max(1, math.floor(budget.units * (1 - spent)))
    after = max(budget.count_noise(left).variance, LEAST_VARIANCE)
    before = max(budget.count_noise(budget.units).variance, LEAST_VARIANCE)
    return after / before


def pays(
    considered: Candidates,
    before: Strength,
    rows: float,
    variance: float,
) -> bool:
    """Whether learning the strength of structure is expected to reduce the error.

    Learning costs budget: the variance of all later noise grows by the factor `variance`.

    The assumed strengths may all be wrong by a common factor, which is log-normal. Two errors are
    compared by the mean of their logarithms over this factor. Without learning, the candidate that
    looks best is measured. With learning, the best candidate for each factor is measured, with the
    larger noise.
    """
    guess = considered.priced(before, rows)[0]
    if math.isnan(guess.error):  # there is only one candidate
        return False
    gain = 0.0
    for deviation in _DEVIATIONS.tolist():
        strength = before.scaled(math.exp(COMMON_DOUBT * deviation))
        informed = considered.priced(strength, rows, variance=variance)[0].error
        (blind,) = (
            candidate.error
            for candidate in considered.priced(strength, rows)
            if candidate.mechanism is guess.mechanism
        )
        ratio = max(blind, math.ulp(0)) / max(informed, math.ulp(0))
        gain += math.exp(-(deviation**2) / 2) * math.log(ratio)
    return gain > 0
