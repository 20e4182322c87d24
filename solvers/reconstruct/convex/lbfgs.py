"""The problem of `Newton`, solved by the quasi-Newton method of scipy."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...types import Floats
from ..batch import OneByOne
from ..dual import Dual, Penalised
from ..problem import Problem, Solution
from ..starts import independent


@dataclass(
    frozen=True,
    kw_only=True,
)
class LBFGS(Penalised, OneByOne):
    """Solves the problem of `Newton` by L-BFGS on the dual, for comparison.

    The parameters are those of `Newton`. Because of rounding errors, a tolerance much below the
    default may not be reached.

    Examples
    --------
    >>> from margin.solvers.testing import examples
    >>> solution = LBFGS().solve(examples()["binary pairs"])
    >>> solution.status.name, solution.table.shape
    ('OPTIMAL', (2, 2, 2))
    """

    tolerance: float = 1e-6
    iterations: int = 5000

    def answer(self, problem: Problem) -> Solution:
        """The table at the dual variables that scipy finds."""
        import scipy.optimize

        started = time.process_time()
        dual = Dual(problem, self.ridge(problem))
        # The unknowns are scaled to a curvature of about one: a constraint with a large ridge has
        # a small dual variable.
        scale = 1 / np.sqrt(1 + dual.ridge)

        def value_and_slope(scaled: Floats) -> tuple[float, Floats]:
            theta = scaled * scale
            return dual.value(theta), dual.gradient(theta, dual.distribution(theta)) * scale

        options = {
            "maxiter": self.iterations,
            "maxfun": 10 * self.iterations,
            "gtol": self.tolerance,
            "ftol": 0.0,
            "maxcor": 30,
        }
        found: Any = scipy.optimize.minimize(
            value_and_slope,
            independent(problem.shape, problem.index, problem.target) / scale,
            jac=True,
            method="L-BFGS-B",
            options=options,
        )
        return self.solved(problem, dual, found.x * scale, int(found.nit), started)
