"""`Flat`: a mechanism that adds noise to every cell of the full table."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...private import Private
from ...solvers import NonNegativity
from ...synopses import TableSynopsis
from ...synopses.noisy_tables import tables_of
from ..asked import asked, check_reach
from ..by_table import largest_cells, summed_cells, weighted

__all__ = ["Flat"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Flat:
    """A mechanism that measures the full table (Qardaji, Yang and Li, SIGMOD 2014, section 3.1).

    Any marginal is a sum of its cells. This is accurate on small domains and very inaccurate on
    large ones: the error of every marginal is the number of cells of the full table times the
    variance of the noise (equation 3).

    Parameters
    ----------
    nonnegativity
        The step that removes negative counts from the full table. None, the default, leaves them;
        sums of many cells are then unbiased, as published.
    max_cells
        The largest number of cells of the full table that is accepted.
    """

    prices_asked: ClassVar[bool] = True

    nonnegativity: NonNegativity | None = None
    max_cells: int = 1 << 24

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> TableSynopsis:
        """Run the mechanism: measure the table of all attributes with the whole budget."""
        self._check(private.domain)
        domain = private.domain
        (measured,) = private.measure([domain.attributes])
        table = measured.counts
        variance = float(measured.variance.flat[0])
        if self.nonnegativity is not None:
            tables = tables_of(domain, [domain.attributes], [table], [variance])
            (table,) = self.nonnegativity(tables).values
        return TableSynopsis(
            domain=domain,
            table=table,
            variance=variance,
            covariances={},
            kurtosis=float(measured.noise_kurtosis),
        )

    def expected_error(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> float:
        """The expected squared error of the workload, before negative counts are removed.

        It is in squared rows: the errors of all cells of all marginals are added, each times the
        weight of its marginal. Each marginal has the error of equation (3).
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
        return self._errors(domain, views, summed_cells(domain, views), budget)

    def largest_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The largest expected squared error of a count of each table, as in `table_errors`."""
        views = asked(domain, workload)
        return self._errors(domain, views, largest_cells(domain, views), budget)

    def _errors(
        self,
        domain: Domain,
        views: Workload,
        cells: Sequence[float],
        budget: Budget,
    ) -> list[float]:
        """For each table, the variance of the sum of `cells` of its cells."""
        self._check(domain)
        (noise,) = budget.counts_at_once(1)
        every = math.prod(domain.sizes)
        # A cell of a table adds up all cells of the attributes that the table lacks.
        return [
            every / domain.cells(view) * own * noise.variance
            for view, own in zip(views, cells, strict=True)
        ]

    def _check(self, domain: Domain) -> None:
        instead = "PriView, Direct, Fourier or MatrixMechanism(), which do not hold it"
        check_reach(
            "Flat",
            math.prod(domain.sizes),
            self.max_cells,
            instead=instead,
            limit="max_cells",
        )
