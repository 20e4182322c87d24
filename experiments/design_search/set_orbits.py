"""The compiled loops of covers made of whole orbits; numba is needed, so this is imported only when
used."""

from typing import Any

import numpy as np

from margin.designs.types import Integers
from margin.solvers.compiled import compiled_in_order

STACK = 2_000_000  # the largest orbit that is followed
SAMPLE = 150  # columns that are weighed for each addition
NO_COVER = 1 << 60  # the cost before there is a cover


@compiled_in_order
def _rank(mask: int, binomials: Integers) -> int:
    """The place of a set of points in colexicographic order."""
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
    largest : int
        Larger orbits are not listed.

    Returns
    -------
    (numbers, leaders, sizes)
        The number of the orbit of each k-subset, -1 if it is not listed, shape (comb(v, k),); of
        each orbit a set, as the digits of an int, and its size.
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
            stack[0] = mask
            end, at = 1, 0
            numbers[rank] = found
            while at < end:
                one = stack[at]
                at += 1
                for g in range(len(generators)):
                    image = 0
                    for point in range(v):
                        if one >> point & 1:
                            image |= 1 << generators[g, point]
                    place = _rank(image, binomials)
                    if numbers[place] == -2:
                        numbers[place] = found
                        stack[end] = image
                        end += 1
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
def held_orbits(
    leaders: Integers, k: int, t: int, numbers: Integers, subsets: Integers, binomials: Integers
) -> Any:
    """Which orbits of t-subsets the sets of each orbit of k-subsets hold.

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
        size = 0
        for point in range(64):
            if leaders[i] >> point & 1:
                points[size] = point
                size += 1
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


@compiled_in_order
def light_cover(
    starts: Integers, held: Integers, costs: Integers, rows: int, steps: int, seed: int
) -> Any:
    """Columns of little cost that hold every row, by local search with weights on the rows.

    Columns are removed, the least useful first, until one more could make a cover that costs less
    than the best; then one or more are added, for rows that are missing, as the cost allows. Rows
    that stay missing gain weight.

    Parameters
    ----------
    starts, held : array
        Column i holds the rows ``held[starts[i]:starts[i + 1]]``.
    costs : array, shape (columns,)
    rows, steps, seed : int

    Returns
    -------
    (cost, columns); cost -1 when no columns hold some row

    References
    ----------
    C. Gao, X. Yao, T. Weise, J. Li, An efficient local search heuristic with row weighting for the
    unicost set covering problem, European J. Oper. Res. 246 (2015), 750-761.
    """
    np.random.seed(seed)
    columns = len(costs)
    first, holders = _holders(starts, held, rows)
    for row in range(rows):
        if first[row] == first[row + 1]:
            return -1, np.empty(0, np.int64)
    weights = np.ones(rows, np.int64)
    counts = np.zeros(rows, np.int64)  # chosen columns that hold a row
    chosen = np.empty(columns, np.int64)
    moved = np.full(columns, -2, np.int64)  # the step in which a column was added or removed
    missing, places = (
        np.arange(rows),
        np.arange(rows),
    )  # the rows that are missing come first; where each row stands
    size, left, cost = 0, rows, 0
    best, best_columns = NO_COVER, np.empty(0, np.int64)
    for step in range(steps):
        if left == 0:
            best, best_columns = cost, chosen[:size].copy()
        removed = 0
        while size > 0 and (left == 0 or cost >= best - 1 or removed == 0):
            at = _least_useful(
                starts, held, costs, weights, counts, chosen[:size], moved, step if left > 0 else -1
            )
            column = chosen[at]
            size, removed = size - 1, removed + 1
            chosen[at] = chosen[size]
            moved[column] = step
            cost -= costs[column]
            for row in held[starts[column] : starts[column + 1]]:
                counts[row] -= 1
                if counts[row] == 0:
                    missing[left], places[row] = row, left
                    left += 1
        while left > 0:
            row = missing[np.random.randint(left)]
            within = holders[first[row] : first[row + 1]]
            column = _most_useful(
                starts, held, costs, weights, counts, within, moved, step, best - cost
            )
            if column < 0:
                break
            chosen[size] = column
            size += 1
            moved[column] = step
            cost += costs[column]
            for row in held[starts[column] : starts[column + 1]]:
                counts[row] += 1
                if counts[row] == 1:
                    left -= 1
                    last = missing[left]
                    missing[places[row]], places[last] = last, places[row]
            if (
                best < NO_COVER and np.random.random() < 0.5
            ):  # always one, and the number of columns could not grow
                break
        for row in missing[:left]:
            weights[row] += 1
    return (best, best_columns) if best < NO_COVER else (-1, best_columns)


@compiled_in_order
def _holders(starts: Integers, held: Integers, rows: int) -> Any:
    """The columns that hold row i are ``holders[first[i]:first[i + 1]]``."""
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
def _least_useful(
    starts: Integers,
    held: Integers,
    costs: Integers,
    weights: Integers,
    counts: Integers,
    chosen: Integers,
    moved: Integers,
    step: int,
) -> int:
    """The place among the chosen of the column that holds the least weight alone, for its cost; the
    oldest of equals.

    One that was added in the step before this one stays, if there are others.
    """
    at, least = 0, np.inf
    for i in range(len(chosen)):
        column = chosen[i]
        if moved[column] == step - 1 and len(chosen) > 1:
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
def _most_useful(
    starts: Integers,
    held: Integers,
    costs: Integers,
    weights: Integers,
    counts: Integers,
    within: Integers,
    moved: Integers,
    step: int,
    limit: int,
) -> int:
    """Of some columns, or a sample, the one of cost below the limit that adds the most weight for
    it; -1 if none can.

    What was moved in this step stays as it is.
    """
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
