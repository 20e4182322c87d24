"""The views that `Adaptive` learns from, their share of the budget, and whether learning is
expected to reduce the error."""

import math
from fractions import Fraction

import numpy as np

from ...domain.domain import Domain, View
from ...privacy.budget import Budget
from ...synopses.noisy_tables import LEAST_VARIANCE
from ..fitted import ENOUGH_NOISE, HIDDEN_SHARE
from .candidates import Candidate, Candidates
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
) -> tuple[Fraction, float]:
    """The share of a budget that `Adaptive` would spend on measuring the probes, and the noise that
    it leaves.

    It is the smallest share that makes the noise small enough to learn from a table of `rows` rows:
    from three tenths of `most` to `most`. The noise is the standard deviation of a moment of a view
    of 64 cells.
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
            break
    return share, deviation


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
    deviation: float,
    doubt: float,
) -> bool:
    """Whether learning the strength of structure is expected to reduce the error.

    Learning costs budget: the variance of all later noise grows by the factor `variance`. The noise
    in a moment, of standard deviation `deviation`, hides structure that is much weaker.

    The assumed strengths may all be wrong by a common factor, which is log-normal: `doubt` is the
    standard deviation of its natural logarithm. Two errors are compared by the mean of their
    logarithms over this factor. Without learning, the candidate that looks best is measured. With
    learning, the candidate that looks best with what is learnt about each factor is measured, with
    the larger noise.
    """
    guess = considered.priced(before, rows)[0]
    if math.isnan(guess.error):  # there is only one candidate
        return False
    hidden = HIDDEN_SHARE * deviation
    gain = 0.0
    for step in _DEVIATIONS.tolist():
        strength = before.scaled(math.exp(doubt * step))
        learnt = considered.priced(strength.blurred(hidden), rows, variance=variance)[0]
        informed = _error_of(learnt, considered.priced(strength, rows, variance=variance))
        blind = _error_of(guess, considered.priced(strength, rows))
        gain += math.exp(-(step**2) / 2) * math.log(blind / informed)
    return gain > 0


def _error_of(chosen: Candidate, priced: list[Candidate]) -> float:
    """The error of the mechanism of one candidate, in a list of other prices; > 0."""
    (error,) = (other.error for other in priced if other.mechanism is chosen.mechanism)
    return max(error, math.ulp(0))
