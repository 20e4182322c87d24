"""`JointProjection`: the nearest tables that are both consistent and non-negative."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...fitted import (
    NUMPY_SECONDS_A_CELL,
    PATIENCE,
    SINGLE_AXIS,
    SINGLE_SUMMED,
    STEP_RANGE,
    SUMMED,
)
from ...threads import compiler_pays, single_thread
from ...types import Floats
from ..consistency import Components
from ..tables import Tables
from .splitting import CompiledSplitting, Splitting

__all__ = ["JointProjection", "importance"]

_MIXED = 1e-3
"""Largest share of a table that agrees with what is known in the result of `JointProjection`.

Known tables may leave single cells far less than noise: a large share of them would be needed.
"""


@dataclass(
    frozen=True,
    kw_only=True,
)
class JointProjection:
    """Finds the nearest tables that are both consistent and non-negative, for all views at once.

    Minimises sum_S importance_S * precision_S * |c_S - observed_S| ** 2 over consistent tables
    c >= 0 of the given total. S runs over the residual components (see `basis`), c_S are the
    coefficients of S, and precision_S is the precision of the best linear estimate of S. The factor
    importance_S is sqrt(h) times the larger of two numbers:

    - 3 if S is a single axis, and |S| ** -decay otherwise;
    - growth * sqrt(c) / 2 if S is a single axis, and growth * sqrt(c) / 17 otherwise.

    h is the number of views that hold S; views inside other views do not count. c is the number of
    cells that a cell of the marginal on S sums, in the largest view that holds S.

    With equal importance the result would be a maximum likelihood estimate. It has a bias, because
    removing negative cells changes the cells of a sum in the same direction. If a sum has c cells,
    these changes grow with c, while noise grows with sqrt(c). In the same way they add up over h
    views, and noise averages out. Therefore components of few axes, and components that many views
    hold, have a larger weight. The numbers were chosen by the errors on generated tables and two
    real ones (`fitted`).

    The method is ADMM (the alternating direction method of multipliers). Both of its steps have
    closed forms: an average of coefficients, and a clip. The iteration may leave some cells
    slightly below zero. Then a share of other tables is mixed in, so that the result is exactly
    consistent and exactly non-negative. These are uniform, or have their counts where cells are
    below zero, whichever needs the smaller share. The second share is small even if tables have far
    more cells than rows. If the total is not positive, all tables become zero.

    The steps of the multipliers in a view are in units of the variance of its cells. But other
    views may measure the components of a view far better. Then its steps would be far too small for
    these, and many cells would still be below zero in the end. The tables that are mixed in would
    then get many rows, and sums would be off by more than their noise. So the unit is at most
    `STEP_RANGE` times the variance that cells would have if the median component stood for all. The
    solution does not depend on it.

    Known components do not change. The table that is mixed in agrees with what is known; the
    iteration goes on until its share is small.

    Cells that must be zero are set to zero in each clip. After the iteration, the nearest
    consistent tables with these zeros are computed. The table that is mixed in is zero there and
    positive elsewhere. What views share because of these zeros (`margin.solvers.zeros.links`) is a
    further condition on the average of coefficients.

    Parameters
    ----------
    decay
        The exponent above, >= 0. The larger it is, the less important are components of many axes.
    growth
        The factor above, >= 0. The larger it is, the less the sums of many cells change.
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
    growth: float = 1.0
    tolerance: float = 1e-4
    iterations: int = 1000
    keeps_consistency: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.decay >= 0:
            raise ValueError(f"decay ({self.decay}) must be >= 0; pass a larger number")
        if not self.growth >= 0:
            raise ValueError(f"growth ({self.growth}) must be >= 0; pass a larger number")
        if not self.tolerance > 0:
            raise ValueError(f"tolerance ({self.tolerance}) must be > 0; pass a larger number")

    def __call__(self, tables: Tables) -> Tables:
        components = Components(tables)
        observed = components.estimate(tables.values)
        total = float(observed[components.order == 0].item())
        if total <= 0:
            return tables.with_values([np.zeros_like(value) for value in tables.values])
        strength = components.precision * importance(components, self.decay, self.growth)
        # From here on, variances are only the units of steps.
        shrunk = np.minimum(1.0, STEP_RANGE * components.median_gain)
        components = components.in_units((shrunk * tables.variances).tolist())
        # An infinite weight keeps the total fixed.
        weight = strength / components.metric
        del strength  # it may be as large as all tables
        weight = np.where((components.order > 0) & ~components.known, weight, np.inf)
        cells = components.synthesise(observed)
        if components.empty is not None:
            cells[components.empty] = 0.0
        # If nothing but the total is known, `_filling` keeps the share small.
        is_bound = tables.known is not None and tables.known.more
        bound = _inner(components, tables, total) if is_bound else None
        if cells.min() < 0:
            with single_thread():
                cells = self._solve(components, observed, weight, cells, bound)
        inner = _inner(components, tables, total) if bound is None else bound
        share = _share(cells, inner)
        if tables.zeros is None and not is_bound:
            share, inner = _filling(components, cells, total, share, inner)
        # In place: the cells may be as many as memory allows.
        cells *= 1 - share
        inner *= share
        cells += inner
        np.maximum(cells, 0.0, out=cells)
        return tables.with_values(components.with_cells(cells).values)

    def _solve(
        self,
        components: Components,
        observed: Floats,
        weight: Floats,
        cells: Floats,
        inner: Floats | None,
    ) -> Floats:
        """Run ADMM from the given cells, which are overwritten; returns consistent cells, (n,).

        It goes on until little of the cells `inner` is needed, if they are given.
        """
        loops = None
        if not components.known_by_group and components.links is None:
            loops = _compiled_loops(NUMPY_SECONDS_A_CELL * cells.size)
        state: Splitting | CompiledSplitting
        if loops is None:
            state = Splitting(components, observed, weight, cells)
        else:
            state = CompiledSplitting(components, observed, weight, cells, loops)
        rho = 1.0
        patience = PATIENCE
        for iteration in range(self.iterations):
            primal, change = state.step(rho)
            still = primal < self.tolerance and change < self.tolerance
            if still and (inner is None or _share(state.consistent(rho), inner) <= _MIXED):
                break
            if iteration == patience:
                # Convergence is slow if many cells change sign repeatedly: use larger steps.
                rho *= 2
                patience *= 2
                state.halve_dual()
        found = state.consistent(rho)
        if components.empty is None and components.links is None:
            return found
        shared = components.average(components.analyse(found))
        return components.synthesise(components.emptied(shared, weight * components.metric))


def _inner(components: Components, tables: Tables, total: float) -> Floats:
    """The cells of the tables that are mixed in, shape (n,)."""
    return total * components.flatten(map(tables.inner, range(len(tables.views))))


def _share(cells: Floats, inner: Floats) -> float:
    """The smallest share t for which (1 - t) cells + t inner is nowhere negative."""
    negative = cells < 0
    low = cells[negative]
    inside = inner[negative]
    shares = low / np.where(inside > 0, low - inside, -np.inf)
    return float(np.max(shares, initial=0.0))


def _filling(
    components: Components,
    cells: Floats,
    total: float,
    share: float,
    inner: Floats,
) -> tuple[float, Floats]:
    """Tables that have their counts where cells are below zero, and the share of them to mix in.

    Let the missing counts of a view be max(-cells, 0). Take them as the table of a distribution
    that is uniform over all other axes, and add these distributions over all views. The marginals
    of the sum are consistent and non-negative, and in each view at least its missing counts. So
    their sum with the cells is nowhere negative, and a division restores the total. This is a share
    of count / (count + total), where count is the sum of all missing counts. A smaller share is
    enough where the distributions of several views add up.

    The coefficients of such a distribution are those of the missing counts, and zero for components
    that vary on other axes.

    Parameters
    ----------
    share, inner
        Of the tables that are mixed in otherwise: they are returned if they need the smaller share.
    """
    missing = np.maximum(-cells, 0.0)
    count = float(missing.sum())
    if count == 0:
        return share, inner
    missing /= count
    coefficients = components.analyse(missing)
    del missing  # it may be as large as all tables
    shared = np.bincount(components.distinct, weights=coefficients).astype(np.float64, copy=False)
    del coefficients
    shared *= total
    filling = components.synthesise(shared)
    # The bound holds without rounding errors, which are large relative to the smallest cells.
    own = min(_share(cells, filling), count / (count + total))
    return (own, filling) if own < share else (share, inner)


def importance(
    components: Components,
    decay: float,
    growth: float,
) -> Floats:
    """The factor importance_S in `JointProjection` for each distinct coefficient, shape (m,)."""
    order = components.order
    by_order = np.where(order == 1, SINGLE_AXIS, np.maximum(order, 1.0) ** -decay)
    by_cells = np.where(order == 1, SINGLE_SUMMED, SUMMED) * np.sqrt(components.summed)
    larger = np.maximum(by_order, growth * by_cells)
    return np.asarray(larger * np.sqrt(components.holders))


def _compiled_loops(seconds: float) -> Any:
    """The module `projection_loops`, or None if numpy needs so few seconds that it is faster."""
    if not compiler_pays(f"{__package__}.projection_loops", seconds):
        return None
    from . import projection_loops  # it imports numba, which takes about a second

    return projection_loops
