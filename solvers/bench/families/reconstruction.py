"""What the families of reconstruction share: problems, answers, files and checks."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...reconstruct.problem import Problem
from ...types import Floats
from .family import Check, Claim, Family
from .tables_of_answers import broken, cells_of

__all__ = ["ReconstructionFamily"]

_OPTIONAL = ("zeros", "base", "ridge")


class ReconstructionFamily(Family):
    """A family whose problems are `reconstruct.Problem` and whose answers are tables of cells."""

    takes: ClassVar[str] = "margin.solvers.Problem"
    gives: ClassVar[str] = "margin.solvers.Solution, or an array of cells that sum to the total"
    unit: ClassVar[str] = "share of the total"

    @abstractmethod
    def objective(self, problem: Problem, cells: Floats) -> float:
        """The objective at a distribution, shape (cells,)."""

    def missed(self, problem: Problem, cells: Floats) -> float:
        """How far cells are from the constraints on the known marginals, if there are any."""
        return 0.0

    def check(self, problem: Problem, answer: Any) -> Check:
        cells = cells_of(problem, answer)
        if isinstance(cells, str):
            return Check.unreadable(cells)
        worst = max(broken(problem, cells), self.missed(problem, cells))
        nearest = np.zeros(problem.cells)
        nearest[problem.possible] = np.maximum(cells[problem.possible], 0.0)
        objective = self.objective(problem, nearest)
        if worst > self.tolerance:
            fault = f"a constraint is broken by {worst:.3g} ({self.unit})"
            return Check(feasible=False, objective=objective, violation=worst, fault=fault)
        return Check(feasible=True, objective=objective, violation=max(0.0, worst))

    def claim(self, answer: Any) -> Claim:
        objective = getattr(answer, "objective", None)
        tells = objective is not None and not math.isnan(objective)
        return Claim(
            status=getattr(answer, "status", None),
            objective=objective if tells else None,
            bound=getattr(answer, "bound", None),
        )

    def answer(self, problem: Problem, point: Floats) -> Floats:
        count = len(problem.possible)
        cells = problem.spread(np.asarray(point[:count], np.float64) / count)
        return np.asarray(cells * problem.total).reshape(problem.shape)

    def pack(self, problem: Problem) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "shape": np.array(problem.shape, np.int64),
            "index": problem.index,
            "target": problem.target,
            "variance": problem.variance,
            "total": np.array([problem.total, problem.total_variance]),
        }
        for name in _OPTIONAL:
            value = getattr(problem, name)
            if value is not None:
                arrays[name] = value
        for number, (axes, table) in enumerate(problem.marginals or ()):
            arrays[f"axes{number}"] = np.array(axes, np.int64)
            arrays[f"marginal{number}"] = table
        return arrays

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Problem:
        marginals: list[tuple[tuple[int, ...], Floats]] = []
        while f"axes{len(marginals)}" in arrays:
            number = len(marginals)
            axes = tuple(arrays[f"axes{number}"].tolist())
            marginals.append((axes, arrays[f"marginal{number}"]))
        total, total_variance = arrays["total"].tolist()
        return Problem(
            shape=tuple(arrays["shape"].tolist()),
            index=arrays["index"],
            target=arrays["target"],
            variance=arrays["variance"],
            total=total,
            total_variance=total_variance,
            marginals=tuple(marginals) or None,
            **{name: arrays.get(name) for name in _OPTIONAL},
        )
