"""The shares of components that minimise the largest error variance of the asked queries."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse

from ..._types import Floats
from ...domain.domain import View
from ...solvers.strategy.bounded_weights import bounded_weights
from ..axis_queries import AxisQueries
from ..profiles import Profile, frontier, largest_variance
from .basis import AxisBasis

__all__ = ["least_largest", "profile"]

_TOLERANCE = 1e-3
"""Relative excess of the largest variance over the bound at which the search ends."""

_MOST_ROUNDS = 50
"""Largest number of rounds in which queries are added to the programme."""


def profile(basis: AxisBasis, queries: AxisQueries) -> Profile:
    """The largest pairs of error variances of the queries of an attribute; see `frontier`."""
    covariance, spread = basis.covariance, basis.spread
    if queries.kind == "cells":
        own, total = covariance.diagonal(), spread**2
    elif queries.kind == "levels":
        matrix = queries.matrix
        own, total = ((matrix @ basis.inverse) ** 2).sum(axis=1), (matrix @ spread) ** 2
    else:
        # The covariances of all prefixes, with the empty one first.
        size = queries.size
        prefix = np.zeros((size + 1, size + 1))
        prefix[1:, 1:] = covariance.cumsum(axis=0).cumsum(axis=1)
        sums = np.concatenate([[0.0], spread.cumsum()])
        first, last = np.triu_indices(size + 1, 1)
        if queries.kind == "prefixes":
            first, last = np.zeros(size, np.int64), np.arange(1, size + 1)
        variances = prefix.diagonal()
        own = variances[first] + variances[last] - 2 * prefix[first, last]
        total = (sums[last] - sums[first]) ** 2
    return frontier(own, total)


def least_largest(
    sets: Sequence[View],
    views: Sequence[tuple[View, float]],
    profiles: Mapping[str, Profile],
    steep: Floats,
    *,
    power: int,
) -> Floats:
    """The shares of the components that minimise the largest weighted variance of a query.

    The variance of component S at share p is in proportion to steep_S / p**power. So the problem is
    to minimise the sum of the shares, sum_S (steep_S / v_S) ** (1 / power), over variances v such
    that the variance of each query, which is linear in v, is at most one: a convex problem (see
    `bounded_weights`). Queries are added to it until no other one exceeds the bound by more than
    `_TOLERANCE`.

    Parameters
    ----------
    sets
        The components, as tuples of names in the order of the domain.
    views
        The views with their weights; names in the order of the domain.
    profiles
        See `profile`, for each attribute.
    steep
        See above, shape (sets,).
    power
        1 for zCDP, 2 for pure differential privacy.
    """
    place = {component: number for number, component in enumerate(sets)}
    root = 1 / power
    rows: list[dict[int, float]] = []
    for view, weight in views:
        row = _row(view, weight, (0,) * len(view), profiles, place)
        # A known view has no error.
        rows += [row] if row else []
    for _ in range(_MOST_ROUNDS):
        matrix = _matrix([*rows], len(sets))
        solved = bounded_weights(matrix, steep**root, power=root, tolerance=_TOLERANCE / 2)
        variances = dict(zip(sets, solved.weights.tolist(), strict=True))
        added = 0
        for view, weight in views:
            most, factors = largest_variance(view, variances, profiles)
            if most * weight > 1 + _TOLERANCE:
                rows.append(_row(view, weight, factors, profiles, place))
                added += 1
        if not added:
            break
    return np.asarray((steep / solved.weights) ** root)


def _row(
    view: View,
    weight: float,
    factors: tuple[int, ...],
    profiles: Mapping[str, Profile],
    place: Mapping[View, int],
) -> dict[int, float]:
    """The weighted variance of one query by noise of variance one in each component."""
    row = {}
    for mask in range(1 << len(view)):
        component = tuple(name for bit, name in enumerate(view) if mask >> bit & 1)
        if component in place:
            parts = [
                profiles[name][factor, 0 if name in component else 1]
                for name, factor in zip(view, factors, strict=True)
            ]
            row[place[component]] = weight * float(math.prod(parts))
    return row


def _matrix(rows: Sequence[Mapping[int, float]], columns: int) -> sparse.csr_array:
    """Rows given by their entries, as a sparse matrix."""
    values = [value for row in rows for value in row.values()]
    places = [place for row in rows for place in row]
    numbers = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return sparse.csr_array((values, (numbers, places)), shape=(len(rows), columns))
