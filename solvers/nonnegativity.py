"""Making tables non-negative at the least harm: `JointProjection`, `Ripple` as published, `Simplex` and `Clip`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from .basis import Floats
from .consistency import Components
from .tables import Tables
from .threads import compiled_loops, in_parts, processors, single_thread


class NonNegativity(Protocol):
    """Anything that changes tables so that no cell is (much) below zero.

    `keeps_consistency` says whether consistent tables stay consistent.
    """

    @property
    def keeps_consistency(self) -> bool: ...

    def __call__(self, tables: Tables, /) -> Tables: ...


@dataclass(frozen=True, kw_only=True)
class Clip:
    """Set negative cells to zero. Simple, and biased: totals grow (the paper's *Simple*)."""

    keeps_consistency: ClassVar[bool] = False

    def __call__(self, tables: Tables) -> Tables:
        return tables.with_values([np.maximum(value, 0.0) for value in tables.values])


@dataclass(frozen=True, kw_only=True)
class Simplex:
    """The nearest non-negative table of the same total, one by one (the paper's *Global*).

    Euclidean projection onto the scaled simplex: the same number is taken from every cell that stays positive. A table
    whose total is not positive becomes zero.
    """

    keeps_consistency: ClassVar[bool] = False

    def __call__(self, tables: Tables) -> Tables:
        return tables.with_values([_simplex(value) for value in tables.values])


@dataclass(frozen=True, kw_only=True)
class Ripple:
    """Hand each negative cell's deficit to its neighbours, in equal parts, until none is left.

    Qardaji, Yang and Li, SIGMOD 2014, section 4.4; neighbours differ in one attribute (section 4.7). The order of the
    steps does not matter for the result, so all cells below the threshold are served at once. A table whose total is
    not positive becomes zero, since the published procedure would not end on it; one that is not done after `sweeps` is
    finished by `Simplex`.

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
            batch = _ripple(np.stack([values[row] for row in rows]), limits, self.sweeps)
            for row, value in zip(rows, batch, strict=True):
                values[row] = value
        return tables.with_values(values)


@dataclass(frozen=True, kw_only=True)
class JointProjection:
    """All views at once: the nearest consistent non-negative tables, where low-order components weigh more.

    Solves: minimise sum_S |S| ** -decay * precision_S * |c_S - observed_S| ** 2 over consistent tables c >= 0 of the
    given total, where S runs over the residual components (see `basis`) and precision_S is that of the best linear
    estimate. With decay 0 this is maximum likelihood, whose clipping bias spoils the low orders; decay 2 protects them
    as `Ripple` does.

    Solved by the alternating direction method of multipliers: both steps are closed forms, an average of components and
    a clip. The result is exactly consistent and exactly non-negative: what the iteration leaves below zero is lifted by
    mixing in the uniform table. When the total is not positive all tables become zero.

    Parameters
    ----------
    decay
        The exponent above, >= 0.
    tolerance
        Where to stop, in standard deviations of the cells' noise.
    iterations
        Where to stop at the latest.
    """

    decay: float = 2.0
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
        observed = components.average(components.analyse(components.flatten(tables.values)))
        if tables.total <= 0:
            return tables.with_values([np.zeros_like(value) for value in tables.values])
        # The total keeps its place: an infinite weight.
        known = components.precision / components.metric
        weight = np.where(components.order > 0, known * np.maximum(components.order, 1) ** -self.decay, np.inf)
        cells = components.synthesise(observed)
        if cells.min() < 0:
            with single_thread():
                cells = self._solve(components, observed, weight, cells)
        uniform = tables.total / components.flatten([np.full(v.shape, float(v.size)) for v in tables.values])
        # Cells that are still negative by c < 0 need a share t of the uniform cell u with (1 - t) c + t u >= 0.
        low = np.minimum(cells, 0.0)
        share = float(np.max(low / (low - uniform)))
        return components.with_cells(np.maximum((1 - share) * cells + share * uniform, 0.0))

    def _solve(self, components: Components, observed: Floats, weight: Floats, cells: Floats) -> Floats:
        loops = compiled_loops("projection_loops", _NUMPY_SECONDS * cells.size)
        state = (_Splitting if loops is None else _CompiledSplitting)(components, observed, weight, cells, loops)
        rho = 1.0
        for iteration in range(self.iterations):
            primal, change = state.step(rho)
            if primal < self.tolerance and change < self.tolerance:
                break
            if iteration % 10 == 9:
                factor = 2.0 if primal > 5 * rho * change else 0.5 if rho * change > 5 * primal else 1.0
                rho *= factor
                state.dual /= factor
        return state.cells


class _Splitting:
    """The two copies of the cells, consistent and non-negative, and the multipliers of their difference."""

    def __init__(self, components: Components, observed: Floats, weight: Floats, cells: Floats, loops: Any) -> None:
        self.components, self.observed, self.weight, self.loops = components, observed, weight, loops
        self.cells = cells
        self.positive = np.maximum(cells, 0.0)
        self.dual = np.zeros_like(cells)

    def step(self, rho: float) -> tuple[float, float]:
        """Move both copies; their distance, and how far the non-negative one moved, in standard deviations."""
        components, weight, positive = self.components, self.weight, self.positive
        pulled = components.average(components.analyse(positive - self.dual))
        with np.errstate(invalid="ignore"):
            shared = np.where(np.isinf(weight), self.observed, (weight * self.observed + rho * pulled) / (weight + rho))
        self.cells = components.synthesise(shared)
        relaxed = _RELAXATION * self.cells + (1 - _RELAXATION) * positive + self.dual
        self.positive = np.maximum(relaxed, 0.0)
        self.dual = relaxed - self.positive
        deviation = components.deviation
        return (
            float(np.max(np.abs(self.cells - self.positive) / deviation)),
            float(np.max(np.abs(self.positive - positive) / deviation)),
        )


class _CompiledSplitting(_Splitting):
    """The same by compiled loops, on all processors where there is work for them."""

    def __init__(self, components: Components, observed: Floats, weight: Floats, cells: Floats, loops: Any) -> None:
        super().__init__(components, observed, weight, cells.copy(), loops)
        self._views = components.packed
        self._alone, self._shared, self._goal = components.goals(weight, observed)
        bounds = self._views[0]
        self._deviation = components.deviation[bounds[:-1]]
        self._worst = np.zeros((len(bounds) - 1, 2))
        self._threads = processors() if cells.size > _WORTH_THREADS else 1

    def step(self, rho: float) -> tuple[float, float]:
        loops, views, cells, positive, dual = self.loops, self._views, self.cells, self.positive, self.dual

        def analyse(start: int, stop: int) -> None:
            loops.analyse(start, stop, views, self._alone, rho, positive, dual, cells)

        def agree(start: int, stop: int) -> None:
            loops.agree(start, stop, self._shared, self._goal, rho, cells)

        def clip(start: int, stop: int) -> None:
            loops.clip(start, stop, views, self._deviation, _RELAXATION, cells, positive, dual, self._worst)

        in_parts(len(self._worst), self._threads, analyse)
        in_parts(len(self._goal[0]), self._threads, agree)
        in_parts(len(self._worst), self._threads, clip)
        primal, change = self._worst.max(axis=0).tolist()
        return primal, change


_NUMPY_SECONDS = 1.2e-5
"""Roughly how long numpy takes for a cell in all."""

_WORTH_THREADS = 200_000
"""How many cells make it worth to start threads."""

_RELAXATION = 1.8
"""Over-relaxation of the multiplier method, between 1.5 and 1.8 by common experience; measured best with rho = 1."""


def _same_shape(tables: Tables) -> Iterator[list[int]]:
    """The rows of the views, those of equal shape together."""
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, value in enumerate(tables.values):
        rows.setdefault(value.shape, []).append(row)
    yield from rows.values()


def _simplex(table: Floats) -> Floats:
    total = table.sum()
    if total <= 0:
        return np.zeros_like(table)
    falling = np.sort(table, axis=None)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, table.size + 1)
    # Not above, but at least: the first cell passes even where a tiny total is lost in rounding.
    return np.asarray(np.maximum(table - excess[np.flatnonzero(falling >= excess)[-1]], 0.0))


def _ripple(batch: Floats, limits: NDArray[np.float64], sweeps: int) -> Floats:
    """Ripple tables of one shape, (rows, ...), each until no cell is below minus its limit."""
    batch = np.where(batch.sum(axis=tuple(range(1, batch.ndim)), keepdims=True) > 0, batch, 0.0)
    neighbours = sum(batch.shape[1:]) - (batch.ndim - 1)
    limits = limits.reshape(-1, *[1] * (batch.ndim - 1))
    active = np.arange(len(batch))
    for _ in range(sweeps if neighbours else 0):
        part = batch[active]
        deficit = np.where(part < -limits[active], -part, 0.0)
        unfinished = deficit.any(axis=tuple(range(1, batch.ndim)))
        if not unfinished.any():
            return batch
        active, deficit = active[unfinished], deficit[unfinished]
        passed = sum(deficit.sum(axis=axis, keepdims=True) - deficit for axis in range(1, batch.ndim))
        batch[active] += deficit - passed / neighbours
    batch[active] = [_simplex(table) for table in batch[active]]
    return batch
