"""Compiled elimination of small positive definite matrices, faster there than a call of LAPACK."""

from .compiled import compiled
from .types import Floats


@compiled
def factor(matrix: Floats, size: int, right: Floats) -> bool:
    """Eliminate a positive definite matrix, given by its upper triangle, and solve for `right`, in
    place.

    Four rows are eliminated at a time, from two rows at a time: what is loaded serves eight
    products. Leaves D L' of the factorisation L D L' in the upper triangle. False when a pivot is
    not positive.
    """
    for first in range(0, size, 4):
        end = min(first + 4, size)
        for row in range(first, end):
            pivot = matrix[row, row]
            if not pivot > 0:
                return False
            for below in range(row + 1, end):
                share = matrix[row, below] / pivot
                target, source = matrix[below, below:size], matrix[row, below:size]
                for column in range(target.size):
                    target[column] -= share * source[column]
                right[below] -= share * right[row]
        if end == size:
            break
        one, two, three, four = (
            matrix[first],
            matrix[first + 1],
            matrix[first + 2],
            matrix[first + 3],
        )
        p, q, r, s = 1 / one[first], 1 / two[first + 1], 1 / three[first + 2], 1 / four[first + 3]
        x, y, z, w = right[first], right[first + 1], right[first + 2], right[first + 3]
        for below in range(end, size, 2):
            a, b, c, d = one[below] * p, two[below] * q, three[below] * r, four[below] * s
            right[below] -= a * x + b * y + c * z + d * w
            if below + 1 == size:
                matrix[below, below] -= (
                    a * one[below] + b * two[below] + c * three[below] + d * four[below]
                )
                break
            e, f, g, h = (
                one[below + 1] * p,
                two[below + 1] * q,
                three[below + 1] * r,
                four[below + 1] * s,
            )
            right[below + 1] -= e * x + f * y + g * z + h * w
            upper, lower = matrix[below, below:size], matrix[below + 1, below:size]
            i, j, k, m = one[below:size], two[below:size], three[below:size], four[below:size]
            for column in range(upper.size):
                upper[column] -= a * i[column] + b * j[column] + c * k[column] + d * m[column]
                lower[column] -= e * i[column] + f * j[column] + g * k[column] + h * m[column]
    _back(matrix, size, right)
    return True


@compiled
def again(matrix: Floats, size: int, right: Floats) -> None:
    """Solve for another right-hand side with the matrix that `factor` left, in place."""
    for row in range(size):
        share = right[row] / matrix[row, row]
        source, target = matrix[row, row + 1 : size], right[row + 1 : size]
        for column in range(target.size):
            target[column] -= share * source[column]
    _back(matrix, size, right)


@compiled
def _back(matrix: Floats, size: int, right: Floats) -> None:
    """Substitute backwards."""
    for row in range(size - 1, -1, -1):
        total = right[row]
        coefficients, known = matrix[row, row + 1 : size], right[row + 1 : size]
        for column in range(known.size):
            total -= coefficients[column] * known[column]
        right[row] = total / matrix[row, row]


@compiled
def inverse_times(matrix: Floats, size: int, diagonal: Floats, result: Floats) -> None:
    """The inverse of the factored matrix times a diagonal one, shape (size, size)."""
    result[:size, :size] = 0.0
    for row in range(size):
        result[row, row] = diagonal[row]
        source = result[row, : row + 1]
        for below in range(row + 1, size):
            share, target = matrix[row, below] / matrix[row, row], result[below, : row + 1]
            for column in range(source.size):
                target[column] -= share * source[column]
    for row in range(size - 1, -1, -1):
        here = result[row, :size]
        below = row + 1
        while below + 3 < size:
            a, b, c, d = (
                matrix[row, below],
                matrix[row, below + 1],
                matrix[row, below + 2],
                matrix[row, below + 3],
            )
            one, two = result[below, :size], result[below + 1, :size]
            three, four = result[below + 2, :size], result[below + 3, :size]
            for column in range(here.size):
                here[column] -= (
                    a * one[column] + b * two[column] + c * three[column] + d * four[column]
                )
            below += 4
        while below < size:
            share, one = matrix[row, below], result[below, :size]
            for column in range(here.size):
                here[column] -= share * one[column]
            below += 1
        for column in range(here.size):
            here[column] /= matrix[row, row]
