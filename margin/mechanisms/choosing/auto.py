"""`Auto`: a mechanism that chooses what to measure by its expected error."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ..._checks import positive_number, share
from ...domain.domain import Domain, domain_of
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...private import Private, Strategy
from ...solvers import JointProjection
from ...synopses import LevelSynopsis, ViewSynopsis
from ..asked import usual_workload
from .asked_candidates import asked_candidates, measured_as_asked
from .begin import begin
from .candidates import Candidate, Candidates
from .drowned import without_drowned
from .strength import Strength, Structure

__all__ = ["Auto", "Structure", "counted_rows"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Auto:
    """A mechanism that measures the candidate with the smallest expected error.

    The candidates are the full table, the residual components of each order, and covers by views
    of many sizes. For each candidate, the expected squared error for the workload is computed. The
    error of noise has a closed form. The error of missing components follows from an assumption
    about the strength of high-order structure, times the square of the number of rows. A part of
    the budget measures the number of rows, unless the domain declares it. The choice uses nothing
    else about the data; `Adaptive` spends budget on learning more. Afterwards, components that are
    more noise than signal are left out, by what was measured. If the workload asks prefixes,
    ranges or levels, the candidates are components in bases for them (`Residual`), all levels of a
    tree (`LevelCounts`), and the covers by views that hold what is asked; the closed forms of their
    errors decide. `margin.plan(..., rows=)` shows
    the same errors before anything is spent.

    Parameters
    ----------
    structure
        The assumed difference between marginals and their estimates from fewer attributes:
        "weak", as in sparse click data; "medium"; or "strong", as in tables in which some
        attributes are functions of several others.
    count_share
        The share of the budget, > 0 and < 1, that measures the number of rows if the domain does
        not declare it.

    Examples
    --------
    >>> from margin import ZCDP
    >>> Auto(structure="weak").prices(Domain({"a": 2, "b": 2}), None, ZCDP(0.5), rows=1000)[0].note
    '1 view of up to 4 cells'
    """

    keeps_known: ClassVar[bool] = True

    structure: Structure = "medium"
    count_share: float = 0.01

    def __post_init__(self) -> None:
        Strength.of(self.structure)
        share("count_share", self.count_share)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ViewSynopsis | LevelSynopsis:
        """Run the mechanism: count the rows, choose a candidate, and measure it with the rest."""
        domain, budget = private.domain, private.budget
        asked = usual_workload(domain, workload)
        if asked.asked:
            return measured_as_asked(private, asked)
        considered = Candidates(domain, asked, budget)
        rows, _ = counted_rows(private, spend=self.count_share)
        chosen = considered.priced(Strength.of(self.structure), max(1.0, rows))[0]
        begin(private, f"measuring {chosen.note}")
        synopsis = chosen.mechanism.run(private, asked)
        assert isinstance(synopsis, ViewSynopsis)  # levels are measured only if they are asked
        return without_drowned(synopsis, asked, JointProjection())

    def prices(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
        *,
        rows: float,
    ) -> list[Candidate]:
        """List all candidates with their expected errors, the best first; this spends no budget.

        Parameters
        ----------
        domain, workload, budget
            As in `margin.release`.
        rows
            The approximate number of rows, > 0.

        Raises
        ------
        DomainError
            When a view is not one of the domain, or `rows` is not a finite number > 0.
        """
        positive_number("rows", rows)
        domain = domain_of(domain)
        asked = usual_workload(domain, None if workload is None else Workload.of(domain, workload))
        if asked.asked:
            return asked_candidates(domain, asked, budget)
        return Candidates(domain, asked, budget).priced(Strength.of(self.structure), rows)


def counted_rows(
    private: Private,
    *,
    spend: float,
) -> tuple[float, float]:
    """The number of rows and the variance of its noise: declared by the domain, or else measured.

    `spend` is the share of the budget that the measurement takes. A declared number has variance 0.
    """
    if private.domain.rows is not None:
        return float(private.domain.rows), 0.0
    begin(private, "counting the rows")
    (total,) = private.measure_linear([Strategy.total(private.domain)], spend=spend)
    return float(total.values.sum()), total.variance
