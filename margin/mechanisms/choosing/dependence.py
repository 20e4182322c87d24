"""What one noisy number tells about the strength of the structure in pairs, and whether it pays."""

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..._types import Floats
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...privacy.budget import PureDP
from ...private import Private, dependence_bound
from ..fitted import FOREST_TO_PAIRS, LARGEST_STRENGTH, LEAST_DOUBT, SHARED_MOMENTS
from .candidates import Candidate, Candidates
from .probes import variance_after
from .strength import Strength
from .tree import MOST_PAIR_CELLS, asked_names

__all__ = ["Learnt", "PairDependence"]

_SHARES = (Fraction(1, 100), Fraction(1, 50), Fraction(1, 25), Fraction(2, 25))
"""Shares of the budget that are tried."""

_MOST_PAIRS = 1_000
"""Largest number of pairs; of more, a sample is taken by a public rule."""

_DEVIATIONS = 4.0
"""Largest logarithm of a factor of a strength that is considered, in standard deviations."""

_PRICED = 25
"""Number of strengths for which candidates are priced."""

_POINTS = 501
"""Number of strengths that an answer is compared with."""

_QUANTILES = (np.arange(9) + 0.5) / 9
"""Probabilities of the values of the noise that are tried."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Learnt:
    """What is known about the strength of structure.

    Attributes
    ----------
    strength
        The expected strength.
    doubt
        The standard deviation of the natural logarithm of a common factor of all strengths.
    """

    strength: Strength
    doubt: float


class PairDependence:
    """How far the pairs of a table are from independent, asked as one noisy number.

    `Private.total_dependence` gives the root of the sum of the squared L2 norms of what one-way
    tables miss in each pair. Its noise, for each pair, does not grow with the number of pairs. So a
    small share of the budget tells how strong the structure in pairs is, long before a pair stands
    out from the noise of its own table.

    Parameters
    ----------
    domain, workload
        As in `margin.release`.
    budget
        The whole budget. The noise is taken to be that of pure differential privacy.
    """

    def __init__(
        self,
        domain: Domain,
        workload: Workload,
        budget: PureDP,
    ) -> None:
        self._budget = budget
        names = asked_names(domain, workload)
        self.pairs: list[View] = [
            (names[first], names[second])
            for first, second in _some_pairs(len(names))
            if domain.cells((names[first], names[second])) <= MOST_PAIR_CELLS
        ]
        self._unit = math.sqrt(sum(_square(domain, pair) for pair in self.pairs))

    def share(
        self,
        considered: Candidates,
        before: Learnt,
        rows: float,
        *,
        most: Fraction,
    ) -> Fraction | None:
        """The share of the budget for which asking is expected to reduce the error most; None if no
        share is.

        Parameters
        ----------
        considered
            The candidates that are compared with what is learnt.
        before
            What is known about the strength.
        rows
            The approximate number of rows, > 0.
        most
            The share must be below this one.
        """
        if not self.pairs:
            return None
        prior = _Prior(before, _PRICED)
        prices = _prices(considered, prior, rows)
        # If there is only one candidate, it has no price.
        if len(prices.noise) < 2:
            return None
        best, most_gained = None, 0.0
        for share in (share for share in _SHARES if share < most):
            gained = self._gain(prior, prices, rows, share)
            if gained > most_gained:
                best, most_gained = share, gained
        return best

    def _gain(
        self,
        prior: "_Prior",
        prices: "_Prices",
        rows: float,
        share: Fraction,
    ) -> float:
        """By how much asking with a share is expected to reduce the logarithm of the squared error.

        It is a mean over the strengths of the prior and over values of the noise.
        """
        blind = prices.noise[prices.guess] + prices.missed[prices.guess]
        # What is asked costs budget: all later noise is larger.
        errors = variance_after(self._budget, share) * prices.noise + prices.missed
        chosen = errors.argmin(axis=0)
        # What would be learnt from each true strength and each value of the noise, and the error of
        # the candidate that would be chosen.
        deviation = self._deviation(share, rows)
        answers = prior.strengths[:, None] + deviation * _laplace(_QUANTILES)
        weights = prior.posterior(answers.ravel(), deviation)
        places = np.arange(len(prior.strengths))
        learnt = np.rint(weights @ places).astype(np.int64).reshape(answers.shape)
        informed = errors[chosen[learnt], places[:, None]]
        gains = np.log(blind) - np.log(informed).mean(axis=1)
        return float(np.average(gains, weights=prior.weights))

    def ask(
        self,
        private: Private,
        before: Learnt,
        rows: float,
        share: Fraction,
    ) -> Learnt:
        """Ask with a share of the budget, and combine the answer with what was known.

        The prior of the strength is log-normal, and the result is the geometric mean of the
        posterior. The noise has the density of its continuous law. All strengths are expected to
        differ from what was assumed by the same factor.
        """
        answer = private.total_dependence(self.pairs, spend=share)
        prior = _Prior(before, _POINTS)
        deviation = self._deviation(share, rows)
        (weights,) = prior.posterior(np.array([answer / (rows * self._unit)]), deviation)
        logarithms = np.log(prior.strengths)
        mean = float(weights @ logarithms)
        left = math.sqrt(float(weights @ (logarithms - mean) ** 2))
        return Learnt(
            # The geometric mean: where noise says nothing, what was assumed stays.
            strength=_with_singles(before.strength, math.exp(mean)),
            # Structure beyond pairs is not known as well as that in pairs.
            doubt=math.hypot(left, LEAST_DOUBT),
        )

    def _deviation(self, share: Fraction, rows: float) -> float:
        """The standard deviation of an answer for a share of the budget, in units of a strength."""
        units = max(1, math.floor(self._budget.units * share))
        bound = dependence_bound(self._budget.rows, len(self.pairs))
        noise = self._budget.noise(units, l1=bound, l2_squared=bound**2)
        # Besides the noise there is the rounding to whole rows.
        return math.sqrt(noise.variance + 1 / 12) / (rows * self._unit)


def _some_pairs(count: int) -> list[tuple[int, int]]:
    """All pairs of `count` places, or a sample if they are many; always the same one."""
    if math.comb(count, 2) <= _MOST_PAIRS:
        return list(itertools.combinations(range(count), 2))
    drawn = np.random.default_rng(0).integers(0, count, (4 * _MOST_PAIRS, 2))
    ascending = drawn[drawn[:, 0] < drawn[:, 1]].tolist()
    different = dict.fromkeys((first, second) for first, second in ascending)
    return sorted(list(different)[:_MOST_PAIRS])


class _Prior:
    """What is known about the strength of pairs before the number is asked: it is log-normal, and
    not above `LARGEST_STRENGTH`."""

    def __init__(self, before: Learnt, points: int) -> None:
        self.before = before.strength
        assumed = before.strength.singles
        most = math.log(LARGEST_STRENGTH / assumed) / before.doubt
        steps = np.linspace(-_DEVIATIONS, min(_DEVIATIONS, most), points)
        self.strengths = assumed * np.exp(before.doubt * steps)
        self.weights = np.exp(-(steps**2) / 2)

    def posterior(self, answers: Floats, deviation: float) -> Floats:
        """The probability of each strength for each answer, in units of a strength: shape (answers,
        strengths).

        The noise has the density of the Laplace distribution with the standard deviation.
        """
        apart = np.abs(answers[:, None] - self.strengths) / deviation
        logarithms = -math.sqrt(2) * (apart - apart.min(axis=1, keepdims=True))
        weights = self.weights * np.exp(logarithms)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class _Prices:
    """The expected errors of all candidates for the strengths of a prior.

    Attributes
    ----------
    noise, missed
        The errors of noise and of missing components, > 0 in sum: both have shape (candidates,
        strengths).
    guess
        The place of the candidate that is best if nothing is asked.
    """

    noise: Floats
    missed: Floats
    guess: int


def _prices(
    considered: Candidates,
    prior: _Prior,
    rows: float,
) -> _Prices:
    """Price all candidates for each strength of the prior."""
    priced = [
        considered.priced(_with_singles(prior.before, strength), rows)
        for strength in prior.strengths.tolist()
    ]
    keys = [_key(candidate) for candidate in priced[0]]
    of_strength = [{_key(candidate): candidate for candidate in one} for one in priced]
    noise = np.array([[one[key].noise for one in of_strength] for key in keys])
    guess = considered.priced(prior.before, rows)[0]
    return _Prices(
        noise=np.maximum(noise, math.ulp(0)),
        missed=np.array([[one[key].missed for one in of_strength] for key in keys]),
        guess=keys.index(_key(guess)),
    )


def _key(candidate: Candidate) -> int:
    """A candidate keeps its mechanism, whatever its price."""
    return id(candidate.mechanism)


def _with_singles(before: Strength, singles: float) -> Strength:
    """The strengths that are expected when that of pairs has been learnt.

    All others are expected to differ from what was assumed by the same factor, but what a tree
    misses is a part of it.
    """
    return replace(
        before.scaled(singles / before.singles),
        forest=FOREST_TO_PAIRS * singles,
    )


def _laplace(probabilities: Floats) -> Floats:
    """The quantiles of the Laplace distribution of variance 1."""
    sides = np.sign(probabilities - 0.5)
    return np.asarray(-sides * np.log(1 - 2 * np.abs(probabilities - 0.5)) / math.sqrt(2))


def _square(domain: Domain, pair: View) -> float:
    """The expected squared norm that one-way tables miss in a pair, for one row and a strength
    of 1.

    The moments of a table of C cells have the sum of squares C |t|**2; see also `Strength`.
    """
    first, second = domain.shape(pair)
    moments = (first - 1) * (second - 1)
    return moments / (first * second) / (1 + moments / SHARED_MOMENTS)
