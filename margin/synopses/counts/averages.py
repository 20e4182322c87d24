"""`Averages`: means, weighted sums and quantiles of attributes, from counts of their categories."""

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..._names import explains_calls
from ..._numbers import shown
from ..._types import Floats
from ...domain.attribute import Attribute
from ...domain.level_views import attribute_at
from ...domain.order import codes_in_order
from ...domain.where import Chosen, chosen_codes
from ...errors import DomainError
from .conditions import common
from .count import Asked, Mean, is_too_uncertain
from .counting import Counting
from .quantile import Quantile

__all__ = ["Averages"]


class Averages(Counting):
    """Base class of synopses: means, weighted sums and quantiles, with error bounds."""

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
        cells = self._in_categories(attribute, stated, where)
        if not cells:
            raise DomainError(
                f"numbers of {attribute!r} need a category with a number among the rows of the "
                "conditions, but there is none; drop a condition, or state more numbers"
            )
        return list(cells.values()), np.array([stated[label] for label in cells], dtype=float)

    def _in_categories(
        self,
        attribute: str,
        labels: Iterable[Any],
        where: Mapping[str, Any] | None,
    ) -> dict[Any, Chosen]:
        """The rows of a condition in each of some categories, by its label; without the categories
        that the condition excludes."""
        asked_rows = chosen_codes(self.domain, where or {})
        found = {}
        for label in labels:
            own = common(asked_rows, chosen_codes(self.domain, {attribute: [label]}))
            if own is not None:
                found[label] = own
        return found

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
        labels = {form.label(code): code for code in order}
        cells = self._in_categories(attribute, labels, where)
        kept = [labels[label] for label in cells]
        codes = list(cells.values())
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
