"""The table whose largest error on the known marginals is smallest: a linear programme."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ...backends import available, load_cvxpy, load_highs, run
from ...projection import projection
from ...status import Status
from ...types import Floats
from ..batch import OneByOne
from ..problem import Problem, Solution

_Found = tuple[Status, int, Floats | None]
"""The status, the iterations, and the cells."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class MinimaxLP(OneByOne):
    """Minimises the largest absolute error over all cells of the known marginals.

    These are the methods LP and CLP that Qardaji, Yang and Li, SIGMOD 2014, compare with maximum
    entropy: LP uses marginals as they were observed (`Problem.observed`), CLP uses consistent ones
    (`Problem.of`). The minimum need not be unique: back-ends may return different tables.

    `Solution.objective` is the largest absolute error, as a share of the total.
    `Solution.relaxation` is zero.

    Parameters
    ----------
    solver
        HIGHS for the highspy package, SCIPY for `scipy.optimize.linprog`, or the name of a solver
        in cvxpy.
    time_limit
        Seconds, or None.

    Examples
    --------
    >>> from margin.solvers.testing import examples
    >>> solution = MinimaxLP().solve(examples()["binary pairs"])
    >>> solution.status.name, solution.table.shape
    ('OPTIMAL', (2, 2, 2))
    """

    solver: str = "SCIPY"
    time_limit: float | None = None

    def objective(
        self,
        problem: Problem,
        distribution: Floats,
    ) -> float:
        """The largest absolute error at a distribution."""
        rows, right = _constraints(problem)
        return float(np.abs(rows @ distribution - right).max(initial=0.0))

    def answer(self, problem: Problem) -> Solution:
        """The table that the back-end finds."""
        solve = self._loaded()
        started = time.process_time()
        rows, right = _constraints(problem)
        status, iterations, found = solve(rows[:, problem.possible], right, len(problem.possible))

        def objective(_: Problem, table: Floats) -> float:
            return float(np.abs(rows @ table - right).max(initial=0.0))

        return problem.solution(
            None if found is None else problem.spread(found),
            status=status,
            objective=objective,
            iterations=iterations,
            seconds=time.process_time() - started,
            relaxation=0.0,
        )

    def _loaded(self) -> Callable[[Any, Floats, int], _Found]:
        """The function that solves, with the libraries that it needs loaded."""
        name = self.solver.upper()
        if name == "SCIPY":
            import scipy.optimize  # noqa: F401 - loaded before the time is taken

            return self._scipy
        if name == "HIGHS":
            if available("highspy"):
                load_highs()
            return self._highs
        load_cvxpy(name)
        return self._cvxpy

    def _scipy(
        self,
        rows: Any,
        right: Floats,
        cells: int,
    ) -> _Found:
        """Solve the linear programme by HiGHS, through `scipy.optimize.linprog`."""
        import scipy.optimize

        matrix, bound, cost, total = _programme(rows, right, cells)
        options = {} if self.time_limit is None else {"time_limit": self.time_limit}
        optimize: Any = scipy.optimize  # its types do not know sparse matrices
        found = optimize.linprog(
            cost,
            A_ub=matrix,
            b_ub=bound,
            A_eq=total,
            b_eq=[1.0],
            method="highs",
            options=options,
        )
        statuses = {0: Status.OPTIMAL, 1: Status.ITERATION_LIMIT, 2: Status.INFEASIBLE}
        status = statuses.get(found.status, Status.FAILED)
        table = None if found.x is None else np.asarray(found.x[:cells])
        return status, int(found.nit), table

    def _highs(
        self,
        rows: Any,
        right: Floats,
        cells: int,
    ) -> _Found:
        """Solve the linear programme by HiGHS, through the package highspy."""
        if not available("highspy"):
            return Status.MISSING, 0, None
        highspy = load_highs()
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        if self.time_limit is not None:
            solver.setOptionValue("time_limit", self.time_limit)
        solver.passModel(_highs_model(highspy, rows, right, cells))
        solver.run()
        kinds = highspy.HighsModelStatus
        statuses = {
            kinds.kOptimal: Status.OPTIMAL,
            kinds.kTimeLimit: Status.TIME_LIMIT,
            kinds.kIterationLimit: Status.ITERATION_LIMIT,
            kinds.kInfeasible: Status.INFEASIBLE,
        }
        status = statuses.get(solver.getModelStatus(), Status.FAILED)
        iterations = int(solver.getInfo().simplex_iteration_count)
        if not status.ok:
            return status, iterations, None
        return status, iterations, np.array(solver.getSolution().col_value[:cells])

    def _cvxpy(
        self,
        rows: Any,
        right: Floats,
        cells: int,
    ) -> _Found:
        """Solve the linear programme by the solver of cvxpy that `solver` names."""
        cvxpy = load_cvxpy(self.solver)
        table = cvxpy.Variable(cells, nonneg=True)
        worst = cvxpy.Variable()
        constraints = [cvxpy.sum(table) == 1, worst >= 0]
        if len(right):
            constraints += [rows @ table - right <= worst, right - rows @ table <= worst]
        programme = cvxpy.Problem(cvxpy.Minimize(worst), constraints)
        status, iterations = run(programme, self.solver, self.time_limit)
        return status, iterations, table.value


def _constraints(problem: Problem) -> tuple[Any, Floats]:
    """The matrix from the table's cells to the cells of all known marginals, and these cells."""
    margins = problem.margins()
    if not margins:
        return scipy.sparse.csr_array((0, problem.cells)), np.empty(0)
    rows = scipy.sparse.vstack([projection(problem.shape, places) for places, _ in margins]).tocsr()
    return rows, np.concatenate([marginal.ravel() for _, marginal in margins])


def _programme(
    rows: Any,
    right: Floats,
    cells: int,
) -> tuple[Any, Floats, Floats, Any]:
    """The linear programme over (p, worst) as matrix, bound, cost and total.

    Minimise cost . (p, worst) subject to matrix (p, worst) <= bound, total (p, worst) = 1 and
    (p, worst) >= 0.
    """
    column = scipy.sparse.csr_array(-np.ones((len(right), 1)))
    matrix = scipy.sparse.block_array([[rows, column], [-rows, column]]).tocsr()
    bound = np.concatenate([right, -right])
    cost = np.append(np.zeros(cells), 1.0)
    total = scipy.sparse.csr_array(np.append(np.ones(cells), 0.0)[None, :])
    return matrix, bound, cost, total


def _highs_model(
    highspy: Any,
    rows: Any,
    right: Floats,
    cells: int,
) -> Any:
    """Write the linear programme of `_programme` as a model of highspy."""
    matrix, bound, cost, total = _programme(rows, right, cells)
    whole = scipy.sparse.vstack([matrix, total]).tocsc()
    model = highspy.HighsLp()
    model.num_col_ = whole.shape[1]
    model.num_row_ = whole.shape[0]
    model.col_cost_ = cost
    model.col_lower_ = np.zeros(len(cost))
    model.col_upper_ = np.full(len(cost), math.inf)
    model.row_lower_ = np.append(np.full(len(bound), -math.inf), 1.0)
    model.row_upper_ = np.append(bound, 1.0)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = whole.indptr
    model.a_matrix_.index_ = whole.indices
    model.a_matrix_.value_ = whole.data
    return model
