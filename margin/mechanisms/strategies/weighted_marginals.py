"""`WeightedMarginals`: a set of marginals, each measured with its best share of the budget."""

import contextlib
import itertools
from dataclasses import dataclass

import numpy as np

from ..._types import Floats
from ...designs import allocate_budget
from ...domain.domain import Domain, View
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget, PureDP
from ...private import Private
from ...solvers import ResidualConsistency, Tables
from ...synopses.noisy_tables import tables_of
from ..components import closure, precise_shares
from .data_cubes import DataCubes

__all__ = ["WeightedMarginals"]

_MOST_VIEWS = 1 << 12
_MOST_CELLS = 1 << 20
_NOTHING = 1e-4  # a share below this part of the largest is dropped


@dataclass(frozen=True, kw_only=True)
class WeightedMarginals:
    """Measure whole marginals, those of the workload and smaller and larger ones, with shares that
    minimise the error.

    Non-uniform budgets (Cormode et al., ICDE 2012) over the marginals that OPT_M chooses from
    (McKenna et al., VLDB 2018). Each table has sensitivity one, which suits Laplace noise better
    than components do; for Gaussian noise `OptimisedMarginals` is at least as good. Under pure
    differential privacy the shares are a stationary point of a problem that is not convex.
    """

    def prepare(self, domain: Domain, workload: Workload, budget: Budget) -> "Weighted":
        """The marginals and their shares; see `MatrixMechanism`."""
        power = 2 if isinstance(budget, PureDP) else 1
        sizes, asked = list(domain.sizes), [domain.axes(view) for view in workload]
        choices = _choices(domain, workload, budget)
        plans = [
            allocate_budget(
                sizes,
                list(map(domain.axes, views)),
                workload=asked,
                weights=workload.weights,
                power=power,
            )
            for views in choices
        ]
        views, best = min(
            zip(choices, plans, strict=True), key=lambda choice: choice[1].expected_error
        )
        least = _NOTHING * max(best.shares)
        kept = {
            view: share for view, share in zip(views, best.shares, strict=True) if share > least
        }
        for view in workload:
            if not any(set(view) <= set(larger) for larger in kept):
                kept[view] = least
        return Weighted(domain, workload, tuple(kept), precise_shares(list(kept.values())))


@dataclass(frozen=True)
class Weighted:
    """Marginals with shares, and the workload that they are to answer."""

    domain: Domain
    workload: Workload
    views: tuple[View, ...]
    shares: tuple[int, ...]

    def answers(self, private: Private) -> list[Marginal]:
        """See `Prepared`: the best linear unbiased estimates from all tables together."""
        measured = private.measure(self.views, shares=self.shares)
        tables = ResidualConsistency()(
            self._tables(
                [m.counts for m in measured], [float(m.variance.flat[0]) for m in measured]
            )
        )
        answers = []
        for view in self.workload:
            axes = self.domain.axes(view)
            row = tables.covering(tuple(sorted(axes)))
            assert row is not None
            counts = tables.project(row, tuple(sorted(axes))).transpose(
                np.argsort(np.argsort(axes))
            )
            variance = np.full(counts.shape, tables.variance(tuple(sorted(axes))))
            answers.append(Marginal(self.domain.restrict(view, checked=True), counts, variance))
        return answers

    def expected_error(self, budget: Budget) -> float:
        """See `Prepared`."""
        variances = [noise.variance for noise in budget.counts_at_once(self.shares)]
        tables = self._tables([np.zeros(self.domain.shape(view)) for view in self.views], variances)
        return sum(
            weight
            * self.domain.cells(view)
            * tables.variance(tuple(sorted(self.domain.axes(view))))
            for view, weight in zip(self.workload, self.workload.weights, strict=True)
        )

    def _tables(self, values: list[Floats], variances: list[float]) -> Tables:
        return tables_of(self.domain, self.views, values, variances)


def _choices(domain: Domain, workload: Workload, budget: Budget) -> list[list[View]]:
    """Sets of marginals to share the budget. Under pure differential privacy few are better than
    many, and the shares are not driven to zero from afar: the workload's own, and those that
    `DataCubes` takes, are tried too."""
    choices = [_candidates(domain, workload)]
    if isinstance(budget, PureDP):
        choices.append(list(dict.fromkeys(workload.views)))
        with contextlib.suppress(DomainError):  # beyond its reach
            choices.append(DataCubes().cuboids(domain, workload, budget))
    return choices


def _candidates(domain: Domain, workload: Workload) -> list[View]:
    """The workload's views, their subsets, and their unions, as long as these are not too many or
    too large."""
    views = list(dict.fromkeys(workload.views))
    sets = {frozenset(view) for view in views}
    smaller = [
        view
        for view in closure("WeightedMarginals", domain, views)
        if view and frozenset(view) not in sets
    ]
    if len(views) + len(smaller) <= _MOST_VIEWS:
        views += smaller
    sets = {frozenset(view) for view in views}
    unions = {frozenset(view) for view in workload.views}
    whole = frozenset().union(*unions)
    while len(unions) ** 2 <= _MOST_VIEWS * 16:
        grown = unions | {
            a | b for a, b in itertools.combinations(unions, 2) if _fits(domain, a | b)
        }
        if len(grown) == len(unions) or len(grown) + len(views) > _MOST_VIEWS:
            break
        unions = grown
    larger = (unions | ({whole} if _fits(domain, whole) else set())) - sets
    position = domain.position
    named = [tuple(sorted(names, key=lambda name: position[name])) for names in larger]
    return views + sorted(named, key=lambda view: (len(view), [position[name] for name in view]))


def _fits(domain: Domain, names: frozenset[str]) -> bool:
    return domain.cells(names) <= _MOST_CELLS
