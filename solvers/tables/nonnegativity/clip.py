"""`Clip`: negative cells become zero."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..tables import Tables
from .protocol import with_empty


@dataclass(
    frozen=True,
    kw_only=True,
)
class Clip:
    """Sets negative cells to zero (*Simple* in Qardaji, Yang and Li, SIGMOD 2014).

    This is biased: totals grow. If the total is known, each table is scaled to it.

    Examples
    --------
    >>> table = np.array([[5.0, -1.0], [3.0, 3.0]])
    >>> noisy = Tables(sizes=(2, 2), views=((0, 1),), values=(table,), variances=(1.0,))
    >>> Clip()(noisy).values[0].round(2).tolist()
    [[5.0, 0.0], [3.0, 3.0]]
    """

    keeps_consistency: ClassVar[bool] = False

    def __call__(self, tables: Tables) -> Tables:
        values = []
        for value, empty in with_empty(tables):
            clipped = np.where(empty, 0.0, np.maximum(value, 0.0))
            if tables.known_total is not None:
                if not clipped.any():
                    clipped = np.where(empty, 0.0, 1.0)
                clipped *= tables.known_total / clipped.sum()
            values.append(clipped)
        return tables.with_values(values)
