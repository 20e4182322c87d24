"""`Reconstruction`: marginals of consistent tables by a solver, over the asked axes or over more around them."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from .basis import Floats, Integers, transform
from .batch import Batch, Solutions
from .newton import Newton
from .problem import Problem, Solution, Solver, Status
from .shrinkage import strength_for
from .split import dual_of
from .tables import Axes, Tables

_JOINT_CELLS = 1 << 20
"""Up to this size the whole array is reconstructed once, when context is asked for."""

_CONTEXT_CELLS = 1 << 16
"""Context is added up to this size of the table that is solved."""


class Reconstruction:
    """Answers about consistent `tables` of positive total, by a `solver`.

    With `Newton(context=K)` a marginal is reconstructed over up to K axes, the asked ones and those that are associated
    with them most, and projected: views that share axes with the context then speak, too. When the whole array is small
    it is reconstructed once and kept.

    A `Newton` of no stated strength gets that of `strength_for` the tables.
    """

    def __init__(self, tables: Tables, solver: Solver) -> None:
        self.tables = tables
        if isinstance(solver, Newton) and solver.strength is None:
            solver = dataclasses.replace(solver, strength=strength_for(tables))
        self.solver = solver

    def solve(self, axes: Sequence[Axes] | Integers) -> Solutions:
        """The marginals on sets of ascending axes of one shape, an array of shape (n, k)."""
        solver, asked = self.solver, np.asarray(axes, dtype=np.int64)
        if isinstance(solver, Newton) and solver.context is not None and asked.shape[1] < solver.context:
            return self._in_context(solver, [tuple(row) for row in asked.tolist()])
        batch = Batch.of(self.tables, asked)
        if isinstance(solver, Newton):
            return solver.solve(batch)
        return Solutions.stack([_judged(problem, solver.solve(problem)) for problem in batch])

    def _in_context(self, solver: Newton, asked: list[Axes]) -> Solutions:
        if math.prod(self.tables.sizes) <= _JOINT_CELLS:
            return Solutions.stack([self._joint.project(axes) for axes in asked])
        wide = [self._around(axes, solver.context or 0) for axes in asked]
        shapes: dict[tuple[int, ...], list[int]] = {}
        for place, axes in enumerate(wide):
            shapes.setdefault(tuple(self.tables.sizes[axis] for axis in axes), []).append(place)
        answers: dict[int, Solution] = {}
        for places in shapes.values():
            batch = Batch.of(self.tables, [wide[place] for place in places])
            solutions = dataclasses.replace(solver, bars=False).solve(batch)
            for place, problem, solution in zip(places, batch, solutions, strict=True):
                answers[place] = _Surroundings(wide[place], problem, solution, solver).project(asked[place])
        return Solutions.stack([answers[place] for place in range(len(asked))])

    @cached_property
    def _joint(self) -> "_Surroundings":
        solver = self.solver if isinstance(self.solver, Newton) else Newton()
        axes = tuple(range(len(self.tables.sizes)))
        problem = Problem.of(self.tables, axes)
        return _Surroundings(axes, problem, dataclasses.replace(solver, bars=False).solve(problem), solver)

    def _around(self, asked: Axes, count: int) -> Axes:
        """The asked axes and those with the largest sum of associations with them, `count` in all."""
        near = self._association[list(asked)].sum(axis=0)
        near[list(asked)] = -1.0
        chosen, cells = list(asked), math.prod(self.tables.sizes[axis] for axis in asked)
        for axis in np.argsort(-near, kind="stable").tolist():
            if len(chosen) < count and near[axis] > 0 and cells * self.tables.sizes[axis] <= _CONTEXT_CELLS:
                chosen.append(axis)
                cells *= self.tables.sizes[axis]
        return tuple(sorted(chosen))

    @cached_property
    def _association(self) -> Floats:
        """For each pair of axes that share a view, Pearson's mean square contingency; else zero."""
        count = len(self.tables.sizes)
        result = np.zeros((count, count))
        for first in range(count):
            for second in range(first + 1, count):
                row = self.tables.covering((first, second))
                if row is not None:
                    shares = self.tables.project(row, (first, second)) / self.tables.total
                    alone = np.maximum(np.outer(shares.sum(axis=1), shares.sum(axis=0)), 1e-9)
                    result[first, second] = result[second, first] = ((shares - alone) ** 2 / alone).sum()
        return result


class _Surroundings:
    """A solution over some axes, from which marginals on fewer are projected, with their variances."""

    def __init__(self, axes: Axes, problem: Problem, solution: Solution, solver: Newton) -> None:
        self.axes = axes
        self.problem = problem
        self.solution = solution
        self.solver = solver

    def project(self, asked: Axes) -> Solution:
        """The marginal on some of the axes, ascending."""
        kept = [place for place, axis in enumerate(self.axes) if axis in asked]
        dropped = [place for place in range(len(self.axes)) if place not in kept]
        return dataclasses.replace(
            self.solution,
            table=self.solution.table.sum(axis=tuple(dropped)),
            variance=self._variance(kept, dropped) if self.solver.bars else None,
        )

    def _variance(self, kept: list[int], dropped: list[int]) -> Floats:
        """By the delta method: a projected cell y changes with the targets by H^-1 (E[f 1_y] - E[f] P(y)).

        A function on the axes is one on the kept times one on the dropped, so that one transform of the dropped axes
        gives E[f 1_y] for all f and y.
        """
        problem = self.problem
        shape, rest = (tuple(problem.shape[place] for place in places) for places in (kept, dropped))
        inner, outer = transform(shape), transform(rest)
        table = (self.solution.table / problem.total).transpose(*kept, *dropped).reshape(inner.cells, outer.cells)
        partial = outer.analyse(table) * math.sqrt(outer.cells)
        functions = inner.synthesise(np.eye(inner.cells)) * math.sqrt(inner.cells)
        digits = np.unravel_index(problem.index, problem.shape)
        here, there = _ravel([digits[p] for p in kept], shape), _ravel([digits[p] for p in dropped], rest)
        parts = functions[here] * partial[:, there].T
        alone = table.sum(axis=1)
        changes = self._solve(parts - problem.moments(self.solution.table.ravel() / problem.total)[:, None] * alone)
        by_total = alone - problem.target @ changes
        variance = problem.total**2 * (problem.variance @ changes**2) + problem.total_variance * by_total**2
        return np.asarray(variance.reshape(shape))

    @cached_property
    def _solve(self) -> Callable[[Floats], Floats]:
        """The inverse of the Hessian at the solution, for right-hand sides of shape (m, n)."""
        problem, ridge = self.problem, self.solver.ridge(self.problem)
        return dual_of(problem, ridge).solver(self.solution.table.ravel() / problem.total)


def _judged(problem: Problem, solution: Solution) -> Solution:
    """What a solver of any origin says; a failure where that is not a table of the problem's shape, total and zeros."""
    table = np.asarray(solution.table, np.float64)
    if not solution.status.ok or (
        table.shape == problem.shape
        and np.isfinite(table).all()
        and table.min() >= -1e-4 * problem.total
        and abs(table.sum() - problem.total) <= 1e-3 * problem.total
        and (problem.zeros is None or np.abs(table.ravel()[problem.zeros]).max(initial=0.0) <= 1e-4 * problem.total)
    ):
        return solution
    nothing = np.full(problem.shape, math.nan)
    return dataclasses.replace(solution, table=nothing, status=Status.FAILED, variance=None)


def _ravel(digits: list[Integers], shape: tuple[int, ...]) -> Integers | int:
    return np.ravel_multi_index(digits, shape) if shape else 0
