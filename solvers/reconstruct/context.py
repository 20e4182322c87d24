"""`Reconstruction`: marginals of consistent tables by a solver, over the asked axes or over more
around them."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache

import numpy as np

from ..basis import transform
from ..status import Status
from ..tables.tables import Axes, Tables
from ..threads import single_thread
from ..types import Floats, Integers
from .batch import Batch, Solutions
from .dual import Dual, is_large
from .newton import Newton
from .problem import Problem, Solution, Solver
from .sampling import sampled_variance, standard_errors
from .shrinkage import strength_around, strength_for
from .split import dual_of

_JOINT_CELLS = 1 << 20
"""Up to this size the whole array is reconstructed once, when context is asked for."""

_CONTEXT_CELLS = 1 << 12
"""Context is added up to this size of the table that is solved."""

_LARGEST_INVERSE = 4096
"""An inverse that serves many marginals is written down for up to so many unknowns: 134 MB."""

_LARGEST_EXACT = 256
"""The variances of marginals of more cells are sampled."""

_AT_ONCE = 1 << 22
"""So many cells are solved for together at most."""


class Reconstruction:
    """Answers about consistent `tables` of positive total, by a `solver`.

    With `Newton(context=K)` a marginal is reconstructed over up to K axes, the asked ones and those
    that are associated with them most, and projected: views that share axes with the context then
    speak, too. When the whole array is small it is reconstructed once and kept.

    A `Newton` of no stated strength gets that of `strength_for` the tables, with context at least
    that of `strength_around`.
    """

    def __init__(self, tables: Tables, solver: Solver) -> None:
        self.tables = tables
        if isinstance(solver, Newton) and solver.strength is None:
            strength = strength_for(tables)
            if solver.context is not None:
                strength = max(strength or 0.0, strength_around(tables))
            solver = dataclasses.replace(solver, strength=strength)
        self.solver = solver

    def solve(self, axes: Sequence[Axes] | Integers) -> Solutions:
        """The marginals on sets of ascending axes of one shape, an array of shape (n, k)."""
        solver, asked = self.solver, np.asarray(axes, dtype=np.int64)
        if (
            isinstance(solver, Newton)
            and solver.context is not None
            and asked.shape[1] < solver.context
        ):
            return self._in_context(solver, asked)
        batch = Batch.of(self.tables, asked)
        if isinstance(solver, Newton):
            return solver.solve(batch)
        return Solutions.stack([_judged(problem, solver.solve(problem)) for problem in batch])

    def _in_context(self, solver: Newton, asked: Integers) -> Solutions:
        with single_thread():
            if math.prod(self.tables.sizes) <= _JOINT_CELLS:
                return self._joint.project(asked)
            return self._in_contexts(solver, asked)

    def _in_contexts(self, solver: Newton, asked: Integers) -> Solutions:
        wide = [self._around(tuple(axes), solver.context or 0) for axes in asked.tolist()]
        shapes: dict[tuple[int, ...], list[int]] = {}
        for place, axes in enumerate(wide):
            shapes.setdefault(tuple(self.tables.sizes[axis] for axis in axes), []).append(place)
        answers: dict[int, Solution] = {}
        for shape, places in shapes.items():
            step = max(1, _AT_ONCE // math.prod(shape))
            for first in range(0, len(places), step):
                some = places[first : first + step]
                answers |= zip(
                    some,
                    self._of_shape(solver, asked[some], [wide[place] for place in some]),
                    strict=True,
                )
        return Solutions.stack([answers[place] for place in range(len(asked))])

    def _of_shape(self, solver: Newton, asked: Integers, wide: list[Axes]) -> Iterable[Solution]:
        """The marginals on the asked axes, by way of sets of axes of one shape that contain them."""
        batch = Batch.of(self.tables, wide)
        if len(wide[0]) == asked.shape[1]:  # nothing stands around them
            return solver.solve(batch)
        solutions = zip(
            wide, batch, dataclasses.replace(solver, bars=False).solve(batch), strict=True
        )
        around = (_Surroundings(self.tables, *one, solver) for one in solutions)
        return [one.project(axes[None])[0] for axes, one in zip(asked, around, strict=True)]

    @cached_property
    def _joint(self) -> "_Surroundings":
        solver = self.solver
        assert isinstance(solver, Newton)  # no other has context
        axes = tuple(range(len(self.tables.sizes)))
        problem = Problem.of(self.tables, axes)
        solution = dataclasses.replace(solver, bars=False).solve(problem)
        return _Surroundings(self.tables, axes, problem, solution, solver, often=True)

    def _around(self, asked: Axes, count: int) -> Axes:
        """The asked axes and those with the largest sum of associations with them, `count` in all."""
        near = self._association[list(asked)].sum(axis=0)
        near[list(asked)] = -1.0
        chosen, cells = list(asked), math.prod(self.tables.sizes[axis] for axis in asked)
        for axis in np.argsort(-near, kind="stable").tolist():
            if (
                len(chosen) < count
                and near[axis] > 0
                and cells * self.tables.sizes[axis] <= _CONTEXT_CELLS
            ):
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
                    result[first, second] = result[second, first] = (
                        (shares - alone) ** 2 / alone
                    ).sum()
        return result


class _Surroundings:
    """A solution over some axes, from whose moments marginals on fewer are read, with their
    variances.

    The moments of a marginal are those of the whole table that belong to no other axis, so that it
    costs a look-up and a transform of its own size, however large the whole table is.

    Parameters
    ----------
    often
        Whether many marginals will be asked for: the inverse of the Hessian is then made once for
        all their variances.
    """

    def __init__(
        self,
        tables: Tables,
        axes: Axes,
        problem: Problem,
        solution: Solution,
        solver: Newton,
        *,
        often: bool = False,
    ) -> None:
        self.tables = tables
        self.axes = np.array(axes, dtype=np.int64)
        self.problem = problem
        self.solution = solution
        self.solver = solver
        self.often = often
        self.moments = transform(problem.shape).analyse(self._distribution)
        self.moments *= math.sqrt(problem.cells)
        self.strides = np.cumprod([1, *problem.shape[:0:-1]])[::-1]

    def project(self, asked: Integers) -> Solutions:
        """The marginals on some of the axes, ascending and of one shape, shape (n, k)."""
        places = np.searchsorted(self.axes, asked)
        shape = tuple(self.problem.shape[place] for place in places[0].tolist())
        coefficients = self.strides[places] @ _cell_digits(shape)
        table = np.maximum(_table_of(shape, self.moments[coefficients]), 0.0)
        variance = None
        if self.solver.bars:
            if table.shape[1] <= _LARGEST_EXACT:
                some = zip(places, coefficients, table, strict=True)
                variance = np.stack([self._variance(*one, shape) for one in some])
            else:
                variance = np.stack([self._sampled(kept) for kept in places.tolist()])
        empty = None if self.tables.zeros is None else self.tables.zeros.cells_of_many(asked)
        if empty is not None:  # what is there are rounding errors
            table[empty] = 0.0
            if variance is not None:
                variance[empty] = 0.0
        count, solution = len(asked), self.solution
        return Solutions(
            table=(self.problem.total * table).reshape(count, *shape),
            statuses=np.full(count, list(Status).index(solution.status), dtype=np.int8),
            objective=np.full(count, solution.objective),
            residual=np.full(count, solution.residual),
            iterations=np.full(count, solution.iterations),
            seconds=solution.seconds,
            relaxation=np.full(count, solution.relaxation),
            variance=None if variance is None else variance.reshape(count, *shape),
        )

    def _variance(
        self, places: Integers, coefficients: Integers, share: Floats, shape: tuple[int, ...]
    ) -> Floats:
        """By the delta method: the noise variances of the cells of a marginal of these shares of
        the total."""
        problem = self.problem
        changes = self._changes(places, coefficients, share, shape)
        by_total = share - problem.target @ changes
        return np.asarray(
            problem.total**2 * (problem.variance @ changes**2)
            + problem.total_variance * by_total**2
        )

    def _changes(
        self, places: Integers, coefficients: Integers, share: Floats, shape: tuple[int, ...]
    ) -> Floats:
        """How the shares y of a marginal change with the targets: H^-1 (E[f 1_y] - E[f] P(y)),
        shape (m, cells).

        A function of the problem is one on the asked axes times one on the others, f = g h, and E[h
        1_y] is read from the moments. Where a function of the asked axes is one of the problem's,
        number i, its moment changes by e_i - ridge_i H^-1 e_i: only for the others there is
        something to solve.
        """
        problem, own = self.problem, self._digits[places]
        other = problem.index - self.strides[places] @ own
        functions = transform(shape).synthesise(np.eye(len(share))) * math.sqrt(len(share))
        inner = np.ravel_multi_index(tuple(own), shape) if shape else np.zeros(len(other), np.int64)
        centred = functions[inner] * _table_of(shape, self.moments[other[:, None] + coefficients])
        centred -= self.moments[problem.index, None] * share
        if not self.often or self._inverse is None:
            return self._solve(centred)
        position = np.minimum(np.searchsorted(problem.index, coefficients), len(problem.index) - 1)
        known = np.flatnonzero(problem.index[position] == coefficients)
        unknown = np.setdiff1d(np.arange(1, len(coefficients)), known)
        position = position[known]
        changes = np.zeros_like(centred.T)
        changes[known] = -self._ridge[position, None] * self._inverse[position]
        changes[known, position] += 1.0
        changes[unknown] = functions[unknown] @ centred.T @ self._inverse
        return _table_of(shape, changes.T)

    def _sampled(self, kept: Sequence[int]) -> Floats:
        """As `_variance`, on these places: a matrix of a row for each cell would take too long."""
        tilt, *pushed = self._pushed
        return sampled_variance(self.problem, self._distribution, tilt, pushed, kept)

    @cached_property
    def _pushed(self) -> Floats:
        """What the targets, and random errors of them, are times the inverse of the Hessian, shape
        (1 + probes, m)."""
        problem, deviation = self.problem, np.sqrt(self.problem.variance)
        right = np.stack(
            [problem.target, *(deviation * error for error in standard_errors(len(deviation)))],
            axis=1,
        )
        inverse = self._inverse if self.often else None
        return np.ascontiguousarray((self._solve(right) if inverse is None else inverse @ right).T)

    @cached_property
    def _distribution(self) -> Floats:
        return np.asarray(self.solution.table.ravel() / self.problem.total)

    @cached_property
    def _digits(self) -> Integers:
        """Of each known function its number on each axis, shape (axes, m)."""
        return np.stack(np.unravel_index(self.problem.index, self.problem.shape))

    @cached_property
    def _ridge(self) -> Floats:
        return self.solver.ridge(self.problem)

    @cached_property
    def _solve(self) -> Callable[[Floats], Floats]:
        """The inverse of the Hessian at the solution, for right-hand sides of shape (m, n)."""
        return dual_of(self.problem, self._ridge).solver(self._distribution)

    @cached_property
    def _inverse(self) -> Floats | None:
        """The inverse of the Hessian, shape (m, m); None where it is too large to write down, or
        there is none."""
        count = len(self.problem.index)
        if not 0 < count <= _LARGEST_INVERSE or is_large(self.problem.shape, 0):
            return None
        return Dual(self.problem, self._ridge).inverse(self._distribution)


@lru_cache(maxsize=256)
def _cell_digits(shape: tuple[int, ...]) -> Integers:
    """The place of each cell on each axis, shape (axes, cells)."""
    return np.indices(shape).reshape(len(shape), math.prod(shape))


def _table_of(shape: tuple[int, ...], moments: Floats) -> Floats:
    """Tables of sum one of these moments, both of shape (..., cells)."""
    return transform(shape).synthesise(moments) / math.sqrt(math.prod(shape))


def _judged(problem: Problem, solution: Solution) -> Solution:
    """What a solver of any origin says; a failure where that is not a table of the problem's shape,
    total and zeros."""
    table = np.asarray(solution.table, np.float64)
    if not solution.status.ok or (
        table.shape == problem.shape
        and np.isfinite(table).all()
        and table.min() >= -1e-4 * problem.total
        and abs(table.sum() - problem.total) <= 1e-3 * problem.total
        and (
            problem.zeros is None
            or np.abs(table.ravel()[problem.zeros]).max(initial=0.0) <= 1e-4 * problem.total
        )
    ):
        return solution
    nothing = np.full(problem.shape, math.nan)
    return dataclasses.replace(solution, table=nothing, status=Status.FAILED, variance=None)
