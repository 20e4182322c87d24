"""`coverage_error`: an estimate of what a reconstruction misses because no view holds all the asked
axes."""

import dataclasses
import math

import numpy as np

from ..basis import transform
from ..tables.tables import Axes, Tables
from .problem import Problem, Solver

_SAMPLES = 30


def coverage_error(tables: Tables, solver: Solver, axes: Axes, *, seed: int = 0) -> float:
    """The estimated root mean square error of a cell of an uncovered marginal, apart from noise.

    The views hold other marginals of the same shape in full. Of some of these only such components
    are kept as are known of the asked one; the solver reconstructs the rest, and its errors are
    averaged, less what the noise of the views adds to them. It is an *estimate*: the asked axes can
    be related more or less closely than those of a view.

    Parameters
    ----------
    tables
        Consistent tables of positive total.
    solver
        What reconstructs.
    axes
        The asked axes, ascending.
    seed
        Which covered marginals are tried.

    Returns
    -------
    float
        In counts; zero where a view covers the axes, NaN where no view holds a marginal of this
        shape.
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
            assert row is not None
            miss = ((solution.table - tables.project(row, other)) ** 2).mean()
            precision = tables.component_precision(other)[transform(shape).component[dropped]]
            squares.append(miss - (1 / precision).sum() / problem.cells**2)
    return math.sqrt(max(float(np.mean(squares)), 0.0)) if squares else math.nan


def _covered(tables: Tables, shape: tuple[int, ...], seed: int) -> list[Axes]:
    """Random sets of ascending axes within a view whose sizes are the shape."""
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
