"""Answers that are cut at a threshold, and comparisons with a noisy threshold: what they cost, and
their law.

As in the rest of the audit, nothing here asks the code that is audited.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._types import Floats
from ..privacy.budget import ApproxDP, Budget
from ..privacy.event import Event
from .violation import Violation

__all__ = ["check_cuts", "law_of_first", "least_delta_of_cut"]

_TOLERANCE = 1 + 1e-9
_REACH = 45  # scales of the noise in the threshold that are summed over


def check_cuts(events: Sequence[Event], budget: Budget) -> None:
    """Raise a Violation if the thresholds or the noise of `frequent_items` are too small for the
    budget."""
    cuts = [event for event in events if event.method == "frequent_items"]
    if not cuts:
        return
    if not isinstance(budget, ApproxDP) or len(events) > 1:
        raise Violation("frequent_items: needs a delta, and nothing may be answered beside it")
    (event,) = cuts
    if least_delta_of_cut(event, budget) > float(budget.delta) * _TOLERANCE:
        raise Violation("frequent_items: the threshold is too low for delta")
    if float(event.l1) > float(budget.epsilon) * float(_scale(event)) * _TOLERANCE:
        raise Violation("frequent_items: has less noise than epsilon pays for")
    # An item of least - 1 + j rows that loses j of them stays away for certain afterwards. Its
    # noise must make that about as likely before.
    for moved in range(1, budget.rows_per_person + 1):
        stays = 1 - _reaches(event, moved)
        if stays * _TOLERANCE < math.exp(-moved / float(_scale(event))):
            raise Violation("frequent_items: the threshold is too low for items that become rare")


def least_delta_of_cut(event: Event, budget: Budget) -> float:
    """A lower bound on the delta of `frequent_items`.

    The rows of a person bring `person * most // j` items from least - 1 to least - 1 + j rows, for
    the worst j. None of them can be published before, and each may be afterwards.
    """
    person = budget.rows_per_person
    most = int(event.about[1])  # type: ignore[call-overload]
    chances = []
    for moved in range(1, person + 1):
        number = person * most // moved
        chances.append(-math.expm1(number * math.log1p(-_reaches(event, moved))))
    return max(chances)


def _reaches(event: Event, moved: int) -> float:
    """P(least - 1 + moved + X >= threshold), by the definition of the noise X."""
    rule: Any = event.about[3]
    rate = 1 / float(_scale(event))
    distance = rule.threshold - rule.least + 1 - moved
    if distance >= 0:
        return math.exp(-rate * distance) / (1 + math.exp(-rate))
    return 1 - math.exp(rate * (distance - 1)) / (1 + math.exp(-rate))


def _scale(event: Event) -> Any:
    return event.sampler.scale  # type: ignore[union-attr]


def law_of_first(events: Sequence[Event], true: Sequence[Any]) -> Floats:
    """The probability of each answer of `above_threshold`: each place, and at the end "none".

    Given the noisy threshold, the comparisons are independent. So this is a sum over all values of
    the noise in the threshold.
    """
    first, second = (float(_scale(event)) for event in events)
    return _law_of_first(first, second, int(np.ravel(true[0])[0]), tuple(np.ravel(true[1])))


@lru_cache(maxsize=64)
def _law_of_first(
    first: float,
    second: float,
    level: int,
    found: tuple[int, ...],
) -> Floats:
    """The same for two scales, a threshold, and scores."""
    scores = np.array(found, np.float64)
    reach = int(_REACH * first) + 5
    noise = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-np.abs(noise) / first)
    weights /= weights.sum()
    # P(score + Y < level + z), for each score and each z.
    base = math.exp(-1 / second)
    distance = level + noise[None] - scores[:, None] - 1
    tails = np.exp(-np.where(distance >= 0, distance + 1, -distance) / second) / (1 + base)
    below = np.where(distance >= 0, 1 - tails, tails)
    before = np.cumprod(np.vstack([np.ones(noise.size), below]), axis=0)
    above = np.vstack([1 - below, np.ones(noise.size)])
    return np.asarray((before * above) @ weights, np.float64)
