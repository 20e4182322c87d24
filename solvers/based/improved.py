"""The tables of views, made less noisy by a base."""

import dataclasses
from collections.abc import Callable

import numpy as np

from ..basis import transform
from ..reconstruct.newton import Newton
from ..reconstruct.structure import parts_of_views
from ..tables.consistency import ResidualConsistency
from ..tables.nonnegativity import JointProjection
from ..tables.tables import Axes, Tables
from ..types import Floats, Integers
from .base import Base
from .held import mixture
from .large import large_solutions
from .likeness import likeness
from .relative import Relative, spreads

__all__ = ["LEAST_LEFT", "MOMENTS_CELLS", "improved"]

MOMENTS_CELLS = 1 << 12
"""Largest number of cells of a view whose moments are trusted one by one."""

_MOST_CELLS = 1 << 20
"""Largest number of cells of a view that is improved."""

_LEAST_PART = 1e-3
"""Smallest part of the variance of noise that a base is taken to leave."""

_JUDGED_AXES = 3
"""Number of axes of the marginals whose errors decide the weights of improved tables."""

LEAST_LEFT = 0.05
"""Smallest part of the noise that the removal of negative counts is taken to leave."""

_SOLVER = Newton(bars=False)
"""Solver of the tables of views relative to the base."""


def improved(
    tables: Tables,
    base: Base,
    problems: Callable[[Integers], tuple[Relative, Floats]],
    left_of: Callable[[Integers], Floats],
) -> tuple[Tables, Floats]:
    """Move the tables of views towards a base, and make them consistent again.

    Each view is improved as a marginal within views is (`held_solutions`, `large_solutions`). The
    precision of a component grows by the mean part of its variance that the base leaves. If n is
    the number of rows that the base is worth for a moment, v the variance of its noise and u that
    of its function over the rows of the base, this part is (u / n) / (v + u / n).

    Parameters
    ----------
    tables
        Consistent tables of positive total.
    base
        The base.
    problems
        From the axes of n marginals of one shape within views to their problems relative to the
        base, and the scales of all their moments.
    left_of
        From these axes to the part of the noise that the removal of negative counts left, (n,).

    Returns
    -------
    tuple of Tables and ndarray
        The tables, and the weights of what the base changed in moments on 0, 1, 2 and more axes.
    """
    values = list(tables.values)
    parts: dict[Axes, list[float]] = {}
    shapes: dict[tuple[int, ...], list[int]] = {}
    for row, value in enumerate(values):
        if 1 < value.size <= _MOST_CELLS:
            shapes.setdefault(value.shape, []).append(row)
    for shape, rows in shapes.items():
        asked = np.array([tables.views[row] for row in rows], dtype=np.int64)
        if values[rows[0]].size > MOMENTS_CELLS:
            found, left = _large(tables, base, asked)
        else:
            found, left = _small(tables, asked, *problems(asked), left_of(asked))
        for row, table, part in zip(rows, found, left, strict=True):
            values[row] = table.reshape(shape)
            for mask, ratio in enumerate(part.tolist()):
                own = tuple(
                    axis for place, axis in enumerate(tables.views[row]) if mask >> place & 1
                )
                parts.setdefault(own, []).append(ratio)
    changed = dataclasses.replace(
        tables,
        values=tuple(values),
        precisions=tuple(_precision(tables, view, parts) for view in tables.views),
        unbiased=None,
        measured=tables.measurements,
    )
    consistent = ResidualConsistency()(changed)
    weights = _weights(tables, consistent, base)
    return _between(tables, consistent, weights), weights


def _weights(
    tables: Tables,
    better: Tables,
    base: Base,
) -> Floats:
    """The weights of improved tables that have the least estimated errors, one for each order.

    The weight of moments on j axes is that of `held_solutions` for all marginals on three axes
    together. A base that is right about most of a large table may be wrong about how some pairs
    depend on each other, and these count more in smaller marginals. It is multiplied by the
    likeness of the interactions (`likeness`). The weights are for 0, 1, 2 and more axes. The weight
    for few axes does not limit that for more: it may be small only because the removal of negative
    counts has taken most of the noise from single axes.
    """
    width = min(_JUDGED_AXES, max(map(len, tables.views)))
    unbiased = tables
    if tables.unbiased is not None:
        unbiased = dataclasses.replace(tables, values=tables.unbiased, unbiased=None)
    # The noise, what the base leaves of it, what negative counts moved, and what the base moved.
    sums = np.zeros((4, width + 1))
    for part in parts_of_views(tables, width):
        row = tables.covering(part)
        assert row is not None  # it is a part of a view
        own, moved, noisy = (one.project(row, part) for one in (tables, better, unbiased))
        basis = transform(own.shape)
        terms = (
            1 / tables.component_precision(part)[basis.component] / basis.cells,
            1 / better.component_precision(part)[basis.component] / basis.cells,
            basis.analyse((noisy - own).ravel()) ** 2,
            basis.analyse((moved - own).ravel()) ** 2,
        )
        sums += [np.bincount(basis.order, term, width + 1) for term in terms]
    noise, after, removed, distance = sums
    left = np.clip(1 - removed / np.maximum(noise, 1e-300), LEAST_LEFT, 1.0)
    weights = np.clip(left * (noise - after) / np.maximum(distance, 1e-300), 0.0, 1.0)
    weights *= likeness(tables, base, width)
    weights[0] = 1.0
    return np.asarray(weights)


def _between(
    tables: Tables,
    better: Tables,
    weights: Floats,
) -> Tables:
    """Mix consistent tables with improved ones; `weights` are those of `_weights`."""
    values = []
    precisions = []
    for row, view in enumerate(tables.views):
        own, moved = tables.values[row], better.values[row]
        basis = transform(own.shape)
        last = len(weights) - 1
        change = basis.analyse((moved - own).ravel()) * weights[np.minimum(basis.order, last)]
        values.append(own + basis.synthesise(change).reshape(own.shape))
        precision = tables.component_precision(view)
        after = better.component_precision(view)
        part = np.divide(precision, after, out=np.ones(len(after)), where=np.isfinite(after))
        order = np.minimum(np.bitwise_count(np.arange(len(part))), last)
        precisions.append(precision / (1 - weights[order] * (1 - part)))
    mixed = dataclasses.replace(better, values=tuple(values), precisions=tuple(precisions))
    if min(value.min() for value in values) < 0:
        mixed = JointProjection()(mixed)
    return mixed


def _small(
    tables: Tables,
    asked: Integers,
    problems: Relative,
    scales: Floats,
    left: Floats,
) -> tuple[Floats, Floats]:
    """The improved tables of views of one shape, (n, cells), and what is left of the variance of
    the noise of each of their components, (n, 2 ** axes)."""
    count = len(asked)
    batch = problems.batch
    based = _SOLVER.solve(batch)
    mixed = mixture(problems, based, tables.covered_variances(asked), left)
    assert batch.base is not None
    _, spread = spreads(batch.shape, batch.base)
    unit = spread[:, 1:] * scales.reshape(count, -1)
    part = unit / np.maximum(unit + problems.noisy.variance.reshape(count, -1), 1e-300)
    component = transform(batch.shape).component
    size = 1 << asked.shape[1]
    number = np.bincount(component[1:], minlength=size)
    parts = []
    for row, weight in enumerate(mixed.weight.tolist()):
        sums = np.bincount(component[1:], part[row], size)
        mean = np.divide(sums, number, out=np.ones(size), where=number > 0)
        # The removal of negative counts has left less than the whole noise, too.
        parts.append(1 - weight * (1 - np.minimum(mean / left[row], 1.0)))
    return mixed.tables(based), np.stack(parts)


def _large(
    tables: Tables,
    base: Base,
    asked: Integers,
) -> tuple[Floats, Floats]:
    """The same as `_small` for views of many cells; all components are left the same part."""
    count = len(asked)
    found = large_solutions(tables, base, asked)
    assert found.variance is not None and found.undetermined is not None
    whole = (found.variance + found.undetermined).reshape(count, -1).mean(axis=1)
    part = np.minimum(whole / tables.covered_variances(asked), 1.0)
    means = np.repeat(part[:, None], 1 << asked.shape[1], axis=1)
    means[:, 0] = 1.0
    return found.table.reshape(count, -1), means


def _precision(
    tables: Tables,
    view: Axes,
    parts: dict[Axes, list[float]],
) -> Floats:
    """The precision of the components of a view; `parts` of their variances are left."""
    precision = tables.component_precision(view).copy()
    for mask in range(len(precision)):
        own = tuple(axis for place, axis in enumerate(view) if mask >> place & 1)
        precision[mask] /= max(float(np.mean(parts.get(own, [1.0]))), _LEAST_PART)
    return precision
