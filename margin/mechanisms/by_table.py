"""The expected error of each table that a workload asks, at the levels at which it is asked.

A table on the attributes V is the sum of its components S, the subsets of V (see `solvers.basis`).
If the noise in the moments of component S times the total has variance v_S, and is independent of
that in other components, the table has the covariance matrix

    sum over S of v_S / cells * P_S

where P_S is the orthogonal projection on the component: along an attribute of n values I - J / n if
the attribute is in S, and J / n if not. A table at a level adds up the cells of each node, by a
0-1 matrix G along the attribute. With g the numbers of cells of the nodes, s = sum(g**2) / n is the
mean number of cells with which a cell is added up, itself included, and

    tr(G (I - J / n) G') = n - s        tr(G (J / n) G') = s.

So the errors of all counts of the table add up to

    sum over S of v_S / cells * prod over S of (n - s) * prod over the rest of V of s.

Without a level s is 1. Other queries that are 0-1 rows, as prefixes and ranges, have the same form:
with g the numbers of cells of the queries, and their sum in place of n in n - s.

The variance of one count is the diagonal element. The count of g cells has g - g**2 / n
from G (I - J / n) G', and g**2 / n from G (J / n) G': counts of the same numbers of cells g along
all attributes have equal variances.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .._types import Floats
from ..domain.domain import Domain, View
from ..domain.workload import Workload
from ..solvers import Tables
from ..synopses.noisy_tables import LEAST_VARIANCE
from .axis_queries import AxisQueries, asked_queries, queries_of
from .profiles import Profile, frontier, largest_variance

__all__ = [
    "Precision",
    "asked_levels",
    "largest_cells",
    "largest_errors",
    "of_components",
    "of_views",
    "spreads",
    "summed_cells",
    "table_errors",
    "traces_of",
    "weighted",
]

Precision = Callable[[NDArray[np.int64]], Floats]
"""A function from sets of axes, shape (n, k), to the precisions of the estimates of all their
components, shape (n, 2 ** k): one divided by v_S; zero where a component is not measured, and
infinite where it is known."""

_Asked = tuple[str, str | None]
"""An attribute, and the level at which it is asked."""

_AT_ONCE = 1 << 20
"""Largest number of components that are looked up together."""


def table_errors(
    domain: Domain,
    workload: Workload,
    precision: Precision,
) -> list[float]:
    """The expected squared error of each table of a workload, from precisions of components.

    It is summed over all counts that are asked of the table, prefixes and ranges too, in squared
    rows. It is infinite if a component of the table is not measured: the table is then
    reconstructed, and no closed form exists.

    Parameters
    ----------
    domain, workload
        The attributes, and the tables.
    precision
        How precisely the components are measured.
    """
    workload.check_listed()
    errors = np.zeros(len(workload))
    queries = asked_queries(domain, workload)
    of_asked: dict[_Asked, tuple[float, float]] = {}
    for rows, axes, along in _by_length(domain, workload):
        for asked in itertools.chain.from_iterable(along):
            if asked not in of_asked:
                of_asked[asked] = traces_of(domain, *asked, queries)
        traces = np.array([[of_asked[asked] for asked in table] for table in along])
        traces = traces.reshape(len(rows), axes.shape[1], 2)
        spread = spreads(traces)
        # A component that adds nothing to the counts need not be measured.
        variance = np.zeros_like(spread)
        with np.errstate(divide="ignore"):
            np.divide(1.0, precision(axes), out=variance, where=spread > 0)
        cells = np.array(domain.sizes)[axes].prod(axis=1)
        errors[rows] = (spread * variance).sum(axis=1) / cells
    return [float(error) for error in errors]


def largest_errors(
    domain: Domain,
    workload: Workload,
    precision: Precision,
) -> list[float]:
    """The largest expected squared error of a count of each table, in squared rows.

    It is infinite if a component of the table is not measured. If the counts of an attribute add up
    many different numbers of cells, it is an upper bound; see `profiles.frontier`.

    Parameters
    ----------
    domain, workload, precision
        As in `table_errors`.
    """
    workload.check_listed()
    errors = np.zeros(len(workload))
    queries = asked_queries(domain, workload)
    profiles: dict[_Asked, Profile] = {}
    for rows, axes, along in _by_length(domain, workload):
        with np.errstate(divide="ignore"):
            variances = 1.0 / precision(axes)
        for row, table, of_table in zip(rows, along, variances, strict=True):
            for asked in table:
                if asked not in profiles:
                    profiles[asked] = _profile(domain, *asked, queries)
            errors[row] = _largest(table, of_table, profiles)
            errors[row] /= math.prod(domain[name].size for name, _ in table)
    return [float(error) for error in errors]


def _profile(
    domain: Domain,
    name: str,
    level: str | None,
    queries: Mapping[str, AxisQueries],
) -> Profile:
    """The largest variances of the counts of an attribute at a level; see `frontier`."""
    cells = np.unique(queries_of(domain, name, level, queries).cells)
    of_total = cells**2 / domain[name].size
    return frontier(cells - of_total, of_total)


def _largest(
    table: Sequence[_Asked],
    variances: Floats,
    profiles: Mapping[_Asked, Profile],
) -> float:
    """The largest variance of a count of a table, times its cells, from those of components."""
    names = tuple(name for name, _ in table)
    by_name = {asked[0]: profiles[asked] for asked in table}
    components = {}
    for mask, variance in enumerate(variances.tolist()):
        component = tuple(name for place, name in enumerate(names) if mask >> place & 1)
        # A component that adds nothing to the counts need not be measured.
        adds = [
            by_name[name][:, 0 if name in component else 1].max(initial=0.0) > 0 for name in names
        ]
        if not all(adds):
            continue
        if math.isinf(variance):
            return math.inf
        components[component] = variance
    return largest_variance(names, components, by_name)[0]


def weighted(workload: Workload, errors: Sequence[float]) -> float:
    """The errors of the tables of a workload, each times the weight of the table, added up."""
    pairs = zip(workload.weights, errors, strict=True)
    return sum(weight * error for weight, error in pairs)


def asked_levels(workload: Workload) -> Iterator[tuple[View, tuple[str | None, ...]]]:
    """Each view of a workload with the level of each of its attributes, None for no level."""
    if workload.levels:
        yield from zip(workload.views, workload.levels, strict=True)
        return
    for view in workload.views:
        yield view, (None,) * len(view)


def summed_cells(domain: Domain, workload: Workload) -> list[float]:
    """For each table of a workload, the number of cells that its counts add up together.

    It is the summed variance of the counts that are asked if each cell has noise of variance one.
    """
    return _of_cells(domain, workload, np.sum)


def largest_cells(domain: Domain, workload: Workload) -> list[float]:
    """For each table of a workload, the largest number of cells that one count adds up."""
    return _of_cells(domain, workload, np.max)


def _of_cells(
    domain: Domain,
    workload: Workload,
    of: Callable[[Floats], float],
) -> list[float]:
    """For each table the product over its attributes of the sums, or maxima, of cells."""
    queries = asked_queries(domain, workload)
    found: dict[_Asked, float] = {}
    tables = []
    for view, levels in asked_levels(workload):
        cells = 1.0
        for asked in zip(view, levels, strict=True):
            if asked not in found:
                found[asked] = float(of(queries_of(domain, *asked, queries).cells))
            cells *= found[asked]
        tables.append(cells)
    return tables


def traces_of(
    domain: Domain,
    name: str,
    level: str | None,
    queries: Mapping[str, AxisQueries],
) -> tuple[float, float]:
    """The traces s and n - s of an attribute at a level: of a component without it, and with it.

    `queries` are those of `asked_queries`.
    """
    cells = queries_of(domain, name, level, queries).cells
    together = float((cells**2).sum()) / domain[name].size
    return together, float(cells.sum()) - together


def spreads(traces: Floats) -> Floats:
    """The trace of G P_S G' for each component S of a table.

    The traces of its k attributes, shape (..., k, 2) as in `traces_of`, give an array of shape
    (..., 2 ** k): components are bit masks. Where nothing is added up, it is the number of moments
    of the component.
    """
    found = np.ones((*traces.shape[:-2], 1))
    for place in range(traces.shape[-2]):
        outside = traces[..., place, 0, None]
        inside = traces[..., place, 1, None]
        found = np.concatenate([found * outside, found * inside], axis=-1)
    return found


def of_views(
    domain: Domain,
    views: Sequence[Sequence[int]],
    variances: Sequence[float],
) -> Precision:
    """The precisions that views give, by least squares, from the noise variance of their cells.

    Each view is the axes of its attributes, ascending. What the domain knows is a view without
    noise.
    """
    nothing = np.zeros(())
    shapes = [tuple(domain.sizes[axis] for axis in view) for view in views]
    tables = Tables(
        sizes=domain.sizes,
        views=tuple(map(tuple, views)),
        values=tuple(np.broadcast_to(nothing, shape) for shape in shapes),
        variances=tuple(max(variance, LEAST_VARIANCE) for variance in variances),
        zeros=domain.zeros,
        known=domain.constraints,
    ).with_known()
    return lambda axes: tables.holders(axes)[0]


def of_components(
    domain: Domain,
    measured: Mapping[View, float],
    *,
    uses_known: bool = True,
) -> Precision:
    """The precisions of measured components, each a set of attributes in the order of the domain.

    With `uses_known`, the components that the domain knows have no error.
    """
    names = domain.attributes

    def precision(axes: NDArray[np.int64]) -> Floats:
        found = np.zeros((len(axes), 1 << axes.shape[1]))
        for row, some in enumerate(axes.tolist()):
            for mask in range(found.shape[1]):
                chosen = [axis for place, axis in enumerate(some) if mask >> place & 1]
                view = tuple(names[axis] for axis in chosen)
                found[row, mask] = measured.get(view, 0.0)
        if uses_known and domain.constraints is not None:
            found[domain.constraints.components(axes)] = math.inf
        return found

    return precision


def _by_length(
    domain: Domain,
    workload: Workload,
) -> Iterator[tuple[list[int], NDArray[np.int64], list[list[_Asked]]]]:
    """The tables of a workload in groups of equally many attributes, a bounded number at a time.

    For each group: the places of its tables in the workload; their axes, ascending, shape (n, k);
    and the attributes of each table with their levels, in the same order. Attributes of one value
    are left out: they have no component.
    """
    groups: dict[int, list[tuple[int, list[_Asked]]]] = {}
    for row, (view, levels) in enumerate(asked_levels(workload)):
        pairs = zip(view, levels, strict=True)
        along = [asked for asked in pairs if domain[asked[0]].size > 1]
        along.sort(key=lambda asked: domain.position[asked[0]])
        groups.setdefault(len(along), []).append((row, along))
    for length, listed in groups.items():
        step = max(1, _AT_ONCE >> length)
        for start in range(0, len(listed), step):
            some = listed[start : start + step]
            axes = [[domain.position[name] for name, _ in along] for _, along in some]
            yield (
                [row for row, _ in some],
                np.array(axes, dtype=np.int64).reshape(len(some), length),
                [along for _, along in some],
            )
