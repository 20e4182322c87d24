"""Sums of cells of the marginals of a `ViewSynopsis`, with the covariances of their errors."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from ..._types import Floats
from ...domain.domain import Domain
from ...domain.level_views import LevelView
from ...domain.marginal import Marginal
from ...domain.where import Chosen
from ...solvers import covered_group_variances
from ..counts.conditions import certain, left_open, weights_on
from ..counts.sums import Sums, covered_sums
from ..noisy_tables import in_view_order
from .answering import MOST_BASED, Answering, at_once

__all__ = ["rolled", "sums_of"]

_MOST_WEIGHTS = 1 << 30
"""Largest number of weights, cells times sums, for which the errors of sums of reconstructed cells
are computed."""

_WEIGHTS_AT_ONCE = 1 << 20
"""Largest number of weights, cells times sums, that are held together. One sum may have more."""


def sums_of(
    answering: Answering,
    chosen: Sequence[Chosen],
    *,
    known: Marginal | None = None,
) -> Sums:
    """The numbers of rows with some codes, and the covariances of their errors.

    `known` is a marginal that has all attributes that have codes, if it was answered already.
    """
    domain = answering.domain
    asked = _axes(domain, {name: () for codes in chosen for name in codes})
    views = [answering.held.covering(_axes(domain, codes)) for codes in chosen]
    covered = all(view is not None for view in views)
    uses_base = answering.base is not None and asked and answering.cells(asked) <= MOST_BASED
    if covered and not uses_base:
        return covered_sums(
            domain,
            answering.tables,
            chosen,
            answering.noise,
            answering.kurtosis,
            answering.linked_errors,
        )
    at_once(tuple(domain.sizes[axis] for axis in asked))
    weights = weights_on(domain, asked, chosen)
    # With no positive total, zero is the only non-negative answer.
    if answering.held.total <= 0:
        unknown = np.full((len(chosen), len(chosen)), math.nan)
        nothing = np.zeros(len(chosen))
        return Sums(estimates=nothing, noise=unknown, missed=unknown, reconstructed=True)
    # What is known of the sums has no error.
    shape = tuple(domain.sizes[axis] for axis in asked)
    columns = [left_open(domain, asked, own.reshape(shape)).ravel() for own in weights.T]
    opened = np.stack(columns, axis=1)
    with answering.reporting():
        found = answering.reconstruction.sums(asked, opened)
    answering.check(asked, found.status)
    # With a base, what a view holds misses no more than the errors of its own sums.
    is_held = answering.held.covering(asked) is not None
    sums = Sums(
        estimates=answering.kept(asked, found.table.reshape(shape)).ravel() @ weights,
        noise=found.variance,
        missed=answering.structure.missed_covariance(
            asked,
            opened if is_held else weights,
            found,
        ),
        reconstructed=True,
    )
    return _like_cells(answering, asked, chosen, sums, known)


def _like_cells(
    answering: Answering,
    asked: tuple[int, ...],
    chosen: Sequence[Chosen],
    sums: Sums,
    known: Marginal | None,
) -> Sums:
    """The same sums, where a sum of one cell is that cell of the marginal, with its error.

    The errors of sums of several cells are estimated in another way than those of cells.
    Correlations stay as they are.
    """
    single = [
        row
        for row, codes in enumerate(chosen)
        if len(codes) == len(asked) and all(len(own) == 1 for own in codes.values())
    ]
    if not single:
        return sums
    marginal = known
    # A level of one node counts all categories of its attribute, which then has no codes here.
    if marginal is None or len(marginal.attributes) > len(asked):
        names = tuple(answering.domain.attributes[axis] for axis in asked)
        (marginal,) = answering.marginals([names])
    cells = [tuple(chosen[row][name][0] for name in marginal.attributes) for row in single]
    estimates = sums.estimates.copy()
    estimates[single] = [marginal.counts[cell] for cell in cells]
    noise = [float(marginal.noise_variance[cell]) for cell in cells]
    missed = [float(marginal.missed_variance[cell]) for cell in cells]
    return dataclasses.replace(
        sums,
        estimates=estimates,
        noise=_with_variances(sums.noise, single, noise),
        missed=_with_variances(sums.missed, single, missed),
    )


def rolled(answering: Answering, view: LevelView) -> Marginal:
    """The marginal of a view with levels: sums of cells of the marginal on its attributes."""
    (cells,) = answering.marginals([view.view])
    counts = view.rolled_up(cells.counts)
    axes = answering.domain.axes(view.view)
    # Sums that rules and known tables determine have no error.
    told = certain(answering.domain, axes, view.groups)
    has_error = view.rolled_up((~told).astype(np.float64)) > 0
    if not has_error.any():
        return Marginal(view.rolled, counts, np.zeros(counts.shape))
    ascending = tuple(sorted(axes))
    if answering.reads_directly(np.array([ascending]))[0]:
        groups = [view.groups[axes.index(axis)] for axis in ascending]
        if answering.noise is None:
            variance = covered_group_variances(answering.tables, ascending, groups)
        else:
            variance = answering.noise.cell_variances(ascending, groups)
        # The number of cells in each sum, with its axes ascending.
        summed = view.rolled_up(np.ones(cells.counts.shape))
        summed = summed.transpose([axes.index(axis) for axis in ascending])
        kurtosis = answering.group_kurtosis(ascending, groups, variance, summed)
        if answering.linked_errors is not None:
            reduction = answering.linked_errors.variances(ascending, groups)
            variance = np.maximum(variance - reduction, 0.0)
        return Marginal(
            view.rolled,
            counts,
            np.where(has_error, in_view_order(variance, axes), 0.0),
            noise_kurtosis=in_view_order(kurtosis, axes),
        )
    noise = np.full(counts.size, math.nan)
    missed = np.full(counts.size, math.nan)
    # With no positive total, the variances are unknown, as those of cells.
    if answering.held.total > 0 and counts.size * cells.counts.size <= _MOST_WEIGHTS:
        chosen = list(view.cells())
        # Only the variances are kept, so that parts can be as small as memory wants them.
        step = max(1, _WEIGHTS_AT_ONCE // cells.counts.size)
        for start in range(0, len(chosen), step):
            sums = sums_of(answering, chosen[start : start + step], known=cells)
            noise[start : start + step] = sums.noise.diagonal()
            missed[start : start + step] = sums.missed.diagonal()
    noise = np.where(has_error.ravel(), noise, 0.0)
    missed = np.where(has_error.ravel(), missed, 0.0)
    shape = counts.shape
    return Marginal(
        view.rolled, counts, noise.reshape(shape), missed_variance=missed.reshape(shape)
    )


def _axes(domain: Domain, codes: Chosen) -> tuple[int, ...]:
    """The axes of the attributes that a condition restricts, ascending."""
    return tuple(sorted(domain.position[name] for name in codes))


def _with_variances(
    covariance: Floats,
    rows: Sequence[int],
    variances: Sequence[float],
) -> Floats:
    """A covariance matrix with other variances in some rows, and the same correlations."""
    before = covariance.diagonal()[list(rows)]
    factors = np.ones(len(covariance))
    factors[list(rows)] = np.sqrt(np.array(variances) / np.where(before > 0, before, 1.0))
    scaled = covariance * np.outer(factors, factors)
    scaled[rows, rows] = variances
    return np.asarray(scaled)
