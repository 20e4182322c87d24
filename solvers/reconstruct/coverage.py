"""An estimate of the error of a reconstruction that noise does not explain."""

import dataclasses
import math

import numpy as np

from ..basis import transform
from ..tables.tables import Axes, Tables
from .problem import Problem, Solver

_SAMPLES = 30
"""Largest number of covered marginals that are reconstructed."""


def coverage_error(
    tables: Tables,
    solver: Solver,
    axes: Axes,
    *,
    seed: int = 0,
) -> float:
    """Estimate the root mean square error of a cell of an uncovered marginal, apart from noise.

    The method tests the solver on marginals of the same shape that a view covers. From each of
    these, it removes the components that are unknown for the asked marginal. The solver
    reconstructs the marginal from the rest, and the result is compared with the view. The mean
    square error, minus the part that comes from the noise of the view, is averaged over up to 30
    such marginals. The result is only an estimate: the asked axes can depend on each other more or
    less than the axes of a view.

    Parameters
    ----------
    tables
        Consistent tables of positive total.
    solver
        The solver whose error is estimated.
    axes
        The asked axes, ascending.
    seed
        Decides which covered marginals are reconstructed.

    Returns
    -------
    float
        In counts. Zero if a view covers the axes; NaN if no view holds a marginal of this shape.
    """
    if tables.covering(axes) is not None:
        return 0.0
    shape = tuple(tables.sizes[axis] for axis in axes)
    known = Problem.of(tables, axes).index
    dropped = np.setdiff1d(np.arange(1, math.prod(shape)), known)
    squares = []
    for other in _covered(tables, shape, seed):
        problem = Problem.of(tables, other)
        kept = np.isin(problem.index, known)
        partial = dataclasses.replace(
            problem,
            index=problem.index[kept],
            target=problem.target[kept],
            variance=problem.variance[kept],
        )
        solution = solver.solve(partial)
        if solution.status.ok:
            row = tables.covering(other)
            assert row is not None  # `_covered` takes it from a view
            miss = ((solution.table - tables.project(row, other)) ** 2).mean()
            # The variance of the dropped components in the view's own table.
            precision = tables.component_precision(other)[transform(shape).component[dropped]]
            noise = (1 / precision).sum() / problem.cells**2
            squares.append(miss - noise)
    if not squares:
        return math.nan
    return math.sqrt(max(float(np.mean(squares)), 0.0))


def _covered(
    tables: Tables,
    shape: tuple[int, ...],
    seed: int,
) -> list[Axes]:
    """Draw sets of ascending axes that lie in a view and whose sizes are the given shape."""
    rng = np.random.default_rng(seed)
    found: set[Axes] = set()
    for _ in range(20 * _SAMPLES):
        view = tables.views[int(rng.integers(len(tables.views)))]
        if len(view) >= len(shape):
            some = tuple(sorted(rng.choice(view, len(shape), replace=False).tolist()))
            if tuple(tables.sizes[axis] for axis in some) == shape:
                found.add(some)
        if len(found) == _SAMPLES:
            break
    return sorted(found)
