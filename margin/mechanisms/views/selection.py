"""The choice of the views of `PriView` and of their shares of the budget, without the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from ...designs import ViewPlan, allocate_budget, choose_views, select_views
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget, PureDP

__all__ = ["BestViews", "Selection"]

_LEAST_SHARE = 1e-6
"""Smallest share of a view. With less its noise could exceed the largest count that is allowed."""


class Selection(Protocol):
    """A way to choose views and their shares of the budget from public facts, without the data."""

    def plan(
        self,
        domain: Domain,
        workload: Workload | None,
        budget: Budget,
    ) -> tuple[list[View], list[float]]:
        """Choose views, and one number > 0 for each; the budget is divided in proportion to these
        numbers."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class BestViews:
    """A selection of the views and shares that have the least expected error for the workload.

    Without a workload the views cover all pairs of attributes, with tables of 256 cells or more.
    Smaller tables might answer pairs more accurately. Larger ones also show the relation between
    more attributes, which later questions may need. Their shares are the best for pairs.

    Parameters
    ----------
    max_cells
        The largest number of cells of a view, if there is a workload. None takes 4096, or the
        number of cells of the largest view of the workload if that is more.
    effort
        The amount of search; 1 is about half a second.
    """

    max_cells: int | None = None
    effort: int = 1

    def plan(
        self,
        domain: Domain,
        workload: Workload | None,
        budget: Budget,
    ) -> tuple[list[View], list[float]]:
        """Search for views and their shares; see `Selection.plan`."""
        power = power_of(budget)
        try:
            if workload is None:
                found = _for_pairs(domain, power)
            else:
                found = self._for_workload(domain, workload, power)
        except ValueError as error:
            problem = str(error)
        else:
            return named(domain, found.views), [max(share, _LEAST_SHARE) for share in found.shares]
        raise DomainError(f"views cannot be chosen: {problem}")

    def _for_workload(
        self,
        domain: Domain,
        workload: Workload,
        power: int,
    ) -> ViewPlan:
        """The views and shares for a workload, each view of at least one attribute."""
        workload.check_listed()
        return _best_plan(
            tuple(domain.sizes),
            tuple(tuple(domain.axes(view)) for view in workload),
            tuple(workload.weights),
            power,
            self.max_cells,
            self.effort,
        )


# A publication makes several releases with one domain and one workload, and so does a comparison.
@lru_cache(maxsize=16, typed=True)
def _best_plan(
    sizes: tuple[int, ...],
    marginals: tuple[tuple[int, ...], ...],
    weights: tuple[float, ...],
    power: int,
    max_cells: int | None,
    effort: int,
) -> ViewPlan:
    """The views and shares of `BestViews` for a workload, kept from plan to plan: all arguments are
    public, and the search gives the same views for the same arguments."""
    found = select_views(
        sizes,
        marginals,
        weights=weights,
        power=power,
        max_cells=max_cells,
        effort=effort,
    )
    if () not in found.views:
        return found
    # `Private.measure` takes no view without attributes. The other views give the total too.
    return allocate_budget(
        sizes,
        [axes for axes in found.views if axes],  # type: ignore[arg-type]  # numbers as given
        workload=marginals,
        weights=weights,
        power=power,
    )


def power_of(budget: Budget) -> int:
    """The power in variance ~ 1 / share ** power: 2 for shares of epsilon, 1 for shares of rho."""
    return 2 if isinstance(budget, PureDP) else 1


def _for_pairs(domain: Domain, power: int) -> ViewPlan:
    views = choose_views(
        domain.sizes,
        t=2,
        power=power,
    )
    pairs = [domain.axes(view) for view in Workload.all_kway(domain, min(2, len(domain)))]
    return allocate_budget(
        domain.sizes,
        views,
        workload=pairs,
        power=power,
    )


def named(
    domain: Domain,
    views: Sequence[Sequence[object]],
) -> list[View]:
    """The names of the attributes of each view."""
    names = domain.attributes
    return [tuple(names[axis] for axis in view if isinstance(axis, int)) for view in views]
