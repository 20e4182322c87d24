"""What private choices among views need: the views, the public answers, and the expected noise."""

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from ..._types import Floats
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...private.choose import LARGEST_PENALTY
from ...private.counts import LARGEST_ANSWERS

__all__ = ["CONTESTANTS", "comparable", "contestants", "mean_noise", "penalty"]

CONTESTANTS = 1_500
"""Largest number of views that compete in a choice."""


def contestants(
    domain: Domain,
    workload: Workload,
    max_cells: int,
    rows: float,
    lengths: tuple[int, ...],
) -> list[View]:
    """Subsets of the workload's views, with one of the given numbers of attributes.

    They have at most `max_cells` cells each, and are not known. If there are too many for a table
    of about `rows` rows, every n-th is taken.
    """
    # The absolute public answers of all of them must stay below LARGEST_ANSWERS.
    most = min(CONTESTANTS, math.floor(LARGEST_ANSWERS / (2 * rows)))
    if most < 1:
        return []
    step = max(1, len(workload) // CONTESTANTS)
    found: dict[View, None] = {}
    for view in workload.views[::step]:
        varying = (name for name in view if domain[name].size > 1)
        names = sorted(varying, key=domain.position.__getitem__)
        for length in lengths:
            found.update(dict.fromkeys(itertools.combinations(names, length)))
    small = [view for view in found if domain.cells(view) <= max_cells and not domain.knows(view)]
    every = max(1, math.ceil(len(small) / most))
    return small[::every]


def comparable(answers: Iterable[Floats]) -> list[Floats]:
    """Public answers, scaled down if their sum is larger than `Private.select` accepts."""
    counts = list(answers)
    size = sum(float(np.abs(answer).sum()) for answer in counts)
    factor = min(1.0, LARGEST_ANSWERS / (2 * size + 1))
    return [answer * factor for answer in counts]


def mean_noise(budget: Budget, share: Fraction) -> float:
    """The mean absolute noise of a count that is measured with a share of the budget, in rows."""
    charge = max(1, math.floor(share * budget.units))
    return math.sqrt(2 / math.pi * budget.count_noise(charge).variance)


def penalty(noise: float, cells: int) -> int:
    """The expected L1 distance that noise of a mean absolute size causes in a table, in rows."""
    return min(math.ceil(noise * cells), LARGEST_PENALTY)
