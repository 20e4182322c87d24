"""`Newton`: maximum entropy by Newton's method on the dual, with the noise of the constraints as
its ridge."""

import math
import time
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from ..status import Status
from ..threads import compiled_loops, in_parts, processors, single_thread
from ..types import Floats
from .batch import Batch, Solutions
from .dual import Dual, Penalised, contradicts, is_large, reached
from .problem import Problem, Solution
from .split import SplitDual, dual_of
from .starts import pairwise, start


@dataclass(frozen=True, kw_only=True)
class Newton(Penalised):
    """Maximum entropy under noisy moments, always feasible.

    Minimises over distributions p: KL(p || uniform) + sum_S (E_p[f_S] - target_S) ** 2 / (2
    ridge_S), where f_S are the known basis functions, and p and the uniform distribution are zero
    where cells must be. Its dual, log sum exp(sum_S theta_S f_S) - theta . target + sum_S ridge_S
    theta_S ** 2 / 2, is smooth, strictly convex and free of constraints. With ridge_S = strength *
    r(|S|) * variance_S a constraint is relaxed in proportion to its noise, more for higher orders:
    r(1) = 0.01, r(j) = j ** 2. As the ridge goes to zero the answer goes to that of the published
    maximum entropy with exact constraints (Qardaji, Yang and Li, SIGMOD 2014, section 4.3) wherever
    that exists.

    A batch goes through compiled loops on all processors where numba is installed, else, like a
    single problem, through numpy; the numbers are the same. Problems with thousands of unknowns use
    conjugate gradients.

    `Solution.objective` is the minimum, in nats; `Solution.relaxation` the strength. The status is
    `RELAXED` where a target of variance zero had to be missed.

    Parameters
    ----------
    strength
        The factor above, > 0. None takes 1 for binary axes and 10 otherwise; `Reconstruction` finds
        another where it can, from all tables.
    tolerance
        Where to stop: the largest entry of the dual's gradient, that is the error of a moment.
    iterations
        How many Newton steps are made at most.
    bars
        Whether the variance of each cell is computed, too; it about doubles the work.
    context
        `Reconstruction` solves over up to this many axes around those asked for, and projects; None
        solves over these alone.
    threads
        How many threads a batch may use; None takes one for each processor.
    """

    bars: bool = True
    context: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.context is not None and self.context < 1:
            raise ValueError(f"context ({self.context}) must be at least 1")
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads ({self.threads}) must be at least 1")

    @overload
    def solve(self, problem: Problem) -> Solution: ...
    @overload
    def solve(self, problem: Batch) -> Solutions: ...
    def solve(self, problem: Problem | Batch) -> Solution | Solutions:
        """The table of a problem, or the tables of a batch."""
        if isinstance(problem, Problem):
            return self._one(problem)
        unknowns = int((problem.offsets[1:] - problem.offsets[:-1]).max(initial=0))
        by_blas = unknowns > _MANY_UNKNOWNS or is_large(problem.shape, unknowns, _LARGEST_COMPILED)
        kernels = None if by_blas else compiled_loops("reconstruct.newton_loops", _numpy_seconds(problem))
        if kernels is None:
            return Solutions.stack([self._one(one) for one in problem])
        return self._many(problem, kernels)

    def _one(self, problem: Problem) -> Solution:
        started = time.process_time()
        ridge = self.ridge(problem)
        dual = dual_of(problem, ridge)
        with single_thread():
            theta, steps = self._minimise(dual, start(problem))
            if steps == self.iterations and isinstance(
                dual, SplitDual
            ):  # extreme weights are too much for its blocks
                dual = Dual(problem, ridge)
                theta, steps = self._minimise(dual, start(problem))
            return self.solved(problem, dual, theta, steps, started, bars=self.bars)

    def _minimise(self, dual: Dual, theta: Floats) -> tuple[Floats, int]:
        """Damped Newton steps from a start; the minimum and how many they were."""
        value, before = dual.value(theta), 0.0
        for step in range(self.iterations + 1):
            distribution = dual.distribution(theta)
            gradient = dual.gradient(theta, distribution)
            if reached(gradient, theta, self.tolerance):
                return theta, step
            if step == self.iterations:
                break
            largest = float(np.abs(gradient).max())
            direction = dual.direction(
                distribution, gradient, largest / before if step else math.inf
            )
            before = largest
            decrease = float(gradient @ direction)
            length = 1.0
            while True:
                trial = theta - length * direction
                new = dual.value(trial)
                # So near the optimum rounding hides the fall of the value, and full steps converge.
                if decrease <= 1e-10 * (1 + abs(value)) or new <= value - 0.25 * length * decrease:
                    break
                length /= 2
                if length < 1e-12:
                    return theta, step
            theta, value = trial, new
        return theta, self.iterations

    def _many(self, batch: Batch, kernels: Any) -> Solutions:
        started = time.process_time()
        count = len(batch)
        tables = np.empty((count, batch.cells))
        variances = np.empty((count, batch.cells) if self.bars else (0, 0))
        status, steps = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        values, residuals = np.zeros(count), np.zeros(count)
        ridge = self.ridges(batch.shape, batch.order, batch.variance)
        arguments = (
            np.array(batch.shape, dtype=np.int64),
            (
                batch.offsets,
                batch.index,
                batch.target,
                batch.variance,
                ridge,
                batch.total,
                batch.total_variance,
            ),
            pairwise(
                batch.shape,
                batch.index,
                batch.target,
                np.repeat(np.arange(count), np.diff(batch.offsets)),
            ),
            (self.tolerance, self.iterations, self.bars),
            np.zeros((0, 0), np.bool_) if batch.zeros is None else batch.zeros,
            (tables, variances, status, steps, values, residuals),
        )
        threads = min(self.threads or processors(), count)
        in_parts(count, threads, lambda start, stop: kernels.solve_range(start, stop, *arguments))
        statuses = _STATUSES[status]
        for row in np.unique(
            np.searchsorted(batch.offsets, np.flatnonzero(batch.variance == 0), side="right") - 1
        ):
            if statuses[row] == _STATUSES[0] and contradicts(
                batch[row], tables[row] / batch.total[row]
            ):
                statuses[row] = list(Status).index(Status.RELAXED)
        return Solutions(
            table=tables.reshape(count, *batch.shape),
            statuses=statuses,
            objective=np.log(batch.possible) - values,
            residual=residuals,
            iterations=steps,
            variance=variances.reshape(count, *batch.shape) if self.bars else None,
            seconds=time.process_time() - started,
            relaxation=np.full(count, self.strength_on(batch.shape)),
        )


_STATUSES = np.array(
    [
        list(Status).index(status)
        for status in (Status.OPTIMAL, Status.ITERATION_LIMIT, Status.FAILED)
    ],
    dtype=np.int8,
)
"""By the compiled loops' codes."""


_MANY_UNKNOWNS = 400
"""With more of them the matrices are so large that LAPACK's speed decides."""


_LARGEST_COMPILED = 1 << 22
"""On larger tables, in the numbers of `Transform.extend`, so does that of BLAS, and threads would
take much memory."""


def _numpy_seconds(batch: Batch) -> float:
    """Roughly how long numpy would take."""
    unknowns = np.diff(batch.offsets).astype(np.float64)
    return float((5e-4 + 5e-7 * unknowns**2).sum())
