"""What the strong pairs that a look found would miss, judged by one noisy distance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..._types import Floats
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...privacy.budget import Budget, PureDP
from ...private import Private
from ...solvers import (
    Evidence,
    JointProjection,
    Newton,
    NonNegativity,
    ResidualConsistency,
    Solver,
)
from ...solvers.tables.tables import Axes
from ...synopses import ViewSynopsis
from ...synopses.estimate import CONTEXT, possible
from ..fitted import JUDGE_DOUBT, LOOK_DOUBT, LOOK_FINE_CHOICE, LOOK_FINE_NOISE, LOOK_LEAST_SHARE
from .contests import comparable, l2_share

__all__ = ["Found", "Judge", "best_shares", "look_share"]

_PUBLIC = Newton(
    bars=False,
    context=CONTEXT,
    tolerance=1e-5,
)
"""Solver of the answers that true tables are compared with."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Found:
    """What a look found.

    Attributes
    ----------
    evidence
        All measurements of the look.
    views
        The chosen pairs, and the attributes that are in none of them. Together they have a small
        junction tree.
    """

    evidence: Evidence
    views: list[View]

    def synopsis(
        self,
        domain: Domain,
        nonnegativity: NonNegativity | None = JointProjection(),
        reconstruction: Solver = _PUBLIC,
    ) -> ViewSynopsis:
        """What all measurements say together."""
        tables = possible(self.evidence.tables(), nonnegativity, ResidualConsistency())
        return ViewSynopsis.of_tables(domain, tables, reconstruction=reconstruction)


_SETS = 100
"""Largest number of asked marginals that are compared."""

_CELLS = 1 << 17
"""Largest number of cells of such a marginal."""

_ANSWERS = 30
"""Number of them whose missed part is computed with the synopsis."""

_LEAST_MISSED = 2.0
"""Least judged error of an answer, divided by the noise of the last measurement."""

_UNIT = 1_000
"""Weights are multiples of one over this number."""


class Judge:
    """Estimates what strong pairs miss, from the distance of their answers from the truth.

    The distance is measured with noise (`Private.total_distance`). It has two parts: what the pairs
    miss, and what the noise of their measurements did. The second part is simulated.

    Parameters
    ----------
    domain, workload
        As in `margin.release`.
    found
        The strong pairs.
    """

    def __init__(
        self,
        domain: Domain,
        workload: Workload,
        found: Found,
    ) -> None:
        self.domain = domain
        self.found = found
        rng = np.random.default_rng(0)
        places = rng.permutation(len(workload))[: 4 * _SETS].tolist()
        views = [workload.views[place] for place in places]
        small = [view for view in views if domain.cells(view) <= _CELLS]
        self.sets = small[:_SETS] or [domain.attributes[:1]]
        # `measure` tells all that follows: the answers that are compared, and the components of the
        # tables that they are made from.
        self.answers: list[Floats] = []
        self.components = Evidence(sizes=domain.sizes)
        # In the mean of an answer: what the pairs miss and the effect of their noise, in squared
        # rows, and the L2 distance from the truth, in rows.
        self.missed = math.nan
        self.noise = math.nan
        self.distance = math.nan

    def measure(
        self,
        private: Private,
        *,
        spend: Fraction | None,
    ) -> None:
        """Measure the distance with a share of the budget, and tell what is missed from it.

        Without a share all that is left of the budget is spent.

        The distance is a mean of sums of absolute errors, each times its `l2_share`. Noise alone
        causes such a distance, too: it is found by adding as much noise to the answers once more.
        The squares of the two differ by what is missed. How an L2 distance compares with this one
        is also taken from the noise.
        """
        synopsis = self.found.synopsis(self.domain)
        self.answers = self._answers(synopsis)
        self.components = Evidence(sizes=self.domain.sizes)
        for view, value in zip(synopsis.held.views, synopsis.held.values, strict=True):
            self.components.add_table(view, value, 1.0)

        shares = [l2_share(answer) for answer in self.answers]
        weights = [max(1, round(_UNIT * share)) for share in shares]
        total = private.total_distance(
            self.sets,
            comparable(self.answers),
            weights=weights,
            spend=spend,
        )
        distance = max(0.0, total / (_UNIT * len(self.sets)))

        errors = self._errors_of_noise(self.found.evidence.precision)
        sums = [np.abs(error).sum() for error in errors]
        of_noise = max(float(np.mean(np.multiply(shares, sums))), math.ulp(0))
        self.noise = _mean_square(errors)
        self.distance = distance * math.sqrt(self.noise) / of_noise
        self.missed = max(0.0, self.distance**2 - self.noise)

    def _answers(self, synopsis: ViewSynopsis) -> list[Floats]:
        """The answers to the compared marginals."""
        return [answer.counts for answer in synopsis.marginals(self.sets)]

    def _errors_of_noise(self, precision: Mapping[Axes, float]) -> list[Floats]:
        """The errors of the answers if what was found were the truth, and were measured anew.

        The noise of each component has a random direction, and exactly the size that is expected:
        a few components, such as the total, may dominate. Its seed is public, so that it says
        nothing about the data.

        Parameters
        ----------
        precision
            That of a new measurement of each component.
        """
        rng = np.random.default_rng(0)
        measured = Evidence(
            sizes=self.domain.sizes,
            zeros=self.domain.zeros,
            known=self.domain.constraints,
        )
        for axes, own in precision.items():
            moments = self.components.weighted[axes] / self.components.precision[axes]
            direction = rng.standard_normal(moments.shape)
            size = math.sqrt(moments.size / own)
            noise = direction * (size / np.linalg.norm(direction))
            measured.add_component(axes, moments + noise, 1 / own)
        again = self._answers(replace(self.found, evidence=measured).synopsis(self.domain))
        return [other - answer for answer, other in zip(self.answers, again, strict=True)]

    def error_after(
        self,
        budget: Budget,
        left: Fraction,
    ) -> float:
        """The mean squared error of an answer, in squared rows, that is expected if the pairs are
        measured again with a share `left` of the budget.

        The distance tells what is missed only up to a part of the noise that it holds. So that part
        is added (`LOOK_DOUBT`).
        """
        return self.missed + LOOK_DOUBT * self.noise + self.noise_after(budget, left)

    def noise_after(
        self,
        budget: Budget,
        left: Fraction,
    ) -> float:
        """The mean squared effect of noise on an answer, in squared rows, if the pairs are measured
        again with a share `left` of the budget."""
        return _mean_square(self._errors_of_noise(self._precision_after(budget, left)))

    def with_missed(
        self,
        synopsis: ViewSynopsis,
    ) -> ViewSynopsis:
        """The synopsis, told how strong the structure is that no view holds.

        The chosen pairs say nothing about it: they are the strongest ones. The scales of structure
        are multiplied so that answers miss as much as their judged error, in the mean, and somewhat
        more (`JUDGE_DOUBT`): a few answers may miss far more than others. Where the judged error is
        lost in noise, it is taken to be twice the noise: pairs were chosen until the others were
        about as small as their noise.

        Parameters
        ----------
        synopsis
            What all measurements say together.
        """
        some = synopsis.marginals(self.sets[:_ANSWERS])
        assumed = float(np.mean([np.sum(answer.missed_variance) for answer in some]))
        judged = JUDGE_DOUBT**2 * max(self.distance**2, _LEAST_MISSED**2 * self.noise)
        if not assumed > judged:
            # A copy: the synopsis itself keeps its solutions, with the seconds that they took.
            return replace(synopsis)
        factor = math.sqrt(judged / assumed)
        learnt = synopsis.usual_scales()
        # The scale of single attributes stays: all of them are measured.
        scales = {key: scale * (factor if key[0] else 1) for key, scale in learnt.items()}
        return replace(synopsis, scales=scales)

    def _precision_after(
        self,
        budget: Budget,
        left: Fraction,
    ) -> dict[Axes, float]:
        """The precision of each component after all pairs are measured again."""
        after = Evidence(sizes=self.domain.sizes)
        after.add_evidence(self.found.evidence)
        shares = best_shares(self.domain, budget, self.found.views)
        for view, share in zip(self.found.views, shares, strict=True):
            units = max(1, math.floor(budget.units * left * share / sum(shares)))
            axes = tuple(sorted(self.domain.axes(view)))
            nothing = np.zeros([self.domain.sizes[axis] for axis in axes])
            after.add_table(axes, nothing, budget.count_noise(units).variance)
        return after.precision


def _mean_square(errors: Sequence[Floats]) -> float:
    """The mean over answers of the sum of squared errors."""
    return float(np.mean([np.sum(error**2) for error in errors]))


def look_share(
    most: Fraction,
    *,
    noise: float,
    error: float,
    choice_noise: float,
    rows: float,
) -> Fraction:
    """The share of the budget that suffices for a look under concentrated differential privacy.

    There, variances fall as one over the share. The noise of the pairs need not be far below the
    error of the best other candidate, with which the pairs are compared (`LOOK_FINE_NOISE`). And
    the noise of choices need not be less than `LOOK_FINE_CHOICE` of the rows.

    Parameters
    ----------
    most
        The largest share.
    noise
        The expected squared noise of the pairs with this share.
    error
        The expected squared error of the best other candidate, in the same unit, > 0.
    choice_noise
        The mean absolute noise of a choice with this share, in rows.
    rows
        The number of rows.
    """
    of_choices = (choice_noise / (LOOK_FINE_CHOICE * rows)) ** 2
    of_tables = noise / (LOOK_FINE_NOISE * error)
    needed = float(most) * max(of_tables, of_choices)
    return min(most, max(LOOK_LEAST_SHARE, Fraction(needed).limit_denominator(10**6)))


def best_shares(
    domain: Domain,
    budget: Budget,
    views: Sequence[View],
) -> list[float]:
    """Shares of the budget that minimise the sum of the expected squared errors of some tables.

    A table of c cells and share s has an expected squared error in proportion to c / s**p. The
    shares that minimise the sum are in proportion to c**(1 / (p + 1)).
    """
    power = 2 if isinstance(budget, PureDP) else 1
    return [domain.cells(view) ** (1 / (power + 1)) for view in views]
