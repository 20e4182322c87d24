"""The order of the axes of tables."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_order_of"]

_Entry = TypeVar("_Entry", bound=np.generic)


def in_order_of(table: "NDArray[_Entry]", axes: Sequence[Any]) -> "NDArray[_Entry]":
    """A table whose axes are in ascending order of the positions `axes`, with its axes put in the
    order in which `axes` names them."""
    # The rank of a position is the axis of the table that belongs to it.
    ranks = np.argsort(np.argsort(axes))
    return table.transpose(ranks)
