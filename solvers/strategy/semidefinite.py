"""The linear queries with the smallest total error variance, by a semidefinite programme."""

import importlib
from typing import Any

import numpy as np

from ..types import Floats


def best_gram(
    basis: Floats,
    costs: Floats,
    *,
    solver: str = "CLARABEL",
) -> Floats:
    """Find the Gram matrix of the linear queries from which wanted numbers are estimated best.

    The wanted numbers are the r coordinates z = basis @ x of a table x with n cells. The queries
    are A z, where each column of A @ basis has Euclidean length at most one. Their answers have
    errors of variance one. Least squares then estimates coordinate i with the variance (X^-1)_ii,
    where X = A'A is the Gram matrix. The semidefinite programme is to minimise
    sum_i costs_i (X^-1)_ii over positive semidefinite X with (basis' X basis)_jj <= 1 for every j
    (Li et al., PODS 2010, program 1).

    Parameters
    ----------
    basis
        One coordinate per row, shape (r, n).
    costs
        The weight of the error variance of each coordinate, > 0, shape (r,).
    solver
        A solver of cvxpy for semidefinite programmes.

    Returns
    -------
    ndarray of shape (r, r)
        The best X, symmetric.

    Raises
    ------
    ValueError
        If the solver does not find an optimum.
    """
    cvxpy: Any = importlib.import_module("cvxpy")
    gram = cvxpy.Variable((len(basis), len(basis)), PSD=True)
    scale = float(costs.max())
    objective = cvxpy.matrix_frac(np.diag(np.sqrt(costs / scale)), gram)
    lengths = cvxpy.sum(cvxpy.multiply(basis, gram @ basis), axis=0)
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [lengths <= 1])
    problem.solve(solver=solver)
    if problem.status not in {"optimal", "optimal_inaccurate"} or gram.value is None:
        raise ValueError(
            "the semidefinite programme must be solved to the optimum, but it ended as "
            f"{problem.status}; use a smaller problem"
        )
    return np.asarray((gram.value + gram.value.T) / 2, np.float64)
