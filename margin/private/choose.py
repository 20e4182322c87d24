"""Private choices among public candidates."""

from collections.abc import Iterable, Sequence

import numpy as np

from .._checks import positive_integer
from .._numbers import Number
from ..errors import DomainError
from ..noise.selection import peel
from ..privacy.split import split_units
from .counts import digest, gaps, total, whole
from .gate import LARGEST_WEIGHT, Gate

__all__ = ["LARGEST_ANSWERS", "LARGEST_PENALTY", "Choices"]

LARGEST_ANSWERS = 1 << 39
"""The most that all public answers of a choice may add up to, in size."""

LARGEST_PENALTY = 1 << 40
"""The most that a penalty may be, in size."""


class Choices(Gate):
    """The part of `Private` that chooses views."""

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
        """The views that public answers are furthest from: places of `count` candidates, chosen one
        after another.

        The exponential mechanism with score weight * (|table - public|_1 - penalty). Public answers
        are rounded to integers first, so that scores are integers. Adding a row changes one cell of
        each table by one, hence each distance by at most one up or down and each score by at most
        the largest weight w: the changes of two scores are at most 2 w apart. Distances are cut off
        at 2**40, so that scores fit into 64 bits; that moves no two of them apart. Each choice is
        charged an equal part of what is spent.

        Parameters
        ----------
        candidates
            The views to choose from.
        public
            For each view an array of its shape, or a Marginal, made without looking at the data but
            through `Private`.
        count
            How many to choose.
        weights, penalties
            For each view whole numbers: from 0 to 2**20; of at most 2**40 in size. One and zero
            when not given.
        spend
            See `Private`.
        """
        views = self._views(candidates)
        wanted = positive_integer("count", count)
        if len(public) != len(views) or wanted > len(views):
            raise DomainError(
                f"{len(views)} candidates need as many public answers, and a count of at most as many"
            )
        arrays = [
            whole("a public answer", array, self.domain.shape(v))
            for array, v in zip(public, views, strict=True)
        ]
        weight = whole(
            "weights", np.ones(len(views), int) if weights is None else weights, (len(views),)
        )
        penalty = whole(
            "penalties",
            np.zeros(len(views), int) if penalties is None else penalties,
            (len(views),),
        )
        if sum(total(np.abs(array)) for array in arrays) > LARGEST_ANSWERS:
            raise DomainError("public answers must not add up to more than 2**39")
        if weight.min() < 0 or not 1 <= weight.max() <= LARGEST_WEIGHT:
            raise DomainError("weights must be whole numbers from 0 to 2**20, not all zero")
        about = (tuple(views), digest(*arrays, weight, penalty))
        spread = 2 * self.budget.rows * int(weight.max())
        events = self._choices("select", about, split_units(self._units(spend), wanted), spread)
        scores = weight * (gaps(self._tables(views), arrays) - penalty)
        mechanisms = [self.budget.selection(event.units, spread=spread) for event in events]
        chosen = self._answer(events, [scores], lambda: peel(mechanisms, scores, self._entropy))
        return tuple(chosen.tolist())
