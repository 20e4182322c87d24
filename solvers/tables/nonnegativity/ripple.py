"""`Ripple`: negative cells become zero, and their neighbours pay for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...types import Flags, Floats
from ..tables import Tables
from .simplex import nearest_on_simplex


@dataclass(
    frozen=True,
    kw_only=True,
)
class Ripple:
    """Sets negative cells to zero and subtracts what was added from their neighbours, repeatedly.

    Source: Qardaji, Yang and Li, SIGMOD 2014, section 4.4. Neighbours are cells that differ in one
    attribute (section 4.7); each loses an equal part. The paper treats one cell at a time, in an
    order that it does not state; here each round treats all negative cells at once. As the
    threshold goes to zero, every order leads to the same table. With a positive threshold, cells
    between minus the threshold and zero remain, and which remain depends on the order. A table
    whose total is not positive becomes zero, because the procedure would not end on it. After
    `sweeps` rounds, `Simplex` is applied to tables that still have negative cells.

    Cells that must be zero are not neighbours of any cell. At the start, their content is spread
    evenly over the other cells of the table, and so is the difference to a known total.

    Parameters
    ----------
    threshold
        A cell counts as negative if it lies more than this many standard deviations of its noise
        below zero, > 0.
    sweeps
        The largest number of rounds.

    Raises
    ------
    ValueError
        If the threshold is not positive.

    Examples
    --------
    >>> table = np.array([[5.0, -1.0], [3.0, 3.0]])
    >>> noisy = Tables(sizes=(2, 2), views=((0, 1),), values=(table,), variances=(1.0,))
    >>> Ripple()(noisy).values[0].round(2).tolist()
    [[4.5, 0.0], [3.0, 2.5]]
    """

    threshold: float = 0.01
    sweeps: int = 10_000
    keeps_consistency: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.threshold > 0:
            raise ValueError(f"threshold ({self.threshold}) must be > 0; pass a larger number")

    def __call__(self, tables: Tables) -> Tables:
        values = list(tables.values)
        for rows in _same_shape(tables):
            limits = self.threshold * np.sqrt([tables.variances[row] for row in rows])
            empty = None if tables.empty is None else np.stack([tables.empty[row] for row in rows])
            batch = np.stack([values[row] for row in rows])
            batch = _evened(batch, empty, tables.known_total)
            batch = _ripple(batch, limits, self.sweeps, empty)
            for row, value in zip(rows, batch, strict=True):
                values[row] = value
        return tables.with_values(values)


def _same_shape(tables: Tables) -> Iterator[list[int]]:
    """Yield lists of the positions of views that have equal shapes."""
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, value in enumerate(tables.values):
        rows.setdefault(value.shape, []).append(row)
    yield from rows.values()


def _evened(batch: Floats, empty: Flags | None, total: float | None) -> Floats:
    """Set required zeros in tables of one shape, (tables, ...), and correct their totals.

    Each table keeps its total, or gets the given one: the difference is spread evenly over the
    other cells.
    """
    if empty is None and total is None:
        return batch
    full = np.ones_like(batch) if empty is None else (~empty).astype(np.float64)
    wanted = _totals(batch) if total is None else total
    kept = batch * full
    lack_of_a_cell = (wanted - _totals(kept)) / _totals(full)
    return np.asarray(full * (batch + lack_of_a_cell))


def _totals(batch: Floats) -> Floats:
    """The sum of each table of a batch, with all axes of the batch."""
    inner = tuple(range(1, batch.ndim))
    return np.asarray(batch.sum(axis=inner, keepdims=True))


def _ripple(
    batch: Floats,
    limits: Floats,
    sweeps: int,
    empty: Flags | None = None,
) -> Floats:
    """Apply the rounds of `Ripple` to tables of one shape, (tables, ...).

    A table is finished if no cell is below minus its limit. Cells that must be zero stay zero.
    Tables that are not finished after all rounds, or in which a negative cell has no neighbours,
    are projected by `Simplex`.
    """
    inner = tuple(range(1, batch.ndim))
    batch = np.where(_totals(batch) > 0, batch, 0.0)
    full = np.ones((1, *batch.shape[1:])) if empty is None else (~empty).astype(np.float64)
    # The share that each neighbour takes: one over the number of neighbours.
    neighbours = _passed(full)
    weight = np.zeros_like(full)
    np.divide(full, neighbours, out=weight, where=neighbours > 0)
    limits = limits.reshape(-1, *[1] * (batch.ndim - 1))
    active = np.arange(len(batch))
    for _ in range(sweeps if weight.any() else 0):
        # What the negative cells of each table lack.
        part = batch[active]
        own = active if empty is not None else slice(None)
        deficit = np.where((part < -limits[active]) & (weight[own] > 0), -part, 0.0)
        unfinished = deficit.any(axis=inner)
        if not unfinished.any():
            active = active[:0]
            break
        active = active[unfinished]
        deficit = deficit[unfinished]
        # Add it to them, and take it from their neighbours.
        own = active if empty is not None else slice(None)
        batch[active] += deficit - full[own] * _passed(deficit * weight[own])
    if empty is not None:
        active = np.flatnonzero((batch < -limits).any(axis=inner))
    for row in active.tolist():
        batch[row] = nearest_on_simplex(batch[row], None if empty is None else empty[row])
    return batch


def _passed(batch: Floats) -> Floats:
    """Add up, for each cell, the numbers of all its neighbours."""
    total = np.zeros_like(batch)
    for axis in range(1, batch.ndim):
        total += batch.sum(axis=axis, keepdims=True) - batch
    return total
