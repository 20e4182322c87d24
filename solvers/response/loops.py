"""The compiled loops over a `BestResponse`: trying all records, annealing, greedy choice.

They take a `Layout` of a compressed instance (see `presolve`). Through all of them a term has a
*count*: of a conjunction the literals that do not hold, of a parity the literals that do, modulo
two. Either holds at count zero. numba is needed, so this is imported only when there is something
to solve.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled_in_order as compiled
from ..types import Integers
from .constraint import LARGEST
from .integer import BestResponse

Small = NDArray[np.int32]


class Layout(NamedTuple):
    """The literals by attribute, and the rows by attribute.

    The literals of attribute a stand at ptr[a]..ptr[a+1] of `term`, `value`, `negated`; its entries
    in rows at row_ptr[a]..row_ptr[a+1] of `row`, `row_value`, `coefficient`. By term, the literals
    stand at offsets[t]..offsets[t+1] of `literal_attribute`, `literal_value`, `literal_negated`.
    """

    sizes: Small
    ptr: Integers
    term: Small
    value: Small
    negated: NDArray[np.bool_]
    length: Small
    parity: NDArray[np.bool_]
    offsets: Integers
    literal_attribute: Small
    literal_value: Small
    literal_negated: NDArray[np.bool_]
    row_ptr: Integers
    row: Small
    row_value: Small
    coefficient: Integers
    lower: Integers
    upper: Integers

    @classmethod
    def of(cls, instance: BestResponse) -> "Layout":
        count = len(instance.sizes)
        order = np.argsort(instance.attribute, kind="stable")
        rows = instance.constraints
        none = np.empty(0, np.int64)
        row_attribute = np.concatenate([none, *(row.attribute for row in rows)])
        row_order = np.argsort(row_attribute, kind="stable")
        owner = np.repeat(np.arange(len(rows)), [len(row.attribute) for row in rows])
        limit = 2 * LARGEST
        return cls(
            sizes=instance.sizes.astype(np.int32),
            ptr=np.concatenate(
                [[0], np.cumsum(np.bincount(instance.attribute, minlength=count))]
            ).astype(np.int64),
            term=instance.term[order].astype(np.int32),
            value=instance.value[order].astype(np.int32),
            negated=instance.negated[order],
            length=np.diff(instance.offsets).astype(np.int32),
            parity=instance.parity,
            offsets=instance.offsets,
            literal_attribute=instance.attribute.astype(np.int32),
            literal_value=instance.value.astype(np.int32),
            literal_negated=instance.negated,
            row_ptr=np.concatenate(
                [[0], np.cumsum(np.bincount(row_attribute, minlength=count))]
            ).astype(np.int64),
            row=owner[row_order].astype(np.int32),
            row_value=np.concatenate([none, *(row.value for row in rows)])[row_order].astype(
                np.int32
            ),
            coefficient=np.concatenate([none, *(row.coefficient for row in rows)])[row_order],
            lower=np.array([-limit if row.lower is None else row.lower for row in rows], np.int64),
            upper=np.array([limit if row.upper is None else row.upper for row in rows], np.int64),
        )


@compiled
def _missed(activity: int, lower: int, upper: int) -> int:
    """By how much an activity misses its bounds."""
    return max(0, lower - activity, activity - upper)


@compiled
def _place(layout: Layout, x: Small, count: Small, activity: Integers) -> None:
    """Fill the counts of all terms and the activities of all rows at a record."""
    for term in range(count.size):
        count[term] = 0 if layout.parity[term] else layout.length[term]
    activity[:] = 0
    for attribute in range(x.size):
        for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
            if (layout.value[entry] == x[attribute]) != layout.negated[entry]:
                term = layout.term[entry]
                if layout.parity[term]:
                    count[term] ^= 1
                else:
                    count[term] -= 1
        for entry in range(layout.row_ptr[attribute], layout.row_ptr[attribute + 1]):
            if layout.row_value[entry] == x[attribute]:
                activity[layout.row[entry]] += layout.coefficient[entry]


@compiled
def _gain(
    layout: Layout, weight: Integers, count: Small, attribute: int, old: int, new: int
) -> int:
    """By how much the weight of the terms that hold would grow if an attribute went from one class
    to another."""
    gain = 0
    for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
        value = layout.value[entry]
        if value != old and value != new:
            continue
        term = layout.term[entry]
        if layout.parity[term]:
            gain += weight[term] * (2 * count[term] - 1)
        elif (value == new) != layout.negated[entry]:
            if count[term] == 1:
                gain += weight[term]
        elif count[term] == 0:
            gain -= weight[term]
    return gain


@compiled
def _relief(layout: Layout, activity: Integers, attribute: int, old: int, new: int) -> int:
    """By how much the rows would be missed less; a row may hold an attribute's both classes, so
    entries are added up before they count."""
    relief = 0
    for entry in range(layout.row_ptr[attribute], layout.row_ptr[attribute + 1]):
        row = layout.row[entry]
        value = layout.row_value[entry]
        step = layout.coefficient[entry] * (int(value == new) - int(value == old))
        if step != 0:
            lower = layout.lower[row]
            upper = layout.upper[row]
            relief += _missed(activity[row], lower, upper) - _missed(
                activity[row] + step, lower, upper
            )
            activity[row] += step
    for entry in range(layout.row_ptr[attribute], layout.row_ptr[attribute + 1]):
        value = layout.row_value[entry]
        activity[layout.row[entry]] -= layout.coefficient[entry] * (
            int(value == new) - int(value == old)
        )
    return relief


@compiled
def _move(
    layout: Layout, x: Small, count: Small, activity: Integers, attribute: int, new: int
) -> None:
    """Give an attribute another class."""
    old = x[attribute]
    x[attribute] = new
    for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
        value = layout.value[entry]
        if value != old and value != new:
            continue
        term = layout.term[entry]
        if layout.parity[term]:
            count[term] ^= 1
        elif (value == new) != layout.negated[entry]:
            count[term] -= 1
        else:
            count[term] += 1
    for entry in range(layout.row_ptr[attribute], layout.row_ptr[attribute + 1]):
        value = layout.row_value[entry]
        if value == new:
            activity[layout.row[entry]] += layout.coefficient[entry]
        elif value == old:
            activity[layout.row[entry]] -= layout.coefficient[entry]


@compiled
def _move_gains(
    layout: Layout,
    weight: Integers,
    x: Small,
    count: Small,
    gains: Integers,
    attribute: int,
    new: int,
) -> None:
    """Keep gains[b], what the change of a binary attribute b gains, while an attribute gets another
    class.

    A conjunction of count 0 would lose its weight with any of its literals; one of count 1 would
    gain it with the one literal that does not hold; a parity does the one or the other with all of
    them. To be called before `_move`.
    """
    old = x[attribute]
    for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
        value = layout.value[entry]
        if value != old and value != new:
            continue
        term = layout.term[entry]
        before = count[term]
        if layout.parity[term]:
            step = 2 * weight[term] * (1 - 2 * before)
            among = -1
        elif (value == new) != layout.negated[entry]:
            step = -weight[term] if before == 1 else weight[term] if before == 2 else 0
            among = before - 1
        else:
            step = weight[term] if before == 0 else -weight[term] if before == 1 else 0
            among = before
        if step == 0:
            continue
        for place in range(layout.offsets[term], layout.offsets[term + 1]):
            other = layout.literal_attribute[place]
            if other != attribute:
                holds = (layout.literal_value[place] == x[other]) != layout.literal_negated[place]
                # Of a conjunction whose count is between 1 and 2, only the one other literal that
                # does not hold.
                if among <= 0 or not holds:
                    gains[other] += step
    gains[attribute] = -gains[attribute]


@compiled
def enumerate_parts(
    layout: Layout, weight: Integers, starts: Integers, members: Integers, x: Small, limit: int
) -> tuple[int, bool]:
    """Leave in `x` a best record, part by part: the attributes members[starts[p]:starts[p+1]],
    which share no term or row with others. Returns how many records were tried, and whether every
    part has one that meets the rows.

    A mixed-radix Gray code (Knuth, The Art of Computer Programming 4A, 7.2.1.1, algorithm H) that
    begins at `x`, so that ties are broken by where it begins. Parts with more than `limit` records
    are left as they are.
    """
    count = np.empty(layout.length.size, np.int32)
    activity = np.empty(layout.lower.size, np.int64)
    _place(layout, x, count, activity)
    tried = 0
    found_all = True
    for part in range(starts.size - 1):
        places = members[starts[part] : starts[part + 1]]
        size = 0
        records = 1
        digits = np.empty(places.size, np.int64)
        for attribute in places:
            if layout.sizes[attribute] > 1:
                digits[size] = attribute
                size += 1
                records = min(records * layout.sizes[attribute], limit + 1)
        if records > limit:
            continue
        best_x = x[places].copy()
        value = 0
        best = 0
        found = False
        missed = _missed_rows(layout, places, activity)
        step = np.zeros(size, np.int64)
        focus = np.arange(size + 1)
        turn = np.ones(size, np.int64)
        while True:
            tried += 1
            if missed == 0 and (not found or value > best):
                best = value
                found = True
                best_x[:] = x[places]
            digit = focus[0]
            focus[0] = 0
            if digit == size:
                break
            attribute = digits[digit]
            radix = layout.sizes[attribute]
            step[digit] += turn[digit]
            new = (x[attribute] + turn[digit] + radix) % radix
            value += _gain(layout, weight, count, attribute, x[attribute], new)
            missed -= _relief(layout, activity, attribute, x[attribute], new)
            _move(layout, x, count, activity, attribute, new)
            if step[digit] == 0 or step[digit] == radix - 1:
                turn[digit] = -turn[digit]
                focus[digit] = focus[digit + 1]
                focus[digit + 1] = digit + 1
        found_all = found_all and found
        for place in range(places.size):
            if x[places[place]] != best_x[place]:
                _move(layout, x, count, activity, places[place], best_x[place])
    return tried, found_all


@compiled
def _missed_rows(layout: Layout, places: Integers, activity: Integers) -> int:
    """By how much the rows that hold any of these attributes are missed, each row counted once."""
    seen = np.zeros(layout.lower.size, np.bool_)
    missed = 0
    for attribute in places:
        for entry in range(layout.row_ptr[attribute], layout.row_ptr[attribute + 1]):
            row = layout.row[entry]
            if not seen[row]:
                seen[row] = True
                missed += _missed(activity[row], layout.lower[row], layout.upper[row])
    return missed


@compiled
def _taken(loss: float, chance: float) -> bool:
    """Whether chance < exp(-loss) for a positive loss; mostly without the exponential, by a bound
    on it."""
    if chance * (1.0 + loss * (1.0 + loss * (0.5 + loss / 6.0))) >= 1.0:
        return False
    return bool(chance < math.exp(-loss))


@compiled
def anneal(
    layout: Layout,
    weight: Integers,
    x: Small,
    sweeps: int,
    hot: float,
    cold: float,
    price: tuple[float, float],
    rng: Any,
) -> tuple[int, bool]:
    """Simulated annealing from `x`, which becomes the best record met at the end of a sweep that
    meets the rows.

    A sweep proposes to every attribute in turn another class, and takes it with probability min(1,
    exp(gain / T)). T falls from `hot` to `cold` by equal ratios; a unit by which a row is missed
    costs price[0] at first and price[1] in the end. Sweeps without heat follow until none gains.
    Returns the moves proposed, and whether a record was met.
    """
    count = np.empty(layout.length.size, np.int32)
    activity = np.empty(layout.lower.size, np.int64)
    _place(layout, x, count, activity)
    everywhere = np.arange(x.size)
    gains = np.zeros(x.size, np.int64)
    old: Any
    new: Any
    for attribute in range(x.size):
        old = x[attribute]
        if layout.sizes[attribute] == 2:
            gains[attribute] = _gain(layout, weight, count, attribute, old, 1 - old)
    missed = _missed_rows(layout, everywhere, activity)
    value = 0
    best_x = x.copy()
    best = 0
    found = missed == 0
    moves = 0
    sweep = 0
    constrained = layout.lower.size > 0
    while True:
        share = min(1.0, sweep / max(1, sweeps - 1))
        temperature = hot * (cold / hot) ** share if sweep < sweeps else 0.0
        cost = price[0] * (price[1] / price[0]) ** share
        gained = False
        for attribute in range(x.size):
            size = layout.sizes[attribute]
            old = x[attribute]
            if size == 2:
                new = 1 - old
            elif size > 2:
                new = (old + 1 + int(rng.random() * (size - 1))) % size
            else:
                continue
            moves += 1
            gain = (
                gains[attribute] if size == 2 else _gain(layout, weight, count, attribute, old, new)
            )
            relief = _relief(layout, activity, attribute, old, new) if constrained else 0
            total = gain + cost * relief
            if total > 0:
                gained = True
            elif total == 0:
                if temperature == 0.0:
                    continue
            elif temperature == 0.0 or not _taken(-total / temperature, rng.random()):
                continue
            value += gain
            missed -= relief
            _move_gains(layout, weight, x, count, gains, attribute, new)
            _move(layout, x, count, activity, attribute, new)
        if missed == 0 and (not found or value > best):
            best = value
            found = True
            best_x[:] = x
        sweep += 1
        # Without heat every sweep gains or is the last: the value is bounded, so this ends.
        if sweep > sweeps and not gained:
            break
    x[:] = best_x
    return moves, found


@compiled
def greedy(layout: Layout, weight: Integers, order: Integers, x: Small) -> None:
    """Give the attributes, in an order, the class of largest expected value, the later ones being
    uniform (the method of conditional expectations). `x` holds what breaks ties at first."""
    terms = layout.length.size
    chance = np.ones(terms)
    dead = np.zeros(terms, np.bool_)
    left = layout.length.copy()
    odd = np.zeros(terms, np.int32)
    for attribute in range(x.size):
        for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
            term = layout.term[entry]
            share = 1.0 / layout.sizes[attribute]
            chance[term] *= 1.0 - share if layout.negated[entry] else share
    for attribute in order:
        size = layout.sizes[attribute]
        score = np.zeros(size)
        for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
            term = layout.term[entry]
            value = layout.value[entry]
            negated = layout.negated[entry]
            if layout.parity[term]:
                # Worth something only when this literal is the last; true changes even to odd.
                if left[term] == 1:
                    score[value] += weight[term] * (2.0 * odd[term] - 1.0)
            elif not dead[term]:
                share = 1.0 / size
                if negated:
                    if share < 1.0:
                        score[value] -= weight[term] * chance[term] / (1.0 - share)
                else:
                    score[value] += weight[term] * chance[term] / share
        best = x[attribute]
        for value in range(size):
            if score[value] > score[best]:
                best = value
        x[attribute] = best
        for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
            term = layout.term[entry]
            share = 1.0 / size
            left[term] -= 1
            true = (layout.value[entry] == best) != layout.negated[entry]
            if layout.parity[term]:
                odd[term] ^= 1 if true else 0
            elif not true:
                dead[term] = True
            else:
                chance[term] /= 1.0 - share if layout.negated[entry] else share
