"""How far a reconstruction is from what the views say of its own marginals, beyond noise."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...basis import transform
from ...limits import MISFIT_NUMBERS
from ...tables.moments import known_moments
from ...tables.tables import Axes, Tables
from ...types import Floats, Integers

__all__ = ["largest_sets", "misfit_covariance", "misfit_variance"]


_ROUNDING = 1e-9
"""Misfit of a cell that may be rounding, as a share of all rows."""


class _Margin(NamedTuple):
    """One set S of axes of n marginals; the tables keep an axis of one category for each other one.

    Attributes
    ----------
    others
        The axes of the arrays of shape (n, ...) that are summed.
    misfit
        What the views say of S less the reconstruction, shape (n, ...).
    fitted
        The reconstruction's marginal on S, shape (n, ...).
    noise
        The variance of the cells of S in the views and of rounding, shape (n, 1, ..., 1).
    """

    others: Axes
    misfit: Floats
    fitted: Floats
    noise: Floats


def misfit_variance(
    tables: Tables,
    asked: Integers,
    known: NDArray[np.bool_],
    fitted: Floats,
) -> Floats:
    """The variance of cells by which reconstructions do not fit the views, beyond noise.

    Maximum entropy is relaxed: each known moment may differ from the views in proportion to its
    dual variable. Usually this is less than the noise. But where combinations never occur, the
    solution would need very large dual variables, since a cell of a log-linear model is never zero.
    The relaxation then leaves rows in such cells, and takes them from others. Their number may be
    many times the noise, and no variance of noise tells it. The views do.

    Let S be one of the largest sets of the asked axes that a view holds, and y a cell of S. If the
    views have d rows more in y than the reconstruction, and the variance of noise in y is v, then
    d ** 2 - v is a variance that noise does not explain. A cell x of y has a part of d in
    proportion to its count. So it gets (d ** 2 - v) (p_x / p_y) ** 2, or nothing if this is
    negative. The results of all sets S are added, as if their errors were independent.

    Only the views' noisy tables are used, so this is post-processing. Nothing is fitted.

    Parameters
    ----------
    tables
        The consistent tables of the views.
    asked
        The axes of marginals of one shape, ascending, shape (n, k).
    known
        Which components of the marginals the views hold, shape (n, 2 ** k).
    fitted
        Their reconstructions, shape (n, ...).

    Returns
    -------
    ndarray of shape (n, ...), in squared counts
    """
    result = np.zeros(fitted.shape)
    patterns, pattern = np.unique(known, axis=0, return_inverse=True)
    for place, one in enumerate(patterns):
        rows = np.flatnonzero(pattern.ravel() == place)
        # The variance that each cell of S lends to a cell of one row.
        lent = np.zeros((len(rows), *fitted.shape[1:]))
        for margin in _margins(tables, asked[rows], one, fitted[rows]):
            excess = np.maximum(margin.misfit**2 - margin.noise, 0.0)
            lent += excess / np.maximum(margin.fitted, 1e-100) ** 2
        result[rows] = lent * fitted[rows] ** 2
    return result


def misfit_covariance(
    tables: Tables,
    axes: Axes,
    known: NDArray[np.bool_],
    weights: Floats,
    table: Floats,
) -> Floats:
    """The same part of weighted sums of the cells of one marginal: their covariance.

    The misfit of a sum is the sum of its cells' parts of d. Its noise is that of independent cells
    y. For the indicator of one cell the variance is that of `misfit_variance`.

    Parameters
    ----------
    tables
        The consistent tables of the views.
    axes
        The axes of the marginal, ascending.
    known
        Which components of the marginal the views hold, shape (2 ** k,).
    weights
        The weights of its cells in the q sums, shape (cells, q).
    table
        Its reconstruction, shape (cells,).

    Returns
    -------
    ndarray of shape (q, q), in squared counts
    """
    shape = tuple(tables.sizes[axis] for axis in axes)
    sums = weights.shape[1]
    result = np.zeros((sums, sums))
    # The sums stand first, so that their axes are those of n marginals.
    parts = weights.T.reshape(sums, *shape) * table.reshape(shape)
    asked = np.array([axes], dtype=np.int64)
    for margin in _margins(tables, asked, known, table.reshape(1, *shape)):
        shares = parts.sum(axis=margin.others, keepdims=True)
        shares = shares / np.maximum(margin.fitted, 1e-100)
        misfit = (shares * margin.misfit).reshape(sums, -1).sum(axis=1)
        noise = (shares**2 * margin.noise).reshape(sums, -1).sum(axis=1)
        beyond = np.sign(misfit) * np.sqrt(np.maximum(misfit**2 - noise, 0.0))
        result += np.outer(beyond, beyond)
    return result


def largest_sets(known: NDArray[np.bool_]) -> list[Axes]:
    """The largest sets of axes that the views hold: none of them lies within another one.

    Parameters
    ----------
    known
        Which components of a marginal on k axes the views hold, shape (2 ** k,).

    Returns
    -------
    list of tuple of int
        The places of the axes within the marginal; never the empty set.
    """
    count = len(known).bit_length() - 1
    masks = np.arange(1, len(known))
    largest = known[1:].copy()
    # The views hold all subsets of what they hold, so one axis more is enough to compare with.
    for place in range(count):
        larger = masks | 1 << place
        largest &= (larger == masks) | ~known[larger]
    chosen = masks[largest].tolist()
    return [tuple(place for place in range(count) if mask >> place & 1) for mask in chosen]


def _margins(
    tables: Tables,
    asked: Integers,
    known: NDArray[np.bool_],
    fitted: Floats,
) -> Iterator[_Margin]:
    """The marginals on the largest known sets of n marginals that lack the same sets.

    There is none if the sets are too many (`MISFIT_NUMBERS`): they would take too long.
    """
    sets = largest_sets(known)
    if len(sets) * math.prod(fitted.shape[1:]) > MISFIT_NUMBERS:
        return
    difference = _difference(tables, asked, fitted)
    for places in sets:
        others = tuple(axis for axis in range(1, fitted.ndim) if axis - 1 not in places)
        variances = tables.covered_variances(asked[:, list(places)])
        # What is known has no noise, but a reconstruction fits it up to rounding only.
        variances = variances + (_ROUNDING * tables.total) ** 2
        yield _Margin(
            others=others,
            misfit=difference.sum(axis=others, keepdims=True),
            fitted=fitted.sum(axis=others, keepdims=True),
            noise=variances.reshape(-1, *[1] * (fitted.ndim - 1)),
        )


def _difference(
    tables: Tables,
    asked: Integers,
    fitted: Floats,
) -> Floats:
    """Tables whose known moments are those of the views less those of reconstructions; the other
    moments are 0. Shape (n, ...), as `fitted`, in counts."""
    moments = known_moments(tables, asked)
    basis = transform(moments.shape)
    scale = math.sqrt(basis.cells)
    found = basis.analyse(fitted.reshape(len(asked), -1) / tables.total) * scale
    row = np.repeat(np.arange(len(asked)), moments.counts)
    difference = np.zeros_like(found)
    difference[row, moments.index] = moments.target - found[row, moments.index]
    return basis.synthesise(difference / scale).reshape(fitted.shape) * tables.total
