"""What consistent tables know of the moments of marginals: read off, many marginals at a time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..basis import transform
from ..types import Floats, Integers
from .tables import Axes, Tables

__all__ = ["KnownMoments", "known_moments", "require_small"]

_LARGEST = 1 << 24
"""How many cells a table may have."""


def require_small(shape: tuple[int, ...]) -> None:
    """Refuse tables that are too large to reconstruct, before anything of that size is made."""
    if math.prod(shape) > _LARGEST:
        raise ValueError(
            f"a table of {math.prod(shape)} cells is too large; at most {_LARGEST} can be reconstructed: "
            "ask for fewer attributes"
        )


_CHUNK = 1 << 18
"""How many entries the arrays may have that are made for some queries at a time: they then stay in
the cache."""


@dataclass(frozen=True, kw_only=True)
class KnownMoments:
    """What is known of n marginals of one shape, one marginal after another.

    Attributes
    ----------
    shape
        The sizes of the axes of every marginal.
    counts
        How many coefficients each marginal knows, shape (n,).
    index, target, variance
        The positions of these coefficients, their moments and error variances, shape (m,).
    total_variance
        The error variance of each marginal's total, shape (n,).
    zeros
        Which cells must be zero, shape (n, cells); None for no such cell.
    """

    shape: tuple[int, ...]
    counts: Integers
    index: Integers
    target: Floats
    variance: Floats
    total_variance: Floats
    zeros: NDArray[np.bool_] | None


def known_moments(tables: Tables, axes: Sequence[Axes] | Integers) -> KnownMoments:
    """What tables of positive total know of marginals, each on ascending axes: shape (n, k).

    Raises
    ------
    ValueError
        When the axes are not of that form, the marginals differ in shape or are too large, or the
        total is not positive.
    """
    if not tables.total > 0:
        raise ValueError(f"the tables' total ({tables.total}) must be positive")
    asked = np.asarray(axes, dtype=np.int64)
    if asked.ndim != 2 or not len(asked):
        raise ValueError("axes must have shape (n, k), one marginal a row, n > 0")
    if asked.size and (
        asked.min() < 0 or asked.max() >= len(tables.sizes) or (np.diff(asked) <= 0).any()
    ):
        raise ValueError(f"the axes of a marginal must be ascending and below {len(tables.sizes)}")
    shapes = np.array(tables.sizes, dtype=np.int64)[asked]
    if (shapes != shapes[0]).any():
        raise ValueError("all marginals of a batch must have the same shape")
    shape = tuple(shapes[0].tolist())
    require_small(shape)
    # A bounded number of marginals at a time, so that the arrays stay in the cache.
    rows = max(1, _CHUNK // max(len(tables.views), math.prod(shape)))
    parts = [
        _gather(tables, asked[start : start + rows], shape) for start in range(0, len(asked), rows)
    ]
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


def _gather(
    tables: Tables, asked: Integers, shape: tuple[int, ...]
) -> tuple[Integers, Integers, Floats, Floats, Floats]:
    """For some queries of one shape: how many coefficients each knows, which, their moments and
    variances, and the variance of the total."""
    precision, holder = tables.holders(asked)
    component = transform(shape).component
    known = precision[:, component] > 0
    known[:, 0] = False
    query, index = np.nonzero(known)
    which = component[index]
    view = holder[query, which]
    place = tables.starts[view]
    for axis, digit in enumerate(np.unravel_index(np.arange(len(component)), shape)):
        place += digit[index] * tables.strides[view, asked[query, axis]]
    variance = 1 / (precision[query, which] * tables.total**2)
    return known.sum(axis=1), index, tables.all_moments[place], variance, 1 / precision[:, 0]
