"""`Marginal`: a table of counts over a view, with the variance of the error of each count."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._axes import in_order_of
from .._types import Floats
from .._upwards import upwards
from ..notebook import html_table
from .bounds import bounds_around, half_widths
from .domain import Domain, View
from .exports import to_arrow, to_json, to_pandas, to_polars, to_xarray

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from ..synopses.source import Source

__all__ = ["Marginal"]

_MOST_LINES = 10
"""Largest number of cells that `str` shows. Of more, the first and the last are shown."""


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
        where it is not known, as for counts that were approximated in another way. None if nothing
        was missed: then noise is the only error.
    attributes
        The names of the axes; the names in `domain` if None.
    noise_kurtosis
        The excess kurtosis of the noise, a number or with the shape of `counts`: 3 / m if each
        count has the sum of m equal draws of Laplace noise. It is 0 for Gaussian noise, and where
        intervals take the law of the noise as normal.
    source
        How a release made the counts, a `margin.synopses.source.Source`, or a function that gives
        it for the names of the axes; None for other tables.
    answer
        The table whose intervals this one has, if its counts are those of another table that were
        changed, such as rounded to whole numbers; None for intervals around `counts`.

    Examples
    --------
    >>> domain = Domain({"sex": ["F", "M"]})
    >>> table = Marginal(domain, np.array([12.0, 9.0]), np.array([4.0, 4.0]))
    >>> table
    <Marginal: sex, 2 cells, total 21>
    >>> table.total
    21.0
    >>> low, high = table.interval(0.95)
    >>> low.round(1).tolist(), high.round(1).tolist()
    ([8.1, 5.1], [15.9, 12.9])
    """

    # There may be hundreds of thousands of marginals, so the restricted domain is not stored.
    __slots__ = (
        "_answer",
        "_missed",
        "_source",
        "_whole",
        "attributes",
        "counts",
        "noise_kurtosis",
        "noise_variance",
    )

    _answer: "Marginal | None"
    _missed: Floats | None
    _source: "Source | Callable[[View], Source] | None"
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
        source: "Source | Callable[[View], Source] | None" = None,
        answer: "Marginal | None" = None,
    ) -> None:
        put = object.__setattr__
        put(self, "_whole", domain)
        put(self, "attributes", domain.attributes if attributes is None else attributes)
        put(self, "counts", counts)
        put(self, "noise_variance", noise_variance)
        put(self, "_missed", missed_variance)
        put(self, "noise_kurtosis", noise_kurtosis)
        put(self, "_source", source)
        put(self, "_answer", answer)

    def __setattr__(
        self,
        name: str,
        value: object,
    ) -> None:
        raise AttributeError(
            f"a marginal is read-only, so {name!r} cannot be changed; make a new marginal"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (
            self.domain,
            self.counts,
            self.noise_variance,
            self._missed,
            self.noise_kurtosis,
            self.source,
            self._answer,
        )
        return _marginal, parts

    def __repr__(self) -> str:
        shape = " x ".join(f"{size:,}" for size in self.counts.shape)
        cells = f"{shape} = {self.counts.size:,}" if self.counts.ndim > 1 else shape
        how = f"; {self._how}" if self._how else ""
        names = " x ".join(self.attributes)
        return f"<Marginal: {names}, {cells} cells, total {self.total:,.6g}{how}>"

    def __str__(self) -> str:
        table = self.to_pandas().to_string(max_rows=_MOST_LINES, float_format="{:,.6g}".format)
        return f"{table}\n{self!r}"

    def _repr_html_(self) -> str:
        shown = " x ".join(self.attributes)
        how = f", {self._how}" if self._how else ""
        bounds = "; low and high hold 95 %"
        if np.isnan(self.variance).all():
            bounds = "; their error is not known"
        elif self.source is not None and self.source.may_be_far_off:
            how, bounds = "", f". {self.source.words}"
        heading = f"{shown}: {self.counts.size:,} counts{how}{bounds}"
        return html_table(heading, self.to_pandas())

    @property
    def source(self) -> "Source | None":
        """How a release made the counts, a `margin.synopses.source.Source`; None for other tables.

        Its `words` say what the bounds mean.
        """
        return self._source(self.attributes) if callable(self._source) else self._source

    @property
    def _how(self) -> str:
        """How the counts were made, in a few words; empty if it is not known."""
        if self.source is not None:
            return self.source.brief
        return "reconstructed from smaller tables" if self.reconstructed else ""

    def answered_by(self, source: "Callable[[View], Source]") -> "Marginal":
        """The same table as the answer of a release, which knows the `source` of its views."""
        return Marginal(
            self._whole,
            self.counts,
            self.noise_variance,
            missed_variance=self._missed,
            attributes=self.attributes,
            noise_kurtosis=self.noise_kurtosis,
            source=source,
            answer=self._answer,
        )

    @property
    def reconstructed(self) -> bool:
        """Whether noise is not the only error: the counts were reconstructed from smaller
        marginals, or approximated in another way."""
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
        error, with negative bounds set to 0. A negative count, which some mechanisms leave, is the
        low bound itself. The error of a count that a measured view covers is noise, whose law is
        known. The quantile is that of this law, from the Laplace law for a
        single draw of Laplace noise to the normal law for Gaussian noise and sums of many draws. A
        reconstructed count also misses what no measured view says (`missed_variance`). That part
        is estimated: its size is learnt from the measured views, and the level then holds on
        average over many marginals, not for each one. Reconstructed counts near zero have shorter
        intervals than their variance says, because true counts are not negative, but these leave
        room for a few whole rows; see `margin.domain.bounds.half_widths`. The bounds are NaN where
        the variance is not known.

        The tables of `Synopsis.tables` have the intervals of the separate answers: these bound the
        true counts, whatever was rounded afterwards. An interval is widened to hold the count if
        agreement moved it further.

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
        if self._answer is not None:
            low, high = self._answer.interval(level)
            return np.minimum(low, self.counts), np.maximum(high, self.counts)
        half = half_widths(
            self.counts,
            self.noise_variance,
            self.missed_variance,
            level=level,
            kurtosis=self.noise_kurtosis,
        )
        return bounds_around(self.counts, half)

    def moved_out(self, level: float = 0.95) -> int:
        """The number of counts that agreement moved out of the intervals of the answer that they
        were made from, by more than the one row that rounding may take.

        It is 0 for marginals that were not made by `Synopsis.tables`.
        """
        if self._answer is None:
            return 0
        low, high = self._answer.interval(level)
        return int(np.sum((self.counts < low - 1) | (self.counts > high + 1)))

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
        domain = self.domain.restrict(view)
        return Marginal(domain, counts, variance, missed_variance=missed, source=self.source)

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
        if self.source is not None and self.source.may_be_far_off:
            drawn.title.set_text(f"{self.source.brief.capitalize()}\n{drawn.get_title()}")
        return drawn


def _marginal(
    domain: Domain,
    counts: Floats,
    noise_variance: Floats,
    missed_variance: Floats | None,
    noise_kurtosis: Floats | float = 0.0,
    source: "Source | None" = None,
    answer: Marginal | None = None,
) -> Marginal:
    """A marginal from what `Marginal.__reduce__` gives."""
    return Marginal(
        domain,
        counts,
        noise_variance,
        missed_variance=missed_variance,
        noise_kurtosis=noise_kurtosis,
        source=source,
        answer=answer,
    )
