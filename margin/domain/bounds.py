"""`half_widths`: how far the bounds of intervals for true counts are from the counts."""

import math
from statistics import NormalDist

import numpy as np

from .._types import Floats
from ..errors import DomainError

__all__ = ["LAPLACE_KURTOSIS", "half_widths", "quantiles"]

LAPLACE_KURTOSIS = 3.0
"""The excess kurtosis of the Laplace law, from which discrete Laplace noise differs by whole
numbers only."""


_NOISE_AT_ZERO = 0.25
_MISSED_AT_ZERO = 4.0
_LEAST_MISSED_AT_ZERO = 0.4
_GROWTH = 0.1
_GROWTH_OF_MISSED = 0.2
"""The half-width of a reconstructed count near zero, before it is multiplied by the quantile.

Factors of the standard deviation of the noise part; of that of the missed part, where it is far
smaller than the noise and where it is far larger; the growth of the half-width by the count; and
how much faster it grows if all of the variance is missed. No unit.

Fitted on: the families that fit of `experiments/peers/_zoo_tables.py`, released with the four
budgets of the comparison of systems by `PriView` (one draw of each, three seeds) and, for two of
them, by `Auto` and `Adaptive` (one seed). Chosen among 234 combinations, after about ten earlier
rules, by the number of cells of the study `intervals` with a share from .92 to .99, among
reconstructed marginals. The last number was raised because of one release of MSNBC, where .875 of
the true counts were inside without it: so MSNBC does not judge this rule. Command: none.
"""


_HALF_ROW = 0.5
"""Half the distance of whole numbers, in rows."""


def half_widths(
    counts: Floats | float,
    noise_variance: Floats | float,
    missed_variance: Floats | float,
    *,
    level: float,
    kurtosis: Floats | float = 0.0,
) -> Floats:
    """Half the widths of intervals for true counts, before negative bounds are set to 0.

    It is q s for the standard deviation s of the error and a quantile q of its law; see
    `quantiles`. Draws of Laplace noise are whole numbers, which the quantile of a continuous law
    does not allow for. So with a kurtosis > 0 the half-width is half a row more, but at most twice
    as much.

    True counts are not negative, and neither are reconstructed ones. So the noise of a
    reconstructed count c near zero causes a smaller error than its variance N says. The missed part
    of the error is larger there than its variance M says if M is small, and smaller if M is large.
    The half-width is at most

        z (sqrt(0.25^2 N + min(4^2 M, N + 0.4^2 M)) + (0.1 + 0.2 M / s^2) c).

    Parameters
    ----------
    counts
        Estimates, in rows.
    noise_variance, missed_variance
        The two parts of the variances of their errors, in squared rows, shaped like `counts`. A
        count with a missed part > 0 is reconstructed, so it is not negative.
    level
        The probability that an interval contains the true count, > 0 and < 1.
    kurtosis
        The excess kurtosis of the noise, a number or shaped like `counts`: > 0 for sums of Laplace
        draws, 0 for Gaussian noise and where it is not known.

    Raises
    ------
    DomainError
        When `level` is not > 0 and < 1.

    Examples
    --------
    >>> half_widths([0.0, 100.0], [99.0, 99.0], [1.0, 1.0], level=0.95).round(1).tolist()
    [9.2, 19.6]
    >>> half_widths(100.0, 100.0, 0.0, level=0.95, kurtosis=3.0).round(1).tolist()
    21.7
    """
    quantile = quantiles(level, kurtosis)
    variance = np.asarray(np.add(noise_variance, missed_variance))
    spread = np.sqrt(variance)
    share = np.divide(missed_variance, variance, out=np.zeros(variance.shape), where=variance > 0)
    # Near zero, the removal of negative counts reduces the noise. What is missed stays, and where
    # it is small, it is more than its variance says.
    noise = _NOISE_AT_ZERO**2 * np.asarray(noise_variance)
    missed = np.minimum(
        _MISSED_AT_ZERO**2 * np.asarray(missed_variance),
        noise_variance + _LEAST_MISSED_AT_ZERO**2 * np.asarray(missed_variance),
    )
    growth = _GROWTH + _GROWTH_OF_MISSED * share
    near_zero = np.sqrt(noise + missed) + growth * np.maximum(counts, 0.0)
    spread = np.where(np.greater(missed_variance, 0), np.minimum(spread, near_zero), spread)
    half = np.asarray(quantile * spread)
    return half + np.where(np.greater(kurtosis, 0), np.minimum(half, _HALF_ROW), 0.0)


def quantiles(level: float, kurtosis: Floats | float) -> Floats:
    """The numbers of standard deviations that an error exceeds with a probability of 1 - level.

    They are -log(1 - level) / sqrt(2) for the Laplace law, of excess kurtosis 3, and a normal
    quantile for 0. The sum of m equal Laplace draws has excess kurtosis 3 / m. Between the two, the
    result is off from the quantile of this sum by at most 0.04 for levels from 0.5 to 0.999. Other
    sums of draws are taken as the sum of equal draws that has their variance and kurtosis.

    Parameters
    ----------
    level
        The probability that the error is within the quantile, > 0 and < 1.
    kurtosis
        The excess kurtosis of the error, >= 0 and <= 3.

    Raises
    ------
    DomainError
        When `level` is not > 0 and < 1.
    """
    if not 0 < level < 1:
        raise DomainError(
            f"level ({level}) must be a probability > 0 and < 1, such as 0.95 for 95 %"
        )
    normal = NormalDist().inv_cdf((1 + level) / 2)
    laplace = -math.log1p(-level) / math.sqrt(2)
    # From 0 to 1: fitted to the exact quantiles of sums, which depend on the level only a little.
    share = 8 * np.asarray(kurtosis) / (15 + 3 * np.asarray(kurtosis))
    return np.asarray(normal + (laplace - normal) * share)
