"""The covariance of weighted sums of cells of marginals that views cover."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..basis import transform
from ..types import Floats
from .tables import Axes, Tables

__all__ = ["WeightedSum", "covered_covariance"]


class WeightedSum(NamedTuple):
    """A sum of the cells of a marginal, each times a weight.

    Attributes
    ----------
    axes
        The axes of the marginal, ascending.
    weights
        The weight of each cell, with the marginal's shape.
    """

    axes: Axes
    weights: Floats


def covered_covariance(tables: Tables, sums: Sequence[WeightedSum]) -> Floats:
    """The covariance of the errors of q weighted sums, in squared counts.

    Each sum must be of a marginal inside a view. The errors are those of the best linear estimate,
    as in `Tables.covered_variances`. A sum is (1 / sqrt(cells)) sum_f w_f (total x moment of f),
    where w_f are the coefficients of its weights. The errors of different moments are independent.
    So two sums share only the functions f of their common axes, and their covariance is the sum
    over the components S of the common axes of sum_{f in S} w_f w'_f / precision_S, divided by the
    root of the product of their numbers of cells.

    For the number of rows with categories A_a in each axis a, with n_a categories, w_f are products
    over the axes. The variance is then the sum over the subsets S of the axes of
    prod_{a in S} (n_a |A_a| - |A_a| ** 2) prod_{a not in S} |A_a| ** 2 / precision_S, divided by
    the square of the number of cells.

    Cells that must be zero have no error. The weights should be zero there.

    Parameters
    ----------
    tables
        Consistent tables.
    sums
        The q sums.

    Returns
    -------
    ndarray of shape (q, q)

    Examples
    --------
    >>> from margin.solvers.tables.tables import Tables
    >>> view = Tables(sizes=(2,), views=((0,),), values=(np.array([6.0, 2.0]),), variances=(3.0,))
    >>> first = WeightedSum((0,), np.array([1.0, 0.0]))
    >>> both = WeightedSum((), np.array(1.0))
    >>> covered_covariance(view, [first, both]).round(9).tolist()
    [[3.0, 3.0], [3.0, 6.0]]
    """
    scaled = [_coefficients(one) for one in sums]
    result = np.empty((len(sums), len(sums)))
    for row in range(len(sums)):
        for column in range(row + 1):
            common = tuple(axis for axis in sums[row].axes if axis in sums[column].axes)
            one = _shared(sums[row].axes, scaled[row], common)
            other = _shared(sums[column].axes, scaled[column], common)
            # The sum of products over the functions of each component, by its bit mask.
            component = transform(one.shape).component
            products = np.bincount(component, (one * other).ravel(), 1 << len(common))
            # A component without functions, of an axis of one category, may have no precision.
            used = np.flatnonzero(products)
            covariance = (products[used] / tables.component_precision(common)[used]).sum()
            result[row, column] = covariance
            result[column, row] = covariance
    return result


def _coefficients(one: WeightedSum) -> Floats:
    """The weight of total times moment of each basis function in a sum, as a table."""
    cells = math.prod(one.weights.shape)
    coefficients = transform(one.weights.shape).analyse(one.weights.reshape(-1))
    return (coefficients / math.sqrt(cells)).reshape(one.weights.shape)


def _shared(
    axes: Axes,
    coefficients: Floats,
    common: Axes,
) -> Floats:
    """The coefficients of the functions that vary on no axes but the common ones."""
    return coefficients[tuple(slice(None) if axis in common else 0 for axis in axes)]
