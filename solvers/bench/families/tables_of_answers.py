"""Reading the cells of an answer to a `Problem`, and what is wrong with them as a distribution."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ...basis import transform
from ...projection import projection
from ...reconstruct.problem import Problem
from ...types import Floats

__all__ = [
    "CELLS",
    "MOMENTS",
    "SUM",
    "broken",
    "cells_of",
    "independent_rows",
    "known_marginals",
    "marginal_rows",
]

CELLS = (
    "n p_i for each of the n cells that need not be zero, row by row of the table, whose last axis "
    "changes fastest (so their sum is n)"
)
"""The first columns of the programmes over cells."""

SUM = "the sum of n p_i = n"
"""The first row of these programmes."""

MOMENTS = (
    f"{SUM}; then, for each known moment S in the order of the columns: (the sum of f_S(i) p_i) / "
    "root of rho_S, less its miss / root of rho_S, = t_S / root of rho_S"
)
"""The rows of the programmes with ridges."""


def cells_of(problem: Problem, answer: Any) -> Floats | str:
    """The cells of an answer as shares of the total, shape (cells,); a text with the reason if it
    has none."""
    table = getattr(answer, "table", answer)
    if table is None:
        return "the answer holds no table"
    try:
        cells = np.asarray(table, np.float64).ravel()
    except (TypeError, ValueError):
        return f"the answer is a {type(answer).__name__}, not a table of numbers"
    if cells.size != problem.cells:
        return f"the table has {cells.size} cells; expected {problem.cells}"
    if not np.isfinite(cells).all():
        return "a cell is not finite"
    return np.asarray(cells / problem.total)


def broken(problem: Problem, cells: Floats) -> float:
    """How far cells are from a distribution on the cells that may be positive."""
    worst = max(-float(cells.min()), abs(float(cells.sum()) - 1.0))
    if problem.zeros is not None:
        worst = max(worst, float(np.abs(cells[problem.zeros]).max()))
    return worst


def known_marginals(problem: Problem) -> tuple[sparse.csr_array, Floats]:
    """The map from the cells to those of all known marginals, and their shares of the total."""
    margins = problem.margins()
    if not margins:
        return sparse.csr_array((0, problem.cells)), np.empty(0)
    maps = [projection(problem.shape, places) for places, _ in margins]
    shares = [np.ravel(marginal) for _, marginal in margins]
    return sparse.csr_array(sparse.vstack(maps)), np.concatenate(shares)


def independent_rows(problem: Problem) -> tuple[sparse.csr_array, Floats]:
    """Rows of sums of cells, linearly independent, that say the same as `known_marginals`.

    The known marginals must agree with each other, so `Problem.marginals` is not read.

    Returns
    -------
    rows, right
        Of shapes (k, cells) and (k,); rows of the first one at a distribution equal the second.
    """
    margins = replace(problem, marginals=None).margins()
    known = np.unique(transform(problem.shape).component[problem.index]).tolist()
    rows = [sparse.csr_array((0, problem.cells))]
    right = [np.empty(0)]
    for mask in known:
        axes = tuple(axis for axis in range(len(problem.shape)) if mask >> axis & 1)
        places, table = next(one for one in margins if set(axes) <= set(one[0]))
        outside = tuple(here for here, place in enumerate(places) if place not in axes)
        inner = (slice(1, None),) * len(axes)
        rows.append(marginal_rows(problem.shape, axes))
        right.append(np.ravel(table.sum(axis=outside)[inner]))
    return sparse.csr_array(sparse.vstack(rows)), np.concatenate(right)


def marginal_rows(shape: tuple[int, ...], axes: tuple[int, ...]) -> sparse.csr_array:
    """The cells of a marginal on these axes whose codes are all >= 1, as rows of sums of cells.

    Given all smaller marginals, these cells determine the marginal, and none of them is a linear
    function of the others: so the rows of several sets of axes are linearly independent.
    """
    sizes = [shape[axis] for axis in axes]
    codes = np.indices(sizes).reshape(len(axes), math.prod(sizes))
    inner = np.flatnonzero((codes > 0).all(axis=0))
    return sparse.csr_array(projection(shape, axes))[inner]
