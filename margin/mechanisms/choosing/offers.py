"""The mechanisms that `Auto` and `Adaptive` compare: what each one measures, and how precisely."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...designs import covering_views
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...noise.laws import variances_of
from ...privacy.budget import Budget, PureDP
from ...solvers.basis import widths
from ...synopses.estimate import reconstruction_for
from ...synopses.noisy_tables import LEAST_VARIANCE
from ..by_table import Precision, of_components, of_views
from ..views.priview import PriView
from .residual import Residual
from .tree import MOST_PAIR_CELLS, SpanningTree, asked_names
from .tree_plan import TreePlan

__all__ = [
    "MOST_SETS",
    "Axes",
    "Offer",
    "best_views",
    "covers",
    "offers",
]


Axes = tuple[int, ...]
"""A set of attributes, as places in the domain, ascending."""

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

_MOST_PLANNED = 1_000
"""Largest number of views of a workload that a cover with the best shares is searched for."""

_MOST_RECONSTRUCTED = 1 << 16
"""Largest number of cells of a marginal that is reconstructed from components of several attributes
if it may be measured instead: larger ones take minutes."""

_LONGEST = 10
"""Largest number of attributes of a view whose components are looked up one by one."""

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
    tree
        The pairs that are chosen and measured beside, or None.
    """

    mechanism: PriView | Residual | SpanningTree
    note: str
    precision: Precision
    cells: tuple[int, ...]
    variances: tuple[float, ...]
    tree: TreePlan | None = None


def offers(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Iterator[Offer]:
    """All mechanisms that are compared for a domain, a workload and a budget.

    They are one-way tables; a spanning tree of pairs; covers of all pairs, triples and quadruples
    by views of several sizes, in equal shares; the full table; the views that are best for the
    workload by the closed form of their noise; and the residual components of each order. Where all
    covers are too large, each pair of attributes is a view. There are no offers if there are too
    many pairs for that, too. Offers from which a large asked marginal would have to be
    reconstructed are left out, but for one-way tables, if another one measures it.
    """
    held = list(covers(domain, workload, budget)) or list(_pairs(domain, workload, budget))
    if not held:
        return
    found = [
        *_spanning_tree(domain, workload, budget),
        *held,
        *best_views(domain, workload, budget),
        *_residuals(domain, workload, budget),
    ]
    large = _large(domain, workload)
    measuring = [offer for offer in found if _measures(offer, large)]
    yield _one_way(domain, budget)
    yield from measuring or found


def _large(domain: Domain, workload: Workload) -> list[Axes]:
    """The asked marginals, as axes, that take too long to reconstruct."""
    longest = max(map(len, workload))
    widest = math.prod(sorted(domain.sizes)[-longest:])
    if widest <= _MOST_RECONSTRUCTED or len(workload) > _MOST_PLANNED or longest > _LONGEST:
        return []
    large = [view for view in workload.views if domain.cells(view) > _MOST_RECONSTRUCTED]
    # Attributes of one value have no component.
    return [
        tuple(axis for axis in sorted(domain.axes(view)) if domain.sizes[axis] > 1)
        for view in large
    ]


def _measures(offer: Offer, views: Sequence[Axes]) -> bool:
    """Whether all components of some views are measured."""
    return all((offer.precision(np.array([axes])) > 0).all() for axes in views)


def _pairs(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Iterator[Offer]:
    """All pairs of attributes as views, if they do not have too many cells.

    A pair of c cells and share s has an expected squared error in proportion to c / s**p. The
    shares that minimise the sum are in proportion to c**(1 / (p + 1)).
    """
    sets = _parts(domain, workload, 2)
    cells = [math.prod(sizes) for sizes in sets.values()]
    if not sets or len(sets) > MOST_SETS or sum(cells) > _MOST_CELLS:
        return
    power = 2 if isinstance(budget, PureDP) else 1
    mechanism = PriView(
        views=[tuple(domain.attributes[axis] for axis in pair) for pair in sets],
        shares=[count ** (1 / (power + 1)) for count in cells],
    )
    yield _views_offer(domain, budget, mechanism, f"all {len(sets)} pairs of attributes")


def _one_way(domain: Domain, budget: Budget) -> Offer:
    """The one-way tables of all attributes of several categories."""
    varying: list[View] = [(name,) for name in domain if domain[name].size > 1]
    views = varying or [domain.attributes[:1]]
    mechanism = PriView(
        views=views,
    )
    return _views_offer(domain, budget, mechanism, "one-way tables")


def _spanning_tree(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Iterator[Offer]:
    """The tree of pairs that is chosen privately; none if there is nothing to choose from, or if
    tables are known, which close cycles."""
    names = asked_names(domain, workload)
    sizes = [domain[name].size for name in names]
    cells = sorted(
        first * second
        for first, second in itertools.combinations(sizes, 2)
        if first * second <= MOST_PAIR_CELLS
    )
    if domain.known or len(names) < 3 or max(map(len, workload)) < 2 or len(cells) < len(names):
        return
    mechanism = SpanningTree(reconstruction=reconstruction_for(domain))
    singles, choice = mechanism.singles_share, mechanism.choice_share
    count = len(names) - 1
    single = _share_variance(budget, singles / len(names))
    measured = _share_variance(budget, (1 - singles - choice) / count)
    views: list[Axes] = [(domain.position[name],) for name in names]
    # An attribute is in about two pairs with typical others, and its own table is measured first.
    typical = sorted(sizes)[len(sizes) // 2]
    one_way = [1 / (1 / single + 2 / (typical * measured))] * len(sizes)
    yield Offer(
        mechanism=mechanism,
        note="a spanning tree of pairs",
        precision=of_views(domain, views, one_way),
        cells=tuple(sizes),
        variances=tuple(one_way),
        tree=TreePlan(
            count=count,
            pairs=len(cells),
            cells=cells[len(cells) // 2],
            chosen=_share_variance(budget, choice / count),
            measured=measured,
        ),
    )


def _share_variance(budget: Budget, share: float) -> float:
    """The noise variance of a count that is measured with a share of the budget."""
    noise = budget.count_noise(max(1, math.floor(share * budget.units)))
    return max(noise.variance, LEAST_VARIANCE)


def best_views(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Iterator[Offer]:
    """The views and shares that `PriView` chooses for the workload."""
    if len(workload) > _MOST_PLANNED:
        return
    if max(domain.cells(view) for view in workload.views) > _MOST_CELLS:
        return
    planned = PriView().planned(domain, workload, budget)
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
    position = domain.position
    views = [tuple(sorted(position[name] for name in view)) for view in mechanism.views or ()]
    if mechanism.shares is None:
        # Equal shares of the budget, so one variance for all views.
        variance = budget.count_noise(min(budget.split(len(views)))).variance
        variances = [variance] * len(views)
    else:
        variances = variances_of(budget.counts_at_once(mechanism.shares))
    return Offer(
        mechanism=mechanism,
        note=note,
        precision=of_views(domain, views, variances),
        cells=tuple(math.prod(domain.sizes[axis] for axis in view) for view in views),
        variances=tuple(variances),
    )


def _residuals(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Iterator[Offer]:
    """The candidates that measure residual components of up to 0, 1, 2, ... attributes.

    They end when there are too many components, or components with too many cells.
    """
    if max(domain.sizes) > _WIDEST:
        return
    # A known total is not measured.
    first = 0 if domain.rows is None else 1
    for order in range(first, max(map(len, workload)) + 1):
        sizes = _parts(domain, workload, order)
        cells = sum(map(math.prod, sizes.values()))
        if not sizes or len(sizes) > MOST_SETS or cells > _MOST_CELLS:
            return
        mechanism = Residual(
            order=order,
        )
        note = f"components of up to {order} attributes" if order else "the total alone"
        known = mechanism.precisions(domain, workload, budget)
        tables = list(sizes)[:: max(1, len(sizes) // _TYPICAL)]
        yield Offer(
            mechanism=mechanism,
            note=note,
            precision=of_components(domain, known),
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
        needed = [math.prod(sizes) for sizes in sets.values()]
        for limit in (*_LIMITS, _MOST_CELLS):
            if limit == _MOST_CELLS and math.prod(domain.sizes) > limit:
                continue
            # A wanted set above the limit is a view of its own: such a cover may be too large.
            alone = [count for count in needed if count > limit]
            if len(alone) > _MOST_VIEWS or sum(alone) > _MOST_CELLS:
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
