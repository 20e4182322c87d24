"""The best linear queries for given costs, by a semidefinite programme."""

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
    """Minimise sum_i costs_i (X^-1)_ii over positive semidefinite X with (basis' X basis)_jj <= 1
    for every j.

    X = A'A is the Gram matrix of queries A on the coordinates that the basis gives (Li et al., PODS
    2010, program 1, in the form of matrix fractions): the columns of A basis have length at most
    one, and least squares from answers of unit error variance gives coordinate i with the variance
    (X^-1)_ii.

    Parameters
    ----------
    basis
        One coordinate per row, shape (r, n).
    costs
        Positive, shape (r,).
    solver
        A solver of cvxpy for semidefinite programmes.

    Returns
    -------
    ndarray of shape (r, r)

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
