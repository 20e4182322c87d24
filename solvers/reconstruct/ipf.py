"""`IPF`: iterative proportional fitting to exact marginals."""

import math
import time
from dataclasses import dataclass

import numpy as np

from ..status import Status
from ..types import Floats
from .batch import OneByOne
from .dual import divergence
from .problem import Problem, Solution


@dataclass(frozen=True, kw_only=True)
class IPF(OneByOne):
    """Maximum entropy under exact marginals: scale the table to one known marginal after the other.

    Minimises KL(p || uniform) subject to every known marginal (Deming and Stephan, 1940; Csiszar,
    1975). Quick where such a table exists and is positive; where none does, the scaling goes round
    in circles for ever, and where cells must be zero it is slow.

    `Solution.objective` is KL(p || uniform) in nats; `Solution.relaxation` is zero.

    Parameters
    ----------
    tolerance
        Where to stop: the largest error of a cell of a marginal, as a share of the total.
    iterations
        How many rounds are made at most.
    """

    tolerance: float = 1e-9
    iterations: int = 2000

    def __post_init__(self) -> None:
        if not self.tolerance > 0 or not self.iterations >= 0:
            raise ValueError(
                f"tolerance ({self.tolerance}) must be > 0 and iterations ({self.iterations}) >= 0"
            )

    def objective(self, problem: Problem, distribution: Floats) -> float:
        """KL(p || uniform), or infinity where a marginal is missed by more than 100 times the
        tolerance."""
        table = distribution.reshape(problem.shape)
        worst = max(
            (np.abs(table.sum(axis=drop) - marginal).max() for drop, marginal in _margins(problem)),
            default=0.0,
        )
        return divergence(problem, distribution) if worst <= 100 * self.tolerance else math.inf

    def answer(self, problem: Problem) -> Solution:
        started = time.process_time()
        table = problem.uniform.reshape(problem.shape)
        margins = _margins(problem)
        status, steps = Status.ITERATION_LIMIT, self.iterations
        if any(marginal.min() < -self.tolerance for _, marginal in margins):
            status, steps = Status.INFEASIBLE, 0
        for step in range(steps):
            worst, lost = 0.0, 0.0
            for dropped, marginal in margins:
                now = table.sum(axis=dropped, keepdims=True)
                wanted = np.maximum(marginal, 0.0).reshape(now.shape)
                worst = max(worst, float(np.abs(now - wanted).max()))
                lost = max(lost, float(wanted[now == 0].max(initial=0.0)))
                table *= np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
            if (
                lost > self.tolerance
            ):  # cells that one marginal needs must be zero, or are zero in another
                status, steps = Status.INFEASIBLE, step + 1
                break
            if worst <= self.tolerance:
                status, steps = Status.OPTIMAL, step + 1
                break
        return problem.solution(
            None if status is Status.INFEASIBLE else table.ravel() / table.sum(),
            status=status,
            objective=divergence,
            iterations=steps,
            seconds=time.process_time() - started,
            relaxation=0.0,
        )


def _margins(problem: Problem) -> list[tuple[tuple[int, ...], Floats]]:
    """The known marginals: the places that are summed over, and the table."""
    places = range(len(problem.shape))
    return [
        (tuple(place for place in places if place not in kept), table)
        for kept, table in problem.margins()
    ]
