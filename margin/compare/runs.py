"""Means over the runs of a comparison, and whether two of them differ. A number that is not known
is NaN, and is left out."""

import math
from collections.abc import Sequence

import numpy as np

from .._types import Floats

__all__ = [
    "LEVEL",
    "are_equal",
    "differ",
    "known_mean",
    "known_numbers",
    "standard_error",
    "weighted_mean",
]

LEVEL = 0.95
"""Two means are clearly different if a paired t-test at this level says so."""

_ROUNDING = 1e-9
"""Largest relative difference between two numbers that are called the same."""


def known_numbers(numbers: Sequence[float] | Floats) -> Floats:
    """The numbers that are not NaN."""
    array = np.asarray(numbers, dtype=np.float64)
    return array[~np.isnan(array)]


def known_mean(numbers: Sequence[float] | Floats) -> float:
    """The mean of the numbers that are not NaN. NaN if there are none."""
    known = known_numbers(numbers)
    return float(known.mean()) if len(known) else math.nan


def weighted_mean(numbers: Floats, weights: Floats) -> float:
    """The weighted mean of the numbers that are not NaN. NaN if there are none."""
    known = ~np.isnan(numbers)
    return float(np.average(numbers[known], weights=weights[known])) if known.any() else math.nan


def standard_error(run_means: Sequence[float] | Floats) -> float:
    """The standard error of the mean of the runs that have a number. NaN for fewer than two."""
    known = known_numbers(run_means)
    if len(known) < 2:
        return math.nan
    return float(np.std(known, ddof=1)) / math.sqrt(len(known))


def are_equal(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether the numbers of two mechanisms are the same, up to rounding."""
    if len(first) != len(second):
        return False
    return np.allclose(first, second, rtol=_ROUNDING, atol=0.0, equal_nan=True)


def differ(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether the means of two mechanisms over the same runs differ clearly, by a paired t-test.

    Runs of two mechanisms with the same seed take their noise from the same stream of random bytes,
    so that their errors may be correlated. The differences between these runs are independent of
    each other in any case, because each run has another seed. They have ``runs - 1`` degrees of
    freedom, so with few runs a mean difference must be many of its standard errors.

    Parameters
    ----------
    first, second
        The mean error of each run, shape (runs,), without NaN.

    Examples
    --------
    >>> differ([1.0, 1.2, 1.1], [2.0, 2.1, 2.2]), differ([1.0, 2.0], [4.0, 6.0])
    (True, False)
    """
    # Imported here, because it takes a while.
    from scipy.special import stdtrit

    differences = np.subtract(first, second)
    gap = abs(float(differences.mean()))
    quantile = stdtrit(len(differences) - 1, (1 + LEVEL) / 2)
    return bool(gap > quantile * standard_error(differences))
