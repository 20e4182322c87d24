"""Consistency by linear programming: `AbsoluteConsistency` and `MaximumConsistency`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..projection import projection
from ..types import Floats
from .tables import Tables

MOST_CELLS = 1 << 14
"""The most cells of the whole array for which the linear programmes here are made."""


@dataclass(frozen=True, kw_only=True)
class AbsoluteConsistency:
    """The consistent tables whose cells differ least in sum from the given ones, in units of their
    deviations.

    Ding et al., SIGMOD 2011, section 5 (the L1 norm). Consistent tables are the marginals of one
    array, which may be negative: it is what the linear programme looks for. Cells that must be zero
    are, and it has a known total. There can be many solutions.
    """

    def __call__(self, tables: Tables) -> Tables:
        """ValueError when the array has more than `MOST_CELLS` cells, or the programme cannot be
        solved."""
        rows, targets = _scaled(tables)
        count, cells = rows.shape
        excess = sparse.identity(count)
        cost = np.concatenate([np.zeros(cells), np.ones(2 * count)])
        equal = sparse.hstack([rows, excess, -excess])
        return _tables(tables, _solve(tables, cost, equal=equal, right=targets))


@dataclass(frozen=True, kw_only=True)
class MaximumConsistency:
    """The consistent tables whose largest difference of a cell from the given ones is least, in
    units of deviations.

    Ding et al., SIGMOD 2011, section 5 (the max norm). See `AbsoluteConsistency`.
    """

    def __call__(self, tables: Tables) -> Tables:
        """ValueError when the array has more than `MOST_CELLS` cells, or the programme cannot be
        solved."""
        rows, targets = _scaled(tables)
        count, cells = rows.shape
        column = sparse.csr_array(-np.ones((count, 1)))
        cost = np.append(np.zeros(cells), 1.0)
        below = sparse.vstack([sparse.hstack([rows, column]), sparse.hstack([-rows, column])])
        return _tables(
            tables, _solve(tables, cost, below=below, bound=np.concatenate([targets, -targets]))
        )


def _scaled(tables: Tables) -> tuple[Any, Floats]:
    """The matrix from the array's cells to those of all tables, and these, each over its deviation."""
    cells = int(np.prod(tables.sizes, dtype=object))
    if cells > MOST_CELLS:
        raise ValueError(
            f"the array has {cells} cells; linear programmes are made for at most {MOST_CELLS}"
        )
    scales = [variance**-0.5 for variance in tables.variances]
    rows = [
        scale * projection(tables.sizes, view)
        for scale, view in zip(scales, tables.views, strict=True)
    ]
    targets = [scale * value.ravel() for scale, value in zip(scales, tables.values, strict=True)]
    return sparse.vstack(rows).tocsr(), np.concatenate(targets)


def _solve(
    tables: Tables,
    cost: Floats,
    *,
    equal: Any = None,
    right: Any = None,
    below: Any = None,
    bound: Any = None,
) -> Floats:
    """The array's cells, of any sign, that together with further variables >= 0 are cheapest."""
    axes = tuple(range(len(tables.sizes)))
    empty = np.zeros(tables.sizes, np.bool_) if tables.zeros is None else tables.zeros.cells(axes)
    bounds: list[tuple[float | None, float | None]] = [
        (0, 0) if zero else (None, None) for zero in empty.flat
    ]
    bounds += [(0, None)] * (len(cost) - empty.size)
    if tables.known_total is not None:
        whole = sparse.csr_array((np.arange(len(cost)) < empty.size).astype(np.float64)[None, :])
        equal = whole if equal is None else sparse.vstack([equal, whole])
        right = np.append([] if right is None else right, tables.known_total)
    import scipy.optimize

    optimize: Any = scipy.optimize  # its types do not know sparse matrices
    found = optimize.linprog(
        cost, A_ub=below, b_ub=bound, A_eq=equal, b_eq=right, bounds=bounds, method="highs"
    )
    if found.x is None:
        raise ValueError(f"the linear programme was not solved ({found.message})")
    return np.asarray(found.x[: empty.size], np.float64)


def _tables(tables: Tables, array: Floats) -> Tables:
    whole = array.reshape(tables.sizes)
    axes = range(len(tables.sizes))
    return tables.with_values(
        [whole.sum(axis=tuple(a for a in axes if a not in view)) for view in tables.views]
    )
