"""`Auto`: what is measured is chosen by the error it is expected to give."""

import logging
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget
from ...private import Private, Strategy
from ...synopses import ViewSynopsis
from .candidates import Candidate, Candidates
from .strength import Strength, Structure

__all__ = ["Auto", "Structure", "counted_rows", "usual_workload"]

log = logging.getLogger("margin")

_MOST_TRIPLES = 200_000


@dataclass(frozen=True, kw_only=True)
class Auto:
    """Choose between the full table, the residual components of each order, and covers by views of
    many sizes.

    Each is priced by its expected squared error for the workload: what noise leaves, from closed
    forms, and what is not measured, by an assumption about the strength of high-order structure,
    times the square of the number of rows. That number is measured with a part of the budget,
    unless the domain declares it. Nothing else about the data has a say in the choice; `Adaptive`
    pays to learn more. `margin.plan(..., rows=)` shows the same prices before anything is spent.

    Parameters
    ----------
    structure
        How much marginals are assumed to say beyond the marginals on fewer attributes: "weak", as
        in sparse click data, "medium", or "strong", as where some attributes are functions of
        several others.
    count_share
        What part of the budget measures the number of rows where the domain does not declare it, >
        0 and < 1.

    Examples
    --------
    >>> from margin import ZCDP
    >>> Auto(structure="weak").prices(Domain({"a": 2, "b": 2}), None, ZCDP(0.5), rows=1000)[0].note
    '1 view of up to 4 cells'
    """

    structure: Structure = "medium"
    count_share: float = 0.01

    def __post_init__(self) -> None:
        Strength.of(self.structure)
        share = self.count_share
        if (
            isinstance(share, bool)
            or not isinstance(share, int | float | Fraction)
            or not 0 < share < 1
        ):
            raise DomainError(f"count_share ({share!r}) must be a number > 0 and < 1")

    def run(self, private: Private, workload: Workload | None) -> ViewSynopsis:
        """Count the rows, choose, and measure with what is left."""
        domain, budget = private.domain, private.budget
        asked = usual_workload(domain, workload)
        considered = Candidates(domain, asked, budget)
        rows = counted_rows(private, spend=self.count_share)
        chosen = considered.priced(Strength.of(self.structure), rows)[0]
        log.info("measuring %s", chosen.note)
        return chosen.mechanism.run(private, asked)

    def prices(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
        *,
        rows: float,
    ) -> list[Candidate]:
        """All that is considered for about so many rows, with its expected error, the best first;
        nothing is spent.

        Raises
        ------
        DomainError
            When a view is not one of the domain, or `rows` is not a finite number > 0.
        """
        if not (isinstance(rows, int | float) and 0 < rows < math.inf):
            raise DomainError(f"rows ({rows!r}) must be a finite number > 0")
        asked = usual_workload(domain, None if workload is None else Workload.of(domain, workload))
        return Candidates(domain, asked, budget).priced(Strength.of(self.structure), rows)


def usual_workload(domain: Domain, workload: Workload | None) -> Workload:
    """The workload, or all triples of attributes where there is none, or all pairs where these are
    too many."""
    if workload is not None:
        return workload
    few = math.comb(len(domain), 3) <= _MOST_TRIPLES
    return Workload.all_kway(domain, min(3 if few else 2, len(domain)))


def counted_rows(private: Private, *, spend: float) -> float:
    """The number of rows, at least one: that of the domain, or else a noisy one."""
    if private.domain.rows is not None:
        return float(max(1, private.domain.rows))
    (total,) = private.measure_linear([Strategy.total(private.domain)], spend=spend)
    return max(1.0, float(total.values.sum()))
