"""What private choices among views need: the views, the public answers, and the expected noise."""

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from ..._types import Floats
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...private import Private
from ...private.choose import LARGEST_PENALTY
from ...private.counts import LARGEST_ANSWERS
from ..fitted import SPREAD
from .noise_left import share_left

__all__ = [
    "CONTESTANTS",
    "Rule",
    "break_evens",
    "choose_in_turn",
    "comparable",
    "contestants",
    "l2_share",
    "luck",
    "mean_noise",
    "penalty",
]

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


def break_evens(
    noise: float,
    answers: Sequence[Floats],
) -> list[int]:
    """The L1 distance from each public answer at which a measurement begins to reduce the error.

    A measurement replaces the squared distance by the squared noise that is left when negative
    counts are removed. The two are compared by `l2_share`.

    Parameters
    ----------
    noise
        The mean absolute noise of a count of the measurement, in rows.
    answers
        The public answers, in rows.
    """
    variance = math.pi / 2 * noise**2
    cells = np.array([answer.size for answer in answers])
    rows = np.array([max(1.0, float(answer.sum())) for answer in answers])
    left = share_left(cells, np.full(len(cells), variance), rows, SPREAD)
    distances = np.sqrt(cells * variance * left) / [l2_share(answer) for answer in answers]
    return [min(math.ceil(distance), LARGEST_PENALTY) for distance in distances.tolist()]


def l2_share(answer: Floats) -> float:
    """The L2 distance of a table from a public answer, for an L1 distance of one.

    Errors are taken to grow with the count p of a cell as p**(3/4), between the root of a count and
    the count itself. Then it is sqrt(sum p**1.5) / sum p**0.75.
    """
    counts = np.maximum(answer, 1e-9 * max(1.0, float(answer.sum())))
    return float(np.sqrt((counts**1.5).sum()) / (counts**0.75).sum())


def penalty(noise: float, cells: float) -> int:
    """The expected L1 distance that noise of a mean absolute size causes in a table, in rows."""
    return min(math.ceil(noise * cells), LARGEST_PENALTY)


class Rule(Protocol):
    """Which views may be chosen beside the ones that were chosen before."""

    def take(self, view: View) -> bool:
        """Add a view; False if it may not be added, and nothing has changed."""

    def allows(self, view: View) -> bool:
        """Whether a view may still be chosen."""


def choose_in_turn(
    private: Private,
    views: Sequence[View],
    answers: Sequence[Floats],
    least: Sequence[int],
    noise: Sequence[int],
    *,
    rule: Rule,
    most: int,
    each: Fraction,
    by_luck: bool,
) -> tuple[list[View], int]:
    """Choose views one after another, each by the exponential mechanism.

    The score of a view is the L1 distance of its true table from its public answer, minus what
    noise is expected to add to it, minus the distance from which on a measurement pays. One more
    candidate, of weight and score zero, ends the choice.

    Parameters
    ----------
    least
        For each view the distance from which on its measurement pays (`break_evens`), in rows.
    noise
        For each view the distance that noise of its answer is expected to cause, in rows.
    most
        The largest number of choices.
    each
        The share of the whole budget for each choice.
    by_luck
        Whether views without a gain may win by luck, as one of many. Otherwise the candidate that
        ends the choice has the weight that all views would have together if no answer were wrong.

    Returns
    -------
    The chosen views, and the number of choices that were made.
    """
    chosen: list[View] = []
    left = list(range(len(views)))
    choices = 0
    contest = private.contest(views, answers)
    while left and choices < most:
        candidates = [*left, left[0]]
        lucky = 0
        if not by_luck:
            lucky = luck(private.budget, each, [least[number] for number in left])
        penalties = [least[number] + noise[number] + lucky for number in candidates]
        (place,) = private.select(
            contest.only(candidates),
            weights=[1] * len(left) + [0],
            penalties=[min(penalty, LARGEST_PENALTY) for penalty in penalties],
            spend=each,
        )
        choices += 1
        if place == len(left):
            break
        view = views[left.pop(place)]
        if rule.take(view):
            chosen.append(view)
        left = [number for number in left if rule.allows(views[number])]
    return chosen, choices


def luck(
    budget: Budget,
    each: Fraction,
    least: Sequence[int],
) -> int:
    """The score above which a choice among views is more than luck, in rows; at least 0.

    The exponential mechanism gives a score s the weight exp(r s). A view whose answer is right has
    the score -b, where b is the distance from which on its measurement pays. All of them together
    weigh sum exp(-r b). The result l has the weight exp(r l) = 1 + sum exp(-r b).

    Parameters
    ----------
    each
        The share of the whole budget for the choice.
    least
        For each view the distance b, in rows.
    """
    charge = max(1, math.floor(each * budget.units))
    rate = float(budget.selection(charge, spread=2 * budget.rows).rate)
    together = float(np.exp(-rate * np.array(least)).sum())
    return min(math.ceil(math.log1p(together) / rate), LARGEST_PENALTY)
