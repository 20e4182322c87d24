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
    """Linear queries that a strategy has chosen for a workload."""

    def answers(self, private: Private, /) -> Sequence[Marginal]:
        """Measure the queries, and return unbiased estimates of the marginals of the workload."""

    def expected_error(self, budget: Budget, /) -> float:
        """The expected squared error of `answers`, in squared rows.

        The errors of all cells are added, each times the weight of its marginal.
        """


class StrategyDesign(Protocol):
    """A way to choose linear queries: any object with this method."""

    def prepare(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
        /,
    ) -> Prepared:
        """Choose the queries; this has no access to the data."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class MatrixMechanism:
    """Measure a strategy A of linear queries instead of the workload W, and answer by least squares
    (Li et al., PODS 2010).

    The answers are unbiased and agree with each other. Their expected squared error is
    trace(W (A'A)^+ W') times the variance of the noise. The entries of A are integers, so its
    sensitivity and its true answers are exact. Without a workload all pairs of attributes are
    released.

    Parameters
    ----------
    strategy
        Chooses A; see `margin.mechanisms.strategies`. `OptimisedMarginals` and `WeightedMarginals`
        take any number of attributes; `EigenDesign`, `LowRank` and `Semidefinite` take small
        domains. None takes `OptimisedMarginals`, which is optimal for Gaussian noise; under pure
        differential privacy it takes `WeightedMarginals` where that has the smaller expected error.
    nonnegativity
        Removes negative counts from each marginal; see `Direct`.
    """

    strategy: StrategyDesign | None = None
    nonnegativity: NonNegativity | None = Simplex()

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> MarginalSynopsis:
        """Choose the strategy, measure it with the whole budget, and answer the workload."""
        domain = private.domain
        prepared = self._prepared(domain, asked(domain, workload), private.budget)
        return MarginalSynopsis.of(domain, prepared.answers(private), self.nonnegativity)

    def expected_error(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> float:
        """The expected squared error of the workload, before negative counts are removed.

        It is in squared rows: the errors of all cells of all marginals are added, each times the
        weight of its marginal.
        """
        return self._prepared(
            domain,
            asked(domain, workload),
            budget,
        ).expected_error(budget)

    def _prepared(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
    ) -> Prepared:
        if self.strategy is not None:
            return self.strategy.prepare(domain, workload, budget)
        components: Prepared = OptimisedMarginals().prepare(domain, workload, budget)
        if not isinstance(budget, PureDP):
            return components
        marginals: Prepared = WeightedMarginals().prepare(domain, workload, budget)
        return min(
            marginals,
            components,
            key=lambda prepared: prepared.expected_error(budget),
        )
