"""Private choices among public candidates."""

from collections.abc import Iterable, Sequence

import numpy as np

from .._checks import positive_integer
from .._numbers import Number
from ..errors import DomainError
from ..noise.selection import peel
from ..privacy.split import split_units
from .counts import digest, gaps, public_tables, view_weights, whole
from .gate import Gate

__all__ = ["LARGEST_PENALTY", "Choices"]

LARGEST_PENALTY = 1 << 40
"""Largest absolute value of a penalty."""


class Choices(Gate):
    """The part of `Private` that chooses views: its method `select`."""

    def select(
        self,
        candidates: Iterable[Iterable[str]],
        public: Sequence[object],
        *,
        count: int = 1,
        weights: Sequence[int] | None = None,
        penalties: Sequence[int] | None = None,
        spend: Number | None = None,
    ) -> tuple[int, ...]:
        """Choose, at random, views whose true tables differ much from public answers.

        This is the exponential mechanism with score weight * (|table - public|_1 - penalty). Public
        answers are rounded to integers first, so scores are integers. Adding a row changes one cell
        of each table by one. So each distance changes by at most one, up or down, and each score by
        at most the largest weight w. The changes of two scores differ by at most 2 w. Distances are
        cut off at 2**40, so that scores fit into 64 bits; this does not increase the difference of
        any two distances. Candidates are chosen one after another. Each choice is charged an equal
        part of what is spent.

        Parameters
        ----------
        candidates
            The views to choose from.
        public
            For each view an array of its shape, or a Marginal. They must not depend on the data,
            except through results of `Private`.
        count
            Number of views to choose.
        weights, penalties
            One whole number for each view: weights from 0 to 2**20 (default 1), penalties from
            -2**40 to 2**40 (default 0).
        spend
            The share of the whole budget to spend, such as "1/3"; by default all that is left.

        Returns
        -------
        tuple of int
            Places of the chosen candidates, shape (count,), in the order of the choices.

        Raises
        ------
        DomainError
            When an argument is not as described. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        DataError
            When the rows do not fit the domain. Nothing is charged.
        """
        # Check copies of the arguments.
        views = self._views(candidates)
        wanted = positive_integer("count", count)
        if wanted > len(views):
            raise DomainError(
                f"count ({wanted}) must be at most the number of candidates, {len(views)}; pass a "
                "smaller number"
            )
        arrays = public_tables(public, views, self.domain)
        weight = view_weights(weights, len(views))
        given = np.zeros(len(views), int) if penalties is None else penalties
        penalty = whole("penalties", given, (len(views),))

        # Count, charge, draw.
        about = (tuple(views), digest(*arrays, weight, penalty))
        spread = 2 * self.budget.rows * int(weight.max())
        charges = split_units(self._units(spend), wanted)
        events = self._choices("select", about, charges, spread)
        scores = weight * (gaps(self._tables(views), arrays) - penalty)
        mechanisms = [self.budget.selection(event.units, spread=spread) for event in events]
        chosen = self._answer(events, [scores], lambda: peel(mechanisms, scores, self._entropy))
        return tuple(chosen.tolist())
