"""Iterative proportional fitting (IPF) of a table to exact marginals."""

import math
import time
from dataclasses import dataclass

import numpy as np

from ..status import Status
from ..types import Floats
from .batch import OneByOne
from .dual import divergence
from .problem import Problem, Solution


@dataclass(
    frozen=True,
    kw_only=True,
)
class IPF(OneByOne):
    """Maximum entropy under exact marginals: scale the table to one known marginal after another.

    Minimises KL(p || uniform) subject to every known marginal (Deming and Stephan, 1940; Csiszar,
    1975). It is fast if such a table exists and is positive, and slow if some of its cells are
    zero. If no such table exists, the scaling does not converge.

    `Solution.objective` is KL(p || uniform) in nats. `Solution.relaxation` is zero.

    Parameters
    ----------
    tolerance
        The largest error of a cell of a marginal, as a share of the total, at which the solver
        stops.
    iterations
        The largest number of rounds through all marginals.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from margin.solvers.testing import examples
    >>> solution = IPF().solve(examples()["binary pairs"])
    >>> solution.status.name, solution.table.shape
    ('OPTIMAL', (2, 2, 2))
    """

    tolerance: float = 1e-9
    iterations: int = 2000

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
        """KL(p || uniform) in nats.

        It is infinite if a marginal is missed by more than 100 times the tolerance.
        """
        table = distribution.reshape(problem.shape)
        worst = 0.0
        for dropped, marginal in _margins(problem):
            worst = max(worst, float(np.abs(table.sum(axis=dropped) - marginal).max()))
        if worst > 100 * self.tolerance:
            return math.inf
        return divergence(problem, distribution)

    def answer(self, problem: Problem) -> Solution:
        """Scale the uniform table round by round; the answer is the table after the last round."""
        started = time.process_time()
        table = problem.uniform.reshape(problem.shape)
        margins = _margins(problem)
        status = Status.ITERATION_LIMIT
        steps = self.iterations
        if any(marginal.min() < -self.tolerance for _, marginal in margins):
            status = Status.INFEASIBLE
            steps = 0
        for step in range(steps):
            worst = 0.0
            lost = 0.0
            for dropped, marginal in margins:
                now = table.sum(
                    axis=dropped,
                    keepdims=True,
                )
                wanted = np.maximum(marginal, 0.0).reshape(now.shape)
                worst = max(worst, float(np.abs(now - wanted).max()))
                lost = max(lost, float(wanted[now == 0].max(initial=0.0)))
                table *= np.divide(
                    wanted,
                    now,
                    out=np.zeros_like(now),
                    where=now > 0,
                )
            if lost > self.tolerance:
                # One marginal needs cells that must be zero, or that another marginal emptied.
                status = Status.INFEASIBLE
                steps = step + 1
                break
            if worst <= self.tolerance:
                status = Status.OPTIMAL
                steps = step + 1
                break
        found = None if status is Status.INFEASIBLE else table.ravel() / table.sum()
        return problem.solution(
            found,
            status=status,
            objective=divergence,
            iterations=steps,
            seconds=time.process_time() - started,
            relaxation=0.0,
        )


def _margins(problem: Problem) -> list[tuple[tuple[int, ...], Floats]]:
    """List the known marginals: for each, the positions of the axes to sum over, and the table."""
    places = range(len(problem.shape))
    margins = []
    for kept, table in problem.margins():
        dropped = tuple(place for place in places if place not in kept)
        margins.append((dropped, table))
    return margins
