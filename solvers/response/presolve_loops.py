"""The compiled loop of `presolve.fix`, see there for the rule. numba is needed, so this is imported
only when used."""

from typing import Any

import numpy as np

from ..compiled import compiled_in_order as compiled
from ..types import Integers
from .loops import Layout, Small


@compiled
def _score(
    sign: int, term: int, literals: Any, weight: Integers, parity: Any, fixed: Integers, slots: Integers, left: Small,
    unit: Integers, favour: Integers, against: Integers, degree: Small, queue: Any,
) -> None:  # fmt: skip
    """Add (sign 1) or take away (-1) what a term says of each of its free attributes, and mark
    these for a look.

    unit, favour and against are U, f and g of `presolve`, by class; slots[a] is where the classes
    of a begin.
    """
    offsets, attributes, values, negations = literals
    marked, waiting, ends = queue
    size = weight[term]
    for entry in range(offsets[term], offsets[term + 1]):
        attribute = attributes[entry]
        if fixed[attribute] != -2:
            continue
        slot = slots[attribute] + values[entry]
        degree[attribute] += sign
        if left[term] == 1:
            # A parity of one literal holds where the literal does not.
            unit[slot] += -sign * size if negations[entry] != parity[term] else sign * size
        elif parity[term]:
            favour[slot] += sign * abs(size)
            against[slot] += sign * abs(size)
        elif (size > 0) != negations[entry]:
            favour[slot] += sign * abs(size)
        else:
            against[slot] += sign * abs(size)
        if not marked[attribute]:
            marked[attribute] = True
            waiting[ends[1] % waiting.size] = attribute
            ends[1] += 1


@compiled
def _dominant(
    attribute: int,
    layout: Layout,
    slots: Integers,
    unit: Integers,
    favour: Integers,
    against: Integers,
) -> int:
    """The class that is best whatever the other attributes are, or -1."""
    first = slots[attribute]
    size = layout.sizes[attribute]
    top = -(2**62)
    second = -(2**62)
    at = -1
    for value in range(size):
        score = unit[first + value] + favour[first + value]
        if score > top:
            top, second, at = score, top, value
        elif score > second:
            second = score
    for value in range(size):
        if unit[first + value] - against[first + value] >= (second if value == at else top):
            return value
    return -1


@compiled
def fix_attributes(
    layout: Layout, offsets: Integers, attributes: Integers, values: Integers, negations: Any, weight: Integers,
    alive: Any, fixed: Integers, peeled: Integers,
) -> tuple[int, int]:  # fmt: skip
    """Fix what can be fixed, see `presolve`. Returns what the constant gains, and the number of
    rows of `peeled`.

    `weight` and `alive` (terms) and `fixed` (-2, a class, or -1 for one that stopped to matter) are
    changed; `peeled` gets (parity, attribute) in the order in which they went.
    """
    number = layout.sizes.size
    terms = layout.length.size
    slots = np.zeros(number + 1, np.int64)
    for attribute in range(number):
        slots[attribute + 1] = slots[attribute] + layout.sizes[attribute]
    classes = slots[number]
    unit = np.zeros(classes, np.int64)
    favour = np.zeros(classes, np.int64)
    against = np.zeros(classes, np.int64)
    degree = np.zeros(number, np.int32)
    left = layout.length.copy()
    marked = np.zeros(number, np.bool_)
    waiting = np.empty(max(number, 1), np.int64)
    ends = np.zeros(2, np.int64)
    literals = (offsets, attributes, values, negations)
    queue = (marked, waiting, ends)
    gained = 0
    peels = 0
    for term in range(terms):
        _score(
            1,
            term,
            literals,
            weight,
            layout.parity,
            fixed,
            slots,
            left,
            unit,
            favour,
            against,
            degree,
            queue,
        )
    while ends[0] < ends[1]:
        attribute = waiting[ends[0] % waiting.size]
        ends[0] += 1
        marked[attribute] = False
        if fixed[attribute] != -2 or layout.row_ptr[attribute + 1] > layout.row_ptr[attribute]:
            continue
        if degree[attribute] == 0:
            fixed[attribute] = -1
            continue
        chosen = _dominant(attribute, layout, slots, unit, favour, against)
        peel = -1
        if chosen < 0:
            if degree[attribute] > 1:
                continue
            for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
                if alive[layout.term[entry]]:
                    peel = layout.term[entry]
            if not layout.parity[peel]:
                continue
        for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
            term = layout.term[entry]
            if not alive[term]:
                continue
            _score(
                -1,
                term,
                literals,
                weight,
                layout.parity,
                fixed,
                slots,
                left,
                unit,
                favour,
                against,
                degree,
                queue,
            )
            if chosen < 0:
                gained += max(weight[term], 0)
                peeled[peels, 0] = term
                peeled[peels, 1] = attribute
                peels += 1
                alive[term] = False
                continue
            true = (layout.value[entry] == chosen) != layout.negated[entry]
            left[term] -= 1
            if layout.parity[term]:
                if true:
                    gained += weight[term]
                    weight[term] = -weight[term]
            elif not true:
                alive[term] = False
            if alive[term] and left[term] == 0:
                gained += weight[term]
                alive[term] = False
        fixed[attribute] = chosen
        for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
            term = layout.term[entry]
            if alive[term]:
                _score(
                    1,
                    term,
                    literals,
                    weight,
                    layout.parity,
                    fixed,
                    slots,
                    left,
                    unit,
                    favour,
                    against,
                    degree,
                    queue,
                )
    return gained, peels
