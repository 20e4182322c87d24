"""The default workloads of mechanisms, its expected error, and the refusal of large domains."""

import math
from collections.abc import Iterable, Sequence

from ..designs import least_squares_error
from ..domain.domain import Domain, View, check_domain
from ..domain.workload import Workload
from ..errors import DomainError
from ..synopses.noisy_tables import LEAST_VARIANCE
from .by_table import of_views, table_errors, weighted

__all__ = ["asked", "check_reach", "error_of_views", "usual_workload"]

_MOST_TRIPLES = 200_000
"""Number of triples of attributes above which pairs are the usual workload."""


def asked(
    domain: Domain,
    workload: Workload | Iterable[Iterable[str]] | None,
) -> Workload:
    """Check a workload; None stands for the workload of all pairs of attributes."""
    check_domain(domain)
    if workload is None:
        return Workload.all_kway(domain, min(2, len(domain)))
    checked = Workload.of(domain, workload)
    checked.check_listed()
    return checked


def usual_workload(domain: Domain, workload: Workload | None) -> Workload:
    """The given workload, or a default one for None: all triples of attributes, or all pairs if
    there are too many triples."""
    if workload is not None:
        return workload
    few = math.comb(len(domain), 3) <= _MOST_TRIPLES
    return Workload.all_kway(domain, min(3 if few else 2, len(domain)))


def error_of_views(
    domain: Domain,
    views: Sequence[View],
    variances: Sequence[float],
    workload: Workload,
) -> float:
    """The expected squared error of the least-squares answers from noisy views, in squared rows.

    The errors of all cells are added, each times the weight of its marginal. The number of rows and
    the known tables, if the domain declares them, are used too. It is infinite if a marginal is in
    no view. Where the workload names levels, or asks prefixes or ranges, the cells are the counts
    that are asked.

    Parameters
    ----------
    domain
        The attributes.
    views, variances
        The views, and the variance of the noise in each cell of each view, in squared rows.
    workload
        The marginals that are answered, and their weights.
    """
    if workload.levels or workload.asked:
        precision = of_views(domain, [sorted(domain.axes(view)) for view in views], variances)
        return weighted(workload, table_errors(domain, workload, precision))
    # A variance that a large budget makes zero as a float counts as the least one.
    positive = [max(variance, LEAST_VARIANCE) for variance in variances]
    # A known table is a view without noise.
    known: list[tuple[int, ...]] = []
    if domain.constraints is not None:
        known = [(), *domain.constraints.views]  # the number of rows is known too
    return least_squares_error(
        domain.sizes,
        [*map(domain.axes, views), *known],
        [*positive, *([LEAST_VARIANCE] * len(known))],
        workload=[domain.axes(view) for view in workload],
        weights=workload.weights,
    )


def check_reach(
    name: str,
    needed: int,
    most: int,
    *,
    what: str = "cells of the full table",
    instead: str,
    limit: str = "",
) -> None:
    """Raise DomainError when a method needs more than it can hold.

    The numbers depend on the domain alone, not on the data.

    Parameters
    ----------
    name
        The method, for the message.
    needed, most
        The number of `what` that it needs here, and the largest number it can hold.
    what
        The unit of these numbers, for the message.
    instead
        Other methods that can be used, for the message.
    limit
        The parameter of the method that is `most`; empty if no parameter changes it.
    """
    if needed <= most:
        return
    needs = f"{name} needs {_shown(needed)} {what} here"
    if limit:
        raise DomainError(
            f"{needs}, but its {limit} is {_shown(most)}; raise {limit}, if memory and time "
            f"suffice, or use {instead}"
        )
    raise DomainError(f"{needs}, but at most {_shown(most)} are possible; use {instead}")


def _shown(number: int) -> str:
    """A number with separators, or its order of magnitude if it is long."""
    if number < 10**15:
        return f"{number:,}"
    return f"about 10**{len(str(number)) - 1}"
