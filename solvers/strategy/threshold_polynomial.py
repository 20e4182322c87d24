"""Low-degree polynomials that are near one at one point and near zero at those before it."""

from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from ..types import Floats


@lru_cache
def threshold_polynomial(order: int, error: float) -> tuple[float, ...]:
    """The polynomial of the least degree >= 1 that is within `error` of 0 at 0 ... order - 1 and of
    1 at `order`.

    Among those of its degree it has the least error, found by linear programming: about sqrt(order
    log(1 / error)) is enough (Nisan and Szegedy; Thaler, Ullman and Vadhan, ICALP 2012, section 3).

    Parameters
    ----------
    order
        A whole number >= 1.
    error
        Above 0.

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
        basis = np.array(
            [[comb(s, i) for i in range(degree + 1)] for s in range(order + 1)], np.float64
        )
        coefficients, worst = _best(basis, np.append(np.zeros(order), 1.0))
        if worst <= error:
            return tuple(coefficients.tolist())
    return (0.0,) * order + (1.0,)


def _best(basis: Floats, target: Floats) -> tuple[Floats, float]:
    """Coefficients of the least largest error, and that error."""
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
