"""A convex problem: minimise sum_i costs_i * u_i ** -power under linear bounds on the weights u."""

from typing import Any, NamedTuple

import numpy as np

from ..types import Floats


class BoundedWeights(NamedTuple):
    """Result of `bounded_weights`: feasible weights, their objective, and a lower bound.

    Attributes
    ----------
    weights
        The weights u, positive, shape (n,). At least one bound holds with equality.
    objective
        The objective at these weights.
    bound
        The value of the dual: no feasible weights have a smaller objective.
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

    The dual has one variable m_j >= 0 for each bound, with sum one. Replace all bounds by their
    weighted sum (m @ matrix) @ u <= 1. The best u of this relaxed problem has u_i in proportion to
    (costs_i / (m @ matrix)_i) ** (1 / (1 + power)), and its objective is a lower bound. Scaled so
    that all bounds hold, u is feasible. Let s = matrix @ u. The ratio of the feasible objective to
    the lower bound is (max_j s_j / (m @ s)) ** power.

    Each step multiplies m_j by a power of s_j / (m @ s), which is larger than one where a bound is
    exceeded. The steps end when the ratio is near one. This is a multiplicative algorithm of
    optimal design (Silvey, Titterington and Torsney 1978).

    Parameters
    ----------
    matrix
        The coefficients of the bounds, shape (bounds, n), dense or sparse. No entry is negative,
        and every column has a positive entry.
    costs
        One positive number for each weight, shape (n,).
    power
        The exponent in the objective, > 0.
    tolerance
        The relative gap between objective and bound at which the steps end.
    iterations
        The largest number of steps.

    Returns
    -------
    BoundedWeights
        The best weights found. If the steps did not suffice, the gap is larger than the tolerance.

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
            step = max(0.5, 0.9 * step)  # the step was too long: take shorter ones
        best = best._replace(bound=max(best.bound, bound))
        if best.objective <= (1 + tolerance) * best.bound:
            break
        duals = duals * (sums / mean) ** step
        duals /= duals.sum()
    return best
