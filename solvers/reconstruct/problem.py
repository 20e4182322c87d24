"""The statement of a reconstruction problem, its solution, and the protocol of solvers."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..basis import transform
from ..stated import Stated
from ..status import Status
from ..tables.consistency import ResidualConsistency
from ..tables.moments import known_moments, require_small
from ..tables.tables import Axes, Tables
from ..types import Floats, Integers
from .bars import Bars
from .known_margins import KnownMargins

__all__ = ["Problem", "Solution", "Solver"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Problem(Stated):
    """A table to reconstruct from some of its moments, which have errors.

    Parameters
    ----------
    shape
        The sizes of the table's axes.
    index
        Which coefficients are known: ascending positions in the flattened table of coefficients
        (see `basis`), int array of shape (m,). Position 0, the constant function, is left out. If a
        component is known, all its coefficients and all components on fewer of its axes are known.
    target
        Their moments: means of basis functions of mean square one, shape (m,).
    variance
        The error variances of the moments, >= 0, shape (m,); zero for exact moments.
    total
        The sum of the table's cells, > 0.
    total_variance
        The error variance of `total`, >= 0.
    marginals
        The known marginals as they were observed, for solvers that use marginals: for each, the
        positions of its axes and a table of sum one. They need not be consistent. If it is None,
        the marginals are computed from the moments.
    zeros
        Whether each cell must be zero, bool array of shape (cells,); None if no cell must.
        "Uniform" then means uniform on the other cells.
    base
        The distribution relative to which `Newton` measures entropy, in place of the uniform one:
        positive on the cells that need not be zero, shape (cells,). None for the uniform one.
    ridge
        The tolerances of the moments in `Newton`, > 0, shape (m,). None leaves them to the solver.

    Raises
    ------
    ValueError
        If the table is too large, the arrays do not fit the shape, a number is not finite or out of
        range, or all cells must be zero.
    """

    families: ClassVar[tuple[str, ...]] = (
        "penalised-entropy",
        "exact-entropy",
        "least-squares",
        "minimax",
    )
    shape: tuple[int, ...]
    index: Integers
    target: Floats
    variance: Floats
    total: float
    total_variance: float = 0.0
    marginals: tuple[tuple[Axes, Floats], ...] | None = None
    zeros: NDArray[np.bool_] | None = None
    base: Floats | None = None
    ridge: Floats | None = None

    def __post_init__(self) -> None:
        require_small(self.shape)
        if not len(self.index) == len(self.target) == len(self.variance):
            raise ValueError(
                "index, target and variance must have the same length, but their lengths are "
                f"{len(self.index)}, {len(self.target)} and {len(self.variance)}; give one entry "
                "of each for each known coefficient"
            )
        if len(self.index) and not (self.index.min() >= 1 and self.index.max() < self.cells):
            raise ValueError(
                f"index must lie between 1 and {self.cells - 1}, one less than the number of "
                f"cells, but it goes from {self.index.min()} to {self.index.max()}; remove other "
                "positions"
            )
        if (np.diff(self.index) <= 0).any():
            raise ValueError(
                "index must be ascending, but an entry is not larger than the one before; sort it "
                "and give each position once"
            )
        if not np.isfinite(self.target).all():
            raise ValueError("target must be finite, but one of its entries is not; correct it")
        if not (np.isfinite(self.variance).all() and (self.variance >= 0).all()):
            raise ValueError(
                "variance must be finite and >= 0, but one of its entries is not; correct it"
            )
        if not (self.total > 0 and math.isfinite(self.total)):
            raise ValueError(
                f"total ({self.total}) must be positive and finite; pass such a number"
            )
        if not (self.total_variance >= 0 and math.isfinite(self.total_variance)):
            raise ValueError(
                f"total_variance ({self.total_variance}) must be finite and >= 0; pass such a "
                "number"
            )
        if self.zeros is not None:
            if self.zeros.shape != (self.cells,) or self.zeros.dtype != np.bool_:
                raise ValueError(
                    f"zeros must hold truth values with shape {(self.cells,)}, one for each cell, "
                    f"but it has shape {self.zeros.shape} and type {self.zeros.dtype}; convert it"
                )
            if self.zeros.all():
                raise ValueError(
                    "zeros must leave at least one cell that may be positive, but it marks every "
                    "cell; unmark one"
                )
        self._check_base()

    def _check_base(self) -> None:
        """Refuse a base or ridges that do not fit."""
        if self.base is not None:
            possible = slice(None) if self.zeros is None else ~self.zeros
            if self.base.shape != (self.cells,) or not (self.base[possible] > 0).all():
                raise ValueError(
                    f"base must hold {self.cells} numbers, one for each cell, and be positive "
                    "where a cell need not be zero, but it does not; add a small share to each cell"
                )
        if self.ridge is None:
            return
        if self.ridge.shape != self.index.shape or not (self.ridge > 0).all():
            raise ValueError(
                f"ridge must hold {len(self.index)} positive numbers, one for each known "
                "coefficient, but it does not; correct it"
            )

    @classmethod
    def of(
        cls,
        tables: Tables,
        axes: Axes,
    ) -> "Problem":
        """Make the problem of a marginal on some ascending axes, from consistent tables.

        Each coefficient is read from one view that holds it; because the tables are consistent, the
        choice of the view does not matter.

        Parameters
        ----------
        tables
            Consistent tables of positive total.
        axes
            The axes of the marginal, ascending.

        Raises
        ------
        ValueError
            See `known_moments`.
        """
        known = known_moments(tables, [axes])
        zeros = None
        if known.zeros is not None and known.zeros[0].any():
            zeros = known.zeros[0]
        return cls(
            shape=known.shape,
            index=known.index,
            target=known.target,
            variance=known.variance,
            total=tables.total,
            total_variance=float(known.total_variance[0]),
            zeros=zeros,
        )

    @classmethod
    def observed(
        cls,
        tables: Tables,
        axes: Axes,
    ) -> "Problem":
        """Make the problem of a marginal from tables that need not be consistent.

        The moments are the best linear estimates, and `marginals` holds each view's own marginal.
        """
        marginals = []
        for row, view in enumerate(tables.views):
            common = tuple(axis for axis in axes if axis in view)
            if common and tables.values[row].sum() > 0:
                marginal = tables.project(row, common)
                places = tuple(axes.index(axis) for axis in common)
                marginals.append((places, marginal / marginal.sum()))
        consistent = ResidualConsistency()(tables)
        return replace(cls.of(consistent, axes), marginals=tuple(marginals))

    @cached_property
    def cells(self) -> int:
        """The number of cells of the table."""
        return math.prod(self.shape)

    @cached_property
    def possible(self) -> Integers:
        """The cells that need not be zero, ascending."""
        if self.zeros is None:
            return np.arange(self.cells)
        return np.flatnonzero(~self.zeros)

    @property
    def uniform(self) -> Floats:
        """The uniform distribution on the cells that need not be zero, shape (cells,)."""
        count = len(self.possible)
        return self.spread(np.full(count, 1 / count))

    @cached_property
    def reference(self) -> Floats:
        """The distribution relative to which entropy is measured, shape (cells,)."""
        if self.base is None:
            return self.uniform
        base = self.spread(self.base[self.possible])
        return np.asarray(base / base.sum())

    @cached_property
    def log_base(self) -> Floats | None:
        """The logarithm of `reference`, zero in cells that must be zero; None if it is uniform."""
        if self.base is None:
            return None
        return self.spread(np.log(self.reference[self.possible]))

    def spread(self, values: Floats) -> Floats:
        """Put values of the cells that need not be zero into a table of shape (cells,)."""
        if self.zeros is None:
            return values
        table = np.zeros(self.cells)
        table[self.possible] = values
        return table

    @cached_property
    def order(self) -> Integers:
        """The number of axes of each known coefficient, shape (m,)."""
        return transform(self.shape).order[self.index]

    @cached_property
    def _margins(self) -> KnownMargins | None:
        """The known marginals, if moments are computed faster by way of them."""
        return KnownMargins.worth(self.shape, self.index)

    @property
    def by_margins(self) -> bool:
        """Whether moments are computed by way of the known marginals."""
        return self._margins is not None

    def moments(self, table: Floats) -> Floats:
        """Compute the known moments of a flattened table of sum one, shape (cells,) to (m,)."""
        if self._margins is not None:
            return self._margins.moments(table)
        return transform(self.shape).analyse(table)[self.index] * math.sqrt(self.cells)

    def functions(self, weights: Floats) -> Floats:
        """Add up the known basis functions with given weights, shape (..., m) to (..., cells)."""
        if self._margins is not None:
            return self._margins.functions(weights)
        coefficients = np.zeros((*weights.shape[:-1], self.cells))
        coefficients[..., self.index] = weights
        return transform(self.shape).synthesise(coefficients) * math.sqrt(self.cells)

    def solution(
        self,
        distribution: Floats | None,
        *,
        status: Status,
        objective: "float | Callable[[Problem, Floats], float] | None" = None,
        bound: float | None = None,
        iterations: int,
        seconds: float,
        relaxation: float,
        bars: Bars | None = None,
    ) -> "Solution":
        """Check the cells that a solver found, and make a `Solution`.

        The status becomes `FAILED` if cells are not finite or clearly negative, if their sum is
        not one, or if cells that must be zero are clearly positive. A solution without cells has a
        table of NaN.

        Parameters
        ----------
        distribution
            The cells, summing to one, shape (cells,); None if the solver found nothing.
        objective
            The value of the solver's objective, or a function ``(problem, distribution)`` that
            computes it; None if the solver does not tell, which makes it NaN.
        status, bound, iterations, seconds, relaxation
            See `Solution`.
        bars
            The uncertainty of the cells, each part of shape (cells,); None if it is not computed.
        """
        detail = "" if distribution is None else self._misfit(distribution)
        if distribution is None or detail:
            status = Status.FAILED if status.ok else status
            table = np.full(self.cells, math.nan)
            residual = math.nan
            value = math.nan
        else:
            clipped = self.spread(np.maximum(distribution[self.possible], 0.0))
            table = clipped / clipped.sum()
            residual = float(np.abs(self.moments(table) - self.target).max(initial=0.0))
            told = objective(self, table) if callable(objective) else objective
            value = math.nan if told is None else told
        return Solution(
            table=(table * self.total).reshape(self.shape),
            status=status,
            objective=value,
            residual=residual,
            iterations=iterations,
            seconds=seconds,
            relaxation=relaxation,
            variance=None if bars is None else bars.variance.reshape(self.shape),
            undetermined=None if bars is None else bars.undetermined.reshape(self.shape),
            bound=bound,
            detail=detail,
        )

    def _misfit(self, cells: Floats) -> str:
        """Why cells are no distribution on the cells that may be positive; empty if they are one,
        up to small errors."""
        if cells.size != self.cells:
            return f"its table has {cells.size} cells instead of {self.cells}"
        if not np.isfinite(cells).all():
            return "its table has a cell that is not finite"
        if not cells.min() > -1e-4:
            return "its table has a negative cell"
        if not abs(cells[self.possible].sum() - 1) < 1e-3:
            return "its cells that may be positive do not sum to one"
        return ""

    def margins(self) -> list[tuple[tuple[int, ...], Floats]]:
        """Compute the largest known marginals, each of sum one; or `marginals` if it was given.

        Each entry holds the positions of the axes and the table. Together they state the same
        constraints as `index` and `target`, but on cells; on common axes they repeat each other.
        """
        if self.marginals is not None:
            return list(self.marginals)
        component = transform(self.shape).component
        known = np.unique(component[self.index]).tolist()
        moments = np.zeros(self.cells)
        moments[0] = 1.0
        moments[self.index] = self.target
        moments = moments.reshape(self.shape)
        axes = range(len(self.shape))
        margins = []
        for mask in known:
            inner = any(mask != other and mask & other == mask for other in known)
            if inner:
                continue
            places = tuple(place for place in axes if mask >> place & 1)
            sizes = tuple(self.shape[place] for place in places)
            part = moments[tuple(slice(None) if place in places else 0 for place in axes)]
            table = transform(sizes).synthesise(part.ravel()).reshape(sizes)
            margins.append((places, table / math.sqrt(part.size)))
        return margins


@dataclass(
    frozen=True,
    kw_only=True,
)
class Solution:
    """The result of a solver.

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
        The number of steps.
    seconds
        Process time.
    relaxation
        How far the constraints were relaxed, in the unit that the solver states.
    variance
        The noise variance of each cell, of the problem's shape; None if the solver does not compute
        it.
    undetermined
        See `Bars`, of the problem's shape; None if the solver does not compute it.
    bound
        A lower bound on the objective of every table, which the solver claims, such as the value of
        the dual problem; None if it claims none.
    detail
        What is wrong with the table that was found, if the status is `FAILED` for it; else empty.
    """

    table: Floats
    status: Status
    objective: float
    residual: float
    iterations: int
    seconds: float
    relaxation: float
    variance: Floats | None = None
    undetermined: Floats | None = None
    bound: float | None = None
    detail: str = ""

    def _repr_html_(self) -> str:
        import pandas

        shown = {
            "status": f"{self.status.name}: {self.status.value}",
            "cells": " x ".join(map(str, self.table.shape)),
            "objective": f"{self.objective:.6g}",
            "residual": f"{self.residual:.3g}",
            "relaxation": f"{self.relaxation:.3g}",
            "iterations": f"{self.iterations:,}",
            "seconds": f"{self.seconds:.3g}",
        }
        return str(pandas.DataFrame({"solution": shown}).to_html(border=0))


class Solver(Protocol):
    """An object with a method `solve` that reconstructs the table of a `Problem`.

    A solver may also have a method ``objective(problem, distribution)``. It returns the value that
    the solver minimises, for a distribution of shape (cells,), and must be convex.
    `testing.check_solver` then checks that the answers of the solver minimise it.
    """

    def solve(self, problem: Problem, /) -> Solution:
        """Find a table whose moments fit the targets.

        Parameters
        ----------
        problem
            The known moments and their errors. It must not be changed.

        Returns
        -------
        Solution
            The table and how the solve ended. If no table was found, the status tells why, and the
            table holds NaN; nothing is raised.
        """
