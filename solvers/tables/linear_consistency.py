"""Consistency by linear programming, with the smallest change in the L1 norm or the max norm."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..limits import MOST_CELLS
from ..projection import projection
from ..types import Floats
from .tables import Tables

__all__ = ["MOST_CELLS", "AbsoluteConsistency", "MaximumConsistency"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class AbsoluteConsistency:
    """Makes tables consistent so that the sum of the absolute changes of all cells is smallest.

    Each change is divided by the standard deviation of its cell. Source: Ding et al., SIGMOD 2011,
    section 5 (the L1 norm). Consistent tables are the marginals of one array, whose cells may be
    negative; the linear programme finds this array. Required zeros and a known total are kept. The
    solution need not be unique.
    """

    def __call__(self, tables: Tables) -> Tables:
        """The consistent tables.

        Raises
        ------
        ValueError
            If the array has more than `MOST_CELLS` cells, or the programme cannot be solved.
        """
        rows, targets = _scaled(tables)
        count, cells = rows.shape
        # Each change is the difference of two numbers >= 0, and their sum is minimised.
        excess = scipy.sparse.identity(count)
        cost = np.concatenate([np.zeros(cells), np.ones(2 * count)])
        equal = scipy.sparse.hstack([rows, excess, -excess])
        return _tables(
            tables,
            _solve(
                tables,
                cost,
                equal=equal,
                right=targets,
            ),
        )


@dataclass(
    frozen=True,
    kw_only=True,
)
class MaximumConsistency:
    """Makes tables consistent so that the largest absolute change of a cell is smallest.

    Each change is divided by the standard deviation of its cell. Source: Ding et al., SIGMOD 2011,
    section 5 (the max norm). See `AbsoluteConsistency`.
    """

    def __call__(self, tables: Tables) -> Tables:
        """The consistent tables.

        Raises
        ------
        ValueError
            If the array has more than `MOST_CELLS` cells, or the programme cannot be solved.
        """
        rows, targets = _scaled(tables)
        count, cells = rows.shape
        # Every change, with either sign, is at most the last variable, which is minimised.
        column = scipy.sparse.csr_array(-np.ones((count, 1)))
        cost = np.append(np.zeros(cells), 1.0)
        below = scipy.sparse.vstack(
            [scipy.sparse.hstack([rows, column]), scipy.sparse.hstack([-rows, column])]
        )
        bound = np.concatenate([targets, -targets])
        return _tables(
            tables,
            _solve(
                tables,
                cost,
                below=below,
                bound=bound,
            ),
        )


def _scaled(tables: Tables) -> tuple[Any, Floats]:
    """The matrix from the array's cells to the cells of all tables, and these cells.

    Both are divided by the cells' standard deviations.
    """
    cells = math.prod(tables.sizes)
    if cells > MOST_CELLS:
        raise ValueError(
            f"the array must have at most {MOST_CELLS} cells for the linear programme, but it has "
            f"{cells}; use ResidualConsistency"
        )
    rows = []
    targets = []
    for view, value, variance in zip(tables.views, tables.values, tables.variances, strict=True):
        scale = variance**-0.5
        rows.append(scale * projection(tables.sizes, view))
        targets.append(scale * value.ravel())
    return scipy.sparse.vstack(rows).tocsr(), np.concatenate(targets)


def _solve(
    tables: Tables,
    cost: Floats,
    *,
    equal: Any = None,
    right: Any = None,
    below: Any = None,
    bound: Any = None,
) -> Floats:
    """The array's cells, of any sign, that minimise the cost.

    The variables are the cells, then further variables >= 0. They satisfy equal x = right and
    below x <= bound.
    """
    import scipy.optimize

    empty = np.zeros(tables.sizes, np.bool_)
    if tables.zeros is not None:
        empty = tables.zeros.cells(tuple(range(len(tables.sizes))))
    free: tuple[float | None, float | None] = (None, None)
    bounds = [(0, 0) if zero else free for zero in empty.flat]
    bounds += [(0, None)] * (len(cost) - empty.size)
    if tables.known is not None:
        sums, counts = tables.known.equations(tuple(range(len(tables.sizes))))
        # Further variables are in no sum.
        sums.resize(sums.shape[0], len(cost))
        equal = sums if equal is None else scipy.sparse.vstack([equal, sums])
        right = np.append([] if right is None else right, counts)
    optimize: Any = scipy.optimize  # its types do not know sparse matrices
    found = optimize.linprog(
        cost,
        A_ub=below,
        b_ub=bound,
        A_eq=equal,
        b_eq=right,
        bounds=bounds,
        method="highs",
    )
    if found.x is None:
        raise ValueError(
            f"the linear programme must be solved, but it was not ({found.message}); use "
            "ResidualConsistency"
        )
    return np.asarray(found.x[: empty.size], np.float64)


def _tables(tables: Tables, array: Floats) -> Tables:
    """The marginals of a flattened array on the views."""
    whole = array.reshape(tables.sizes)
    axes = range(len(tables.sizes))
    values = []
    for view in tables.views:
        dropped = tuple(axis for axis in axes if axis not in view)
        values.append(whole.sum(axis=dropped))
    return tables.with_values(values)
