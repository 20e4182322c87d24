"""The decorator `compiled`, and compiled transforms of single tables.

numba takes about a second to import. So modules of compiled code, all named ``*_loops``, are
imported only when there is enough work.

Tables of one shape stand in flat vectors, the last axis fastest. Along an axis of n categories the
basis functions, of mean square one, are f_0 = 1 and f_r = c_r (1, ..., 1, -r, 0, ..., 0) with r
ones and c_r = sqrt(n / (r (r + 1))). Two facts turn the Hessian into a table look-up. First, for
0 < i < j, f_i f_j = c_j f_i, because f_j is constant where f_i is not zero. Second, the squares
f_i ** 2 are another set of functions; on binary axes they are one. So every E[f_S f_T] is a number
times an entry of one *extended* table. It has 2 n - 1 entries along an axis of n > 2 categories: n
means of functions and n - 1 means of their squares.
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
    """A function compiled by numba, without Python's lock; sums may be reordered."""
    return _njit(function, _REORDER)


def compiled_in_order(function: _Function) -> _Function:
    """A function compiled by numba like `compiled`, but with sums in the written order."""
    return _njit(function, _IN_ORDER)


def _njit(function: _Function, liberties: set[str]) -> _Function:
    """A function compiled with these liberties; the result is kept on disk."""
    jit: Any = numba.njit(
        cache=True,
        nogil=True,
        error_model="numpy",
        fastmath=liberties,
    )
    return cast(_Function, jit(function))


@compiled
def means(
    values: Floats,
    spare: Floats,
    sizes: Integers,
    binary: bool,
) -> None:
    """Replace a table by the sums of its cells times each function, in place.

    `spare` is work space of the table's length. `binary` says that all sizes are two.
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
            values[:] = spare
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
    """Replace weights of the functions by the table of their weighted sum, in place.

    This is the transpose of `means`, with the same arguments.
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
    """The extended table of a table, in one of the two buffers.

    Each buffer has at least as many entries as the extended table.
    """
    source = first
    target = second
    source[: table.size] = table
    before = 1
    after = table.size
    for size in sizes:
        after //= size
        wide = 2 * size - 1 if size > 2 else size
        for outer in range(before):
            start = outer * size * after
            place = outer * wide * after
            target[place : place + after] = source[start : start + after]
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
    """The table of the weighted sum of extended functions, in one of the two buffers.

    This is the transpose of `extended`.
    """
    source = first
    target = second
    source[: weights.size] = weights
    before = 1
    after = weights.size
    for size in sizes:
        wide = 2 * size - 1 if size > 2 else size
        after //= wide
        for outer in range(before):
            start = outer * wide * after
            place = outer * size * after
            target[place : place + after] = source[start : start + after]
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
    """Replace values <= 0 by their exponentials, in place; exp of less than -708 is about zero.

    `scale` is work space of the same length. The result is right to rounding. It is 2 ** whole *
    exp(rest) with |rest| <= log(2) / 2 and 13 terms of the series. Unlike a call of the library,
    this is done for many cells at once.
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
