"""`agreeing`: the values of the nodes of trees, fitted by least squares so that each is the sum of
those below it."""

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
    """Least squares on a forest in two passes (Hay, Rastogi, Miklau and Suciu 2010, section 4, with
    weights).

    Minimises sum (x_v - values_v)**2 / variance + sum over missing nodes x_m**2 / missing_variance,
    where each node that has nodes below it, given or missing, is their sum. A node without any
    given below is free of what is missing.

    Parameters
    ----------
    values
        What is said of each node, shape (nodes,).
    parent
        The place of the node above it; its own for a root.
    level
        Above that of the nodes below it.
    missing
        How many nodes right below it are not given.
    variance, missing_variance
        How much is made of each; both > 0.

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
    sums = np.zeros(values.size)
    spreads = missing * missing_variance
    below = np.zeros(values.size, np.bool_)
    rows = [np.flatnonzero(level == height) for height in range(int(level.max(initial=-1)) + 1)]
    for nodes in rows:
        inner = nodes[below[nodes]]
        own = 1 / variance
        theirs = 1 / spreads[inner]
        fitted[inner] = (values[inner] * own + sums[inner] * theirs) / (own + theirs)
        spread[inner] = 1 / (own + theirs)
        lower = nodes[parent[nodes] != nodes]
        np.add.at(sums, parent[lower], fitted[lower])
        np.add.at(spreads, parent[lower], spread[lower])
        below[parent[lower]] = True
    for nodes in reversed(rows):
        lower = nodes[parent[nodes] != nodes]
        above = parent[lower]
        fitted[lower] += (fitted[above] - sums[above]) * spread[lower] / spreads[above]
    return fitted
