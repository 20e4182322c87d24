"""What `Adaptive` measures to learn from, how much that may cost, and whether it pays."""

import math
from fractions import Fraction

import numpy as np

from ...domain.domain import Domain, View
from ...privacy.budget import Budget
from ...synopses.noisy_tables import LEAST_VARIANCE
from .candidates import Candidates
from .strength import Strength

__all__ = ["learning_share", "pays", "probes", "variance_after"]

_PROBES = 4
"""How many views are measured to learn from."""

_PROBE_CELLS = 64
"""How many cells these have at most, unless three attributes have more."""

_MOST_PROBE_CELLS = 4096
"""How many those of three attributes may have."""

_ENOUGH = 0.015
"""The standard deviation of the noise in a moment of a view of _PROBE_CELLS that is small enough to
learn from. From n moments their mean square is learnt as well with noise of n ** (1/4) times that.
"""

_USELESS = 0.03
"""That from which next to nothing would be learnt."""

_STEPS = 10
"""Of the shares that are tried."""

_UNSURE = 1.5
"""The standard deviation of the logarithm of a common factor of all strengths, before anything is
learnt."""

_DEVIATIONS = np.linspace(-2, 2, 7)
"""Standard deviations at which that factor is tried."""


def probes(domain: Domain) -> list[View]:
    """A few views of at least three attributes where there are so many, the same for every domain
    of these sizes."""
    rng = np.random.default_rng(0)
    varying = [name for name in domain if domain[name].size > 1] or [domain.attributes[0]]
    views: list[View] = []
    for _ in range(_PROBES):
        view: list[str] = []
        for place in rng.permutation(len(varying)).tolist():
            wider = [*view, varying[place]]
            if domain.cells(wider) <= (_PROBE_CELLS if len(wider) > 3 else _MOST_PROBE_CELLS):
                view = wider
        views.append(tuple(sorted(view or [varying[0]], key=domain.position.__getitem__)))
    return list(dict.fromkeys(views))


def learning_share(domain: Domain, budget: Budget, rows: float, most: Fraction) -> Fraction:
    """The part of a budget that tells enough of so many rows, from three tenths of the most to the
    most; none where even that would tell next to nothing."""
    views = probes(domain)
    cells = max(map(domain.cells, views))
    deviation = math.inf
    for step in range(3, _STEPS + 1):
        share = most * step / _STEPS
        noise = budget.count_noise(max(1, math.floor(budget.units * share / len(views))))
        deviation = math.sqrt(noise.variance * cells) / rows * (_PROBE_CELLS / cells) ** 0.25
        if deviation <= _ENOUGH:
            return share
    return most if deviation <= _USELESS else Fraction(0)


def variance_after(budget: Budget, spent: Fraction) -> float:
    """How many times larger the variance of noise gets when a part of the budget is spent
    otherwise."""
    left = max(1, math.floor(budget.units * (1 - spent)))
    after, before = (
        max(budget.count_noise(units).variance, LEAST_VARIANCE) for units in (left, budget.units)
    )
    return after / before


def pays(considered: Candidates, before: Strength, rows: float, variance: float) -> bool:
    """Whether to know how strong structure is, is worth variances of noise that are so many times
    as large.

    What is assumed may be off by a common factor, log-normal. Compared are the means of the
    logarithm of the error of what looks best without knowing the factor, and of what is best for
    each with the larger noise.
    """
    guess = considered.priced(before, rows)[0]
    if math.isnan(guess.error):  # there is nothing to choose from
        return False
    gain = 0.0
    for deviation in _DEVIATIONS.tolist():
        strength = before.scaled(math.exp(_UNSURE * deviation))
        known = considered.priced(strength, rows, variance=variance)[0].error
        (blind,) = (
            one.error
            for one in considered.priced(strength, rows)
            if one.mechanism is guess.mechanism
        )
        gain += math.exp(-(deviation**2) / 2) * math.log(
            max(blind, math.ulp(0)) / max(known, math.ulp(0))
        )
    return gain > 0
