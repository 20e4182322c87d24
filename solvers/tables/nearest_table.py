"""The non-negative table whose linear answers are nearest to given ones, in the max norm."""

from typing import Any

import numpy as np

from ..types import Floats


def nearest_table(matrix: Floats, answers: Floats) -> Floats:
    """Minimise the largest absolute entry of matrix @ x - answers over x >= 0, by HiGHS.

    Source: Barak et al., PODS 2007, section 3.1. The solution need not be unique.

    Parameters
    ----------
    matrix
        One linear query of the table per row, shape (m, n).
    answers
        The given answer to each query, shape (m,).

    Returns
    -------
    ndarray of shape (n,)
        The cells x of the table.

    Raises
    ------
    ValueError
        If HiGHS finds no solution.

    Examples
    --------
    >>> nearest_table(np.eye(2), np.array([3.0, -1.0])).tolist()[1]
    0.0
    """
    import scipy.optimize

    scale = max(float(np.abs(answers).max()), 1.0)
    # Every error, with either sign, is at most the last variable, which is minimised.
    column = -np.ones((len(matrix), 1))
    below = np.concatenate([np.hstack([matrix, column]), np.hstack([-matrix, column])])
    bound = np.concatenate([answers, -answers]) / scale
    cost = np.append(np.zeros(matrix.shape[1]), 1.0)
    optimize: Any = scipy.optimize
    found = optimize.linprog(
        cost,
        A_ub=below,
        b_ub=bound,
        method="highs",
    )
    if found.x is None:
        raise ValueError(
            "the linear programme of the nearest table must be solved, but it was not "
            f"({found.message}); use a smaller table"
        )
    return np.asarray(scale * found.x[:-1], np.float64)
