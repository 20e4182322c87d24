"""Compiled transforms of single tables; numba is needed, so this is imported only when there is
work enough.

Tables of one shape stand in flat vectors, the last axis fastest. Along an axis of n categories the
basis functions, of mean square one, are f_0 = 1 and f_r = c_r (1, ..., 1, -r, 0, ..., 0) with r
ones and c_r = sqrt(n / (r (r + 1))). Two facts make the Hessian a matter of looking up: for 0 < i <
j, f_i f_j = c_j f_i, as f_j is constant where f_i is not zero; and the squares f_i ** 2 are a
second set of functions, for binary axes one. So every E[f_S f_T] is a number times an entry of one
*extended* table, with 2 n - 1 entries along an axis of n > 2 categories: n means of functions and n
- 1 of their squares.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from .types import Floats, Integers

_Function = TypeVar("_Function", bound=Callable[..., Any])

_REORDER = {"contract", "reassoc", "nsz", "arcp"}
"""Liberties of the compiler that let sums be vectorised; infinities and NaN keep their meaning."""


def _njit(function: _Function, liberties: set[str]) -> _Function:
    result: Any = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=liberties)(
        function
    )
    return cast(_Function, result)


def compiled(function: _Function) -> _Function:
    return _njit(function, _REORDER)


def compiled_in_order(function: _Function) -> _Function:
    """For arithmetic whose order matters."""
    return _njit(function, {"contract"})


@compiled
def means(values: Floats, spare: Floats, sizes: Integers, binary: bool) -> None:
    """Replace a table by the sums of its cells times each function, in place; `spare` is work space
    of equal length."""
    cells = values.size
    if binary:
        # The last axis is transformed and becomes the first: after as many rounds as axes all are
        # in their place again.
        source, target = values, spare
        half = cells // 2
        for _ in range(sizes.size):
            for cell in range(half):
                target[cell] = source[2 * cell] + source[2 * cell + 1]
                target[half + cell] = source[2 * cell] - source[2 * cell + 1]
            source, target = target, source
        if sizes.size % 2:
            values[:] = spare
        return
    before, after = 1, cells
    for size in sizes:
        after //= size
        for outer in range(before):
            start = outer * size * after
            for row in range(1, size):
                scale = math.sqrt(size / (row * (row + 1.0)))
                for constant in range(start, start + after):
                    value, running = values[constant + row * after], values[constant]
                    values[constant + row * after] = scale * (running - row * value)
                    values[constant] = running + value
        before *= size


@compiled
def sums(values: Floats, spare: Floats, sizes: Integers, binary: bool) -> None:
    """Replace weights of the functions by the table of their weighted sum, in place: the transpose
    of `means`."""
    if binary:
        means(values, spare, sizes, binary)
        return
    before, after = 1, values.size
    for size in sizes:
        after //= size
        for outer in range(before):
            start = outer * size * after
            for row in range(size - 1, 0, -1):
                scale = math.sqrt(size / (row * (row + 1.0)))
                for constant in range(start, start + after):
                    weight, running = scale * values[constant + row * after], values[constant]
                    values[constant + row * after] = running - row * weight
                    values[constant] = running + weight
        before *= size


@compiled
def extended(table: Floats, sizes: Integers, first: Floats, second: Floats) -> Floats:
    """The extended table of a table, in one of the two buffers."""
    source, target = first, second
    source[: table.size] = table
    before, after = 1, table.size
    for size in sizes:
        after //= size
        wide = 2 * size - 1 if size > 2 else size
        for outer in range(before):
            start, place = outer * size * after, outer * wide * after
            target[place : place + after] = source[start : start + after]
            for row in range(1, size):
                scale = size / (row * (row + 1.0))
                root, square = math.sqrt(scale), place + (size - 1 + row) * after
                for inner in range(after):
                    value, running = source[start + row * after + inner], target[place + inner]
                    target[place + row * after + inner] = root * (running - row * value)
                    target[place + inner] = running + value
                    if size > 2:
                        target[square + inner] = scale * (running + row * row * value)
        before *= wide
        source, target = target, source
    return source


@compiled
def narrowed(weights: Floats, sizes: Integers, first: Floats, second: Floats) -> Floats:
    """The table of the weighted sum of extended functions, in one of the buffers: the transpose of
    `extended`."""
    source, target = first, second
    source[: weights.size] = weights
    before, after = 1, weights.size
    for size in sizes:
        wide = 2 * size - 1 if size > 2 else size
        after //= wide
        for outer in range(before):
            start, place = outer * wide * after, outer * size * after
            target[place : place + after] = source[start : start + after]
            for row in range(size - 1, 0, -1):
                scale = size / (row * (row + 1.0))
                root, square = math.sqrt(scale), start + (size - 1 + row) * after
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
    """exp of values <= 0, in place; the cells below -708 become nearly zero. `scale` is work space
    of equal length.

    2 ** whole * exp(rest) with |rest| <= log(2) / 2 and 13 terms of the series: right to rounding,
    and, unlike a call of the library, done for many cells at once.
    """
    for cell in range(values.size):
        value = max(values[cell], -708.0)
        whole = math.floor(value * 1.4426950408889634 + 0.5)
        rest = value - whole * 6.93147180369123816490e-01 - whole * 1.90821492927058770002e-10
        series = 1.0 + rest / 13
        for term in (12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2):
            series = 1.0 + rest * (1.0 / term) * series
        values[cell] = 1.0 + rest * series
        scale[cell] = (np.int64(whole) + 1023) << 52
    powers = scale.view(np.float64)
    for cell in range(values.size):
        values[cell] *= powers[cell]
