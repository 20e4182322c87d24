"""Compiled loops for one iteration of `JointProjection`; `nonnegativity` has the same in numpy.

The cells of all views are in one vector. An iteration has three parts: `analyse`, `agree` and
`clip`. Threads divide the views in the first and last part, and the shared coefficients in the
second. The numbers do not depend on how the work is divided.

numba recognises the types of plain tuples much faster than those of named ones. So the records
are passed as plain tuples in the order of their fields.
"""

from typing import NamedTuple

import numpy as np

from ...compiled import compiled, means, sums
from ...types import Flags, Floats
from ..consistency import Goals, Packed

__all__ = ["State", "agree", "analyse", "clip"]


class State(NamedTuple):
    """The state of ADMM (see `nonnegativity`), in arrays of shape (n,) unless stated.

    `cells` is the consistent copy; between `analyse` and `clip` it holds coefficients. `positive`
    is the non-negative copy, and `dual` are the multipliers. `empty` marks the cells that must be
    zero; it has no entries if there are none. `deviation` is the standard deviation of the cells of
    each view, shape (views,). `worst` receives, for each view, the largest distance between the two
    copies and the largest change, shape (views, 2).
    """

    cells: Floats
    positive: Floats
    dual: Floats
    empty: Flags
    deviation: Floats
    worst: Floats


@compiled
def analyse(
    start: int,
    stop: int,
    views: Packed,
    goals: Goals,
    state: State,
    rho: float,
) -> None:
    """Compute the coefficients of positive - dual, for the views ``range(start, stop)``.

    A coefficient that only one view holds is updated at once: it becomes a weighted mean with its
    observed value. Coefficients that several views hold are updated by `agree`.
    """
    bounds, axes, all_sizes, binary, widest = views
    pull, pulled = goals[:2]
    cells, positive, dual = state[:3]
    spare = np.empty(widest)
    for view in range(start, stop):
        low = bounds[view]
        own = cells[low : bounds[view + 1]]
        sizes = all_sizes[axes[view] : axes[view + 1]]
        for cell in range(own.size):
            own[cell] = positive[low + cell] - dual[low + cell]
        means(own, spare[: own.size], sizes, binary[view])
        scale = rho / own.size
        for cell in range(own.size):
            own[cell] = (pulled[low + cell] + scale * own[cell]) / (pull[low + cell] + rho)


@compiled
def agree(
    start: int,
    stop: int,
    goals: Goals,
    state: State,
    rho: float,
) -> None:
    """Update shared coefficients: average over the views, then with the observed value.

    These are the shared coefficients ``range(start, stop)``; see `Goals`.
    """
    _, _, bounds, places, into, out, weights, observed = goals
    coefficients = state[0]
    for number in range(start, stop):
        low = bounds[number]
        high = bounds[number + 1]
        weight = weights[number]
        value = observed[number]
        if not np.isinf(weight):  # the total has an infinite weight, and stays
            total = 0.0
            for entry in range(low, high):
                total += into[entry] * coefficients[places[entry]]
            value = (value * weight + rho * total) / (weight + rho)
        for entry in range(low, high):
            coefficients[places[entry]] = value * out[entry]


@compiled
def clip(
    start: int,
    stop: int,
    views: Packed,
    state: State,
    relaxation: float,
) -> None:
    """Turn coefficients into cells, in place; then update the non-negative copy and multipliers.

    This is done for the views ``range(start, stop)``.
    """
    bounds, axes, all_sizes, binary, widest = views
    cells, positive, dual, empty, deviations, worst = state
    spare = np.empty(widest)
    some_empty = empty.size > 0
    for view in range(start, stop):
        low = bounds[view]
        own = cells[low : bounds[view + 1]]
        sizes = all_sizes[axes[view] : axes[view + 1]]
        sums(own, spare[: own.size], sizes, binary[view])
        deviation = deviations[view]
        distance = 0.0
        change = 0.0
        for cell in range(own.size):
            before = positive[low + cell]
            # Over-relaxation, then a clip.
            relaxed = relaxation * own[cell] + (1 - relaxation) * before + dual[low + cell]
            after = max(relaxed, 0.0)
            if some_empty and empty[low + cell]:
                after = 0.0
            positive[low + cell] = after
            dual[low + cell] = relaxed - after
            distance = max(distance, abs(own[cell] - after) / deviation)
            change = max(change, abs(after - before) / deviation)
        worst[view, 0] = distance
        worst[view, 1] = change
