"""`Marginal`: a table of counts over a view, with the variance of the error of each count."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._axes import in_order_of
from .._types import Floats
from .._upwards import upwards
from ..notebook import html_table
from .bounds import half_widths
from .domain import Domain, View
from .exports import to_arrow, to_json, to_pandas, to_polars, to_xarray

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

__all__ = ["Marginal"]


class Marginal:
    """A read-only table: the number of rows in each cell of a view.

    Parameters
    ----------
    domain
        The attributes in the order of the axes. With `attributes`, any domain that has these.
    counts
        The number of rows in each cell: floats of shape ``domain.sizes``, one axis for each
        attribute. Noisy counts need not be whole numbers.
    noise_variance
        The variance of each count that comes from noise, in squared rows, with the shape of
        `counts`. It is zero for true counts and NaN where it is not known. It does not include the
        gain from non-negativity.
    missed_variance
        For a marginal that was reconstructed from smaller ones, the variance of each count that
        comes from what these do not say, in squared rows, with the shape of `counts`. It is NaN
        where it is not known. None if nothing was missed: then noise is the only error.
    attributes
        The names of the axes; the names in `domain` if None.
    noise_kurtosis
        The excess kurtosis of the noise, a number or with the shape of `counts`: 3 / m if each
        count has the sum of m equal draws of Laplace noise. It is 0 for Gaussian noise, and where
        intervals take the law of the noise as normal.

    Examples
    --------
    >>> domain = Domain({"sex": ["F", "M"]})
    >>> table = Marginal(domain, np.array([12.0, 9.0]), np.array([4.0, 4.0]))
    >>> table.total
    21.0
    >>> low, high = table.interval(0.95)
    >>> low.round(1).tolist(), high.round(1).tolist()
    ([8.1, 5.1], [15.9, 12.9])
    """

    # There may be hundreds of thousands of marginals, so the restricted domain is not stored.
    __slots__ = ("_missed", "_whole", "attributes", "counts", "noise_kurtosis", "noise_variance")

    _missed: Floats | None
    _whole: Domain
    attributes: View
    counts: Floats
    noise_variance: Floats
    noise_kurtosis: Floats | float

    def __init__(
        self,
        domain: Domain,
        counts: Floats,
        noise_variance: Floats,
        *,
        missed_variance: Floats | None = None,
        attributes: View | None = None,
        noise_kurtosis: Floats | float = 0.0,
    ) -> None:
        put = object.__setattr__
        put(self, "_whole", domain)
        put(self, "attributes", domain.attributes if attributes is None else attributes)
        put(self, "counts", counts)
        put(self, "noise_variance", noise_variance)
        put(self, "_missed", missed_variance)
        put(self, "noise_kurtosis", noise_kurtosis)

    def __setattr__(
        self,
        name: str,
        value: object,
    ) -> None:
        raise AttributeError(
            f"a marginal is read-only, so {name!r} cannot be changed; make a new marginal"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.domain, self.counts, self.noise_variance, self._missed, self.noise_kurtosis)
        return _marginal, parts

    def __repr__(self) -> str:
        missed = f", missed_variance={self._missed!r}" if self.reconstructed else ""
        heavy = f", noise_kurtosis={self.noise_kurtosis!r}" if np.any(self.noise_kurtosis) else ""
        return (
            f"Marginal(domain={self.domain!r}, counts={self.counts!r}, "
            f"noise_variance={self.noise_variance!r}{missed}{heavy})"
        )

    def _repr_html_(self) -> str:
        shown = " x ".join(self.attributes)
        how = "reconstructed from smaller tables" if self.reconstructed else "measured"
        heading = f"{shown}: {self.counts.size:,} counts, {how}; low and high hold 95 %"
        return html_table(heading, self.to_pandas())

    @property
    def reconstructed(self) -> bool:
        """Whether the counts were reconstructed from marginals on fewer attributes."""
        return self._missed is not None

    @property
    def missed_variance(self) -> Floats:
        """The variance of each count that comes from what a reconstruction misses, in squared rows.

        It is zero if nothing was reconstructed, and NaN where it is not known.
        """
        return np.zeros_like(self.noise_variance) if self._missed is None else self._missed

    @property
    def variance(self) -> Floats:
        """The variance of each count, in squared rows: `noise_variance` plus `missed_variance`."""
        return self.noise_variance if self._missed is None else self.noise_variance + self._missed

    @property
    def domain(self) -> Domain:
        """The domain of the marginal's attributes, in the order of the axes."""
        return self._whole.restrict(self.attributes, checked=True)

    @property
    def total(self) -> float:
        """The sum of the counts."""
        return float(self.counts.sum())

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Intervals for the true counts.

        An interval is the count plus and minus a quantile times the standard deviation of its
        error, with negative bounds set to 0. The error of a count that a published view covers is
        noise, whose law is known. The quantile is that of this law, from the Laplace law for a
        single draw of Laplace noise to the normal law for Gaussian noise and sums of many draws. A
        reconstructed count also misses what no published view says (`missed_variance`). That part
        is estimated: its size is learnt from the published views, and the level then holds on
        average over many marginals, not for each one. Reconstructed counts near zero have shorter
        intervals than their variance says, because true counts are not negative; see
        `margin.domain.bounds.half_widths`. The bounds are NaN where the variance is not known.

        Parameters
        ----------
        level
            The probability that an interval contains the true count, > 0 and < 1.

        Returns
        -------
        low, high
            The bounds, in rows, each of the shape of `counts`.

        Raises
        ------
        DomainError
            When `level` is not > 0 and < 1.
        """
        half = half_widths(
            self.counts,
            self.noise_variance,
            self.missed_variance,
            level=level,
            kurtosis=self.noise_kurtosis,
        )
        low = np.maximum(self.counts - half, 0.0)
        high = np.maximum(self.counts + half, 0.0)
        return low, high

    def project(self, view: Iterable[str]) -> "Marginal":
        """Sum the counts over all attributes that are not in `view`.

        The axes of the result have the order of `view`.

        Its variance is NaN unless the counts are exact, because the noise of a release's cells is
        not independent. To know the variance, ask the synopsis for the smaller marginal.
        """
        kept = self.domain.axes(view)
        dropped = tuple(axis for axis in range(len(self.domain)) if axis not in kept)
        counts = in_order_of(self.counts.sum(axis=dropped), kept)
        variance = np.full(counts.shape, np.nan if self.variance.any() else 0.0)
        missed = variance if self.reconstructed else None
        return Marginal(self.domain.restrict(view), counts, variance, missed_variance=missed)

    def to_pandas(self) -> "pandas.DataFrame":
        """A `pandas.DataFrame` with the columns count, sd, low and high, indexed by the categories;
        see `margin.domain.exports.to_pandas`."""
        return to_pandas(self)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table` with one row for each cell; see `margin.domain.exports.to_arrow`."""
        return to_arrow(self)

    def to_polars(self) -> Any:
        """A `polars.DataFrame`, one row for each cell; see `margin.domain.exports.to_polars`."""
        return to_polars(self)

    def to_xarray(self) -> Any:
        """An `xarray.Dataset`; see `margin.domain.exports.to_xarray`."""
        return to_xarray(self)

    def to_json(self) -> str:
        """A JSON text with the categories, the counts and the standard deviations of the noise; see
        `margin.domain.exports.to_json`."""
        return to_json(self)

    def plot(
        self,
        *,
        level: float = 0.95,
        axes: "Axes | None" = None,
    ) -> "Axes":
        """A plot of the counts with their confidence intervals; see
        `margin.plots.results.plot_marginal`."""
        drawn: Axes = upwards("plot_marginal")(
            self,
            level=level,
            axes=axes,
        )
        return drawn


def _marginal(
    domain: Domain,
    counts: Floats,
    noise_variance: Floats,
    missed_variance: Floats | None,
    noise_kurtosis: Floats | float = 0.0,
) -> Marginal:
    """A marginal from what `Marginal.__reduce__` gives."""
    return Marginal(
        domain,
        counts,
        noise_variance,
        missed_variance=missed_variance,
        noise_kurtosis=noise_kurtosis,
    )
