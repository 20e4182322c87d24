"""`TrustExact`: the dual of maximum entropy under noisy moments, by scipy's trust-region method."""

import time
from dataclasses import dataclass
from typing import Any

from .batch import OneByOne
from .dual import Dual, Penalised
from .problem import Problem, Solution
from .starts import independent


@dataclass(frozen=True, kw_only=True)
class TrustExact(Penalised, OneByOne):
    """The programme of `Newton` by exact trust-region steps, for comparison; the parameters are the
    same."""

    iterations: int = 1000

    def answer(self, problem: Problem) -> Solution:
        started = time.process_time()
        dual = Dual(problem, self.ridge(problem))
        start = independent(problem.shape, problem.index, problem.target)
        if not len(start):
            return self.solved(problem, dual, start, 0, started)
        import scipy.optimize

        optimize: Any = scipy.optimize  # its types know only arrays of one dimension
        found = optimize.minimize(
            dual.value,
            start,
            jac=lambda theta: dual.gradient(theta, dual.distribution(theta)),
            hess=lambda theta: dual.hessian(dual.distribution(theta)).copy(),
            method="trust-exact",
            # The method measures the gradient by its length, which is no less than its largest
            # entry.
            options={"maxiter": self.iterations, "gtol": self.tolerance, "max_trust_radius": 1e6},
        )
        return self.solved(problem, dual, found.x, int(found.nit), started)
