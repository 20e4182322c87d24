"""Private draws of queries."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from .._numbers import Number, positive_integer
from ..errors import BudgetError, DomainError
from .counts import digest, whole
from .gate import LARGEST_WEIGHT, Gate, Integers

__all__ = ["Queries"]


class Queries(Gate):
    """The part of `Private` that draws queries."""

    def sample_queries(
        self,
        views: Iterable[Iterable[str]],
        public: npt.ArrayLike,
        *,
        multiplier: int,
        size: int,
        negations: bool = False,
        spend: Number | None = None,
    ) -> Integers:
        """Independent draws of cells, by the exponential mechanism with score multiplier * count - public.

        The queries are all cells of the views, one view after another, each in the order of its table; then, with
        `negations`, for each cell the rows that are *not* in it, counted as such. A row added raises each of these
        counts by zero or one and lowers none: the changes of two scores are at most `multiplier` apart. (Dual Query
        (Gaboardi et al. 2014) draws in round t with multiplier t - 1 and, as public part, the sum of what its records
        so far answer, times a public number of rows.) Each draw is charged an equal part of what is spent; less than
        one unit a draw is left over.

        Parameters
        ----------
        views
            Whose cells are the queries.
        public
            An integer array (queries,).
        multiplier
            A whole number from 1 to 2**20.
        size
            How many to draw.
        negations
            Whether each query's negation is one too.
        spend
            See `Private`.

        Returns
        -------
        numpy.ndarray
            Places of queries, shape (size,).
        """
        checked = self._views(views)
        factor, draws = positive_integer("multiplier", multiplier), positive_integer("size", size)
        if factor > LARGEST_WEIGHT:
            raise DomainError("multiplier must be at most 2**20")
        queries = sum(map(self.domain.cells, checked)) * (2 if negations else 1)
        offset = whole("public", public, (queries,))
        units = self._units(spend) // draws
        if units < 1:
            raise BudgetError(f"{draws} draws get less than one unit of the budget each: draw fewer or spend more")
        spread = self.budget.rows * factor
        about = (tuple(checked), factor, negations, draws, digest(offset))
        events = self._choices("sample_queries", about, (units,) * draws, spread)
        counts = [table.ravel() for table in self._tables(checked)]
        if negations:
            counts += [table.sum() - table for table in counts]
        scores = factor * np.concatenate(counts) - offset
        mechanism = self.budget.selection(units, spread=spread)
        return self._answer(events, [scores], lambda: mechanism.draw(scores, draws, self._entropy))
