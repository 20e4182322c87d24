"""Polynomials of low degree that are near 0 at the integers 0, 1, ..., n - 1 and near 1 at n."""

from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from ..types import Floats


@lru_cache
def threshold_polynomial(order: int, error: float) -> tuple[float, ...]:
    """The polynomial of smallest degree that is near 0 at 0 ... order - 1 and near 1 at `order`.

    "Near" means within `error`; the degree is at least one. Linear programming finds the polynomial
    with the smallest error of each degree. A degree of about sqrt(order log(1 / error)) is enough
    (Nisan and Szegedy; Thaler, Ullman and Vadhan, ICALP 2012, section 3).

    Parameters
    ----------
    order
        A whole number >= 1.
    error
        The largest error, > 0.

    Returns
    -------
    tuple of float
        a_0, a_1, ... such that the polynomial is sum_i a_i binomial(s, i).

    Examples
    --------
    >>> threshold_polynomial(2, 0.01)
    (0.0, 0.0, 1.0)
    """
    for degree in range(1, order):
        # Row s has the values of all binomials at s.
        rows = [[comb(s, i) for i in range(degree + 1)] for s in range(order + 1)]
        basis = np.array(rows, np.float64)
        coefficients, worst = _best(basis, np.append(np.zeros(order), 1.0))
        if worst <= error:
            return tuple(coefficients.tolist())
    return (0.0,) * order + (1.0,)


def _best(basis: Floats, target: Floats) -> tuple[Floats, float]:
    """Minimise the largest absolute error of basis @ coefficients - target, by linear programming.

    Returns the coefficients and this error.
    """
    column = -np.ones((len(basis), 1))
    below = np.concatenate([np.hstack([basis, column]), np.hstack([-basis, column])])
    cost = np.append(np.zeros(basis.shape[1]), 1.0)
    import scipy.optimize

    optimize: Any = scipy.optimize
    found = optimize.linprog(
        cost,
        A_ub=below,
        b_ub=np.concatenate([target, -target]),
        bounds=[(None, None)] * len(cost),
        method="highs",
    )
    return found.x[:-1], float(found.x[-1])
