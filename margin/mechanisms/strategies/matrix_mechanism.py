"""`MatrixMechanism`: answer a workload by way of other linear queries, chosen for it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...domain.domain import Domain
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...privacy.budget import Budget, PureDP
from ...private import Private
from ...solvers import NonNegativity, Simplex
from ...synopses import MarginalSynopsis
from ..asked import asked
from .optimised_marginals import OptimisedMarginals
from .weighted_marginals import WeightedMarginals

__all__ = ["MatrixMechanism", "Prepared", "StrategyDesign"]


class Prepared(Protocol):
    """Linear queries that have been chosen for a workload."""

    def answers(self, private: Private, /) -> Sequence[Marginal]:
        """Measure them, and make the workload's marginals of what was measured, without bias."""

    def expected_error(self, budget: Budget, /) -> float:
        """The expected squared error of `answers` over all cells, times the weights of the
        workload."""


class StrategyDesign(Protocol):
    """A way to choose linear queries; any object with this method is one."""

    def prepare(self, domain: Domain, workload: Workload, budget: Budget, /) -> Prepared:
        """Choose, without looking at the data."""


@dataclass(frozen=True, kw_only=True)
class MatrixMechanism:
    """Measure a strategy A of linear queries instead of the workload W, and answer by least squares
    (Li et al., PODS 2010).

    The answers are unbiased and agree with each other; their expected squared error is trace(W
    (A'A)^+ W') times the variance of the noise. A is made of integers, so that its sensitivity and
    its true answers are exact. Without a workload all pairs of attributes are released.

    Parameters
    ----------
    strategy
        How A is chosen: `OptimisedMarginals` or `WeightedMarginals`, for any number of attributes;
        `EigenDesign`, `LowRank` or `Semidefinite`, for small domains. None takes
        `OptimisedMarginals`, which is the best for Gaussian noise, and under pure differential
        privacy `WeightedMarginals` where its expected error is less.
    nonnegativity
        Removes negative counts from each marginal; see `Direct`.
    """

    strategy: StrategyDesign | None = None
    nonnegativity: NonNegativity | None = Simplex()

    def run(self, private: Private, workload: Workload | None) -> MarginalSynopsis:
        """Choose the strategy, measure it with the whole budget, and answer the workload."""
        prepared = self._prepared(private.domain, asked(private.domain, workload), private.budget)
        return MarginalSynopsis.of(private.domain, prepared.answers(private), self.nonnegativity)

    def expected_error(
        self, domain: Domain, workload: Workload | Iterable[Iterable[str]] | None, budget: Budget
    ) -> float:
        """The expected squared error over all cells of all marginals of the workload, times their
        weights, before negative counts are removed."""
        return self._prepared(domain, asked(domain, workload), budget).expected_error(budget)

    def _prepared(self, domain: Domain, workload: Workload, budget: Budget) -> Prepared:
        if self.strategy is not None:
            return self.strategy.prepare(domain, workload, budget)
        components: Prepared = OptimisedMarginals().prepare(domain, workload, budget)
        if not isinstance(budget, PureDP):
            return components
        marginals: Prepared = WeightedMarginals().prepare(domain, workload, budget)
        return min(marginals, components, key=lambda prepared: prepared.expected_error(budget))
