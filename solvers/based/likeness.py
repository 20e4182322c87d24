"""How like the interactions of a base are to those of noisy tables."""

import dataclasses
import math

import numpy as np

from ..basis import transform
from ..reconstruct.structure import parts_of_views
from ..tables.tables import Axes, Tables
from ..types import Floats
from .base import Base, positive_shares

__all__ = ["likeness"]

_LEAST_VARIANCE = 1e-300
"""Smallest variance that is divided by."""

_SURE = 2.0
"""Standard errors of y ** 2 that are taken to be noise."""


def likeness(
    tables: Tables,
    base: Base,
    width: int,
) -> Floats:
    """How like the interactions of a base are to those of noisy tables, one number for each order.

    Let x and y be the interactions on j axes of the base and of the tables: what their moments
    differ from those that follow from fewer axes. The sums below are weighted with the precision
    of y. The regression of y on x has the slope sum x y / sum x ** 2. But the views are often the
    strongest interactions of the table, so this slope is too large for others. The slope of x on y
    does not depend on which y were chosen: it is sum x y / (sum y ** 2 - noise). The result is the
    smaller slope, between 0 and 1, less one standard error of sum x y. So a base without
    interactions gets 0: what noise hides is then left to the reconstruction, which also takes it to
    be small.

    Parameters
    ----------
    tables
        Consistent tables of positive total. `Tables.unbiased` is compared if it is there.
    base
        The base.
    width
        The largest number of axes of the parts of views that are compared, at most 3.

    Returns
    -------
    ndarray of shape (width + 1,)
        For 0 and 1 axes it is 1, since nothing follows from fewer.
    """
    counts = tables
    if tables.unbiased is not None:
        counts = dataclasses.replace(tables, values=tables.unbiased, unbiased=None)
    slopes = np.zeros(width + 1)
    slopes[:2] = 1.0
    if not counts.total > 0:
        return slopes
    shapes: dict[tuple[int, ...], list[Axes]] = {}
    for part in parts_of_views(tables, width):
        shapes.setdefault(tuple(tables.sizes[axis] for axis in part), []).append(part)
    # For each order: x y and its variance, x ** 2, y ** 2 less noise, and the variance of this.
    sums = np.zeros((5, width + 1))
    for parts in shapes.values():
        shares = positive_shares(base, np.array(parts, dtype=np.int64))
        for part, share in zip(parts, shares, strict=True):
            sums += _sums(tables, counts, part, share, width)
    products, products_error, squares, told, told_error = sums
    # What noise may have added to y ** 2 is left out.
    most = np.maximum(squares, told - _SURE * np.sqrt(told_error))
    least = products - np.sqrt(products_error)
    found = np.clip(least / np.maximum(most, _LEAST_VARIANCE), 0.0, 1.0)
    slopes[2:] = found[2:]
    return slopes


def _sums(
    tables: Tables,
    counts: Tables,
    part: Axes,
    share: Floats,
    width: int,
) -> Floats:
    """The sums of `likeness` over the moments of one part of a view, shape (5, width + 1).

    `counts` are the tables before negative counts were removed, and `share` is the part's marginal
    of the base.
    """
    row = counts.covering(part)
    assert row is not None  # it is a part of a view
    moments = _moments(counts.project(row, part))
    basis = transform(moments.shape)
    variance = 1 / (tables.component_precision(part)[basis.component] * counts.total**2)
    variance[0] = 0.0
    # Known moments have no noise, and tell nothing.
    noisy = variance > 0
    noise = _noise(moments, variance.reshape(moments.shape)).ravel()[noisy]
    one = _interactions(_moments(share.reshape(moments.shape))).ravel()[noisy]
    other = _interactions(moments).ravel()[noisy]
    weight = 1 / variance[noisy]
    terms = (
        weight * one * other,
        weight**2 * one**2 * noise,
        weight * one**2,
        weight * (other**2 - noise),
        2 * weight**2 * noise**2,
    )
    order = basis.order[noisy]
    return np.stack([np.bincount(order, term, width + 1) for term in terms])


def _moments(table: Floats) -> Floats:
    """The moments of the shares of a table, shaped like the table; that of the constant is 1."""
    coefficients = transform(table.shape).analyse(table.ravel())
    moments = coefficients * (math.sqrt(table.size) / table.sum())
    return np.asarray(moments.reshape(table.shape))


def _singles(moments: Floats) -> list[Floats]:
    """The moments on each single axis of at most three, which broadcast to the shape of all."""
    places = range(moments.ndim)
    return [
        moments[tuple(slice(None) if axis == place else slice(1) for axis in places)]
        for place in places
    ]


def _without(moments: Floats, place: int) -> Floats:
    """The moments that do not depend on one axis, which broadcast to the shape of all."""
    return np.take(moments, [0], axis=place)


def _interactions(moments: Floats) -> Floats:
    """What moments on two or three axes differ from those that follow from fewer axes.

    From single axes follows their product. From pairs follows the table without Lancaster's
    interaction, p_ab p_c + p_ac p_b + p_bc p_a - 2 p_a p_b p_c (The Chi-Squared Distribution, 1969,
    chapter 12). The moments of a product are the products of the moments.
    """
    singles = _singles(moments)
    product = np.ones(moments.shape)
    for single in singles:
        product = product * single
    result = moments - product
    if moments.ndim == 3:
        triples = (slice(1, None),) * 3
        pairs = sum(_without(moments, place) * single for place, single in enumerate(singles))
        result[triples] = (moments - pairs + 2 * product)[triples]
    return np.asarray(result)


def _noise(moments: Floats, variance: Floats) -> Floats:
    """The variance of the noise of `_interactions`: the derivative by each moment, squared, times
    its variance."""
    singles = _singles(moments)
    result = variance.copy()
    for place, single in enumerate(singles):
        # By the moments that do not depend on this axis. Entry 0 is the constant.
        slope = single.copy()
        slope.flat[0] = 0.0
        result += _without(variance, place) * slope**2
        if moments.ndim == 3:
            # By the moments on this axis alone.
            first, second = (other for other in singles if other is not single)
            slope = 2 * first * second - _without(moments, place)
            triples = (slice(1, None),) * 3
            result[triples] += (_singles(variance)[place] * slope**2)[triples]
    return np.asarray(result)
