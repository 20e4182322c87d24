"""Compiled solvers of small positive definite linear systems; LAPACK is slower for small ones."""

from .compiled import compiled
from .types import Floats


@compiled
def factor(
    matrix: Floats,
    size: int,
    right: Floats,
) -> bool:
    """Factor a positive definite matrix as L D L' and solve for one right-hand side, in place.

    Gaussian elimination without pivoting. To save loads from memory, each step subtracts multiples
    of four rows from two rows below them.

    Parameters
    ----------
    matrix
        At least (`size`, `size`). Only the upper triangle is read. D L' replaces it.
    size
        The number of unknowns.
    right
        The right-hand side, which becomes the solution.

    Returns
    -------
    bool
        False if a pivot is not positive; nothing is solved then.
    """
    for first in range(0, size, 4):
        end = min(first + 4, size)
        # Inside the block of four rows: row by row.
        for row in range(first, end):
            pivot = matrix[row, row]
            if not pivot > 0:
                return False
            for below in range(row + 1, end):
                share = matrix[row, below] / pivot
                target = matrix[below, below:size]
                source = matrix[row, below:size]
                for column in range(target.size):
                    target[column] -= share * source[column]
                right[below] -= share * right[row]
        if end < size:
            _eliminate_four(matrix, size, right, first)
    _back(matrix, size, right)
    return True


@compiled
def _eliminate_four(
    matrix: Floats,
    size: int,
    right: Floats,
    first: int,
) -> None:
    """Subtract multiples of rows `first` to `first` + 3 from all rows below, two rows at a time."""
    one = matrix[first]
    two = matrix[first + 1]
    three = matrix[first + 2]
    four = matrix[first + 3]
    # The inverse pivots, and the right-hand sides.
    p = 1 / one[first]
    q = 1 / two[first + 1]
    r = 1 / three[first + 2]
    s = 1 / four[first + 3]
    x = right[first]
    y = right[first + 1]
    z = right[first + 2]
    w = right[first + 3]
    for below in range(first + 4, size, 2):
        # a, b, c, d: how much of each of the four rows is taken from the upper row of the two.
        a = one[below] * p
        b = two[below] * q
        c = three[below] * r
        d = four[below] * s
        right[below] -= a * x + b * y + c * z + d * w
        if below + 1 == size:
            # The last row stands alone, and only its pivot is left.
            matrix[below, below] -= (
                a * one[below] + b * two[below] + c * three[below] + d * four[below]
            )
            break
        # e, f, g, h: the same for the lower row.
        e = one[below + 1] * p
        f = two[below + 1] * q
        g = three[below + 1] * r
        h = four[below + 1] * s
        right[below + 1] -= e * x + f * y + g * z + h * w
        upper = matrix[below, below:size]
        lower = matrix[below + 1, below:size]
        i = one[below:size]
        j = two[below:size]
        k = three[below:size]
        m = four[below:size]
        for column in range(upper.size):
            upper[column] -= a * i[column] + b * j[column] + c * k[column] + d * m[column]
            lower[column] -= e * i[column] + f * j[column] + g * k[column] + h * m[column]


@compiled
def again(
    matrix: Floats,
    size: int,
    right: Floats,
) -> None:
    """Solve for another right-hand side, in place, with the D L' that `factor` left in `matrix`."""
    for row in range(size):
        share = right[row] / matrix[row, row]
        source = matrix[row, row + 1 : size]
        target = right[row + 1 : size]
        for column in range(target.size):
            target[column] -= share * source[column]
    _back(matrix, size, right)


@compiled
def _back(
    matrix: Floats,
    size: int,
    right: Floats,
) -> None:
    """Backward substitution: solve with the upper triangle of `matrix`, in place in `right`."""
    for row in range(size - 1, -1, -1):
        total = right[row]
        coefficients = matrix[row, row + 1 : size]
        known = right[row + 1 : size]
        for column in range(known.size):
            total -= coefficients[column] * known[column]
        right[row] = total / matrix[row, row]


@compiled
def inverse_times(
    matrix: Floats,
    size: int,
    diagonal: Floats,
    result: Floats,
) -> None:
    """Compute the inverse of the factored matrix times a diagonal matrix, into `result`.

    `matrix` is what `factor` left. `diagonal` has the shape (size,), and `result` at least (size,
    size).
    """
    result[:size, :size] = 0.0
    # Forwards: the inverse of L times the diagonal matrix, which is lower triangular.
    for row in range(size):
        result[row, row] = diagonal[row]
        source = result[row, : row + 1]
        for below in range(row + 1, size):
            share = matrix[row, below] / matrix[row, row]
            target = result[below, : row + 1]
            for column in range(source.size):
                target[column] -= share * source[column]
    # Backwards: four known rows are taken out at a time, then the others one by one.
    for row in range(size - 1, -1, -1):
        here = result[row, :size]
        below = row + 1
        while below + 3 < size:
            a = matrix[row, below]
            b = matrix[row, below + 1]
            c = matrix[row, below + 2]
            d = matrix[row, below + 3]
            one = result[below, :size]
            two = result[below + 1, :size]
            three = result[below + 2, :size]
            four = result[below + 3, :size]
            for column in range(here.size):
                here[column] -= (
                    a * one[column] + b * two[column] + c * three[column] + d * four[column]
                )
            below += 4
        while below < size:
            share = matrix[row, below]
            one = result[below, :size]
            for column in range(here.size):
                here[column] -= share * one[column]
            below += 1
        for column in range(here.size):
            here[column] /= matrix[row, row]
