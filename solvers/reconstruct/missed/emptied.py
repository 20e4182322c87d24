"""What reconstructions miss in categories that noise made empty."""

from typing import NamedTuple

import numpy as np

from ...tables.tables import Axes, Tables
from ...types import Floats, Integers

__all__ = ["emptied_covariance", "emptied_variance"]

_LEAST_VARIANCE = 1e-9
"""Variance, in squared counts, below which a count is exact."""


class _Categories(NamedTuple):
    """The categories of one axis in n marginals; arrays of shape (n, categories).

    Attributes
    ----------
    shares
        Their estimated shares.
    missed
        The variance of the rows that are missed in them.
    """

    shares: Floats
    missed: Floats


def emptied_variance(
    views: Tables,
    asked: Integers,
    tables: Floats,
) -> Floats:
    """The variance of what the cells of reconstructed marginals miss in emptied categories.

    The variance that noise causes in a cell is linear in the noise, and it falls to zero with the
    cell. So it says nothing of the rows in a category whose noisy count fell below zero. Let m be
    the estimated count of a category and v its variance in the views. If m ** 2 < v, the category
    misses rows with the variance (1 - m / sqrt(v)) v. They are spread as if its axis were
    independent of the others, and these independent of each other.

    Parameters
    ----------
    views
        The consistent tables.
    asked
        The axes of marginals of one shape, ascending, shape (n, k).
    tables
        Their reconstructions, shape (n, ...).

    Returns
    -------
    ndarray of shape (n, ...), in squared counts
    """
    axes = _categories(views, asked, tables)
    if not any(axis.missed.any() for axis in axes):
        return np.zeros(tables.shape)
    # The products of squared shares, and the sums of those with one factor replaced.
    products = np.ones((len(tables), 1))
    missed = np.zeros_like(products)
    for axis in axes:
        squares = axis.shares**2
        missed = _times(missed, squares) + _times(products, axis.missed)
        products = _times(products, squares)
    empty = None if views.zeros is None else views.zeros.cells_of_many(asked)
    if empty is not None:
        missed[empty] = 0.0
    return missed.reshape(tables.shape)


def emptied_covariance(
    views: Tables,
    axes: Axes,
    weights: Floats,
    table: Floats,
) -> Floats:
    """The covariance of what sums of the cells of one marginal miss; see `emptied_variance`.

    Parameters
    ----------
    views
        The consistent tables.
    axes, weights
        The axes of the marginal, and the weights of its cells in the q sums, shape (cells, q).
    table
        Its reconstruction, shape (cells,).

    Returns
    -------
    ndarray of shape (q, q), in squared counts
    """
    asked = np.array([axes], dtype=np.int64)
    shape = tuple(views.sizes[axis] for axis in axes)
    places = _categories(views, asked, table.reshape(1, *shape))
    empty = None if views.zeros is None else views.zeros.cells_of_many(asked)
    if empty is not None:
        weights = np.where(empty.reshape(-1, 1), 0.0, weights)
    if views.known is not None and views.known.more:
        # What is known of the sums misses nothing.
        cells = None if empty is None else empty.reshape(shape)
        left = [views.known.left_open(axes, own.reshape(shape), cells) for own in weights.T]
        weights = np.stack([own.ravel() for own in left], axis=1)
    result = np.zeros((weights.shape[1], weights.shape[1]))
    for place, own in enumerate(places):
        if not own.missed.any():
            continue
        # How far one more row in each category moves the sums.
        moved = weights.reshape(*shape, -1)
        for other in reversed(range(len(shape))):
            if other != place:
                moved = np.tensordot(places[other].shares[0], moved, axes=(0, other))
        result += (moved * own.missed[0][:, None]).T @ moved
    return result


def _categories(
    views: Tables,
    asked: Integers,
    tables: Floats,
) -> list[_Categories]:
    """The categories of each axis of marginals of one shape."""
    count, width = asked.shape
    variances = _variances(views, asked)
    found = []
    for place in range(width):
        others = tuple(axis + 1 for axis in range(width) if axis != place)
        counts = tables.sum(axis=others)
        total = np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
        variance = variances[:, place].reshape(count, 1)
        filled = counts / np.sqrt(np.maximum(variance, _LEAST_VARIANCE))
        found.append(_Categories(counts / total, np.maximum(1 - filled, 0.0) * variance))
    return found


def _variances(views: Tables, asked: Integers) -> Floats:
    """The variances of the categories of all asked axes, shaped like `asked`.

    They are 0 where no view holds the axis, or where its counts are exact.
    """
    own, position = np.unique(asked, return_inverse=True)
    variances = [
        views.variance((axis,)) if views.covering((axis,)) is not None else 0.0
        for axis in own.tolist()
    ]
    found = np.array(variances)[position.reshape(asked.shape)]
    return np.where(found > _LEAST_VARIANCE, found, 0.0)


def _times(tables: Floats, factors: Floats) -> Floats:
    """Flat tables times the factors of one axis more, shape (n, cells x categories)."""
    return (tables[:, :, None] * factors[:, None, :]).reshape(len(tables), -1)
