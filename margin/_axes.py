"""The order of the axes of tables."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_order_of"]

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
