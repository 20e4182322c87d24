"""Reconstructions of section 4.3 of Qardaji, Yang and Li, SIGMOD 2014, exactly as printed.

The solvers of the library differ in details that help: `MinimaxLP` divides each view by its total
and fixes the sum of the table, and `LeastSquares` weighs each moment by its noise. Here the
unknowns are the counts of the table, the constraints are the counts of the views, and the sum of
the table is free.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse
from numpy.typing import NDArray

from margin.solvers import Tables

Table = NDArray[np.float64]

_HEAVY = 1e4
"""Weight of the equations in the least squares problem that stands for the programme."""


def linear_programme(tables: Tables, axes: Sequence[int]) -> Table:
    """The published LP: the table T >= 0 with the smallest tau for which |T_V(a) - T(a)| <= tau for
    all cells a of the intersections with all views V.
    """
    rows, counts = _constraints(tables, axes, every=True)
    worst = scipy.sparse.csr_array(-np.ones((len(counts), 1)))
    matrix = scipy.sparse.block_array([[rows, worst], [-rows, worst]]).tocsr()
    optimize: Any = scipy.optimize  # its types do not know sparse matrices
    found = optimize.linprog(
        np.append(np.zeros(rows.shape[1]), 1.0),
        A_ub=matrix,
        b_ub=np.concatenate([counts, -counts]),
        method="highs",
    )
    return np.asarray(found.x[:-1]).reshape(_shape(tables, axes))


def least_norm(tables: Tables, axes: Sequence[int]) -> Table:
    """The published CLN: the table T >= 0 of least sum of squares that agrees with all views.

    The equations have a large weight in a least squares problem. So there is an answer too where no
    table without negative cells agrees with the views.
    """
    rows, counts = _constraints(tables, axes, every=False)
    cells = rows.shape[1]
    matrix = np.concatenate([_HEAVY * rows.toarray(), np.eye(cells)])
    right = np.concatenate([_HEAVY * counts, np.zeros(cells)])
    table, _ = scipy.optimize.nnls(matrix, right, maxiter=30 * cells)
    return np.asarray(table).reshape(_shape(tables, axes))


def _shape(tables: Tables, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(tables.sizes[axis] for axis in axes)


def _constraints(
    tables: Tables,
    axes: Sequence[int],
    *,
    every: bool,
) -> tuple[Any, Table]:
    """The matrix from the cells of a table to the cells of its intersections with the views, and
    the counts of these cells.

    If not `every`, intersections within others are left out: the views agree on them.
    """
    commons = [tuple(axis for axis in axes if axis in view) for view in tables.views]
    if every:
        chosen = [row for row, common in enumerate(commons) if common]
    else:
        first = {common: row for row, common in reversed(list(enumerate(commons))) if common}
        largest = [one for one in first if not any(set(one) < set(other) for other in first)]
        chosen = [first[common] for common in largest]
    shape = _shape(tables, axes)
    codes = np.indices(shape).reshape(len(shape), -1)
    blocks = []
    counts = []
    for row in chosen:
        common = commons[row]
        places = [axes.index(axis) for axis in common]
        sizes = tuple(shape[place] for place in places)
        cell = np.ravel_multi_index(tuple(codes[places]), sizes)
        ones = np.ones(cell.size)
        blocks.append(scipy.sparse.csr_array((ones, (cell, np.arange(cell.size)))))
        counts.append(tables.project(row, common).ravel())
    return scipy.sparse.vstack(blocks).tocsr(), np.concatenate(counts)
