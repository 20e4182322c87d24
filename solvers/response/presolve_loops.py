"""The compiled loop of `presolve.fix`; the text of `presolve` states the rules."""

from typing import NamedTuple

import numpy as np

from ..compiled import compiled_in_order
from ..types import Flags, Integers
from .loops import Layout, Small

__all__ = ["fix_attributes"]

_FREE = -2
"""Marks an attribute that is not fixed; the same number as `presolve.KEPT`."""

_NO_MATTER = -1
"""Marks an attribute whose value no longer matters."""

_FAR = 2**62
"""A number above any score U + f of a class."""

_ADDED = np.int64(1)
"""Sign of a term that is added to the scores. For literal signs numba would compile `_score` twice.
"""

_REMOVED = np.int64(-1)
"""Sign of a term that is removed from the scores."""


class _State(NamedTuple):
    """The state of the loop: the terms that are left, and scores of the free attributes.

    For each term: its `weight`, whether it is `alive`, and in `left` its number of literals on free
    attributes. For each attribute: its class or a mark in `fixed`, and in `degree` the number of
    terms that are left with it. For each class: the scores `unit`, `favour` and `against`, which
    are U, f and g of `presolve`; class u of attribute a is at position ``slots[a] + u``. `waiting`
    is a ring buffer of attributes to examine: the entries from ``ends[0]`` to ``ends[1] - 1``,
    modulo its length. `marked` tells which attributes are in it.
    """

    weight: Integers
    alive: Flags
    left: Small
    fixed: Integers
    degree: Small
    slots: Integers
    unit: Integers
    favour: Integers
    against: Integers
    marked: Flags
    waiting: Integers
    ends: Integers


@compiled_in_order
def fix_attributes(
    layout: Layout,
    weight: Integers,
    alive: Flags,
    fixed: Integers,
    peeled: Integers,
) -> tuple[int, int]:
    """Fix all attributes that the rules of `presolve` allow to fix.

    Parameters
    ----------
    layout
        The instance.
    weight, alive
        The weights of the terms, and which terms are left; changed in place.
    fixed
        -2 for each attribute; becomes a class, or -1 for an attribute that no longer matters.
    peeled
        Receives a row (parity, attribute) for each parity that is dropped because of an attribute
        of its own, in the order of removal; shape (attributes, 2).

    Returns
    -------
    gained, peels
        The increase of the constant, and the number of rows of `peeled` that were written.
    """
    state = _started(layout, weight, alive, fixed)
    gained = 0
    peels = 0
    for term in range(layout.length.size):
        _score(_ADDED, term, layout, state)
    while state.ends[0] < state.ends[1]:
        attribute = _next(state)
        # Attributes in constraints are left alone.
        in_rows = layout.row_ptr[attribute + 1] > layout.row_ptr[attribute]
        if fixed[attribute] != _FREE or in_rows:
            continue
        if state.degree[attribute] == 0:
            fixed[attribute] = _NO_MATTER
            continue
        chosen = _dominant(attribute, layout, state)
        if chosen >= 0:
            gained += _fix(attribute, chosen, layout, state)
            continue
        # An attribute that is only in one parity can give it the better value: both are dropped.
        parity = _only_parity(attribute, layout, state)
        if parity >= 0:
            _score(_REMOVED, parity, layout, state)
            gained += max(weight[parity], 0)
            alive[parity] = False
            fixed[attribute] = _NO_MATTER
            peeled[peels, 0] = parity
            peeled[peels, 1] = attribute
            peels += 1
    return gained, peels


@compiled_in_order
def _started(
    layout: Layout,
    weight: Integers,
    alive: Flags,
    fixed: Integers,
) -> _State:
    """The state before any term is scored."""
    count = layout.sizes.size
    slots = np.zeros(count + 1, np.int64)
    for attribute in range(count):
        slots[attribute + 1] = slots[attribute] + layout.sizes[attribute]
    classes = slots[count]
    return _State(
        weight,
        alive,
        layout.length.copy(),
        fixed,
        np.zeros(count, np.int32),
        slots,
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(count, np.bool_),
        np.empty(max(count, 1), np.int64),
        np.zeros(2, np.int64),
    )


@compiled_in_order
def _next(state: _State) -> int:
    """Take the next attribute out of the ring."""
    attribute = state.waiting[state.ends[0] % state.waiting.size]
    state.ends[0] += 1
    state.marked[attribute] = False
    return int(attribute)


@compiled_in_order
def _score(
    sign: np.int64,
    term: int | np.int64,
    layout: Layout,
    state: _State,
) -> None:
    """Add a term to the scores of its free attributes (`_ADDED`), or remove it (`_REMOVED`).

    These attributes are put in the ring of attributes to examine.
    """
    _, _, _, fixed, degree, slots, unit, favour, against, marked, waiting, ends = state
    attributes = layout.literal_attribute
    values = layout.literal_value
    negations = layout.literal_negated
    size = state.weight[term]
    single = state.left[term] == 1
    parity = layout.parity[term]
    for entry in range(layout.offsets[term], layout.offsets[term + 1]):
        attribute = attributes[entry]
        if fixed[attribute] != _FREE:
            continue
        slot = slots[attribute] + values[entry]
        negated = negations[entry]
        degree[attribute] += sign
        if single:
            # A parity of one literal holds if the literal does not.
            unit[slot] += -sign * size if negated != parity else sign * size
        elif parity:
            favour[slot] += sign * abs(size)
            against[slot] += sign * abs(size)
        elif (size > 0) != negated:
            favour[slot] += sign * abs(size)
        else:
            against[slot] += sign * abs(size)
        if not marked[attribute]:
            marked[attribute] = True
            waiting[ends[1] % waiting.size] = attribute
            ends[1] += 1


@compiled_in_order
def _dominant(
    attribute: int,
    layout: Layout,
    state: _State,
) -> int:
    """Find a class that is best whatever the other attributes are; -1 if there is none."""
    unit = state.unit
    favour = state.favour
    against = state.against
    first = state.slots[attribute]
    size = layout.sizes[attribute]
    # The largest and the second largest of the best cases U + f of the classes.
    top = -_FAR
    second = -_FAR
    at = -1
    for value in range(size):
        score = unit[first + value] + favour[first + value]
        if score > top:
            second = top
            top = score
            at = value
        elif score > second:
            second = score
    # A class whose worst case U - g is at least the best case of every other class.
    for value in range(size):
        worst = unit[first + value] - against[first + value]
        if worst >= (second if value == at else top):
            return value
    return -1


@compiled_in_order
def _only_parity(
    attribute: int,
    layout: Layout,
    state: _State,
) -> int:
    """Find the parity that is the only term left with an attribute; -1 if there is none such."""
    if state.degree[attribute] > 1:
        return -1
    only = -1
    for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
        if state.alive[layout.term[entry]]:
            only = layout.term[entry]
    return only if layout.parity[only] else -1


@compiled_in_order
def _fix(
    attribute: int,
    chosen: int,
    layout: Layout,
    state: _State,
) -> int:
    """Give an attribute a class; returns the increase of the constant."""
    weight = state.weight
    alive = state.alive
    left = state.left
    gained = 0
    for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
        term = np.int64(layout.term[entry])
        if not alive[term]:
            continue
        _score(_REMOVED, term, layout, state)
        true = (layout.value[entry] == chosen) != layout.negated[entry]
        left[term] -= 1
        if layout.parity[term]:
            # If a literal of a parity is true, the rest of it must be odd: the opposite parity.
            if true:
                gained += weight[term]
                weight[term] = -weight[term]
        elif not true:
            alive[term] = False
        if alive[term] and left[term] == 0:
            gained += weight[term]
            alive[term] = False
    state.fixed[attribute] = chosen
    # The shorter terms are scored again, for their other attributes.
    for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
        term = np.int64(layout.term[entry])
        if alive[term]:
            _score(_ADDED, term, layout, state)
    return gained
