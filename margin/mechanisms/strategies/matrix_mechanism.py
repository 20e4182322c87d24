"""`MatrixMechanism`: a mechanism that answers a workload from other linear queries (a strategy)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...domain.domain import Domain
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...privacy.budget import Budget, PureDP
from ...private import Private
from ...solvers import JointProjection, NonNegativity, Simplex
from ...synopses import MarginalSynopsis
from ..asked import asked
from ..axis_queries import asked_queries
from ..query_bases.removal import removal
from .optimised_marginals import OptimisedMarginals
from .weighted_marginals import WeightedMarginals

__all__ = ["MatrixMechanism", "Prepared", "StrategyDesign"]


class Prepared(Protocol):
    """The interface of a prepared strategy: linear queries chosen for one workload."""

    def answers(self, private: Private, /) -> Sequence[Marginal]:
        """Measure the queries, and return unbiased estimates of the marginals of the workload, in
        its order; counts and variances have the shape of their view."""

    def expected_error(self, budget: Budget, /) -> float:
        """The expected squared error of `answers`, in squared rows.

        The errors of all cells are added, each times the weight of its marginal.
        """

    def table_errors(self, budget: Budget, /) -> list[float]:
        """The expected squared error of each table of the workload, summed over its counts."""

    def largest_errors(self, budget: Budget, /) -> list[float]:
        """The largest expected squared error of a count of each table of the workload."""


class StrategyDesign(Protocol):
    """The interface of a strategy: a way to choose linear queries for a workload.

    Any object with this method is a strategy. If the class has `prices_asked = True`, the errors of
    what it prepares are of the prefixes, ranges or levels that the workload asks; see `plan`.
    """

    def prepare(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
        /,
    ) -> Prepared:
        """Choose the queries for a workload and a kind of budget, without access to the data."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class MatrixMechanism:
    """A mechanism that measures other linear queries than those of the workload, and computes the
    answers by least squares (Li et al., PODS 2010).

    Let W be the matrix of the workload, and A the matrix of the measured queries, the strategy.

    The answers are unbiased and agree with each other. Their expected squared error is
    trace(W (A'A)^+ W') times the variance of the noise. The entries of A are integers, so its
    sensitivity and its true answers are exact. Without a workload all pairs of attributes are
    released.

    If the workload asks prefixes, ranges or levels of attributes (`Workload.asked`), W has these
    queries: expected errors are theirs, and A is chosen for them by `EigenDesign`, `LowRank` and
    `Semidefinite`. `OptimisedMarginals` chooses its shares for them. `WeightedMarginals`, and
    `OptimisedMarginals` with `largest=True`, choose for cells. `Residual` often has a smaller error
    on large domains, because its components follow the queries, too.

    The release knows the variance of each cell of the workload's marginals. It does not hold the
    covariances, so the intervals of sums of cells, of `difference` and of `ratio` are NaN: ask in
    the workload for the marginals whose cells are the counts that need one.

    Parameters
    ----------
    strategy
        The object that chooses A; see `margin.mechanisms.strategies`. `OptimisedMarginals` and
        `WeightedMarginals` take any number of attributes; `EigenDesign`, `LowRank` and
        `Semidefinite` take small domains. None takes `OptimisedMarginals`, which is optimal for
        Gaussian noise; under pure differential privacy it takes `WeightedMarginals` if that has the
        smaller expected error.
    nonnegativity
        The step that removes negative counts from each marginal; None leaves them. Where the
        workload asks prefixes, ranges or levels, `QueryProjection` takes the place of `Simplex`.

    Examples
    --------
    >>> import margin
    >>> table = {"a": [0, 1] * 50, "b": [0, 1] * 50}
    >>> made = margin.release(
    ...     table,
    ...     domain={"a": 2, "b": 2},
    ...     budget=margin.PureDP(1),
    ...     mechanism=margin.MatrixMechanism(),
    ...     workload=[["a", "b"]],
    ... )
    >>> made.marginal(["a", "b"]).counts.shape
    (2, 2)
    """

    strategy: StrategyDesign | None = None
    nonnegativity: NonNegativity | None = Simplex()

    @property
    def prices_asked(self) -> bool:
        """Whether `expected_error` is of what the workload asks: if that of the strategy is."""
        return self.strategy is None or getattr(self.strategy, "prices_asked", False)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> MarginalSynopsis:
        """Run the mechanism: choose the queries, measure them with the whole budget, and answer the
        workload."""
        domain = private.domain
        views = asked(domain, workload)
        answers = self._prepared(domain, views, private.budget).answers(private)
        # Each table by itself: the method depends on what is asked of its attributes.
        tables = [
            MarginalSynopsis.of(domain, [answer], self._removal(answer, views)).held[0]
            for answer in answers
        ]
        return MarginalSynopsis(domain=domain, held=tuple(tables))

    def _removal(self, answer: Marginal, workload: Workload) -> NonNegativity | None:
        """The method that removes negative counts from a marginal of the workload.

        `Simplex` lowers many cells by the same number, which adds up in a range. So
        `QueryProjection` takes its place where prefixes, ranges or levels are asked.
        """
        named = {name: ask for name, ask in workload.asked.items() if name in answer.domain}
        own = Workload.of(answer.domain, [answer.attributes], asked=named)
        if not isinstance(self.nonnegativity, Simplex) or not asked_queries(answer.domain, own):
            return self.nonnegativity
        return removal(answer.domain, own, JointProjection(), cells=answer.counts.size)

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

    def table_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The expected squared error of each table of the workload, before negative counts are
        removed: the summed error of its counts, in squared rows."""
        prepared = self._prepared(domain, asked(domain, workload), budget)
        return prepared.table_errors(budget)

    def largest_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The largest expected squared error of a count of each table, as in `table_errors`."""
        prepared = self._prepared(domain, asked(domain, workload), budget)
        return prepared.largest_errors(budget)

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
