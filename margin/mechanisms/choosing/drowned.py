"""Releases without the measurements that are more noise than signal."""

import dataclasses
import math
from collections.abc import Callable, Mapping

import numpy as np

from ..._types import Floats
from ...domain.workload import Workload
from ...solvers import (
    Evidence,
    NonNegativity,
    ResidualConsistency,
    Tables,
)
from ...solvers.basis import transform
from ...synopses import ViewSynopsis
from ...synopses.estimate import possible
from ..fitted import DROWNED
from .offers import Axes
from .scales import told_scales

__all__ = ["without_drowned"]

_MOST_VIEWS = 200
"""Largest number of views from which signal and noise are estimated."""

_DEVIATIONS = 2.0
"""Number of standard deviations that are added to the estimated signal."""

_LEAST_COUNT = 0.01
"""Smallest count that is not taken for zero, in standard deviations of its noise."""


def without_drowned(
    synopsis: ViewSynopsis,
    workload: Workload,
    nonnegativity: NonNegativity | None,
) -> ViewSynopsis:
    """Leave out what noise drowns, if it does; this is post-processing of a release.

    First the components of two or more attributes are compared with independent attributes, and
    left out together if independence has the smaller expected error for the workload. Then the
    components of single attributes, if no others are left, are compared with uniform tables. What
    is left out still tells how strong the structure is that the answers then miss.

    Parameters
    ----------
    synopsis
        The release. It is returned as it is if it has impossible cells, known tables or negative
        counts.
    workload
        The marginals that are asked.
    nonnegativity
        Removes negative counts from the tables that are left.
    """
    held = synopsis.held
    is_bound = held.zeros is not None or (held.known is not None and bool(held.known.views))
    if held.unbiased is None or is_bound or synopsis.noise is not None or held.total <= 0:
        return synopsis
    measured = held.with_values(held.unbiased)
    worth = _Worth(held.sizes, workload)
    single = possible(_single_components(measured), nonnegativity, ResidualConsistency())
    if single.total <= 0:
        return synopsis
    found = held
    known = 1
    if max(map(len, held.views)) > 1:
        shares = _shares(single)
        if not worth.is_drowned(held, 2, lambda view: _independent(shares, view)):
            return synopsis
        found = single
    if worth.is_drowned(single, 1, lambda view: _uniform(held.sizes, view)):
        total = _with_total(measured).tables()
        found = possible(total, nonnegativity, ResidualConsistency())
        known = 0
    if found is held:
        return synopsis
    left = ViewSynopsis.of_tables(
        synopsis.domain,
        dataclasses.replace(found, measured=held.measurements),
        reconstruction=synopsis.reconstruction,
        kurtosis=synopsis.kurtosis,
    )
    return dataclasses.replace(left, scales=told_scales(synopsis, range(known, 2)))


class _Worth:
    """Compares measured components with a prediction, by expected errors for a workload.

    The moments of a component S are in all asked marginals that contain S. The squared error of a
    marginal is the sum of the squared errors of its moments, divided by its number of cells. Sizes
    of other attributes are taken at their mean.
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        workload: Workload,
    ) -> None:
        varying = [size for size in sizes if size > 1]
        most = min(max(map(len, workload)), len(varying))
        inverse = float(np.mean([1 / size for size in varying])) if varying else 1.0
        self._by_order = np.zeros(len(sizes) + 1)
        for order in range(most + 1):
            holders = math.comb(len(varying) - order, most - order)
            self._by_order[order] = holders * inverse ** (most - order)

    def is_drowned(
        self,
        tables: Tables,
        least: int,
        predicted: Callable[[Axes], Floats],
    ) -> bool:
        """Whether predicted tables have the smaller expected error in components of at least
        `least` attributes.

        The error of the prediction is its squared distance to the tables before the removal of
        negative counts, less their noise; two standard deviations are added. The error of a table
        is its noise, times the share of its cells that are not zero after the removal. The
        first must be less than `DROWNED` times the second.

        Parameters
        ----------
        tables
            Consistent tables without negative counts, and as they were before (`unbiased`).
        least
            The smallest number of attributes of the components that are compared.
        predicted
            From the axes of a view to the shares of the rows in its cells.
        """
        noise = 0.0
        signal = 0.0
        square = 0.0
        precisions = _precisions(tables)
        before = tables.unbiased or tables.values
        for row in range(0, len(tables.views), max(1, len(tables.views) // _MOST_VIEWS)):
            value = before[row]
            basis = transform(value.shape)
            distance = (value - tables.total * predicted(tables.views[row])).reshape(-1)
            moments = basis.analyse(distance) * math.sqrt(value.size)
            variance = 1 / precisions[row][basis.component]
            weight = self._weights(value.shape)[basis.component]
            weight = np.where((basis.order >= least) & np.isfinite(variance), weight, 0.0)
            expected = weight * variance
            noise += _left(tables.values[row], variance) * expected.sum()
            signal += (weight * moments**2 - expected).sum()
            square += 2 * (expected**2).sum()
        return bool(max(0.0, signal) + _DEVIATIONS * math.sqrt(square) < DROWNED * noise)

    def _weights(self, shape: tuple[int, ...]) -> Floats:
        """The weight of the squared error of a moment, for each component of a table."""
        inverse = np.ones(1)
        for size in shape:
            inverse = np.concatenate([inverse, inverse / size])
        orders = np.bitwise_count(np.arange(len(inverse)))
        return np.asarray(inverse * self._by_order[orders])


def _left(table: Floats, variance: Floats) -> float:
    """The share of the cells of a table without negative counts that are not zero.

    `variance` holds the error variances of its moments, times the total.
    """
    noisy = variance[np.isfinite(variance)]
    deviation = math.sqrt(noisy.sum()) / table.size
    return float(np.mean(table > _LEAST_COUNT * deviation))


def _precisions(tables: Tables) -> list[Floats]:
    """For each view, the precision of each of its components."""
    if tables.precisions is not None:
        return list(tables.precisions)
    found: list[Floats] = [np.empty(0)] * len(tables.views)
    for length in set(map(len, tables.views)):
        rows = [row for row, view in enumerate(tables.views) if len(view) == length]
        views = np.array([tables.views[row] for row in rows], dtype=np.int64)
        precision, _ = tables.holders(views.reshape(len(rows), length))
        for row, known in zip(rows, precision, strict=True):
            found[row] = known
    return found


def _single_components(measured: Tables) -> Tables:
    """One-way tables of the measured components of single attributes."""
    evidence = _with_total(measured)
    axes = [axis for axis, size in enumerate(measured.sizes) if size > 1]
    if not axes:
        return evidence.tables()
    precision, holder = measured.holders(np.array(axes, dtype=np.int64).reshape(-1, 1))
    for axis, known, row in zip(axes, precision[:, 1], holder[:, 1].tolist(), strict=True):
        if known > 0:
            table = measured.project(row, (axis,))
            moments = transform(table.shape).analyse(table) * math.sqrt(table.size)
            evidence.add_component((axis,), moments[1:], 1 / float(known))
    return evidence.tables()


def _with_total(measured: Tables) -> Evidence:
    """Evidence that holds the total."""
    evidence = Evidence(
        sizes=measured.sizes,
        known=measured.known,
    )
    if measured.known_total is None:
        precision = float(measured.component_precision(())[0])
        evidence.add_component((), np.array(measured.total), 1 / precision)
    return evidence


def _shares(single: Tables) -> dict[int, Floats]:
    """The shares of the rows in the categories of each axis of one-way tables."""
    return {
        axis: single.project(row, (axis,)) / single.total
        for row, view in enumerate(single.views)
        for axis in view
    }


def _independent(shares: Mapping[int, Floats], view: Axes) -> Floats:
    """The table of a view if its attributes are independent."""
    table: Floats = np.ones(())
    for axis in view:
        table = np.multiply.outer(table, shares[axis])
    return table


def _uniform(sizes: tuple[int, ...], view: Axes) -> Floats:
    """The table of a view if all its cells are equally frequent."""
    shape = [sizes[axis] for axis in view]
    return np.full(shape, 1 / math.prod(shape))
