"""Reconstruction of marginals from consistent tables, with or without further axes as context."""

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache

import numpy as np

from ..basis import transform
from ..fitted import JUNCTION_SHARE
from ..limits import (
    CONTEXT_CELLS,
    CONTEXT_CELLS_AT_ONCE,
    EXACT_BAR_CELLS,
    EXTENDED_NUMBERS,
    INVERSE_UNKNOWNS,
    JOINT_CELLS,
    SCALED_CELLS,
    SCALED_UNKNOWNS,
)
from ..status import Status
from ..tables.tables import Axes, Tables
from ..threads import single_thread
from ..types import Floats, Integers
from .bars import Bars
from .batch import Batch, Solutions
from .dual import Dual
from .newton import Newton
from .problem import Problem, Solution, Solver
from .products import products_of
from .sampling import (
    random_structure,
    sampled_undetermined,
    sampled_variance,
    standard_errors,
)
from .scaling.blocks import blocks_of
from .scaling.dual import ScaledDual
from .scaling.junction import JunctionTree
from .shrinkage import strength_around, strength_for
from .split import dual_of
from .sums import Sums, covariances, no_sums, sums_of, sums_of_marginal, without_covariance


class Reconstruction:
    """Estimates marginals on any axes from consistent tables, by a solver.

    With `Newton(context=K)`, a table over up to K axes is reconstructed: the asked axes, and those
    that are most associated with them. It is then summed to the asked marginal. So views that
    contain only some of the asked axes, and views of associated axes, improve the estimate. If the
    whole array is small, it is reconstructed once and kept. If the views are pairs with a small
    junction tree, the whole array is reconstructed, however large it is (`JunctionTree`); the
    variances are then those of the answer from the context.

    If `Newton` has no strength, the strength of `strength_for` is used; with context it is at least
    `strength_around`.

    Parameters
    ----------
    tables
        Consistent tables of positive total.
    solver
        Any solver. Only `Newton` uses context.
    joint_cells
        The largest number of cells of the whole array for which this array is the context;
        None takes `JOINT_CELLS`.

    Examples
    --------
    >>> views = Tables(
    ...     sizes=(2, 2),
    ...     views=((0,), (1,)),
    ...     values=(np.array([6.0, 4.0]), np.array([2.0, 8.0])),
    ...     variances=(1e-4, 1e-4),
    ... )
    >>> solutions = Reconstruction(views, Newton()).solve([(0, 1)])
    >>> solutions.table[0].round(2).tolist()  # independent axes: maximum entropy
    [[1.2, 4.8], [0.8, 3.2]]
    """

    def __init__(
        self,
        tables: Tables,
        solver: Solver,
        *,
        joint_cells: int | None = None,
    ) -> None:
        self.tables = tables
        most = JOINT_CELLS if joint_cells is None else joint_cells
        self._is_joint = math.prod(tables.sizes) <= most
        if isinstance(solver, Newton) and solver.strength is None:
            strength = strength_for(tables)
            if solver.context is not None:
                strength = max(strength or 0.0, strength_around(tables))
            solver = dataclasses.replace(solver, strength=strength)
        self.solver = solver
        self._last: tuple[Axes, _Surroundings] | None = None

    def solve(self, axes: Sequence[Axes] | Integers) -> Solutions:
        """Estimate n marginals of one shape.

        Parameters
        ----------
        axes
            The ascending axes of each marginal, shape (n, k).

        Returns
        -------
        Solutions
            The tables have the shape (n, ...).

        Raises
        ------
        ValueError
            See `known_moments`.
        """
        solver = self.solver
        asked = np.asarray(axes, dtype=np.int64)
        if not isinstance(solver, Newton):
            batch = Batch.of(self.tables, asked)
            return Solutions.stack([_judged(problem, solver.solve(problem)) for problem in batch])
        if solver.context is not None and asked.shape[1] < solver.context:
            return self._in_context(solver, asked)
        return solver.solve(Batch.of(self.tables, asked))

    def one(self, axes: Axes) -> Solution:
        """Estimate one marginal, without the context of further axes; see `Solution.detail`."""
        problem = Problem.of(self.tables, axes)
        return _judged(problem, self.solver.solve(problem))

    def sums(
        self,
        axes: Axes,
        weights: Floats,
    ) -> Sums:
        """Estimate weighted sums of the cells of one marginal, with their covariances.

        Parameters
        ----------
        axes
            The axes of the marginal, ascending, shape (k,).
        weights
            The weights of its cells in q sums, shape (cells, q).

        Raises
        ------
        ValueError
            See `known_moments`.
        """
        solver = self.solver
        rows = np.ascontiguousarray(weights.T)
        if not isinstance(solver, Newton):
            problem = Problem.of(self.tables, axes)
            solution = _judged(problem, solver.solve(problem))
            if not solution.status.ok:
                return no_sums(solution.status, len(rows))
            return without_covariance(solution, rows)
        with single_thread():
            around = self._surroundings(solver, axes)
            if not around.solution.status.ok:
                return no_sums(around.solution.status, len(rows))
            found = around.sums(axes, rows)
            # As in `solve`, marginals on as many axes as a context are solved by themselves.
            if solver.context is None or len(axes) >= solver.context:
                return found
            if around.often or self._tree is None:
                return found
            table = self.tables.total * self._tree.marginal(axes).ravel()
            return dataclasses.replace(found, table=table, estimate=rows @ table)

    def _surroundings(
        self,
        solver: Newton,
        axes: Axes,
    ) -> "_Surroundings":
        """The solution from which a marginal is computed: over its own axes, or its context.

        The last one is kept, since the sums of a large marginal are asked for in parts.
        """
        wide = axes
        if solver.context is not None and len(axes) < solver.context:
            if self._is_joint:
                return self._joint
            wide = self._around(axes, solver.context)
        # Another thread may replace the last one at any time, so it is looked at once.
        last = self._last
        if last is not None and last[0] == wide:
            return last[1]
        problem = Problem.of(self.tables, wide)
        solution = dataclasses.replace(solver, bars=False).solve(problem)
        around = _Surroundings(self.tables, wide, problem, solution, solver)
        self._last = wide, around
        return around

    def _in_context(
        self,
        solver: Newton,
        asked: Integers,
    ) -> Solutions:
        """Estimate marginals: from the whole array if it is small, else each from its context."""
        with single_thread():
            if self._is_joint:
                return self._joint.project(asked)
            if self._tree is None:
                return self._in_contexts(solver, asked)
            return self._in_tree(self._tree, solver, asked)

    def _in_tree(
        self,
        tree: JunctionTree,
        solver: Newton,
        asked: Integers,
    ) -> Solutions:
        """Estimate marginals by the junction tree; their variances are those from the contexts."""
        started = time.process_time()
        shares = np.stack([tree.marginal(tuple(axes)) for axes in asked.tolist()])
        table = self.tables.total * shares
        if solver.bars:
            return dataclasses.replace(self._in_contexts(solver, asked), table=table)
        count = len(asked)
        return Solutions(
            table=table,
            statuses=np.full(count, list(Status).index(Status.OPTIMAL), dtype=np.int8),
            objective=np.full(count, math.nan),
            residual=np.zeros(count),
            iterations=np.zeros(count, dtype=np.int64),
            seconds=time.process_time() - started,
            relaxation=np.zeros(count),
        )

    def _in_contexts(
        self,
        solver: Newton,
        asked: Integers,
    ) -> Solutions:
        """Estimate marginals, each from its own context; contexts of one shape are one batch."""
        wide = [self._around(tuple(axes), solver.context or 0) for axes in asked.tolist()]
        shapes: dict[tuple[int, ...], list[int]] = {}
        for place, axes in enumerate(wide):
            shape = tuple(self.tables.sizes[axis] for axis in axes)
            shapes.setdefault(shape, []).append(place)
        answers: dict[int, Solution] = {}
        for shape, places in shapes.items():
            step = max(1, CONTEXT_CELLS_AT_ONCE // math.prod(shape))
            for first in range(0, len(places), step):
                some = places[first : first + step]
                solved = self._of_shape(solver, asked[some], [wide[place] for place in some])
                answers |= zip(some, solved, strict=True)
        return Solutions.stack([answers[place] for place in range(len(asked))])

    def _of_shape(
        self,
        solver: Newton,
        asked: Integers,
        wide: list[Axes],
    ) -> Iterable[Solution]:
        """Estimate marginals from contexts of one shape: `wide[i]` contains the axes `asked[i]`."""
        batch = Batch.of(self.tables, wide)
        if len(wide[0]) == asked.shape[1]:
            return solver.solve(batch)  # no axis was added
        solutions = dataclasses.replace(solver, bars=False).solve(batch)
        answers = []
        for axes, around, problem, solution in zip(asked, wide, batch, solutions, strict=True):
            context = _Surroundings(self.tables, around, problem, solution, solver)
            answers.append(context.project(axes[None])[0])
        return answers

    @cached_property
    def _tree(self) -> JunctionTree | None:
        """The exact model of all axes, if the views are pairs with a small junction tree."""
        assert isinstance(self.solver, Newton)  # other solvers have no context
        strength = self.solver.strength or 0.0
        if max(self.tables.sizes) > 2:
            strength *= JUNCTION_SHARE
        return JunctionTree.of(self.tables, strength)

    @cached_property
    def _joint(self) -> "_Surroundings":
        """The whole array, reconstructed once."""
        solver = self.solver
        assert isinstance(solver, Newton)  # other solvers have no context
        axes = tuple(range(len(self.tables.sizes)))
        problem = Problem.of(self.tables, axes)
        solution = dataclasses.replace(solver, bars=False).solve(problem)
        return _Surroundings(self.tables, axes, problem, solution, solver, often=True)

    def _around(
        self,
        asked: Axes,
        count: int,
    ) -> Axes:
        """Choose the context of some axes: up to `count` axes, the asked ones among them.

        The others are those with the largest sum of associations with the asked axes.
        """
        near = self._association[list(asked)].sum(axis=0)
        near[list(asked)] = -1.0
        chosen = list(asked)
        cells = math.prod(self.tables.sizes[axis] for axis in asked)
        for axis in np.argsort(-near, kind="stable").tolist():
            wider = cells * self.tables.sizes[axis]
            if len(chosen) < count and near[axis] > 0 and wider <= CONTEXT_CELLS:
                chosen.append(axis)
                cells = wider
        return tuple(sorted(chosen))

    @cached_property
    def _association(self) -> Floats:
        """Pearson's mean square contingency of each pair of axes; zero if no view holds both."""
        count = len(self.tables.sizes)
        result = np.zeros((count, count))
        for first in range(count):
            for second in range(first + 1, count):
                row = self.tables.covering((first, second))
                if row is None:
                    continue
                shares = self.tables.project(row, (first, second)) / self.tables.total
                alone = np.maximum(np.outer(shares.sum(axis=1), shares.sum(axis=0)), 1e-9)
                contingency = ((shares - alone) ** 2 / alone).sum()
                result[first, second] = contingency
                result[second, first] = contingency
        return result


class _Surroundings:
    """The solution over a context, from which marginals and their variances are computed.

    The moments of a marginal are moments of the whole table, so they are only looked up. The work
    for a marginal depends on its own size, not on the size of the whole table.

    Parameters
    ----------
    tables, axes
        The tables, and the axes of the solution, ascending.
    problem, solution, solver
        The problem over these axes, its solution, and the solver.
    often
        Whether many marginals will be asked for. The inverse of the Hessian is then made once, for
        the variances of all of them.
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
        self._last_alone: tuple[Axes, _Surroundings] | None = None
        self.moments = transform(problem.shape).analyse(self._distribution)
        self.moments *= math.sqrt(problem.cells)
        self.strides = np.cumprod([1, *problem.shape[:0:-1]])[::-1]

    def project(self, asked: Integers) -> Solutions:
        """Compute marginals of one shape; `asked` are their ascending axes, shape (n, k)."""
        places = np.searchsorted(self.axes, asked)
        shape = tuple(self.problem.shape[place] for place in places[0].tolist())
        coefficients = self.strides[places] @ _cell_digits(shape)
        table = np.maximum(_table_of(shape, self.moments[coefficients]), 0.0)
        bars = self._bars(places, coefficients, table, shape) if self.solver.bars else None
        if self.tables.zeros is not None:
            empty = self.tables.zeros.cells_of_many(asked)
            if empty is not None:
                # These cells hold only rounding errors.
                table[empty] = 0.0
                for part in bars or ():
                    part[empty] = 0.0
        count = len(asked)
        solution = self.solution
        return Solutions(
            table=(self.problem.total * table).reshape(count, *shape),
            statuses=np.full(count, list(Status).index(solution.status), dtype=np.int8),
            objective=np.full(count, solution.objective),
            residual=np.full(count, solution.residual),
            iterations=np.full(count, solution.iterations),
            seconds=solution.seconds,
            relaxation=np.full(count, solution.relaxation),
            variance=None if bars is None else bars.variance.reshape(count, *shape),
            undetermined=None if bars is None else bars.undetermined.reshape(count, *shape),
        )

    def sums(
        self,
        asked: Axes,
        weights: Floats,
    ) -> Sums:
        """Compute weighted sums of the cells of one marginal; the weights have shape (q, cells).

        Their errors are computed as those of cells are (`_bars`): by the known moments of all axes,
        or by those of the marginal itself where the context or the marginal is large.
        """
        if len(asked) == len(self.axes):
            changes = self._of_sums(weights)
            return sums_of(self.problem, self.solution, self._ridge, changes, weights)
        places = np.searchsorted(self.axes, asked)
        shape = tuple(self.problem.shape[place] for place in places.tolist())
        dropped = tuple(np.setdiff1d(np.arange(len(self.axes)), places).tolist())
        table = self.solution.table.sum(axis=dropped)
        share = table.ravel() / self.problem.total
        if self._is_scaled(share):
            return self._without_context(asked, table).sums(asked, weights)
        coefficients = self.strides[places] @ _cell_digits(shape)
        centred, changes = self._changes(places, coefficients, share, shape)
        status = self.solution.status
        return sums_of_marginal(self.problem, table.ravel(), status, centred, changes, weights)

    def _without_context(self, asked: Axes, table: Floats) -> "_Surroundings":
        """The marginal on some axes, with these cells, as a solution over these axes alone.

        The last one is kept, since the sums of a large marginal are asked for in parts.
        """
        # Another thread may replace the last one at any time, so it is looked at once.
        last = self._last_alone
        if last is not None and last[0] == asked:
            return last[1]
        alone = _Surroundings(
            self.tables,
            asked,
            Problem.of(self.tables, asked),
            dataclasses.replace(self.solution, table=table),
            self.solver,
        )
        self._last_alone = (asked, alone)
        return alone

    def _of_sums(self, weights: Floats) -> Floats:
        """The derivatives by the targets of weighted sums of all cells, shape (m, q)."""
        if isinstance(self._dual, ScaledDual):
            return self._dual.changes(self._distribution, weights)
        return self._solve(covariances(self.problem, self._distribution, weights))

    def _bars(
        self,
        places: Integers,
        coefficients: Integers,
        table: Floats,
        shape: tuple[int, ...],
    ) -> Bars:
        """The uncertainty of the cells of marginals of one shape, each part of (n, cells)."""
        found = []
        for own, needed, share in zip(places, coefficients, table, strict=True):
            scaled = self._scaled(own, share) if self._is_scaled(share) else None
            if scaled is not None:
                found.append(scaled)
            elif len(share) > EXACT_BAR_CELLS:
                found.append(self._sampled(own.tolist()))
            else:
                found.append(self._exact(own, needed, share, shape))
        return Bars(
            variance=np.stack([one.variance for one in found]),
            undetermined=np.stack([one.undetermined for one in found]),
        )

    def _is_scaled(self, share: Floats) -> bool:
        """Whether the bars of a marginal are computed in closed form, without its context."""
        if len(share) > EXACT_BAR_CELLS:
            return True
        large = self.problem.cells > SCALED_CELLS or len(self.problem.index) > SCALED_UNKNOWNS
        return large and not self.often

    def _scaled(
        self,
        places: Integers,
        share: Floats,
    ) -> Bars | None:
        """The uncertainty of the cells of one marginal in closed form; None if there is none.

        Only the known moments of the marginal itself count, not those of its context. `share` are
        the marginal's shares of the total, shape (cells,).
        """
        problem = Problem.of(self.tables, tuple(self.axes[places].tolist()))
        ridge = self.solver.ridge(problem)
        blocks = blocks_of(problem, ridge)
        return None if blocks is None else ScaledDual(problem, ridge, blocks).bars(share)

    def _exact(
        self,
        places: Integers,
        coefficients: Integers,
        share: Floats,
        shape: tuple[int, ...],
    ) -> Bars:
        """The uncertainty of the cells of one marginal, by the delta method.

        `share` are the marginal's shares of the total, shape (cells,).
        """
        problem = self.problem
        centred, changes = self._changes(places, coefficients, share, shape)
        by_targets = problem.total**2 * (problem.variance @ changes**2)
        by_total = share - problem.target @ changes
        # See `Dual._undetermined`, with the indicator of the marginal's cell for that of one cell.
        explained = (centred * changes).sum(axis=0)
        free = np.clip(share - share**2 - explained, 0.0, np.maximum(share, 0.0))
        return Bars(
            variance=np.asarray(by_targets + problem.total_variance * by_total**2),
            undetermined=np.asarray(problem.total**2 * free),
        )

    def _changes(
        self,
        places: Integers,
        coefficients: Integers,
        share: Floats,
        shape: tuple[int, ...],
    ) -> tuple[Floats, Floats]:
        """E[f 1_y] - E[f] P(y), and the derivatives of the shares P(y), both of shape (m, cells).

        The derivative is H^-1 (E[f 1_y] - E[f] P(y)), where H is the Hessian of the dual and f the
        vector of the m known functions. Each is a product f = g h of a function g of the asked axes
        and a function h of the others, and E[h 1_y] is read from the moments. If a function of the
        asked axes is known function i, its moment has the derivative e_i - ridge_i H^-1 e_i. So
        systems are solved only for the other functions.
        """
        problem = self.problem
        own = self._digits[places]
        other = problem.index - self.strides[places] @ own
        functions = transform(shape).synthesise(np.eye(len(share))) * math.sqrt(len(share))
        inner = np.zeros(len(other), np.int64)
        if shape:
            inner = np.ravel_multi_index(tuple(own), shape)
        # E[g h 1_y] - E[g h] P(y) for each known function.
        with_cell = _table_of(shape, self.moments[other[:, None] + coefficients])
        centred = functions[inner] * with_cell
        centred -= self.moments[problem.index, None] * share
        if not self.often or self._inverse is None:
            return centred, self._solve(centred)
        # The functions of the asked axes that the problem knows, and those that it does not.
        position = np.minimum(np.searchsorted(problem.index, coefficients), len(problem.index) - 1)
        known = np.flatnonzero(problem.index[position] == coefficients)
        unknown = np.setdiff1d(np.arange(1, len(coefficients)), known)
        position = position[known]
        changes = np.zeros_like(centred.T)
        changes[known] = -self._ridge[position, None] * self._inverse[position]
        changes[known, position] += 1.0
        changes[unknown] = functions[unknown] @ centred.T @ self._inverse
        return centred, _table_of(shape, changes.T)

    def _sampled(self, kept: Sequence[int]) -> Bars:
        """The uncertainty of the marginal on these places, from random errors.

        The matrices of `_changes` have a column for each cell, which would take too long.
        """
        tilt, *pushed = self._pushed
        structures = random_structure(self.problem, self._distribution, self._ridge)
        changes = (change for change, _ in structures)
        explained = zip(changes, self._explained, strict=True)
        return Bars(
            variance=sampled_variance(self.problem, self._distribution, tilt, pushed, kept),
            undetermined=sampled_undetermined(self.problem, self._distribution, explained, kept),
        )

    @cached_property
    def _explained(self) -> Floats:
        """The inverse of the Hessian times the moments of `random_structure`, shape (probes, m)."""
        structures = random_structure(self.problem, self._distribution, self._ridge)
        return self._solved(np.stack([moments for _, moments in structures], axis=1))

    def _solved(self, right: Floats) -> Floats:
        """The inverse of the Hessian times right-hand sides of shape (m, n), one solution a row."""
        inverse = self._inverse if self.often else None
        solved = self._solve(right) if inverse is None else inverse @ right
        return np.ascontiguousarray(solved.T)

    @cached_property
    def _pushed(self) -> Floats:
        """The inverse Hessian times the targets, and times random errors of the targets.

        Shape (1 + number of random errors, m).
        """
        problem = self.problem
        deviation = np.sqrt(problem.variance)
        errors = [deviation * error for error in standard_errors(len(deviation))]
        return self._solved(np.stack([problem.target, *errors], axis=1))

    @cached_property
    def _distribution(self) -> Floats:
        """The solution's cells, summing to one, shape (cells,)."""
        return np.asarray(self.solution.table.ravel() / self.problem.total)

    @cached_property
    def _digits(self) -> Integers:
        """The number of each known function on each axis, shape (axes, m)."""
        return np.stack(np.unravel_index(self.problem.index, self.problem.shape))

    @cached_property
    def _ridge(self) -> Floats:
        """The ridges of the known coefficients, shape (m,)."""
        return self.solver.ridge(self.problem)

    @cached_property
    def _solve(self) -> Callable[[Floats], Floats]:
        """The inverse of the Hessian at the solution, for right-hand sides of shape (m, n)."""
        return self._dual.solver(self._distribution)

    @cached_property
    def _dual(self) -> Dual:
        """The dual whose Hessian gives the changes of the solution."""
        return dual_of(self.problem, self._ridge)

    @cached_property
    def _inverse(self) -> Floats | None:
        """The inverse of the Hessian, shape (m, m); None if it is too large or does not exist."""
        problem = self.problem
        if not 0 < len(problem.index) <= INVERSE_UNKNOWNS:
            return None
        if products_of(problem.shape, problem.index).numbers > EXTENDED_NUMBERS:
            return None
        return Dual(problem, self._ridge).inverse(self._distribution)


@lru_cache(maxsize=256)
def _cell_digits(shape: tuple[int, ...]) -> Integers:
    """The category of each cell on each axis, shape (axes, cells)."""
    return np.indices(shape).reshape(len(shape), math.prod(shape))


def _table_of(shape: tuple[int, ...], moments: Floats) -> Floats:
    """Compute tables of sum one from all their moments, both of shape (..., cells)."""
    return transform(shape).synthesise(moments) / math.sqrt(math.prod(shape))


def _judged(problem: Problem, solution: Solution) -> Solution:
    """Check a solution; its status becomes `FAILED` if the table does not fit the problem."""
    if not solution.status.ok:
        return solution
    detail = _misfit(problem, np.asarray(solution.table, np.float64))
    if not detail:
        return solution
    return dataclasses.replace(
        solution,
        table=np.full(problem.shape, math.nan),
        status=Status.FAILED,
        variance=None,
        undetermined=None,
        detail=detail,
    )


def _misfit(problem: Problem, table: Floats) -> str:
    """Why a table does not fit the problem; empty if it has the problem's shape, total and zeros,
    up to small errors."""
    if table.shape != problem.shape:
        return f"its table has shape {table.shape} instead of {problem.shape}"
    if not np.isfinite(table).all():
        return "its table has a cell that is not finite"
    small = 1e-4 * problem.total
    if table.min() < -small:
        return "its table has a negative cell"
    if abs(table.sum() - problem.total) > 1e-3 * problem.total:
        return "its table does not sum to the total of the problem"
    zeros = problem.zeros
    if zeros is not None and np.abs(table.ravel()[zeros]).max(initial=0.0) > small:
        return "its table has a positive cell where the rules of the domain ask for zero"
    return ""
