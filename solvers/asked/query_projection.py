"""`QueryProjection`: the nearest tables without negative counts, in the metric of the queries."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..fitted import PATIENCE, RELAXATION, SINGLE_AXIS
from ..tables.consistency import ResidualConsistency
from ..tables.tables import Axes, Tables
from ..threads import single_thread
from ..types import Flags, Floats
from .axis_metrics import AxisMetric
from .told_parts import ToldParts

__all__ = ["QueryProjection"]

_MOVED = 1e-2
"""Largest change of a cell, in standard deviations of its noise, by the table that is mixed in."""

_INNER = 10
"""Number of steps along further axes with a metric for each step of the outer iteration."""

_MIXED = 1e-3
"""Largest share of a table that agrees with what is known in the result, as in `JointProjection`:
known tables may leave single cells far less than noise."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class QueryProjection:
    """Finds the nearest consistent tables without negative cells, measured by the asked queries.

    Prefixes, ranges and levels are sums of many cells. The removal of negative cells raises such
    sums if it treats cells alike, as `JointProjection` does. Here the distance is that of the
    queries. Let G_V be the Kronecker product of the metrics of the axes of view V (see
    `AxisMetric`; the identity if cells are asked). Over consistent tables x >= 0 of the given
    total, the method minimises

        sum over components S of importance_S * price_S * (x_S - z_S)' G_S (x_S - z_S),

    where z are the given tables. The components are those of the decomposition that is orthogonal
    in the metric: x_V is the sum over the subsets S of V of x_S times the spreads of the axes in
    V - S. price_S is the sum, over the views V that hold S, of the products of the prices u'Gu of
    the axes in V - S, divided by the variance of V. If importance were one, this would be the
    squared errors of all queries of all views, in units of their views' noise. It is that of
    `JointProjection`: it keeps the total, and raises single axes and what several views hold.

    The result is a projection onto a convex set. So in this distance it is nearer than z to every
    consistent table of its total without negative cells. The true table is one but for its total.
    What known tables tell of a component is kept, so that all tables agree with them (`ToldParts`).

    The method is ADMM in this metric. Its one step is an average of components, in closed form. Its
    other step is the nearest table without negative cells for each view by itself. It is exact, and
    takes linear time, if one axis of a view has a metric. For more axes with a metric, it is found
    by ADMM along the other axes, a few steps at a time.

    In the end a share of the uniform table is mixed in, so that no cell is negative. A cell that is
    below zero by little of its own noise may need a share that moves the cells of a far more
    precise view by much of theirs. So the iteration goes on until a share moves no cell by more
    than `_MOVED` standard deviations.

    Attributes
    ----------
    metrics
        The metric of each axis of which more than cells is asked.
    tolerance
        The change, in standard deviations of the cells' noise, at which the iteration stops; less
        if the share above asks for it.
    iterations
        The largest number of iterations.

    Raises
    ------
    ValueError
        On use, if a table is known at groups of categories that are no level of the metric's tree.

    Examples
    --------
    >>> from margin.solvers import OrderMetric
    >>> table = np.array([6.0, -2.0, 3.0, 1.0])
    >>> noisy = Tables(sizes=(4,), views=((0,),), values=(table,), variances=(1.0,))
    >>> QueryProjection(metrics={0: OrderMetric(4)})(noisy).values[0].round(2).tolist()
    [5.0, 0.0, 2.0, 1.0]
    """

    metrics: Mapping[int, AxisMetric]
    tolerance: float = 1e-4
    iterations: int = 1000
    keeps_consistency: ClassVar[bool] = True

    def __call__(self, tables: Tables) -> Tables:
        total = tables.total if tables.known_total is None else tables.known_total
        if total <= 0:
            return tables.with_values([np.zeros_like(value) for value in tables.values])
        if tables.known is not None and tables.known.more:
            # Components that were measured in bases of their own need not agree with what is known.
            tables = ResidualConsistency()(tables)
        if tables.empty is None and min(value.min() for value in tables.values) >= 0:
            return tables
        with single_thread():
            inner = [total * tables.inner(row) for row in range(len(tables.views))]
            values = self._solve(tables, inner)
        return tables.with_values(_positive(values, inner))

    def _solve(
        self,
        tables: Tables,
        inner: Sequence[Floats],
    ) -> list[Floats]:
        """Run ADMM; returns consistent tables that are almost without negative cells.

        If tables are known, it goes on until little of the tables `inner` is needed.
        """
        parts = _Parts(tables, self.metrics)
        views = [
            _Nearest(view, value, self.metrics, None if tables.empty is None else tables.empty[row])
            for row, (view, value) in enumerate(zip(tables.views, tables.values, strict=True))
        ]
        goal = parts.of(tables.values)
        limits = self._limits(tables)
        more = tables.known is not None and tables.known.more
        duals = [np.zeros_like(value) for value in tables.values]
        cells = list(tables.values)
        rho = 1.0
        patience = PATIENCE
        for iteration in range(self.iterations):
            # The consistent copy: each component between its goal and the other copy.
            wanted = [own.positive - dual for own, dual in zip(views, duals, strict=True)]
            cells = parts.tables(parts.between(goal, parts.of(wanted), rho))
            worst = 0.0
            for own, dual, table, limit in zip(views, duals, cells, limits, strict=True):
                # The copy without negative cells: over-relaxation, then the nearest one.
                before = own.positive
                relaxed = RELAXATION * table + (1 - RELAXATION) * before + dual
                after = own.step(relaxed)
                dual[...] = relaxed - after
                apart = float(np.abs(table - after).max())
                moved = float(np.abs(after - before).max())
                worst = max(worst, apart / limit, moved / limit)
            if worst < 1 and not (more and _share(cells, inner) > _MIXED):
                break
            if iteration == patience:
                # Convergence is slow if many cells change sign repeatedly: use larger steps.
                rho *= 2
                patience *= 2
                for dual in duals:
                    dual /= 2
        if tables.empty is None:
            return cells
        return list(ResidualConsistency()(tables.with_values(cells)).values)

    def _limits(self, tables: Tables) -> Floats:
        """The change of a cell of each view at which the iteration stops, shape (views,).

        If a cell of a view of c cells is below zero by b, a share b * c / total of the uniform
        table is mixed in. It moves a cell of a view of C cells by about b * c / C.
        """
        deviations = np.sqrt(tables.variances)
        cells = np.array([value.size for value in tables.values])
        finest = float((deviations * cells).min())
        return np.minimum(self.tolerance * deviations, _MOVED * finest / cells)


class _Parts:
    """The components of the tables of several views, orthogonal in the metric; see
    `QueryProjection`."""

    def __init__(
        self,
        tables: Tables,
        metrics: Mapping[int, AxisMetric],
    ) -> None:
        self._sizes = tables.sizes
        self._views = tables.views
        self._metrics = metrics
        self._known = tables.known_total
        self._told = None
        if tables.known is not None and tables.known.more:
            self._told = ToldParts(tables.known, metrics)
        inside = {part for view in tables.views for part in _subsets(view)}
        self._sets = sorted(inside, key=lambda part: (len(part), part))
        # The price of the axes of each view outside each component, over the view's variance.
        finest = min(tables.variances)
        precisions = [finest / variance for variance in tables.variances]
        self._prices = {
            part: {
                row: precisions[row] * self._price_outside(view, part)
                for row, view in enumerate(tables.views)
                if set(part) <= set(view)
            }
            for part in self._sets
        }

    def of(self, values: Sequence[Floats]) -> dict[Axes, Floats]:
        """The components of tables, averaged over the views that hold them."""
        found = {}
        for part in self._sets:
            prices = self._prices[part]
            whole = sum(prices.values())
            mean = np.zeros([self._sizes[axis] for axis in part])
            for row, price in prices.items():
                view = self._views[row]
                others = tuple(place for place, axis in enumerate(view) if axis not in part)
                mean += price / whole * values[row].sum(axis=others)
            # What smaller components hold is taken out along each axis.
            for place, axis in enumerate(part):
                spread = self._along(axis, place, len(part))
                mean = mean - spread * mean.sum(axis=place, keepdims=True)
            found[part] = mean
        if self._known is not None:
            found[()] = np.array(float(self._known))
        return found

    def between(
        self,
        goal: Mapping[Axes, Floats],
        pulled: Mapping[Axes, Floats],
        rho: float,
    ) -> dict[Axes, Floats]:
        """The components that minimise the distance from the goal plus rho times that from the
        other copy, among those that keep what is told of the goal."""
        found = {}
        for part in self._sets:
            weight = self._importance(part)
            if math.isinf(weight):
                found[part] = goal[part]
            else:
                mean = (weight * goal[part] + rho * pulled[part]) / (weight + rho)
                if self._told is not None:
                    mean = mean + self._told.of(part, goal[part] - mean)
                found[part] = mean
        return found

    def tables(self, parts: Mapping[Axes, Floats]) -> list[Floats]:
        """The tables that have some components."""
        found = []
        for view in self._views:
            table = np.zeros([self._sizes[axis] for axis in view])
            for part in _subsets(view):
                shape = [self._sizes[axis] if axis in part else 1 for axis in view]
                spread = parts[part].reshape(shape)
                for place, axis in enumerate(view):
                    if axis not in part:
                        spread = spread * self._along(axis, place, len(view))
                table += spread
            found.append(table)
        return found

    def _importance(self, part: Axes) -> float:
        """The factor importance_S of `JointProjection`; infinite for the total."""
        if not part:
            return math.inf
        factor = SINGLE_AXIS if len(part) == 1 else 1 / len(part)
        return factor * math.sqrt(len(self._prices[part]))

    def _price_outside(self, view: Axes, part: Axes) -> float:
        return math.prod(self._price(axis) for axis in view if axis not in part)

    def _price(self, axis: int) -> float:
        return self._metrics[axis].price if axis in self._metrics else 1 / self._sizes[axis]

    def _along(
        self,
        axis: int,
        place: int,
        count: int,
    ) -> Floats:
        """The spread of an axis, as a table of `count` axes in which it is at `place`."""
        size = self._sizes[axis]
        own = self._metrics[axis].spread if axis in self._metrics else np.full(size, 1 / size)
        return own.reshape([-1 if other == place else 1 for other in range(count)])


class _Nearest:
    """The nearest table without negative cells to a moving table of one view.

    Attributes
    ----------
    positive
        The last result.
    """

    def __init__(
        self,
        view: Axes,
        value: Floats,
        metrics: Mapping[int, AxisMetric],
        empty: Flags | None,
    ) -> None:
        asked = [place for place, axis in enumerate(view) if axis in metrics]
        # The axis of most categories is treated exactly.
        asked.sort(key=lambda place: value.shape[place])
        self._line = asked.pop() if asked else None
        self._metric = None if self._line is None else metrics[view[self._line]]
        self._empty = empty
        self._bases = [(place, *np.linalg.eigh(metrics[view[place]].gram)) for place in asked]
        self._prices = np.ones([1] * value.ndim)
        for place, prices, _ in self._bases:
            shape = [-1 if other == place else 1 for other in range(value.ndim)]
            self._prices = self._prices * prices.reshape(shape)
        self._rho = math.sqrt(float(self._prices.min()) * float(self._prices.max()))
        self.positive = self._clipped(value)
        self._dual = np.zeros_like(value)

    def step(self, table: Floats) -> Floats:
        """Find the nearest table, or come nearer to it from the last result."""
        if not self._bases:
            self.positive = self._clipped(table)
            return self.positive
        share = self._prices / (self._prices + self._rho)
        pulled = self._turned(self._scaled(table, share))
        for _ in range(_INNER):
            other = self._turned(self._scaled(self.positive - self._dual, 1 - share))
            relaxed = RELAXATION * (pulled + other) + (1 - RELAXATION) * self.positive + self._dual
            self.positive = self._clipped(relaxed)
            self._dual = relaxed - self.positive
        return self.positive

    def _scaled(self, table: Floats, factors: Floats) -> Floats:
        """The coefficients of a table in the eigenvectors of the other axes, times factors."""
        for place, _, vectors in self._bases:
            table = _applied(vectors.T, table, place)
        return table * factors

    def _turned(self, coefficients: Floats) -> Floats:
        for place, _, vectors in self._bases:
            coefficients = _applied(vectors, coefficients, place)
        return coefficients

    def _clipped(self, table: Floats) -> Floats:
        """The nearest table if the other axes had no metric."""
        if self._metric is None or self._line is None:
            found = np.maximum(table, 0.0)
            if self._empty is not None:
                found[self._empty] = 0.0
            return found
        turned = np.moveaxis(table, self._line, -1)
        size = turned.shape[-1]
        empty = None
        if self._empty is not None:
            empty = np.moveaxis(self._empty, self._line, -1).reshape(-1, size)
        found = self._metric.nearest(turned.reshape(-1, size), empty).reshape(turned.shape)
        return np.ascontiguousarray(np.moveaxis(found, -1, self._line))


def _share(
    values: Sequence[Floats],
    inner: Sequence[Floats],
) -> float:
    """The smallest share t for which (1 - t) values + t inner is nowhere negative."""
    share = 0.0
    for value, own in zip(values, inner, strict=True):
        below = (value < 0) & (own > 0)
        if below.any():
            share = max(share, float((value[below] / (value[below] - own[below])).max()))
    return share


def _positive(
    values: Sequence[Floats],
    inner: Sequence[Floats],
) -> list[Floats]:
    """Mix a share of inner tables into consistent tables, so that no cell is negative."""
    share = _share(values, inner)
    mixed = []
    for value, own in zip(values, inner, strict=True):
        mixed.append(np.maximum((1 - share) * value + share * own, 0.0))
    return mixed


def _subsets(view: Axes) -> list[Axes]:
    """All subsets of the axes of a view, small ones first."""
    return [part for count in range(len(view) + 1) for part in itertools.combinations(view, count)]


def _applied(
    matrix: Floats,
    table: Floats,
    axis: int,
) -> Floats:
    """Multiply a table by a matrix along one axis."""
    return np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
