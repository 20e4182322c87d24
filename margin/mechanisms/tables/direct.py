"""`Direct`: a mechanism that adds noise to every marginal of the workload."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...private import Private
from ...solvers import NonNegativity, Simplex
from ...synopses import MarginalSynopsis
from ..asked import asked
from ..by_table import largest_cells, summed_cells, weighted

__all__ = ["Direct"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Direct:
    """A mechanism that measures each marginal of the workload by itself (Qardaji, Yang and Li,
    SIGMOD 2014, section 3.2).

    The marginals share the budget evenly. Without a workload all pairs of attributes are released.

    Parameters
    ----------
    nonnegativity
        The step that removes negative counts from each marginal. `Simplex()` sets them to zero and
        subtracts the difference evenly from the other counts, as the comparison of that paper does
        (section 5.2). None leaves negative counts.
    """

    prices_asked: ClassVar[bool] = True

    nonnegativity: NonNegativity | None = Simplex()

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> MarginalSynopsis:
        """Run the mechanism: measure the marginals of the workload with the whole budget."""
        measured = private.measure(asked(private.domain, workload))
        return MarginalSynopsis.of(private.domain, measured, self.nonnegativity)

    def expected_error(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> float:
        """The expected squared error of the workload, before negative counts are removed.

        It is in squared rows: the errors of all cells of all marginals are added, each times the
        weight of its marginal. Each marginal has the error of equation (4).
        """
        views = asked(domain, workload)
        return weighted(views, self.table_errors(domain, views, budget))

    def table_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The expected squared error of each table of the workload, before negative counts are
        removed: the summed error of its counts, in squared rows."""
        views = asked(domain, workload)
        noises = budget.counts_at_once(len(views))
        cells = summed_cells(domain, views)
        return [own * noise.variance for own, noise in zip(cells, noises, strict=True)]

    def largest_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The largest expected squared error of a count of each table, as in `table_errors`."""
        views = asked(domain, workload)
        noises = budget.counts_at_once(len(views))
        cells = largest_cells(domain, views)
        return [own * noise.variance for own, noise in zip(cells, noises, strict=True)]
