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


@lru_cache
def chebyshev_polynomial(order: int, error: float) -> tuple[float, ...]:
    """The Chebyshev polynomial that is 1 at `order`, and within `error` of 0 at 0 ... order - 1.

    Let j = order - s, and let T_r be the Chebyshev polynomial of degree r. On 1 <= j <= order the
    argument below is within [-1, 1], so that T_r is too:

        p(s) = T_r((order + 1 - 2 j) / (order - 1)) / T_r((order + 1) / (order - 1)).

    The smallest degree r is taken whose denominator is at least 1 / error. It is about
    sqrt(order) log(2 / error) / 2, as the lemma of Thaler, Ullman and Vadhan, ICALP 2012, states
    for the polynomial 1 - p of a disjunction.

    Parameters
    ----------
    order, error
        See `threshold_polynomial`.

    Returns
    -------
    tuple of float
        See `threshold_polynomial`.

    Examples
    --------
    >>> len(chebyshev_polynomial(9, 0.25)), chebyshev_polynomial(3, 0.01)
    (4, (0.0, 0.0, 0.0, 1.0))
    """
    for degree in range(1, order):
        chebyshev = np.polynomial.Chebyshev.basis(degree)
        largest = float(chebyshev((order + 1) / (order - 1)))
        if largest * error < 1:
            continue
        misses = order - np.arange(degree + 1)
        values = chebyshev((order + 1 - 2 * misses) / (order - 1)) / largest
        # Newton's forward differences are the coefficients of the binomials.
        coefficients = []
        while len(values):
            coefficients.append(float(values[0]))
            values = np.diff(values)
        return tuple(coefficients)
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
