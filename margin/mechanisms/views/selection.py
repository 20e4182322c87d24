"""How `PriView` chooses its views and what share of the budget each gets, from public facts alone."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...designs import ViewPlan, allocate_budget, choose_views, select_views
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget, PureDP

__all__ = ["BestViews", "PairCover", "Selection"]

_LEAST_SHARE = 1e-6  # below that a view is of no use, and its noise would be larger than any count


class Selection(Protocol):
    """A way to choose views and their shares of the budget; it sees neither the data nor the amount
    of the budget."""

    def plan(
        self, domain: Domain, workload: Workload | None, budget: Budget
    ) -> tuple[list[View], list[float]]:
        """Views, and a share for each, in proportion."""


@dataclass(frozen=True, kw_only=True)
class BestViews:
    """The views and shares of least expected error for the workload.

    Without a workload the views cover all pairs of attributes by tables of 256 cells or more, even
    where smaller ones would answer pairs better: larger views also tell about more attributes at a
    time, which later questions may be about. Their shares are then the best for pairs.

    Parameters
    ----------
    max_cells
        The most cells that a view may have, when there is a workload; 4096, or those of the largest
        view of the workload, when None.
    effort
        How long is searched, counted in work: 1 is about half a second.
    """

    max_cells: int | None = None
    effort: int = 1

    def plan(
        self, domain: Domain, workload: Workload | None, budget: Budget
    ) -> tuple[list[View], list[float]]:
        """See `Selection`."""
        power = _power(budget)
        try:
            if workload is None:
                found = _for_pairs(domain, power)
            else:
                found = select_views(
                    domain.sizes,
                    [domain.axes(view) for view in workload],
                    weights=workload.weights,
                    power=power,
                    max_cells=self.max_cells,
                    effort=self.effort,
                )
        except ValueError as error:
            problem = str(error)
        else:
            return _names(domain, found.views), [max(share, _LEAST_SHARE) for share in found.shares]
        raise DomainError(f"views cannot be chosen: {problem}")


@dataclass(frozen=True, kw_only=True)
class PairCover:
    """Views that cover all pairs of attributes, or all pairs within a view of the workload, in
    equal shares: as published."""

    def plan(
        self, domain: Domain, workload: Workload | None, budget: Budget
    ) -> tuple[list[View], list[float]]:
        """See `Selection`."""
        sets = None if workload is None else _pairs(domain, workload)
        try:
            views = choose_views(domain.sizes, t=2, sets=sets, power=_power(budget))
        except ValueError as error:
            problem = str(error)
        else:
            return _names(domain, views), [1.0] * len(views)
        raise DomainError(f"views cannot be chosen: {problem}")


def _power(budget: Budget) -> int:
    """A cell's noise variance falls with the square of a share of epsilon, but in proportion to a
    share of rho."""
    return 2 if isinstance(budget, PureDP) else 1


def _for_pairs(domain: Domain, power: int) -> ViewPlan:
    views = choose_views(domain.sizes, t=2, power=power)
    pairs = [domain.axes(view) for view in Workload.all_kway(domain, min(2, len(domain)))]
    return allocate_budget(domain.sizes, views, workload=pairs, power=power)


def _pairs(domain: Domain, workload: Workload) -> list[tuple[int, ...]]:
    parts = (
        itertools.combinations(sorted(domain.axes(view)), min(2, len(view))) for view in workload
    )
    return sorted({pair for some in parts for pair in some})


def _names(domain: Domain, views: Sequence[Sequence[object]]) -> list[View]:
    return [
        tuple(domain.attributes[axis] for axis in view if isinstance(axis, int)) for view in views
    ]
