"""The first query on which public answers are far from the truth."""

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .._checks import positive_integer, whole_number
from .._numbers import Number
from .._types import Integers
from ..errors import DomainError
from ..noise.geometric import unclamped
from ..noise.laws import DiscreteLaplace
from ..privacy.event import Event
from ..privacy.split import split_units
from ..queries import Queries as Workload
from .counts import digest, whole
from .queries import Queries

__all__ = ["Comparisons"]

_LARGEST_SCORE = 1 << 60
"""Cut-off of the scores, so that sums with noise fit into 64 bits."""

_LARGEST_SCALE = 1 << 40
"""Largest scale of the noise. Draws then come to the ends of 64 bits with a probability below
10**-900000."""

_LARGEST_DRAW = (1 << 62) - 1
"""Largest absolute value of a draw; larger ones are clamped to it."""

_LARGEST_SUM = _LARGEST_DRAW + _LARGEST_SCORE

_PARTS = (2, 3)
"""How the charge is divided between the threshold and the comparisons: about 1 to 2**(2/3), which
minimises the variance of their difference."""


class Comparisons(Queries):
    """The method of `Private` that compares errors with a threshold."""

    def above_threshold(
        self,
        queries: Workload,
        answered: npt.ArrayLike,
        *,
        threshold: int,
        start: int = 0,
        spend: Number | None = None,
    ) -> int | None:
        """The first query, from `start` on, whose answer seems to be wrong by `threshold` rows.

        This is the sparse vector technique (Dwork, Naor, Reingold, Rothblum and Vadhan 2009; in
        the form of Lyu, Su and Li 2017, with one query to find). The score of query q is
        |c_q - a_q|, where c_q is its count and a_q its public answer. The threshold gets discrete
        Laplace noise once, and each score gets its own. The first query whose noisy score is at
        least the noisy threshold is the result; nothing else leaves. The charge does not depend on
        the number of queries, or on whether one is found.

        Adding a row changes each score by at most one, and the rows of a person change it by at
        most their number m, added or replaced. With D = m, the noise of the threshold has scale
        D / epsilon1, and the noise of the scores has scale 2 D / epsilon2, where epsilon1 and
        epsilon2 are two and three fifths of epsilon. A budget of rho buys epsilon = sqrt(2 rho),
        rounded down. The proof is in docs/proofs/above_threshold.md.

        Parameters
        ----------
        queries
            Queries over the domain of this object, in the order in which they are asked.
        answered
            The public answer of each query, in rows: shape (queries,), rounded. It must not depend
            on the data, except through results of `Private`.
        threshold
            The threshold, in rows.
        start
            The place of the first query that is compared.
        spend
            See `Private`.

        Returns
        -------
        int or None
            The place of the query; None if no noisy score reaches the noisy threshold.

        Raises
        ------
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        DomainError, DataError
            When an argument is not as described, or the rows do not fit the domain. Nothing is
            charged.
        """
        # Check copies of the arguments.
        self._check_queries(queries)
        counts, _ = self._query_counts(queries)
        known = whole("answered", answered, counts.shape)
        level = whole("threshold", threshold, ())
        positive_integer("threshold", int(level))
        first = whole_number("start", start, least=0, most=counts.size - 1)

        # The two laws.
        units = self._units(spend)
        epsilon = self.budget.pure_epsilon(units)
        moved = self.budget.rows_per_person
        about = (queries.digest, digest(known), int(level), first)
        events = []
        for charge, factor in zip(split_units(units, _PARTS), (1, 2), strict=True):
            distance = factor * moved
            scale = distance / (epsilon * Fraction(charge, units))
            if scale > _LARGEST_SCALE:
                raise DomainError(
                    "the scale of the noise must be at most 2**40 rows, but what is spent gives "
                    "more noise; spend more"
                )
            events.append(
                Event(
                    method="above_threshold",
                    about=about,
                    units=charge,
                    sampler=DiscreteLaplace(scale),
                    l1=distance,
                    l2_squared=distance**2,
                )
            )

        # True scores, charge, draw.
        scores = np.minimum(np.abs(counts - known), _LARGEST_SCORE)[first:]
        laws = [event.sampler for event in events]

        def draw() -> int:
            return self._first_above(level[None], scores, *laws)

        place = self._answer(events, [level[None], scores], draw)
        return None if place < 0 else first + place

    def _first_above(
        self,
        level: Integers,
        scores: Integers,
        threshold_noise: Any,
        score_noise: Any,
    ) -> int:
        """Draw the noise: the place of the first noisy score at or above the level, -1 for none.

        The comparison is exact. A draw below the clamp gives a sum that fits into 64 bits. A
        clamped draw is continued, and compared in Python's integers.
        """
        moved = int(threshold_noise.sample(1, self._entropy)[0])
        limit = int(level[0]) + unclamped(moved, threshold_noise.scale, self._entropy)
        drawn = score_noise.sample(scores.size, self._entropy)
        # Sums have at most 63 bits. Beyond that, the limit decides as its nearest such number.
        fits = max(-_LARGEST_SUM, min(limit, _LARGEST_SUM))
        is_above = scores + drawn >= fits
        for place in np.flatnonzero(np.abs(drawn) >= _LARGEST_DRAW):
            noise = unclamped(int(drawn[place]), score_noise.scale, self._entropy)
            is_above[place] = int(scores[place]) + noise >= limit
        found = np.flatnonzero(is_above)
        return int(found[0]) if found.size else -1
