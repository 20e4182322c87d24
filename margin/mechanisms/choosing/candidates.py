"""The mechanisms that `Auto` and `Adaptive` compare, with their expected errors.

The error of noise has a closed form; the error of missing components follows from an assumption
about the data.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats
from ...designs import covering_views
from ...domain.countable import countable
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...solvers import Newton
from ...solvers.basis import widths
from ...synopses.noisy_tables import tables_of
from ..ordered.level_counts import LevelCounts
from ..views.priview import PriView
from .residual import Residual
from .strength import Strength

__all__ = ["Candidate", "Candidates", "Precision"]


_Axes = tuple[int, ...]
"""A set of attributes, as places in the domain, ascending."""

Precision = Callable[[NDArray[np.int64]], Floats]
"""A function from sets of axes, shape (n, k), to the precisions of the estimates of all their
components, shape (n, 2 ** k); zero where a component is not measured."""

_SAMPLE = 200
"""Largest number of views that prices are computed for; a larger workload is sampled."""

_LONGEST = 10
"""Largest number of attributes of such a view; a larger view has too many components."""

_LIMITS = tuple(1 << power for power in range(4, 15))
"""Largest numbers of cells of a view that are tried for a cover."""

_MOST_VIEWS = 3_000
"""Largest number of views of a cover."""

_MOST_SETS = 20_000
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


@dataclass(
    frozen=True,
    kw_only=True,
)
class Candidate:
    """One of the mechanisms that `Auto` compares, with its expected error for a workload.

    Errors are in squared rows, summed over all cells of all marginals of the workload, each times
    the weight of its marginal.

    Attributes
    ----------
    mechanism
        The mechanism, ready for `release`.
    note
        What the mechanism measures, in words.
    noise
        The expected squared error that noise causes.
    missed
        The expected squared error of the components that are not measured.
    """

    mechanism: PriView | Residual | LevelCounts
    note: str
    noise: float
    missed: float

    @property
    def error(self) -> float:
        """The expected squared error: `noise + missed`."""
        return self.noise + self.missed


class Candidates:
    """The list of all mechanisms that `Auto` and `Adaptive` compare for a domain and a workload.

    They are the full table, the residual components of each order, and covers of all pairs, triples
    and quadruples by views of several sizes, in equal shares. Where there are too many attributes
    to compare these, the one candidate is a cover of all pairs.

    Parameters
    ----------
    domain, workload, budget
        As in `margin.release`.
    """

    @staticmethod
    def covers(
        domain: Domain,
        workload: Workload,
        budget: Budget,
    ) -> "Iterator[tuple[PriView, str, Precision]]":
        """The candidates that measure covers by views, with their precisions."""
        return _covers(domain, workload, budget)

    def __init__(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
    ) -> None:
        # What is asked beyond cells is priced by `asked_candidates`.
        workload = dataclasses.replace(workload, asked={})
        self._asked = _Asked(domain, workload)
        considered: Iterator[tuple[PriView | Residual, str, Precision]] = itertools.chain(
            _residuals(domain, workload, budget),
            _covers(domain, workload, budget),
        )
        found = [
            (mechanism, note, self._asked.known(precision))
            for mechanism, note, precision in considered
        ]
        has_cover = any(isinstance(mechanism, PriView) for mechanism, *_ in found)
        self._found = found if has_cover else []
        self._only: PriView | None = None
        if not has_cover:
            self._only = PriView().planned(domain, workload, budget)
            # Views that cannot be counted are refused now, before anything is spent.
            countable(domain, self._only.views or ())

    def priced(
        self,
        strength: Strength,
        rows: float,
        *,
        variance: float = 1.0,
    ) -> list[Candidate]:
        """Compute the expected error of each candidate; the result is sorted, the best first.

        Parameters
        ----------
        strength
            The assumed or learnt size of components that are not measured.
        rows
            The approximate number of rows, > 0.
        variance
            A factor for all variances of noise. It is above 1 if a part of the budget is spent on
            something else.
        """
        if self._only is not None:
            note = "a cover of all pairs"
            unknown = math.nan
            return [
                Candidate(
                    mechanism=self._only,
                    note=note,
                    noise=unknown,
                    missed=unknown,
                )
            ]
        priced = []
        for mechanism, note, known in self._found:
            noise, missed = self._asked.errors(known, strength, rows, variance)
            priced.append(
                Candidate(
                    mechanism=mechanism,
                    note=note,
                    noise=noise,
                    missed=missed,
                )
            )
        return sorted(priced, key=lambda candidate: candidate.error)


def _of_views(
    domain: Domain,
    views: list[View],
    variance: float,
) -> Precision:
    empty = (np.broadcast_to(np.zeros(()), domain.shape(view)) for view in views)
    tables = tables_of(domain, views, empty, [variance] * len(views))
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


@dataclass(
    frozen=True,
    kw_only=True,
)
class _Known:
    """How precisely a mechanism measures each component of some views of k attributes.

    The arrays have shape (views, 2 ** k). The place of a component is the bit mask of its
    attributes. `precision` is one divided by the error variance of the component, 0 if it is not
    measured; `depth` is described at `_depths`.
    """

    precision: Floats
    depth: NDArray[np.int64]


class _Asked:
    """The views of the workload over which expected errors are summed; a sample if they are
    many."""

    def __init__(
        self,
        domain: Domain,
        workload: Workload,
    ) -> None:
        rows = np.arange(len(workload))
        rng = np.random.default_rng(0)
        if len(rows) > _SAMPLE:
            rows = np.sort(rng.choice(rows, _SAMPLE, replace=False))
        self._weight = len(workload) / len(rows)
        # Views and their weights, by the number of attributes of several categories.
        self._groups: dict[int, tuple[list[_Axes], list[float]]] = {}
        for row in rows.tolist():
            named = sorted(domain.axes(workload.views[row]))
            axes = tuple(axis for axis in named if domain.sizes[axis] > 1)
            if len(axes) > _LONGEST:
                axes = tuple(sorted(rng.choice(axes, _LONGEST, replace=False).tolist()))
            views, weights = self._groups.setdefault(len(axes), ([], []))
            views.append(axes)
            weights.append(workload.weights[row])
        self._sizes = np.array(domain.sizes)

    def known(self, precision: Precision) -> list[_Known]:
        """Find how precisely a mechanism measures the views: a record for each group of views with
        the same number of attributes."""
        groups = []
        for length, (views, _) in self._groups.items():
            found = precision(np.array(views, dtype=np.int64).reshape(len(views), length))
            groups.append(
                _Known(
                    precision=found,
                    depth=_depths(found > 0),
                )
            )
        return groups

    def errors(
        self,
        known: Sequence[_Known],
        strength: Strength,
        rows: float,
        variance: float,
    ) -> tuple[float, float]:
        """The expected squared errors of noise and of missing components, for the workload."""
        noise = 0.0
        missed = 0.0
        for group, (length, (views, weights)) in zip(known, self._groups.items(), strict=True):
            sizes = self._sizes[np.array(views, dtype=np.int64).reshape(len(views), length)]
            width = widths(sizes)
            share = np.array(weights) / sizes.prod(axis=1) * rows**2
            measured = group.precision > 0
            order = np.bitwise_count(np.arange(1 << length)).astype(np.int64)
            # Counts are not negative: the error of a moment is at most its own size, however large
            # the noise. The sum of the two precisions is a smooth minimum of the two errors.
            of_noise = np.where(measured, group.precision, 1.0) * rows**2 / variance
            precision = of_noise + 1 / strength.size(order)
            left = np.where(measured, width / precision, 0.0)
            noise += float(share @ left.sum(axis=1))
            # A component that is not measured misses the assumed mean square.
            squares = width * strength.square(group.depth, order)
            lost = np.where(measured, 0.0, squares)
            missed += float(share @ lost.sum(axis=1))
        return noise * self._weight, missed * self._weight


def _depths(measured: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each component, the largest t such that all its parts on t attributes are measured.

    Components are bit masks: shape (views, 2 ** k) to the same shape.
    """
    count = measured.shape[1]
    attributes = count.bit_length() - 1
    depths = np.zeros(measured.shape, dtype=np.int64)
    for mask in range(1, count):
        members = [place for place in range(attributes) if mask >> place & 1]
        parts = [mask & ~(1 << place) for place in members]
        shallowest = depths[:, parts].min(axis=1)
        depths[:, mask] = np.where(measured[:, mask], len(members), shallowest)
    return depths


def _residuals(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Iterator[tuple[Residual, str, Precision]]:
    """The candidates that measure residual components of up to 1, 2, ... attributes.

    They end when there are too many components, or components with too many cells.
    """
    if max(domain.sizes) > _WIDEST:
        return
    for order in range(1, max(map(len, workload)) + 1):
        sizes = _parts(domain, workload, order)
        cells = sum(map(math.prod, sizes.values()))
        if not sizes or len(sizes) > _MOST_SETS or cells > _MOST_CELLS:
            return
        mechanism = Residual(
            order=order,
            reconstruction=_reconstruction(domain),
        )
        note = f"components of up to {order} attributes"
        known = mechanism.precisions(domain, workload, budget)
        yield mechanism, note, _of_components(known, domain.attributes)


def _parts(
    domain: Domain,
    workload: Workload,
    order: int,
) -> dict[_Axes, tuple[int, ...]]:
    """The sets of `order` attributes of several values within views of the workload, with their
    sizes; the search stops when there are more than `_MOST_SETS`."""
    sizes = domain.sizes
    found: dict[_Axes, tuple[int, ...]] = {}
    if workload.kway is not None:
        views = [domain.attributes] if order <= workload.kway else []
    else:
        views = list(workload.views)
    for view in views:
        places = map(domain.position.__getitem__, view)
        axes = sorted(axis for axis in places if sizes[axis] > 1)
        for part in itertools.combinations(axes, order):
            found[part] = tuple(sizes[axis] for axis in part)
            if len(found) > _MOST_SETS:
                return found
    return found


def _covers(
    domain: Domain,
    workload: Workload,
    budget: Budget,
) -> Iterator[tuple[PriView, str, Precision]]:
    """The candidates that measure covers of all pairs, triples or quadruples of attributes.

    The views of a cover have up to 16, 32, 64, ... cells.
    """
    seen = set()
    for strength in range(min(2, max(map(len, workload))), 5):
        sets = _parts(domain, workload, strength)
        if not sets or len(sets) > _MOST_SETS:
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
            # Equal shares of the budget, so one variance for all views.
            names = [tuple(domain.attributes[axis] for axis in view) for view in views]
            variance = budget.count_noise(min(budget.split(len(views)))).variance
            plural = "s" if len(views) > 1 else ""
            note = f"{len(views)} view{plural} of up to {max(cells):,} cells"
            mechanism = PriView(
                views=names,
                reconstruction=_reconstruction(domain),
            )
            yield mechanism, note, _of_views(domain, names, variance)


@lru_cache(maxsize=64)
def _cover(
    sizes: tuple[int, ...],
    limit: int,
    strength: int,
    wanted: tuple[_Axes, ...] | None,
) -> tuple[_Axes, ...]:
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
