"""`WeightedMarginals`: a strategy that measures whole marginals, each with its best share of the
budget."""

import contextlib
import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..._types import Floats
from ...designs import ViewPlan, allocate_budget
from ...domain.domain import Domain, View
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...noise.laws import variances_of
from ...privacy.budget import Budget, PureDP
from ...private import Private
from ...solvers import ResidualConsistency, Tables
from ...synopses.noisy_tables import in_view_order, tables_of
from ..asked import error_of_views
from ..by_table import Precision, largest_errors, of_views, table_errors
from ..components import closure, precise_shares
from .data_cubes import DataCubes

__all__ = ["WeightedMarginals"]

_MOST_VIEWS = 1 << 12
"""Largest number of marginals that shares are computed for."""

_MOST_UNIONS = 1 << 8
"""Largest number of unions that are combined further."""

_MOST_CELLS = 1 << 20
"""Largest number of cells of a union."""

_LEAST_SHARE = 1e-4
"""Smallest share that is kept, over the largest share."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class WeightedMarginals:
    """A strategy that measures whole marginals with the shares of the budget that minimise the
    error.

    The marginals of the workload, and smaller and larger ones, are considered. This combines
    non-uniform budgets (Cormode et al., ICDE 2012) with the marginals that OPT_M chooses from
    (McKenna et al., VLDB 2018). Each table has sensitivity one, which suits Laplace noise better
    than components do; for Gaussian noise `OptimisedMarginals` is at least as good. Under pure
    differential privacy the problem is not convex, and the shares are a stationary point.
    """

    prices_asked: ClassVar[bool] = True

    def prepare(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
    ) -> "Weighted":
        """Find the marginals and their shares, for `MatrixMechanism` to measure.

        Raises
        ------
        DomainError
            When the marginals have too many subsets, or an attribute has too many categories.
        """
        choices = _choices(domain, workload, budget)
        plans = [_plan(domain, views, workload, budget) for views in choices]
        views, best = min(
            zip(choices, plans, strict=True),
            key=lambda choice: choice[1].expected_error,
        )
        # Tiny shares are dropped, but every marginal of the workload must stay covered.
        least = _LEAST_SHARE * max(best.shares)
        shares = zip(views, best.shares, strict=True)
        kept = {view: share for view, share in shares if share > least}
        sets = {frozenset(view) for view in kept}
        for view in workload:
            own = frozenset(view)
            # Most views are measured themselves; the search among all sets is slower.
            if own not in sets and not any(own <= larger for larger in sets):
                kept[view] = least
                sets.add(own)
        return Weighted(domain, workload, tuple(kept), precise_shares(list(kept.values())))


@dataclass(frozen=True)
class Weighted:
    """A prepared strategy: marginals to measure, their shares of the budget, and the workload."""

    domain: Domain
    workload: Workload
    views: tuple[View, ...]
    shares: tuple[int, ...]

    def answers(self, private: Private) -> list[Marginal]:
        """Measure the marginals with the whole budget, and answer the workload.

        The answers are the best linear unbiased estimates from all tables together.
        """
        measured = private.measure(self.views, shares=self.shares)
        noisy = self._tables(
            [marginal.counts for marginal in measured],
            [float(marginal.variance.flat[0]) for marginal in measured],
        )
        tables = ResidualConsistency()(noisy)
        answers = []
        for view in self.workload:
            axes = self.domain.axes(view)
            ascending = tuple(sorted(axes))
            cell_variance = tables.variance(ascending)
            row = tables.covering(ascending)
            assert row is not None
            counts = in_view_order(tables.project(row, ascending), axes)
            concentration = noisy.concentration_of(ascending, cell_variance, 1.0)
            answers.append(
                Marginal(
                    self.domain.restrict(view, checked=True),
                    counts,
                    np.full(counts.shape, cell_variance),
                    noise_kurtosis=private.budget.kurtosis * concentration,
                )
            )
        return answers

    def expected_error(self, budget: Budget) -> float:
        """The expected squared error of `answers`, in squared rows, summed with the weights."""
        variances = variances_of(budget.counts_at_once(self.shares))
        return error_of_views(self.domain, self.views, variances, self.workload)

    def table_errors(self, budget: Budget) -> list[float]:
        """The expected squared error of each table of the workload, summed over its counts."""
        return table_errors(self.domain, self.workload, self._precision(budget))

    def largest_errors(self, budget: Budget) -> list[float]:
        """The largest expected squared error of a count of each table of the workload."""
        return largest_errors(self.domain, self.workload, self._precision(budget))

    def _precision(self, budget: Budget) -> Precision:
        variances = variances_of(budget.counts_at_once(self.shares))
        axes = [sorted(self.domain.axes(view)) for view in self.views]
        return of_views(self.domain, axes, variances)

    def _tables(
        self,
        values: list[Floats],
        variances: list[float],
    ) -> Tables:
        return tables_of(self.domain, self.views, values, variances)


def _plan(
    domain: Domain,
    views: list[View],
    workload: Workload,
    budget: Budget,
) -> ViewPlan:
    """Compute the best shares of the budget for some views and a workload."""
    return allocate_budget(
        list(domain.sizes),
        [domain.axes(view) for view in views],
        workload=[domain.axes(view) for view in workload],
        weights=workload.weights,
        power=2 if isinstance(budget, PureDP) else 1,
    )


def _choices(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> list[list[View]]:
    """List the sets of marginals that are compared, each a possible choice of what to measure.

    Under pure differential privacy few marginals are better than many, and the descent from many
    does not drive shares to zero. The marginals of the workload alone, and the cuboids of
    `DataCubes`, are then tried as well.
    """
    choices = [_candidates(domain, workload)]
    if isinstance(budget, PureDP):
        choices.append(list(dict.fromkeys(workload.views)))
        with contextlib.suppress(DomainError):  # the domain is too large for DataCubes
            choices.append(DataCubes().cuboids(domain, workload, budget))
    return choices


def _candidates(domain: Domain, workload: Workload) -> list[View]:
    """The views of the workload, their subsets and their unions, unless these are too many or too
    large."""
    views = list(dict.fromkeys(workload.views))
    sets = {frozenset(view) for view in views}
    smaller = [
        view
        for view in closure("WeightedMarginals", domain, views)
        if view and frozenset(view) not in sets
    ]
    if len(views) + len(smaller) <= _MOST_VIEWS:
        views += smaller
    unions = _unions(domain, workload, _MOST_VIEWS - len(views))
    larger = unions - {frozenset(view) for view in views}
    position = domain.position
    named = [tuple(sorted(names, key=lambda name: position[name])) for names in larger]
    return views + sorted(named, key=lambda view: (len(view), [position[name] for name in view]))


def _unions(
    domain: Domain,
    workload: Workload,
    most: int,
) -> set[frozenset[str]]:
    """Unions of views of the workload that are small enough, at most `most`, and the union of all.

    The views themselves are among them.
    """
    unions = {frozenset(view) for view in workload.views}
    whole = frozenset[str]().union(*unions)
    while len(unions) <= _MOST_UNIONS:
        pairs = itertools.combinations(unions, 2)
        grown = unions | {a | b for a, b in pairs if _fits(domain, a | b)}
        if len(grown) == len(unions) or len(grown) > most:
            break
        unions = grown
    return unions | {whole} if _fits(domain, whole) else unions


def _fits(domain: Domain, names: frozenset[str]) -> bool:
    return domain.cells(names) <= _MOST_CELLS
