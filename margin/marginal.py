"""`Marginal`: a table of counts over a view, with the variance of the noise in each."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .domain import Domain, View
from .errors import DomainError

if TYPE_CHECKING:
    import pandas

__all__ = ["Marginal"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Marginal:
    """Counts of rows by the attributes of a view.

    Attributes
    ----------
    domain
        The attributes, in the order of the axes.
    counts
        One axis an attribute, float array of shape ``domain.sizes``. Noisy counts need not be whole.
    variance
        The variance of the *noise part* of each count's error, of the same shape: zero for true counts, NaN where it is
        not known. What a reconstruction assumes of the data beyond the published views is not in it, nor is the gain
        from non-negativity.
    """

    domain: Domain
    counts: Floats
    variance: Floats

    @property
    def attributes(self) -> View:
        """The names of the axes."""
        return self.domain.attributes

    @property
    def total(self) -> float:
        """The sum of the counts."""
        return float(self.counts.sum())

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Bounds between which each count would lie, with this probability, without the noise.

        They speak of the *noise part* of the error only: the count itself plus and minus a normal quantile times the
        noise's standard deviation, cut off at zero. A count that no view covers has a further error, that of the
        reconstruction, which is not in them. NaN where the variance is not known.

        Parameters
        ----------
        level
            The probability, between 0 and 1.

        Returns
        -------
        low, high
            Each of the shape of `counts`.

        Raises
        ------
        DomainError
            When the level is not between 0 and 1.
        """
        if not 0 < level < 1:
            raise DomainError(f"level ({level}) must lie between 0 and 1")
        half = NormalDist().inv_cdf((1 + level) / 2) * np.sqrt(self.variance)
        return np.maximum(self.counts - half, 0.0), np.maximum(self.counts + half, 0.0)

    def project(self, view: Iterable[str]) -> "Marginal":
        """The marginal on some of the attributes, in the given order.

        The noise of a release's cells is not independent, so the variance of their sums is NaN unless they are exact;
        ask the synopsis for the smaller marginal to know it.
        """
        kept = self.domain.axes(view)
        dropped = tuple(axis for axis in range(len(self.domain)) if axis not in kept)
        counts = self.counts.sum(axis=dropped).transpose(np.argsort(np.argsort(kept)))
        return Marginal(
            self.domain.restrict(view), counts, np.full(counts.shape, np.nan if self.variance.any() else 0.0)
        )

    def to_pandas(self) -> "pandas.Series[float]":
        """The counts as a series named "count", indexed by the categories of the attributes."""
        import pandas

        levels = [attribute.labels for attribute in self.domain.values()]
        index = pandas.MultiIndex.from_product(levels, names=self.attributes)
        flat = index if len(levels) > 1 else index.get_level_values(0)
        return pandas.Series(self.counts.ravel(), index=flat, name="count")
