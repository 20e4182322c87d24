"""Making views agree on what they share: `ResidualConsistency` and, as published,
`LatticeConsistency`."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..basis import transform
from ..types import Floats, Integers
from .tables import Axes, Tables

_EMPTYING = 1000
"""The most steps towards zeros; a few dozen are usual."""

_Grouping = tuple[tuple[tuple[int, ...], slice], ...]


class Consistency(Protocol):
    """Anything that changes tables so that any two have the same marginal on the axes they share.

    Cells that must be zero are zero then, and a known total is the sum of every table.
    """

    def __call__(self, tables: Tables, /) -> Tables: ...


@dataclass(frozen=True, kw_only=True)
class ResidualConsistency:
    """The best linear unbiased consistent tables: each residual component averaged over the views
    that hold it.

    A component S of a view V has independent error of equal variance in all its coefficients, so
    generalised least squares decouples: the estimate is the mean over the views V that contain S,
    weighted by 1 / (variance of V x product of the sizes of V outside S). The result equals that of
    `LatticeConsistency`.

    A known total takes the place of the views' own; where cells must be zero, the estimate is the
    best linear one that has zeros there.
    """

    def __call__(self, tables: Tables) -> Tables:
        components = Components(tables)
        return components.tables(components.estimate(tables.values))


class Components:
    """The residual components of the tables of several views, identified with each other across the
    views.

    All cells of all tables stand in one vector of length n, views of equal shape side by side; `m`
    is the number of distinct coefficients.

    Attributes
    ----------
    order
        The number of axes of each distinct coefficient, shape (m,).
    deviation
        The cells' standard deviations, shape (n,).
    metric
        What a squared change of each distinct coefficient adds to that of all cells, each divided
        by its variance: the precision of the coefficient's best linear estimate from independent
        tables; shape (m,).
    """

    def __init__(self, tables: Tables) -> None:
        self._source = tables
        self._rows, self._turns, groups, self._shared = _layout(tables.sizes, tables.views)
        self._groups = [(transform(shape), where) for shape, where in groups]
        variances = np.array(tables.variances)[self._rows]
        cells = np.array([tables.values[row].size for row in self._rows])
        self.deviation = np.sqrt(np.repeat(variances, cells))
        spread, order = (
            np.concatenate(
                [np.tile(part, (where.stop - where.start) // len(part)) for part, where in parts]
            )
            for parts in zip(
                *(
                    ((_spread(basis.shape), where), (basis.order, where))
                    for basis, where in self._groups
                ),
                strict=True,
            )
        )
        self._spread: Floats = spread
        self._weight = 1 / (self.deviation * self._spread) ** 2
        self.metric: Floats = np.bincount(self._shared, weights=self._weight).astype(np.float64)
        self.order = np.zeros(len(self.metric), dtype=np.int64)
        self.order[self._shared] = order

    def flatten(self, values: Iterable[Floats]) -> Floats:
        """Tables in the order of the views as one vector of length n."""
        tables = list(values)
        return np.concatenate(
            [np.ravel(tables[row].transpose(self._turns[row])) for row in self._rows]
        )

    def analyse(self, cells: Floats) -> Floats:
        """Each view's own estimate of its coefficients, in the scaling of the component's own
        marginal; shape (n,) to (n,)."""
        coefficients = np.empty_like(cells)
        for basis, where in self._groups:
            coefficients[where] = basis.analyse(cells[where].reshape(-1, basis.cells)).ravel()
        return coefficients * self._spread

    def average(self, coefficients: Floats) -> Floats:
        """The precision-weighted mean of each distinct coefficient, shape (n,) to (m,)."""
        return np.bincount(self._shared, weights=coefficients * self._weight) / self.metric

    def estimate(self, values: Iterable[Floats]) -> Floats:
        """The best linear estimate of the distinct coefficients given the tables, a known total,
        and where cells must be zero; shape (m,)."""
        shared = self.average(self.analyse(self.flatten(values)))
        precision = self.precision
        if self._source.known_total is not None:
            shared[self.order == 0] = self._source.known_total
            precision = np.where(self.order == 0, np.inf, precision)
        return self.emptied(shared, precision)

    @cached_property
    def empty(self) -> NDArray[np.bool_] | None:
        """Which cells must be zero, shape (n,); None when there is none."""
        empty = self._source.empty
        return None if empty is None else self.flatten(empty)  # type: ignore[arg-type, return-value]

    def emptied(self, shared: Floats, weight: Floats) -> Floats:
        """The nearest coefficients, in squares times weights, that leave nothing where cells must
        be zero.

        Shapes (m,); what has an infinite weight does not change. Found by conjugate gradients,
        which give the least change however often the same thing is asked for in several views.
        """
        if self.empty is None:
            return shared
        empty = np.flatnonzero(self.empty)
        scale = 1 / np.sqrt(weight)
        cells = np.zeros(len(self._shared))

        def changed(step: Floats) -> Floats:
            return self.synthesise(scale * np.ravel(step))[empty]

        def pulled(values: Floats) -> Floats:
            cells[empty] = np.ravel(values)
            return scale * np.bincount(self._shared, weights=self.analyse(cells) / self._spread**2)

        import scipy.sparse.linalg

        linalg: Any = scipy.sparse.linalg
        operator = linalg.LinearOperator(
            (len(empty), len(shared)), matvec=changed, rmatvec=pulled, dtype=np.float64
        )
        wrong = self.synthesise(shared)[empty]
        step = linalg.lsqr(operator, -wrong, atol=1e-14, btol=1e-14, conlim=0, iter_lim=_EMPTYING)[
            0
        ]
        return np.asarray(shared + scale * step)

    def synthesise(self, shared: Floats) -> Floats:
        """The cells of all views from the distinct coefficients, shape (m,) to (n,)."""
        coefficients = shared[self._shared] / self._spread
        cells = np.empty_like(coefficients)
        for basis, where in self._groups:
            cells[where] = basis.synthesise(coefficients[where].reshape(-1, basis.cells)).ravel()
        return cells

    @cached_property
    def holders(self) -> Integers:
        """How many views hold each distinct coefficient, of those that no other contains, shape
        (m,); of equal views one counts."""
        cells = [self._source.values[row].size for row in self._rows]
        # The last coefficient of a view varies on all its axes: it is held by what contains the
        # view, and nothing else.
        last = self._shared[np.cumsum(cells) - 1]
        every = np.bincount(self._shared)
        equal = np.bincount(last, minlength=len(every))
        first = np.unique(last, return_index=True)[1]
        counts = np.zeros(len(cells), np.bool_)
        counts[first] = every[last[first]] == equal[last[first]]
        return np.bincount(self._shared[np.repeat(counts, cells)], minlength=len(every))

    def matrix(self) -> Any:
        """`synthesise` as a sparse matrix, shape (n, m)."""
        blocks = []
        for basis, where in self._groups:
            blocks += [basis.synthesise(np.eye(basis.cells)).T] * (
                (where.stop - where.start) // basis.cells
            )
        count = len(self._shared)
        scatter = sparse.csr_array((1 / self._spread, (np.arange(count), self._shared)))
        return sparse.csr_array(sparse.block_diag(blocks) @ scatter)

    @cached_property
    def precision(self) -> Floats:
        """The precision of the estimate of each distinct coefficient, shape (m,)."""
        known = self._source.precisions
        if known is None:
            return self.metric
        precision = np.empty_like(self.metric)
        start = 0
        for row in self._rows:
            turn = self._turns[row]
            basis = transform(tuple(self._source.values[row].shape[place] for place in turn))
            masks = sum((basis.component >> here & 1) << place for here, place in enumerate(turn))
            # Known is that of total times moment, which is the coefficient times the root of its
            # marginal's cells.
            cells = basis.cells / self._spread[start : start + basis.cells] ** 2
            precision[self._shared[start : start + basis.cells]] = known[row][masks] * cells
            start += basis.cells
        return precision

    @cached_property
    def packed(self) -> tuple[Integers, Integers, Integers, NDArray[np.bool_], int]:
        """The views for compiled loops: their bounds, those of their axes, the axes' sizes, which
        views are binary, and the most cells of one."""
        shapes = [
            basis.shape
            for basis, where in self._groups
            for _ in range(where.start, where.stop, basis.cells)
        ]
        sizes = np.array([size for shape in shapes for size in shape], dtype=np.int64)
        bounds, axes = (
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            for lengths in (
                [math.prod(shape) for shape in shapes],
                [len(shape) for shape in shapes],
            )
        )
        binary = np.array([bool(shape) and set(shape) == {2} for shape in shapes])
        return bounds, axes, sizes, binary, int(np.diff(bounds).max())

    def goals(self, weight: Floats, observed: Floats) -> tuple[Any, Any, Any]:
        """For compiled loops, where each distinct coefficient is drawn to one that was observed,
        shapes (m,).

        The loops' functions have mean square one, hence the root of the number of cells in the
        factors.

        Returns
        -------
        alone
            For each entry that no other holds, its weight, and that times what it should be; else
            zeros; shapes (n,).
        shared
            Of the other coefficients the bounds of their entries, these, and factors into the mean
            and out of it.
        goal
            Their weights and what was observed.
        """
        cells = np.repeat(np.diff(self.packed[0]), np.diff(self.packed[0]))
        root = np.sqrt(cells)
        holders = np.bincount(self._shared)
        several = (holders > 1) | np.isinf(weight)
        out = 1 / (self._spread * root)
        pull = np.where(several, 0.0, weight)[self._shared]
        pulled = (np.where(several, 0.0, weight) * observed)[self._shared] * out
        places = np.flatnonzero(several[self._shared])
        places = places[np.argsort(self._shared[places], kind="stable")]
        numbers = self._shared[places]
        into = (self._weight * self._spread * root)[places] / self.metric[numbers]
        bounds = np.concatenate([[0], np.cumsum(holders[several])])
        return (
            (pull, pulled),
            (bounds, places, into, out[places]),
            (weight[several], observed[several]),
        )

    def tables(self, shared: Floats) -> Tables:
        """The consistent tables that have these distinct coefficients."""
        return self.with_cells(self.synthesise(shared))

    def with_cells(self, cells: Floats) -> Tables:
        """The tables that the cells of all views make up, with nothing where cells must be zero."""
        if self.empty is not None:
            cells = np.where(self.empty, 0.0, cells)
        values: list[Floats] = [np.empty(0)] * len(self._rows)
        start = 0
        for row in self._rows:
            like = self._source.values[row].transpose(self._turns[row])
            turned = cells[start : start + like.size].reshape(like.shape)
            values[row] = np.ascontiguousarray(turned.transpose(np.argsort(self._turns[row])))
            start += like.size
        return self._source.with_values(values)


def _spread(shape: tuple[int, ...]) -> Floats:
    """For each coefficient the root of the number of cells outside its component, shape (cells,)."""
    spread = np.ones(1)
    for size in shape:
        spread = (spread[:, None] * np.where(np.arange(size) == 0, math.sqrt(size), 1.0)).ravel()
    return spread


def _by_size(sizes: tuple[int, ...], view: Axes) -> Axes:
    """The places of a view's axes, those of many categories first."""
    return tuple(sorted(range(len(view)), key=lambda place: (-sizes[view[place]], view[place])))


@lru_cache(maxsize=16)
def _layout(
    sizes: tuple[int, ...], views: tuple[Axes, ...]
) -> tuple[Integers, tuple[Axes, ...], _Grouping, Integers]:
    """The order of the views, that of each one's axes, the runs of equal shape, and each cell's
    distinct coefficient.

    Axes go by size, so that as many views as possible have equal shapes and are transformed
    together; large ones first, which is faster. Coefficients are numbered axis by axis: one that
    varies last on axis a, with function c, is known by the number of its part before a and by c. So
    equal products get equal numbers in every view, without hashing.
    """
    order = sorted(range(len(sizes)), key=lambda axis: (-sizes[axis], axis))
    turns = tuple(_by_size(sizes, view) for view in views)
    shapes = [tuple(sorted((sizes[axis] for axis in view), reverse=True)) for view in views]
    rows = sorted(range(len(views)), key=shapes.__getitem__)
    groups: list[tuple[tuple[int, ...], slice]] = []
    start = 0
    for row in rows:
        stop = start + math.prod(shapes[row])
        if groups and groups[-1][0] == shapes[row]:
            groups[-1] = (shapes[row], slice(groups[-1][1].start, stop))
        else:
            groups.append((shapes[row], slice(start, stop)))
        start = stop
    numbers = [np.zeros(1, dtype=np.int64) for _ in views]
    known = 1
    holders: list[list[int]] = [[] for _ in sizes]
    for row, view in enumerate(views):
        for axis in view:
            holders[axis].append(row)
    for axis in order:
        size = sizes[axis]
        if size == 1 or not holders[axis]:
            continue
        keys = [
            (numbers[row][:, None] * size + np.arange(1, size)).ravel() for row in holders[axis]
        ]
        distinct, new = np.unique(np.concatenate(keys), return_inverse=True)
        parts = np.split(known + new, np.cumsum([len(key) for key in keys])[:-1])
        known += len(distinct)
        for row, part in zip(holders[axis], parts, strict=True):
            before = numbers[row][:, None]
            numbers[row] = np.concatenate(
                [before, part.reshape(len(before), size - 1)], axis=1
            ).ravel()
    return np.array(rows), turns, tuple(groups), np.concatenate([numbers[row] for row in rows])


@dataclass(frozen=True, kw_only=True)
class LatticeConsistency:
    """The published procedure: mutual consistency on every intersection of views, smallest first.

    Qardaji, Yang and Li, SIGMOD 2014, section 4.4, with views of unequal noise and any numbers of
    categories: on each set A of the intersection lattice, in a topological order of inclusion, the
    best estimate of the marginal on A is the mean over the views V that contain A, weighted by 1 /
    (variance of V x cells of V per cell of A); each of these views is then corrected evenly within
    each cell of A.

    A known total, and cells that must be zero, are not in that paper: they are met by the nearest
    tables in the end.
    """

    def __call__(self, tables: Tables) -> Tables:
        values = [value.copy() for value in tables.values]
        for common in intersections(tables.views):
            holders = [row for row, view in enumerate(tables.views) if common <= set(view)]
            if len(holders) > 1:
                _agree(tables, values, common, holders)
        consistent = tables.with_values(values)
        if tables.zeros is None and tables.known_total is None:
            return consistent
        return ResidualConsistency()(consistent)


def intersections(views: tuple[Axes, ...]) -> list[frozenset[int]]:
    """Every intersection of one or more views, and the empty set, in a topological order of
    inclusion."""
    import networkx

    order: Any = networkx.DiGraph()
    masks = [frozenset(view) for view in views]
    closed: set[frozenset[int]] = {frozenset()}
    fresh = set(masks)
    while fresh:
        closed |= fresh
        # A set's meets with single views are edges enough: through them every subset in the lattice
        # is reached.
        steps = {
            (common & mask, common) for common in fresh for mask in masks if not common <= mask
        }
        order.add_edges_from(steps)
        fresh = {smaller for smaller, _ in steps} - closed
    order.add_nodes_from(closed)
    order.add_edges_from((frozenset(), common) for common in closed if common)
    return list(networkx.topological_sort(order))


def _agree(
    tables: Tables, values: list[Floats], common: frozenset[int], holders: list[int]
) -> None:
    """Correct the tables of some views, in place, so that they agree on the axes that are common to
    all of them."""
    outside = {
        row: tuple(place for place, axis in enumerate(tables.views[row]) if axis not in common)
        for row in holders
    }
    cells = {row: math.prod(values[row].shape[place] for place in outside[row]) for row in holders}
    weight = {row: 1 / (tables.variances[row] * cells[row]) for row in holders}
    projected = {row: values[row].sum(axis=outside[row], keepdims=True) for row in holders}
    shape = tuple(tables.sizes[axis] for axis in sorted(common))
    best = sum(weight[row] * projected[row].reshape(shape) for row in holders) / sum(
        weight.values()
    )
    for row in holders:
        values[row] += (np.reshape(best, projected[row].shape) - projected[row]) / cells[row]
