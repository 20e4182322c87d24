"""`Counting`: the questions about numbers of rows that every synopsis answers."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._names import explains_calls
from ..._types import Floats
from ..._upwards import upwards
from ...domain.domain import Domain
from ...domain.marginal import Marginal
from ...domain.where import Chosen, chosen_codes
from ..source import Source
from .conditions import box, implies
from .count import Asked, Asks, Count, Difference, Ratio
from .sums import Sums

__all__ = ["Counting"]


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
        rows. So it is with named categories: ``ratio({"union": "yes"}, {"union": ["yes", "no"]})``
        is the share of the rows whose union is neither missing nor other.

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
            share=implies(one, base),
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


def _variance_of_sum(variances: Floats) -> float:
    """The variance of a sum of cells from theirs; NaN for several cells with dependent errors."""
    if variances.size == 1:
        return float(variances.ravel()[0])
    return math.nan if variances.any() else 0.0
