"""`gap_to`: how much worse one objective is than another one, for rows and instances alike."""

import math

__all__ = ["SMALLEST", "gap_to"]

SMALLEST = 0.001
"""Objectives smaller than this are compared as if they were as large. Only a best value of zero is
smaller, so that a gap is a share of the best value everywhere else."""

_SIGNS = {"minimise": 1.0, "maximise": -1.0}


def gap_to(sense: str, objective: float, reference: float | None) -> float:
    """How much worse an objective is than a reference, relative to its size, at least 0.001.

    Negative if the objective is better; NaN without a reference. The sense is "minimise" or
    "maximise".

    >>> gap_to("maximise", 90.0, 100.0), gap_to("minimise", 0.001, 0.0)
    (0.1, 1.0)
    >>> gap_to("maximise", 100.0, 100.0)
    0.0
    """
    if reference is None:
        return math.nan
    worse = (objective - reference) * _SIGNS[sense]
    # Adding zero turns the negative zero of an equal objective into a plain one.
    return worse / max(SMALLEST, abs(reference)) + 0.0
