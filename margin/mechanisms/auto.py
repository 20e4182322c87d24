"""`Auto`: what is measured is chosen by the error it is expected to give."""

import logging
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ..budget import Budget
from ..domain import Domain
from ..errors import DomainError
from ..private import Private, Strategy
from ..synopses import ViewSynopsis
from ..workload import Workload
from ._candidates import Candidate, candidates
from ._strength import Strength, Structure
from .priview import PriView

__all__ = ["Auto", "counted_rows", "usual_workload"]

log = logging.getLogger("margin")

_MOST_TRIPLES = 200_000


@dataclass(frozen=True, kw_only=True)
class Auto:
    """Choose between the full table, the residual components of each order, and covers by views of many sizes.

    Each is priced by its expected squared error for the workload: that of the noise in closed form, and that of what is
    not measured by an assumption about the strength of high-order structure, times the square of the number of rows.
    That number is measured with a part of the budget. Nothing else about the data has a say in the choice; `Adaptive`
    pays to learn more. `margin.plan(..., rows=)` shows the same prices before anything is spent.

    Parameters
    ----------
    structure
        How much marginals are assumed to say beyond the marginals on fewer attributes: "weak", as in sparse click data,
        "medium", or "strong", as where some attributes are functions of several others.
    count_share
        What part of the budget measures the number of rows, > 0 and < 1.

    Examples
    --------
    >>> Auto(structure="weak").choice(Domain({"a": 2, "b": 2}), None, ZCDP(0.5), rows=1000).note
    'components of up to 2 attributes'
    """

    structure: Structure = "medium"
    count_share: float = 0.01

    def __post_init__(self) -> None:
        Strength.of(self.structure)
        share = self.count_share
        if isinstance(share, bool) or not isinstance(share, int | float | Fraction) or not 0 < share < 1:
            raise DomainError(f"count_share ({share!r}) must be a number > 0 and < 1")

    def run(self, private: Private, workload: Workload | None) -> ViewSynopsis:
        """Count the rows, choose, and measure with what is left."""
        domain, budget = private.domain, private.budget
        asked = usual_workload(domain, workload)
        found = candidates(domain, asked, budget, Strength.of(self.structure))
        rows = counted_rows(private, spend=self.count_share)
        chosen = _best(found, rows)
        log.info("measuring %s", chosen.note)
        return chosen.mechanism.run(private, asked)

    def choice(
        self, domain: Domain, workload: Workload | Iterable[Iterable[str]] | None, budget: Budget, *, rows: float
    ) -> Candidate:
        """What would be measured for about so many rows, and its price; nothing is spent."""
        return _best(self.priced(domain, workload, budget), rows)

    def priced(
        self, domain: Domain, workload: Workload | Iterable[Iterable[str]] | None, budget: Budget
    ) -> list[Candidate]:
        """All that is considered, with its prices."""
        asked = usual_workload(domain, None if workload is None else Workload.of(domain, workload))
        return candidates(domain, asked, budget, Strength.of(self.structure))


def usual_workload(domain: Domain, workload: Workload | None) -> Workload:
    """The workload, or all triples of attributes where there is none, or all pairs where these are too many."""
    if workload is not None:
        return workload
    few = math.comb(len(domain), 3) <= _MOST_TRIPLES
    return Workload.all_kway(domain, min(3 if few else 2, len(domain)))


def counted_rows(private: Private, *, spend: float) -> float:
    """A noisy number of rows, at least one."""
    (total,) = private.measure_linear([Strategy.total(private.domain)], spend=spend)
    return max(1.0, float(total.values.sum()))


def _best(found: list[Candidate], rows: float) -> Candidate:
    if not found:  # too many attributes to compare
        return Candidate(mechanism=PriView(), note="a cover of all pairs", noise=math.nan, missed=math.nan)
    return min(found, key=lambda candidate: candidate.error(rows))
