"""The marginal tables of several views with their noise, and what can be computed from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..basis import transform, widths
from ..known.known import Known
from ..limits import NUMBERS_AT_ONCE, VARIANCE_NUMBERS_AT_ONCE
from ..stated import Stated
from ..types import Floats, Integers
from ..zeros import Link, Zeros, links_between

Axes = tuple[int, ...]

_ROUNDING = 1e-9
"""A total that is smaller, as a share of the sum of absolute counts, may be a rounding error."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Tables(Stated):
    """Estimated marginal tables of views of one array.

    Parameters
    ----------
    sizes
        The number of categories of every axis of the whole array.
    views
        For each view its axes, ascending.
    values
        For each view its table, of shape ``[sizes[a] for a in view]``.
    variances
        For each view the variance of the independent error of each cell, > 0. It serves as a
        weight: only ratios matter for consistency and non-negativity.
    precisions
        None if the tables are independent measurements. Consistent tables made by `Evidence` give
        here, for each view, the precision (1 / variance) of total times moment of each of its
        components, shape (2 ** axes,). A component is a bit mask over the axes of the view. Views
        that share a component give it the same precision.
    zeros
        Cells of the whole array that must be zero, or None for no such cell. Estimates respect
        them.
    known
        What is known exactly: the total, or tables too. Estimates agree with it. None if nothing is
        known.
    unbiased
        None, or the tables before negative counts were removed, shaped like `values`. What is
        learnt about the noise is learnt from them.
    measured
        The axes of each table that was measured cell by cell, and the variance of the independent
        error of each cell. None stands for the views themselves without `precisions`, and for no
        such table with them. Empty if components alone were measured.

    Raises
    ------
    ValueError
        If these do not fit each other.

    Examples
    --------
    >>> views = Tables(
    ...     sizes=(2, 2),
    ...     views=((0,), (1,)),
    ...     values=(np.array([6.0, 2.0]), np.array([3.0, 9.0])),
    ...     variances=(1.0, 1.0),
    ... )
    >>> views.total  # the mean of 8 and 12
    10.0
    """

    families: ClassVar[tuple[str, ...]] = ("consistency", "nonnegativity")
    sizes: tuple[int, ...]
    views: tuple[Axes, ...]
    values: tuple[Floats, ...]
    variances: tuple[float, ...]
    precisions: tuple[Floats, ...] | None = None
    zeros: Zeros | None = None
    known: Known | None = None
    unbiased: tuple[Floats, ...] | None = None
    measured: tuple[tuple[Axes, float], ...] | None = None

    def __post_init__(self) -> None:
        if not len(self.views) == len(self.values) == len(self.variances) or not self.views:
            raise ValueError(
                "views, values and variances must have the same length, at least 1, but their "
                f"lengths are {len(self.views)}, {len(self.values)} and {len(self.variances)}; "
                "give one value and one variance for each view"
            )
        for view, value, variance in zip(self.views, self.values, self.variances, strict=True):
            self._check_view(view, value, variance)
        if self.precisions is not None:
            lengths = [len(precision) for precision in self.precisions]
            if lengths != [1 << len(view) for view in self.views]:
                raise ValueError(
                    "precisions must hold one number for each component of each view, "
                    f"{[1 << len(view) for view in self.views]}, but it holds {lengths}; give 2 ** "
                    "(number of axes) numbers for each view"
                )
        if self.zeros is not None and self.zeros.sizes != self.sizes:
            raise ValueError(
                f"zeros must be of an array of the sizes {self.sizes}, but it is of the sizes "
                f"{self.zeros.sizes}; make it with the same sizes"
            )
        if self.known is not None and self.known.sizes != self.sizes:
            raise ValueError(
                f"known must be of an array of the sizes {self.sizes}, but it is of the sizes "
                f"{self.known.sizes}; make it with the same sizes"
            )

    def _check_view(
        self,
        view: Axes,
        value: Floats,
        variance: float,
    ) -> None:
        """Refuse a view whose axes, table or variance do not fit."""
        count = len(self.sizes)
        inside = not view or 0 <= view[0] <= view[-1] < count
        if list(view) != sorted(set(view)) or not inside:
            raise ValueError(
                f"the axes of view {view} must be ascending numbers from 0 to {count - 1}; sort "
                "them and name each once"
            )
        expected = tuple(self.sizes[axis] for axis in view)
        if value.shape != expected:
            raise ValueError(
                f"the table of view {view} must have shape {expected}, but it has shape "
                f"{value.shape}; reshape it"
            )
        if not np.isfinite(value).all():
            raise ValueError(
                f"the table of view {view} must be finite, but one of its entries is not; correct "
                "it"
            )
        if not (variance > 0 and math.isfinite(variance)):
            raise ValueError(
                f"the variance of view {view} ({variance}) must be positive and finite; pass such "
                "a number"
            )

    def with_values(self, values: Sequence[Floats]) -> "Tables":
        """Copy this object with other tables of the same views."""
        return replace(self, values=tuple(values))

    @property
    def measurements(self) -> tuple[tuple[Axes, float], ...]:
        """The axes and the cell variance of each table that was measured cell by cell."""
        if self.measured is not None:
            return self.measured
        if self.precisions is not None:
            return ()
        return tuple(zip(self.views, self.variances, strict=True))

    @property
    def by_components(self) -> bool:
        """Whether components alone were measured, and no table cell by cell."""
        return self.measured == () and self.precisions is not None

    @property
    def known_total(self) -> float | None:
        """The exact sum of all cells, or None if it is not known."""
        return None if self.known is None else self.known.total

    def with_known(self) -> "Tables":
        """These tables and the known ones, so that each set of axes with a known table has a view.

        The weight of a known table is that of the most precise other one: what is known is kept
        whatever its weight.
        """
        views = [] if self.known is None else self.known.views
        tables = self
        for axes in views:
            if self.covering(axes) is None:
                assert self.known is not None
                tables = tables.with_view(axes, self.known.table(axes))
        return tables

    def with_view(
        self,
        axes: Axes,
        value: Floats,
    ) -> "Tables":
        """These tables and one more, as precise as the most precise one of them; its components
        count as known."""
        precisions = self.precisions
        if precisions is not None:
            precisions += (np.full(1 << len(axes), math.inf),)
        return replace(
            self,
            views=(*self.views, axes),
            values=(*self.values, value),
            variances=(*self.variances, min(self.variances)),
            precisions=precisions,
        )

    @cached_property
    def total(self) -> float:
        """The sum of all cells: known, or its best linear estimate.

        The estimate is the mean of the views' totals, weighted by precision. It is zero if it is so
        small beside the cells that it may be a rounding error.
        """
        if self.known_total is not None:
            return self.known_total
        totals = np.array([value.sum() for value in self.values])
        mean = float(self.precision @ totals / self.precision.sum())
        largest = max(float(np.abs(value).sum()) for value in self.values)
        return 0.0 if abs(mean) <= _ROUNDING * largest else mean

    @cached_property
    def empty(self) -> tuple[NDArray[np.bool_], ...] | None:
        """For each view, an array like its table that is True in cells that must be zero.

        None if there is no such cell.
        """
        if self.zeros is None:
            return None
        empty = tuple(self.zeros.cells(view) for view in self.views)
        return empty if any(cells.any() for cells in empty) else None

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """What pairs of views must have in common because of `zeros`, besides their axes."""
        return () if self.zeros is None else links_between(self.zeros, self.views)

    def inner(self, row: int) -> Floats:
        """The marginal of a positive distribution on the axes of the view at position `row`.

        The distribution is zero only in cells that must be zero, and agrees with what is known. It
        is the same for all views.
        """
        if self.known is not None:
            return self.known.positive(self.views[row])
        if self.zeros is not None:
            return self.zeros.positive(self.views[row])
        return np.full(self.values[row].shape, 1 / self.values[row].size)

    @cached_property
    def member(self) -> NDArray[np.bool_]:
        """Whether each view contains each axis, shape (views, axes)."""
        member = np.zeros((len(self.views), len(self.sizes)), dtype=np.bool_)
        for row, view in enumerate(self.views):
            member[row, list(view)] = True
        return member

    @cached_property
    def precision(self) -> Floats:
        """For each view, the precision with which it measures each of its coefficients.

        It is 1 / (number of cells x cell variance), for total times moment. Shape (views,).
        """
        pairs = zip(self.values, self.variances, strict=True)
        return np.array([1 / (value.size * variance) for value, variance in pairs])

    @cached_property
    def moments(self) -> tuple[Floats, ...]:
        """For each view its table's moments (see `basis`), shaped like the table.

        The tables must be consistent and of positive total.
        """
        return tuple(_moments(value) / self.total for value in self.values)

    @cached_property
    def all_moments(self) -> Floats:
        """The moments of all views in one vector, view after view."""
        return np.concatenate([np.ravel(moments) for moments in self.moments])

    @cached_property
    def starts(self) -> Integers:
        """The position of the first moment of each view in `all_moments`, shape (views,)."""
        cells = [value.size for value in self.values]
        return np.cumsum([0, *cells[:-1]]).astype(np.int64)

    @cached_property
    def strides(self) -> Integers:
        """The distance of neighbours along each axis in each view's flattened table.

        Shape (views, axes); 0 for axes that the view does not have.
        """
        strides = np.zeros((len(self.views), len(self.sizes)), dtype=np.int64)
        for row, view in enumerate(self.views):
            stride = 1
            for axis in reversed(view):
                strides[row, axis] = stride
                stride *= self.sizes[axis]
        return strides

    def covering(self, axes: Axes) -> int | None:
        """The position of the smallest view that contains all the axes, or None."""
        order, member = self._smallest_first
        holds = np.asarray(member[:, list(axes)].all(axis=1))
        first = int(holds.argmax())
        return order[first] if holds[first] else None

    @cached_property
    def _smallest_first(self) -> tuple[list[int], NDArray[np.bool_]]:
        """The positions of the views by their numbers of cells, and `member` in this order."""
        order = np.argsort([value.size for value in self.values], kind="stable")
        return order.tolist(), self.member[order]

    def covered(self, asked: Sequence[Axes] | Integers) -> NDArray[np.bool_]:
        """Whether each of n sets of axes lies within a view, shape (n,).

        All sets must have the same size.
        """
        axes = np.array(asked, dtype=np.int64).reshape(len(asked), -1)
        found = np.zeros(len(axes), dtype=np.bool_)
        # A bounded number of sets at a time, each compared with all views.
        step = max(1, NUMBERS_AT_ONCE // max(len(self.views), 1))
        for start in range(0, len(axes), step):
            some = axes[start : start + step]
            holds = np.ones((len(some), len(self.views)), dtype=np.bool_)
            for axis in some.T:
                holds &= self._holders_of_axes[axis]
            found[start : start + step] = holds.any(axis=1)
        return found

    @cached_property
    def _holders_of_axes(self) -> NDArray[np.bool_]:
        """For each axis, which views hold it, shape (axes, views)."""
        return np.ascontiguousarray(self.member.T)

    def project(
        self,
        row: int,
        axes: Axes,
    ) -> Floats:
        """Sum the table of the view at position `row` to its marginal on some ascending axes."""
        view = self.views[row]
        dropped = tuple(place for place, axis in enumerate(view) if axis not in axes)
        return np.asarray(self.values[row].sum(axis=dropped))

    def component_precision(self, axes: Axes) -> Floats:
        """The precision of the best linear estimate of each component of a marginal.

        A precision is one divided by the error variance of total times moment. A view that holds
        the component measures it with variance ``cells x cell variance``. The precisions of all
        such views add up; if no view holds the component, the sum is zero. If `precisions` is
        given, it is used instead.

        Returns
        -------
        ndarray of shape (2 ** len(axes),)
            Entry i belongs to the component of the axes whose bits are set in i.
        """
        precision, _ = self.holders(np.array([axes], dtype=np.int64))
        first: Floats = precision[0]
        return first

    def holders(self, asked: Integers) -> tuple[Floats, Integers]:
        """For each component of many marginals its precision and a view that holds it.

        Parameters
        ----------
        asked
            The axes of the marginals, ascending, shape (n, k).

        Returns
        -------
        precision
            See `component_precision`, shape (n, 2 ** k).
        view
            The position of the first view that holds the component, shape (n, 2 ** k). It has no
            meaning if no view does.
        """
        count, places = asked.shape
        views = len(self.views)
        # For each view and marginal the common axes as a bit mask, marginals one after another.
        masks = np.zeros((views, count), dtype=np.int64)
        for place in range(places):
            masks |= self.member[:, asked[:, place]].astype(np.int64) << place
        masks += np.arange(count) << places
        weight = np.repeat(self.precision, count)
        summed = np.bincount(masks.ravel(), weight, count << places)
        precision: Floats = summed.reshape(count, -1).astype(np.float64)
        first = np.full(count << places, views, dtype=np.int64)
        # Of several values for one entry, numpy keeps the last one: that of the first view.
        first[masks[::-1].ravel()] = np.arange(views - 1, -1, -1).repeat(count)
        view = first.reshape(count, -1)
        # A view that holds a component with an axis also holds the component without this axis.
        for place in range(places):
            sums = precision.reshape(-1, 2, 1 << place)
            firsts = view.reshape(-1, 2, 1 << place)
            sums[:, 0] += sums[:, 1]
            np.minimum(firsts[:, 0], firsts[:, 1], out=firsts[:, 0])
        held = view < views
        view = np.minimum(view, views - 1)
        if self.precisions is not None:
            precision = np.where(held, self._known_precision(asked, view), 0.0)
        if self.known is not None:
            precision[held & self.known.components(asked)] = math.inf
        return precision, view

    def _known_precision(
        self,
        asked: Integers,
        view: Integers,
    ) -> Floats:
        """Look up the precision of each component of many marginals in `precisions`.

        `view` is a view that holds each component; the shapes are those of `holders`.
        """
        # The component as a bit mask over the view's own axes.
        before = self._place_in_view
        own = np.zeros_like(view)
        for place in range(asked.shape[1]):
            present = np.arange(view.shape[1]) >> place & 1
            axis = asked[:, place, None]
            bit = 1 << before[view, axis]
            own += np.where(present & self.member[view, axis], bit, 0)
        starts, precisions = self._flat_precisions
        return np.asarray(precisions[starts[view] + own])

    @cached_property
    def _place_in_view(self) -> Integers:
        """For each view and axis, the number of the view's axes before it, shape (views, axes)."""
        return np.asarray(np.cumsum(self.member, axis=1) - self.member)

    @cached_property
    def _flat_precisions(self) -> tuple[Integers, Floats]:
        """`precisions` in one array, and the position of the first one of each view."""
        assert self.precisions is not None
        lengths = [len(known) for known in self.precisions]
        return np.cumsum([0, *lengths[:-1]]), np.concatenate(self.precisions)

    def variance(self, axes: Axes) -> float:
        """The variance of each cell of the best linear estimate of a covered marginal.

        See `covered_variances`.
        """
        return float(self.covered_variances(np.array([axes], dtype=np.int64))[0])

    def covered_variances(self, asked: Integers) -> Floats:
        """The variance of the cells of marginals that lie inside views, one number for each.

        It is the variance of the best linear estimate. A marginal on the axes B is the sum over the
        subsets S of B of its components. So the variance of a cell is the sum over S of
        prod_{a in S} (n_a - 1) / precision_S, divided by the square of the number of cells of B.

        Cells that must be zero are ignored here. Their variance is zero, and they can only lower
        the variance of other cells.

        Parameters
        ----------
        asked
            The ascending axes of each marginal, all of one shape, shape (n, k).

        Returns
        -------
        ndarray of shape (n,)
        """
        sizes = np.array(self.sizes)[asked[0]]
        functions = widths(sizes)
        cells = math.prod(sizes.tolist())
        held = functions > 0
        # A bounded number of numbers at a time.
        step = max(1, VARIANCE_NUMBERS_AT_ONCE // max(len(self.views), len(functions)))
        starts = range(0, len(asked), step)
        parts = [self.holders(asked[start : start + step])[0] for start in starts]
        precision = np.concatenate(parts)[:, held]
        return np.asarray((functions[held] / precision).sum(axis=1) / cells**2)

    def concentration(
        self,
        asked: Integers,
        variances: Floats | float,
        cells: Floats | float = 1.0,
    ) -> Floats:
        """How far the error of sums of a marginal's cells is the error of few measured cells.

        It is the sum of the squares of the shares that measured cells have in the variance V: 1 if
        the error is that of one cell, and 1 / m if it is the sum of m independent errors of one
        variance.

        A measured table holds the sum as the sum of K of its cells, each with variance s. A best
        linear estimate has the covariance V with every unbiased estimate of the same number, so
        with this sum, too. Each of the K cells therefore has the mean weight V / (K s) in it, and
        the share V / (K**2 s) of the variance: together V**2 / (K**3 s**2). Cells that the table
        does not add up are left out, because they have smaller weights.

        Parameters
        ----------
        asked
            The axes of n marginals, ascending, shape (n, k).
        variances
            The variance of each sum, shape (n,); see `covered_variances`.
        cells
            The number of the marginal's cells in each sum.
        """
        found = variances**2 * self._cell_weights(asked) / cells**3
        return np.asarray(np.minimum(found, 1.0))

    def component_concentration(self, asked: Integers) -> Floats:
        """`concentration` of the cells of marginals if components were measured (`by_components`).

        The part of a component S in the variance of a cell follows from its precision, as in
        `covered_variances`; its own concentration is that of `concentration_of_component`.

        Parameters
        ----------
        asked
            The ascending axes of each marginal, all of one shape, shape (n, k).
        """
        sizes = np.array(self.sizes)[asked[0]]
        functions = widths(sizes)
        held = functions > 0
        parts = functions[held] / self.holders(asked)[0][:, held]
        # For each component, by its bit mask, the concentration of its own part of a cell.
        own = np.ones(1)
        for size in sizes.tolist():
            own = np.concatenate([own, own * concentration_of_component([size])])
        squares = parts.sum(axis=1) ** 2
        fourth = parts**2 @ own[held]
        found = np.divide(fourth, squares, out=np.zeros(len(asked)), where=squares > 0)
        return np.asarray(found)

    def concentration_of(
        self,
        axes: Axes,
        variance: float,
        cells: float,
    ) -> float:
        """The same for one sum; much faster for marginals that are asked again."""
        if axes not in self._known_weights:
            weights = self._cell_weights(np.array([axes], dtype=np.int64))
            self._known_weights[axes] = float(weights[0])
        return min(variance**2 * self._known_weights[axes] / cells**3, 1.0)

    @cached_property
    def _known_weights(self) -> dict[Axes, float]:
        """What `_cell_weights` has given for the axes of single marginals."""
        return {}

    def _cell_weights(self, asked: Integers) -> Floats:
        """The sum of 1 / (M**3 s**2) over the measured tables that hold each marginal, shape (n,).

        M is the number of the table's cells in each cell of the marginal, and s their variance.
        """
        member, weights = self._measured_cells
        holds = np.ones((len(asked), len(weights)), dtype=np.bool_)
        for axis in asked.T:
            holds &= member[axis]
        sizes = self._float_sizes[asked].prod(axis=1)
        return np.asarray(sizes**3 * (holds @ weights))

    @cached_property
    def _float_sizes(self) -> Floats:
        """`sizes` as an array, shape (axes,)."""
        return np.array(self.sizes, dtype=np.float64)

    @cached_property
    def _measured_cells(self) -> tuple[NDArray[np.bool_], Floats]:
        """Which measured tables hold each axis, shape (axes, tables); and 1 / (N**3 s**2) for a
        table of N cells with variance s, shape (tables,)."""
        member = np.zeros((len(self.sizes), len(self.measurements)), dtype=np.bool_)
        weights = []
        for row, (view, variance) in enumerate(self.measurements):
            member[list(view), row] = True
            number = math.prod(self.sizes[axis] for axis in view)
            weights.append(1 / (float(number) ** 3 * variance**2))
        return member, np.array(weights)


def concentration_of_component(sizes: Sequence[int]) -> float:
    """The `Tables.concentration` of the part that one component has in a cell of a table.

    Along an axis of two categories one answer has all of it: the difference of the categories.
    Along an axis of n > 2 categories, n answers have the weights 1 - 1 / n and, n - 1 times,
    -1 / n: the sum of their fourth powers over the square of the sum of their squares is
    ((n - 1)**3 + 1) / (n**2 (n - 1)).

    Parameters
    ----------
    sizes
        The number of categories of each axis of the component.

    Examples
    --------
    >>> concentration_of_component([2, 2]), concentration_of_component([3, 3])
    (1.0, 0.25)
    """
    wide = [size for size in sizes if size > 2]
    shares = [((size - 1) ** 3 + 1) / (size**2 * (size - 1)) for size in wide]
    return math.prod(shares, start=1.0)


def _moments(table: Floats) -> Floats:
    """Compute total times moment for each coefficient of a table, shaped like the table."""
    coefficients = transform(table.shape).analyse(table.reshape(-1))
    return (coefficients * math.sqrt(table.size)).reshape(table.shape)
