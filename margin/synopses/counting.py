"""`Counting`: the questions about sums of cells that every synopsis answers."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._names import explains_calls
from .._numbers import shown
from .._types import Flags, Floats, Integers
from .._upwards import upwards
from ..domain.attribute import Attribute
from ..domain.bounds import LAPLACE_KURTOSIS
from ..domain.domain import Domain
from ..domain.level_views import attribute_at
from ..domain.marginal import Marginal
from ..domain.order import codes_in_order
from ..domain.where import Chosen, chosen_codes
from ..errors import DomainError
from ..solvers import (
    ComponentErrors,
    LinkedErrors,
    Tables,
    WeightedSum,
    covered_covariance,
    errors_of_components,
)
from .count import Asked, Asks, Count, Difference, Mean, Ratio, is_too_uncertain
from .quantile import Quantile
from .source import Source

__all__ = ["Counting", "Sums", "box", "certain", "common", "covered_sums", "weights_on"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Sums:
    """A working record: q numbers of rows with the covariances of their errors.

    Attributes
    ----------
    estimates
        The numbers of rows, shape (q,).
    noise, missed
        The covariances of the errors that come from noise, and of what reconstructions miss, both
        of shape (q, q); NaN where they are not known.
    reconstructed
        Whether the numbers were reconstructed from tables on fewer attributes.
    kurtosis
        The excess kurtosis of the noise of each number, shape (q,); see `Marginal`.
    """

    estimates: Floats
    noise: Floats
    missed: Floats
    reconstructed: bool = False
    kurtosis: Floats | None = None

    def combined(self, weights: Floats) -> tuple[float, float]:
        """The variances of a weighted sum of the numbers: of noise, and of what is missed."""
        parts = []
        for covariance in (self.noise, self.missed):
            variance = float(weights @ covariance @ weights)
            # A negative number is a rounding error.
            parts.append(0.0 if variance < 0 else variance)
        return parts[0], parts[1]

    def kurtosis_of(self, weights: Floats, variance: float) -> float:
        """The excess kurtosis of the noise of a weighted sum of the numbers, from its variance.

        Fourth cumulants add up where the numbers have no draw of noise in common. Draws in common
        cancel or add up; then this is an upper bound for differences.
        """
        if self.kurtosis is None or not variance > 0:
            return 0.0
        fourth = weights**4 @ (self.kurtosis * self.noise.diagonal() ** 2)
        return min(LAPLACE_KURTOSIS, float(fourth) / variance**2)

    def count(self, row: int) -> Count:
        """One of the numbers by itself."""
        return Count(
            estimate=float(self.estimates[row]),
            noise_variance=float(self.noise[row, row]),
            missed_variance=float(self.missed[row, row]),
            reconstructed=self.reconstructed,
            noise_kurtosis=0.0 if self.kurtosis is None else float(self.kurtosis[row]),
        )


class Counting:
    """Base class of synopses: numbers of rows that satisfy conditions, with error bounds."""

    domain: Domain

    def marginal(self, view: Sequence[str]) -> Marginal:
        """The marginal of a view; each synopsis defines it."""
        raise NotImplementedError

    def source(self, view: Iterable[str]) -> Source:
        """How the marginal of a view is answered; each synopsis defines it."""
        raise NotImplementedError

    def _least_certain(self, chosen: Sequence[Chosen]) -> Source | None:
        """The source of a number that may be far off, if there is one among several numbers. If
        none was reconstructed, that of one that was combined with a base."""
        sources = {self.source(tuple(codes)) for codes in chosen}
        for source in (Source.ASSUMED, Source.RECONSTRUCTED, Source.BASED):
            if source in sources:
                return None if source is Source.RECONSTRUCTED else source
        return None

    @explains_calls(named='put the conditions into a mapping, as in count({"sex": "F"})')
    def count(self, where: Mapping[str, Any]) -> Count:
        """Estimate the number of rows that satisfy a condition, with its error.

        Parameters
        ----------
        where
            The condition: for some attributes a category, a list, tuple or set of categories, or a
            `range`, as in ``{"sex": "F", "children": range(1, 3)}``. A range stands for the whole
            numbers in it if all declared values are whole numbers, and for codes otherwise. An
            attribute with `bins` takes labels of bins, or a pair (low, high) of edges; the last bin
            includes its upper edge. An empty mapping counts all rows.

        Returns
        -------
        Count
            The number, and the variances of its error. A sum of cells has no known variance if the
            synopsis does not know the covariances of its cells; then it is NaN.

        Raises
        ------
        DomainError
            When an attribute or a category is not declared, or the synopsis cannot answer.

        Examples
        --------
        >>> import margin
        >>> from margin.datasets import people, people_domain
        >>> synopsis = margin.simulate(
        ...     people(), domain=people_domain(), budget=margin.PureDP(1), seed=1
        ... ).synopsis
        >>> count = synopsis.count({"region": ["coast", "hills"], "sex": "female"})
        >>> low, high = count.interval(0.95)
        >>> low < count.estimate < high
        True
        """
        codes = chosen_codes(self.domain, where)
        found = self._sums([codes]).count(0)
        asked = Asked(synopsis=self, estimate=found.estimate, codes=(codes,), weights=(1.0,))
        return replace(found, source=self._source_of(found, codes), asked=asked)

    def _source_of(self, found: Count, codes: Chosen) -> Source:
        """How a number was made. One without error follows from what the domain declares: its
        rules if it is 0, and otherwise its public totals."""
        if found.variance == 0 and found.estimate == 0 and self.domain.zeros is not None:
            return Source.IMPOSSIBLE
        if found.variance == 0 and self.domain.constraints is not None:
            return Source.KNOWN
        return self.source(tuple(codes))

    @explains_calls(absent='pass two conditions, as in difference({"sex": "F"}, {"sex": "M"})')
    def difference(
        self,
        where: Mapping[str, Any],
        other: Mapping[str, Any],
    ) -> Difference:
        """Estimate the number of rows of one condition less that of another.

        The conditions are as in `count`. Errors that the two numbers share cancel.

        Raises
        ------
        DomainError
            As for `count`.
        """
        codes = tuple(chosen_codes(self.domain, each) for each in (where, other))
        sums = self._sums(codes)
        asked = Asked(
            synopsis=self,
            estimate=float(sums.estimates[0] - sums.estimates[1]),
            codes=codes,
            weights=(1.0, -1.0),
        )
        return self._difference(asked, sums)

    def less(self, one: Asked, other: Asked) -> Difference:
        """The difference of two numbers that this release answered; see
        `Difference.within_release`."""
        asked = Asked(
            synopsis=self,
            estimate=one.estimate - other.estimate,
            codes=one.codes + other.codes,
            weights=one.weights + tuple(-weight for weight in other.weights),
            is_ratio=one.is_ratio,
            is_uncertain=one.is_uncertain or other.is_uncertain,
        )
        return self._difference(asked, self._sums(asked.codes))

    @explains_calls(absent='pass an attribute, as in mean("age") or mean("children", {0: 0, 1: 1})')
    def mean(
        self,
        attribute: str,
        numbers: Mapping[Any, float] | None = None,
        where: Mapping[str, Any] | None = None,
        *,
        whole: bool = False,
    ) -> Mean:
        """Estimate the mean of an attribute from its counts, by a number for each category.

        Parameters
        ----------
        attribute
            The attribute, or a level of it.
        numbers
            The number that each category stands for. Rows of categories without one, such as those
            of missing values, are left out of the mean. By default, the middles of the bins.
        where
            The rows, as for `count`; all rows by default.
        whole
            Whether all values are whole numbers, such as nights. A bin of 1 to under 3 then holds 1
            and 2, and its middle is 1.5 and not 2. Only for bins without stated numbers.

        Returns
        -------
        Mean
            Its bounds allow for the noise of all counts, and for what these share, and not for what
            a number departs from the values that it stands for. The mean by the lower edges of
            bins, and that by the upper edges, hold the mean of the rows between them. The bounds
            are NaN if the number of these rows is too uncertain for the delta method.

        Raises
        ------
        DomainError
            As for `count`; if a number is not finite, or a bin without limit has none; and with
            `whole` if numbers are stated, or a bin holds no whole number.

        Examples
        --------
        >>> import margin
        >>> domain = {"age": {"bins": [0, 18, 65, 100]}}
        >>> rows = {"age": [9] * 400 + [40] * 600}
        >>> made = margin.release(rows, domain=domain, budget=margin.PureDP(10))
        >>> low, high = made.mean("age").interval()
        >>> low < 0.4 * 9 + 0.6 * 41.5 < high
        True
        """
        if numbers is not None and whole:
            raise DomainError(
                "whole= is about the middles of bins, but numbers are stated for the categories; "
                "leave one of them out"
            )
        stated = _stated(attribute_at(self.domain, attribute), attribute, numbers, whole=whole)
        codes, values = self._numbered(attribute, stated, where)
        sums = self._sums(codes)
        rows = float(sums.estimates.sum())
        estimate, gradient = math.nan, np.full(len(codes), math.nan)
        if rows > 0:
            estimate = float(values @ sums.estimates) / rows
            gradient = (values - estimate) / rows
        asked = Asked(
            synopsis=self,
            estimate=estimate,
            codes=tuple(codes),
            weights=tuple(gradient.tolist()),
            is_ratio=True,
            is_uncertain=is_too_uncertain(rows, sum(sums.combined(np.ones(len(codes))))),
        )
        return Mean(**vars(self._difference(asked, sums)))

    @explains_calls(absent='pass an attribute and numbers, as in weighted("class", {"low": 150.0})')
    def weighted(
        self,
        attribute: str,
        numbers: Mapping[Any, float],
        where: Mapping[str, Any] | None = None,
        *,
        per: Mapping[str, Any] | None = None,
    ) -> Mean:
        """Estimate the sum of a number over rows, such as a weighted number of rows: each row
        counts with the number of its category.

        Parameters
        ----------
        attribute
            The attribute, or a level of it, such as classes of a survey weight.
        numbers
            The number of each category, such as the weight of a class. Rows of categories without
            one count as 0.
        where
            The rows, as for `count`; all rows by default.
        per
            The rows whose sum to divide by, for a weighted share or ratio; by nothing if it is
            None.

        Returns
        -------
        Mean
            The sum T, or the ratio T / B of two sums. Its variances allow for what all counts
            share. Those of a ratio are of the delta method: the derivative by a count with the
            number w is w / B in T, and -w T / B ** 2 in B. They are NaN if B is too uncertain for
            this. The bounds are for the rows of the table, and not for a population.

        Raises
        ------
        DomainError
            As for `mean`.

        Examples
        --------
        >>> import margin
        >>> domain = {"class": ["low", "high"], "smokes": ["yes", "no"]}
        >>> rows = {"class": ["low", "high"] * 300, "smokes": ["yes"] * 300 + ["no"] * 300}
        >>> made = margin.release(rows, domain=domain, budget=margin.PureDP(10))
        >>> weights = {"low": 100.0, "high": 300.0}
        >>> smokers = made.weighted("class", weights, {"smokes": "yes"})
        >>> share = made.weighted("class", weights, {"smokes": "yes"}, per={})
        >>> abs(smokers.estimate - 60_000) < 1_500, abs(share.estimate - 0.5) < 0.01
        (True, True)
        """
        stated = _stated(attribute_at(self.domain, attribute), attribute, numbers, whole=False)
        codes, weights = self._numbered(attribute, stated, where)
        base, base_numbers = self._numbered(attribute, stated, per) if per is not None else ([], [])
        sums = self._sums([*codes, *base])
        estimate = float(weights @ sums.estimates[: len(codes)])
        is_uncertain = False
        if per is not None:
            # Of the numbers, zeros come first: the denominator takes no count of the numerator.
            divides = np.concatenate([np.zeros(len(codes)), base_numbers])
            divisor = float(divides @ sums.estimates)
            is_uncertain = is_too_uncertain(divisor, sum(sums.combined(divides)))
            estimate = estimate / divisor if divisor > 0 else math.nan
            weights = np.concatenate([weights, np.zeros(len(base))]) - estimate * divides
            weights /= divisor if divisor > 0 else math.nan
        asked = Asked(
            synopsis=self,
            estimate=estimate,
            codes=(*codes, *base),
            weights=tuple(weights.tolist()),
            # It is no whole number.
            is_ratio=True,
            is_uncertain=is_uncertain,
        )
        return Mean(**vars(self._difference(asked, sums)))

    def _numbered(
        self,
        attribute: str,
        stated: Mapping[Any, float],
        where: Mapping[str, Any] | None,
    ) -> tuple[list[Chosen], Floats]:
        """The rows of a condition in each category that has a number, and these numbers."""
        asked_rows = chosen_codes(self.domain, where or {})
        codes, numbers = [], []
        for label, number in stated.items():
            own = common(asked_rows, chosen_codes(self.domain, {attribute: [label]}))
            if own is not None:
                codes.append(own)
                numbers.append(number)
        if not codes:
            raise DomainError(
                f"numbers of {attribute!r} need a category with a number among the rows of the "
                "conditions, but there is none; drop a condition, or state more numbers"
            )
        return codes, np.array(numbers, dtype=float)

    @explains_calls(absent='pass an attribute, as in quantile("age") or quantile("age", 0.9)')
    def quantile(
        self,
        attribute: str,
        share: float = 0.5,
        where: Mapping[str, Any] | None = None,
    ) -> Quantile:
        """Estimate a quantile of an attribute from its counts: the categories that may hold it.

        Parameters
        ----------
        attribute
            The attribute, or a level of it, with categories in an order: bins, dates, numbers, or
            declared as ordered. Rows of `other` and `missing` are left out, as by `mean`: the
            quantile is that of the rows in the order. If `other` holds the values above the last
            bin, declare a last bin without a limit instead, and the quantile is that of all values.
        share
            The share of the rows below the quantile, > 0 and < 1; 0.5 for the median.
        where
            The rows, as for `count`; all rows by default.

        Returns
        -------
        Quantile
            The categories, with the level at which they hold the quantile; `Quantile.between` has
            the proof.

        Raises
        ------
        DomainError
            As for `count`; and if the attribute has no order.

        Examples
        --------
        >>> import margin
        >>> domain = {"age": {"bins": [0, 18, 65, 100]}}
        >>> rows = {"age": [9] * 400 + [40] * 600}
        >>> made = margin.release(rows, domain=domain, budget=margin.PureDP(10))
        >>> made.quantile("age").interval(), made.quantile("age", 0.1).interval()
        ((18, 65), (0, 18))
        """
        if not (isinstance(share, int | float) and 0 < share < 1):
            raise DomainError(
                f"share ({shown(share)}) must be a number > 0 and < 1, such as 0.5 for the median"
            )
        form = attribute_at(self.domain, attribute)
        order = codes_in_order(form)
        if not order:
            raise DomainError(
                f"a quantile of {attribute!r} needs categories in an order, but it declares none; "
                "take an attribute of bins, dates or numbers, or declare it as ordered"
            )
        asked_rows = chosen_codes(self.domain, where or {})
        kept, codes = [], []
        for code in order:
            own = common(asked_rows, chosen_codes(self.domain, {attribute: [form.label(code)]}))
            if own is not None:
                kept.append(code)
                codes.append(own)
        if not codes:
            raise DomainError(
                f"a quantile of {attribute!r} needs a category in the order among the rows of the "
                "conditions, but there is none; drop a condition"
            )
        sums = self._sums(codes)
        excess = []
        for limit in range(1, len(codes)):
            # The rows below the limit, less the share of all rows.
            weights = np.where(np.arange(len(codes)) < limit, 1.0, 0.0) - share
            asked = Asked(
                synopsis=self,
                estimate=float(weights @ sums.estimates),
                codes=tuple(codes),
                weights=tuple(weights.tolist()),
                # It is no whole number.
                is_ratio=True,
            )
            excess.append(self._difference(asked, sums))
        bins = form.bins
        return Quantile(
            attribute=attribute,
            share=share,
            categories=tuple(form.name(code) for code in kept),
            edges=None if bins is None else tuple((bins[code], bins[code + 1]) for code in kept),
            excess=tuple(excess),
            rows=float(sums.estimates.sum()),
        )

    def _difference(self, asked: Asked, sums: Sums) -> Difference:
        """The answer to a question that is a weighted sum of some numbers of rows."""
        weights = np.array(asked.weights)
        noise, missed = sums.combined(weights)
        kurtosis = sums.kurtosis_of(weights, noise)
        return Difference(
            estimate=asked.estimate,
            noise_variance=math.nan if asked.is_uncertain else noise,
            missed_variance=missed,
            reconstructed=sums.reconstructed,
            noise_kurtosis=kurtosis,
            source=self._least_certain(asked.codes),
            asked=asked,
            is_whole=not asked.is_ratio,
        )

    def is_same_release(self, other: Asks) -> bool:
        """Whether two synopses hold the noise of the same release: one is a copy of the other, or
        both were read from the same file."""
        mine, theirs = getattr(self, "provenance", None), getattr(other, "provenance", None)
        if self is other or (mine is not None and mine is theirs):
            return True
        if not isinstance(other, Counting) or self._digest is None:
            return False
        return self._digest == other._digest

    @cached_property
    def _digest(self) -> str | None:
        """The digest of the release; None if no file can hold the synopsis."""
        digest: str | None = upwards("release_digest")(self)
        return digest

    @explains_calls(
        absent='pass two conditions, as in ratio({"sex": "F", "smokes": "yes"}, {"sex": "F"})'
    )
    def ratio(
        self,
        where: Mapping[str, Any],
        other: Mapping[str, Any],
    ) -> Ratio:
        """Estimate the number of rows of one condition divided by that of another.

        It is a share if the first condition implies the other, as in ``ratio({"sex": "F",
        "smokes": "yes"}, {"sex": "F"})``, and odds if they exclude each other. The conditions are
        as in `count`. The variances are those of the delta method; `Ratio.interval` uses Fieller's
        theorem.

        A pair of edges selects no row of `other` or `missing`. The denominator holds these rows
        unless `other` selects the edges of all bins: ``ratio({"hours": (0, 20)}, {"hours": (0,
        60)})`` is the share of the rows in bins, and ``ratio({"hours": (0, 20)}, {})`` that of all
        rows.

        Raises
        ------
        DomainError
            As for `count`.
        """
        one, base = (chosen_codes(self.domain, each) for each in (where, other))
        sums = self._sums([one, base])
        top, bottom = sums.count(0), sums.count(1)
        estimate = noise = missed = math.nan
        weights = np.full(2, math.nan)
        kurtosis = 0.0
        if bottom.estimate > 0:
            estimate = top.estimate / bottom.estimate
            weights = np.array([1.0, -estimate]) / bottom.estimate
            noise, missed = sums.combined(weights)
            kurtosis = sums.kurtosis_of(weights, noise)
        source = self._least_certain([one, base])
        if self._source_of(top, one) is Source.IMPOSSIBLE:
            source = Source.IMPOSSIBLE
        found = Ratio(
            estimate=estimate,
            noise_variance=noise,
            missed_variance=missed,
            reconstructed=sums.reconstructed,
            noise_kurtosis=kurtosis,
            source=source,
            numerator=top,
            denominator=bottom,
            covariance=float(sums.noise[0, 1] + sums.missed[0, 1]),
            share=_implies(one, base),
        )
        asked = Asked(
            synopsis=self,
            estimate=estimate,
            codes=(one, base),
            weights=tuple(weights.tolist()),
            is_ratio=True,
            is_uncertain=found.is_uncertain,
        )
        return replace(found, asked=asked)

    def _sums(self, chosen: Sequence[Chosen]) -> Sums:
        """The numbers of rows with some codes, by sums of cells of marginals.

        The variance of a cell is known, but in general the covariances of cells are not.
        """
        count = len(chosen)
        estimates = np.empty(count)
        noise = np.full((count, count), math.nan)
        missed = np.full((count, count), math.nan)
        kurtosis = np.zeros(count)
        reconstructed = False
        for row, codes in enumerate(chosen):
            # All rows are the sum of the cells of any marginal.
            marginal = self.marginal(tuple(codes) or self.domain.attributes[:1])
            own = box(codes, marginal.counts.shape)
            estimates[row] = marginal.counts[own].sum()
            reconstructed |= marginal.reconstructed
            noise[row, row] = _variance_of_sum(marginal.noise_variance[own])
            missed[row, row] = _variance_of_sum(marginal.missed_variance[own])
            # A sum of several cells has no known variance.
            kurtosis[row] = np.broadcast_to(marginal.noise_kurtosis, marginal.counts.shape)[
                own
            ].max()
        for covariance in (noise, missed):
            exact = covariance.diagonal() == 0
            covariance[exact] = 0.0
            covariance[:, exact] = 0.0
        return Sums(
            estimates=estimates,
            noise=noise,
            missed=missed,
            reconstructed=reconstructed,
            kurtosis=kurtosis,
        )


def _stated(
    form: Attribute,
    name: str,
    numbers: Mapping[Any, float] | None,
    *,
    whole: bool,
) -> dict[Any, float]:
    """The number of each category that has one, by its label."""
    if numbers is None:
        if form.bins is None:
            raise DomainError(
                f"the categories of {name!r} are no bins, which have middles; state the number of "
                'each, as in mean("children", {0: 0, 1: 1, 2: 2})'
            )
        edges = list(itertools.pairwise(form.bins))
        if whole:
            edges = [_whole_within(name, *bin_, is_last=bin_ == edges[-1]) for bin_ in edges]
        middles = [(low + high) / 2 for low, high in edges]
        numbers = dict(zip(form.labels, middles, strict=False))
    if not isinstance(numbers, Mapping) or not numbers:
        raise DomainError(
            "numbers must be a mapping from categories to numbers, but it is empty or of type "
            f'{type(numbers).__name__}; write it as in {{"0 to under 18": 9}}'
        )
    for label, number in numbers.items():
        if not (isinstance(number, int | float) and math.isfinite(number)):
            raise DomainError(
                f"category {label!r} of {name!r} must have a finite number, but it has {number!r}: "
                "a bin without a limit has no middle; state the numbers of all bins"
            )
    return dict(numbers)


def _whole_within(
    name: str,
    low: float,
    high: float,
    *,
    is_last: bool,
) -> tuple[float, float]:
    """The smallest and the largest whole number in a bin. The last bin has its upper edge, too."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return low, high
    least = math.ceil(low)
    most = math.floor(high) if is_last else math.ceil(high) - 1
    if least > most:
        raise DomainError(
            f"a bin of {name!r} from {low:g} to {high:g} holds no whole number, so the values are "
            "others; leave whole= (--whole) out"
        )
    return least, most


def _implies(one: Chosen, other: Chosen) -> bool:
    """Whether all cells that `one` selects are among those that `other` selects."""
    return all(name in one and set(one[name]) <= set(codes) for name, codes in other.items())


def common(one: Chosen, other: Chosen) -> Chosen | None:
    """The cells that two conditions both select; None if there are none."""
    both = {**one, **other}
    for name in one.keys() & other.keys():
        both[name] = tuple(sorted(set(one[name]) & set(other[name])))
    return both if all(both.values()) else None


def box(codes: Chosen, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The index of the selected cells of a marginal on the attributes of `codes`, in their order.

    Without attributes it selects all cells.
    """
    if not codes:
        return tuple(slice(None) for _ in shape)
    return np.ix_(*codes.values())


def _variance_of_sum(variances: Floats) -> float:
    """The variance of a sum of cells from theirs; NaN for several cells with dependent errors."""
    if variances.size == 1:
        return float(variances.ravel()[0])
    return math.nan if variances.any() else 0.0


def covered_sums(
    domain: Domain,
    tables: Tables,
    chosen: Sequence[Chosen],
    component_noise: ComponentErrors | None = None,
    kurtosis: float = 0.0,
    linked_errors: LinkedErrors | None = None,
) -> Sums:
    """Add up cells of views, if each set of restricted attributes lies within a view.

    The errors are those of the best linear estimate; see `margin.solvers.covered_covariance`, and
    `ComponentErrors.covariance` if that is given, less what `linked_errors` tells. `kurtosis` is
    that of the noise of a measured cell or answer.
    """
    estimates = []
    sums = []
    for codes in chosen:
        axes = tuple(sorted(domain.position[name] for name in codes))
        view = tables.covering(axes)
        assert view is not None  # the caller has checked this
        weights = weights_on(domain, axes, [codes])[:, 0]
        estimates.append(float(tables.project(view, axes).ravel() @ weights))
        shape = tuple(domain.sizes[axis] for axis in axes)
        sums.append(WeightedSum(axes, left_open(domain, axes, weights.reshape(shape))))
    if component_noise is None:
        noise = covered_covariance(tables, sums)
    else:
        noise = component_noise.covariance(sums)
    excess = None
    if kurtosis:
        excess = np.empty(len(sums))
        for row, (one, codes) in enumerate(zip(sums, chosen, strict=True)):
            if component_noise is not None or tables.by_components:
                errors = component_noise or errors_of_components(tables, one.axes)
                found = errors.concentration_of(one)
            else:
                cells = math.prod(map(len, codes.values()))
                found = tables.concentration_of(one.axes, float(noise[row, row]), cells)
            excess[row] = kurtosis * found
    if linked_errors is not None:
        noise = noise - linked_errors.covariance(sums)
    return Sums(
        estimates=np.array(estimates),
        noise=noise,
        missed=np.zeros_like(noise),
        kurtosis=excess,
    )


def left_open(
    domain: Domain,
    axes: tuple[int, ...],
    weights: Floats,
) -> Floats:
    """The part of the weights of a sum of cells that the known tables of the domain leave open.

    `axes` are those of the marginal, ascending; the weights have its shape.
    """
    # The total alone is known by the precision of its component.
    if domain.constraints is None or not domain.constraints.more:
        return weights
    empty = None if domain.zeros is None else domain.zeros.cells(axes)
    return domain.constraints.left_open(axes, weights, empty)


def certain(
    domain: Domain,
    axes: tuple[int, ...],
    groups: Sequence[Integers | None] | None = None,
) -> Flags:
    """Whether the count of each cell of a marginal follows from the rules and known tables.

    Parameters
    ----------
    domain
        The attributes.
    axes
        The axes of the marginal, in its order.
    groups
        For each axis the group of each category, shape (categories,), and None for the categories
        themselves. A group is then certain if the sum of its cells is. None for no groups.

    Returns
    -------
    ndarray
        A flag for each cell, also if there are groups.
    """
    sizes = [domain.sizes[axis] for axis in axes]
    empty = None
    if domain.zeros is not None:
        order = tuple(sorted(axes))
        empty = domain.zeros.cells(order).transpose([order.index(axis) for axis in axes])
    if domain.constraints is None:
        return np.zeros(sizes, np.bool_) if empty is None else empty
    sums = None
    if groups is not None:
        pairs = zip(groups, sizes, strict=True)
        codes = [np.arange(size) if group is None else group for group, size in pairs]
        shape = [int(own.max()) + 1 for own in codes]
        sums = np.ravel_multi_index(np.ix_(*codes), shape)
    return domain.constraints.told(axes, sums, empty)


def weights_on(
    domain: Domain,
    axes: Sequence[int],
    chosen: Sequence[Chosen],
) -> Floats:
    """The indicators of the selected cells of a marginal, shape (cells, q).

    Cells that the rules of the domain exclude have the weight zero: they hold no row for sure.

    Parameters
    ----------
    domain
        The attributes.
    axes
        The axes of the marginal, ascending.
    chosen
        The codes that each of the q sums selects; other attributes are not restricted.
    """
    columns = []
    for codes in chosen:
        column: Floats = np.ones(1)
        for axis in axes:
            own: Floats = np.ones(domain.sizes[axis])
            name = domain.attributes[axis]
            if name in codes:
                own = np.zeros(domain.sizes[axis])
                own[list(codes[name])] = 1.0
            column = np.outer(column, own).ravel()
        columns.append(column)
    weights = np.stack(columns, axis=1)
    if domain.zeros is not None and axes:
        weights[domain.zeros.cells(tuple(axes)).ravel()] = 0.0
    return weights
