"""Moments of marginals that consistent tables determine, for many marginals at a time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..basis import transform
from ..limits import QUERY_ENTRIES_AT_ONCE, TABLE_CELLS
from ..types import Floats, Integers
from .tables import Axes, Tables

__all__ = ["KnownMoments", "known_moments", "require_small"]


def require_small(shape: tuple[int, ...]) -> None:
    """Raise ValueError if a table is too large to be reconstructed, before memory is allocated."""
    cells = math.prod(shape)
    if cells > TABLE_CELLS:
        raise ValueError(
            f"a table must have at most {TABLE_CELLS} cells to be reconstructed, but this one has "
            f"{cells}; ask for fewer attributes"
        )


@dataclass(
    frozen=True,
    kw_only=True,
)
class KnownMoments:
    """The known moments of n marginals of one shape; in flat arrays, marginal after marginal.

    Attributes
    ----------
    shape
        The sizes of the axes of every marginal.
    counts
        The number of known coefficients of each marginal, shape (n,).
    index, target, variance
        The positions of these coefficients, their moments and error variances, shape (m,).
    total_variance
        The error variance of each marginal's total, shape (n,).
    zeros
        Whether each cell must be zero, shape (n, cells); None if no cell must.
    """

    shape: tuple[int, ...]
    counts: Integers
    index: Integers
    target: Floats
    variance: Floats
    total_variance: Floats
    zeros: NDArray[np.bool_] | None


def known_moments(tables: Tables, axes: Sequence[Axes] | Integers) -> KnownMoments:
    """Read from tables those moments of some marginals that a view determines.

    Parameters
    ----------
    tables
        Consistent tables of positive total.
    axes
        The axes of each marginal, ascending, shape (n, k).

    Raises
    ------
    ValueError
        If the axes are not of that form, the marginals differ in shape or are too large, or the
        total is not positive.
    """
    if not tables.total > 0:
        raise ValueError(
            f"the total of the tables ({tables.total}) must be positive; give tables with a larger "
            "sum, or a known total"
        )
    asked = np.asarray(axes, dtype=np.int64)
    shape = _shape(tables, asked)
    require_small(shape)
    # A bounded number of marginals at a time, so that the arrays stay in the cache.
    rows = max(1, QUERY_ENTRIES_AT_ONCE // max(len(tables.views), math.prod(shape)))
    starts = range(0, len(asked), rows)
    parts = [_gather(tables, asked[start : start + rows], shape) for start in starts]
    counts, index, target, variance, total_variance = map(np.concatenate, zip(*parts, strict=True))
    zeros = None if tables.zeros is None else tables.zeros.cells_of_many(asked)
    return KnownMoments(
        shape=shape,
        counts=counts,
        index=index,
        target=target,
        variance=variance,
        total_variance=total_variance,
        zeros=zeros,
    )


def _shape(tables: Tables, asked: Integers) -> tuple[int, ...]:
    """The common shape of marginals; ValueError if their axes are wrong or their shapes differ."""
    if asked.ndim != 2 or not len(asked):
        raise ValueError(
            "axes must have shape (n, k) with n > 0, one marginal of k axes in each row, but they "
            f"have shape {asked.shape}; reshape them"
        )
    count = len(tables.sizes)
    outside = asked.size and (asked.min() < 0 or asked.max() >= count)
    if outside or (np.diff(asked) <= 0).any():
        raise ValueError(
            f"the axes of each marginal must be ascending numbers from 0 to {count - 1}, but one "
            "marginal has others; sort its axes and name each once"
        )
    shapes = np.array(tables.sizes, dtype=np.int64)[asked]
    if (shapes != shapes[0]).any():
        raise ValueError(
            "all marginals of a batch must have the same shape, but their shapes differ; ask for "
            "each shape by itself"
        )
    return tuple(shapes[0].tolist())


def _gather(
    tables: Tables,
    asked: Integers,
    shape: tuple[int, ...],
) -> tuple[Integers, Integers, Floats, Floats, Floats]:
    """Read `counts`, `index`, `target`, `variance` and `total_variance` of `KnownMoments`.

    `asked` are the axes of some marginals of this shape, shape (n, k).
    """
    precision, holder = tables.holders(asked)
    component = transform(shape).component
    known = precision[:, component] > 0
    known[:, 0] = False
    query, index = np.nonzero(known)
    which = component[index]
    # The place of each coefficient in the view that holds it.
    view = holder[query, which]
    place = tables.starts[view]
    for axis, digit in enumerate(np.unravel_index(index, shape)):
        place += digit * tables.strides[view, asked[query, axis]]
    variance = 1 / (precision[query, which] * tables.total**2)
    return known.sum(axis=1), index, tables.all_moments[place], variance, 1 / precision[:, 0]
