"""The candidates of `Auto` for workloads that ask prefixes, ranges or levels."""

import contextlib
import math
from collections.abc import Iterator

from ...domain.countable import countable
from ...domain.domain import Domain
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget
from ...private import Private
from ...synopses import LevelSynopsis, ViewSynopsis
from ..by_table import table_errors, weighted
from ..ordered.level_counts import LevelCounts
from ..views.priview import PriView
from .begin import begin
from .candidates import Candidate
from .offers import best_views, covers
from .residual import Residual

__all__ = ["asked_candidates", "measured_as_asked"]

_MOST_CELLS = 1 << 26
"""Largest number of cells of all tables that are made of components."""

_LONGEST = 10
"""Largest number of attributes of a view for which covers are priced."""


def measured_as_asked(
    private: Private,
    workload: Workload,
) -> ViewSynopsis | LevelSynopsis:
    """Measure the best mechanism for a workload that asks more than cells, with the whole budget.

    Raises
    ------
    DomainError
        When no mechanism can measure what is asked.
    """
    best = asked_candidates(private.domain, workload, private.budget)[0]
    begin(private, f"measuring {best.note}")
    return best.mechanism.run(private, workload)


def asked_candidates(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> list[Candidate]:
    """List mechanisms for a workload that asks more than cells, the best first.

    They are components in bases for the queries (`Residual`), the levels of a tree (`LevelCounts`),
    and views that hold all components: the covers of `Candidates`, and the views that `PriView`
    chooses for the workload. The errors are the closed forms of the noise in the asked queries,
    before negative counts are removed.

    Raises
    ------
    DomainError
        When no mechanism can measure what is asked.
    """
    found = []
    order = max(map(len, workload))
    cells = sum(domain.cells(view) for view in workload)
    mechanisms: list[tuple[Residual | LevelCounts, str]] = []
    if cells <= _MOST_CELLS:
        mechanisms.append((Residual(order=order), "components for the queries that are asked"))
    # The levels of a tree are measured and made consistent without other tables.
    if "levels" in workload.asked.values() and not domain.known:
        mechanisms.append((LevelCounts(), "all levels of a tree"))
    problem = ""
    for mechanism, note in mechanisms:
        try:
            error = mechanism.expected_error(domain, workload, budget)
        except DomainError as refused:
            problem = str(refused)
        else:
            found.append(Candidate(mechanism=mechanism, note=note, noise=error, missed=0.0))
    found += _views(domain, workload, budget)
    if not found:
        raise DomainError(
            "prefixes, ranges or levels must be asked of views that can be measured, but these "
            f"views are too large ({problem}); ask for fewer attributes or wider bins"
        )
    return sorted(found, key=lambda candidate: candidate.error)


def _views(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Iterator[Candidate]:
    """The sets of views that hold all components of the workload, and their errors."""
    if max(map(len, workload)) > _LONGEST:
        return
    sets_of_views = [*covers(domain, workload, budget), *best_views(domain, workload, budget)]
    for offer in sets_of_views:
        error = weighted(workload, table_errors(domain, workload, offer.precision))
        assert isinstance(offer.mechanism, PriView)
        if math.isfinite(error):
            with contextlib.suppress(DomainError):
                countable(domain, offer.mechanism.views or ())
                yield Candidate(
                    mechanism=offer.mechanism,
                    note=offer.note,
                    noise=error,
                    missed=0.0,
                )
