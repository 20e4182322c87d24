"""Newton's method on the dual in compiled loops, for batches of small problems.

`newton` explains the method, `rules` its rules, and `dual` does the same in numpy.

Functions that are called in each step take single arrays, not records. Reading an array from a
record takes some nanoseconds, and a whole small problem only a few thousand.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, copied, exponentials, extended, means, narrowed, sums
from ..elimination import again, factor, inverse_times
from ..fitted import COMPILED_MANY, COMPILED_NEAR
from ..types import Flags, Floats, Integers
from . import rules

__all__ = ["Packed", "Result", "Settings", "solve_range"]

_ENOUGH = 0.01
"""Squared residual of a direction, relative to the first one, at which conjugate gradients end."""

_NOTHING = -1e300
"""Logit of a cell that must be zero."""

_converged = compiled(rules.converged)
_use_of_factor = compiled(rules.use_of_factor)
_falls_enough = compiled(rules.falls_enough)
_cancels = compiled(rules.cancels)


class Packed(NamedTuple):
    """The problems of a batch; see `Batch` for the arrays, where `positions` is `index`.

    `ridge` and `start` (dual variables) have an entry for each known coefficient. `zeros` tells
    which cells must be zero, one row per problem, or has no rows. `log_base` holds the logarithms
    of the distributions relative to which entropy is measured, one row per problem, or has no rows
    for the uniform one. The loops change `start`.
    """

    sizes: Integers
    offsets: Integers
    positions: Integers
    target: Floats
    variance: Floats
    ridge: Floats
    total: Floats
    total_variance: Floats
    start: Floats
    zeros: Flags
    log_base: Floats


class Settings(NamedTuple):
    """The parameters of `Newton`."""

    tolerance: float
    iterations: int
    bars: bool


class Result(NamedTuple):
    """Where the results go, one row per problem.

    `variances` and `undetermined` (see `Bars`) have no rows without bars.
    """

    tables: Floats
    variances: Floats
    undetermined: Floats
    status: Integers
    steps: Integers
    values: Floats
    residuals: Floats


class _Shape(NamedTuple):
    """The sizes of the axes, and whether all of them are two."""

    sizes: Integers
    binary: bool


class _Pairs(NamedTuple):
    """Positions in the extended table of the means of functions and of their products.

    `single` is the position of the mean of each known function. The mean of the product of
    functions i and j is ``factors[i, j]`` times the entry at ``places[i, j]``. On binary axes these
    two are not used.
    """

    single: Integers
    places: NDArray[np.int32]
    factors: Floats


class _Known(NamedTuple):
    """The known coefficients of one problem, by position, and the cells that must be zero.

    `log_base` has no entries for the uniform distribution.
    """

    positions: Integers
    target: Floats
    ridge: Floats
    zeros: Integers
    log_base: Floats
    pairs: _Pairs


class _Work(NamedTuple):
    """Work space that the problems of a range use one after another.

    Shape (cells,): `cells` is the distribution, `trial_cells` that of the line search, `average`
    the means of all functions; `spare` and `scale` are buffers. Shape (extended cells,): the
    buffers `first`, `second` and `spread`. Shape (unknowns,): `trial` are the dual variables of the
    line search, `direction` and `gradient` belong to Newton's method, and `residual`, `scaled`,
    `search` and `product` to conjugate gradients. `matrix` holds the factor of the Hessian, and
    `inverse` its inverse.
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
def _evaluate(
    theta: Floats,
    index: Integers,
    target: Floats,
    ridge: Floats,
    zeros: Integers,
    log_base: Floats,
    shape: _Shape,
    cells: Floats,
    spare: tuple[Floats, Integers],
) -> float:
    """Compute the dual function at `theta`, and write the distribution to `cells`.

    `spare` are `_Work.spare` and `_Work.scale`.
    """
    # The logits: the weighted sum of the functions.
    cells[:] = 0.0
    value = 0.0
    for row in range(index.size):
        cells[index[row]] = theta[row]
        value += theta[row] * (0.5 * ridge[row] * theta[row] - target[row])
    sums(cells, spare[0], shape.sizes, shape.binary)
    for cell in range(log_base.size):
        cells[cell] += log_base[cell]
    for cell in zeros:
        cells[cell] = _NOTHING
    # Exponentials of the logits less the largest one, so that none overflows.
    top = cells[0]
    for cell in range(cells.size):
        top = max(top, cells[cell])
    for cell in range(cells.size):
        cells[cell] -= top
    exponentials(cells, spare[1])
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
def _pair(
    one: Integers,
    other: Integers,
    sizes: Integers,
) -> tuple[int, float]:
    """The mean of the product of two functions: an entry of the extended table, and its factor.

    The functions are given by their digits on each axis. The extended table is in row-major order.
    An axis of n > 2 categories has 2 n - 1 entries: 0 is the constant, 1 to n - 1 are the
    functions, and n to 2 n - 2 are the squares of these functions. An axis of two categories has
    the entries 0 and 1 only, because there the square is one.
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
    """Fill the upper triangles of `places` and `factors` for all pairs of known functions."""
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
def _hessian(
    means_: Floats,
    index: Integers,
    ridge: Floats,
    shape: _Shape,
    pairs: _Pairs,
    matrix: Floats,
) -> None:
    """Compute the upper triangle of the Hessian: covariances of the functions, plus the ridge.

    `means_` are the means of all functions on binary axes, and of all extended ones otherwise.
    """
    single = pairs.single
    places = pairs.places
    factors = pairs.factors
    binary = shape.binary
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
def _times_hessian(
    vector: Floats,
    known: _Known,
    shape: _Shape,
    work: _Work,
) -> None:
    """Multiply the Hessian by a vector, by two transforms, into `work.product`."""
    index = known.positions
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
def _improve(
    known: _Known,
    shape: _Shape,
    work: _Work,
) -> None:
    """Solve Hessian x direction = gradient nearly, by one or two conjugate gradient steps.

    The preconditioner is the factor of an earlier Hessian in `work.matrix`. The second step is left
    out if the residual is small enough after the first one.
    """
    size = known.positions.size
    direction = work.direction
    residual = work.residual
    scaled = work.scaled
    search = work.search
    product = work.product
    direction[:size] = 0.0
    copied(work.gradient[:size], residual)
    norm = 0.0
    goal = 0.0
    for step in range(2):
        # The preconditioned residual and its norm.
        copied(residual[:size], scaled)
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
def _gradient(
    theta: Floats,
    index: Integers,
    target: Floats,
    ridge: Floats,
    average: Floats,
    gradient: Floats,
) -> tuple[float, float, float]:
    """Compute the gradient of the dual into `gradient`; `average` are the means of all functions.

    Returns
    -------
    worst, largest, residual
        The largest absolute entry of the gradient and of the dual variables, and the largest error
        of a moment.
    """
    worst = 0.0
    largest = 0.0
    residual = 0.0
    for row in range(index.size):
        largest = max(largest, abs(theta[row]))
        miss = average[index[row]] - target[row]
        gradient[row] = miss + ridge[row] * theta[row]
        residual = max(residual, abs(miss))
        worst = max(worst, abs(gradient[row]))
    return worst, largest, residual


@compiled
def _solve(
    theta: Floats, known: _Known, shape: _Shape, settings: Settings, work: _Work
) -> tuple[int, int, float, float]:
    """Solve one problem by Newton's method, from given dual variables.

    The loop is that of `Newton._minimise`. It leaves the distribution in `work.cells`, the means of
    all functions in `work.average`, and the last factor in `work.matrix`.

    Returns
    -------
    status, steps, value of the dual, largest error of a moment
        The status is 0 if converged, 1 at the limit of steps, 2 if a Hessian was not positive
        definite.
    """
    index, target, ridge, zeros, log_base, pairs = known
    tolerance, limit, _ = settings
    sizes, binary = shape
    cells = work.cells
    trial_cells = work.trial_cells
    average = work.average
    trial = work.trial
    direction = work.direction
    gradient = work.gradient
    matrix = work.matrix
    spare = (work.spare, work.scale)
    size = index.size
    value = _evaluate(theta, index, target, ridge, zeros, log_base, shape, cells, spare)
    before = 0.0
    residual = 0.0
    for step in range(limit + 1):
        copied(cells, average)
        means(average, spare[0], sizes, binary)
        worst, largest, residual = _gradient(theta, index, target, ridge, average, gradient)
        if _converged(worst, largest, tolerance):
            return 0, step, value, residual
        if step == limit:
            break
        # The direction: the solution of Hessian x direction = gradient, or nearly.
        copied(gradient[:size], direction)
        fall = worst / before if step > 0 else math.inf
        use = _use_of_factor(fall, size, COMPILED_NEAR, COMPILED_MANY)
        if use == rules.PRECONDITIONER:
            _improve(known, shape, work)
        elif use == rules.SAME:
            again(matrix, size, direction)
        else:
            table = average if binary else extended(cells, sizes, work.first, work.second)
            _hessian(table, index, ridge, shape, pairs, matrix)
            if not factor(matrix, size, direction):
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
            new = _evaluate(
                trial[:size], index, target, ridge, zeros, log_base, shape, trial_cells, spare
            )
            if _falls_enough(value, new, length, decrease):
                break
            length /= 2
            if length < rules.SHORTEST:
                return 1, step, value, residual
        value = new
        copied(trial[:size], theta)
        copied(trial_cells, cells)
    return 1, limit, value, residual


@compiled
def solve_range(
    start: int,
    stop: int,
    packed: Packed,
    settings: Settings,
    result: Result,
) -> None:
    """Solve the problems ``range(start, stop)`` of a batch, and write their rows of the result.

    The last three arguments are plain tuples with the fields of the records in their order.
    """
    sizes, offsets, index, target, variance, ridge, total, total_variance = packed[:8]
    first, zeros, log_base = packed[8:]
    tables, variances, undetermined, status, steps, values, residuals = result
    bars = settings[2]
    cell_count = tables.shape[1]
    # Not the literal 1, for which numba would compile `_work` once more.
    largest: Any = np.int64(1)
    wide: Any = np.int64(1)
    for problem in range(start, stop):
        largest = max(largest, offsets[problem + 1] - offsets[problem])
    binary = sizes.size > 0
    for size in sizes:
        binary = binary and size == 2
        wide *= 2 * size - 1 if size > 2 else size
    shape = _Shape(sizes, binary)
    # Rows of matrices start at whole cache lines.
    padded = (largest + 7) // 8 * 8
    work = _work(cell_count, wide, largest, padded, bars)
    # What is looked up for pairs of functions; binary axes need none of it.
    digits = np.zeros((1 if binary else largest, sizes.size), np.int64)
    places = np.zeros((1, 1) if binary else (largest, padded), np.int32)
    factors = np.zeros(places.shape)
    no_cells = np.empty(0, np.int64)
    uniform = np.empty(0)
    for problem in range(start, stop):
        low = offsets[problem]
        high = offsets[problem + 1]
        own = index[low:high]
        single = own
        if not binary:
            _look_up(own, sizes, digits, places, factors)
            single = _entries(digits, high - low, sizes)
        empty = np.flatnonzero(zeros[problem]) if zeros.size else no_cells
        pairs = _Pairs(single, places, factors)
        base = log_base[problem] if log_base.size else uniform
        known = _Known(own, target[low:high], ridge[low:high], empty, base, pairs)
        theta = first[low:high]
        ended, made, value, residual = _solve(theta, known, shape, settings, work)
        status[problem] = ended
        steps[problem] = made
        values[problem] = value
        residuals[problem] = residual
        amount = total[problem]
        for cell in range(cell_count):
            tables[problem, cell] = work.cells[cell] * amount
        if bars:
            errors = (variance[low:high], amount, total_variance[problem])
            _bars(known, errors, shape, work, variances[problem], undetermined[problem])


@compiled
def _work(
    cells: int,
    wide: int,
    unknowns: int,
    padded: int,
    bars: bool,
) -> _Work:
    """The work space for problems of at most these numbers of cells, extended cells, unknowns."""
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
def _entries(
    digits: Integers,
    count: int,
    sizes: Integers,
) -> Integers:
    """Find the position of the mean of each known function in the extended table: (count,)."""
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
    undetermined: Floats,
) -> None:
    """`Bars`: the variance of each cell by the delta method, in `result`, and `undetermined`.

    `errors` are the variances of the targets, the total, and the total's variance. The independent
    errors are in the coefficients, total x target, and in the total. With centred functions g, a
    cell p changes by p g' H^-1 per unit of the targets and by p (1 - g' H^-1 target) / total x
    total per unit of total. `Dual._variance` tells why there are two ways to the quadratic form.
    """
    variance, total, total_variance = errors
    index, target, ridge, _, _, pairs = known
    sizes, binary = shape
    cells = work.cells
    average = work.average
    first = work.first
    tilt = work.direction
    matrix = work.matrix
    inverse = work.inverse
    size = index.size
    # The inverse of the Hessian times the targets, and the inverse itself.
    table = average if binary else extended(cells, sizes, first, work.second)
    _hessian(table, index, ridge, shape, pairs, matrix)
    copied(target, tilt)
    if not factor(matrix, size, tilt):
        result[:] = np.nan
        undetermined[:] = np.nan
        return
    inverse_times(matrix, size, np.ones(size), inverse)
    # What the moments do not determine (`Dual._undetermined`): the quadratic form of the inverse.
    buffers = (first, work.second, work.spread)
    explained = _form_of(inverse, index, average, shape, pairs, buffers)
    for cell in range(cells.size):
        free = cells[cell] - cells[cell] ** 2 * (1 + explained[cell])
        undetermined[cell] = total * total * min(max(free, 0.0), cells[cell])
    # What the targets' errors add, by the inverse times the root of their variances.
    for row in range(size):
        for column in range(size):
            inverse[row, column] *= math.sqrt(variance[column])
    quadratic = _spread_form(inverse, index, average, shape, pairs, buffers)
    squares = 0.0
    for row in range(size):
        for column in range(size):
            squares += inverse[row, column] ** 2
    peak = 0.0
    largest = 0.0
    for cell in range(cells.size):
        result[cell] = max(quadratic[cell], 0.0)
        peak = max(peak, cells[cell])
        largest = max(largest, cells[cell] ** 2 * result[cell])
    if _cancels(squares, cells.size, peak, largest):
        _sum_of_squares(known, shape, work, result)
    _add_total(index, total, total_variance, shape, work, result)


@compiled
def _add_total(
    index: Integers,
    total: float,
    total_variance: float,
    shape: _Shape,
    work: _Work,
    result: Floats,
) -> None:
    """Turn quadratic forms of the targets' errors into variances, and add the total's error.

    `work.direction` holds the inverse of the Hessian times the targets.
    """
    cells = work.cells
    tilt = work.direction
    table = work.first[: cells.size]
    # The weighted sum of the functions, and its mean.
    table[:] = 0.0
    centre = 1.0
    for row in range(index.size):
        table[index[row]] = tilt[row]
        centre += tilt[row] * work.average[index[row]]
    sums(table, work.spare, shape.sizes, shape.binary)
    for cell in range(cells.size):
        by_total = centre - table[cell]
        result[cell] = cells[cell] ** 2 * (
            total * total * result[cell] + total_variance * by_total**2
        )


@compiled
def _form_of(
    matrix: Floats,
    index: Integers,
    average: Floats,
    shape: _Shape,
    pairs: _Pairs,
    buffers: tuple[Floats, Floats, Floats],
) -> Floats:
    """The table of (f - E f)' M (f - E f) for a symmetric matrix M; see `_spread_form`."""
    single, places, factors = pairs
    spread = buffers[2]
    size = index.size
    spread[:] = 0.0
    for row in range(size):
        one = matrix[row, :size]
        if shape.binary:
            spread[0] += one[row]
            for column in range(row + 1, size):
                spread[index[row] ^ index[column]] += 2 * one[column]
        else:
            spread[places[row, row]] += factors[row, row] * one[row]
            for column in range(row + 1, size):
                spread[places[row, column]] += 2 * factors[row, column] * one[column]
        # The linear part, -2 f' M E f, and the constant, E f' M E f.
        pulled = 0.0
        for column in range(size):
            pulled += one[column] * average[index[column]]
        spread[single[row]] -= 2 * pulled
        spread[0] += pulled * average[index[row]]
    return _transformed(shape, buffers)


@compiled
def _transformed(
    shape: _Shape,
    buffers: tuple[Floats, Floats, Floats],
) -> Floats:
    """The sum of products of functions on each cell, from their weights in the last buffer."""
    first, second, spread = buffers
    if shape.binary:
        sums(spread, first, shape.sizes, shape.binary)
        result: Floats = spread
    else:
        result = narrowed(spread, shape.sizes, first, second)
    return result


@compiled
def _spread_form(
    inverse: Floats,
    index: Integers,
    average: Floats,
    shape: _Shape,
    pairs: _Pairs,
    buffers: tuple[Floats, Floats, Floats],
) -> Floats:
    """Compute (f - E f)' M (f - E f) for each cell, where M = inverse inverse'.

    A product of two functions is a multiple of one extended function. So the weights of all
    products are added up for each extended function, and transformed once.
    `buffers` are `_Work.first`, `second` and `spread`.
    """
    binary = shape.binary
    single, places, factors = pairs
    spread = buffers[2]
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
            if binary:
                spread[index[row] ^ index[column]] += product
            else:
                spread[places[row, column]] += factors[row, column] * product
        # The linear part, -2 f' M E f.
        pulled = 0.0
        for column in range(size):
            pulled += one[column] * projected[column]
        spread[single[row]] -= 2 * pulled
    spread[0] += (projected**2).sum()
    return _transformed(shape, buffers)


@compiled
def _sum_of_squares(
    known: _Known,
    shape: _Shape,
    work: _Work,
    result: Floats,
) -> None:
    """Compute the form of `_spread_form` as a sum of squares: slower, but without cancellation."""
    index = known.positions
    inverse = work.inverse
    average = work.average
    table = work.first[: result.size]
    result[:] = 0.0
    for column in range(index.size):
        table[:] = 0.0
        centre = 0.0
        for row in range(index.size):
            table[index[row]] = inverse[row, column]
            centre += inverse[row, column] * average[index[row]]
        sums(table, work.spare, shape.sizes, shape.binary)
        for cell in range(result.size):
            result[cell] += (table[cell] - centre) ** 2
