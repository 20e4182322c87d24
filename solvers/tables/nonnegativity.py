"""Methods that remove negative cells from tables, one class for each method."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..fitted import NUMPY_SECONDS_A_CELL, PATIENCE, RELAXATION, SINGLE_AXIS, WORTH_THREADS
from ..threads import compiler_pays, in_parts, processors, single_thread
from ..types import Flags, Floats
from .consistency import Components
from .tables import Tables


class NonNegativity(Protocol):
    """A function that removes negative cells from tables; `Ripple` leaves those near zero.

    Cells that must be zero are zero afterwards. If the total is known, every table sums to it.
    """

    @property
    def keeps_consistency(self) -> bool:
        """Whether consistent tables stay consistent."""

    def __call__(self, tables: Tables, /) -> Tables: ...


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
        for value, empty in _with_empty(tables):
            clipped = np.where(empty, 0.0, np.maximum(value, 0.0))
            if tables.known_total is not None:
                if not clipped.any():
                    clipped = np.where(empty, 0.0, 1.0)
                clipped *= tables.known_total / clipped.sum()
            values.append(clipped)
        return tables.with_values(values)


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
        for value, empty in _with_empty(tables):
            if self.rounds is None:
                values.append(_simplex(value, empty, tables.known_total))
            else:
                values.append(_in_rounds(value, empty, tables.known_total, self.rounds))
        return tables.with_values(values)


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


@dataclass(
    frozen=True,
    kw_only=True,
)
class JointProjection:
    """Finds the nearest tables that are both consistent and non-negative, for all views at once.

    Minimises sum_S importance_S * precision_S * |c_S - observed_S| ** 2 over consistent tables
    c >= 0 of the given total. S runs over the residual components (see `basis`), c_S are the
    coefficients of S, and precision_S is the precision of the best linear estimate of S. The factor
    importance_S is 3 * sqrt(h) if S is a single axis, and |S| ** -decay * sqrt(h) otherwise, where
    h is the number of views that hold S; views inside other views do not count.

    With equal importance the result would be a maximum likelihood estimate. It has a bias: removing
    negative cells changes components of all views in the same direction, so these changes add up,
    while the noise of several views averages out. Therefore components that many views hold, and
    single axes, have a larger weight. The numbers were chosen by the errors on generated clicks,
    chains and latent classes, and on two real tables (`fitted`).

    The method is ADMM (the alternating direction method of multipliers). Both of its steps have
    closed forms: an average of coefficients, and a clip. The iteration may leave some cells
    slightly below zero. Then a share of the uniform table is mixed in, so that the result is
    exactly consistent and exactly non-negative. If the total is not positive, all tables become
    zero.

    Cells that must be zero are set to zero in each clip. After the iteration, the nearest
    consistent tables with these zeros are computed. The table that is mixed in is zero there and
    positive elsewhere.

    Parameters
    ----------
    decay
        The exponent above, >= 0. The larger it is, the less important are components of many axes.
    tolerance
        The change, in standard deviations of the cells' noise, at which the iteration stops.
    iterations
        The largest number of iterations.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> table = np.array([[5.0, -1.0], [3.0, 3.0]])
    >>> noisy = Tables(sizes=(2, 2), views=((0, 1),), values=(table,), variances=(1.0,))
    >>> JointProjection()(noisy).values[0].round(2).tolist()
    [[4.25, 0.0], [3.5, 2.25]]
    """

    decay: float = 1.0
    tolerance: float = 1e-4
    iterations: int = 1000
    keeps_consistency: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.decay >= 0:
            raise ValueError(f"decay ({self.decay}) must be >= 0; pass a larger number")
        if not self.tolerance > 0:
            raise ValueError(f"tolerance ({self.tolerance}) must be > 0; pass a larger number")

    def __call__(self, tables: Tables) -> Tables:
        components = Components(tables)
        observed = components.estimate(tables.values)
        total = float(observed[components.order == 0].item())
        if total <= 0:
            return tables.with_values([np.zeros_like(value) for value in tables.values])
        # An infinite weight keeps the total fixed.
        known = components.precision / components.metric
        weight = known * importance(components, self.decay)
        weight = np.where(components.order > 0, weight, np.inf)
        cells = components.synthesise(observed)
        if components.empty is not None:
            cells[components.empty] = 0.0
        if cells.min() < 0:
            with single_thread():
                cells = self._solve(components, observed, weight, cells)
        # A cell c < 0 needs a share t of the inner cell u such that (1 - t) c + t u >= 0.
        inner = total * components.flatten(map(tables.inner, range(len(tables.views))))
        low = np.minimum(cells, 0.0)
        share = float(np.max(low / np.where(inner > 0, low - inner, -np.inf)))
        return components.with_cells(np.maximum((1 - share) * cells + share * inner, 0.0))

    def _solve(
        self,
        components: Components,
        observed: Floats,
        weight: Floats,
        cells: Floats,
    ) -> Floats:
        """Run ADMM from the given cells; returns consistent cells, shape (n,)."""
        loops = _compiled_loops(NUMPY_SECONDS_A_CELL * cells.size)
        state: _Splitting
        if loops is None:
            state = _Splitting(components, observed, weight, cells)
        else:
            state = _CompiledSplitting(components, observed, weight, cells, loops)
        rho = 1.0
        patience = PATIENCE
        for iteration in range(self.iterations):
            primal, change = state.step(rho)
            if primal < self.tolerance and change < self.tolerance:
                break
            if iteration == patience:
                # Convergence is slow if many cells change sign repeatedly: use larger steps.
                rho *= 2
                patience *= 2
                state.dual /= 2
        if components.empty is None:
            return state.cells
        shared = components.average(components.analyse(state.cells))
        return components.synthesise(components.emptied(shared, weight * components.metric))


def importance(components: Components, decay: float) -> Floats:
    """The factor importance_S in `JointProjection` for each distinct coefficient, shape (m,)."""
    order = components.order
    by_order = np.where(order == 1, SINGLE_AXIS, np.maximum(order, 1.0) ** -decay)
    return np.asarray(by_order * np.sqrt(components.holders))


class _Splitting:
    """The state of ADMM: two copies of the cells, and the scaled multipliers of their difference.

    `cells` is consistent, `positive` is non-negative, and `dual` are the multipliers; each has
    shape (n,). The method makes the two copies equal.
    """

    def __init__(
        self,
        components: Components,
        observed: Floats,
        weight: Floats,
        cells: Floats,
    ) -> None:
        self.components = components
        self.observed = observed
        self.weight = weight
        self.cells = cells
        self.empty = np.zeros(0, np.bool_) if components.empty is None else components.empty
        self.positive = np.maximum(cells, 0.0)
        self.dual = np.zeros_like(cells)

    def step(self, rho: float) -> tuple[float, float]:
        """Do one iteration of ADMM with penalty `rho`.

        Returns
        -------
        distance, change
            The largest distance of the two copies, and the largest change of the non-negative one,
            in standard deviations.
        """
        components = self.components
        weight = self.weight
        before = self.positive
        # The consistent copy: each coefficient between its observed value and the other copy.
        pulled = components.average(components.analyse(before - self.dual))
        with np.errstate(invalid="ignore"):
            between = (weight * self.observed + rho * pulled) / (weight + rho)
        shared = np.where(np.isinf(weight), self.observed, between)
        self.cells = components.synthesise(shared)
        # The non-negative copy: over-relaxation, then a clip.
        relaxed = RELAXATION * self.cells + (1 - RELAXATION) * before + self.dual
        self.positive = np.maximum(relaxed, 0.0)
        if self.empty.size:
            self.positive[self.empty] = 0.0
        self.dual = relaxed - self.positive
        distance = np.abs(self.cells - self.positive) / components.deviation
        change = np.abs(self.positive - before) / components.deviation
        return float(np.max(distance)), float(np.max(change))


class _CompiledSplitting(_Splitting):
    """The same iteration by compiled loops, on all processors if there are enough cells."""

    def __init__(
        self,
        components: Components,
        observed: Floats,
        weight: Floats,
        cells: Floats,
        loops: Any,
    ) -> None:
        super().__init__(components, observed, weight, cells.copy())
        self.loops = loops
        views = components.packed
        goals = components.goals(weight, observed)
        state = loops.State(
            cells=self.cells,
            positive=self.positive,
            dual=self.dual,
            empty=self.empty,
            deviation=components.deviation[views.bounds[:-1]],
            worst=np.zeros((len(views.bounds) - 1, 2)),
        )
        self._worst = state.worst
        self._shared = len(goals.weight)
        self._records = (tuple(views), tuple(goals), tuple(state))
        self._threads = processors() if cells.size > WORTH_THREADS else 1

    def step(self, rho: float) -> tuple[float, float]:
        """Do one iteration of ADMM in compiled loops; see `_Splitting.step`."""
        loops = self.loops
        views, goals, state = self._records

        def analyse(start: int, stop: int) -> None:
            loops.analyse(start, stop, views, goals, state, rho)

        def agree(start: int, stop: int) -> None:
            loops.agree(start, stop, goals, state, rho)

        def clip(start: int, stop: int) -> None:
            loops.clip(start, stop, views, state, RELAXATION)

        in_parts(len(self._worst), self._threads, analyse)
        in_parts(self._shared, self._threads, agree)
        in_parts(len(self._worst), self._threads, clip)
        distance, change = self._worst.max(axis=0).tolist()
        return distance, change


def _same_shape(tables: Tables) -> Iterator[list[int]]:
    """Yield lists of the positions of views that have equal shapes."""
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, value in enumerate(tables.values):
        rows.setdefault(value.shape, []).append(row)
    yield from rows.values()


def _with_empty(tables: Tables) -> Iterator[tuple[Floats, Flags]]:
    """Yield each table with a mask of its cells that must be zero."""
    empty = tables.empty
    if empty is None:
        empty = tuple(np.zeros(value.shape, np.bool_) for value in tables.values)
    return zip(tables.values, empty, strict=True)


def _simplex(
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
        result[~empty] = _simplex(table[~empty], total=total)
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


def _evened(
    batch: Floats,
    empty: Flags | None,
    total: float | None,
) -> Floats:
    """Set required zeros in tables of one shape, (tables, ...), and correct their totals.

    Each table keeps its total, or gets the given one: the difference is spread evenly over the
    other cells.
    """
    if empty is None and total is None:
        return batch
    inner = tuple(range(1, batch.ndim))
    full = np.ones_like(batch) if empty is None else (~empty).astype(np.float64)
    wanted = (
        batch.sum(
            axis=inner,
            keepdims=True,
        )
        if total is None
        else total
    )
    lacks = wanted - (batch * full).sum(
        axis=inner,
        keepdims=True,
    )
    return np.asarray(
        full
        * (
            batch
            + lacks
            / full.sum(
                axis=inner,
                keepdims=True,
            )
        )
    )


def _ripple(
    batch: Floats,
    limits: NDArray[np.float64],
    sweeps: int,
    empty: Flags | None = None,
) -> Floats:
    """Apply the rounds of `Ripple` to tables of one shape, (tables, ...).

    A table is finished if no cell is below minus its limit. Cells that must be zero stay zero.
    Tables that are not finished after all rounds, or in which a negative cell has no neighbours,
    are passed to `_simplex`.
    """
    inner = tuple(range(1, batch.ndim))
    batch = np.where(
        batch.sum(
            axis=inner,
            keepdims=True,
        )
        > 0,
        batch,
        0.0,
    )
    full = np.ones((1, *batch.shape[1:])) if empty is None else (~empty).astype(np.float64)
    # The share that each neighbour takes: one over the number of neighbours.
    neighbours = _passed(full)
    weight = np.divide(
        full,
        neighbours,
        out=np.zeros_like(full),
        where=neighbours > 0,
    )
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
    """Add up, for each cell, the numbers of all its neighbours."""
    axes = range(1, batch.ndim)
    return np.asarray(
        sum(
            batch.sum(
                axis=axis,
                keepdims=True,
            )
            - batch
            for axis in axes
        )
    )


def _compiled_loops(seconds: float) -> Any:
    """The module `projection_loops`, or None if numpy needs so few seconds that it is faster."""
    if not compiler_pays(f"{__package__}.projection_loops", seconds):
        return None
    from . import projection_loops  # it imports numba, which takes about a second

    return projection_loops
