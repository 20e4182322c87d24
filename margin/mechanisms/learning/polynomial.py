"""`Learning`: marginals as polynomials of low degree."""

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..._types import Floats
from ...domain.domain import Domain, View
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...private import Private, Strategy
from ...private.strategy import Factor
from ...solvers import NonNegativity, Simplex
from ...solvers.strategy.threshold_polynomial import threshold_polynomial
from ...synopses import MarginalSynopsis
from ..asked import asked

__all__ = ["Learning"]


@dataclass(frozen=True, kw_only=True)
class Learning:
    """Learn marginals as polynomials (Thaler, Ullman and Vadhan, ICALP 2012).

    A row is in a cell of k attributes when it agrees with the cell in s = k of them. A polynomial p
    of degree t >= 1 with |p(s) - [s = k]| <= gamma for s = 0 ... k makes the cell's count a sum of
    counts of at most t attributes, all of which have equal noise. Small gamma means high degree,
    more counts and larger coefficients: less error of the approximation, and more noise. The error
    of the approximation, up to gamma times the number of rows, stays however large the budget is;
    there is therefore no `expected_error`. Without a workload all pairs of attributes are released.

    Parameters
    ----------
    gamma
        Above 0 and below 1; the comparison of Qardaji, Yang and Li, SIGMOD 2014, has 1/2, 1/4 and
        1/8.
    nonnegativity
        Removes negative counts from each marginal; see `Direct`.
    """

    gamma: float = 0.25
    nonnegativity: NonNegativity | None = Simplex()

    def __post_init__(self) -> None:
        if (
            isinstance(self.gamma, bool)
            or not isinstance(self.gamma, int | float)
            or not 0 < self.gamma < 1
        ):
            raise DomainError(f"gamma ({self.gamma!r}) must be a number above 0 and below 1")

    def run(self, private: Private, workload: Workload | None) -> MarginalSynopsis:
        """Measure the marginals of low order, and evaluate the polynomials."""
        domain, views = private.domain, asked(private.domain, workload).views
        sets = sorted(
            {subset for view in views for subset, _ in self._terms(domain, view)},
            key=lambda s: (len(s), s),
        )
        measured = private.measure_linear([_table(domain, subset) for subset in sets])
        tables = {subset: answers.values for subset, answers in zip(sets, measured, strict=True)}
        variances = {
            subset: answers.variance for subset, answers in zip(sets, measured, strict=True)
        }
        answers = []
        for view in views:
            counts, variance = np.zeros(domain.shape(view)), 0.0
            for subset, coefficient in self._terms(domain, view):
                counts += coefficient * _spread(tables[subset], subset, view)
                variance += coefficient**2 * variances[subset]
            answers.append(
                Marginal(
                    domain.restrict(view, checked=True), counts, np.full(counts.shape, variance)
                )
            )
        return MarginalSynopsis.of(domain, answers, self.nonnegativity)

    def _terms(self, domain: Domain, view: View) -> list[tuple[View, float]]:
        """The sets of attributes that a marginal is made of, in the order of the domain, each with
        its coefficient."""
        names = sorted(view, key=lambda name: domain.position[name])
        coefficients = threshold_polynomial(len(view), self.gamma)
        return [
            (subset, coefficient)
            for size, coefficient in enumerate(coefficients)
            if coefficient
            for subset in itertools.combinations(names, size)
        ]


def _table(domain: Domain, subset: View) -> Strategy:
    """The cells of a marginal; the number of rows, of the empty set."""
    if not subset:
        return Strategy.total(domain)
    return Strategy(subset, [_identity(domain[name].size) for name in subset])


@lru_cache
def _identity(size: int) -> Factor:
    return Factor(np.eye(size, dtype=np.int64))


def _spread(table: Floats, subset: View, view: View) -> Floats:
    """A marginal of a subset, with the axes of the view, those it lacks of length one."""
    order = [subset.index(name) for name in view if name in subset]
    sizes = dict(zip(subset, table.shape, strict=False))
    return (
        table.reshape([sizes[name] for name in subset])
        .transpose(order)
        .reshape([sizes.get(n, 1) for n in view])
    )
