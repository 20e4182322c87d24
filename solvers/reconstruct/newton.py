"""`Newton`: maximum entropy by Newton's method on the dual; its ridge is the noise."""

import math
import time
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from ..fitted import (
    MANY_UNKNOWNS_FOR_LAPACK,
    NUMPY_SECONDS_A_PROBLEM,
    NUMPY_SECONDS_AN_ENTRY,
)
from ..limits import COMPILED_NUMBERS
from ..status import Status
from ..threads import compiled_loops, in_parts, processors, single_thread
from ..types import Floats
from .batch import Batch, Solutions
from .dual import Dual, Penalised, contradicts, is_large, reached
from .problem import Problem, Solution
from .rules import SHORTEST, falls_enough
from .split import SplitDual, dual_of
from .starts import pairwise, start


@dataclass(
    frozen=True,
    kw_only=True,
)
class Newton(Penalised):
    """Maximum entropy under noisy moments, always feasible.

    Minimises over distributions p: KL(p || uniform) + sum_S (E_p[f_S] - target_S) ** 2 / (2
    ridge_S), where f_S are the known basis functions, and p and the uniform distribution are zero
    where cells must be. Its dual, log sum exp(sum_S theta_S f_S) - theta . target + sum_S ridge_S
    theta_S ** 2 / 2, is smooth, strictly convex and without constraints. With ridge_S = strength *
    r(|S|) * variance_S, r(1) = 0.01 and r(j) = j ** 2, a constraint is relaxed in proportion to its
    noise, and more for higher orders. As the ridge goes to zero, the answer goes to the published
    maximum entropy with exact constraints (Qardaji, Yang and Li, SIGMOD 2014, section 4.3) wherever
    that exists.

    A batch is solved in compiled loops on all processors if numpy would take longer than a second,
    or if the loops are loaded already. Otherwise, and for a single problem, numpy gives the same
    numbers. Problems with thousands of unknowns use conjugate gradients.

    `Solution.objective` is the minimum, in nats. `Solution.relaxation` is the strength. The status
    is `RELAXED` if a target of variance zero had to be missed.

    Parameters
    ----------
    strength
        The factor above, > 0. None takes 1 for binary axes and 10 otherwise; `Reconstruction`
        replaces None by a strength that it estimates from all tables, where it can.
    tolerance
        The largest entry of the dual's gradient, that is the error of a moment, at which the
        solver stops.
    iterations
        The largest number of Newton steps.
    bars
        Whether the variance of each cell is computed; it about doubles the work.
    context
        `Reconstruction` solves over up to this many axes around the asked ones, and projects. None
        solves over the asked axes alone.
    threads
        The largest number of threads for a batch; None takes one for each processor.

    Raises
    ------
    ValueError
        If a parameter is out of range.
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
        unknowns = int(np.diff(problem.offsets).max(initial=0))
        large = is_large(problem.shape, unknowns, COMPILED_NUMBERS)
        if large or unknowns > MANY_UNKNOWNS_FOR_LAPACK:
            loops = None
        else:
            loops = compiled_loops("reconstruct.newton_loops", _numpy_seconds(problem))
        if loops is None:
            return Solutions.stack([self._one(one) for one in problem])
        return self._many(problem, loops)

    def _one(self, problem: Problem) -> Solution:
        """Solve one problem in numpy."""
        started = time.process_time()
        ridge = self.ridge(problem)
        dual = dual_of(problem, ridge)
        with single_thread():
            theta, steps = self._minimise(dual, start(problem))
            if steps == self.iterations and isinstance(dual, SplitDual):
                # Extreme weights can spoil the blocks of `SplitDual`, but not the whole Hessian.
                dual = Dual(problem, ridge)
                theta, steps = self._minimise(dual, start(problem))
            return self.solved(problem, dual, theta, steps, started, bars=self.bars)

    def _minimise(
        self,
        dual: Dual,
        theta: Floats,
    ) -> tuple[Floats, int]:
        """Damped Newton steps from given dual variables: the minimum, and the number of steps.

        See `rules` for the loop; `newton_loops._solve` is the same for compiled code.
        """
        value = dual.value(theta)
        before = 0.0
        for step in range(self.iterations + 1):
            distribution = dual.distribution(theta)
            gradient = dual.gradient(theta, distribution)
            if reached(gradient, theta, self.tolerance):
                return theta, step
            if step == self.iterations:
                break
            worst = float(np.abs(gradient).max())
            fall = worst / before if step > 0 else math.inf
            direction = dual.direction(distribution, gradient, fall)
            before = worst
            decrease = float(gradient @ direction)
            # The line search: half the step until the value falls enough.
            length = 1.0
            while True:
                trial = theta - length * direction
                new = dual.value(trial)
                if falls_enough(value, new, length, decrease):
                    break
                length /= 2
                if length < SHORTEST:
                    return theta, step
            theta = trial
            value = new
        return theta, self.iterations

    def _many(
        self,
        batch: Batch,
        loops: Any,
    ) -> Solutions:
        """Solve a batch by the compiled loops, the module `newton_loops`."""
        started = time.process_time()
        count = len(batch)
        packed = loops.Packed(
            sizes=np.array(batch.shape, dtype=np.int64),
            offsets=batch.offsets,
            positions=batch.index,
            target=batch.target,
            variance=batch.variance,
            ridge=self.ridges(batch.shape, batch.order, batch.variance),
            total=batch.total,
            total_variance=batch.total_variance,
            start=_starts(batch),
            zeros=np.zeros((0, 0), np.bool_) if batch.zeros is None else batch.zeros,
        )
        settings = loops.Settings(self.tolerance, self.iterations, self.bars)
        rows = (count, batch.cells) if self.bars else (0, 0)
        result = loops.Result(
            tables=np.empty((count, batch.cells)),
            variances=np.empty(rows),
            undetermined=np.empty(rows),
            status=np.zeros(count, dtype=np.int64),
            steps=np.zeros(count, dtype=np.int64),
            values=np.zeros(count),
            residuals=np.zeros(count),
        )

        # numba recognises the types of plain tuples much faster than those of named ones.
        arguments = (tuple(packed), tuple(settings), tuple(result))

        def solve(first: int, stop: int) -> None:
            loops.solve_range(first, stop, *arguments)

        in_parts(count, min(self.threads or processors(), count), solve)
        shape = (count, *batch.shape)
        return Solutions(
            table=result.tables.reshape(shape),
            statuses=_relaxed(batch, result.tables, _STATUSES[result.status]),
            objective=np.log(batch.possible) - result.values,
            residual=result.residuals,
            iterations=result.steps,
            variance=result.variances.reshape(shape) if self.bars else None,
            undetermined=result.undetermined.reshape(shape) if self.bars else None,
            seconds=time.process_time() - started,
            relaxation=np.full(count, self.strength_on(batch.shape)),
        )


_ORDER = list(Status)

_STATUSES = np.array(
    [
        _ORDER.index(Status.OPTIMAL),
        _ORDER.index(Status.ITERATION_LIMIT),
        _ORDER.index(Status.FAILED),
    ],
    dtype=np.int8,
)
"""Positions in ``list(Status)``, by the codes of the compiled loops."""


def _starts(batch: Batch) -> Floats:
    """The dual variables at which Newton's method starts, for all problems of a batch."""
    owner = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))
    return pairwise(batch.shape, batch.index, batch.target, owner)


def _relaxed(
    batch: Batch,
    tables: Floats,
    statuses: "np.ndarray[Any, Any]",
) -> Any:
    """The statuses, with `RELAXED` for solved problems that miss a target of variance zero."""
    exact = np.flatnonzero(batch.variance == 0)
    rows = np.unique(np.searchsorted(batch.offsets, exact, side="right") - 1)
    for row in rows:
        solved = statuses[row] == _ORDER.index(Status.OPTIMAL)
        if solved and contradicts(batch[row], tables[row] / batch.total[row]):
            statuses[row] = _ORDER.index(Status.RELAXED)
    return statuses


def _numpy_seconds(batch: Batch) -> float:
    """Roughly the seconds that numpy would take."""
    unknowns = np.diff(batch.offsets).astype(np.float64)
    seconds = NUMPY_SECONDS_A_PROBLEM + NUMPY_SECONDS_AN_ENTRY * unknowns**2
    return float(seconds.sum())
