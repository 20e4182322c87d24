"""The residual basis: a table as one component per subset of its attributes.

Along each axis of n categories stands an orthonormal basis whose first function is constant and
whose others are Helmert contrasts (for n = 2 it is the Walsh-Hadamard basis). A product of axis
functions belongs to the component S of the axes on which it is not constant. A coefficient of
component S of a table equals, up to a power of the sizes, that of any marginal of the table that
contains S: this is what makes consistency an average (Barak et al., PODS 2007, for binary tables).

A *moment* is a coefficient in the scaling in which it does not depend on the marginal it is read
from: the mean of the basis function, itself scaled to mean square one under the uniform
distribution. The moment of the empty set is one.
"""

import math
from collections.abc import Callable
from functools import cached_property, lru_cache

import numpy as np

from .types import Floats, Integers

_BLOCK = 64
"""Adjacent axes are transformed by one matrix of at most this order, larger axes by running sums.
"""

_Operator = Callable[[Floats], Floats]
"""A linear map along the middle axis of arrays of shape (before, n, after)."""


def contrasts(size: int) -> Floats:
    """The orthonormal axis basis, one function a row, the constant first.

    Returns
    -------
    ndarray of shape (size, size)

    Examples
    --------
    >>> np.round(contrasts(2) * 2**0.5)
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    basis = np.full((size, size), 1 / math.sqrt(size))
    for row in range(1, size):
        basis[row] = 0.0
        basis[row, :row] = 1 / math.sqrt(row * (row + 1))
        basis[row, row] = -row / math.sqrt(row * (row + 1))
    return basis


def widths(sizes: Integers) -> Floats:
    """How many basis functions each component of a table has, by bit masks over its axes: sizes of
    axes of shape (..., k) to (..., 2 ** k)."""
    found = np.ones((*sizes.shape[:-1], 1))
    for place in range(sizes.shape[-1]):
        found = np.concatenate([found, found * (sizes[..., place, None] - 1.0)], axis=-1)
    return found


class Transform:
    """Tables of one shape to coefficients and back; use `transform`, which keeps the matrices.

    Attributes
    ----------
    shape
        The sizes of the axes.
    order
        For each coefficient the number of axes on which its function varies, int array of shape
        (cells,).
    component
        For each coefficient the set of these axes as a bit mask, int array of shape (cells,).
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.cells = math.prod(shape)
        blocks = _blocks(shape)
        self._forward = [_operator(block, _analysis, _sums_analysis) for block in blocks]
        self._backward = [_operator(block, _synthesis, _sums_synthesis) for block in blocks]
        self._squared = [_operator(block, _squares, _sums_squares) for block in blocks]
        self._sizes = [math.prod(block) for block in blocks]
        self._binary = max(shape, default=1) <= 2
        self.component = np.zeros(1, dtype=np.int64)
        for axis, size in enumerate(shape):
            varies = (np.arange(size) > 0).astype(np.int64) << axis
            self.component = (self.component[:, None] | varies).ravel()
        self.order = np.bitwise_count(self.component).astype(np.int64)

    def analyse(self, tables: Floats) -> Floats:
        """Coefficients of tables, both of shape (..., cells)."""
        return self._apply(self._forward, tables)

    def synthesise(self, coefficients: Floats) -> Floats:
        """Tables of coefficients, both of shape (..., cells); the inverse of `analyse`."""
        return self._apply(self._backward, coefficients)

    def squares(self, tables: Floats) -> Floats:
        """The sums of a table times each *squared* basis function, scaled as moments are; shapes
        (..., cells)."""
        return self._apply(self._squared, tables)

    def extend(self, tables: Floats) -> Floats:
        """Means of the basis functions and of their squares, shape (..., cells) to (..., extended
        cells).

        Along an axis of n > 2 categories stand 2 n - 1 functions, of mean square one: the n of the
        basis, then the squares of all but the constant. For n = 2 the square is the constant. Every
        product of two basis functions is a number times one of these, see `products`.
        """
        if self._binary:
            return self.analyse(tables) * math.sqrt(self.cells)
        shape, after = tables.shape, self.cells
        values = tables
        for size, matrix in zip(self.shape, self._wide, strict=True):
            after //= size
            values = matrix @ values.reshape(-1, size, after)
        return values.reshape(*shape[:-1], -1)

    def narrow(self, weights: Floats) -> Floats:
        """Tables of the weighted sums of the extended functions: the transpose of `extend`."""
        if self._binary:
            return self.synthesise(weights) * math.sqrt(self.cells)
        shape, after = weights.shape, weights.shape[-1]
        values = weights
        for matrix in self._wide:
            after //= len(matrix)
            values = matrix.T @ values.reshape(-1, len(matrix), after)
        return values.reshape(*shape[:-1], self.cells)

    @cached_property
    def _wide(self) -> list[Floats]:
        """The extended functions of each axis; made when first asked for, since a large axis never
        needs them."""
        return [_widened(size) for size in self.shape]

    def products(self, index: Integers) -> tuple[Integers, Floats | None]:
        """For each pair of some basis functions the extended function, and the number, that their
        product is.

        For 0 < i < j on one axis, f_i f_j = c_j f_i, since f_j has one value, c_j, where f_i is not
        zero. On binary axes functions are signs, whose products are those of the symmetric
        difference.

        Returns
        -------
        place, factor
            Each of shape (len(index), len(index)); no factor where all are one.
        """
        if self._binary:
            return index[:, None] ^ index, None
        half = len(self.shape) // 2
        digits = np.unravel_index(index, self.shape)
        # The first axes repeat the same few functions in many coefficients, and so do the last: two
        # small tables.
        place, factor = _looked_up(self.shape[:half], digits[:half], len(index))
        last_place, last_factor = _looked_up(self.shape[half:], digits[half:], len(index))
        place *= math.prod(map(self.width, self.shape[half:]))
        place += last_place
        factor *= last_factor
        return place, factor

    @staticmethod
    def width(size: int) -> int:
        """The number of extended functions along an axis."""
        return 2 * size - 1 if size > 2 else size

    def _apply(self, operators: list[_Operator], values: Floats) -> Floats:
        """Apply each operator along its block of the last dimension, seen as a product of blocks."""
        shape, after = values.shape, self.cells
        if len(shape) == 1 and len(operators) == 2:
            first, second = operators
            if isinstance(first, _Product) and isinstance(
                second, _Product
            ):  # one small table: two plain products
                return (first.matrix @ values.reshape(self._sizes) @ second.transposed).reshape(
                    shape
                )
        for operator, size in zip(operators, self._sizes, strict=True):
            after //= size
            values = operator(values.reshape(-1, size, after))
        return values.reshape(shape)


def transform(shape: tuple[int, ...]) -> Transform:
    """The `Transform` of a shape, made once; of large shapes only the last two are kept."""
    return (_kept if math.prod(shape) <= _LARGE else _kept_large)(shape)


_LARGE = 1 << 18
_kept = lru_cache(maxsize=2048)(Transform)
_kept_large = lru_cache(maxsize=2)(Transform)


def _blocks(shape: tuple[int, ...]) -> list[list[int]]:
    """The axes in runs whose product stays small; a single large axis is a run of its own."""
    blocks: list[list[int]] = []
    for size in shape:
        if blocks and math.prod(blocks[-1]) * size <= _BLOCK:
            blocks[-1].append(size)
        else:
            blocks.append([size])
    return blocks


def _operator(
    block: list[int], axis_matrix: Callable[[int], Floats], running: Callable[[int], _Operator]
) -> _Operator:
    """The product of the axes' operators: one matrix, or running sums for an axis that is too large
    for one."""
    if math.prod(block) > _BLOCK:
        return running(block[0])
    matrix: Floats = np.ones((1, 1))
    for size in block:
        matrix = np.kron(matrix, axis_matrix(size)).astype(np.float64)
    return _Product(matrix)


def _looked_up(
    shape: tuple[int, ...], digits: tuple[Integers, ...], count: int
) -> tuple[Integers, Floats]:
    """`Transform.products` of functions given by their digits on some axes, by way of the distinct
    ones."""
    number = np.zeros(count, dtype=np.int64)
    for size, digit in zip(shape, digits, strict=True):
        number = number * size + digit
    _, first, same = np.unique(number, return_index=True, return_inverse=True)
    place, factor = np.zeros((len(first),) * 2, dtype=np.int64), np.ones((len(first),) * 2)
    for size, every in zip(shape, digits, strict=True):
        digit = every[first]
        low, high = np.minimum.outer(digit, digit), np.maximum.outer(digit, digit)
        square = (size - 1 + low) * (low > 0) if size > 2 else 0
        place = place * Transform.width(size) + np.where(
            low == high, square, np.where(low > 0, low, high)
        )
        level = np.sqrt(size / np.maximum(high * (high + 1.0), 1.0))
        factor *= np.where((low > 0) & (low < high), level, 1.0)
    return place[same].take(same, axis=1), factor[same].take(same, axis=1)


class _Product:
    """Multiplication of the middle axis by a matrix."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix
        self.transposed = matrix.T.copy()

    def __call__(self, values: Floats) -> Floats:
        if values.shape[2] == 1:
            return (values[:, :, 0] @ self.transposed)[:, :, None]
        return self.matrix @ values


def _analysis(size: int) -> Floats:
    return contrasts(size)


def _synthesis(size: int) -> Floats:
    return contrasts(size).T


def _squares(size: int) -> Floats:
    return size * contrasts(size) ** 2


def _widened(size: int) -> Floats:
    """The extended functions along an axis, one a row."""
    return np.concatenate(
        [math.sqrt(size) * contrasts(size), _squares(size)[1 : size if size > 2 else 1]]
    )


def _lengths(size: int) -> Floats:
    """The Euclidean lengths of the unscaled contrasts (1, ..., 1, -r, 0, ...), for r = 1 ... size -
    1."""
    row = np.arange(1.0, size)
    return np.asarray(np.sqrt(row * (row + 1)))[:, None]


def _sums_analysis(size: int) -> _Operator:
    """Contrast r is the sum of the first r cells less r times the next: all of them from one
    running sum."""
    row, length = np.arange(1.0, size)[:, None], _lengths(size)

    def analyse(values: Floats) -> Floats:
        sums = values.cumsum(axis=1)
        constant = sums[:, -1:] / math.sqrt(size)
        return np.concatenate([constant, (sums[:, :-1] - row * values[:, 1:]) / length], axis=1)

    return analyse


def _sums_synthesis(size: int) -> _Operator:
    row, length = np.arange(1.0, size)[:, None], _lengths(size)

    def synthesise(coefficients: Floats) -> Floats:
        scaled = coefficients[:, 1:] / length
        values = np.repeat(coefficients[:, :1] / math.sqrt(size), size, axis=1)
        values[:, :-1] += scaled[:, ::-1].cumsum(axis=1)[:, ::-1]
        values[:, 1:] -= row * scaled
        return values

    return synthesise


def _sums_squares(size: int) -> _Operator:
    row, length = np.arange(1.0, size)[:, None], _lengths(size)

    def squares(values: Floats) -> Floats:
        sums = values.cumsum(axis=1)
        return np.concatenate(
            [sums[:, -1:], size * (sums[:, :-1] + row**2 * values[:, 1:]) / length**2], axis=1
        )

    return squares
