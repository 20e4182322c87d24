"""The compiled loops of `JointProjection` and `Ripple`; `nonnegativity` has the same in numpy.

The cells of all views stand in one vector. Views are independent of each other in two of the three
parts of a step, and coefficients in the other, so that any division among threads gives the same
numbers.
"""

from typing import Any

import numpy as np

from ..compiled import compiled, means, sums
from ..types import Floats


@compiled
def analyse(
    start: int,
    stop: int,
    views: Any,
    goal: Any,
    rho: float,
    positive: Floats,
    dual: Floats,
    coefficients: Floats,
) -> None:
    """The coefficients of positive - dual, for the views from `start` up to `stop`, drawn to their
    goals.

    Those that other views hold, too, have no pull, and are only divided by the number of cells.
    """
    bounds, axes, sizes, binary, widest = views
    pull, pulled = goal
    spare = np.empty(widest)
    for view in range(start, stop):
        low = bounds[view]
        high = bounds[view + 1]
        own = coefficients[low:high]
        for cell in range(own.size):
            own[cell] = positive[low + cell] - dual[low + cell]
        means(own, spare[: own.size], sizes[axes[view] : axes[view + 1]], binary[view])
        scale = rho / own.size
        for cell in range(own.size):
            own[cell] = (pulled[low + cell] + scale * own[cell]) / (pull[low + cell] + rho)


@compiled
def agree(start: int, stop: int, shared: Any, goal: Any, rho: float, coefficients: Floats) -> None:
    """Replace coefficients that several views hold, from the one at `start` up to `stop`, by what
    they agree on."""
    bounds, places, into, out = shared
    pull, held = goal
    for number in range(start, stop):
        value = held[number]
        if not np.isinf(pull[number]):  # for the total it is
            total = 0.0
            for entry in range(bounds[number], bounds[number + 1]):
                total += into[entry] * coefficients[places[entry]]
            value = (value * pull[number] + rho * total) / (pull[number] + rho)
        for entry in range(bounds[number], bounds[number + 1]):
            coefficients[places[entry]] = value * out[entry]


@compiled
def clip(
    start: int, stop: int, views: Any, deviation: Floats, relaxation: float, empty: Any, cells: Floats,
    positive: Floats, dual: Floats, worst: Floats,
) -> None:  # fmt: skip
    """Turn coefficients into cells, in place, and update the non-negative copy and the multipliers.

    `empty` tells which cells must be zero, or has no entries. Leaves each view's largest distance
    between the two copies, and largest change, in `worst`.
    """
    bounds, axes, sizes, binary, widest = views
    spare = np.empty(widest)
    some_empty = empty.size > 0
    for view in range(start, stop):
        low = bounds[view]
        high = bounds[view + 1]
        own = cells[low:high]
        sums(own, spare[: own.size], sizes[axes[view] : axes[view + 1]], binary[view])
        primal = 0.0
        change = 0.0
        for cell in range(own.size):
            before = positive[low + cell]
            relaxed = relaxation * own[cell] + (1 - relaxation) * before + dual[low + cell]
            after = max(relaxed, 0.0)
            if some_empty and empty[low + cell]:
                after = 0.0
            positive[low + cell] = after
            dual[low + cell] = relaxed - after
            primal = max(primal, abs(own[cell] - after) / deviation[view])
            change = max(change, abs(after - before) / deviation[view])
        worst[view, 0] = primal
        worst[view, 1] = change
