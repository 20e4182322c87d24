"""Compiled loops that find orbits of sets and covers made of whole orbits.

Importing this module loads numba, so callers import it only when they search.
"""

from typing import Any, NamedTuple

import numpy as np

from margin.designs.types import Integers
from margin.solvers.compiled import compiled_in_order

STACK = 2_000_000  # largest size of an orbit that is followed
SAMPLE = 150  # largest number of columns that are compared for each addition
NO_COVER = 1 << 60  # cost as long as no cover is found


@compiled_in_order
def _rank(mask: int, binomials: Integers) -> int:
    """The rank of a set of points, given as bits, in colexicographic order."""
    rank, size, point = 0, 0, 0
    while mask:
        if mask & 1:
            size += 1
            rank += binomials[point, size]
        mask >>= 1
        point += 1
    return rank


@compiled_in_order
def set_orbits(generators: Integers, k: int, binomials: Integers, largest: int) -> Any:
    """The orbits of the k-subsets under the group that permutations generate.

    Parameters
    ----------
    generators : array, shape (generators, v)
    k : int
    binomials : array, shape (v + 1, v + 1)
        The binomial coefficients.
    largest : int
        Orbits of more sets are not listed.

    Returns
    -------
    (numbers, leaders, sizes)
        The number of the orbit of each k-subset, shape (comb(v, k),), -1 if it is not listed. For
        each orbit one of its sets, as the bits of an int, and the number of its sets.
    """
    v = generators.shape[1]
    numbers = np.full(binomials[v, k], -2, np.int32)
    stack = np.empty(STACK, np.int64)
    leaders = np.empty(1024, np.int64)
    sizes = np.empty(1024, np.int64)
    found = 0
    mask = (1 << k) - 1
    for rank in range(len(numbers)):
        if numbers[rank] == -2:
            # A set of a new orbit: follow it under the generators.
            numbers[rank] = found
            end = _follow(generators, binomials, mask, numbers, stack)
            if end <= largest:
                if found == len(leaders):
                    leaders = np.concatenate((leaders, leaders))
                    sizes = np.concatenate((sizes, sizes))
                leaders[found], sizes[found] = mask, end
                found += 1
            else:
                for i in range(end):
                    numbers[_rank(stack[i], binomials)] = -1
        # The next set of k points in colexicographic order.
        low = mask & -mask
        carried = mask + low
        mask = carried | (((mask ^ carried) // low) >> 2)
    return numbers, leaders[:found], sizes[:found]


@compiled_in_order
def _follow(
    generators: Integers, binomials: Integers, mask: int, numbers: Integers, stack: Integers
) -> int:
    """Put the orbit of a numbered set on the stack, give its sets that number; return its size."""
    number = numbers[_rank(mask, binomials)]
    stack[0] = mask
    end, at = 1, 0
    while at < end:
        one = stack[at]
        at += 1
        for g in range(len(generators)):
            image = 0
            for point in range(generators.shape[1]):
                if one >> point & 1:
                    image |= 1 << generators[g, point]
            place = _rank(image, binomials)
            if numbers[place] == -2:
                numbers[place] = number
                stack[end] = image
                end += 1
    return end


@compiled_in_order
def held_orbits(
    leaders: Integers, k: int, t: int, numbers: Integers, subsets: Integers, binomials: Integers
) -> Any:
    """The orbits of t-subsets that the sets of each orbit of k-subsets hold.

    Returns
    -------
    (starts, held)
        Orbit i holds ``held[starts[i]:starts[i + 1]]``.
    """
    starts = np.zeros(len(leaders) + 1, np.int64)
    held = np.empty(max(1, len(leaders) * min(len(subsets), 1 + numbers.max())), np.int32)
    last = np.full(1 + numbers.max(), -1, np.int64)
    points = np.empty(k, np.int64)
    end = 0
    for i in range(len(leaders)):
        # The points of one set of the orbit.
        size = 0
        for point in range(64):
            if leaders[i] >> point & 1:
                points[size] = point
                size += 1
        # The orbits of its t-subsets, each once.
        for row in range(len(subsets)):
            rank = 0
            for j in range(t):
                rank += binomials[points[subsets[row, j]], j + 1]
            number = numbers[rank]
            if last[number] != i:
                last[number] = i
                held[end] = number
                end += 1
        starts[i + 1] = end
    return starts, held[:end]


class Cover(NamedTuple):
    """A covering problem: which rows each column holds, and the cost of each column.

    Parameters
    ----------
    starts, held : array
        Column i holds the rows ``held[starts[i]:starts[i + 1]]``.
    costs : array, shape (columns,)
    """

    starts: Integers
    held: Integers
    costs: Integers


class _State(NamedTuple):
    """State of the local search; all arrays are changed in place.

    Parameters
    ----------
    weights, counts : array, shape (rows,)
        Weight of each row; number of chosen columns that hold it.
    missing, places : array, shape (rows,)
        All rows, those that no chosen column holds first; the place of each row in `missing`.
    chosen : array, shape (columns,)
        The chosen columns, in the first places.
    moved : array, shape (columns,)
        The step in which a column was last added or removed.
    """

    weights: Integers
    counts: Integers
    missing: Integers
    places: Integers
    chosen: Integers
    moved: Integers


@compiled_in_order
def light_cover(cover: Cover, rows: int, steps: int, seed: int) -> Any:
    """Columns of low total cost that hold every row, by local search with weights on the rows.

    Each step removes columns, the least useful first, until one more column could make a cover
    that costs less than the best. Then it adds one or more columns for missing rows, as far as the
    cost allows. The weights of rows that stay missing grow.

    Parameters
    ----------
    cover : Cover
    rows, steps, seed : int
        Number of rows; number of steps; random seed.

    Returns
    -------
    (cost, columns); the cost is -1 if some row is in no column, or if no cover was found

    References
    ----------
    C. Gao, X. Yao, T. Weise, J. Li, An efficient local search heuristic with row weighting for the
    unicost set covering problem, European J. Oper. Res. 246 (2015), 750-761.
    """
    np.random.seed(seed)
    columns = len(cover.costs)
    first, holders = _holders(cover.starts, cover.held, rows)
    for row in range(rows):
        if first[row] == first[row + 1]:
            return -1, np.empty(0, np.int64)
    state = _State(
        np.ones(rows, np.int64),
        np.zeros(rows, np.int64),
        np.arange(rows),
        np.arange(rows),
        np.empty(columns, np.int64),
        np.full(columns, -2, np.int64),
    )
    size, left, cost = 0, rows, 0  # chosen columns, missing rows, cost of the chosen columns
    best, best_columns = NO_COVER, np.empty(0, np.int64)
    for step in range(steps):
        if left == 0:
            best, best_columns = cost, state.chosen[:size].copy()
        # Remove columns until one more could make a cover that costs less than the best.
        removed = 0
        while size > 0 and (left == 0 or cost >= best - 1 or removed == 0):
            at = _least_useful(cover, state, size, step if left > 0 else -1)
            column = state.chosen[at]
            size -= 1
            removed += 1
            state.chosen[at] = state.chosen[size]
            state.moved[column] = step
            cost -= cover.costs[column]
            left = _remove(cover, state, column, left)
        # Add columns for random missing rows.
        while left > 0:
            row = state.missing[np.random.randint(left)]
            within = holders[first[row] : first[row + 1]]
            column = _most_useful(cover, state, within, step, best - cost)
            if column < 0:
                break
            state.chosen[size] = column
            size += 1
            state.moved[column] = step
            cost += cover.costs[column]
            left = _add(cover, state, column, left)
            # If the loop always stopped here, the number of columns could not grow.
            if best < NO_COVER and np.random.random() < 0.5:
                break
        for row in state.missing[:left]:
            state.weights[row] += 1
    return (best, best_columns) if best < NO_COVER else (-1, best_columns)


@compiled_in_order
def _remove(cover: Cover, state: _State, column: int, left: int) -> int:
    """Update the counts and the missing rows after a column is removed; return their number."""
    for row in cover.held[cover.starts[column] : cover.starts[column + 1]]:
        state.counts[row] -= 1
        if state.counts[row] == 0:
            state.missing[left] = row
            state.places[row] = left
            left += 1
    return left


@compiled_in_order
def _add(cover: Cover, state: _State, column: int, left: int) -> int:
    """Update the counts and the missing rows after a column is added; return their number."""
    for row in cover.held[cover.starts[column] : cover.starts[column + 1]]:
        state.counts[row] += 1
        if state.counts[row] == 1:
            # The last missing row takes the place of this one.
            left -= 1
            last = state.missing[left]
            state.missing[state.places[row]] = last
            state.places[last] = state.places[row]
    return left


@compiled_in_order
def _holders(starts: Integers, held: Integers, rows: int) -> Any:
    """Arrays such that the columns ``holders[first[i]:first[i + 1]]`` hold row i."""
    first = np.zeros(rows + 1, np.int64)
    for row in held:
        first[row + 1] += 1
    first = np.cumsum(first)
    end = first[:-1].copy()
    holders = np.empty(len(held), np.int32)
    for column in range(len(starts) - 1):
        for row in held[starts[column] : starts[column + 1]]:
            holders[end[row]] = column
            end[row] += 1
    return first, holders


@compiled_in_order
def _least_useful(cover: Cover, state: _State, size: int, step: int) -> int:
    """The place of the chosen column that alone holds the least weight for its cost.

    Among equal columns the one that was moved longest ago. A column that was moved in step
    ``step - 1`` stays, if there are others.
    """
    starts, held, costs = cover
    weights, counts, _, _, chosen, moved = state
    at, least = 0, np.inf
    for i in range(size):
        column = chosen[i]
        if moved[column] == step - 1 and size > 1:
            continue
        loss = 0
        for row in held[starts[column] : starts[column + 1]]:
            if counts[row] == 1:
                loss += weights[row]
        ratio = loss / costs[column]
        if ratio < least or (ratio == least and moved[column] < moved[chosen[at]]):
            at, least = i, ratio
    return at


@compiled_in_order
def _most_useful(cover: Cover, state: _State, within: Integers, step: int, limit: int) -> int:
    """The column whose missing rows have the most weight for its cost; -1 if none is allowed.

    The columns are those of `within`, or a random sample of them. A column that costs `limit` or
    more, or that was moved in this step, is not allowed.
    """
    starts, held, costs = cover
    weights, counts, _, _, _, moved = state
    best, most = -1, -1.0
    for i in range(min(SAMPLE, len(within))):
        column = within[i] if len(within) <= SAMPLE else within[np.random.randint(len(within))]
        if moved[column] == step or costs[column] >= limit:
            continue
        gain = 0
        for row in held[starts[column] : starts[column + 1]]:
            if counts[row] == 0:
                gain += weights[row]
        ratio = gain / costs[column]
        if ratio > most or (ratio == most and moved[column] < moved[best]):
            best, most = column, ratio
    return best
