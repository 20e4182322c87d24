"""The compiled loops of `Newton`, see `newton` for the mathematics and `dual` for the same in
numpy."""

import math
from typing import Any

import numpy as np

from ..compiled import compiled, exponentials, extended, means, narrowed, sums
from ..elimination import again, factor, inverse_times
from ..types import Floats, Integers
from .dual import REUSE, cancels

_NEAR = 0.3
"""When a step made the gradient this small a part of what it was, the factor still serves as a
preconditioner."""

_MANY = 64
"""With fewer unknowns a new factor costs no more than what it saves."""

_ENOUGH = 0.01
"""The squared error, of the first, at which a direction is good enough."""


@compiled
def _evaluate(
    theta: Floats, index: Integers, target: Floats, ridge: Floats, shape: Any, zeros: Integers, cells: Floats,
    spare: Any,
) -> float:  # fmt: skip
    """The dual's value, leaving the distribution in `cells`; those in `zeros` must be zero."""
    cells[:] = 0.0
    value = 0.0
    for row in range(index.size):
        cells[index[row]] = theta[row]
        value += theta[row] * (0.5 * ridge[row] * theta[row] - target[row])
    sums(cells, spare[0], shape[0], shape[1])
    for cell in zeros:
        cells[cell] = -1e300
    top = cells[0]
    for cell in range(cells.size):
        top = max(top, cells[cell])
    for cell in range(cells.size):
        cells[cell] -= top
    exponentials(cells, spare[1])
    for cell in zeros:
        cells[cell] = 0.0
    total = 0.0
    for cell in range(cells.size):
        total += cells[cell]
    inverse = 1 / total
    for cell in range(cells.size):
        cells[cell] *= inverse
    return float(value + top + math.log(total))


@compiled
def _pair(one: Integers, other: Integers, sizes: Integers) -> tuple[int, float]:
    """Which entry of the extended table, and times what, is the mean of the product of two
    functions."""
    place, factor = 0, 1.0
    for axis in range(sizes.size):
        size, low, high = sizes[axis], one[axis], other[axis]
        if low > high:
            low, high = high, low
        if low == high:
            entry = size - 1 + low if size > 2 and low > 0 else 0
        elif low == 0:
            entry = high
        else:
            entry = low
            factor *= math.sqrt(size / (high * (high + 1.0)))
        place = place * (2 * size - 1 if size > 2 else size) + entry
    return place, factor


@compiled
def _look_up(
    index: Integers, sizes: Integers, digits: Integers, places: Any, factors: Floats
) -> None:
    """Fill the upper triangles of `_pair` over all pairs of known functions."""
    for row in range(index.size):
        rest = index[row]
        for axis in range(sizes.size - 1, -1, -1):
            digits[row, axis] = rest % sizes[axis]
            rest //= sizes[axis]
    for row in range(index.size):
        for column in range(row, index.size):
            places[row, column], factors[row, column] = _pair(digits[row], digits[column], sizes)


@compiled
def _hessian(
    means_: Floats, index: Integers, ridge: Floats, shape: Any, pairs: Any, matrix: Floats
) -> None:
    """The upper triangle of the dual's Hessian, from the means of all, or all extended, functions."""
    binary = shape[1]
    places, factors, single = pairs
    for row in range(index.size):
        mean = means_[single[row]]
        if binary:
            for column in range(row, index.size):
                matrix[row, column] = (
                    means_[index[row] ^ index[column]] - mean * means_[single[column]]
                )
        else:
            for column in range(row, index.size):
                matrix[row, column] = (
                    factors[row, column] * means_[places[row, column]]
                    - mean * means_[single[column]]
                )
        matrix[row, row] += ridge[row]


@compiled
def _spread_form(
    inverse: Floats, index: Integers, average: Floats, shape: Any, pairs: Any, buffers: Any
) -> Floats:
    """The table of (f - E f)' M (f - E f) where M = inverse inverse'; products of functions are
    functions again."""
    sizes, binary = shape
    places, factors, single = pairs
    size = index.size
    first, second, spread = buffers
    spread[:] = 0.0
    projected = np.zeros(size)
    for row in range(size):
        for column in range(size):
            projected[column] += inverse[row, column] * average[index[row]]
    for row in range(size):
        one = inverse[row, :size]
        for column in range(row, size):
            other, product = inverse[column, :size], 0.0
            for inner in range(one.size):
                product += one[inner] * other[inner]
            if column > row:
                product *= 2
            if binary:
                spread[index[row] ^ index[column]] += product
            else:
                spread[places[row, column]] += factors[row, column] * product
        pulled = 0.0
        for column in range(size):
            pulled += one[column] * projected[column]
        spread[single[row]] -= 2 * pulled
    spread[0] += (projected**2).sum()
    if binary:
        sums(spread, first, sizes, binary)
        result: Floats = spread
    else:
        result = narrowed(spread, sizes, first, second)
    return result


@compiled
def _times_hessian(
    vector: Floats, index: Integers, ridge: Floats, shape: Any, cells: Floats, average: Floats, table: Floats,
    spare: Floats, product: Floats,
) -> None:  # fmt: skip
    """The product of the dual's Hessian and a vector, by two transforms."""
    table[:] = 0.0
    centre = 0.0
    for row in range(index.size):
        table[index[row]] = vector[row]
        centre += average[index[row]] * vector[row]
    sums(table, spare, shape[0], shape[1])
    for cell in range(cells.size):
        table[cell] *= cells[cell]
    means(table, spare, shape[0], shape[1])
    for row in range(index.size):
        product[row] = table[index[row]] - average[index[row]] * centre + ridge[row] * vector[row]


@compiled
def _improve(
    index: Integers, ridge: Floats, shape: Any, cells: Floats, average: Floats, matrix: Floats, gradient: Floats,
    direction: Floats, work: Any,
) -> None:  # fmt: skip
    """Solve Hessian x direction = gradient by two conjugate gradients, or one if that is near
    enough, preconditioned by the factor that an earlier point left in `matrix`."""
    table, spare, (residual, scaled, search, product) = work
    size = index.size
    direction[:size] = 0.0
    residual[:size] = gradient[:size]
    norm = goal = 0.0
    for step in range(2):
        scaled[:size] = residual[:size]
        again(matrix, size, scaled)
        last, norm = norm, 0.0
        for row in range(size):
            norm += residual[row] * scaled[row]
        if step == 0:
            goal = _ENOUGH * norm
        elif norm <= goal:
            break
        share = norm / last if step > 0 else 0.0
        for row in range(size):
            search[row] = scaled[row] + share * search[row] if step > 0 else scaled[row]
        _times_hessian(search, index, ridge, shape, cells, average, table, spare, product)
        curvature = 0.0
        for row in range(size):
            curvature += search[row] * product[row]
        length = norm / curvature
        for row in range(size):
            direction[row] += length * search[row]
            residual[row] -= length * product[row]


@compiled
def _solve(
    index: Integers, target: Floats, ridge: Floats, tolerance: float, limit: int, shape: Any, pairs: Any,
    zeros: Integers, theta: Floats, cells: Floats, average: Floats, work: Any,
) -> tuple[int, int, float, float]:  # fmt: skip
    """Newton's method for one problem from a given start; status, steps, the dual's value, and the
    largest residual.

    Leaves the distribution in `cells`, the means of all functions in `average`, and the last factor
    in the work space.
    """
    sizes, binary = shape
    spare, scale, trial_cells, trial, direction, gradient, matrix, first, second, vectors = work
    size = index.size
    value, before = _evaluate(theta, index, target, ridge, shape, zeros, cells, (spare, scale)), 0.0
    for step in range(limit + 1):
        average[:] = cells
        means(average, spare, sizes, binary)
        worst, residual, largest = 0.0, 0.0, 0.0
        for row in range(size):
            largest = max(largest, abs(theta[row]))
            miss = average[index[row]] - target[row]
            gradient[row] = miss + ridge[row] * theta[row]
            residual = max(residual, abs(miss))
            worst = max(worst, abs(gradient[row]))
        if worst <= tolerance + 1e-15 * largest:  # see `dual.reached`
            return 0, step, value, residual
        if step == limit:
            break
        direction[:size] = gradient[:size]
        if size > _MANY and worst <= _NEAR * before:
            _improve(
                index, ridge, shape, cells, average, matrix, gradient, direction,
                (first[: cells.size], spare, vectors),
            )  # fmt: skip
        elif worst <= REUSE * before:
            again(matrix, size, direction)
        else:
            table = average if binary else extended(cells, sizes, first, second)
            _hessian(table, index, ridge, shape, pairs, matrix)
            if not factor(matrix, size, direction):
                return 2, step, value, residual
        before = worst
        decrease = 0.0
        for row in range(size):
            decrease += gradient[row] * direction[row]
        length = 1.0
        while True:
            for row in range(size):
                trial[row] = theta[row] - length * direction[row]
            new = _evaluate(
                trial[:size], index, target, ridge, shape, zeros, trial_cells, (spare, scale)
            )
            # So near the optimum rounding hides the fall of the value, and full steps converge.
            if decrease <= 1e-10 * (1 + abs(value)) or new <= value - 0.25 * length * decrease:
                break
            length /= 2
            if length < 1e-12:
                return 1, step, value, residual
        value = new
        theta[:] = trial[:size]
        cells[:] = trial_cells
    return 1, limit, value, residual


@compiled
def solve_range(
    start: int,
    stop: int,
    sizes: Integers,
    batch: Any,
    start_theta: Floats,
    settings: Any,
    zeros: Any,
    result: Any,
) -> None:
    """Solve the problems from `start` up to `stop` of a packed batch, writing rows of the arrays in
    `result`.

    `zeros` tells which cells must be zero, a row a problem, or has no rows.
    """
    offsets, index, target, variance, ridge, total, total_variance = batch
    tolerance, limit, bars = settings
    tables, variances, status, steps, values, residuals = result
    cell_count = tables.shape[1]
    largest, wide = 1, 1
    for problem in range(start, stop):
        largest = max(largest, offsets[problem + 1] - offsets[problem])
    for size in sizes:
        wide *= 2 * size - 1 if size > 2 else size
    binary = wide == cell_count and sizes.size > 0 and cell_count == 1 << sizes.size
    shape = (sizes, binary)
    first, second, spread = np.empty(wide), np.empty(wide), np.empty(wide)
    spare, scale, average = (
        np.empty(cell_count),
        np.empty(cell_count, np.int64),
        np.empty(cell_count),
    )
    cells, trial_cells = np.empty(cell_count), np.empty(cell_count)
    trial, direction, gradient = np.empty(largest), np.empty(largest), np.empty(largest)
    vectors = (np.empty(largest), np.empty(largest), np.empty(largest), np.empty(largest))
    padded = (largest + 7) // 8 * 8
    matrix, inverse = np.empty((largest, padded)), np.empty((largest, padded) if bars else (1, 1))
    digits = np.zeros((1 if binary else largest, sizes.size), np.int64)
    places = np.zeros((1, 1) if binary else (largest, padded), np.int32)
    factors = np.zeros(places.shape)
    no_cells = np.empty(0, np.int64)
    work = (spare, scale, trial_cells, trial, direction, gradient, matrix, first, second, vectors)
    for problem in range(start, stop):
        low, high = offsets[problem], offsets[problem + 1]
        size = high - low
        own, aim, lam = index[low:high], target[low:high], ridge[low:high]
        single = own
        if not binary:
            _look_up(own, sizes, digits, places, factors)
            single = np.array(
                [_pair(digits[row], digits[0] * 0, sizes)[0] for row in range(size)], np.int64
            )
        pairs = (places, factors, single)
        empty = np.flatnonzero(zeros[problem]) if zeros.size else no_cells
        theta = start_theta[low:high]
        status[problem], steps[problem], values[problem], residuals[problem] = _solve(
            own, aim, lam, tolerance, limit, shape, pairs, empty, theta, cells, average, work
        )
        amount = total[problem]
        for cell in range(cell_count):
            tables[problem, cell] = cells[cell] * amount
        if bars:
            _bars(
                own, aim, lam, variance[low:high], amount, total_variance[problem], shape, pairs, cells, average,
                matrix, inverse, (direction, spare, first, second, spread), variances[problem],
            )  # fmt: skip


cancels_compiled = compiled(cancels)


@compiled
def _bars(
    index: Integers, target: Floats, ridge: Floats, variance: Floats, total: float, total_variance: float, shape: Any,
    pairs: Any, cells: Floats, average: Floats, matrix: Floats, inverse: Floats, work: Any, result: Floats,
) -> None:  # fmt: skip
    """The variance of each cell by the delta method.

    The independent errors are those of the coefficients total x target and of the total. With
    centred functions g, a cell p changes by p g' H^-1 per unit of the targets and by p (1 - g' H^-1
    target) / total x total per unit of total. See `Dual.variance` for why there are two ways to the
    quadratic form.
    """
    sizes, binary = shape
    size = index.size
    tilt, spare, first, second, spread = work
    table = average if binary else extended(cells, sizes, first, second)
    _hessian(table, index, ridge, shape, pairs, matrix)
    tilt[:size] = target
    if not factor(matrix, size, tilt):
        result[:] = np.nan
        return
    inverse_times(matrix, size, np.sqrt(variance), inverse)
    quadratic = _spread_form(inverse, index, average, shape, pairs, (first, second, spread))
    squares, peak, largest = 0.0, 0.0, 0.0
    for row in range(size):
        for column in range(size):
            squares += inverse[row, column] ** 2
    for cell in range(cells.size):
        result[cell] = max(quadratic[cell], 0.0)
        peak, largest = max(peak, cells[cell]), max(largest, cells[cell] ** 2 * result[cell])
    if cancels_compiled(squares, cells.size, peak, largest):
        result[:] = 0.0
        for column in range(size):
            first[: cells.size] = 0.0
            centre = 0.0
            for row in range(size):
                first[index[row]] = inverse[row, column]
                centre += inverse[row, column] * average[index[row]]
            sums(first[: cells.size], spare, sizes, binary)
            for cell in range(cells.size):
                result[cell] += (first[cell] - centre) ** 2
    first[: cells.size] = 0.0
    centre = 1.0
    for row in range(size):
        first[index[row]] = tilt[row]
        centre += tilt[row] * average[index[row]]
    sums(first[: cells.size], spare, sizes, binary)
    for cell in range(cells.size):
        by_total = centre - first[cell]
        result[cell] = cells[cell] ** 2 * (
            total * total * result[cell] + total_variance * by_total**2
        )
