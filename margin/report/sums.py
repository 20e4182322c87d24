"""`sum_errors`: what a page needs to compute the errors of sums of measured counts."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..synopses import ViewSynopsis
from ..synopses.synopsis import Synopsis

__all__ = ["sum_errors"]


def sum_errors(
    synopsis: Synopsis,
    shown: Iterable[Iterable[int]] | None,
) -> dict[str, Any] | None:
    """Convert the errors of a synopsis whose attributes were measured in bases of their own to JSON
    values; None for any other synopsis.

    The number of rows with chosen categories of some attributes is a sum whose weights are products
    over the attributes. So its variance is a sum of products; see `ComponentErrors`. The page needs
    the variance of each component for it, and the matrix of each attribute with a basis of its own:
    a few numbers for all sums of a table. Other views need their precisions only.

    Parameters
    ----------
    synopsis
        The release.
    shown
        The axes of each table that a reader can choose, without levels; None for any table. Only
        their components are kept.
    """
    if not isinstance(synopsis, ViewSynopsis) or synopsis.noise is None:
        return None
    noise = synopsis.noise
    tables = None if shown is None else [frozenset(axes) for axes in shown]
    variances = [
        [list(component), variance]
        for component, variance in noise.variances.items()
        if tables is None or any(axes.issuperset(component) for axes in tables)
    ]
    inverses = {
        axis: np.asarray(inverse, np.float64).tolist() for axis, inverse in noise.inverses.items()
    }
    return {
        "inverses": inverses,
        "variances": variances,
        "is_laplace": synopsis.kurtosis > 0,
    }
