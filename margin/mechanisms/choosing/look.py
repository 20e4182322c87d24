"""What the strong pairs that a look found would miss, judged by one noisy distance."""

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...private import Private
from ...solvers import Evidence
from ...solvers.tables.tables import Axes
from .contests import comparable, l2_share
from .strong_pairs import Found, best_shares

__all__ = ["Judge"]

_SETS = 100
"""Largest number of asked marginals that are compared."""

_CELLS = 1 << 17
"""Largest number of cells of such a marginal."""

_UNIT = 1_000
"""Weights are multiples of one over this number."""


class Judge:
    """Estimates the error of strong pairs, from the distance of their answers from the truth.

    The distance is measured with noise (`Private.total_distance`). It has two parts: what the pairs
    miss, and what the noise of the look did. The second part is known, so the first can be told.
    The noise of the last measurement is added to it.

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
        self.sets = [view for view in views if domain.cells(view) <= _CELLS][:_SETS]
        synopsis = found.synopsis(domain)
        self.answers = [answer.counts for answer in synopsis.marginals(self.sets)]

    def distance(
        self,
        private: Private,
        *,
        spend: Fraction,
    ) -> float:
        """Measure the mean distance of the answers from the truth: the root of the sum of the
        squared errors of a marginal, in rows.

        The measured distances are sums of absolute errors; `l2_share` makes them L2 distances.
        """
        weights = [max(1, round(_UNIT * l2_share(answer))) for answer in self.answers]
        total = private.total_distance(
            self.sets,
            comparable(self.answers),
            weights=weights,
            spend=spend,
        )
        return max(0.0, total / (_UNIT * len(self.sets)))

    def expected_error(
        self,
        distance: float,
        budget: Budget,
        left: Fraction,
    ) -> float:
        """The expected squared error of a marginal, in squared rows, if the pairs are measured
        again with a share `left` of the budget."""
        noise_now = self._noise(self.found.evidence.precision)
        noise_later = self._noise(self._precision_later(budget, left))
        missed = max(0.0, distance**2 - noise_now)
        return missed + noise_later

    def _precision_later(
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
