"""What single axes and pairs of axes miss that no view holds, within larger marginals."""

import itertools

import numpy as np
from numpy.typing import NDArray

from ...tables.tables import Axes
from ...types import Floats

__all__ = ["cells_alone", "lacking_sets", "sums_alone"]


def lacking_sets(known: NDArray[np.bool_]) -> list[Axes]:
    """The single axes that no view holds, and the pairs of other axes that no view holds.

    Parameters
    ----------
    known
        Which components of a marginal on k axes the views hold, shape (2 ** k,).

    Returns
    -------
    list of tuple of int
        The places of the axes within the marginal. The marginal itself is not listed.
    """
    count = len(known).bit_length() - 1
    alone = [(place,) for place in range(count) if not known[1 << place]]
    held = [place for place in range(count) if known[1 << place]]
    pairs = [pair for pair in itertools.combinations(held, 2) if not known[_mask(pair)]]
    return [axes for axes in [*alone, *pairs] if len(axes) < count]


def cells_alone(
    tables: Floats,
    axes: Axes,
) -> Floats:
    """The part of the cells' variance that belongs to functions of some axes alone.

    Functions f of these axes without effects of fewer axes have random coefficients of variance
    one. The effect on a cell is total * p * f, so its variance is total ** 2 * p ** 2 times the
    product of 1 / q - 1 over these axes, where q is the share of the cell's category of an axis.
    For this the axes are taken to be independent of each other.

    Parameters
    ----------
    tables
        Marginals of one shape, shape (n, ...).
    axes
        The places of the axes.

    Returns
    -------
    ndarray of the same shape, in squared counts
    """
    part = tables**2
    for axis in axes:
        part = part * (1 / _shares(tables, axis) - 1)
    return np.asarray(part)


def sums_alone(
    table: Floats,
    axes: Axes,
    weights: Floats,
) -> Floats:
    """The same part of weighted sums of the cells of one marginal: their covariance.

    Parameters
    ----------
    table
        The marginal.
    axes
        The places of the axes.
    weights
        The weights of the cells in the q sums, shape (cells, q).

    Returns
    -------
    ndarray of shape (q, q), in squared counts
    """
    others = tuple(place for place in range(table.ndim) if place not in axes)
    parts = (weights * table.reshape(-1, 1)).reshape(*table.shape, -1)
    # The sums within each cell of the marginal on these axes.
    within = parts.sum(axis=others, keepdims=True)
    # The covariance of f in two cells is the product of [their categories agree] / q - 1.
    changes = within
    for axis in axes:
        shares = _shares(table[None], axis)[0, ..., None]
        changes = changes / shares - changes.sum(axis=axis, keepdims=True)
    sums = weights.shape[1]
    return np.asarray(changes.reshape(-1, sums).T @ within.reshape(-1, sums))


def _shares(tables: Floats, axis: int) -> Floats:
    """The shares of the categories of one axis in marginals of shape (n, ...), to broadcast."""
    others = tuple(place for place in range(1, tables.ndim) if place != axis + 1)
    counts = tables.sum(axis=others, keepdims=True)
    total = counts.sum(axis=axis + 1, keepdims=True)
    return np.asarray(np.maximum(counts, 1e-300) / np.maximum(total, 1e-300))


def _mask(axes: Axes) -> int:
    return sum(1 << place for place in axes)
