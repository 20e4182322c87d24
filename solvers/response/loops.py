"""Compiled loops for a `BestResponse`: enumeration of records, annealing, and greedy choice.

They take a `Layout` of a compressed instance, in which values that nothing mentions are one
*class* (see `presolve.compress`). A record `x` holds the class of each attribute. Constraints are
called *rows*, and the sum that a row bounds is its *activity*.

Each term has a *count*. For a conjunction it is the number of literals that do not hold. For a
parity it is the number of literals that hold, modulo two. Both kinds of term hold if their count is
zero. The counts and the activities are updated with every change of the record.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled_in_order, copied
from ..types import Integers
from .best_response import BestResponse
from .constraint import LARGEST

Small = NDArray[np.int32]


class Layout(NamedTuple):
    """An instance as arrays: its literals sorted by attribute and by term, its rows by attribute.

    Ranges are half-open: the end is excluded. The literals on attribute a are at
    ptr[a]:ptr[a+1] in `term`, `value` and `negated`. The literals of term t are at
    offsets[t]:offsets[t+1] in `literal_attribute`, `literal_value` and `literal_negated`. The
    entries of rows on attribute a are at row_ptr[a]:row_ptr[a+1] in `row`, `row_value` and
    `coefficient`. `length` and `parity` describe the terms; `lower` and `upper` bound the rows.
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
        """Make the layout of a compressed instance."""
        count = len(instance.sizes)
        order = np.argsort(instance.attribute, kind="stable")
        # The entries of all rows, one row after another, then by attribute.
        rows = instance.constraints
        none = np.empty(0, np.int64)
        row_attribute = np.concatenate([none, *(row.attribute for row in rows)])
        row_value = np.concatenate([none, *(row.value for row in rows)])
        coefficient = np.concatenate([none, *(row.coefficient for row in rows)])
        owner = np.repeat(np.arange(len(rows)), [len(row.attribute) for row in rows])
        row_order = np.argsort(row_attribute, kind="stable")
        far = 2 * LARGEST
        lower = [-far if row.lower is None else row.lower for row in rows]
        upper = [far if row.upper is None else row.upper for row in rows]
        return cls(
            sizes=instance.sizes.astype(np.int32),
            ptr=_bounds(instance.attribute, count),
            term=instance.term[order].astype(np.int32),
            value=instance.value[order].astype(np.int32),
            negated=instance.negated[order],
            length=np.diff(instance.offsets).astype(np.int32),
            parity=instance.parity,
            offsets=instance.offsets,
            literal_attribute=instance.attribute.astype(np.int32),
            literal_value=instance.value.astype(np.int32),
            literal_negated=instance.negated,
            row_ptr=_bounds(row_attribute, count),
            row=owner[row_order].astype(np.int32),
            row_value=row_value[row_order].astype(np.int32),
            coefficient=coefficient[row_order],
            lower=np.array(lower, np.int64),
            upper=np.array(upper, np.int64),
        )


def _bounds(attribute: Integers, count: int) -> Integers:
    """The position of the first entry of each attribute, for entries sorted by attribute.

    The shape is (count + 1,); the last number is the number of all entries.
    """
    entries = np.bincount(attribute, minlength=count)
    return np.concatenate([[0], np.cumsum(entries)]).astype(np.int64)


@compiled_in_order
def _start(layout: Layout, x: Small) -> tuple[Small, Integers]:
    """Compute the counts of all terms and the activities of all rows at a record."""
    count = np.empty(layout.length.size, np.int32)
    activity = np.zeros(layout.lower.size, np.int64)
    for term in range(count.size):
        count[term] = 0 if layout.parity[term] else layout.length[term]
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
    return count, activity


@compiled_in_order
def _missed(
    activity: int,
    lower: int,
    upper: int,
) -> int:
    """The distance of an activity from its bounds; zero between them."""
    return max(0, lower - activity, activity - upper)


@compiled_in_order
def _gain(
    layout: Layout,
    weight: Integers,
    x: Small,
    count: Small,
    attribute: int,
    new: int,
) -> int:
    """The change of the weight of all terms that hold if an attribute gets another class."""
    old = x[attribute]
    gain = 0
    for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
        value = layout.value[entry]
        if value != old and value != new:
            continue
        term = layout.term[entry]
        if layout.parity[term]:
            gain += weight[term] * (2 * count[term] - 1)
        elif (value == new) != layout.negated[entry]:
            # The literal becomes true: the term holds if it was the only false one.
            if count[term] == 1:
                gain += weight[term]
        elif count[term] == 0:
            gain -= weight[term]
    return gain


@compiled_in_order
def _relief(
    layout: Layout,
    x: Small,
    activity: Integers,
    attribute: int,
    new: int,
) -> int:
    """Compute by how much the violation of all rows falls if an attribute gets another class.

    A row may have entries for both classes of the attribute. So the entries change the activities
    one by one here, and at the end the changes are taken back.
    """
    old = x[attribute]
    relief = 0
    for entry in range(layout.row_ptr[attribute], layout.row_ptr[attribute + 1]):
        row = layout.row[entry]
        value = layout.row_value[entry]
        step = layout.coefficient[entry] * (int(value == new) - int(value == old))
        if step != 0:
            lower = layout.lower[row]
            upper = layout.upper[row]
            before = _missed(activity[row], lower, upper)
            relief += before - _missed(activity[row] + step, lower, upper)
            activity[row] += step
    for entry in range(layout.row_ptr[attribute], layout.row_ptr[attribute + 1]):
        value = layout.row_value[entry]
        step = layout.coefficient[entry] * (int(value == new) - int(value == old))
        activity[layout.row[entry]] -= step
    return relief


@compiled_in_order
def _move(
    layout: Layout,
    x: Small,
    count: Small,
    activity: Integers,
    attribute: int,
    new: int,
) -> None:
    """Give an attribute another class: update the record, the counts and the activities."""
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


@compiled_in_order
def _move_gains(
    layout: Layout,
    weight: Integers,
    x: Small,
    count: Small,
    gains: Integers,
    attribute: int,
    new: int,
) -> None:
    """Update the gains of all binary attributes for a move of one attribute.

    gains[b] is the change of the value if the binary attribute b changes. Call this before `_move`.

    The rules: a conjunction of count 0 loses its weight if any of its literals changes. One of
    count 1 gains its weight if the one literal that does not hold changes. A parity gains or loses
    its weight if any of its literals changes.
    """
    old = x[attribute]
    for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
        value = layout.value[entry]
        if value != old and value != new:
            continue
        term = layout.term[entry]
        before = count[term]
        # `step` is the change of the gains of other attributes. `rank` is the smaller of the term's
        # counts before and after the move. If it is 0 or less (parities), the gains of all other
        # literals change; otherwise only the gain of a literal that does not hold.
        step = 0
        rank = before
        if layout.parity[term]:
            step = 2 * weight[term] * (1 - 2 * before)
            rank = -1
        elif (value == new) != layout.negated[entry]:
            rank = before - 1
            if before == 1:
                step = -weight[term]
            elif before == 2:
                step = weight[term]
        elif before == 0:
            step = weight[term]
        elif before == 1:
            step = -weight[term]
        if step == 0:
            continue
        for place in range(layout.offsets[term], layout.offsets[term + 1]):
            other = layout.literal_attribute[place]
            if other != attribute:
                holds = (layout.literal_value[place] == x[other]) != layout.literal_negated[place]
                if rank <= 0 or not holds:
                    gains[other] += step
    gains[attribute] = -gains[attribute]


@compiled_in_order
def enumerate_parts(
    layout: Layout,
    weight: Integers,
    starts: Integers,
    members: Integers,
    x: Small,
    limit: int,
) -> tuple[int, bool]:
    """Find the best record of each part by enumeration, and write it to `x`.

    A part is a set of attributes that share no term or row with other attributes. Part p has the
    attributes members[starts[p]:starts[p+1]]. Parts with more than `limit` records are not changed.

    Returns
    -------
    tried, found
        The number of records, and whether every part has a record that meets its rows.
    """
    count, activity = _start(layout, x)
    tried = 0
    found_all = True
    for part in range(starts.size - 1):
        places = members[starts[part] : starts[part + 1]]
        # The attributes that can change, and the number of records.
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
        best_x, records, found = _enumerate(
            layout, weight, x, count, activity, places, digits[:size]
        )
        tried += records
        found_all = found_all and found
        for place in range(places.size):
            if x[places[place]] != best_x[place]:
                _move(layout, x, count, activity, places[place], int(best_x[place]))
    return tried, found_all


@compiled_in_order
def _enumerate(
    layout: Layout,
    weight: Integers,
    x: Small,
    count: Small,
    activity: Integers,
    places: Integers,
    digits: Integers,
) -> tuple[Small, int, bool]:
    """Try all combinations of classes of the attributes `places`; the others keep theirs.

    `digits` are those of these attributes that have two or more classes. The order is a mixed-radix
    Gray code (Knuth, The Art of Computer Programming 4A, 7.2.1.1, algorithm H), which begins at the
    record `x`. So among records of equal value `x` wins.

    Returns
    -------
    best_x, tried, found
        The best classes of `places`, the number of records, and whether one of them met the rows.
    """
    best_x = x[places]
    value = 0
    best = 0
    found = False
    tried = 0
    missed = _missed_rows(layout, places, activity)
    size = digits.size
    step = np.zeros(size, np.int64)
    focus = np.arange(size + 1)
    turn = np.ones(size, np.int64)
    while True:
        tried += 1
        if missed == 0 and (not found or value > best):
            best = value
            found = True
            for place in range(places.size):
                best_x[place] = x[places[place]]
        # The digit that changes next.
        digit = focus[0]
        focus[0] = 0
        if digit == size:
            break
        attribute = digits[digit]
        radix = layout.sizes[attribute]
        step[digit] += turn[digit]
        new = (x[attribute] + turn[digit] + radix) % radix
        value += _gain(layout, weight, x, count, attribute, new)
        missed -= _relief(layout, x, activity, attribute, new)
        _move(layout, x, count, activity, attribute, new)
        # At the end of its range a digit reverses its direction, and the next digit gets the focus.
        if step[digit] == 0 or step[digit] == radix - 1:
            turn[digit] = -turn[digit]
            focus[digit] = focus[digit + 1]
            focus[digit + 1] = digit + 1
    return best_x, tried, found


@compiled_in_order
def _missed_rows(
    layout: Layout,
    places: Integers,
    activity: Integers,
) -> int:
    """The total violation of the rows that have any of these attributes; each row counts once."""
    seen = np.zeros(layout.lower.size, np.bool_)
    missed = 0
    for attribute in places:
        for entry in range(layout.row_ptr[attribute], layout.row_ptr[attribute + 1]):
            row = layout.row[entry]
            if not seen[row]:
                seen[row] = True
                missed += _missed(activity[row], layout.lower[row], layout.upper[row])
    return missed


@compiled_in_order
def _taken(loss: float, chance: float) -> bool:
    """Whether chance < exp(-loss) for a positive loss: whether a worse move is accepted.

    A polynomial below exp(loss) is tried first. It often makes the exponential unnecessary.
    """
    if chance * (1.0 + loss * (1.0 + loss * (0.5 + loss / 6.0))) >= 1.0:
        return False
    return bool(chance < math.exp(-loss))


@compiled_in_order
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
    """Run simulated annealing from `x`, and replace `x` by the best record that meets the rows.

    Only the record at the end of each sweep is compared with the best one. The temperature falls
    from `hot` to `cold` by equal ratios over `sweeps` sweeps. Sweeps at temperature zero follow
    until one brings no gain. A unit of violation of a row costs price[0] in the first sweep and
    price[1] in the last one.

    Returns
    -------
    moves, found
        The number of proposed moves, and whether a record met the rows.
    """
    count, activity = _start(layout, x)
    gains = _all_gains(layout, weight, x, count)
    missed = _missed_rows(layout, np.arange(x.size), activity)
    value = 0
    best_x = x.copy()
    best = 0
    found = missed == 0
    moves = 0
    sweep = 0
    while True:
        share = min(1.0, sweep / max(1, sweeps - 1))
        temperature = hot * (cold / hot) ** share if sweep < sweeps else 0.0
        cost = price[0] * (price[1] / price[0]) ** share
        gain, relief, proposed, gained = _sweep(
            layout, weight, x, count, activity, gains, (temperature, cost), rng
        )
        value += gain
        missed -= relief
        moves += proposed
        if missed == 0 and (not found or value > best):
            best = value
            found = True
            copied(x, best_x)
        sweep += 1
        # At temperature zero every sweep gains or is the last. The value is bounded, so this ends.
        if sweep > sweeps and not gained:
            break
    copied(best_x, x)
    return moves, found


@compiled_in_order
def _all_gains(
    layout: Layout,
    weight: Integers,
    x: Small,
    count: Small,
) -> Integers:
    """The gain if each binary attribute changes; zero for other attributes."""
    gains = np.zeros(x.size, np.int64)
    for attribute in range(x.size):
        if layout.sizes[attribute] == 2:
            new: Any = 1 - x[attribute]
            gains[attribute] = _gain(layout, weight, x, count, attribute, new)
    return gains


@compiled_in_order
def _sweep(
    layout: Layout,
    weight: Integers,
    x: Small,
    count: Small,
    activity: Integers,
    gains: Integers,
    heat: tuple[float, float],
    rng: Any,
) -> tuple[int, int, int, bool]:
    """Go through the attributes and propose another class for each.

    The *relief* of a move is the decrease of the violation of the rows. Its *total* is its gain
    plus its relief times the cost per unit. It is accepted with probability min(1, exp(total /
    temperature)). `heat` is the pair of the temperature and the cost per unit.

    Returns
    -------
    gain, relief, moves, gained
        The sums over the accepted moves, the number of proposed moves, and whether one move had a
        positive total.
    """
    temperature, cost = heat
    constrained = layout.lower.size > 0
    all_gain = 0
    all_relief = 0
    moves = 0
    gained = False
    old: Any
    new: Any
    for attribute in range(x.size):
        size = layout.sizes[attribute]
        old = x[attribute]
        if size == 2:
            new = 1 - old
            gain = gains[attribute]
        elif size > 2:
            new = (old + 1 + int(rng.random() * (size - 1))) % size
            gain = _gain(layout, weight, x, count, attribute, new)
        else:
            continue
        moves += 1
        relief = _relief(layout, x, activity, attribute, new) if constrained else 0
        total = gain + cost * relief
        if total > 0:
            gained = True
        elif temperature == 0.0 or (total < 0 and not _taken(-total / temperature, rng.random())):
            continue
        all_gain += gain
        all_relief += relief
        _move_gains(layout, weight, x, count, gains, attribute, new)
        _move(layout, x, count, activity, attribute, new)
    return all_gain, all_relief, moves, gained


@compiled_in_order
def greedy(
    layout: Layout,
    weight: Integers,
    order: Integers,
    x: Small,
) -> None:
    """Fix the attributes in a given order, each at the class with the largest expected objective.

    The classes are written to `x`.

    In this expectation, the attributes that come later in the order are uniform (the method of
    conditional expectations). In a tie the class in `x` wins.
    """
    terms = layout.length.size
    # The chance that the later literals of a conjunction hold, whether a literal is false, the
    # number of later literals, and whether an odd number of a parity's literals hold.
    chance = np.ones(terms)
    dead = np.zeros(terms, np.bool_)
    left = layout.length.copy()
    odd = np.zeros(terms, np.int32)
    for attribute in range(x.size):
        share = 1.0 / layout.sizes[attribute]
        for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
            term = layout.term[entry]
            chance[term] *= 1.0 - share if layout.negated[entry] else share
    for attribute in order:
        size = layout.sizes[attribute]
        share = 1.0 / size
        # The expected value of each class, up to a constant.
        score = np.zeros(size)
        for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
            term = layout.term[entry]
            value = layout.value[entry]
            if layout.parity[term]:
                # A parity is worth something only if this literal is the last. A true literal
                # turns odd into even.
                if left[term] == 1:
                    score[value] += weight[term] * (2.0 * odd[term] - 1.0)
            elif not dead[term]:
                if not layout.negated[entry]:
                    score[value] += weight[term] * chance[term] / share
                elif share < 1.0:
                    score[value] -= weight[term] * chance[term] / (1.0 - share)
        best = x[attribute]
        for value in range(size):
            if score[value] > score[best]:
                best = value
        x[attribute] = best
        # The terms, given this class.
        for entry in range(layout.ptr[attribute], layout.ptr[attribute + 1]):
            term = layout.term[entry]
            left[term] -= 1
            true = (layout.value[entry] == best) != layout.negated[entry]
            if layout.parity[term]:
                odd[term] ^= 1 if true else 0
            elif not true:
                dead[term] = True
            else:
                chance[term] /= 1.0 - share if layout.negated[entry] else share
