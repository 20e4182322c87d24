"""Weights whose costs rise as they fall, under bounds on their sums: a convex problem.

There is one dual number for each bound.
"""

from typing import Any, NamedTuple

import numpy as np

from ..types import Floats


class BoundedWeights(NamedTuple):
    """Weights, and how good they are.

    Attributes
    ----------
    weights
        Positive, shape (n,); the largest bound holds with equality.
    objective
        The objective of the weights.
    bound
        A lower bound on the objective of all weights.
    """

    weights: Floats
    objective: float
    bound: float


def bounded_weights(
    matrix: Any,
    costs: Floats,
    *,
    power: float,
    tolerance: float = 1e-6,
    iterations: int = 20_000,
) -> BoundedWeights:
    """Minimise sum_i costs_i * u_i ** -power over u > 0 with matrix @ u <= 1.

    Take dual numbers m >= 0 of sum one, and keep only the bound (m @ matrix) @ u <= 1. The best u
    then has u_i in proportion to (costs_i / (m @ matrix)_i) ** (1 / (1 + power)), and its objective
    is a lower bound. Scaled so that all bounds hold, it is a solution. The ratio of the two
    objectives is (max_j s_j / m @ s) ** power, where s = matrix @ u.

    The dual numbers are multiplied by powers of s_j / m @ s, which are larger where a bound is
    exceeded, until the ratio is near one. Multiplicative algorithms of optimal design do the same
    (Silvey, Titterington and Torsney 1978).

    Parameters
    ----------
    matrix
        Non-negative, dense or sparse, shape (bounds, n); every column has a positive entry.
    costs
        Positive, shape (n,).
    power
        Positive.
    tolerance
        The relative gap between objective and bound at which the steps end.
    iterations
        The largest number of steps.

    Returns
    -------
    BoundedWeights

    Examples
    --------
    >>> found = bounded_weights(np.array([[1.0, 1.0]]), np.array([1.0, 4.0]), power=1.0)
    >>> found.weights.round(6).tolist()
    [0.333333, 0.666667]
    """
    duals = np.full(matrix.shape[0], 1 / matrix.shape[0])
    best = BoundedWeights(costs, np.inf, 0.0)
    step = 1.0
    for _ in range(iterations):
        weights = (costs / (duals @ matrix)) ** (1 / (1 + power))
        sums = matrix @ weights
        mean = float(duals @ sums)
        largest = float(sums.max())
        value = float((costs * weights**-power).sum())
        objective = value * largest**power
        bound = value * mean**power
        if objective < best.objective:
            best = BoundedWeights(weights / largest, objective, max(best.bound, bound))
        elif bound < best.bound:
            step = max(0.5, 0.9 * step)  # an overshoot
        best = best._replace(bound=max(best.bound, bound))
        if best.objective <= (1 + tolerance) * best.bound:
            break
        duals = duals * (sums / mean) ** step
        duals /= duals.sum()
    return best
