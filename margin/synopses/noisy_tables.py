"""Noisy tables of views of a domain, as the solvers take them."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..domain.domain import Domain, View
from ..solvers import Tables

__all__ = ["LEAST_VARIANCE", "tables_of"]

LEAST_VARIANCE = 1e-12
"""Below this, noise is zero with near certainty, and weights by its inverse would overflow."""


def tables_of(
    domain: Domain,
    views: Sequence[View],
    values: Iterable[NDArray[np.float64]],
    variances: Iterable[float],
) -> Tables:
    """Tables of views, their axes turned into the order of the domain, with its rules and its
    number of rows.

    Parameters
    ----------
    domain
        The attributes.
    views
        Views of it.
    values
        Their tables, with axes in the order of each view's names.
    variances
        Of the independent noise in each cell of each.
    """
    axes = [domain.axes(view) for view in views]
    return Tables(
        sizes=domain.sizes,
        views=tuple(tuple(sorted(view)) for view in axes),
        values=tuple(
            value.transpose(np.argsort(view)) for value, view in zip(values, axes, strict=True)
        ),
        variances=tuple(max(float(variance), LEAST_VARIANCE) for variance in variances),
        zeros=domain.zeros,
        known_total=domain.rows,
    )
