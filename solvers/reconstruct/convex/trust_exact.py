"""The problem of `Newton`, solved by a trust-region method of scipy."""

import time
from dataclasses import dataclass
from typing import Any

from ...types import Floats
from ..batch import OneByOne
from ..dual import Dual, Penalised
from ..problem import Problem, Solution
from ..starts import independent


@dataclass(
    frozen=True,
    kw_only=True,
)
class TrustExact(Penalised, OneByOne):
    """Solves the problem of `Newton` by a trust-region method on the dual, for comparison.

    The parameters are those of `Newton`.

    Examples
    --------
    >>> from margin.solvers.testing import examples
    >>> solution = TrustExact().solve(examples()["binary pairs"])
    >>> solution.status.name, solution.table.shape
    ('OPTIMAL', (2, 2, 2))
    """

    iterations: int = 1000

    def answer(self, problem: Problem) -> Solution:
        """The table at the dual variables that scipy finds."""
        import scipy.optimize

        started = time.process_time()
        dual = Dual(problem, self.ridge(problem))
        start = independent(problem.shape, problem.index, problem.target)
        if not len(start):
            return self.solved(problem, dual, start, 0, started)

        def gradient(theta: Floats) -> Floats:
            return dual.gradient(theta, dual.distribution(theta))

        def hessian(theta: Floats) -> Floats:
            return dual.hessian(dual.distribution(theta)).copy()

        # The method measures the gradient by its length, which is at least its largest entry.
        options = {"maxiter": self.iterations, "gtol": self.tolerance, "max_trust_radius": 1e6}
        optimize: Any = scipy.optimize  # its types know only arrays of one dimension
        found = optimize.minimize(
            dual.value,
            start,
            jac=gradient,
            hess=hessian,
            method="trust-exact",
            options=options,
        )
        return self.solved(problem, dual, found.x, int(found.nit), started)
