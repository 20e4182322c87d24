"""The order of the axes of tables, and products along an axis."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_order_of", "times_along"]

_Entry = TypeVar("_Entry", bound=np.generic)


def in_order_of(table: "NDArray[_Entry]", axes: Sequence[Any]) -> "NDArray[_Entry]":
    """Transpose a table from the order of the domain to the order of `axes`.

    Parameters
    ----------
    table
        An array with one axis for each number in `axes`. Its axes are in ascending order of these
        numbers.
    axes
        The positions of attributes in the domain, each once, in the order that is wanted.

    Examples
    --------
    >>> import numpy as np
    >>> in_order_of(np.zeros((2, 3)), [7, 4]).shape
    (3, 2)
    """
    # The rank of a position is the axis of the table that belongs to it.
    ranks = np.argsort(np.argsort(axes))
    return table.transpose(ranks)


def times_along(
    matrix: NDArray[Any],
    table: NDArray[Any],
    axis: int,
) -> NDArray[Any]:
    """Multiply a table by a matrix along one axis.

    It is `numpy.tensordot` and `numpy.moveaxis` without their checks, which take longer than the
    product of small tables.

    Examples
    --------
    >>> import numpy as np
    >>> times_along(np.ones((1, 3)), np.ones((2, 3)), axis=1).tolist()
    [[3.0], [3.0]]
    """
    before = range(axis)
    after = range(axis + 1, table.ndim)
    rows = table.transpose((axis, *before, *after))
    product: NDArray[Any] = np.dot(matrix, rows.reshape(len(rows), -1))
    back = (*range(1, axis + 1), 0, *after)
    return product.reshape(-1, *rows.shape[1:]).transpose(back)
