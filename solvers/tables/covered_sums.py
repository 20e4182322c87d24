"""The covariances and variances of sums of cells of marginals that views cover."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..basis import transform
from ..types import Floats, Integers
from .tables import Axes, Tables

__all__ = ["WeightedSum", "covered_covariance", "covered_group_variances", "grouped"]


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


def covered_group_variances(
    tables: Tables,
    axes: Axes,
    groups: Sequence[Integers | None],
) -> Floats:
    """The variances of the errors of the sums over all products of groups of categories.

    A sum R has the indicator w_R of its cells as weights, which is zero in cells that must be zero.
    Its variance is sum_S E_S / precision_S, divided by the number of cells of the marginal, where
    E_S is the squared norm of the component S of w_R; see `covered_covariance`. The part of w_R
    that varies on no axes but T, P_T w_R, is its mean over the other axes. So its squared norm is
    the sum of the components inside T, and

    ||P_T w_R|| ** 2 = (sum over the cells of T of (sum of w_R over the other axes) ** 2)
    / (number of cells of the other axes).

    E_S then follows by inclusion and exclusion. The time is 2 ** k passes over the marginal, where
    one number for each sum would take one pass for each sum.

    Parameters
    ----------
    tables
        Consistent tables.
    axes
        The axes of a marginal inside a view, ascending, shape (k,).
    groups
        For each axis the group of each category, ascending from 0, shape (categories,); None if
        each category is a group.

    Returns
    -------
    ndarray of shape (groups, ...), one axis for each of `axes`, in squared counts

    Examples
    --------
    >>> from margin.solvers.tables.tables import Tables
    >>> counts = np.array([6.0, 2.0, 1.0])
    >>> view = Tables(sizes=(3,), views=((0,),), values=(counts,), variances=(3.0,))
    >>> covered_group_variances(view, (0,), [np.array([0, 0, 1])]).round(9).tolist()
    [6.0, 3.0]
    """
    shape = tuple(tables.sizes[axis] for axis in axes)
    weights: Floats = np.ones(shape)
    if tables.zeros is not None:
        weights[tables.zeros.cells(tuple(axes))] = 0.0
    energy = [_group_norms(weights, groups, subset) for subset in range(1 << len(axes))]
    # From the norms of P_T to those of the components: subtract those of smaller sets, by axis.
    for axis in range(len(axes)):
        for subset in range(1 << len(axes)):
            if subset >> axis & 1:
                energy[subset] = energy[subset] - energy[subset ^ (1 << axis)]
    precision = tables.component_precision(tuple(axes))
    variance = np.zeros(energy[0].shape)
    for subset, own in enumerate(energy):
        # A component without functions, of an axis of one category, may have no precision.
        has_functions = all(shape[axis] > 1 for axis in range(len(axes)) if subset >> axis & 1)
        if has_functions:
            variance += np.maximum(own, 0.0) / precision[subset]
    return np.asarray(variance / math.prod(shape))


def _group_norms(
    weights: Floats,
    groups: Sequence[Integers | None],
    subset: int,
) -> Floats:
    """For each product of groups the squared norm of its weights' mean over the axes outside a
    subset, given as a bit mask."""
    sums = weights
    for axis, group in enumerate(groups):
        if not subset >> axis & 1:
            sums = grouped(sums, group, axis) / math.sqrt(weights.shape[axis])
    squares = sums**2
    for axis, group in enumerate(groups):
        if subset >> axis & 1:
            squares = grouped(squares, group, axis)
    return squares


def grouped(
    table: Floats,
    group: Integers | None,
    axis: int,
) -> Floats:
    """Sum the entries of each group along an axis."""
    if group is None:
        return table
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return np.asarray(np.add.reduceat(table, starts, axis=axis))


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
