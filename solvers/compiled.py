"""Decorators that compile loops with numba, and compiled versions of the transforms of `basis`.

Importing numba takes about a second. So a module that uses it is imported only when there is
enough work. Such modules are named ``*_loops``.

A table is a flat vector in which the last axis changes fastest. On an axis of n categories, the
basis functions with mean square one are f_0 = 1 and f_r = c_r (1, ..., 1, -r, 0, ..., 0) with r
ones and c_r = sqrt(n / (r (r + 1))). The entries E[f_S f_T] of the Hessian are read from one
*extended* table, for two reasons. First, for 0 < i < j, f_i f_j = c_j f_i, because f_j is constant
where f_i is not zero. Second, the extended table also holds the means of the squares f_i ** 2; on
binary axes these are one. Along an axis of n > 2 categories it has 2 n - 1 entries: n means of
functions and n - 1 means of squares.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from .types import Floats, Integers

_Function = TypeVar("_Function", bound=Callable[..., Any])

_REORDER = {"contract", "reassoc", "nsz", "arcp"}
"""Flags that let the compiler vectorise sums; infinities and NaN keep their meaning."""

_IN_ORDER = {"contract"}
"""Flags that let the compiler fuse a product and a sum, but not reorder sums."""


def compiled(function: _Function) -> _Function:
    """Decorator: translate a function to machine code by numba.

    Other Python threads run while the function runs. To be faster, the machine code may add up
    numbers in another order than written, so the last digits of sums may differ. It is kept on
    disk for the next process.
    """
    return _njit(function, _REORDER)


def compiled_in_order(function: _Function) -> _Function:
    """Decorator like `compiled`, but numbers are added up in the written order."""
    return _njit(function, _IN_ORDER)


def compiled_finite(function: _Function) -> _Function:
    """Decorator like `compiled`, for loops without NaN: largest numbers are found in vectors."""
    return _njit(function, {*_REORDER, "nnan"})


def _njit(function: _Function, liberties: set[str]) -> _Function:
    """Compile a function with numba's `fastmath` flags `liberties`; see `compiled`."""
    jit: Any = numba.njit(
        cache=True,
        nogil=True,
        error_model="numpy",
        fastmath=liberties,
    )
    return cast(_Function, jit(function))


@compiled
def copied(
    source: Any,
    target: Any,
) -> None:
    """Copy a vector to the start of another one, which is at least as long.

    numba takes five seconds to compile the first assignment to a slice, ``target[:size] = source``:
    it compiles the text of an error, too.
    """
    for place in range(source.size):
        target[place] = source[place]


@compiled
def means(
    values: Floats,
    spare: Floats,
    sizes: Integers,
    binary: bool,
) -> None:
    """Replace a table by the sum of its cells times each basis function, shape (cells,), in place.

    The basis functions have mean square one. For a distribution, the sums are their means: the
    moments. `sizes` are the sizes of the axes. `spare` is work space of the table's length.
    `binary` tells that all sizes are two.
    """
    cells = values.size
    if binary:
        # The last axis is transformed and becomes the first one. After as many rounds as there
        # are axes, all axes are in their places again.
        source = values
        target = spare
        half = cells // 2
        for _ in range(sizes.size):
            for cell in range(half):
                target[cell] = source[2 * cell] + source[2 * cell + 1]
                target[half + cell] = source[2 * cell] - source[2 * cell + 1]
            source, target = target, source
        if sizes.size % 2:
            copied(spare[:cells], values)
        return
    before = 1
    after = cells
    for size in sizes:
        after //= size
        for outer in range(before):
            start = outer * size * after
            for row in range(1, size):
                scale = math.sqrt(size / (row * (row + 1.0)))
                # Row 0 holds the sum of the rows that were passed.
                for constant in range(start, start + after):
                    value = values[constant + row * after]
                    running = values[constant]
                    values[constant + row * after] = scale * (running - row * value)
                    values[constant] = running + value
        before *= size


@compiled
def sums(
    values: Floats,
    spare: Floats,
    sizes: Integers,
    binary: bool,
) -> None:
    """Replace the weights of the basis functions by the weighted sum of the functions, in place.

    The sum is a table, shape (cells,). This is the transpose of `means`, with the same arguments.
    """
    if binary:
        means(values, spare, sizes, binary)  # on binary axes the transform is symmetric
        return
    before = 1
    after = values.size
    for size in sizes:
        after //= size
        for outer in range(before):
            start = outer * size * after
            # The steps of `means` in the reverse order.
            for row in range(size - 1, 0, -1):
                scale = math.sqrt(size / (row * (row + 1.0)))
                for constant in range(start, start + after):
                    weight = scale * values[constant + row * after]
                    running = values[constant]
                    values[constant + row * after] = running - row * weight
                    values[constant] = running + weight
        before *= size


@compiled
def extended(
    table: Floats,
    sizes: Integers,
    first: Floats,
    second: Floats,
) -> Floats:
    """Compute the extended table of a table: the means of the basis functions and their squares.

    The module describes it. The result is one of the two buffers `first` and `second`. Each has at
    least as many entries as the extended table.
    """
    source = first
    target = second
    copied(table, source)
    before = 1
    after = table.size
    for size in sizes:
        after //= size
        wide = 2 * size - 1 if size > 2 else size
        for outer in range(before):
            start = outer * size * after
            place = outer * wide * after
            copied(source[start : start + after], target[place:])
            for row in range(1, size):
                scale = size / (row * (row + 1.0))
                root = math.sqrt(scale)
                # The squares stand after the functions.
                square = place + (size - 1 + row) * after
                for inner in range(after):
                    value = source[start + row * after + inner]
                    running = target[place + inner]
                    target[place + row * after + inner] = root * (running - row * value)
                    target[place + inner] = running + value
                    if size > 2:
                        target[square + inner] = scale * (running + row * row * value)
        before *= wide
        source, target = target, source
    return source


@compiled
def narrowed(
    weights: Floats,
    sizes: Integers,
    first: Floats,
    second: Floats,
) -> Floats:
    """Add up basis functions and squares with given weights: the transpose of `extended`.

    The result, a table of shape (cells,), is at the start of one of the two buffers.
    """
    source = first
    target = second
    copied(weights, source)
    before = 1
    after = weights.size
    for size in sizes:
        wide = 2 * size - 1 if size > 2 else size
        after //= wide
        for outer in range(before):
            start = outer * wide * after
            place = outer * size * after
            copied(source[start : start + after], target[place:])
            # The steps of `extended` in the reverse order.
            for row in range(size - 1, 0, -1):
                scale = size / (row * (row + 1.0))
                root = math.sqrt(scale)
                square = start + (size - 1 + row) * after
                for inner in range(after):
                    running = target[place + inner]
                    weight = root * source[start + row * after + inner]
                    second_moment = scale * source[square + inner] if size > 2 else 0.0
                    target[place + row * after + inner] = (
                        running - row * weight + row * row * second_moment
                    )
                    target[place + inner] = running + weight + second_moment
        before *= size
        source, target = target, source
    return source


@compiled_in_order
def exponentials(values: Floats, scale: Integers) -> None:
    """Replace values <= 0 by their exponentials, in place.

    Values below -708 count as -708. `scale` is work space of the same length. exp(value) is
    computed as 2 ** whole * exp(rest) with |rest| <= log(2) / 2 and 13 terms of the series of
    exp(rest), accurate to rounding. Unlike a call of math.exp, the compiler can vectorise this.
    """
    for cell in range(values.size):
        value = max(values[cell], -708.0)
        # value = whole * log(2) + rest, with log(2) in two parts so that no digit is lost.
        whole = math.floor(value * 1.4426950408889634 + 0.5)
        rest = value - whole * 6.93147180369123816490e-01 - whole * 1.90821492927058770002e-10
        # The series of exp(rest) by Horner's rule.
        series = 1.0 + rest / 13
        for term in (12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2):
            series = 1.0 + rest * (1.0 / term) * series
        values[cell] = 1.0 + rest * series
        # The bits of the float 2 ** whole.
        scale[cell] = (np.int64(whole) + 1023) << 52
    powers = scale.view(np.float64)
    for cell in range(values.size):
        values[cell] *= powers[cell]
