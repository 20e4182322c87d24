"""Weighted least-squares fit of noisy moments by entropic mirror descent."""

import math
import time
from dataclasses import dataclass

import numpy as np

from ..status import Status
from ..types import Floats
from .batch import OneByOne
from .problem import Problem, Solution

_LEAST_VARIANCE = 1e-10
"""Smallest variance of a moment; exact moments get it."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class MirrorDescent(OneByOne):
    """Fits noisy moments by weighted least squares over distributions: the method of Private-PGM.

    Source: McKenna, Sheldon and Miklau, ICML 2019. Minimises over distributions p:
    sum_S (E_p[f_S] - target_S) ** 2 / (2 variance_S). It starts at the uniform distribution and
    takes multiplicative steps p <- p exp(-step x gradient). The minimum need not be unique; the
    steps lead near one of large entropy. The solver stops when the gap to the minimum is at most
    `tolerance`. Because the objective is convex, the gap is at most max_q gradient . (p - q).

    `Solution.objective` is the sum above. `Solution.relaxation` is zero.

    Parameters
    ----------
    tolerance
        The largest gap to the minimum; an error of one standard deviation in one moment adds 1 / 2
        to the objective.
    iterations
        The largest number of steps.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from margin.solvers.testing import examples
    >>> solution = MirrorDescent().solve(examples()["binary pairs"])
    >>> solution.status.name, solution.table.shape
    ('OPTIMAL', (2, 2, 2))
    """

    tolerance: float = 0.01
    iterations: int = 5000

    def __post_init__(self) -> None:
        if not self.tolerance > 0:
            raise ValueError(f"tolerance ({self.tolerance}) must be > 0; pass a larger number")
        if not self.iterations >= 0:
            raise ValueError(f"iterations ({self.iterations}) must be >= 0; pass a larger number")

    def objective(
        self,
        problem: Problem,
        distribution: Floats,
    ) -> float:
        """The weighted sum of squares at a distribution."""
        misses = problem.moments(distribution) - problem.target
        variance = np.maximum(problem.variance, _LEAST_VARIANCE)
        return float(0.5 * (misses**2 / variance).sum())

    def answer(self, problem: Problem) -> Solution:
        """The distribution after the last step."""
        started = time.process_time()
        weight = 1 / np.maximum(problem.variance, _LEAST_VARIANCE)
        logits = np.where(problem.uniform > 0, 0.0, -math.inf)
        distribution = problem.uniform
        value = self.objective(problem, distribution)
        step = 1 / max(float(weight.max(initial=1.0)), 1.0)
        status = Status.ITERATION_LIMIT
        steps = self.iterations
        for iteration in range(self.iterations + 1):
            misses = problem.moments(distribution) - problem.target
            gradient = problem.functions(weight * misses)
            gap = gradient @ distribution - gradient[problem.possible].min()
            if gap <= self.tolerance:
                status = Status.OPTIMAL
                steps = iteration
                break
            # The line search: half the step until the objective falls enough.
            while True:
                trial = logits - step * gradient
                cells = np.exp(trial - trial.max())
                cells /= cells.sum()
                new = self.objective(problem, cells)
                promised = 0.5 * float(gradient @ (distribution - cells))
                if new <= value - promised or step < 1e-300:
                    break
                step /= 2
            logits = trial
            distribution = cells
            value = new
            step *= 1.5
        return problem.solution(
            distribution,
            status=status,
            objective=value,
            iterations=steps,
            seconds=time.process_time() - started,
            relaxation=0.0,
        )
