"""What `DPSense` is compared with: four other ways to count many items."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..._checks import positive_integer
from ..._numbers import Number, exact
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...noise.laws import ExponentialMechanism
from ...private import Private
from ...queries.walsh import sequency_order, transform
from ...synopses.columns import ColumnCounts
from .dpsense import column_counts, items_of

__all__ = ["FourierItems", "PeeledItems", "PlainItems", "SampledItems"]

_GRAIN = 1 << 20


@dataclass(frozen=True, kw_only=True)
class PlainItems:
    """Noise for rows of the largest size that there may be, on every count: the Laplace mechanism.

    Parameters
    ----------
    longest
        How many items a row may hold, declared: rows that hold more count less for each. All items
        when not given.
    attributes
        See `DPSense`.
    """

    longest: int | None = None
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        if self.longest is not None:
            positive_integer("longest", self.longest)

    def run(self, private: Private, workload: Workload | None) -> ColumnCounts:
        """Count. The workload has no say."""
        longest = self.longest or items_of(private.domain, self.attributes).sizes[0]
        grain = max(1, min(_GRAIN, (1 << 40) // longest))
        return column_counts(private.truncated_counts(self.attributes, most=longest, grain=grain))


@dataclass(frozen=True, kw_only=True)
class SampledItems:
    """Each row keeps `most` of its items, which makes the sensitivity `most`: row sampling.

    Counts of rows that were cut are not scaled up. `attributes` as in `DPSense`.
    """

    most: int = 10
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        positive_integer("most", self.most)

    def run(self, private: Private, workload: Workload | None) -> ColumnCounts:
        """Count. The workload has no say."""
        return column_counts(private.sampled_counts(self.attributes, most=self.most))


@dataclass(frozen=True, kw_only=True)
class PeeledItems:
    """The k most frequent items by the exponential mechanism, and their counts (Bhaskar et al., KDD
    2010).

    Other items count zero.

    Parameters
    ----------
    k
        How many.
    share
        The part of the budget that is spent on choosing them.
    attributes
        See `DPSense`.
    """

    k: int
    share: Number = "0.5"
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        positive_integer("k", self.k)
        if not 0 < exact("share", self.share) < 1:
            raise DomainError("share must be above 0 and below 1")

    def run(self, private: Private, workload: Workload | None) -> ColumnCounts:
        """Choose, then count what was chosen. The workload has no say."""
        chosen = private.select_items(self.attributes, count=self.k, spend=self.share)
        counted = private.chosen_counts(self.attributes, chosen=chosen)
        return column_counts(counted, ranking=chosen)


@dataclass(frozen=True, kw_only=True)
class FourierItems:
    """The first k coefficients of a Fourier transform of the counts, with noise (Rastogi and Nath,
    SIGMOD 2010).

    With Walsh functions in the place of sines, so that the coefficients are whole numbers. It is
    meant for counts that vary slowly from one item to the next.

    Parameters
    ----------
    k
        How many coefficients are kept.
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

    def run(self, private: Private, workload: Workload | None) -> ColumnCounts:
        """Measure coefficients, transform back. The workload has no say."""
        domain = items_of(private.domain, self.attributes)
        items = domain.sizes[0]
        longest = min(self.longest or items, items)
        grain = max(1, min(_GRAIN, (1 << 40) // longest))
        size = 1 << (items - 1).bit_length()
        first = min(self.k, size)
        noisy = private.walsh_counts(self.attributes, first=first, most=longest, grain=grain)
        noise = private.events[-1].sampler
        assert not isinstance(noise, ExponentialMechanism)
        coefficients = np.zeros(size)
        coefficients[sequency_order(size)[:first]] = noisy / grain
        counts = transform(coefficients)[:items] / size
        variance = np.full(items, first * noise.variance / grain**2 / size**2)
        return column_counts(Marginal(domain, counts, variance))
