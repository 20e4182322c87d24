"""The problem of `JointProjection`, solved by a general solver of quadratic programmes."""

import importlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from ..backends import run
from ..status import Status, UnsolvedError
from .consistency import Components
from .nonnegativity import importance
from .tables import Tables


@dataclass(
    frozen=True,
    kw_only=True,
)
class ProjectionQP:
    """Finds the nearest consistent non-negative tables by a general solver, for comparison.

    `JointProjection` states the problem.

    Parameters
    ----------
    solver
        A quadratic solver that cvxpy finds installed.
    decay, growth
        As for `JointProjection`.
    time_limit
        Seconds, or None.

    Raises
    ------
    UnsolvedError
        On use, if the solver ends without an answer.
    """

    solver: str = "OSQP"
    decay: float = 1.0
    growth: float = 1.0
    time_limit: float | None = None
    keeps_consistency: ClassVar[bool] = True

    def __call__(self, tables: Tables) -> Tables:
        components = Components(tables)
        observed = components.estimate(tables.values)
        if observed[components.order == 0].item() <= 0:
            return tables.with_values([np.zeros_like(value) for value in tables.values])
        cvxpy: Any = importlib.import_module("cvxpy")
        # The unknowns are changes of coefficients, in standard deviations, and so are the cells:
        # the programme is then well scaled.
        free = (components.order > 0) & ~components.known
        if not free.any():
            return components.tables(observed)
        change = cvxpy.Variable(int(free.sum()))
        scale = np.sqrt(components.precision[free])
        weight = importance(components, self.decay, self.growth)[free]
        deviation = scipy.sparse.diags_array(1 / components.deviation)
        synthesis = deviation @ components.matrix()[:, free] @ scipy.sparse.diags_array(1 / scale)
        cells = synthesis @ change + components.synthesise(observed) / components.deviation
        distance = cvxpy.sum(cvxpy.multiply(weight, cvxpy.square(change)))
        signs = [cells >= 0]
        if components.empty is not None:
            signs.append(cells[components.empty] == 0)
        if components.links is not None:
            # The observed coefficients meet the links: these sums do not change.
            links = components.links.matrix[:, free] @ scipy.sparse.diags_array(1 / scale)
            signs.append(links @ change == 0)
        if components.known_by_group:
            # The observed cells agree with what is known: these sums do not change.
            sums = components.known_sums() @ scipy.sparse.diags_array(components.deviation)
            signs.append(sums @ (synthesis @ change) == 0)
        programme = cvxpy.Problem(cvxpy.Minimize(distance), signs)
        status, _ = run(programme, self.solver, self.time_limit)
        if status is not Status.OPTIMAL or change.value is None:
            text = (
                f"{self.solver} must solve the quadratic programme, but it failed: {status.value} "
                "(a longer time_limit may help)"
            )
            raise UnsolvedError(text, status)
        shared = observed.copy()
        shared[free] += change.value / scale
        return components.with_cells(np.maximum(components.synthesise(shared), 0.0))
