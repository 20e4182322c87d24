"""Making tables non-negative at the least harm: `JointProjection`, `Ripple` as published, `Simplex`
and `Clip`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..threads import compiled_loops, in_parts, processors, single_thread
from ..types import Floats
from .consistency import Components
from .tables import Tables


class NonNegativity(Protocol):
    """Anything that changes tables so that no cell is (much) below zero, and none is above that
    must be zero.

    Where the total is known, every table adds up to it afterwards.

    `keeps_consistency` says whether consistent tables stay consistent.
    """

    @property
    def keeps_consistency(self) -> bool:
        """Whether consistent tables stay consistent."""

    def __call__(self, tables: Tables, /) -> Tables: ...


@dataclass(frozen=True, kw_only=True)
class Clip:
    """Set negative cells to zero. Simple, and biased: totals grow (the paper's *Simple*), unless
    the total is known: tables are then scaled to it.
    """

    keeps_consistency: ClassVar[bool] = False

    def __call__(self, tables: Tables) -> Tables:
        values = []
        for value, empty in _with_empty(tables):
            clipped = np.where(empty, 0.0, np.maximum(value, 0.0))
            if tables.known_total is not None:
                clipped = clipped if clipped.any() else np.where(empty, 0.0, 1.0)
                clipped *= tables.known_total / clipped.sum()
            values.append(clipped)
        return tables.with_values(values)


@dataclass(frozen=True, kw_only=True)
class Simplex:
    """The nearest non-negative table of the same total, one by one (the paper's *Global*).

    Euclidean projection onto the scaled simplex: the same number is taken from every cell that
    stays positive. A table whose total is not positive becomes zero. What cells hold that must be
    zero goes to the others.
    """

    keeps_consistency: ClassVar[bool] = False

    def __call__(self, tables: Tables) -> Tables:
        return tables.with_values(
            [_simplex(value, empty, tables.known_total) for value, empty in _with_empty(tables)]
        )


@dataclass(frozen=True, kw_only=True)
class Ripple:
    """Hand each negative cell's deficit to its neighbours, in equal parts, until none is left.

    Qardaji, Yang and Li, SIGMOD 2014, section 4.4; neighbours differ in one attribute (section
    4.7). The order of the steps does not matter for the result, so all cells below the threshold
    are served at once. A table whose total is not positive becomes zero, since the published
    procedure would not end on it; one that is not done after `sweeps` is finished by `Simplex`.
    Cells that must be zero are nobody's neighbours: what they hold is spread evenly over the others
    at first, and so is what a table lacks of a known total.

    Parameters
    ----------
    threshold
        A cell counts as negative below minus this many standard deviations of its noise.
    sweeps
        How many rounds are made at most.
    """

    threshold: float = 0.01
    sweeps: int = 10_000
    keeps_consistency: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.threshold > 0:
            raise ValueError(f"threshold ({self.threshold}) must be > 0")

    def __call__(self, tables: Tables) -> Tables:
        values = list(tables.values)
        for rows in _same_shape(tables):
            limits = self.threshold * np.sqrt([tables.variances[row] for row in rows])
            empty = None if tables.empty is None else np.stack([tables.empty[row] for row in rows])
            batch = _evened(np.stack([values[row] for row in rows]), empty, tables.known_total)
            batch = _ripple(batch, limits, self.sweeps, empty)
            for row, value in zip(rows, batch, strict=True):
                values[row] = value
        return tables.with_values(values)


@dataclass(frozen=True, kw_only=True)
class JointProjection:
    """All views at once: the nearest consistent non-negative tables, where low-order components
    weigh more.

    Solves: minimise sum_S importance_S * precision_S * |c_S - observed_S| ** 2 over consistent
    tables c >= 0 of the given total, where S runs over the residual components (see `basis`),
    precision_S is that of the best linear estimate, and importance_S = (3 if |S| = 1 else |S| **
    -decay) * sqrt(number of views that hold S), not counting views that others contain.

    Were all equally important this would be maximum likelihood, whose clipping bias spoils what is
    known best: every view pushes its components up where it has negative cells, and these pushes
    add up where the noise of many views cancels out. So components of many views are protected, and
    single axes, on which all answers rest, most. The numbers were chosen by the errors on made-up
    clicks, chains and classes, and on two real tables.

    Solved by the alternating direction method of multipliers: both steps are closed forms, an
    average of components and a clip. The result is exactly consistent and exactly non-negative:
    what the iteration leaves below zero is lifted by mixing in the uniform table. When the total is
    not positive all tables become zero.

    Cells that must be zero are zero: in the clip, then, for what the iteration leaves there, by the
    nearest consistent tables of which that is true, and in what is mixed in, a distribution that is
    positive everywhere else.

    Parameters
    ----------
    decay
        The exponent above, >= 0: the larger, the less important are components of many axes.
    tolerance
        Where to stop, in standard deviations of the cells' noise.
    iterations
        Where to stop at the latest.
    """

    decay: float = 1.0
    tolerance: float = 1e-4
    iterations: int = 1000
    keeps_consistency: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.decay >= 0:
            raise ValueError(f"decay ({self.decay}) must be >= 0")
        if not self.tolerance > 0:
            raise ValueError(f"tolerance ({self.tolerance}) must be > 0")

    def __call__(self, tables: Tables) -> Tables:
        components = Components(tables)
        observed = components.estimate(tables.values)
        total = float(observed[components.order == 0].item())
        if total <= 0:
            return tables.with_values([np.zeros_like(value) for value in tables.values])
        # The total keeps its place: an infinite weight.
        known = components.precision / components.metric
        weight = np.where(components.order > 0, known * importance(components, self.decay), np.inf)
        cells = components.synthesise(observed)
        if components.empty is not None:
            cells[components.empty] = 0.0
        if cells.min() < 0:
            with single_thread():
                cells = self._solve(components, observed, weight, cells)
        inner = total * components.flatten(map(tables.inner, range(len(tables.views))))
        # Cells that are still negative by c < 0 need a share t of the inner cell u with (1 - t) c +
        # t u >= 0.
        low = np.minimum(cells, 0.0)
        share = float(np.max(low / np.where(inner > 0, low - inner, -np.inf)))
        return components.with_cells(np.maximum((1 - share) * cells + share * inner, 0.0))

    def _solve(
        self, components: Components, observed: Floats, weight: Floats, cells: Floats
    ) -> Floats:
        loops = compiled_loops("tables.projection_loops", _NUMPY_SECONDS * cells.size)
        state = (_Splitting if loops is None else _CompiledSplitting)(
            components, observed, weight, cells, loops
        )
        rho = 1.0
        patience = _PATIENCE
        for iteration in range(self.iterations):
            primal, change = state.step(rho)
            if primal < self.tolerance and change < self.tolerance:
                break
            if (
                iteration == patience
            ):  # many cells change their sign again and again: let the multipliers move faster
                rho = 2 * rho
                patience = 2 * patience
                state.dual /= 2
        if components.empty is None:
            return state.cells
        shared = components.average(components.analyse(state.cells))
        return components.synthesise(components.emptied(shared, weight * components.metric))


def importance(components: Components, decay: float) -> Floats:
    """How much a change of each distinct coefficient weighs beside its precision, shape (m,); see
    `JointProjection`."""
    by_order = np.where(components.order == 1, _SINGLE, np.maximum(components.order, 1.0) ** -decay)
    return np.asarray(by_order * np.sqrt(components.holders))


class _Splitting:
    """The two copies of the cells, consistent and non-negative, and the multipliers of their
    difference."""

    def __init__(
        self, components: Components, observed: Floats, weight: Floats, cells: Floats, loops: Any
    ) -> None:
        self.components = components
        self.observed = observed
        self.weight = weight
        self.loops = loops
        self.cells = cells
        self.empty = np.zeros(0, np.bool_) if components.empty is None else components.empty
        self.positive = np.maximum(cells, 0.0)
        self.dual = np.zeros_like(cells)

    def step(self, rho: float) -> tuple[float, float]:
        """Move both copies; their distance, and how far the non-negative one moved, in standard
        deviations."""
        components = self.components
        weight = self.weight
        positive = self.positive
        pulled = components.average(components.analyse(positive - self.dual))
        with np.errstate(invalid="ignore"):
            shared = np.where(
                np.isinf(weight),
                self.observed,
                (weight * self.observed + rho * pulled) / (weight + rho),
            )
        self.cells = components.synthesise(shared)
        relaxed = _RELAXATION * self.cells + (1 - _RELAXATION) * positive + self.dual
        self.positive = np.maximum(relaxed, 0.0)
        if self.empty.size:
            self.positive[self.empty] = 0.0
        self.dual = relaxed - self.positive
        deviation = components.deviation
        return (
            float(np.max(np.abs(self.cells - self.positive) / deviation)),
            float(np.max(np.abs(self.positive - positive) / deviation)),
        )


class _CompiledSplitting(_Splitting):
    """The same by compiled loops, on all processors where there is work for them."""

    def __init__(
        self, components: Components, observed: Floats, weight: Floats, cells: Floats, loops: Any
    ) -> None:
        super().__init__(components, observed, weight, cells.copy(), loops)
        self._views = components.packed
        self._alone, self._shared, self._goal = components.goals(weight, observed)
        bounds = self._views[0]
        self._deviation = components.deviation[bounds[:-1]]
        self._worst = np.zeros((len(bounds) - 1, 2))
        self._threads = processors() if cells.size > _WORTH_THREADS else 1

    def step(self, rho: float) -> tuple[float, float]:
        loops = self.loops
        views = self._views
        cells = self.cells
        positive = self.positive
        dual = self.dual

        def analyse(start: int, stop: int) -> None:
            loops.analyse(start, stop, views, self._alone, rho, positive, dual, cells)

        def agree(start: int, stop: int) -> None:
            loops.agree(start, stop, self._shared, self._goal, rho, cells)

        def clip(start: int, stop: int) -> None:
            loops.clip(
                start,
                stop,
                views,
                self._deviation,
                _RELAXATION,
                self.empty,
                cells,
                positive,
                dual,
                self._worst,
            )

        in_parts(len(self._worst), self._threads, analyse)
        in_parts(len(self._goal[0]), self._threads, agree)
        in_parts(len(self._worst), self._threads, clip)
        primal, change = self._worst.max(axis=0).tolist()
        return primal, change


_SINGLE = 3.0
"""The importance of the components of single axes, beside 1 / 2 for pairs at the usual decay."""

_NUMPY_SECONDS = 1.2e-5
"""Roughly how long numpy takes for a cell in all."""

_WORTH_THREADS = 200_000
"""How many cells make it worth to start threads."""

_PATIENCE = 40
"""After how many steps, and again after twice as many, the multipliers' step is doubled."""

_RELAXATION = 1.8
"""Over-relaxation of the multiplier method, between 1.5 and 1.8 by common experience; measured best
with rho = 1."""


def _same_shape(tables: Tables) -> Iterator[list[int]]:
    """The rows of the views, those of equal shape together."""
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, value in enumerate(tables.values):
        rows.setdefault(value.shape, []).append(row)
    yield from rows.values()


def _with_empty(tables: Tables) -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
    """The views' tables, each with which of its cells must be zero."""
    empty = tables.empty or tuple(np.zeros(value.shape, np.bool_) for value in tables.values)
    return zip(tables.values, empty, strict=True)


def _simplex(
    table: Floats, empty: NDArray[np.bool_] | None = None, total: float | None = None
) -> Floats:
    """The nearest non-negative table of its own total, or a given one, with nothing in cells that
    must be empty."""
    total = float(table.sum()) if total is None else total
    if empty is not None and empty.any():
        result = np.zeros_like(table)
        result[~empty] = _simplex(table[~empty], total=total)
        return result
    if total <= 0:
        return np.zeros_like(table)
    falling = np.sort(table, axis=None)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, table.size + 1)
    # Not above, but at least: the first cell passes even where a tiny total is lost in rounding.
    return np.asarray(np.maximum(table - excess[np.flatnonzero(falling >= excess)[-1]], 0.0))


def _evened(batch: Floats, empty: NDArray[np.bool_] | None, total: float | None) -> Floats:
    """Tables of one shape, (rows, ...), with nothing in cells that must be empty, of their own
    total or a given one.

    What is left over or lacks is spread evenly over the other cells.
    """
    if empty is None and total is None:
        return batch
    inner = tuple(range(1, batch.ndim))
    full = np.ones_like(batch) if empty is None else (~empty).astype(np.float64)
    lacks = (batch.sum(axis=inner, keepdims=True) if total is None else total) - (batch * full).sum(
        axis=inner, keepdims=True
    )
    return np.asarray(full * (batch + lacks / full.sum(axis=inner, keepdims=True)))


def _ripple(
    batch: Floats, limits: NDArray[np.float64], sweeps: int, empty: NDArray[np.bool_] | None = None
) -> Floats:
    """Ripple tables of one shape, (rows, ...), each until no cell is below minus its limit.

    Cells that must be empty take no part. A cell without neighbours is left to `_simplex`.
    """
    inner = tuple(range(1, batch.ndim))
    batch = np.where(batch.sum(axis=inner, keepdims=True) > 0, batch, 0.0)
    full = np.ones((1, *batch.shape[1:])) if empty is None else (~empty).astype(np.float64)
    neighbours = _passed(full)
    weight = np.divide(full, neighbours, out=np.zeros_like(full), where=neighbours > 0)
    limits = limits.reshape(-1, *[1] * (batch.ndim - 1))
    active = np.arange(len(batch))
    for _ in range(sweeps if weight.any() else 0):
        part = batch[active]
        own = active if empty is not None else slice(None)
        deficit = np.where((part < -limits[active]) & (weight[own] > 0), -part, 0.0)
        unfinished = deficit.any(axis=inner)
        if not unfinished.any():
            active = active[:0]
            break
        active = active[unfinished]
        deficit = deficit[unfinished]
        own = active if empty is not None else slice(None)
        batch[active] += deficit - full[own] * _passed(deficit * weight[own])
    if empty is not None:
        active = np.flatnonzero((batch < -limits).any(axis=inner))
    for row in active.tolist():
        batch[row] = _simplex(batch[row], None if empty is None else empty[row])
    return batch


def _passed(batch: Floats) -> Floats:
    """What reaches each cell when every cell hands its number to each of its neighbours."""
    return np.asarray(
        sum(batch.sum(axis=axis, keepdims=True) - batch for axis in range(1, batch.ndim))
    )
