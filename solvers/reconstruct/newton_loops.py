"""The compiled loops of `Newton`.

`newton` has the mathematics and `rules` the rules; `dual` has the same in numpy.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, exponentials, extended, means, narrowed, sums
from ..elimination import again, factor, inverse_times
from ..fitted import COMPILED_MANY, COMPILED_NEAR
from ..types import Flags, Floats, Integers
from . import rules

__all__ = ["Packed", "Result", "Settings", "solve_range"]

_ENOUGH = 0.01
"""Squared error of a direction, relative to the first one, at which it is good enough."""

_NOTHING = -1e300
"""Logit of a cell that must be zero."""

_converged = compiled(rules.converged)
_use_of_factor = compiled(rules.use_of_factor)
_falls_enough = compiled(rules.falls_enough)
_cancels = compiled(rules.cancels)


class Packed(NamedTuple):
    """The problems of a batch; see `Batch` for the arrays.

    `ridge` and `start` (dual variables) have an entry for each known coefficient. `zeros` tells
    which cells must be zero, one row per problem, or has no rows. The loops change `start`.
    """

    sizes: Integers
    offsets: Integers
    index: Integers
    target: Floats
    variance: Floats
    ridge: Floats
    total: Floats
    total_variance: Floats
    start: Floats
    zeros: Flags


class Settings(NamedTuple):
    """The parameters of `Newton`."""

    tolerance: float
    iterations: int
    bars: bool


class Result(NamedTuple):
    """Where the results go, one row per problem; `variances` has no rows without bars."""

    tables: Floats
    variances: Floats
    status: Integers
    steps: Integers
    values: Floats
    residuals: Floats


class _Shape(NamedTuple):
    """The sizes of the axes, and whether all of them are two."""

    sizes: Integers
    binary: bool


class _Known(NamedTuple):
    """What is known in one problem of m coefficients.

    `zeros` are the cells that must be zero. `single` is the entry of each function in the extended
    table. `places` and `factors` tell, for each pair of functions, the entry and the number that
    make up the mean of their product; on binary axes they are not used.
    """

    index: Integers
    target: Floats
    ridge: Floats
    zeros: Integers
    single: Integers
    places: NDArray[np.int32]
    factors: Floats


class _Work(NamedTuple):
    """Arrays that all problems of a range use one after the other.

    Of the shape of the table: `cells` (the distribution), `trial_cells`, `average` (the means of
    all functions), `spare`, `scale`. Of the extended table: `first`, `second`, `spread`. Of the
    dual variables: `trial`, `direction`, `gradient`, `residual`, `scaled`, `search`, `product`.
    """

    cells: Floats
    trial_cells: Floats
    average: Floats
    spare: Floats
    scale: Integers
    first: Floats
    second: Floats
    spread: Floats
    trial: Floats
    direction: Floats
    gradient: Floats
    residual: Floats
    scaled: Floats
    search: Floats
    product: Floats
    matrix: Floats
    inverse: Floats


@compiled
def _evaluate(theta: Floats, known: _Known, shape: _Shape, cells: Floats, work: _Work) -> float:
    """The dual's value at some dual variables; leaves the distribution in `cells`."""
    index = known.index
    ridge = known.ridge
    target = known.target
    zeros = known.zeros
    # The logits: the weighted sum of the functions.
    cells[:] = 0.0
    value = 0.0
    for row in range(index.size):
        cells[index[row]] = theta[row]
        value += theta[row] * (0.5 * ridge[row] * theta[row] - target[row])
    sums(cells, work.spare, shape.sizes, shape.binary)
    for cell in zeros:
        cells[cell] = _NOTHING
    # Exponentials of the logits less the largest one, so that none overflows.
    top = cells[0]
    for cell in range(cells.size):
        top = max(top, cells[cell])
    for cell in range(cells.size):
        cells[cell] -= top
    exponentials(cells, work.scale)
    for cell in zeros:
        cells[cell] = 0.0
    # Scaled to sum one.
    total = 0.0
    for cell in range(cells.size):
        total += cells[cell]
    inverse = 1 / total
    for cell in range(cells.size):
        cells[cell] *= inverse
    return float(value + top + math.log(total))


@compiled
def _pair(one: Integers, other: Integers, sizes: Integers) -> tuple[int, float]:
    """The mean of the product of two functions: an entry of the extended table, and its factor.

    The functions are given by their digits on each axis.
    """
    place = 0
    factor = 1.0
    for axis in range(sizes.size):
        size = sizes[axis]
        low = one[axis]
        high = other[axis]
        if low > high:
            low, high = high, low
        if low == high:
            # A square; on two categories, and of the constant, it is one.
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
    index: Integers,
    sizes: Integers,
    digits: Integers,
    places: NDArray[np.int32],
    factors: Floats,
) -> None:
    """Fill the upper triangles of `_pair` over all pairs of known functions."""
    for row in range(index.size):
        rest = index[row]
        for axis in range(sizes.size - 1, -1, -1):
            digits[row, axis] = rest % sizes[axis]
            rest //= sizes[axis]
    for row in range(index.size):
        for column in range(row, index.size):
            place, factor = _pair(digits[row], digits[column], sizes)
            places[row, column] = place
            factors[row, column] = factor


@compiled
def _hessian(means_: Floats, known: _Known, shape: _Shape, matrix: Floats) -> None:
    """The upper triangle of the dual's Hessian: covariances of the functions, plus the ridge.

    `means_` are the means of all functions on binary axes, and of all extended ones otherwise.
    """
    index = known.index
    ridge = known.ridge
    single = known.single
    places = known.places
    factors = known.factors
    for row in range(index.size):
        mean = means_[single[row]]
        if shape.binary:
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
def _new_hessian(known: _Known, shape: _Shape, work: _Work) -> None:
    """Write the Hessian at `work.cells` to `work.matrix`; `work.average` has the means there."""
    if shape.binary:
        _hessian(work.average, known, shape, work.matrix)
    else:
        table = extended(work.cells, shape.sizes, work.first, work.second)
        _hessian(table, known, shape, work.matrix)


@compiled
def _times_hessian(vector: Floats, known: _Known, shape: _Shape, work: _Work) -> None:
    """The product of the dual's Hessian and a vector, by two transforms, in `work.product`."""
    index = known.index
    ridge = known.ridge
    cells = work.cells
    average = work.average
    product = work.product
    table = work.first[: cells.size]
    # The weighted sum of the functions, times the distribution, averaged over each function.
    table[:] = 0.0
    centre = 0.0
    for row in range(index.size):
        table[index[row]] = vector[row]
        centre += average[index[row]] * vector[row]
    sums(table, work.spare, shape.sizes, shape.binary)
    for cell in range(cells.size):
        table[cell] *= cells[cell]
    means(table, work.spare, shape.sizes, shape.binary)
    for row in range(index.size):
        product[row] = table[index[row]] - average[index[row]] * centre + ridge[row] * vector[row]


@compiled
def _improve(known: _Known, shape: _Shape, work: _Work) -> None:
    """Solve Hessian x direction = gradient by one or two conjugate gradients.

    The factor that an earlier point left in `work.matrix` is the preconditioner. One step is taken
    if that is good enough.
    """
    size = known.index.size
    direction = work.direction
    residual = work.residual
    scaled = work.scaled
    search = work.search
    product = work.product
    direction[:size] = 0.0
    residual[:size] = work.gradient[:size]
    norm = 0.0
    goal = 0.0
    for step in range(2):
        # The preconditioned residual and its norm.
        scaled[:size] = residual[:size]
        again(work.matrix, size, scaled)
        last = norm
        norm = 0.0
        for row in range(size):
            norm += residual[row] * scaled[row]
        if step == 0:
            goal = _ENOUGH * norm
        elif norm <= goal:
            break
        # The search direction, conjugate to the one before.
        share = norm / last if step > 0 else 0.0
        for row in range(size):
            search[row] = scaled[row] + share * search[row] if step > 0 else scaled[row]
        _times_hessian(search, known, shape, work)
        curvature = 0.0
        for row in range(size):
            curvature += search[row] * product[row]
        length = norm / curvature
        for row in range(size):
            direction[row] += length * search[row]
            residual[row] -= length * product[row]


@compiled
def _gradient(theta: Floats, known: _Known, shape: _Shape, work: _Work) -> tuple[float, float]:
    """The largest entry of the dual's gradient, and the largest error of a moment.

    Leaves the gradient in `work.gradient` and the means of all functions in `work.average`.
    """
    index = known.index
    average = work.average
    average[:] = work.cells
    means(average, work.spare, shape.sizes, shape.binary)
    worst = 0.0
    residual = 0.0
    for row in range(index.size):
        miss = average[index[row]] - known.target[row]
        work.gradient[row] = miss + known.ridge[row] * theta[row]
        residual = max(residual, abs(miss))
        worst = max(worst, abs(work.gradient[row]))
    return worst, residual


@compiled
def _direction(fall: float, known: _Known, shape: _Shape, work: _Work) -> bool:
    """The solution of Hessian x direction = gradient, or nearly, in `work.direction`.

    False if the Hessian is not positive definite.
    """
    size = known.index.size
    direction = work.direction
    direction[:size] = work.gradient[:size]
    use = _use_of_factor(fall, size, COMPILED_NEAR, COMPILED_MANY)
    if use == rules.PRECONDITIONER:
        _improve(known, shape, work)
    elif use == rules.SAME:
        again(work.matrix, size, direction)
    else:
        _new_hessian(known, shape, work)
        return factor(work.matrix, size, direction)
    return True


@compiled
def _solve(
    theta: Floats, known: _Known, shape: _Shape, settings: Settings, work: _Work
) -> tuple[int, int, float, float]:
    """Newton's method for one problem, from given dual variables.

    The loop of `Newton._minimise`. Leaves the distribution in `work.cells`, the means of all
    functions in `work.average`, and the last factor in `work.matrix`.

    Returns
    -------
    status, steps, value of the dual, largest error of a moment
        The status is 0 if converged, 1 at the limit of steps, 2 if a Hessian was not positive
        definite.
    """
    size = known.index.size
    gradient = work.gradient
    direction = work.direction
    trial = work.trial
    value = _evaluate(theta, known, shape, work.cells, work)
    before = 0.0
    residual = 0.0
    for step in range(settings.iterations + 1):
        worst, residual = _gradient(theta, known, shape, work)
        largest = 0.0
        for row in range(size):
            largest = max(largest, abs(theta[row]))
        if _converged(worst, largest, settings.tolerance):
            return 0, step, value, residual
        if step == settings.iterations:
            break
        fall = worst / before if step > 0 else math.inf
        if not _direction(fall, known, shape, work):
            return 2, step, value, residual
        before = worst
        decrease = 0.0
        for row in range(size):
            decrease += gradient[row] * direction[row]
        # The line search: half the step until the value falls enough.
        length = 1.0
        while True:
            for row in range(size):
                trial[row] = theta[row] - length * direction[row]
            new = _evaluate(trial[:size], known, shape, work.trial_cells, work)
            if _falls_enough(value, new, length, decrease):
                break
            length /= 2
            if length < rules.SHORTEST:
                return 1, step, value, residual
        value = new
        theta[:] = trial[:size]
        work.cells[:] = work.trial_cells
    return 1, settings.iterations, value, residual


@compiled
def solve_range(start: int, stop: int, packed: Packed, settings: Settings, result: Result) -> None:
    """Solve the problems from `start` up to `stop` of a batch, and write rows of the result."""
    sizes = packed.sizes
    cell_count = result.tables.shape[1]
    largest = 1
    for problem in range(start, stop):
        largest = max(largest, packed.offsets[problem + 1] - packed.offsets[problem])
    binary = sizes.size > 0 and cell_count == 1 << sizes.size
    wide = 1
    for size in sizes:
        binary = binary and size == 2
        wide *= 2 * size - 1 if size > 2 else size
    shape = _Shape(sizes, binary)
    # Rows of matrices start at whole cache lines.
    padded = (largest + 7) // 8 * 8
    work = _work(cell_count, wide, largest, padded, settings.bars)
    # What is looked up for pairs of functions; binary axes need none of it.
    digits = np.zeros((1 if binary else largest, sizes.size), np.int64)
    places = np.zeros((1, 1) if binary else (largest, padded), np.int32)
    factors = np.zeros(places.shape)
    no_cells = np.empty(0, np.int64)
    for problem in range(start, stop):
        low = packed.offsets[problem]
        high = packed.offsets[problem + 1]
        index = packed.index[low:high]
        single = index
        if not binary:
            _look_up(index, sizes, digits, places, factors)
            single = _entries(digits, high - low, sizes)
        zeros = np.flatnonzero(packed.zeros[problem]) if packed.zeros.size else no_cells
        known = _Known(
            index, packed.target[low:high], packed.ridge[low:high], zeros, single, places, factors
        )
        theta = packed.start[low:high]
        status, steps, value, residual = _solve(theta, known, shape, settings, work)
        result.status[problem] = status
        result.steps[problem] = steps
        result.values[problem] = value
        result.residuals[problem] = residual
        total = packed.total[problem]
        for cell in range(cell_count):
            result.tables[problem, cell] = work.cells[cell] * total
        if settings.bars:
            errors = (packed.variance[low:high], total, packed.total_variance[problem])
            _bars(known, errors, shape, work, result.variances[problem])


@compiled
def _work(cells: int, wide: int, unknowns: int, padded: int, bars: bool) -> _Work:
    """The arrays for problems of up to so many cells, extended cells and unknowns."""
    return _Work(
        np.empty(cells),
        np.empty(cells),
        np.empty(cells),
        np.empty(cells),
        np.empty(cells, np.int64),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(unknowns),
        np.empty(unknowns),
        np.empty(unknowns),
        np.empty(unknowns),
        np.empty(unknowns),
        np.empty(unknowns),
        np.empty(unknowns),
        np.empty((unknowns, padded)),
        np.empty((unknowns, padded) if bars else (1, 1)),
    )


@compiled
def _entries(digits: Integers, count: int, sizes: Integers) -> Integers:
    """The entry of each known function in the extended table, shape (count,)."""
    constant = digits[0] * 0
    entries = np.empty(count, np.int64)
    for row in range(count):
        entries[row] = _pair(digits[row], constant, sizes)[0]
    return entries


@compiled
def _bars(
    known: _Known,
    errors: tuple[Floats, float, float],
    shape: _Shape,
    work: _Work,
    result: Floats,
) -> None:
    """The variance of each cell by the delta method.

    `errors` are the variances of the targets, the total, and the total's variance. The independent
    errors are in the coefficients, total x target, and in the total. With centred functions g, a
    cell p changes by p g' H^-1 per unit of the targets and by p (1 - g' H^-1 target) / total x
    total per unit of total. `Dual.variance` tells why there are two ways to the quadratic form.
    """
    variance, total, total_variance = errors
    size = known.index.size
    cells = work.cells
    tilt = work.direction
    # The inverse of the Hessian times the targets, and times the root of their variances.
    _new_hessian(known, shape, work)
    tilt[:size] = known.target
    if not factor(work.matrix, size, tilt):
        result[:] = np.nan
        return
    inverse_times(work.matrix, size, np.sqrt(variance), work.inverse)
    # The quadratic form of each cell, by one transform of the products of the functions.
    quadratic = _spread_form(known, shape, work)
    squares = 0.0
    for row in range(size):
        for column in range(size):
            squares += work.inverse[row, column] ** 2
    peak = 0.0
    largest = 0.0
    for cell in range(cells.size):
        result[cell] = max(quadratic[cell], 0.0)
        peak = max(peak, cells[cell])
        largest = max(largest, cells[cell] ** 2 * result[cell])
    if _cancels(squares, cells.size, peak, largest):
        _sum_of_squares(known, shape, work, result)
    # What the total's error adds.
    table = work.first[: cells.size]
    centre = _weighted(tilt, 1.0, known, shape, work)
    for cell in range(cells.size):
        by_total = centre - table[cell]
        result[cell] = cells[cell] ** 2 * (
            total * total * result[cell] + total_variance * by_total**2
        )


@compiled
def _spread_form(known: _Known, shape: _Shape, work: _Work) -> Floats:
    """The table of (f - E f)' M (f - E f) where M = inverse inverse'.

    Products of functions are functions again: their weights are added up and transformed once.
    """
    index = known.index
    places = known.places
    factors = known.factors
    single = known.single
    inverse = work.inverse
    average = work.average
    spread = work.spread
    size = index.size
    spread[:] = 0.0
    projected = np.zeros(size)
    for row in range(size):
        for column in range(size):
            projected[column] += inverse[row, column] * average[index[row]]
    for row in range(size):
        one = inverse[row, :size]
        for column in range(row, size):
            # An entry of M goes to the product of two functions.
            other = inverse[column, :size]
            product = 0.0
            for inner in range(one.size):
                product += one[inner] * other[inner]
            if column > row:
                product *= 2
            if shape.binary:
                spread[index[row] ^ index[column]] += product
            else:
                spread[places[row, column]] += factors[row, column] * product
        # The linear part, -2 f' M E f.
        pulled = 0.0
        for column in range(size):
            pulled += one[column] * projected[column]
        spread[single[row]] -= 2 * pulled
    spread[0] += (projected**2).sum()
    if shape.binary:
        sums(spread, work.first, shape.sizes, shape.binary)
        result: Floats = spread
    else:
        result = narrowed(spread, shape.sizes, work.first, work.second)
    return result


@compiled
def _weighted(weights: Floats, constant: float, known: _Known, shape: _Shape, work: _Work) -> float:
    """Write the weighted sum of the functions to `work.first`; the constant plus its mean."""
    index = known.index
    table = work.first[: work.cells.size]
    table[:] = 0.0
    mean = constant
    for row in range(index.size):
        table[index[row]] = weights[row]
        mean += weights[row] * work.average[index[row]]
    sums(table, work.spare, shape.sizes, shape.binary)
    return mean


@compiled
def _sum_of_squares(known: _Known, shape: _Shape, work: _Work, result: Floats) -> None:
    """The quadratic form of `_spread_form` as a sum of squares, which rounding does not spoil."""
    table = work.first[: result.size]
    result[:] = 0.0
    for column in range(known.index.size):
        centre = _weighted(work.inverse[:, column], 0.0, known, shape, work)
        for cell in range(result.size):
            result[cell] += (table[cell] - centre) ** 2
