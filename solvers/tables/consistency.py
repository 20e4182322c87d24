"""Consistency: change the tables of views so that they have equal marginals on shared axes.

`ResidualConsistency` and `LatticeConsistency` give the same result. The second one is the published
procedure.
"""

import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from ..basis import outside_roots, transform
from ..limits import EMPTYING_STEPS
from ..types import Floats, Integers
from ..zeros import Links
from .lattice import intersection_lattice
from .tables import Axes, Tables


class Consistency(Protocol):
    """A function from tables to consistent tables: any two have equal marginals on shared axes.

    Afterwards, cells that must be zero are zero, and every table agrees with what is known.
    """

    def __call__(self, tables: Tables, /) -> Tables: ...


@dataclass(
    frozen=True,
    kw_only=True,
)
class ResidualConsistency:
    """Makes tables consistent by averaging: the best linear unbiased estimate from all tables.

    Each residual component (see `basis`) is averaged over the views that hold it. The coefficients
    of component S in view V have independent errors of equal variance. So generalised least squares
    treats each component by itself: the estimate is the mean over the views V that contain S,
    weighted by 1 / (cell variance of V x product of the sizes of V outside S). The result equals
    the result of `LatticeConsistency`.

    Known components, such as the total, replace those of the views. If cells must be zero, the
    estimate is the best linear one that is zero there. Zeros may make views share more than their
    axes (`margin.solvers.zeros.links`); then it also agrees on that.

    Examples
    --------
    >>> views = Tables(
    ...     sizes=(2, 2),
    ...     views=((0,), (1,)),
    ...     values=(np.array([6.0, 2.0]), np.array([3.0, 9.0])),
    ...     variances=(1.0, 1.0),
    ... )
    >>> [value.round(6).tolist() for value in ResidualConsistency()(views).values]
    [[7.0, 3.0], [2.0, 8.0]]
    """

    def __call__(self, tables: Tables) -> Tables:
        components = Components(tables)
        return components.tables(components.estimate(tables.values))


class Components:
    """The coefficients of the tables of several views, with those that views have in common.

    The cells of all tables form one vector of length n, in which views of equal shape are adjacent.
    Each view has as many coefficients as cells. Coefficients of different views that belong to the
    same basis function are one *distinct* coefficient; there are m of these.

    Attributes
    ----------
    order
        The number of axes of each distinct coefficient, shape (m,).
    deviations
        The standard deviation of the cells of each view, in the order of the cells, shape (views,).
    metric
        The precision (1 / variance) of the best linear estimate of each distinct coefficient from
        independent tables, shape (m,). If one coefficient changes by one, the sum over all cells of
        (change**2 / variance) is this number.
    distinct
        The position of each view's coefficients among the distinct ones, shape (n,).
    spread
        The root of the number of cells that a cell of the marginal on the component sums, for each
        view's coefficients, shape (n,).
    own_precision
        The precision of each view's coefficients by its own cells alone, shape (n,).
    """

    def __init__(self, tables: Tables) -> None:
        self._source = tables
        layout = _layout(tables.sizes, tables.views)
        self._rows = layout.rows
        self._turns = layout.turns
        self.distinct = layout.numbers
        self._groups = [(transform(shape), where) for shape, where in layout.groups]
        variances = np.array(tables.variances)[self._rows]
        cells = np.array([tables.values[row].size for row in self._rows])
        self.deviations: Floats = np.sqrt(variances)
        self._cells = cells
        # Views of equal shape have equal coefficients: their numbers are repeated.
        spreads = []
        orders = []
        for basis, where in self._groups:
            views = (where.stop - where.start) // basis.cells
            spreads.append(np.tile(outside_roots(basis.shape), views))
            orders.append(np.tile(basis.order.astype(np.int8), views))
        self.spread: Floats = np.concatenate(spreads)
        self._weigh()
        self.order = np.zeros(len(self.metric), dtype=np.int8)
        self.order[self.distinct] = np.concatenate(orders)

    def _weigh(self) -> None:
        """Compute the precision of each coefficient of each view, and of each distinct one."""
        weight = self.deviation * self.spread
        np.square(weight, out=weight)
        self.own_precision: Floats = np.divide(1.0, weight, out=weight)
        self.metric: Floats = np.bincount(self.distinct, weights=weight).astype(
            np.float64,
            copy=False,
        )

    def in_units(self, variances: Sequence[float]) -> "Components":
        """The same components if the cells of the views have other variances, one for each view.

        `order` and the numbers of the coefficients are not copied: they may be as large as all
        tables.
        """
        found = copy(self)
        found.__dict__.pop("precision", None)
        found._source = replace(self._source, variances=tuple(variances))
        found.deviations = np.sqrt(np.array(variances)[self._rows])
        found._weigh()
        return found

    @property
    def deviation(self) -> Floats:
        """The cells' standard deviations, shape (n,)."""
        return np.repeat(self.deviations, self._cells)

    def flatten(self, values: Iterable[Floats]) -> Floats:
        """Write the tables of the views into one vector of cells, shape (n,)."""
        tables = list(values)
        turned = [tables[row].transpose(self._turns[row]) for row in self._rows]
        return np.concatenate([np.ravel(table) for table in turned])

    def analyse(self, cells: Floats) -> Floats:
        """Compute the coefficients of each view from its own cells, shape (n,) to (n,).

        A coefficient of component S is scaled as in the marginal on S, so that it does not depend
        on the view.
        """
        coefficients = np.empty_like(cells)
        for basis, where in self._groups:
            tables = cells[where].reshape(-1, basis.cells)
            coefficients[where] = basis.analyse(tables).ravel()
        return coefficients * self.spread

    def average(self, coefficients: Floats) -> Floats:
        """Average equal coefficients of the views, weighted by precision, shape (n,) to (m,)."""
        return np.bincount(self.distinct, weights=coefficients * self.own_precision) / self.metric

    def estimate(self, values: Iterable[Floats]) -> Floats:
        """The best linear estimate of the distinct coefficients, shape (m,).

        It uses the tables, what is known, and the cells that must be zero.
        """
        shared = self.average(self.analyse(self.flatten(values)))
        precision = self.precision
        if self._source.known is not None:
            cells = self.fixed(self.synthesise(shared))
            shared = self.average(self.analyse(cells))
            precision = np.where(self.known, np.inf, precision)
        return self.emptied(shared, precision)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Whether each distinct coefficient is known, shape (m,)."""
        found = np.zeros(len(self.metric), np.bool_)
        if self._source.known is None:
            return found
        for axes, where, shape in self.views:
            own = self._source.known.components(np.array([axes], dtype=np.int64))[0]
            found[self.distinct[where]] = own[transform(shape).component]
        return found

    @property
    def known_by_group(self) -> bool:
        """Whether sums over groups of categories are known, and not the categories themselves."""
        return self._source.known is not None and self._source.known.grouped

    def known_sums(self) -> Any:
        """The known sums of cells as a sparse matrix, shape (sums, n)."""
        known = self._source.known
        blocks = [] if known is None else [known.equations(axes)[0] for axes, _, _ in self.views]
        return scipy.sparse.block_diag(blocks)

    def fixed(self, cells: Floats) -> Floats:
        """The nearest consistent cells that agree with what is known, from consistent ones."""
        known = self._source.known
        if known is None:
            return cells
        found = np.empty_like(cells)
        for axes, where, shape in self.views:
            found[where] = known.fixed(axes, cells[where].reshape(shape)).ravel()
        return found

    def _left_open(self, shared: Floats) -> Floats:
        """The part of distinct coefficients that is not known by groups of categories."""
        known = self._source.known
        if known is None or not known.grouped:
            return shared
        cells = self.synthesise(shared)
        for axes, where, shape in self.views:
            cells[where] = known.left_open(axes, cells[where].reshape(shape)).ravel()
        return self.average(self.analyse(cells))

    @cached_property
    def views(self) -> list[tuple[Axes, slice, tuple[int, ...]]]:
        """For each view its axes as they are turned, its slice of the cells, and its shape."""
        found = []
        start = 0
        for row in self._rows:
            turn = self._turns[row]
            axes = tuple(self._source.views[row][place] for place in turn)
            shape = tuple(self._source.sizes[axis] for axis in axes)
            found.append((axes, slice(start, start + math.prod(shape)), shape))
            start += math.prod(shape)
        return found

    @cached_property
    def empty(self) -> NDArray[np.bool_] | None:
        """Whether each cell must be zero, shape (n,); None if there is no such cell."""
        empty = self._source.empty
        if empty is None:
            return None
        return self.flatten(empty)  # type: ignore[arg-type, return-value]

    @cached_property
    def links(self) -> Links | None:
        """What views must have in common because of cells that must be zero; None for nothing."""
        if not self._source.links:
            return None
        return Links.of(self._source.links, self.numbers, len(self.metric))

    @cached_property
    def numbers(self) -> list[tuple[Axes, Integers]]:
        """For each view its axes as they are turned, and the number of the distinct coefficient of
        each of its coefficients, with one axis for each of these axes."""
        found: list[tuple[Axes, Integers]] = [((), np.empty(0, np.int64))] * len(self._rows)
        for row, (axes, where, shape) in zip(self._rows.tolist(), self.views, strict=True):
            found[row] = axes, self.distinct[where].reshape(shape)
        return found

    def emptied(
        self,
        shared: Floats,
        weight: Floats,
    ) -> Floats:
        """Change distinct coefficients as little as possible so that the required cells are zero,
        and views agree on what follows from these zeros (`links`).

        The change is measured by the sum of its squares times `weight`, shape (m,). A coefficient
        with an infinite weight does not change, and sums that are known do not change. LSQR, an
        iterative least-squares method, solves the system. It gives the smallest change even if
        several views require the same zero.
        """
        links = self.links
        if self.empty is None and links is None:
            return shared
        if self.empty is None and links is not None and not self.known_by_group:
            return links.met(shared, 1 / weight, links.root(1 / weight))
        import scipy.sparse.linalg

        empty = np.flatnonzero(False if self.empty is None else self.empty)
        scale = 1 / np.sqrt(weight)
        cells = np.zeros(len(self.distinct))

        def required(coefficients: Floats) -> Floats:
            """What must be zero: cells, and differences of sums of different views."""
            in_cells = self.synthesise(coefficients)[empty]
            if links is None:
                return in_cells
            return np.concatenate([in_cells, links.matrix @ coefficients])

        def changed(step: Floats) -> Floats:
            return required(self._left_open(scale * np.ravel(step)))

        def pulled(values: Floats) -> Floats:
            cells[empty] = np.ravel(values)[: len(empty)]
            coefficients = self.analyse(cells) / self.spread**2
            summed = np.bincount(self.distinct, weights=coefficients).astype(np.float64)
            if links is not None:
                summed += links.matrix.T @ np.ravel(values)[len(empty) :]
            return scale * self._left_open(summed)

        linalg: Any = scipy.sparse.linalg
        wrong = required(shared)
        operator = linalg.LinearOperator(
            (len(wrong), len(shared)),
            matvec=changed,
            rmatvec=pulled,
            dtype=np.float64,
        )
        found = linalg.lsqr(
            operator,
            -wrong,
            atol=1e-14,
            btol=1e-14,
            conlim=0,
            iter_lim=EMPTYING_STEPS,
        )
        return np.asarray(shared + self._left_open(scale * found[0]))

    def synthesise(self, shared: Floats) -> Floats:
        """Compute the cells of all views from the distinct coefficients, shape (m,) to (n,)."""
        coefficients = shared[self.distinct] / self.spread
        cells = np.empty_like(coefficients)
        for basis, where in self._groups:
            own = coefficients[where].reshape(-1, basis.cells)
            cells[where] = basis.synthesise(own).ravel()
        return cells

    @property
    def holders(self) -> Integers:
        """The number of views that hold each distinct coefficient, shape (m,).

        A view that lies inside another view does not count. Equal views count once.
        """
        cells = [self._source.values[row].size for row in self._rows]
        # The last basis function of a view varies on all its axes. So only this view and views that
        # contain it hold its coefficient.
        last = self.distinct[np.cumsum(cells) - 1]
        every = np.bincount(self.distinct)
        equal = np.bincount(last, minlength=len(every))
        first = np.unique(last, return_index=True)[1]
        counts = np.zeros(len(cells), np.bool_)
        counts[first] = every[last[first]] == equal[last[first]]
        counted = self.distinct[np.repeat(counts, cells)]
        return np.bincount(counted, minlength=len(every))

    @property
    def summed(self) -> Floats:
        """How many cells of a view a cell of the marginal on the component sums, shape (m,).

        The largest such number over the views that hold the component.
        """
        largest = np.ones(len(self.metric))
        np.maximum.at(largest, self.distinct, self.spread**2)
        return largest

    @property
    def median_gain(self) -> Floats:
        """How much better than by its own cells the components of each view are known.

        It is the median over its components of (variance of the estimate) / (variance by the cells
        of the view), which counts as 1 for what is known, shape (views,).
        """
        precision = self.precision[self.distinct]
        is_open = np.isfinite(precision) & ~self.known[self.distinct]
        gain = np.where(is_open, self.own_precision / precision, 1.0)
        found = np.empty(len(self._rows))
        start = 0
        for basis, where in self._groups:
            # One coefficient stands for its component.
            one = np.unique(basis.component, return_index=True)[1]
            medians = np.median(gain[where].reshape(-1, basis.cells)[:, one], axis=1)
            found[self._rows[start : start + len(medians)]] = medians
            start += len(medians)
        return found

    def matrix(self) -> Any:
        """The linear map `synthesise` as a sparse matrix, shape (n, m)."""
        blocks = []
        for basis, where in self._groups:
            views = (where.stop - where.start) // basis.cells
            blocks += [basis.synthesise(np.eye(basis.cells)).T] * views
        rows = np.arange(len(self.distinct))
        scatter = scipy.sparse.csr_array((1 / self.spread, (rows, self.distinct)))
        return scipy.sparse.csr_array(scipy.sparse.block_diag(blocks) @ scatter)

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
            # Each coefficient's component, as a bit mask over the view's own axes.
            masks = np.zeros(basis.cells, np.int64)
            for here, place in enumerate(turn):
                masks |= (basis.component >> here & 1) << place
            own = slice(start, start + basis.cells)
            # `precisions` are for total x moment, which is the coefficient times the root of the
            # number of cells of its marginal.
            cells = basis.cells / self.spread[own] ** 2
            precision[self.distinct[own]] = known[row][masks] * cells
            start += basis.cells
        return precision

    def tables(self, shared: Floats) -> Tables:
        """The consistent tables that have these distinct coefficients, shape (m,)."""
        return self.with_cells(self.synthesise(shared))

    def with_cells(self, cells: Floats) -> Tables:
        """The tables with these cells, shape (n,); cells that must be zero are set to zero."""
        if self.empty is not None:
            cells = np.where(self.empty, 0.0, cells)
        values: list[Floats] = [np.empty(0)] * len(self._rows)
        start = 0
        for row in self._rows:
            turn = self._turns[row]
            like = self._source.values[row].transpose(turn)
            turned = cells[start : start + like.size].reshape(like.shape)
            values[row] = np.array(turned.transpose(np.argsort(turn)), order="C")
            start += like.size
        return self._source.with_values(values)


class _Layout(NamedTuple):
    """The order of the cells of all views in one vector of length n.

    Attributes
    ----------
    rows
        The order of the views: those of equal shape are side by side.
    turns
        For each view the order in which its axes are taken: positions in the view.
    groups
        Each shape, and the slice of the vector that holds the views of this shape.
    numbers
        The number of the distinct coefficient of each entry, shape (n,).
    """

    rows: Integers
    turns: tuple[Axes, ...]
    groups: tuple[tuple[tuple[int, ...], slice], ...]
    numbers: Integers


@lru_cache(maxsize=16)
def _layout(sizes: tuple[int, ...], views: tuple[Axes, ...]) -> _Layout:
    """Choose the order of the cells of all views; see `_Layout`.

    Axes are sorted by size, so that as many views as possible have equal shapes and are transformed
    together; large axes come first, which is faster.
    """
    turns = tuple(_by_size(sizes, view) for view in views)
    shapes = [tuple(sorted((sizes[axis] for axis in view), reverse=True)) for view in views]
    rows = sorted(range(len(views)), key=shapes.__getitem__)
    groups: list[tuple[tuple[int, ...], slice]] = []
    start = 0
    for row in rows:
        shape = shapes[row]
        stop = start + math.prod(shape)
        if groups and groups[-1][0] == shape:
            groups[-1] = (shape, slice(groups[-1][1].start, stop))
        else:
            groups.append((shape, slice(start, stop)))
        start = stop
    numbers = _numbers(sizes, views)
    return _Layout(
        rows=np.array(rows),
        turns=turns,
        groups=tuple(groups),
        numbers=np.concatenate([numbers[row] for row in rows]),
    )


def _by_size(sizes: tuple[int, ...], view: Axes) -> Axes:
    """Sort the axes of a view by size, the largest first; returns their positions in the view."""
    return tuple(sorted(range(len(view)), key=lambda place: (-sizes[view[place]], view[place])))


def _numbers(sizes: tuple[int, ...], views: tuple[Axes, ...]) -> list[Integers]:
    """Number the basis functions of all views; equal functions get equal numbers in all views.

    The axes are taken one after another. A basis function that is not constant on axis a, with
    factor c there, is identified by c and by the number of the product of its factors on earlier
    axes.
    """
    holders: list[list[int]] = [[] for _ in sizes]
    for row, view in enumerate(views):
        for axis in view:
            holders[axis].append(row)
    numbers = [np.zeros(1, dtype=np.int64) for _ in views]
    known = 1
    for axis in sorted(range(len(sizes)), key=lambda axis: (-sizes[axis], axis)):
        size = sizes[axis]
        rows = holders[axis]
        if size == 1 or not rows:
            continue
        # The keys (number before, function) of the new coefficients of each view.
        functions = np.arange(1, size)
        keys = [(numbers[row][:, None] * size + functions).ravel() for row in rows]
        distinct, new = np.unique(np.concatenate(keys), return_inverse=True)
        ends = np.cumsum([len(key) for key in keys])
        parts = np.split(known + new, ends[:-1])
        known += len(distinct)
        for row, part in zip(rows, parts, strict=True):
            before = numbers[row][:, None]
            varying = part.reshape(len(before), size - 1)
            numbers[row] = np.concatenate([before, varying], axis=1).ravel()
    return numbers


@dataclass(
    frozen=True,
    kw_only=True,
)
class LatticeConsistency:
    """Makes tables consistent on every intersection of views, smaller ones first, as published.

    Qardaji, Yang and Li, SIGMOD 2014, section 4.4, with views of unequal noise and any numbers of
    categories. On each set A of `intersection_lattice`, subsets first, the best estimate of the
    marginal on A is the mean over the views V that contain A, weighted by 1 / (variance of V x
    cells of V per cell of A). Each of these views is then corrected evenly within each cell of A.

    What is known, and cells that must be zero, are not in that paper. The nearest tables that meet
    them are taken at the end.
    """

    def __call__(self, tables: Tables) -> Tables:
        values = [value.copy() for value in tables.values]
        for common in intersections(tables.views):
            holders = [row for row, view in enumerate(tables.views) if common <= set(view)]
            if len(holders) > 1:
                _agree(tables, values, common, holders)
        consistent = tables.with_values(values)
        if tables.zeros is None and tables.known is None:
            return consistent
        return ResidualConsistency()(consistent)


def intersections(views: tuple[Axes, ...]) -> list[frozenset[int]]:
    """List the sets of `intersection_lattice` so that each comes after all its subsets."""
    import networkx

    larger_first = networkx.topological_sort(intersection_lattice(views))
    return [frozenset(axes) for axes in reversed(list(larger_first))]


def _agree(
    tables: Tables,
    values: list[Floats],
    common: frozenset[int],
    holders: list[int],
) -> None:
    """Correct the tables of some views, in place, so that they agree on common axes."""
    shape = tuple(tables.sizes[axis] for axis in sorted(common))
    projected: dict[int, Floats] = {}
    cells: dict[int, int] = {}
    weight: dict[int, float] = {}
    for row in holders:
        view = tables.views[row]
        outside = tuple(place for place, axis in enumerate(view) if axis not in common)
        projected[row] = values[row].sum(
            axis=outside,
            keepdims=True,
        )
        cells[row] = math.prod(values[row].shape[place] for place in outside)
        weight[row] = 1 / (tables.variances[row] * cells[row])
    total = sum(weight[row] * projected[row].reshape(shape) for row in holders)
    best = total / sum(weight.values())
    for row in holders:
        correction = np.reshape(best, projected[row].shape) - projected[row]
        values[row] += correction / cells[row]
