"""Maximum entropy under noisy moments by Newton's method on the dual problem."""

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
from ..threads import compiler_pays, in_parts, processors, single_thread
from ..types import Floats
from .batch import Batch, Solutions
from .dual import Dual, Penalised, contradicts, reached
from .problem import Problem, Solution
from .products import extended_numbers
from .rules import SHORTEST, falls_enough
from .split import SplitDual, dual_of, start_of, stepping
from .starts import pairwise


@dataclass(
    frozen=True,
    kw_only=True,
)
class Newton(Penalised):
    """Finds the distribution of maximum entropy that fits noisy moments up to their noise.

    Minimises over distributions p: KL(p || uniform) + sum_S (E_p[f_S] - target_S) ** 2 / (2
    ridge_S). f_S are the known basis functions. If some cells must be zero, p and the uniform
    distribution are zero there. `Problem.base` takes the place of the uniform distribution. With
    ridge_S = strength * r(|S|) * variance_S, r(1) = 0.01 and
    r(j) = j ** 2, a moment may be missed in proportion to its noise, and more for higher orders. So
    a solution always exists. As the ridge goes to zero, the solution approaches maximum entropy
    with exact constraints (Qardaji, Yang and Li, SIGMOD 2014, section 4.3), if that has a solution.

    The dual is to minimise log sum exp(sum_S theta_S f_S) - theta . target + sum_S ridge_S
    theta_S ** 2 / 2. It is smooth, strictly convex and without constraints.

    A batch is solved by compiled loops on all processors if numpy would take longer than a second,
    or if the loops are loaded already. Otherwise, and for a single problem, numpy computes the same
    numbers. Problems with more than 1,000 unknowns or 16,384 cells are solved by scaling one known
    marginal after another (`scaling`), where the ridges allow it; their bars are approximate.

    `Solution.objective` is the minimum, in nats. `Solution.relaxation` is the strength. The status
    is `RELAXED` if a target of variance zero had to be missed.

    Parameters
    ----------
    strength
        The factor of the ridge above, > 0. None takes 1 for binary axes and 10 otherwise;
        `Reconstruction` may replace None by a strength that it estimates from all tables.
    tolerance
        The solver stops when no entry of the gradient of the dual is larger. An entry is the error
        of a moment.
    iterations
        The largest number of Newton steps.
    bars
        Whether the variance of each cell is computed; it about doubles the work.
    context
        Used by `Reconstruction` only: it solves over up to this many axes, the asked ones among
        them, and sums the result to the asked marginal. None solves over the asked axes alone.
    threads
        The largest number of threads for a batch; None takes one for each processor.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from margin.solvers.testing import examples
    >>> solution = Newton().solve(examples()["binary pairs"])
    >>> solution.status.name, solution.table.shape
    ('OPTIMAL', (2, 2, 2))
    """

    bars: bool = True
    context: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.context is not None and self.context < 1:
            raise ValueError(
                f"context ({self.context}) must be at least 1; pass a larger number, or None"
            )
        if self.threads is not None and self.threads < 1:
            raise ValueError(
                f"threads ({self.threads}) must be at least 1; pass a larger number, or None"
            )

    @overload
    def solve(self, problem: Problem) -> Solution: ...
    @overload
    def solve(self, problem: Batch) -> Solutions: ...
    def solve(self, problem: Problem | Batch) -> Solution | Solutions:
        """Find the table of one problem, or the tables of all problems of a batch."""
        if isinstance(problem, Problem):
            return self._one(problem)
        unknowns = int(np.diff(problem.offsets).max(initial=0))
        large = extended_numbers(problem.shape) > COMPILED_NUMBERS
        if large or unknowns > MANY_UNKNOWNS_FOR_LAPACK:
            loops = None
        else:
            loops = _compiled_loops(_numpy_seconds(problem))
        if loops is None:
            return Solutions.stack([self._one(one) for one in problem])
        return self._many(problem, loops)

    def _one(self, problem: Problem) -> Solution:
        """Solve one problem in numpy."""
        started = time.process_time()
        ridge = self.ridge(problem)
        dual = dual_of(problem, ridge)
        with single_thread():
            theta = start_of(dual, self.tolerance)
            theta, steps = self._minimise(stepping(dual), theta)
            if steps == self.iterations and isinstance(dual, SplitDual):
                # Very large dual variables can make `SplitDual` inaccurate. `Dual` is more robust.
                dual = Dual(problem, ridge)
                theta, steps = self._minimise(dual, dual.start(self.tolerance))
            return self.solved(problem, dual, theta, steps, started, bars=self.bars)

    def _minimise(
        self,
        dual: Dual,
        theta: Floats,
    ) -> tuple[Floats, int]:
        """Minimise the dual by Newton steps with a line search, from given dual variables.

        Returns the dual variables and the number of steps. `rules` explains the loop, and
        `newton_loops._solve` is its compiled version.
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
            ridge=self.ridges_of(batch),
            total=batch.total,
            total_variance=batch.total_variance,
            start=_starts(batch),
            zeros=np.zeros((0, 0), np.bool_) if batch.zeros is None else batch.zeros,
            log_base=batch.log_base,
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
            objective=(np.log(batch.possible) if batch.base is None else 0.0) - result.values,
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
"""The position in ``list(Status)`` for each status code of `newton_loops`: 0, 1, 2."""


def _starts(batch: Batch) -> Floats:
    """The dual variables at which Newton's method starts, for all problems of a batch."""
    if batch.base is not None:
        return np.zeros(len(batch.index))
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
    """Estimate roughly how many seconds numpy would need for a batch."""
    unknowns = np.diff(batch.offsets).astype(np.float64)
    seconds = NUMPY_SECONDS_A_PROBLEM + NUMPY_SECONDS_AN_ENTRY * unknowns**2
    return float(seconds.sum())


def _compiled_loops(seconds: float) -> Any:
    """The module `newton_loops`, or None if numpy needs so few seconds that it is faster."""
    if not compiler_pays(f"{__package__}.newton_loops", seconds):
        return None
    from . import newton_loops  # it imports numba, which takes about a second

    return newton_loops
