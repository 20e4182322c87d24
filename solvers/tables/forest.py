"""Least squares on trees: fitted values in which each node is the sum of its children."""

import numpy as np

from ..types import Floats, Integers


def agreeing(
    values: Floats,
    parent: Integers,
    level: Integers,
    missing: Integers,
    *,
    variance: float,
    missing_variance: float,
) -> Floats:
    """Change the values of the nodes of trees as little as possible so that the sums are right.

    Minimises sum_v (x_v - values_v)**2 / variance + sum_m x_m**2 / missing_variance over the values
    x of all nodes, where m runs over children that were not measured ("missing"). The constraint is
    that each node with a measured child is the sum of all its children, measured or missing. This
    is the method of Hay, Rastogi, Miklau and Suciu 2010, section 4, with weights: one pass up and
    one pass down the trees.

    Parameters
    ----------
    values
        The measured value of each node, shape (nodes,).
    parent
        The position of the parent of each node; a root has its own position, shape (nodes,).
    level
        The height of each node: larger than the heights of its children, shape (nodes,).
    missing
        The number of missing children of each node, shape (nodes,).
    variance, missing_variance
        The variance of a measured value, and of the prior of a missing node around zero; both > 0.

    Returns
    -------
    numpy.ndarray
        x, shape (nodes,).

    Examples
    --------
    >>> root_and_two = np.array([10.0, 4.0, 3.0])
    >>> above, height, none = np.array([0, 0, 0]), np.array([1, 0, 0]), np.array([0, 0, 0])
    >>> agreeing(root_and_two, above, height, none, variance=1.0, missing_variance=1.0)
    array([9., 5., 4.])
    """
    fitted = values.astype(np.float64)
    spread = np.full(values.size, variance)
    # The estimates of each node from its children, and their variances.
    sums = np.zeros(values.size)
    spreads = missing * missing_variance
    has_children = np.zeros(values.size, np.bool_)
    top = int(level.max(initial=-1))
    by_level = [np.flatnonzero(level == height) for height in range(top + 1)]
    # Upwards: the best estimate of each node from all that lies below it.
    for nodes in by_level:
        inner = nodes[has_children[nodes]]
        own = 1 / variance
        theirs = 1 / spreads[inner]
        fitted[inner] = (values[inner] * own + sums[inner] * theirs) / (own + theirs)
        spread[inner] = 1 / (own + theirs)
        lower = nodes[parent[nodes] != nodes]
        above = parent[lower]
        np.add.at(sums, above, fitted[lower])
        np.add.at(spreads, above, spread[lower])
        has_children[above] = True
    # Downwards: each difference is divided among the children in proportion to their variances.
    for nodes in reversed(by_level):
        lower = nodes[parent[nodes] != nodes]
        above = parent[lower]
        fitted[lower] += (fitted[above] - sums[above]) * spread[lower] / spreads[above]
    return fitted
