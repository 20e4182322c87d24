"""`Problem`, `Solution` and `Status`: one reconstruction question and its answer, whichever solver
gives it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..basis import transform
from ..status import Status
from ..tables.consistency import ResidualConsistency
from ..tables.moments import known_moments, require_small
from ..tables.tables import Axes, Tables
from ..types import Floats, Integers

__all__ = ["Problem", "Solution", "Solver"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Which table has these moments? The table's axes, what is known of it, and how well.

    Parameters
    ----------
    shape
        The sizes of the table's axes.
    index
        The known coefficients other than the empty set's, as ascending positions in the flattened
        table of coefficients (see `basis`), int array of shape (m,). With a component all its
        coefficients and all smaller components are known.
    target
        Their moments: means of basis functions of mean square one, shape (m,).
    variance
        The error variances of the moments, >= 0, shape (m,); zero for what is exact.
    total
        The sum of the table's cells, > 0.
    total_variance
        The error variance of `total`, >= 0.
    marginals
        The known marginals as they were observed, for solvers that want them so: places of the
        axes, and table of sum one. They need not agree with each other. None takes those that the
        moments make up.
    zeros
        Which cells must be zero, bool array of shape (cells,); None for no such cell. What is
        called uniform is so on the others.

    Raises
    ------
    ValueError
        When the table is too large, the arrays do not fit the shape, a number is not finite or out
        of range, or all cells must be zero.
    """

    shape: tuple[int, ...]
    index: Integers
    target: Floats
    variance: Floats
    total: float
    total_variance: float = 0.0
    marginals: tuple[tuple[Axes, Floats], ...] | None = None
    zeros: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        require_small(self.shape)
        if not len(self.index) == len(self.target) == len(self.variance):
            raise ValueError("index, target and variance must be equally long")
        if len(self.index) and not (self.index.min() >= 1 and self.index.max() < self.cells):
            raise ValueError(f"index must lie between 1 and the number of cells ({self.cells})")
        if (np.diff(self.index) <= 0).any():
            raise ValueError("index must be ascending")
        if not (
            np.isfinite(self.target).all()
            and np.isfinite(self.variance).all()
            and (self.variance >= 0).all()
        ):
            raise ValueError("target must be finite, and variance finite and >= 0")
        if not (self.total > 0 and math.isfinite(self.total)):
            raise ValueError(f"total ({self.total}) must be positive and finite")
        if not (self.total_variance >= 0 and math.isfinite(self.total_variance)):
            raise ValueError(f"total_variance ({self.total_variance}) must be finite and >= 0")
        if self.zeros is not None:
            if self.zeros.shape != (self.cells,) or self.zeros.dtype != np.bool_:
                raise ValueError(
                    f"zeros must hold a truth value for each of the {self.cells} cells"
                )
            if self.zeros.all():
                raise ValueError("some cell must be allowed not to be zero")

    @classmethod
    def of(cls, tables: Tables, axes: Axes) -> "Problem":
        """What consistent tables of positive total say about the marginal on some ascending axes.

        Each coefficient is read from one view that holds it: the tables are consistent, so any will
        do.
        """
        known = known_moments(tables, [axes])
        return cls(
            shape=known.shape,
            index=known.index,
            target=known.target,
            variance=known.variance,
            total=tables.total,
            total_variance=float(known.total_variance[0]),
            zeros=None if known.zeros is None or not known.zeros[0].any() else known.zeros[0],
        )

    @classmethod
    def observed(cls, tables: Tables, axes: Axes) -> "Problem":
        """What tables say that need not be consistent: the best linear estimates of the moments,
        and in `marginals` each view's own word."""
        marginals = []
        for row, view in enumerate(tables.views):
            common = tuple(axis for axis in axes if axis in view)
            if common and tables.values[row].sum() > 0:
                marginal = tables.project(row, common)
                marginals.append(
                    (tuple(axes.index(axis) for axis in common), marginal / marginal.sum())
                )
        return replace(cls.of(ResidualConsistency()(tables), axes), marginals=tuple(marginals))

    @cached_property
    def cells(self) -> int:
        """The number of cells of the table."""
        return math.prod(self.shape)

    @cached_property
    def possible(self) -> Integers:
        """The cells that need not be zero, ascending."""
        return np.arange(self.cells) if self.zeros is None else np.flatnonzero(~self.zeros)

    @property
    def uniform(self) -> Floats:
        """The uniform distribution on the cells that need not be zero, shape (cells,)."""
        return self.spread(np.full(len(self.possible), 1 / len(self.possible)))

    def spread(self, values: Floats) -> Floats:
        """Values of the cells that need not be zero as a table of shape (cells,)."""
        if self.zeros is None:
            return values
        table = np.zeros(self.cells)
        table[self.possible] = values
        return table

    @cached_property
    def order(self) -> Integers:
        """The number of axes of each known coefficient, shape (m,)."""
        return transform(self.shape).order[self.index]

    def moments(self, table: Floats) -> Floats:
        """The known moments of a flattened table of sum one, shape (cells,) to (m,)."""
        return transform(self.shape).analyse(table)[self.index] * math.sqrt(self.cells)

    def functions(self, weights: Floats) -> Floats:
        """The sum of the known basis functions with these weights, shape (..., m) to (..., cells)."""
        coefficients = np.zeros((*weights.shape[:-1], self.cells))
        coefficients[..., self.index] = weights
        return transform(self.shape).synthesise(coefficients) * math.sqrt(self.cells)

    def solution(
        self,
        distribution: Floats | None,
        *,
        status: Status,
        objective: "float | Callable[[Problem, Floats], float]",
        iterations: int,
        seconds: float,
        relaxation: float,
        variance: Floats | None = None,
    ) -> "Solution":
        """The record of what a solver found: cells of shape (cells,), summing to one, or None for
        nothing; and the value of its objective, or how to compute it.

        What a back-end returns is not trusted: cells that are not finite, clearly negative, or of
        another sum make the status `FAILED`, and so do clearly positive cells that must be zero; a
        solution without cells has a table of NaN.
        """
        if distribution is None or not (
            distribution.size == self.cells
            and np.isfinite(distribution).all()
            and distribution.min() > -1e-4
            and abs(distribution[self.possible].sum() - 1) < 1e-3
        ):
            distribution, status = None, Status.FAILED if status.ok else status
        if distribution is None:
            table, residual, value = np.full(self.cells, math.nan), math.nan, math.nan
        else:
            clipped = self.spread(np.maximum(distribution[self.possible], 0.0))
            table = clipped / clipped.sum()
            residual = float(np.abs(self.moments(table) - self.target).max(initial=0.0))
            value = objective(self, table) if callable(objective) else objective
        return Solution(
            table=(table * self.total).reshape(self.shape),
            status=status,
            objective=value,
            residual=residual,
            iterations=iterations,
            seconds=seconds,
            relaxation=relaxation,
            variance=variance,
        )

    def margins(self) -> list[tuple[tuple[int, ...], Floats]]:
        """The largest known marginals, summing to one: places of the axes, and table; `marginals`
        where given.

        The same knowledge as `index` and `target`, as constraints on cells; marginals that overlap
        repeat each other.
        """
        if self.marginals is not None:
            return list(self.marginals)
        component = transform(self.shape).component
        known = np.unique(component[self.index]).tolist()
        moments = np.zeros(self.cells)
        moments[0] = 1.0
        moments[self.index] = self.target
        margins = []
        for mask in known:
            if any(mask & other == mask != other for other in known):
                continue
            places = tuple(place for place in range(len(self.shape)) if mask >> place & 1)
            sub = tuple(self.shape[place] for place in places)
            part = moments.reshape(self.shape)[
                tuple(slice(None) if place in places else 0 for place in range(len(self.shape)))
            ]
            margins.append(
                (
                    places,
                    transform(sub).synthesise(part.ravel()).reshape(sub) / math.sqrt(part.size),
                )
            )
        return margins


@dataclass(frozen=True, kw_only=True)
class Solution:
    """What a solver found.

    Attributes
    ----------
    table
        The cells, of the problem's shape, summing to its total.
    status
        How the solve ended.
    objective
        The value of the solver's stated objective.
    residual
        The largest difference between a moment of the table and its target.
    iterations
        How many steps the solver took.
    seconds
        Process time.
    relaxation
        How far the constraints were relaxed, in the unit that the solver states.
    variance
        The noise variance of each cell, of the problem's shape, or None where the solver does not
        compute it.
    """

    table: Floats
    status: Status
    objective: float
    residual: float
    iterations: int
    seconds: float
    relaxation: float
    variance: Floats | None = None


class Solver(Protocol):
    """A way to answer a `Problem`.

    A solver may also have a method ``objective(problem, distribution)``, the value of what it
    minimises at a distribution of shape (cells,), which must be convex; the checks of `testing`
    then hold its answers against it.
    """

    def solve(self, problem: Problem, /) -> Solution:
        """The distribution that was found, and how good it is."""
