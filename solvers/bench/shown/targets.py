"""`time_to_target`: when a solve reached a gap."""

import math

from .summaries import has_gaps
from .times import Row

__all__ = ["time_to_target"]


def time_to_target(row: Row, *, gap: float) -> float:
    """The seconds after which a solve had its first answer with a gap of at most `gap`.

    The seconds and the gaps are those of `primal_integral`: `trace_seconds` and `trace_gaps` of the
    row. They are infinite if no answer within the time limit has such a gap. NaN if no gap is
    known, or if the solver does not tell its answers on the way.

    Parameters
    ----------
    row
        A row of `compare`.
    gap
        The target, at least 0: 0.01 is 1 % above the best known objective of a minimisation.

    Raises
    ------
    ValueError
        If the gap is negative or NaN.

    Examples
    --------
    >>> row = {"best_known": 7.0, "tells": True, "time_limit": 9.0}
    >>> row |= {"trace_seconds": [0.5, 2.0], "trace_gaps": [0.14, 0.0]}
    >>> [time_to_target(row, gap=gap) for gap in (0.2, 0.01)]
    [0.5, 2.0]
    """
    if not gap >= 0:
        raise ValueError(f"gap ({gap}) must be >= 0; name the gap to reach, such as 0.01 for 1 %")
    if not has_gaps(row):
        return math.nan
    told = zip(row["trace_seconds"], row["trace_gaps"], strict=True)
    reached = min((float(seconds) for seconds, at in told if at <= gap), default=math.inf)
    return reached if reached <= float(row["time_limit"]) else math.inf
