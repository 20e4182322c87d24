"""What the strong pairs that a look found would miss, judged by one noisy distance."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

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
from ...synopses.estimate import possible
from ..fitted import LOOK_DOUBT
from .contests import comparable, l2_share

__all__ = ["CONTEXT", "Found", "Judge", "best_shares"]

CONTEXT = 12
"""Largest number of attributes of the context from which variances are computed."""

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

    The distance is measured with noise (`Private.totaldistance`). It has two parts: what the pairs
    miss, and what the noise of their measurements did. The second part is expected from the
    variances.

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
        self.missed = math.nan
        self.distance = math.nan

    def measure(
        self,
        private: Private,
        *,
        spend: Fraction | None,
    ) -> None:
        """Measure the distance with a share of the budget, and tell what is missed from it.

        Without a share all that is left of the budget is spent.

        The measured distances are sums of absolute errors; `l2_share` makes them L2 distances.
        """
        synopsis = self.found.synopsis(self.domain)
        answers = [answer.counts for answer in synopsis.marginals(self.sets)]
        weights = [max(1, round(_UNIT * l2_share(answer))) for answer in answers]
        total = private.total_distance(
            self.sets,
            comparable(answers),
            weights=weights,
            spend=spend,
        )
        self.distance = max(0.0, total / (_UNIT * len(self.sets)))
        self.missed = max(0.0, self.distance**2 - self.noise)

    @cached_property
    def noise(self) -> float:
        """The mean squared effect of the noise of the pairs on an answer, in squared rows."""
        return self._noise(self.found.evidence.precision)

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
        return self._noise(self._precision_after(budget, left))

    def with_missed(self, synopsis: ViewSynopsis) -> ViewSynopsis:
        """The synopsis, told how strong the structure is that no view holds.

        The chosen pairs say nothing about it: they are the strongest ones. The scales of structure
        are multiplied so that answers miss as much as their judged error, in the mean. Where that
        is lost in noise, it is taken to be twice the noise: pairs were chosen until the others were
        about as small as their noise.
        """
        some = synopsis.marginals(self.sets[:_ANSWERS])
        assumed = float(np.mean([np.sum(answer.missed_variance) for answer in some]))
        judged = max(self.distance**2, _LEAST_MISSED**2 * self.noise)
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

    def _noise(self, precision: Mapping[Axes, float]) -> float:
        """The mean squared effect of noise on an answer, in squared rows.

        A moment of variance v adds v / C to the squared error of an answer of C cells. Noise that
        is removed with negative counts is not subtracted.
        """
        sizes = np.array(self.domain.sizes)
        total = 0.0
        for view in self.sets:
            axes = sorted(self.domain.axes(view))
            variance = sum(
                float(np.prod(sizes[list(part)] - 1)) / precision[part]
                for length in range(3)
                for part in itertools.combinations(axes, length)
                if part in precision
            )
            total += variance / self.domain.cells(view)
        return total / len(self.sets)


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
