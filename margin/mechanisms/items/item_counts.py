"""Four other ways to count many items, which `DPSense` is compared with."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..._checks import positive_integer
from ..._numbers import Number
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...private import Private
from ...queries.walsh import sequency_order, transform
from ...synopses.columns import ColumnCounts
from .dpsense import check_share, column_counts, items_of

__all__ = ["FourierItems", "PeeledItems", "PlainItems", "SampledItems", "fine_grain"]

_GRAIN = 1 << 20
"""Largest number of units that a count of one is divided into."""

_MOST_UNITS = 1 << 40
"""Largest number of units in the counts of one row."""


def fine_grain(longest: int) -> int:
    """The number of units that a count of one is divided into, for rows of `longest` items."""
    return max(1, min(_GRAIN, _MOST_UNITS // longest))


@dataclass(
    frozen=True,
    kw_only=True,
)
class PlainItems:
    """A mechanism that adds equal noise to the count of every item (the Laplace mechanism).

    The noise is large enough for rows of the largest possible number of items.

    Parameters
    ----------
    longest
        The declared largest number of items of a row, >= 1; a row of more items counts less for
        each of them. None takes the number of all items.
    attributes
        See `DPSense`.
    """

    longest: int | None = None
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        if self.longest is not None:
            positive_integer("longest", self.longest)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ColumnCounts:
        """Run the mechanism: count all items with noise. The workload is not used."""
        longest = self.longest or items_of(private.domain, self.attributes).sizes[0]
        counted = private.truncated_counts(
            self.attributes,
            most=longest,
            grain=fine_grain(longest),
        )
        return column_counts(counted)


@dataclass(
    frozen=True,
    kw_only=True,
)
class SampledItems:
    """A mechanism that counts items after each row has dropped all but `most` of its items.

    The sensitivity is then `most` (row sampling).

    Counts are not scaled up for rows that lost items.

    Parameters
    ----------
    most
        The largest number of items that a row keeps, >= 1.
    attributes
        See `DPSense`.
    """

    most: int = 10
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        positive_integer("most", self.most)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ColumnCounts:
        """Run the mechanism: count the kept items with noise. The workload is not used."""
        counted = private.sampled_counts(self.attributes, most=self.most)
        return column_counts(counted, missing=self.most < counted.counts.size)


@dataclass(
    frozen=True,
    kw_only=True,
)
class PeeledItems:
    """A mechanism that chooses k frequent items and counts only those (Bhaskar et al., KDD 2010).

    The exponential mechanism makes the choice.

    The counts of other items are zero.

    Parameters
    ----------
    k
        The number of items, >= 1.
    share
        The share of the budget for choosing them, > 0 and < 1.
    attributes
        See `DPSense`.
    """

    k: int
    share: Number = "0.5"
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        positive_integer("k", self.k)
        check_share(self.share)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ColumnCounts:
        """Run the mechanism: choose items, then count them. The workload is not used."""
        chosen = private.select_items(
            self.attributes,
            count=self.k,
            spend=self.share,
        )
        counted = private.chosen_counts(self.attributes, chosen=chosen)
        others = ~np.isin(np.arange(counted.counts.size), chosen)
        return column_counts(counted, missing=others, ranking=chosen)


@dataclass(
    frozen=True,
    kw_only=True,
)
class FourierItems:
    """A mechanism that measures the first k Fourier coefficients of the counts of items (Rastogi
    and Nath, SIGMOD 2010).

    Walsh functions take the place of sines, so that the coefficients are whole numbers. The method
    is meant for counts that vary slowly from one item to the next.

    Parameters
    ----------
    k
        The number of coefficients that are kept, >= 1.
    longest
        See `PlainItems`.
    attributes
        See `DPSense`.
    """

    k: int
    longest: int | None = None
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        positive_integer("k", self.k)
        if self.longest is not None:
            positive_integer("longest", self.longest)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ColumnCounts:
        """Run the mechanism: measure coefficients and transform them back to counts. The workload
        is not used."""
        domain = items_of(private.domain, self.attributes)
        items = domain.sizes[0]
        longest = min(self.longest or items, items)
        grain = fine_grain(longest)
        # The transform takes a power of two; items beyond the last have count zero.
        size = 1 << (items - 1).bit_length()
        first = min(self.k, size)
        noisy = private.walsh_counts(
            self.attributes,
            first=first,
            most=longest,
            grain=grain,
        )
        noise = private.events[-1].noise
        coefficients = np.zeros(size)
        coefficients[sequency_order(size)[:first]] = noisy / grain
        counts = transform(coefficients)[:items] / size
        each = first * noise.variance / grain**2 / size**2
        variance = np.full(items, each)
        # Each count is the sum of all coefficients, with a sign.
        kurtosis = noise.kurtosis / first
        smoothed = Marginal(domain, counts, variance, noise_kurtosis=kurtosis)
        return column_counts(smoothed, missing=first < size)
