"""`TrustConstr`: maximum entropy by the interior-point method of `scipy.optimize.minimize`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from scipy import sparse

from ...reconstruct.problem import Problem
from ...status import Status
from ...types import Floats, Integers
from ..families.family import Claim
from ..families.tables_of_answers import independent_rows
from .by_model import Answered

__all__ = ["TrustConstr"]

_LEAST = 1e-14
"""Smallest share of a cell, where the entropy still has a slope."""

_SHORTEST = 1e-14
"""Radius of the trust region (length of a step in shares of the total) below which it gives up."""

_DEPENDENT = 1e-10
"""A row counts as a sum of others if it differs from one by less than this share of the largest."""

_STATUS = {1: Status.OPTIMAL, 2: Status.ITERATION_LIMIT, 0: Status.ITERATION_LIMIT}
"""The `Status` for each number with which scipy ends; any other one is `FAILED`.

1 is a gradient within the tolerance. 2 is a step that became too short: no tolerance is met, and
the point can be far from the optimum. 0 is the largest number of iterations.
"""


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
        The largest entry of the Lagrangian's gradient, and the barrier, at which it stops.
    iterations
        The largest number of iterations.
    """

    statuses: ClassVar[Mapping[int, Status]] = _STATUS
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
                "xtol": _SHORTEST,
                "barrier_tol": self.tolerance,
            },
        )
        status = _STATUS.get(int(found.status), Status.FAILED)
        table = problem.spread(np.asarray(found.x)) * problem.total
        return Answered(
            answer=table.reshape(problem.shape),
            claim=Claim(status=status),
            detail=f"code {found.status}: {found.message}",
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
    every = sparse.vstack([total, rows[:, problem.possible]]).tocsr()
    # Rows that are independent over all cells can depend on each other over the possible ones.
    kept = _independent(every)
    return every[kept], np.append(1.0, right)[kept]


def _independent(rows: Any) -> Integers:
    """The numbers of the rows of a largest set that is linearly independent, in ascending order.

    The method solves equations by factors of the rows, and its multipliers of dependent rows are
    rounding: the gradient never becomes small. The sizes on the diagonal of a QR decomposition with
    column pivoting decide.
    """
    triangle, order = scipy.linalg.qr(rows.toarray().T, mode="r", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    rank = int((sizes > _DEPENDENT * sizes[0]).sum())
    return np.sort(order[:rank])
