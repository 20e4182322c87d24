"""Noisy counts of frequent items; rare items are left out without noise, which costs a delta."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .._checks import positive_integer
from .._types import Integers
from ..domain.domain import Domain
from ..errors import BudgetError, DomainError
from ..noise.laws import DiscreteLaplace, noisy_sum
from ..privacy.budget import ApproxDP
from ..privacy.event import Event
from ..privacy.thresholds import least_gap
from .item_counts import few_counts, read_baskets
from .items import Items
from .sparse_noise import Kept

__all__ = ["Cut", "Frequent", "FrequentItems"]

_LARGEST = 1 << 60  # largest number below which counts are dropped, and largest threshold


@dataclass(frozen=True)
class Cut:
    """The rule that drops counts below `least`, adds noise to the others, and drops those below
    `threshold`."""

    least: int
    threshold: int


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class FrequentItems:
    """The items whose noisy counts reached a threshold.

    Attributes
    ----------
    items
        A domain of one attribute, whose categories are the items.
    places
        The places of the published items, in ascending order: shape (published,).
    counts
        Their noisy counts, integers: shape (published,).
    threshold
        The smallest noisy count that could be published.
    variance
        The variance of the noise in each count, before any was dropped, in squared rows.
    """

    items: Domain
    places: Integers
    counts: Integers
    threshold: int
    variance: float


class Frequent(Items):
    """The method of `Private` that publishes frequent items only."""

    def frequent_items(
        self,
        attributes: Iterable[str] | None = None,
        *,
        most: int,
        least: int = 1,
        threshold: int | None = None,
    ) -> FrequentItems:
        """The items whose noisy count reaches a threshold, with these counts.

        Each row keeps at most `most` items, as for `sampled_counts`. Counts below `least` are
        dropped. The others get discrete Laplace noise, and are published if they reach the
        threshold. So an item that no row holds is never published, and time does not grow with the
        number of declared items that nobody holds.

        Adding a row changes at most `most` counts by one. The noise has scale l1 / epsilon. Delta
        pays for the items that are rare in one table and frequent in its neighbour: see
        docs/proofs/frequent_items.md. So this method spends an `ApproxDP` budget as a whole. Like a
        call of `measure` that spends all at once, it has no guarantee in rho.

        Parameters
        ----------
        attributes
            See `truncated_counts`.
        most
            Largest number of items that a row keeps.
        least
            Smallest true count to which noise is added.
        threshold
            Smallest noisy count that is published. None takes the smallest one that is proved to
            be enough.

        Returns
        -------
        FrequentItems
            The published items.

        Raises
        ------
        BudgetError
            When the budget is no `ApproxDP`, something has been spent, or there is a ledger.
            Nothing is charged.
        DomainError
            When an attribute is not an item, or the threshold is too small. Nothing is charged.
        """
        names, items = self._universe(attributes)
        number = items.sizes[0]
        most = min(positive_integer("most", most), number)
        units = self._units(None)
        if not self._is_all(units):
            raise BudgetError(
                "frequent_items needs a whole ApproxDP budget, but this budget is of another kind, "
                "is spent in part, or has a ledger; call it first and without a ledger, or use "
                "sampled_counts"
            )
        assert isinstance(self.budget, ApproxDP)
        l1, l2_squared = self.budget.sensitivity(
            l1=most,
            l2_squared=most,
        )
        noise = DiscreteLaplace(l1 / self.budget.epsilon)
        rule = self._cut(noise, most, least, threshold)
        event = Event(
            method="frequent_items",
            about=(names, most, number, rule),
            units=units,
            sampler=noise,
            l1=l1,
            l2_squared=l2_squared,
            together=True,
        )
        baskets = read_baskets(self._source, self.domain, names)
        counts = few_counts(baskets, number, most)
        held = np.flatnonzero(counts)
        true = (held[:, None], counts[held])
        kept = self._answer([event], [true], lambda: self._above(true, rule, noise))
        return FrequentItems(
            items=items,
            places=kept.words[:, 0],
            counts=kept.counts,
            threshold=rule.threshold,
            variance=noise.variance,
        )

    def _cut(
        self,
        noise: DiscreteLaplace,
        most: int,
        least: int,
        threshold: int | None,
    ) -> Cut:
        """The rule, checked: its threshold is at least the smallest one that is enough."""
        assert isinstance(self.budget, ApproxDP)
        if positive_integer("least", least) > _LARGEST:
            raise DomainError(f"least ({least}) must be at most 2**60; pass a smaller number")
        gap = least_gap(
            noise.scale,
            delta=self.budget.delta,
            person=self.budget.rows_per_person,
            most=most,
        )
        smallest = least - 1 + gap
        if threshold is None:
            return Cut(least, smallest)
        if not smallest <= positive_integer("threshold", threshold) <= _LARGEST:
            raise DomainError(
                f"threshold ({threshold}) must be at least {smallest} with this budget, and at "
                "most 2**60; leave it out, or raise delta"
            )
        return Cut(least, threshold)

    def _above(
        self,
        true: tuple[Integers, Integers],
        rule: Cut,
        noise: DiscreteLaplace,
    ) -> Kept:
        """The noisy counts that the rule keeps; `true` holds the items and their counts."""
        places, counts = true
        frequent = counts >= rule.least
        draws = noise.sample(int(frequent.sum()), self._entropy)
        noisy = noisy_sum(counts[frequent], draws)
        large = noisy >= rule.threshold
        return Kept(places[frequent][large], noisy[large])
