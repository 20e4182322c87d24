"""`Count`, `Difference` and `Ratio`: numbers of rows, and what is computed from them."""

import math
from dataclasses import dataclass, field
from typing import Protocol

from ...domain.bounds import LAPLACE_KURTOSIS, bounds_around, half_widths
from ...domain.where import Chosen
from ...errors import DomainError
from ..source import Source

__all__ = ["Asked", "Count", "Difference", "Mean", "Ratio", "is_too_uncertain"]

_MOST_G = 0.05
"""Largest g of Fieller's theorem, (z s / d)^2 for a denominator d of standard deviation s, up to
which the delta method is near Fieller's interval (Finney, Statistical Method in Biological Assay,
1978)."""

_MANY = 1e6
"""Standard deviation, in rows, beside which a single row does not matter."""

_Z = 1.96
"""The quantile in g, for intervals of 95 %."""


class Asks(Protocol):
    """What answers numbers of rows: a synopsis."""

    def less(self, one: "Asked", other: "Asked") -> "Difference":
        """The difference of two numbers that it answered."""

    def is_same_release(self, other: "Asks") -> bool:
        """Whether both hold the noise of the same release."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Asked:
    """How a number follows from numbers of rows of one synopsis: the question behind it.

    Attributes
    ----------
    synopsis
        What answered it.
    estimate
        The number.
    codes
        The codes that each of the n numbers of rows selects.
    weights
        The derivative of the number by each of the n numbers of rows: exact for counts and their
        differences, and the delta method for ratios.
    is_ratio
        Whether it is a ratio, a mean, or a difference of such numbers, and no number of rows.
    is_uncertain
        Whether a denominator is too uncertain for the delta method.
    """

    synopsis: Asks
    estimate: float
    codes: tuple[Chosen, ...]
    weights: tuple[float, ...]
    is_ratio: bool = False
    is_uncertain: bool = False


@dataclass(
    frozen=True,
    kw_only=True,
)
class Count:
    """The estimated number of rows that satisfy a condition.

    Attributes
    ----------
    estimate
        The number of rows; it need not be whole.
    noise_variance
        The variance of its error that comes from noise, in squared rows; NaN where it is not known.
        It does not include the gain from non-negativity.
    missed_variance
        The variance of its error that comes from what a reconstruction misses, in squared rows: 0
        if nothing was reconstructed, NaN where it is not known.
    reconstructed
        Whether noise is not the only error: the number was reconstructed from tables on fewer
        attributes, or approximated in another way.
    noise_kurtosis
        The excess kurtosis of the noise; see `Marginal`.
    source
        How the release made the number, in the words of `Source`. If several numbers are combined,
        it is that of one that may be far off, or `BASED` if all are measured and one is combined
        with the base; otherwise None.
    asked
        The question behind the number; None for a number that no synopsis answered. Two numbers of
        one release can be subtracted, as in ``synopsis.ratio(...) - synopsis.ratio(...)``: the
        result is a `Difference`, whose variances allow for the errors that both share.

    Examples
    --------
    >>> count = Count(estimate=120.0, noise_variance=9.0, missed_variance=16.0, reconstructed=True)
    >>> low, high = count.interval(0.95)
    >>> round(low, 1), round(high, 1)
    (110.2, 129.8)
    >>> print(count)
    120 (reconstructed, 95 %: 110.2 to 129.8)
    """

    estimate: float
    noise_variance: float
    missed_variance: float = 0.0
    reconstructed: bool = False
    noise_kurtosis: float = 0.0
    source: Source | None = field(
        default=None,
        compare=False,
    )
    asked: Asked | None = field(
        default=None,
        compare=False,
        repr=False,
    )

    def __sub__(self, other: object) -> "Difference":
        """This number less another one of the same release; see `Difference.within_release`."""
        if not isinstance(other, Count):
            return NotImplemented
        return Difference.within_release(self, other)

    def __str__(self) -> str:
        low, high = self.interval(0.95)
        about = Source.beside(self.source, reconstructed=self.reconstructed)
        bounds = "error not known" if math.isnan(low) else f"95 %: {low:,.6g} to {high:,.6g}"
        return f"{self.estimate:,.6g} ({', '.join(filter(None, [about, bounds]))})"

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"

    @property
    def variance(self) -> float:
        """The variance of the error: `noise_variance` plus `missed_variance`."""
        return self.noise_variance + self.missed_variance

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval for the truth: the estimate plus and minus a quantile times the standard
        deviation of its error.

        The law of noise is known, and so is its quantile; see `Marginal.interval`. What a
        reconstruction misses is estimated: its size is learnt from the measured tables, so that
        the level holds on average over many reconstructed answers, not for each one. A
        reconstructed number near zero has a shorter interval than its variance says, because it
        cannot be negative; see `margin.domain.bounds.half_widths`. The bounds are NaN where the
        variance is not known.

        Parameters
        ----------
        level
            The probability that an interval contains the truth, > 0 and < 1.

        Returns
        -------
        low, high
            The bounds. Negative bounds of numbers of rows and of ratios are set to 0, or to the
            estimate where it is negative, so that an interval holds its estimate.

        Raises
        ------
        DomainError
            When `level` is not > 0 and < 1.
        """
        half = half_widths(
            self.estimate,
            self.noise_variance,
            self.missed_variance,
            level=level,
            kurtosis=self.noise_kurtosis,
        )
        low, high = bounds_around(self.estimate, half)
        return float(low), float(high)


@dataclass(
    frozen=True,
    kw_only=True,
)
class Difference(Count):
    """The difference of two estimated numbers of rows, or of two ratios; it may be negative.

    The attributes are those of `Count`, and one more. The variances allow for the errors that the
    two numbers share.

    Attributes
    ----------
    is_whole
        Whether the true difference is a whole number, as that of two numbers of rows is.
    """

    is_whole: bool = True

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval for the true difference; see `Count.interval`."""
        half_width = _half_width if self.is_whole else _half_width_of_ratio
        half = half_width(self.variance, level, self.noise_kurtosis)
        return self.estimate - half, self.estimate + half

    @classmethod
    def within_release(cls, one: Count, other: Count) -> "Difference":
        """One number less another one of the same release, as ``one - other``.

        The variances allow for the covariances of all numbers of rows behind the two. Those of
        ratios are of the delta method: the derivatives of n1 / d1 - n2 / d2 are 1 / d1,
        -n1 / d1 ** 2, -1 / d2 and n2 / d2 ** 2.

        Parameters
        ----------
        one, other
            Two counts, two ratios, or differences of either, that one release answered. The
            variances of a difference of ratios are not known (NaN) if a denominator is too
            uncertain for the delta method.

        Raises
        ------
        DomainError
            If the numbers are not of one release, or if one is a ratio and the other is not.

        Examples
        --------
        >>> import margin
        >>> from margin.datasets import people, people_domain
        >>> synopsis = margin.simulate(
        ...     people(), domain=people_domain(), budget=margin.PureDP(1), seed=1
        ... ).synopsis
        >>> smokers = [
        ...     synopsis.ratio({"smoker": "yes", "sex": sex}, {"sex": sex})
        ...     for sex in ("male", "female")
        ... ]
        >>> difference = smokers[0] - smokers[1]
        >>> difference.estimate == smokers[0].estimate - smokers[1].estimate
        True
        """
        if one.asked is None or other.asked is None:
            raise DomainError(
                "a difference needs two answers of a synopsis, but one of the numbers was made "
                "without one; subtract what count, ratio and difference of a synopsis return"
            )
        if one.asked.is_ratio != other.asked.is_ratio:
            raise DomainError(
                "a difference needs two counts or two ratios, but one number is a ratio and the "
                "other one is a number of rows; ask for both in the same way"
            )
        if not one.asked.synopsis.is_same_release(other.asked.synopsis):
            raise DomainError(
                "numbers that are subtracted must be of one release, but these are of two; for the "
                "change from one release to another use Difference.between_releases(earlier, later)"
            )
        return one.asked.synopsis.less(one.asked, other.asked)

    @classmethod
    def between_releases(cls, earlier: Count, later: Count) -> "Difference":
        """The change from a number of one release to a number of another one.

        The noise of two releases is independent, so the variances add up; so do fourth cumulants.
        A number that is no measurement alone has errors that both releases may share: what
        reconstructions miss, or the noise of a base.

        Parameters
        ----------
        earlier, later
            Two counts or two ratios, of two releases without a base. The variance of the change of
            a ratio is not known if a denominator is too uncertain for the delta method.

        Raises
        ------
        DomainError
            If one of the numbers was reconstructed, or combined with a base; or if both are of the
            same release.

        Examples
        --------
        >>> earlier, later = (Count(estimate=e, noise_variance=8.0) for e in (120.0, 150.0))
        >>> Difference.between_releases(earlier, later).estimate
        30.0
        """
        both = [one.asked for one in (earlier, later) if one.asked is not None]
        if len(both) > 1 and both[0].synopsis.is_same_release(both[1].synopsis):
            raise DomainError(
                "a change needs numbers of two releases, whose noise is independent, but both are "
                "of the same release, so that their errors are related; subtract them instead: "
                "later - earlier allows for that"
            )
        if earlier.reconstructed or later.reconstructed:
            raise DomainError(
                "both numbers of a change must be measured, but one was reconstructed, or combined "
                "with a base: its error is not independent of the other's; ask for attributes that "
                "both releases measured together, or release without a base"
            )
        variances = [one.noise_variance for one in (earlier, later)]
        kurtoses = [one.noise_kurtosis for one in (earlier, later)]
        variance = sum(variances)
        if any(isinstance(one, Ratio) and one.is_uncertain for one in (earlier, later)):
            variance = math.nan
        fourth = sum(k * v**2 for k, v in zip(kurtoses, variances, strict=True))
        return cls(
            estimate=later.estimate - earlier.estimate,
            noise_variance=variance,
            noise_kurtosis=min(LAPLACE_KURTOSIS, fourth / variance**2) if variance > 0 else 0.0,
            is_whole=_is_whole(later),
        )


@dataclass(
    frozen=True,
    kw_only=True,
)
class Mean(Difference):
    """The estimated mean of numbers that are stated for categories, over the rows in these.

    The attributes are those of `Count`, in the unit of the numbers. The variances are those of the
    delta method: the derivative of the mean m by the count of a category with the number w is
    (w - m) / n for n rows. They are for the noise, and not for what the stated number of a bin
    departs from the values in it.
    """


@dataclass(
    frozen=True,
    kw_only=True,
)
class Ratio(Count):
    """The ratio of two estimated numbers of rows: a share, or odds.

    The variances are those of the delta method: (v11 - 2 r v12 + r ** 2 v22) / d ** 2 for the ratio
    r, the denominator d and the covariance v of the two numbers. The interval does not use them.

    Attributes
    ----------
    estimate
        The ratio; NaN if the denominator is not positive.
    noise_variance, missed_variance, reconstructed
        See `Count`; without unit.
    numerator, denominator
        The two numbers of rows.
    covariance
        The covariance of their errors, in squared rows; NaN where it is not known.
    share
        Whether all rows of the numerator belong to the denominator, so that the ratio is at most 1.
    """

    numerator: Count
    denominator: Count
    covariance: float
    share: bool = False

    @property
    def is_uncertain(self) -> bool:
        """Whether the denominator is too uncertain for the delta method, so that the variances are
        not those of a nearly normal error."""
        bottom = self.denominator
        return is_too_uncertain(bottom.estimate, bottom.variance)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval for the true ratio by Fieller's theorem.

        A ratio r is inside if the two numbers n and d are such that n - r d is within a quantile z
        times its standard deviation: (n - r d) ** 2 <= z ** 2 (v11 - 2 r v12 + r ** 2 v22). The
        quantile is that of the law of n - r d for the estimated ratio. If both errors are normal,
        the level is exact also for small denominators, where the delta method on the ratio or on
        its logarithm is not. The upper bound is infinite, or 1 for a share, if the denominator may
        be zero. For the other properties see `Count.interval`.
        """
        top, bottom = self.numerator, self.denominator
        square = self._deviations(level) ** 2
        # r is inside if a r ** 2 - 2 b r + c <= 0.
        a = bottom.estimate**2 - square * bottom.variance
        b = top.estimate * bottom.estimate - square * self.covariance
        c = top.estimate**2 - square * top.variance
        if math.isnan(a + b + c):
            return math.nan, math.nan
        low, high = _inside(a, b, c)
        most = 1.0 if self.share else math.inf
        # Where negative counts were left, a ratio may be negative, and a share above 1.
        return min(low, most, self.estimate), max(min(high, most), self.estimate)

    def _deviations(self, level: float) -> float:
        """The number of standard deviations of n - r d within which r is inside, for r near the
        estimate."""
        variance = self.variance * self.denominator.estimate**2
        half = _half_width(variance, level, self.noise_kurtosis)
        if not variance > 0:
            return _half_width(1.0, level, 0.0)
        return half / math.sqrt(variance)


def _is_whole(number: Count) -> bool:
    """Whether the true number is a whole number."""
    if isinstance(number, Difference):
        return number.is_whole
    return not isinstance(number, Ratio)


def is_too_uncertain(denominator: float, variance: float) -> bool:
    """Whether a denominator is too uncertain for the delta method."""
    return not _Z**2 * variance <= _MOST_G * denominator**2


def _inside(
    a: float,
    b: float,
    c: float,
) -> tuple[float, float]:
    """The smallest interval of numbers r >= 0 that holds all with a r ** 2 - 2 b r + c <= 0."""
    root = math.sqrt(max(b * b - a * c, 0.0))
    if a > 0:
        return _at_least_zero((b - root) / a), _at_least_zero((b + root) / a)
    # All large ratios are inside. The smaller bound is the positive root, if zero is outside.
    if c <= 0:
        return 0.0, math.inf
    # a r ** 2 - 2 b r + c = 0 as r = c / (b + root), which also holds for a = 0.
    return (c / (b + root) if b + root > 0 else 0.0), math.inf


def _half_width(
    variance: float,
    level: float,
    kurtosis: float,
) -> float:
    """Half the width of an interval for a number that may be negative."""
    return float(half_widths(0.0, variance, 0.0, level=level, kurtosis=kurtosis))


def _half_width_of_ratio(
    variance: float,
    level: float,
    kurtosis: float,
) -> float:
    """Half the width of an interval for a number that is not whole, in its own unit.

    That of numbers of rows allows for steps of a whole row. For a very large variance they do not
    matter, and the half-width is in proportion to the standard deviation.
    """
    deviations = _half_width(_MANY**2, level, kurtosis) / _MANY
    return deviations * math.sqrt(variance)


def _at_least_zero(bound: float) -> float:
    """The bound, or 0 if it is negative; NaN stays."""
    return 0.0 if bound < 0 else bound
