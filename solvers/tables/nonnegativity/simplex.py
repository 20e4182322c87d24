"""`Simplex`: the nearest non-negative table of the same total."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...types import Flags, Floats
from ..tables import Tables
from .protocol import with_empty


@dataclass(
    frozen=True,
    kw_only=True,
)
class Simplex:
    """Replaces each table by the nearest non-negative table of the same total.

    It is the Euclidean projection onto the scaled simplex. The same number is subtracted from every
    cell that stays positive. A table whose total is not positive becomes zero. The content of cells
    that must be zero goes to the other cells.

    A round sets negative cells to zero and subtracts the same number from every positive cell, so
    that the total stays. Rounds, repeated until no cell is negative, end in the projection
    (Michelot 1986). One round is *Global* in Qardaji, Yang and Li, SIGMOD 2014, section 5.3; it may
    leave cells below zero that were positive.

    Parameters
    ----------
    rounds
        The number of rounds, >= 1; None for the projection.

    Raises
    ------
    ValueError
        If `rounds` is below 1.

    Examples
    --------
    >>> table = np.array([[5.0, -1.0], [3.0, 3.0]])
    >>> noisy = Tables(sizes=(2, 2), views=((0, 1),), values=(table,), variances=(1.0,))
    >>> Simplex()(noisy).values[0].round(2).tolist()
    [[4.67, 0.0], [2.67, 2.67]]
    """

    rounds: int | None = None
    keeps_consistency: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.rounds is not None and self.rounds < 1:
            raise ValueError(
                f"rounds ({self.rounds}) must be >= 1, or None for the projection; pass one of "
                "these"
            )

    def __call__(self, tables: Tables) -> Tables:
        values = []
        for value, empty in with_empty(tables):
            if self.rounds is None:
                values.append(nearest_on_simplex(value, empty, tables.known_total))
            else:
                values.append(_in_rounds(value, empty, tables.known_total, self.rounds))
        return tables.with_values(values)


def nearest_on_simplex(
    table: Floats,
    empty: Flags | None = None,
    total: float | None = None,
) -> Floats:
    """Project a table onto the non-negative tables of its own total, or of a given one.

    `empty` is a mask of the cells that must be zero.
    """
    if total is None:
        total = float(table.sum())
    if empty is not None and empty.any():
        result = np.zeros_like(table)
        result[~empty] = nearest_on_simplex(table[~empty], total=total)
        return result
    if total <= 0:
        return np.zeros_like(table)
    falling = np.sort(table, axis=None)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, table.size + 1)
    # ">=", so that the first cell passes even if a tiny total is lost in rounding.
    last = np.flatnonzero(falling >= excess)[-1]
    return np.asarray(np.maximum(table - excess[last], 0.0))


def _in_rounds(
    table: Floats,
    empty: Flags,
    total: float | None,
    rounds: int,
) -> Floats:
    """Apply rounds of `Simplex` to a table of its own total, or of a given one."""
    if total is None:
        total = float(table.sum())
    if total <= 0:
        return np.zeros_like(table)
    cells = np.where(empty, 0.0, table)
    for _ in range(rounds):
        positive = cells > 0
        if not positive.any():
            positive = ~empty
        cells = np.where(positive, np.maximum(cells, 0.0), 0.0)
        cells[positive] -= (cells.sum() - total) / np.count_nonzero(positive)
        if cells.min() >= 0:
            break
    return np.asarray(cells)
