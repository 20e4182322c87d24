"""The mechanisms that `Auto` and `Adaptive` compare: what each one measures, and how precisely."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats
from ...designs import covering_views
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...solvers import Newton
from ...solvers.basis import widths
from ...synopses.noisy_tables import tables_of
from ..views.priview import PriView
from .residual import Residual

__all__ = ["MOST_SETS", "Axes", "Offer", "Precision", "covers", "offers"]


Axes = tuple[int, ...]
"""A set of attributes, as places in the domain, ascending."""

Precision = Callable[[NDArray[np.int64]], Floats]
"""A function from sets of axes, shape (n, k), to the precisions of the estimates of all their
components, shape (n, 2 ** k); zero where a component is not measured."""

_LIMITS = tuple(1 << power for power in range(4, 15))
"""Largest numbers of cells of a view that are tried for a cover."""

_MOST_VIEWS = 3_000
"""Largest number of views of a cover."""

MOST_SETS = 20_000
"""Largest number of sets of attributes that components are measured for, or that are covered."""

_MOST_CELLS = 1 << 20
"""Largest number of cells of all measured tables: they are made non-negative together, in seconds.
"""

_WIDEST = 1 << 10
"""Largest number of categories of an attribute in a component: its matrix has the square of
that."""

_JOINT_CELLS = 1 << 17
"""Largest full table for which maximum entropy is taken over all attributes at once, in cells."""

_CONTEXT = 12
"""Largest number of attributes of a context if the full table is larger than `_JOINT_CELLS`.

An answer takes some milliseconds. Larger contexts reduce the error very little.
"""


_MOST_PLANNED = 1_000
"""Largest number of views of a workload that a cover with the best shares is searched for."""

_TYPICAL = 40
"""Number of tables of components whose variance is computed."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Offer:
    """One mechanism that may be chosen.

    Attributes
    ----------
    mechanism
        The mechanism, ready for `release`.
    note
        What the mechanism measures, in words.
    precision
        How precisely it measures each component.
    cells, variances
        The number of cells of each of its tables, and the noise variance of a cell, in squared
        rows. For components these are some of the tables that they add up to.
    """

    mechanism: PriView | Residual
    note: str
    precision: Precision
    cells: tuple[int, ...]
    variances: tuple[float, ...]


def offers(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Iterator[Offer]:
    """All mechanisms that are compared for a domain, a workload and a budget.

    They are one-way tables; covers of all pairs, triples and quadruples by views of several sizes,
    in equal shares; the full table; the views that are best for the workload by the closed form of
    their noise; and the residual components of each order. There are none if no cover can be
    compared.
    """
    held = list(covers(domain, workload, budget))
    if not held:
        return
    yield _one_way(domain, budget)
    yield from held
    yield from _best_views(domain, workload, budget)
    yield from _residuals(domain, workload, budget)


def _one_way(domain: Domain, budget: Budget) -> Offer:
    """The one-way tables of all attributes of several categories."""
    varying: list[View] = [(name,) for name in domain if domain[name].size > 1]
    views = varying or [domain.attributes[:1]]
    mechanism = PriView(
        views=views,
        reconstruction=_reconstruction(domain),
    )
    return _views_offer(domain, budget, mechanism, "one-way tables")


def _best_views(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Iterator[Offer]:
    """The views and shares that `PriView` chooses for the workload."""
    largest = max(domain.cells(view) for view in workload.views)
    if len(workload) > _MOST_PLANNED or largest > _MOST_CELLS:
        return
    planned = PriView(reconstruction=_reconstruction(domain)).planned(domain, workload, budget)
    views = planned.views or ()
    cells = [domain.cells(view) for view in views]
    if sum(cells) > _MOST_CELLS or len(views) > _MOST_VIEWS:
        return
    plural = "s" if len(views) > 1 else ""
    note = f"{len(views)} view{plural} of up to {max(cells):,} cells, best for the workload"
    yield _views_offer(domain, budget, planned, note)


def _views_offer(
    domain: Domain,
    budget: Budget,
    mechanism: PriView,
    note: str,
) -> Offer:
    """The offer of a `PriView` whose views are chosen."""
    views = [domain.view(view) for view in mechanism.views or ()]
    if mechanism.shares is None:
        # Equal shares of the budget, so one variance for all views.
        variance = budget.count_noise(min(budget.split(len(views)))).variance
        variances = [variance] * len(views)
    else:
        variances = [noise.variance for noise in budget.counts_at_once(mechanism.shares)]
    return Offer(
        mechanism=mechanism,
        note=note,
        precision=_of_views(domain, views, variances),
        cells=tuple(map(domain.cells, views)),
        variances=tuple(variances),
    )


def _of_views(
    domain: Domain,
    views: list[View],
    variances: Sequence[float],
) -> Precision:
    empty = (np.broadcast_to(np.zeros(()), domain.shape(view)) for view in views)
    tables = tables_of(domain, views, empty, variances)
    return lambda axes: tables.holders(axes)[0]


def _of_components(known: Mapping[View, float], names: View) -> Precision:
    def precision(axes: NDArray[np.int64]) -> Floats:
        found = np.zeros((len(axes), 1 << axes.shape[1]))
        for row, some in enumerate(axes.tolist()):
            for mask in range(found.shape[1]):
                chosen = [axis for place, axis in enumerate(some) if mask >> place & 1]
                view = tuple(names[axis] for axis in chosen)
                found[row, mask] = known.get(view, 0.0)
        return found

    return precision


def _residuals(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Iterator[Offer]:
    """The candidates that measure residual components of up to 1, 2, ... attributes.

    They end when there are too many components, or components with too many cells.
    """
    if max(domain.sizes) > _WIDEST:
        return
    for order in range(1, max(map(len, workload)) + 1):
        sizes = _parts(domain, workload, order)
        cells = sum(map(math.prod, sizes.values()))
        if not sizes or len(sizes) > MOST_SETS or cells > _MOST_CELLS:
            return
        mechanism = Residual(
            order=order,
            reconstruction=_reconstruction(domain),
        )
        note = f"components of up to {order} attributes"
        known = mechanism.precisions(domain, workload, budget)
        tables = list(sizes)[:: max(1, len(sizes) // _TYPICAL)]
        yield Offer(
            mechanism=mechanism,
            note=note,
            precision=_of_components(known, domain.attributes),
            cells=tuple(math.prod(sizes[axes]) for axes in tables),
            variances=tuple(_cell_variance(domain, known, axes) for axes in tables),
        )


def _cell_variance(
    domain: Domain,
    known: Mapping[View, float],
    axes: Axes,
) -> float:
    """The noise variance of each cell of a table that is added up from its components."""
    sizes = [domain.sizes[axis] for axis in axes]
    spread = 0.0
    for mask, width in enumerate(widths(np.array(sizes)).tolist()):
        view = tuple(
            domain.attributes[axis] for place, axis in enumerate(axes) if mask >> place & 1
        )
        spread += width / known[view]
    return spread / math.prod(sizes) ** 2


def _parts(
    domain: Domain,
    workload: Workload,
    order: int,
) -> dict[Axes, tuple[int, ...]]:
    """The sets of `order` attributes of several values within views of the workload, with their
    sizes; the search stops when there are more than `MOST_SETS`."""
    sizes = domain.sizes
    found: dict[Axes, tuple[int, ...]] = {}
    if workload.kway is not None:
        views = [domain.attributes] if order <= workload.kway else []
    else:
        views = list(workload.views)
    for view in views:
        places = map(domain.position.__getitem__, view)
        axes = sorted(axis for axis in places if sizes[axis] > 1)
        for part in itertools.combinations(axes, order):
            found[part] = tuple(sizes[axis] for axis in part)
            if len(found) > MOST_SETS:
                return found
    return found


def covers(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Iterator[Offer]:
    """The candidates that measure covers of all pairs, triples or quadruples of attributes.

    The views of a cover have up to 16, 32, 64, ... cells.
    """
    seen = set()
    for strength in range(min(2, max(map(len, workload))), 5):
        sets = _parts(domain, workload, strength)
        if not sets or len(sets) > MOST_SETS:
            return
        for limit in (*_LIMITS, _MOST_CELLS):
            if limit == _MOST_CELLS and math.prod(domain.sizes) > limit:
                continue
            wanted = None if len(sets) == math.comb(len(domain), strength) else tuple(sets)
            views = _cover(domain.sizes, limit, strength, wanted)
            cells = [math.prod(domain.sizes[axis] for axis in view) for view in views]
            if views in seen or len(views) > _MOST_VIEWS or sum(cells) > _MOST_CELLS:
                continue
            seen.add(views)
            names = [tuple(domain.attributes[axis] for axis in view) for view in views]
            plural = "s" if len(views) > 1 else ""
            note = f"{len(views)} view{plural} of up to {max(cells):,} cells"
            mechanism = PriView(
                views=names,
                reconstruction=_reconstruction(domain),
            )
            yield _views_offer(domain, budget, mechanism, note)


@lru_cache(maxsize=64)
def _cover(
    sizes: tuple[int, ...],
    limit: int,
    strength: int,
    wanted: tuple[Axes, ...] | None,
) -> tuple[Axes, ...]:
    """The views of a cover; cached, because many releases of one domain ask for the same cover."""
    return covering_views(
        sizes,
        max_cells=limit,
        t=strength,
        sets=wanted,
    )


def _reconstruction(domain: Domain) -> Newton:
    """The solver of maximum entropy: over all attributes at once if the full table is small,
    otherwise over a few attributes that include the requested ones."""
    is_small = math.prod(domain.sizes) <= _JOINT_CELLS
    return Newton(context=len(domain) if is_small else _CONTEXT)
