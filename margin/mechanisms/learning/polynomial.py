"""`Learning`: a mechanism that approximates marginals by polynomials of low degree."""

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..._checks import share
from ..._types import Floats
from ...domain.domain import Domain, View
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...private import Private, Strategy
from ...private.strategy import Factor
from ...solvers import NonNegativity, Simplex
from ...solvers.strategy.threshold_polynomial import chebyshev_polynomial, threshold_polynomial
from ...synopses import MarginalSynopsis
from ..asked import asked

__all__ = ["Learning"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Learning:
    """A mechanism that approximates marginals by sums of marginals on fewer attributes (Thaler,
    Ullman and Vadhan, ICALP 2012).

    Let s be the number of attributes in which a row agrees with a cell of k attributes. The row is
    in the cell if s = k. A polynomial p(s) of degree t approximates this test: it differs by at
    most `gamma` from 1 at s = k, and from 0 at s = 0 ... k - 1. The sum of p(s) over all rows is
    then close to the count of the cell, and needs only counts of at most t attributes. These
    counts are measured, all with equal noise.

    A small `gamma` needs a high degree, with more counts and larger coefficients: less
    approximation error, but more noise. The approximation error is up to `gamma` times the number
    of rows. A larger budget does not reduce it, so there is no `expected_error`, and answers have
    intervals only where the polynomial is exact. Without a workload all pairs of attributes are
    released.

    Parameters
    ----------
    gamma
        The approximation error, as a share of the rows, > 0 and < 1. The comparison of Qardaji,
        Yang and Li, SIGMOD 2014, uses 1/2, 1/4 and 1/8.
    chebyshev
        Whether p is the scaled Chebyshev polynomial, which gives the degree of the paper's lemma,
        about sqrt(k) log(2 / gamma) / 2. By default linear programming finds a polynomial of the
        smallest degree, which is never higher.
    nonnegativity
        The step that removes negative counts from each marginal; None leaves them.
    """

    gamma: float = 0.25
    chebyshev: bool = False
    nonnegativity: NonNegativity | None = Simplex()

    def __post_init__(self) -> None:
        share("gamma", self.gamma)

    @classmethod
    def paper(cls, *, gamma: float = 0.25) -> "Learning":
        """The polynomial of the paper; negative counts stay."""
        return cls(gamma=gamma, chebyshev=True, nonnegativity=None)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> MarginalSynopsis:
        """Run the mechanism: measure the marginals of low order, and evaluate the polynomials."""
        domain = private.domain
        views = asked(domain, workload).views
        # The counts that the polynomials of all views need, each measured once.
        needed = {subset for view in views for subset, _ in self._terms(domain, view)}
        sets = sorted(needed, key=lambda subset: (len(subset), subset))
        answers = private.measure_linear([_table(domain, subset) for subset in sets])
        measured = dict(zip(sets, answers, strict=True))
        marginals = []
        for view in views:
            counts = np.zeros(domain.shape(view))
            variance = fourth = 0.0
            terms = self._terms(domain, view)
            for subset, coefficient in terms:
                term = measured[subset]
                counts += coefficient * _spread(term.values, subset, view)
                variance += coefficient**2 * term.variance
                # Fourth cumulants of independent noise add up, as variances do.
                fourth += (coefficient**2 * term.variance) ** 2
            variances = np.full(counts.shape, variance)
            # Only the count of the cell itself is exact; what other polynomials miss is not known.
            is_exact = all(len(subset) == len(view) for subset, _ in terms)
            concentration = fourth / variance**2 if variance > 0 else 0.0
            marginals.append(
                Marginal(
                    domain.restrict(view, checked=True),
                    counts,
                    variances,
                    missed_variance=None if is_exact else np.full(counts.shape, np.nan),
                    noise_kurtosis=private.budget.kurtosis * concentration,
                )
            )
        return MarginalSynopsis.of(domain, marginals, self.nonnegativity)

    def _terms(
        self,
        domain: Domain,
        view: View,
    ) -> list[tuple[View, float]]:
        """The sets of attributes whose counts are summed to a marginal, each with its coefficient.

        Names are in the order of the domain.
        """
        names = sorted(view, key=lambda name: domain.position[name])
        terms: list[tuple[View, float]] = []
        polynomial = chebyshev_polynomial if self.chebyshev else threshold_polynomial
        for size, coefficient in enumerate(polynomial(len(view), self.gamma)):
            if coefficient:
                sets = itertools.combinations(names, size)
                terms += [(subset, coefficient) for subset in sets]
        return terms


def _table(domain: Domain, subset: View) -> Strategy:
    """The linear queries that count the cells of the marginal on `subset`. If `subset` is empty,
    the single query counts all rows."""
    if not subset:
        return Strategy.total(domain)
    return Strategy(subset, [_identity(domain[name].size) for name in subset])


@lru_cache
def _identity(size: int) -> Factor:
    return Factor(np.eye(size, dtype=np.int64))


def _spread(
    table: Floats,
    subset: View,
    view: View,
) -> Floats:
    """Reshape the marginal on `subset` to the axes of `view`, so that it can be added to tables of
    `view`. An attribute that is not in `subset` gets an axis of length one."""
    sizes = dict(zip(subset, table.shape, strict=False))
    ordered = table.reshape([sizes[name] for name in subset])
    turned = ordered.transpose([subset.index(name) for name in view if name in subset])
    return turned.reshape([sizes.get(name, 1) for name in view])
