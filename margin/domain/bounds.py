"""`half_widths`: how far the bounds of intervals for true counts are from the counts."""

from statistics import NormalDist

import numpy as np

from .._types import Floats
from ..errors import DomainError

__all__ = ["half_widths"]

_AT_ZERO = 0.4
_GROWTH = 0.3
"""The half-width of a reconstructed count of zero, in those of its variance, and its growth by
standard deviations of the count; no unit.

Fitted on: draws 0 and 1 of the families of `experiments/peers/_zoo_tables.py` that fit, released by
`PriView` with the budgets B1 and B3 of the comparison of systems. Of five pairs, this is one of the
two with which most cells of the study `intervals` have a share from .92 to .99; the other, 0.3 and
0.3, has smaller least shares. Command: none.
"""


def half_widths(
    counts: Floats | float,
    noise_variance: Floats | float,
    missed_variance: Floats | float,
    *,
    level: float,
) -> Floats:
    """Half the widths of intervals for true counts, before negative bounds are set to 0.

    It is z s for a normal quantile z and the standard deviation s of the error. True counts are
    not negative, and neither are reconstructed ones. So a reconstructed count c below 2 s has a
    smaller error than its variance says. The half-width is then z (0.4 s + 0.3 c).

    Parameters
    ----------
    counts
        Estimates, in rows.
    noise_variance, missed_variance
        The two parts of the variances of their errors, in squared rows, shaped like `counts`. A
        count with a missed part > 0 is reconstructed, so it is not negative.
    level
        The probability that an interval contains the true count, > 0 and < 1.

    Raises
    ------
    DomainError
        When `level` is not > 0 and < 1.

    Examples
    --------
    >>> half_widths([0.0, 100.0], [75.0, 75.0], [25.0, 25.0], level=0.95).round(1).tolist()
    [7.8, 19.6]
    """
    if not 0 < level < 1:
        raise DomainError(
            f"level ({level}) must be a probability > 0 and < 1, such as 0.95 for 95 %"
        )
    spread = np.sqrt(np.add(noise_variance, missed_variance))
    near_zero = _AT_ZERO * spread + _GROWTH * np.maximum(counts, 0.0)
    spread = np.where(np.greater(missed_variance, 0), np.minimum(spread, near_zero), spread)
    return np.asarray(NormalDist().inv_cdf((1 + level) / 2) * spread)
