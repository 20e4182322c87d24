"""Counts of items that rows hold."""

from collections.abc import Iterable, Sequence

import numpy as np

from .._numbers import Number, positive_integer
from ..domain import Domain
from ..errors import DomainError
from ..event import Event
from ..marginal import Marginal
from .counts import items, truncated, whole
from .gate import LARGEST_WEIGHT, Gate

__all__ = ["Items"]


class Items(Gate):
    """The part of `Private` that counts items."""

    def truncated_counts(
        self, attributes: Iterable[str], *, most: int, grain: int = 1 << 12, spend: Number | None = None
    ) -> Marginal:
        """How many rows hold each of many items, when a row of more than `most` items counts less for each of them.

        A row of c items adds one to each, or most / c when c > most (DPSense, Day and Li 2015), in whole multiples of 1
        / grain, rounded down. Adding a row changes the counts, in these units, by at most grain * most in L1 and
        grain**2 * most in squared L2, whatever the number of items. The noise is a whole number of units too.

        Parameters
        ----------
        attributes
            The items: attributes of two categories, of which the second says that the row holds it.
        most
            From how many items on a row counts less.
        grain
            Into how many units a count of one is divided.
        spend
            See `Private`.

        Returns
        -------
        Marginal
            Over one attribute named "item", whose categories are the attributes.
        """
        names = self._items(attributes)
        most, grain = positive_integer("most", most), positive_integer("grain", grain)
        if grain * min(most, len(names)) > LARGEST_WEIGHT:
            raise DomainError("grain times most must be at most 2**20")
        units = self._units(spend)
        l1, l2_squared = self.budget.sensitivity(l1=grain * most, l2_squared=grain**2 * most)
        event = Event(
            method="truncated_counts",
            about=(names, most, grain),
            units=units,
            sampler=(noise := self.budget.noise(units, l1=l1, l2_squared=l2_squared)),
            l1=l1,
            l2_squared=l2_squared,
        )
        true = np.zeros(len(names), np.int64)
        for held in items(iter(self._source.batches(self.domain)), names):
            true += truncated(held, most, grain)
        noisy = self._answer([event], [true], lambda: self._add_noise([event], [true]))[0]
        return Marginal(Domain({"item": list(names)}), noisy / grain, np.full(len(names), noise.variance / grain**2))

    def select_most(
        self, attributes: Iterable[str], grid: Sequence[int], *, penalties: Sequence[int], spend: Number | None = None
    ) -> int:
        """A good `most` for `truncated_counts`: the place in a public grid.

        The exponential mechanism with score -(items lost) - penalty, where a row of c items loses max(0, c - most). A
        row added lowers each score by 0 up to the number of attributes less the least of the grid, and raises none: the
        changes of two scores are at most that apart.

        Parameters
        ----------
        attributes
            See `truncated_counts`.
        grid
            What to choose from.
        penalties
            For each a whole number, such as the sum of the noise it will cause.
        spend
            See `Private`.
        """
        names = self._items(attributes)
        choices = np.array([positive_integer("a value of the grid", most) for most in grid], np.int64)
        penalty = whole("penalties", penalties, (choices.size,))
        if not choices.size:
            raise DomainError("the grid must hold at least one value")
        units = self._units(spend)
        spread = self.budget.rows * max(1, len(names) - int(choices.min()))
        events = self._choices(
            "select_most", (names, tuple(choices.tolist()), tuple(penalty.tolist())), (units,), spread
        )
        lost = np.zeros(choices.size, np.int64)
        for held in items(iter(self._source.batches(self.domain)), names):
            lost += np.maximum(held.sum(axis=1)[:, None] - choices, 0).sum(axis=0)
        scores = -lost - penalty
        mechanism = self.budget.selection(units, spread=spread)
        return int(self._answer(events, [scores], lambda: mechanism.draw(scores, 1, self._entropy))[0])
