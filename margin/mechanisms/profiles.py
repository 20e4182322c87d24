"""The largest error variance of the queries of a table, each a product of one query for each
attribute."""

from collections.abc import Mapping

import numpy as np

from .._types import Floats
from ..domain.domain import View

__all__ = ["Profile", "frontier", "largest_variance"]

_MOST_PROFILE = 48
"""Largest number of queries of one attribute that are told apart."""

Profile = Floats
"""For some queries on one attribute the error variances by noise of variance one in its component,
and in the total, shape (queries, 2)."""


def frontier(own: Floats, total: Floats) -> Profile:
    """The pairs of error variances, by the component and by the total, that no other pair exceeds
    in both.

    If there are more than `_MOST_PROFILE`, neighbours are replaced by their larger variances: upper
    bounds.
    """
    # From the largest variance by the component down, only a larger one by the total is new.
    order = np.lexsort((-total, -own))
    rising = np.maximum.accumulate(total[order])
    is_new = np.concatenate([[True], rising[1:] > rising[:-1]])
    found = np.stack([own[order][is_new], total[order][is_new]], axis=1)
    if len(found) <= _MOST_PROFILE:
        return found
    # Variances by the component fall and those by the total rise along the list.
    bounds = np.arange(_MOST_PROFILE + 1) * len(found) // _MOST_PROFILE
    return np.stack([found[bounds[:-1], 0], found[bounds[1:] - 1, 1]], axis=1)


def largest_variance(
    view: View,
    variances: Mapping[View, float],
    profiles: Mapping[str, Profile],
) -> tuple[float, tuple[int, ...]]:
    """The largest error variance of the queries of a view, and the place of its factors.

    A query is a product of one query for each attribute. Its variance is the sum over the
    components S of their variance times the products of the variances by the components of
    the attributes in S and by the total of the others.
    """
    total = np.zeros([len(profiles[name]) for name in view])
    for mask in range(1 << len(view)):
        component = tuple(name for bit, name in enumerate(view) if mask >> bit & 1)
        if component not in variances:
            continue
        part = np.full((), variances[component])
        for name in view:
            part = np.multiply.outer(part, profiles[name][:, 0 if name in component else 1])
        total += part
    places = np.unravel_index(int(total.argmax()), total.shape)
    return float(total.max()), tuple(int(place) for place in places)
