"""Rounds: each chooses a view whose true table is far from the public answers, and measures it."""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._types import Floats
from ...domain.domain import View
from ...domain.workload import Workload
from ...private import Private
from ...solvers import Evidence, Newton
from ...synopses import ViewSynopsis
from .contests import comparable, mean_noise, penalty
from .noise_left import share_left

__all__ = ["CHOICE", "PUBLIC", "PayingRounds", "measured_in_round", "noise_penalties"]

log = logging.getLogger("margin")

PUBLIC = Newton(
    bars=False,
    tolerance=1e-5,
)
"""Solver of the answers that a round compares views with.

The noise in these answers is far above its tolerance.
"""

CHOICE = Fraction(1, 10)
"""Share of a round's budget that chooses its view (McKenna et al., VLDB 2022); the rest measures.
"""

_RECENT = 2
"""Number of rounds whose mean gain tells whether another one pays."""


def noise_penalties(
    private: Private,
    views: Sequence[View],
    spend: Fraction,
) -> list[int]:
    """The expected L1 distance, in rows, that the noise of a round causes in each view.

    Parameters
    ----------
    spend
        The share of the whole budget that the round spends.
    """
    deviation = mean_noise(private.budget, spend * (1 - CHOICE))
    return [penalty(deviation, private.domain.cells(view)) for view in views]


def measured_in_round(
    private: Private,
    views: Sequence[View],
    answers: Sequence[Floats],
    *,
    spend: Fraction,
    is_last: bool,
) -> tuple[int, Floats, float]:
    """Choose a view by the exponential mechanism, and measure it.

    The score of a view is the L1 distance of its true table from its public answer, minus what
    noise alone is expected to cause (McKenna et al., VLDB 2022).

    Parameters
    ----------
    answers
        The public answer for each view, in rows.
    spend
        The share of the whole budget for the choice and the measurement.
    is_last
        Whether the measurement takes all that is left of the budget.

    Returns
    -------
    The place of the view among `views`, its noisy table, and the noise variance of each cell.
    """
    (place,) = private.select(
        views,
        comparable(answers),
        penalties=noise_penalties(private, views, spend),
        spend=spend * CHOICE,
    )
    view = views[place]
    log.info("measuring %s", ", ".join(view))
    measured = private.measure([view], spend=None if is_last else spend * (1 - CHOICE))
    tables = ViewSynopsis.of(private.domain, measured, reconstruction=PUBLIC).held
    return place, tables.values[0], tables.variances[0]


@dataclass(
    frozen=True,
    kw_only=True,
)
class PayingRounds:
    """Rounds after a first measurement, which go on as long as they pay.

    A round pays if it makes the expected squared error of the asked answers smaller than the rest
    of the budget would, if it were spent without the round.

    Attributes
    ----------
    private
        The data, behind the gate of the budget.
    workload
        What is asked.
    views
        The views that rounds choose from.
    rows, spread
        The approximate number of rows, and how evenly they are spread over cells (`Strength`).
    each
        The share of the whole budget that a round spends.
    most
        The largest number of rounds.
    cost
        The expected squared error, in squared rows and summed over all asked answers, that is added
        if the rest of the budget is smaller by one round.
    """

    private: Private
    workload: Workload
    views: Sequence[View]
    rows: float
    spread: float
    each: Fraction
    most: int
    cost: float

    def make(
        self,
        evidence: Evidence,
        answers: Callable[[Evidence, Sequence[View]], Sequence[Floats]],
    ) -> tuple[Evidence, int]:
        """Make rounds until the last two of them did not pay.

        Parameters
        ----------
        evidence
            All earlier measurements; it stays as it is.
        answers
            Gives public answers for some views from evidence.

        Returns
        -------
        The measurements of the rounds alone, and the number of rounds.
        """
        found = evidence.empty()
        gains: list[float] = []
        public = list(answers(evidence, self.views))
        for _ in range(self.most):
            place, table, variance = measured_in_round(
                self.private,
                self.views,
                public,
                spend=self.each,
                is_last=False,
            )
            view = self.views[place]
            axes = tuple(map(self.private.domain.position.__getitem__, view))
            found.add_table(axes, table, variance)
            gains.append(self._worth(view) * self._gain(table - public[place], variance))
            recent = gains[-_RECENT:]
            if sum(recent) / len(recent) < self.cost:
                break
            # The measurement changes the answers that share a pair of attributes with it; in others
            # it hardly matters.
            near = [place for place, other in enumerate(self.views) if len({*view, *other}) < 5]
            changed = answers(evidence.joined(found), [self.views[place] for place in near])
            for place, answer in zip(near, changed, strict=True):
                public[place] = answer
        return found, len(gains)

    def _gain(self, difference: Floats, variance: float) -> float:
        """By how much the squared error of a view falls, in squared rows, as its measurement tells.

        Only what involves all attributes of the view counts: the rest of the budget measures the
        other parts. The squared difference of the measurement from the public answer, less its
        expected noise, estimates the squared error of the answer without bias. What is left of the
        noise of the measurement takes its place.
        """
        # Without the means over each axis, only what involves all attributes remains.
        own = difference
        for axis in range(own.ndim):
            own = own - own.mean(axis=axis, keepdims=True)
        moments = math.prod(size - 1 for size in own.shape)
        noise: float = moments * variance
        shares = share_left(np.array([own.size]), np.array([variance]), self.rows, self.spread)
        return float((own**2).sum()) - noise - float(shares[0]) * noise

    def _worth(self, view: View) -> float:
        """The squared error of all asked answers, for a squared error of one of this view.

        An answer with more attributes holds the error of the view in more cells: its squared error
        is smaller by the number of cells that each cell of the view is divided into.
        """
        domain = self.private.domain
        names = set(view)
        kway = self.workload.kway
        if kway is not None:
            # The sum over all sets of more attributes of one over their cells is a coefficient of
            # the product of 1 + x / size over the other attributes.
            more = kway - len(view)
            sums = np.zeros(more + 1)
            sums[0] = 1.0
            for name in domain:
                if name not in names:
                    sums[1:] += sums[:-1] / domain[name].size
            return float(sums[more])
        cells = domain.cells(view)
        shares = (
            weight * cells / domain.cells(asked)
            for asked, weight in zip(self.workload.views, self.workload.weights, strict=True)
            if names.issubset(asked)
        )
        return float(sum(shares))
