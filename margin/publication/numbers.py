"""The columns of numbers of a published table."""

import numpy as np

from ..domain.bounds import whole_bounds
from ..domain.marginal import Marginal

__all__ = ["LEVEL", "NUMBERS", "farthest_bound", "whole_numbers"]

NUMBERS = ("count", "low", "high")
"""The columns of numbers, which follow those of the attributes."""

LEVEL = 0.95
"""The probability that low and high contain the true count."""


def whole_numbers(table: Marginal) -> dict[str, list[int | None]]:
    """The columns of numbers by name, cell by cell; None where a bound is not known.

    Bounds are rounded outwards; see `whole_bounds`.
    """
    low, high = whole_bounds(*table.interval(LEVEL))
    columns = {"count": table.counts, "low": low, "high": high}
    return {
        name: [None if np.isnan(number) else int(number) for number in values.flat]
        for name, values in columns.items()
    }


def farthest_bound(table: Marginal) -> int | None:
    """The largest distance of a bound from its count; None if no bound is known."""
    columns = whole_numbers(table)
    distances = [
        max(high - count, count - low)
        for count, low, high in zip(*(columns[name] for name in NUMBERS), strict=True)
        if count is not None and low is not None and high is not None
    ]
    return max(distances, default=None)
