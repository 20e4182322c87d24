"""The interface of the methods that remove negative cells."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from ...types import Flags, Floats
from ..tables import Tables


class NonNegativity(Protocol):
    """A function that removes negative cells from tables; `Ripple` leaves those near zero.

    Cells that must be zero are zero afterwards. If the total is known, every table sums to it. A
    method that keeps consistency keeps what else is known; after another one, consistency is made
    again.
    """

    @property
    def keeps_consistency(self) -> bool:
        """Whether consistent tables stay consistent."""

    def __call__(self, tables: Tables, /) -> Tables: ...


def with_empty(tables: Tables) -> Iterator[tuple[Floats, Flags]]:
    """Yield each table with a mask of its cells that must be zero."""
    empty = tables.empty
    if empty is None:
        empty = tuple(np.zeros(value.shape, np.bool_) for value in tables.values)
    return zip(tables.values, empty, strict=True)
