"""`Marginal`: a table of counts over a view, with the variance of the noise in each."""

from collections.abc import Iterable
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Floats
from .._upwards import upwards
from ..errors import DomainError
from .domain import Domain, View
from .exports import to_arrow, to_json, to_pandas, to_polars, to_xarray

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

__all__ = ["Marginal"]


class Marginal:
    """Counts of rows by the attributes of a view; read only.

    Parameters
    ----------
    domain
        The attributes, in the order of the axes; or, with `attributes`, any domain that has these.
    counts
        One axis an attribute, float array of shape ``domain.sizes``. Noisy counts need not be
        whole.
    variance
        The variance of the *noise part* of each count's error, of the same shape: zero for true
        counts, NaN where it is not known. What a reconstruction assumes of the data beyond the
        published views is not in it, nor is the gain from non-negativity.
    attributes
        The names of the axes; None takes those of `domain`.
    """

    # There may be hundreds of thousands of these: what can be made when asked for is not kept.
    __slots__ = ("_whole", "attributes", "counts", "variance")

    _whole: Domain
    attributes: View
    counts: Floats
    variance: Floats

    def __init__(
        self, domain: Domain, counts: Floats, variance: Floats, *, attributes: View | None = None
    ) -> None:
        put = object.__setattr__
        put(self, "_whole", domain)
        put(self, "attributes", domain.attributes if attributes is None else attributes)
        put(self, "counts", counts)
        put(self, "variance", variance)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a marginal is read only; make another to change its {name}")

    def __reduce__(self) -> tuple[type["Marginal"], tuple[Domain, Floats, Floats]]:
        return Marginal, (self.domain, self.counts, self.variance)

    def __repr__(self) -> str:
        return (
            f"Marginal(domain={self.domain!r}, counts={self.counts!r}, variance={self.variance!r})"
        )

    @property
    def domain(self) -> Domain:
        """The attributes, in the order of the axes."""
        return self._whole.restrict(self.attributes, checked=True)

    @property
    def total(self) -> float:
        """The sum of the counts."""
        return float(self.counts.sum())

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Bounds between which each count would lie, with this probability, without the noise.

        They speak of the *noise part* of the error only: the count itself plus and minus a normal
        quantile times the noise's standard deviation, cut off at zero. A count that no view covers
        has a further error, that of the reconstruction, which is not in them. NaN where the
        variance is not known.

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

        The noise of a release's cells is not independent, so the variance of their sums is NaN
        unless they are exact; ask the synopsis for the smaller marginal to know it.
        """
        kept = self.domain.axes(view)
        dropped = tuple(axis for axis in range(len(self.domain)) if axis not in kept)
        counts = self.counts.sum(axis=dropped).transpose(np.argsort(np.argsort(kept)))
        return Marginal(
            self.domain.restrict(view),
            counts,
            np.full(counts.shape, np.nan if self.variance.any() else 0.0),
        )

    def to_pandas(self) -> "pandas.Series[float]":
        """The counts as a series named "count", indexed by the categories of the attributes."""
        return to_pandas(self)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`, one row a cell; see `margin.domain.exports.to_arrow`."""
        return to_arrow(self)

    def to_polars(self) -> Any:
        """A `polars.DataFrame`, one row a cell; see `margin.domain.exports.to_polars`."""
        return to_polars(self)

    def to_xarray(self) -> Any:
        """An `xarray.Dataset`; see `margin.domain.exports.to_xarray`."""
        return to_xarray(self)

    def to_json(self) -> str:
        """JSON with categories, counts and the noise's deviations; see
        `margin.domain.exports.to_json`."""
        return to_json(self)

    def plot(self, *, level: float = 0.95, axes: "Axes | None" = None) -> "Axes":
        """A picture, with the intervals of this level; see `margin.plots.results.plot_marginal`."""
        drawn: Axes = upwards("plot_marginal")(self, level=level, axes=axes)
        return drawn
