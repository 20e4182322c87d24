"""`Quantile`: the categories of an attribute that may hold a quantile of its rows."""

import html
from dataclasses import dataclass

from ...domain.attribute import Value
from ...errors import DomainError
from ..source import Source
from .count import Difference

__all__ = ["Quantile"]

_ROUNDING = 1e-6
"""Rows by which a bound may lie beyond 0 because of rounding errors of floats."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Quantile:
    """The estimated quantile of an attribute with ordered categories, with bounds.

    The p-quantile of rows is a value x such that the share of the rows below x is at most p, and
    that of the rows up to x at least p. Only rows of categories in the order count: those of
    `other` and `missing` belong to no share. Counts of categories tell the category that holds a
    quantile, and not where in it the quantile lies.

    Attributes
    ----------
    attribute
        The attribute, or a level of it.
    share
        p: the share of the rows below the quantile, 0.5 for the median.
    categories
        The K categories of the rows in ascending order, with the names that they have in tables.
    edges
        The lower and the upper edge of each category; None if they are no bins.
    excess
        For each of the K - 1 limits between two categories: the number of rows below it, less
        `share` times all rows. It is negative at limits below the quantile.
    rows
        The estimated number of all these rows.

    Examples
    --------
    >>> import margin
    >>> rows = {"age": [9] * 300 + [40] * 500 + [70] * 200}
    >>> domain = {"age": {"bins": [0, 18, 65, 100]}}
    >>> made = margin.release(rows, domain=domain, budget=margin.PureDP(10))
    >>> print(made.quantile("age"))
    18 to under 65 (95 %: 18 to 65)
    """

    attribute: str
    share: float
    categories: tuple[Value, ...]
    edges: tuple[tuple[float, float], ...] | None
    excess: tuple[Difference, ...]
    rows: float

    @property
    def estimate(self) -> Value | None:
        """The first category up to which at least `share` of the rows lie by the estimates; None if
        the estimated number of rows is not positive."""
        if not self.rows > 0:
            return None
        reached = (place for place, one in enumerate(self.excess) if one.estimate >= 0)
        return self.categories[next(reached, len(self.excess))]

    def between(self, level: float = 0.95) -> tuple[Value, ...]:
        """The categories that may hold the quantile: neighbours in the order.

        **Theorem.** With a probability of at least `level`, they hold every p-quantile, if the
        interval of each single excess misses its truth with a probability of at most (1 - level) /
        2 on each side. If there are no rows, there is no quantile.

        *Proof.* Let n(j) be the true number of rows up to limit j, n that of all rows, and t(j) =
        n(j) - p n. Let the quantiles x lie in the categories b to c. Then t(b) >= 0, since at least
        p n rows are up to the x in b; and t(c - 1) <= 0, since at most p n rows are below the x in
        c. The limits at the two ends of the order need no test.

        The categories are cut from below as long as the interval of t(1), t(2), ... lies below 0,
        until the first that does not. Category b is cut only if the interval of t(b) lies below 0,
        so below t(b): whatever the other intervals are. They are cut from above as long as the
        interval of t(K - 1), t(K - 2), ... lies above 0. Category c is cut only if the interval of
        t(c - 1) lies above 0, so above t(c - 1). These are two events of probability (1 - level) /
        2 each. Many limits are compared with 0, but only two of them can be wrong about b and c, so
        no allowance for many tests is needed.

        An interval cannot lie on both sides of 0, so at least one category is left.

        As for `Count.interval`, the level of an interval holds for noise; what a reconstruction
        misses is estimated. A limit whose error is not known cuts nothing.

        Parameters
        ----------
        level
            The probability, > 0 and < 1.
        """
        first, last = self._kept(level)
        return self.categories[first:last]

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The lower edge of the first bin that may hold the quantile, and the upper edge of the
        last one; see `between`.

        Raises
        ------
        DomainError
            If the categories are no bins.
        """
        if self.edges is None:
            raise DomainError(
                f"the bounds of a quantile of {self.attribute!r} need bins, but its categories "
                "have no edges; take between(level), which has the categories"
            )
        first, last = self._kept(level)
        return self.edges[first][0], self.edges[last - 1][1]

    def _kept(self, level: float) -> tuple[int, int]:
        """The first category that may hold the quantile, and the one after the last."""
        intervals = [one.interval(level) for one in self.excess]
        first, last = 0, len(self.categories)
        while first < len(intervals) and intervals[first][1] < -_ROUNDING:
            first += 1
        while last > 1 and intervals[last - 2][0] > _ROUNDING:
            last -= 1
        return first, last

    @property
    def reconstructed(self) -> bool:
        """Whether noise is not the only error; see `Count`."""
        return any(one.reconstructed for one in self.excess)

    @property
    def source(self) -> Source | None:
        """The source of the numbers behind it that says most of their errors; see `Count`."""
        return next((one.source for one in self.excess if one.source is not None), None)

    def __str__(self) -> str:
        kept = self.between()
        bounds = f"{kept[0]} to {kept[-1]}" if len(kept) > 1 else f"{kept[0]}"
        if self.edges is not None:
            low, high = self.interval()
            bounds = f"{low:g} to {high:g}"
        about = Source.beside(self.source, reconstructed=self.reconstructed)
        return f"{self.estimate} ({', '.join(filter(None, [about, f'95 %: {bounds}']))})"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self))}</p>"
