"""The columns of numbers of a published table."""

import numpy as np

from ..domain.marginal import Marginal

__all__ = ["LEVEL", "NUMBERS", "whole_numbers"]

NUMBERS = ("count", "low", "high")
"""The columns of numbers, which follow those of the attributes."""

LEVEL = 0.95
"""The probability that low and high contain the true count."""


def whole_numbers(table: Marginal) -> dict[str, list[int | None]]:
    """The columns of numbers by name, cell by cell; None where a bound is not known.

    The true count is a whole number, so the bounds are rounded to the whole numbers between them.
    """
    low, high = table.interval(LEVEL)
    columns = {"count": table.counts, "low": np.ceil(low), "high": np.floor(high)}
    return {
        name: [None if np.isnan(number) else int(number) for number in values.flat]
        for name, values in columns.items()
    }
