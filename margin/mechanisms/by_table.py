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

Without a level s is 1.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .._types import Floats
from ..domain.domain import Domain, View
from ..domain.workload import Workload
from ..solvers import Tables
from ..synopses.noisy_tables import LEAST_VARIANCE

__all__ = [
    "Precision",
    "asked_levels",
    "counts_of",
    "of_components",
    "of_views",
    "spreads",
    "table_errors",
    "traces_of",
    "weighted",
]

Precision = Callable[[NDArray[np.int64]], Floats]
"""A function from sets of axes, shape (n, k), to the precisions of the estimates of all their
components, shape (n, 2 ** k): one divided by v_S; zero where a component is not measured, and
infinite where it is known."""

_AT_ONCE = 1 << 20
"""Largest number of components that are looked up together."""


def table_errors(
    domain: Domain,
    workload: Workload,
    precision: Precision,
    grams: Mapping[str, Floats] | None = None,
) -> list[float]:
    """The expected squared error of each table of a workload, from precisions of components.

    It is summed over the counts of the table, in squared rows, and infinite if a component of the
    table is not measured: the table is then reconstructed, and no closed form exists.

    Parameters
    ----------
    domain, workload
        The attributes, and the tables.
    precision
        How precisely the components are measured.
    grams
        For attributes of which more than cells is asked the matrix W'W of the queries W. A view
        that names a level of the attribute asks the counts of this level alone.
    """
    workload.check_listed()
    errors = np.zeros(len(workload))
    for rows, axes, traces in _by_length(domain, workload, grams or {}):
        spread = spreads(traces)
        # A component that adds nothing to the counts need not be measured.
        variance = np.zeros_like(spread)
        with np.errstate(divide="ignore"):
            np.divide(1.0, precision(axes), out=variance, where=spread > 0)
        cells = np.array(domain.sizes)[axes].prod(axis=1)
        errors[rows] = (spread * variance).sum(axis=1) / cells
    return [float(error) for error in errors]


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


def counts_of(domain: Domain, name: str, level: str | None) -> int:
    """The number of counts of an attribute at one of its levels."""
    attribute = domain[name]
    if attribute.levels is None or level is None:
        return attribute.size
    group = attribute.levels.groups[attribute.levels.index(level)]
    return int(group.max()) + 1


def traces_of(domain: Domain, name: str, level: str | None) -> tuple[float, float]:
    """The traces s and n - s of an attribute at a level: of a component without it, and with it."""
    attribute = domain[name]
    if attribute.levels is None or level is None:
        return 1.0, attribute.size - 1.0
    group = attribute.levels.groups[attribute.levels.index(level)]
    of_nodes = np.bincount(group).astype(np.float64)
    together = float((of_nodes**2).sum()) / attribute.size
    return together, attribute.size - together


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
    grams: Mapping[str, Floats],
) -> Iterator[tuple[list[int], NDArray[np.int64], Floats]]:
    """The tables of a workload in groups of equally many attributes, a bounded number at a time.

    For each group: the places of its tables in the workload; their axes, ascending, shape (n, k);
    and the traces of these attributes, shape (n, k, 2). Attributes of one value are left out: they
    have no component.
    """
    traces: dict[tuple[str, str | None], tuple[float, float]] = {}
    groups: dict[int, list[tuple[int, list[tuple[int, tuple[float, float]]]]]] = {}
    for row, (view, levels) in enumerate(asked_levels(workload)):
        along = []
        for asked in zip(view, levels, strict=True):
            name, level = asked
            if domain[name].size == 1:
                continue
            if asked not in traces and level is None and name in grams:
                # For any queries W the traces are those of W P W', with P as above.
                of_total = float(grams[name].sum()) / domain[name].size
                traces[asked] = of_total, float(np.trace(grams[name])) - of_total
            elif asked not in traces:
                traces[asked] = traces_of(domain, name, level)
            along.append((domain.position[name], traces[asked]))
        groups.setdefault(len(along), []).append((row, sorted(along)))
    for length, listed in groups.items():
        step = max(1, _AT_ONCE >> length)
        for start in range(0, len(listed), step):
            some = listed[start : start + step]
            axes = [[axis for axis, _ in along] for _, along in some]
            pairs = [[pair for _, pair in along] for _, along in some]
            yield (
                [row for row, _ in some],
                np.array(axes, dtype=np.int64).reshape(len(some), length),
                np.array(pairs, dtype=np.float64).reshape(len(some), length, 2),
            )
