"""The residual basis: it splits a table into one component for each subset of its axes.

Each axis of n categories has an orthonormal basis of n functions. The first one is constant, and
the others are Helmert contrasts (for n = 2 this is the Walsh-Hadamard basis). A basis function of
the table is a product of one function for each axis. It belongs to the component S, the set of axes
on which its factor is not constant.

A *coefficient* is the sum of the cells times a basis function. Up to a power of the sizes, all
marginals that contain S have the same coefficients of component S. So marginals can be made
consistent by averaging coefficients (Barak et al., PODS 2007, for binary tables).

A *moment* is a coefficient scaled so that it is the same number in every marginal: the mean, under
the distribution of the table, of the basis function scaled to mean square one under the uniform
distribution. The moment of the constant function is one.
"""

import math
from collections.abc import Callable
from functools import cached_property, lru_cache

import numpy as np

from .limits import KEPT_TRANSFORM_CELLS, MATRIX_ORDER
from .types import Floats, Integers

_Operator = Callable[[Floats], Floats]
"""A linear map along the middle axis of arrays of shape (before, n, after)."""


def contrasts(size: int) -> Floats:
    """An orthonormal basis of the vectors with one entry for each of `size` categories.

    Each row is one basis vector. The first row is constant. The others are Helmert contrasts: the
    entries of each sum to zero.

    Returns
    -------
    ndarray of shape (size, size)

    Examples
    --------
    >>> np.round(contrasts(2) * 2**0.5)
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    row = np.arange(1.0, size)
    length = np.sqrt(row * (row + 1))
    # Row r holds r ones and then -r, scaled to length one.
    basis = np.tri(size, k=-1)
    basis[1:] /= length[:, None]
    basis[0] = 1 / math.sqrt(size)
    basis.flat[size + 1 :: size + 1] = -row / length
    return basis


def widths(sizes: Integers) -> Floats:
    """The number of basis functions of each component of a table.

    A component is a subset of the k axes, given as a bit mask from 0 to 2 ** k - 1. Sizes of shape
    (..., k) give an array of shape (..., 2 ** k).
    """
    found = np.ones((*sizes.shape[:-1], 1))
    for place in range(sizes.shape[-1]):
        contrasts_here = sizes[..., place, None] - 1.0
        found = np.concatenate([found, found * contrasts_here], axis=-1)
    return found


def outside_roots(shape: tuple[int, ...]) -> Floats:
    """For each coefficient, the root of the product of the sizes outside its component.

    Shape (cells,).
    """
    roots = np.ones(1)
    for size in shape:
        outside = np.where(np.arange(size) == 0, math.sqrt(size), 1.0)
        roots = (roots[:, None] * outside).ravel()
    return roots


class Transform:
    """Maps between tables of one shape and their coefficients.

    Use the function `transform`, which caches the objects and their matrices.

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
        self._blocks = _blocks(shape)
        self._sizes = [math.prod(block) for block in self._blocks]
        self._forward = [_operator(block, contrasts, _sums_analysis) for block in self._blocks]
        # The basis is orthonormal: the inverse is the transpose.
        self._backward: list[_Operator] = [
            operator.inverse() if isinstance(operator, _Product) else _sums_synthesis(size)
            for operator, size in zip(self._forward, self._sizes, strict=True)
        ]
        self._binary = max(shape, default=1) <= 2
        self.component = np.zeros(1, dtype=np.int64)
        for axis, size in enumerate(shape):
            varies = (np.arange(size) > 0).astype(np.int64) << axis
            self.component = (self.component[:, None] | varies).ravel()
        self.order = np.bitwise_count(self.component).astype(np.int64)

    def analyse(self, tables: Floats) -> Floats:
        """Compute the coefficients of tables; both arrays have shape (..., cells)."""
        return self._apply(self._forward, tables)

    def synthesise(self, coefficients: Floats) -> Floats:
        """Compute tables from coefficients, both of shape (..., cells); inverse of `analyse`."""
        return self._apply(self._backward, coefficients)

    def squares(self, tables: Floats) -> Floats:
        """The sums of a table times each *squared* basis function, scaled as moments are.

        Both arrays have shape (..., cells).
        """
        return self._apply(self._squared, tables)

    @cached_property
    def _squared(self) -> list[_Operator]:
        """The operators of `squares`, made when they are first needed."""
        return [_operator(block, _squares, _sums_squares) for block in self._blocks]

    def extend(self, tables: Floats) -> Floats:
        """Compute the means of the basis functions and of their squares.

        Tables of shape (..., cells) give an array of shape (..., extended cells). An axis of n > 2
        categories has 2 n - 1 extended functions: the n basis functions, scaled to mean square one,
        then the squares of all but the constant one. For n = 2 the squares are constant and left
        out. Every product of two basis functions is a number times one of these; see `products`.
        """
        if self._binary:
            return self.analyse(tables) * math.sqrt(self.cells)
        shape = tables.shape
        after = self.cells
        values = tables
        for size, matrix in zip(self.shape, self._wide, strict=True):
            after //= size
            values = matrix @ values.reshape(-1, size, after)
        return values.reshape(*shape[:-1], -1)

    def narrow(self, weights: Floats) -> Floats:
        """Add up the extended functions with given weights; the transpose of `extend`.

        Weights of shape (..., extended cells) give tables of shape (..., cells).
        """
        if self._binary:
            return self.synthesise(weights) * math.sqrt(self.cells)
        shape = weights.shape
        after = weights.shape[-1]
        values = weights
        for matrix in self._wide:
            after //= len(matrix)
            values = matrix.T @ values.reshape(-1, len(matrix), after)
        return values.reshape(*shape[:-1], self.cells)

    @cached_property
    def _wide(self) -> list[Floats]:
        """The extended functions of each axis, a matrix of shape (`width`, size), made once."""
        return [_widened(size) for size in self.shape]

    def products(self, index: Integers) -> tuple[Integers, Floats | None]:
        """Write the product of each pair of basis functions as a number times an extended function.

        For 0 < i < j on one axis, f_i f_j = c_j f_i, since f_j has one value, c_j, where f_i is not
        zero. On binary axes all values are 1 or -1, and the product of the functions of components
        S and T is the function of their symmetric difference.

        Parameters
        ----------
        index
            Some basis functions, shape (m,).

        Returns
        -------
        place
            The position of the extended function, shape (m, m).
        factor
            The number that multiplies it, shape (m, m); None if all are one.
        """
        if self._binary:
            return index[:, None] ^ index, None
        half = len(self.shape) // 2
        digits = np.unravel_index(index, self.shape)
        # Many basis functions have the same factors on the first half of the axes, and many have
        # the same on the second half. So the products are computed for each half, without
        # repetition, and then combined.
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

    def _apply(
        self,
        operators: list[_Operator],
        values: Floats,
    ) -> Floats:
        """Apply one operator to each block of axes; values have the shape (..., cells)."""
        shape = values.shape
        if len(shape) == 1 and 0 < len(operators) <= 2:
            # A single small table: one or two plain products of matrices are fastest.
            first, last = operators[0], operators[-1]
            if isinstance(first, _Product) and isinstance(last, _Product):
                if first is last:
                    return first.matrix @ values
                grid = values.reshape(self._sizes)
                return (first.matrix @ grid @ last.transposed).reshape(shape)
        after = self.cells
        for operator, size in zip(operators, self._sizes, strict=True):
            after //= size
            values = operator(values.reshape(-1, size, after))
        return values.reshape(shape)


def transform(shape: tuple[int, ...]) -> Transform:
    """Get the `Transform` of a shape from a cache of 2048 small and 2 large shapes."""
    if math.prod(shape) <= KEPT_TRANSFORM_CELLS:
        return _kept(shape)
    return _kept_large(shape)


_kept = lru_cache(maxsize=2048)(Transform)
_kept_large = lru_cache(maxsize=2)(Transform)


def _blocks(shape: tuple[int, ...]) -> list[list[int]]:
    """Group adjacent axes into blocks of at most `MATRIX_ORDER` cells; a larger axis is alone."""
    blocks: list[list[int]] = []
    for size in shape:
        if blocks and math.prod(blocks[-1]) * size <= MATRIX_ORDER:
            blocks[-1].append(size)
        else:
            blocks.append([size])
    return blocks


def _operator(
    block: list[int],
    axis_matrix: Callable[[int], Floats],
    running: Callable[[int], _Operator],
) -> _Operator:
    """Make the operator of a block of axes.

    It is the Kronecker product of the matrices of the axes. An axis that is too large for a matrix
    is a block of its own; its operator uses running sums.
    """
    if math.prod(block) > MATRIX_ORDER:
        return running(block[0])
    matrix: Floats = np.ones((1, 1))
    for size in block:
        # The Kronecker product with the matrix of one more axis.
        product = matrix[:, None, :, None] * axis_matrix(size)[:, None, :]
        matrix = product.reshape(len(matrix) * size, -1)
    return _Product(matrix)


def _looked_up(
    shape: tuple[int, ...],
    digits: tuple[Integers, ...],
    count: int,
) -> tuple[Integers, Floats]:
    """Compute `Transform.products` on some of the axes.

    `digits` hold, for each of these axes, which function of the axis each of the `count` basis
    functions has. Equal combinations are computed once.
    """
    number = np.zeros(count, dtype=np.int64)
    for size, digit in zip(shape, digits, strict=True):
        number = number * size + digit
    _, first, same = np.unique(
        number,
        return_index=True,
        return_inverse=True,
    )
    place = np.zeros((len(first), len(first)), dtype=np.int64)
    factor = np.ones((len(first), len(first)))
    for size, every in zip(shape, digits, strict=True):
        digit = every[first]
        low = np.minimum.outer(digit, digit)
        high = np.maximum.outer(digit, digit)
        # Equal digits give the square. Digits 0 < i < j give c_j f_i. Digits 0 and j give f_j.
        square = (size - 1 + low) * (low > 0) if size > 2 else 0
        distinct = np.where(low > 0, low, high)
        entry = np.where(low == high, square, distinct)
        place = place * Transform.width(size) + entry
        level = np.sqrt(size / np.maximum(high * (high + 1.0), 1.0))
        factor *= np.where((low > 0) & (low < high), level, 1.0)
    return place[same].take(same, axis=1), factor[same].take(same, axis=1)


class _Product:
    """Multiplication of the middle axis by a matrix."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix
        self.transposed = matrix.T.copy()

    def inverse(self) -> "_Product":
        """Multiplication by the inverse of an orthonormal matrix."""
        return _Product(self.transposed)

    def __call__(self, values: Floats) -> Floats:
        if values.shape[2] == 1:
            return (values[:, :, 0] @ self.transposed)[:, :, None]
        return self.matrix @ values


def _squares(size: int) -> Floats:
    """The squared basis functions, scaled to mean one, one per row."""
    return size * contrasts(size) ** 2


def _widened(size: int) -> Floats:
    """The extended functions along an axis, one per row."""
    functions = math.sqrt(size) * contrasts(size)
    if size <= 2:
        return functions
    return np.concatenate([functions, _squares(size)[1:]])


def _lengths(size: int) -> Floats:
    """The Euclidean lengths of the unscaled contrasts (1, ..., 1, -r, 0, ...), r = 1 ... size - 1.

    Shape (size - 1, 1).
    """
    row = np.arange(1.0, size)
    return np.asarray(np.sqrt(row * (row + 1)))[:, None]


def _sums_analysis(size: int) -> _Operator:
    """The map from cells to coefficients by running sums.

    Contrast r is the sum of the first r cells less r times the next cell.
    """
    row = np.arange(1.0, size)[:, None]
    length = _lengths(size)

    def analyse(values: Floats) -> Floats:
        sums = values.cumsum(axis=1)
        constant = sums[:, -1:] / math.sqrt(size)
        differences = (sums[:, :-1] - row * values[:, 1:]) / length
        return np.concatenate([constant, differences], axis=1)

    return analyse


def _sums_synthesis(size: int) -> _Operator:
    """The map from coefficients to cells by running sums: the transpose of `_sums_analysis`."""
    row = np.arange(1.0, size)[:, None]
    length = _lengths(size)

    def synthesise(coefficients: Floats) -> Floats:
        scaled = coefficients[:, 1:] / length
        values = np.repeat(coefficients[:, :1] / math.sqrt(size), size, axis=1)
        values[:, :-1] += scaled[:, ::-1].cumsum(axis=1)[:, ::-1]
        values[:, 1:] -= row * scaled
        return values

    return synthesise


def _sums_squares(size: int) -> _Operator:
    """The map from cells to their sums times the squared basis functions, by running sums."""
    row = np.arange(1.0, size)[:, None]
    length = _lengths(size)

    def squares(values: Floats) -> Floats:
        sums = values.cumsum(axis=1)
        squared = size * (sums[:, :-1] + row**2 * values[:, 1:]) / length**2
        return np.concatenate([sums[:, -1:], squared], axis=1)

    return squares
