"""The total of noisy tables, estimated with a base."""

import dataclasses
import itertools
import math
from typing import NamedTuple

import numpy as np

from ..basis import transform
from ..tables.nonnegativity import JointProjection
from ..tables.tables import Axes, Tables
from ..types import Floats
from .base import Base, positive_shares

__all__ = ["own_total", "total_with", "with_total"]

_MOST_AXES = 24
"""Largest number of axes that tell the total: those that tell most by themselves."""

_AXIS_CELLS = 256
"""Largest number of categories of such an axis."""

_VIEW_CELLS = 1 << 18
"""Largest number of cells of a view that tells the total."""

_CELLS_ALIGNED = 4.0
"""Factor of the variance of a base for its cells, which may all deviate in one direction. No unit.
"""

_COMMON = 1 / 4
"""Part of the variance of a base that all axes are taken to have in common; see `_by_axes`."""

_CONTRADICTS = 2.0
"""Standard deviations between two totals above which the base is said to contradict the tables."""


class _Axis(NamedTuple):
    """What the moments of one axis tell of the total; m moments of n categories.

    Attributes
    ----------
    counted
        The noisy moments of the counts, shape (m,).
    noise
        The variance of their noise, and of that of the base.
    expected
        The moments of the base, as a distribution, shape (m,).
    deviation
        The square roots of 1 / (number of rows that the base is worth), shape (m,).
    functions
        The functions of the moments, shape (n, m).
    """

    counted: Floats
    noise: float
    expected: Floats
    deviation: Floats
    functions: Floats


def own_total(tables: Tables) -> tuple[float, float]:
    """The total of the tables themselves, and its variance, > 0."""
    precision = float(tables.component_precision(tables.views[0])[0])
    return tables.total, max(1 / precision, math.ulp(1.0))


def total_with(
    tables: Tables,
    base: Base,
    trust: tuple[Floats, ...] | float,
) -> tuple[float, float]:
    """The total, and its variance, if a base is worth 1 / trust rows.

    The base tells the total in two ways, by cells (`_by_cells`) and by single axes (`_by_axes`).
    Both use the same noisy numbers, so the one of less variance is taken. The result is its mean
    with the tables' own total, weighted by precision.

    Parameters
    ----------
    tables
        Consistent tables. `Tables.unbiased` is used if it is there.
    base
        The base.
    trust
        1 / (number of rows that the base is worth) for each moment of each view, shaped like the
        tables; or one number.
    """
    own, variance = own_total(tables)
    if tables.known_total is not None or not tables.total > 0:
        return own, variance
    estimates = [_by_cells(tables, base, trust), _by_axes(tables, base, trust)]
    fitted, error = min(estimates, key=lambda estimate: estimate[1])
    # A total that contradicts the tables by more than two standard deviations counts less.
    error = max(error, (fitted - own) ** 2 / _CONTRADICTS**2 - variance)
    precision = 1 / variance + 1 / error
    return (own / variance + fitted / error) / precision, 1 / precision


def with_total(
    tables: Tables,
    total: float,
    variance: float,
) -> Tables:
    """The same tables with another total, whose error has the given variance.

    The errors of the total and of other components are independent. So the difference is spread
    evenly over the cells of each view: other moments of the counts stay. If tables without
    negative counts would have some, the nearest tables without them are taken. Where cells are
    impossible, all counts are multiplied by one factor instead, so that these stay empty.
    `Tables.unbiased` stays. A known total is not changed.
    """
    if tables.known_total is not None or not tables.total > 0:
        return tables
    precisions = []
    for view in tables.views:
        precision = tables.component_precision(view).copy()
        precision[0] = 1 / variance
        precisions.append(precision)
    if tables.zeros is not None:
        factor = total / tables.total
        values = tuple(value * factor for value in tables.values)
        return dataclasses.replace(tables, values=values, precisions=tuple(precisions))
    change = total - tables.total
    values = tuple(value + change / value.size for value in tables.values)
    changed = dataclasses.replace(tables, values=values, precisions=tuple(precisions))
    was_negative = min(value.min() for value in tables.values) < 0
    if was_negative or min(value.min() for value in values) >= 0:
        return changed
    projected = JointProjection()(dataclasses.replace(changed, unbiased=None))
    return dataclasses.replace(changed, values=projected.values)


def _by_cells(
    tables: Tables,
    base: Base,
    trust: tuple[Floats, ...] | float,
) -> tuple[float, float]:
    """The total that the cells of all views tell, and its variance, which may be infinite.

    A cell of a view has the count N q + error. Here q is its share in the base, and the error has
    the variance of the noise plus N ** 2 q / n for a base of n rows. Given the deviations of the
    cells from their mean on both sides, weighted least squares estimate N from all views. All cells
    of a base may deviate in one direction, so together they are at most as precise as one of them.
    """
    own = tables.total
    if isinstance(trust, tuple):
        trust = float(np.median([np.median(scales) for scales in trust]))
    scale = _CELLS_ALIGNED * trust
    products = squares = chance = 0.0
    for view, count in zip(tables.views, _counts(tables), strict=True):
        if not 1 < count.size <= _VIEW_CELLS:
            continue
        share = positive_shares(base, np.array([view]))[0]
        weight = 1 / (tables.variance(view) + own**2 * scale * share)
        centred = share - share.mean()
        products += float(weight @ (centred * (count.ravel() - count.mean())))
        squares += float(weight @ centred**2)
        chance += float(weight @ share) / base.rows
    # What the shares of a small base owe to chance makes the sum of their squares larger.
    true_squares = squares - chance
    if not true_squares > 0:
        return own, math.inf
    variance = squares / true_squares**2
    return products / true_squares, max(variance, own**2 * scale)


def _by_axes(
    tables: Tables,
    base: Base,
    trust: tuple[Floats, ...] | float,
) -> tuple[float, float]:
    """The total that single axes tell, and its variance, which may be infinite.

    The noise of the moments of an axis is independent of that of the total. A moment of the counts
    is N (q + d) + noise: N is the total, q the moment of the base, and d its deviation. The
    covariance of d is that of the functions of the moments over the rows of the base, divided by
    the number of rows that the base is worth. Generalised least squares over the moments of all
    axes give N. An axis tells much if most rows have few of its categories: these have large
    counts, and their shares vary little between samples.

    The base of another population may have more rows in the main categories of all axes. This is
    the same as a larger total, and no axis can tell the two apart. So a quarter of what 1 / (number
    of rows that the base is worth) is more than that of a random sample is taken to be common to
    all axes: the variance of the estimate is at least this part of the square of the total.
    """
    axes = _axes(tables, base, trust)
    if not axes:
        return tables.total, math.inf
    expected = np.concatenate([axis.expected for axis in axes.values()])
    counted = np.concatenate([axis.counted for axis in axes.values()])
    weights = np.linalg.solve(_covariance(axes, base, tables.total), expected)
    precision = float(weights @ expected)
    if not precision > 0:
        return tables.total, math.inf
    # What all axes have in common, and a random sample would not have.
    scales = [float(np.median(axis.deviation**2)) for axis in axes.values()]
    least = 1 / base.rows + 1 / tables.total
    common = _COMMON * max(float(np.median(scales)) - least, 0.0)
    variance = max(1 / precision, tables.total**2 * common)
    return float(weights @ counted) / precision, variance


def _counts(tables: Tables) -> tuple[Floats, ...]:
    """The counts of the views with the noise as it was drawn, if they are known."""
    return tables.values if tables.unbiased is None else tables.unbiased


def _axes(
    tables: Tables,
    base: Base,
    trust: tuple[Floats, ...] | float,
) -> dict[int, _Axis]:
    """The axes that tell most of the total, in ascending order."""
    found: dict[int, _Axis] = {}
    for row, (view, value) in enumerate(zip(tables.views, _counts(tables), strict=True)):
        if value.size > _VIEW_CELLS:
            continue
        scales = np.full(value.shape, trust) if isinstance(trust, float) else trust[row]
        for place, axis in enumerate(view):
            if axis not in found and 1 < value.shape[place] <= _AXIS_CELLS:
                found[axis] = _axis(tables, base, view, place, value, scales)

    def told(axis: int) -> float:
        covariance = _covariance({axis: found[axis]}, base, tables.total)
        expected = found[axis].expected
        return float(expected @ np.linalg.solve(covariance, expected))

    chosen = sorted(found, key=told, reverse=True)[:_MOST_AXES]
    return {axis: found[axis] for axis in sorted(chosen)}


def _axis(
    tables: Tables,
    base: Base,
    view: Axes,
    place: int,
    value: Floats,
    scales: Floats,
) -> _Axis:
    """The moments of the axis at one place of a view."""
    others = tuple(other for other in range(value.ndim) if other != place)
    counts = value.sum(axis=others)
    basis = transform(counts.shape)
    root = math.sqrt(counts.size)
    shares = positive_shares(base, np.array([[view[place]]]))[0]
    is_own = transform(value.shape).component == 1 << place
    noise = float(1 / tables.component_precision(view)[1 << place])
    noise_of_base = float(base.noise(np.array([[view[place]]])).mean()) * counts.size
    return _Axis(
        counted=basis.analyse(counts)[1:] * root,
        noise=noise + tables.total**2 * noise_of_base,
        expected=basis.analyse(shares)[1:] * root,
        deviation=np.sqrt(scales.ravel()[is_own]),
        functions=basis.analyse(np.eye(counts.size))[:, 1:] * root,
    )


def _covariance(
    axes: dict[int, _Axis],
    base: Base,
    total: float,
) -> Floats:
    """The covariance of the moments of counts about those of the base times the total."""
    blocks: dict[tuple[int, int], Floats] = {}
    for axis, one in axes.items():
        shares = positive_shares(base, np.array([[axis]]))[0]
        mean = one.functions.T @ shares
        blocks[axis, axis] = (one.functions.T * shares) @ one.functions - np.outer(mean, mean)
    for first, second in itertools.combinations(axes, 2):
        left, right = axes[first].functions, axes[second].functions
        shares = positive_shares(base, np.array([[first, second]]))[0]
        shares = shares.reshape(len(left), len(right))
        beyond = shares - np.outer(shares.sum(axis=1), shares.sum(axis=0))
        blocks[first, second] = left.T @ beyond @ right
        blocks[second, first] = blocks[first, second].T
    whole = np.block([[blocks[first, second] for second in axes] for first in axes])
    deviations = total * np.concatenate([axis.deviation for axis in axes.values()])
    noise = np.concatenate([np.full(len(axis.counted), axis.noise) for axis in axes.values()])
    return np.asarray(whole * np.outer(deviations, deviations) + np.diag(noise))
