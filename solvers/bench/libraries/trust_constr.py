"""`TrustConstr`: maximum entropy by the interior-point method of `scipy.optimize.minimize`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...reconstruct.problem import Problem
from ...status import Status
from ...types import Floats
from ..families.family import Claim
from ..families.tables_of_answers import independent_rows
from .by_model import Answered

__all__ = ["TrustConstr"]

_LEAST = 1e-14
"""Smallest share of a cell, where the entropy still has a slope."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class TrustConstr:
    """Minimises the divergence on the cells themselves by trust-constr of scipy.

    If the problem states its ridges, missed moments are penalised; otherwise known marginals are
    constraints. Our other solvers work on the dual, which is much smaller.

    Parameters
    ----------
    tolerance
        The norm of the gradient, and the barrier, at which it stops.
    iterations
        The largest number of iterations.
    """

    tolerance: float = 1e-9
    iterations: int = 2_000

    def solve(self, problem: Problem) -> Answered:
        """The table at the last iterate."""
        import scipy.optimize

        optimize: Any = scipy.optimize  # its types do not know sparse matrices
        count = len(problem.possible)
        log_reference = np.log(problem.reference[problem.possible])
        functions, target, weight = _penalty(problem)
        rows, right = _equations(problem)

        def value(cells: Floats) -> float:
            kept = np.maximum(cells, _LEAST)
            misses = functions @ cells - target
            return float(kept @ (np.log(kept) - log_reference) + 0.5 * weight @ misses**2)

        def slope(cells: Floats) -> Floats:
            kept = np.maximum(cells, _LEAST)
            entropy = np.log(kept) - log_reference + 1.0
            return np.asarray(entropy + functions.T @ (weight * (functions @ cells - target)))

        def curvature(cells: Floats) -> Floats:
            entropy = np.diag(1 / np.maximum(cells, _LEAST))
            return np.asarray(entropy + functions.T @ (weight[:, None] * functions))

        found = optimize.minimize(
            value,
            np.full(count, 1 / count),
            jac=slope,
            hess=curvature,
            method="trust-constr",
            bounds=optimize.Bounds(0.0, np.inf),
            constraints=optimize.LinearConstraint(rows, right, right),
            options={
                "maxiter": self.iterations,
                "gtol": self.tolerance,
                "xtol": 1e-14,
                "barrier_tol": self.tolerance,
            },
        )
        status = Status.OPTIMAL if found.status in (1, 2) else Status.ITERATION_LIMIT
        table = problem.spread(np.asarray(found.x)) * problem.total
        return Answered(
            answer=table.reshape(problem.shape),
            claim=Claim(status=status),
            detail=str(found.message),
        )


def _penalty(problem: Problem) -> tuple[Floats, Floats, Floats]:
    """The functions of the penalised moments, shape (m, n), their targets and weights."""
    if problem.ridge is None:
        return np.zeros((0, len(problem.possible))), np.zeros(0), np.zeros(0)
    functions = problem.functions(np.eye(len(problem.index))).reshape(-1, problem.cells)
    return functions[:, problem.possible], problem.target, 1 / problem.ridge


def _equations(problem: Problem) -> tuple[Any, Floats]:
    """The sum of the cells and, without ridges, the known marginals: rows and right sides."""
    total = sparse.csr_array(np.ones((1, len(problem.possible))))
    if problem.ridge is not None:
        return total, np.ones(1)
    rows, right = independent_rows(problem)
    return sparse.vstack([total, rows[:, problem.possible]]).tocsr(), np.append(1.0, right)
