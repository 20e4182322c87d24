"""`Tables`: the marginal tables of several views, their noise, and what they say about any set of
axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..basis import transform, widths
from ..types import Floats, Integers
from ..zeros import Zeros

Axes = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Tables:
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
        For consistent tables whose components are known better or worse than `variances` alone say
        (see `Evidence`): for each view the precision of the estimate of each of its components, in
        the scaling of total times moment, by bit masks over its axes, shape (2 ** axes,). Views
        that share a component give it the same precision. None when all that is known is
        independent tables.
    zeros
        Cells of the whole array that must be zero, or None for no such cell. Estimates respect
        them.
    known_total
        What all cells sum to, where that is known exactly, > 0; else None. Estimates add up to it.

    Raises
    ------
    ValueError
        When these do not fit each other.
    """

    sizes: tuple[int, ...]
    views: tuple[Axes, ...]
    values: tuple[Floats, ...]
    variances: tuple[float, ...]
    precisions: tuple[Floats, ...] | None = None
    zeros: Zeros | None = None
    known_total: float | None = None

    def __post_init__(self) -> None:
        if not len(self.views) == len(self.values) == len(self.variances) or not self.views:
            raise ValueError("views, values and variances must be equally many, and at least one")
        for view, value, variance in zip(self.views, self.values, self.variances, strict=True):
            if list(view) != sorted(set(view)) or (
                view and not 0 <= view[0] <= view[-1] < len(self.sizes)
            ):
                raise ValueError(f"view {view} must be ascending axes below {len(self.sizes)}")
            if value.shape != tuple(self.sizes[axis] for axis in view):
                raise ValueError(f"the table of view {view} has shape {value.shape}")
            if not np.isfinite(value).all():
                raise ValueError(f"the table of view {view} must be finite")
            if not (variance > 0 and math.isfinite(variance)):
                raise ValueError(
                    f"the variance of view {view} must be positive and finite, not {variance}"
                )
        if self.precisions is not None and [len(p) for p in self.precisions] != [
            1 << len(v) for v in self.views
        ]:
            raise ValueError("precisions must hold one number for each component of each view")
        if self.zeros is not None and self.zeros.sizes != self.sizes:
            raise ValueError("zeros must be of an array of the same sizes")
        if self.known_total is not None and not (
            self.known_total > 0 and math.isfinite(self.known_total)
        ):
            raise ValueError(f"known_total ({self.known_total}) must be positive and finite")

    def with_values(self, values: Sequence[Floats]) -> "Tables":
        """The same views with other tables."""
        return replace(self, values=tuple(values))

    @cached_property
    def total(self) -> float:
        """The sum of all cells, as known or by the best linear estimate: the views' totals weighted
        by precision."""
        if self.known_total is not None:
            return self.known_total
        totals = np.array([value.sum() for value in self.values])
        return float(self.precision @ totals / self.precision.sum())

    @cached_property
    def empty(self) -> tuple[NDArray[np.bool_], ...] | None:
        """For each view which cells must be zero, shaped like its table; None when there is none in
        any."""
        if self.zeros is None:
            return None
        empty = tuple(self.zeros.cells(view) for view in self.views)
        return empty if any(cells.any() for cells in empty) else None

    def inner(self, row: int) -> Floats:
        """For one view its part of a distribution on the whole array that is positive wherever it
        may be."""
        if self.zeros is not None:
            return self.zeros.positive(self.views[row])
        return np.full(self.values[row].shape, 1 / self.values[row].size)

    @cached_property
    def member(self) -> NDArray[np.bool_]:
        """Which axis is in which view, shape (views, axes)."""
        member = np.zeros((len(self.views), len(self.sizes)), dtype=np.bool_)
        for row, view in enumerate(self.views):
            member[row, list(view)] = True
        return member

    @cached_property
    def precision(self) -> Floats:
        """For each view 1 / (cells x cell variance): what it adds to the precision of a
        coefficient, shape (views,)."""
        return np.array(
            [1 / (value.size * v) for value, v in zip(self.values, self.variances, strict=True)]
        )

    @cached_property
    def moments(self) -> tuple[Floats, ...]:
        """For each view its table's moments (see `basis`), shaped like the table; for consistent
        tables of positive total."""
        return tuple(_moments(value) / self.total for value in self.values)

    @cached_property
    def all_moments(self) -> Floats:
        """The moments of all views one after the other."""
        return np.concatenate([np.ravel(moments) for moments in self.moments])

    @cached_property
    def starts(self) -> Integers:
        """Where each view's moments start among all, shape (views,)."""
        return np.concatenate([[0], np.cumsum([value.size for value in self.values])[:-1]]).astype(
            np.int64
        )

    @cached_property
    def strides(self) -> Integers:
        """How far apart in a view's table neighbours along an axis are, shape (views, axes); 0 for
        other axes."""
        strides = np.zeros((len(self.views), len(self.sizes)), dtype=np.int64)
        for row, view in enumerate(self.views):
            stride = 1
            for axis in reversed(view):
                strides[row, axis] = stride
                stride *= self.sizes[axis]
        return strides

    def covering(self, axes: Axes) -> int | None:
        """The position of the smallest view that contains all the axes, or None."""
        holders = np.flatnonzero(self.member[:, list(axes)].all(axis=1))
        return min(map(int, holders), key=lambda row: self.values[row].size, default=None)

    def covered(self, asked: Sequence[Axes] | Integers) -> NDArray[np.bool_]:
        """Which sets of axes, all of one size, lie within a view, shape (n,)."""
        axes = np.array(asked, dtype=np.int64).reshape(len(asked), -1)
        found = np.zeros(len(axes), dtype=np.bool_)
        for member in self.member:
            found |= member[axes].all(axis=1)
        return found

    def project(self, row: int, axes: Axes) -> Floats:
        """The marginal of one view's table on some of its axes, given and returned ascending."""
        dropped = tuple(place for place, axis in enumerate(self.views[row]) if axis not in axes)
        return np.asarray(self.values[row].sum(axis=dropped))

    def component_precision(self, axes: Axes) -> Floats:
        """The precision of the best linear estimate of each component of a marginal; zero where no
        view holds it.

        A coefficient has variance ``cells x cell variance`` in any view that holds its component,
        in the scaling of total times moment, and the views' precisions add up, unless `precisions`
        tells them.

        Returns
        -------
        ndarray of shape (2 ** len(axes),), by bit masks over the places of `axes`
        """
        precision: Floats = self.holders(np.array([axes], dtype=np.int64))[0][0]
        return precision

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
            The position of the first view that holds the component, shape (n, 2 ** k); meaningless
            where none does.
        """
        count, places = asked.shape
        masks = np.zeros((len(self.views), count), dtype=np.int64)
        for place in range(places):
            masks |= self.member[:, asked[:, place]].astype(np.int64) << place
        masks += np.arange(count) << places
        weight = np.repeat(self.precision, count)
        precision: Floats = (
            np.bincount(masks.ravel(), weight, count << places)
            .reshape(count, -1)
            .astype(np.float64)
        )
        first = np.full(count << places, len(self.views), dtype=np.int64)
        for row in range(len(self.views) - 1, -1, -1):
            first[masks[row]] = row
        view = first.reshape(count, -1)
        for place in range(places):
            # What holds a component with this axis holds it without.
            sums = precision.reshape(-1, 2, 1 << place)
            firsts = view.reshape(-1, 2, 1 << place)
            sums[:, 0] += sums[:, 1]
            np.minimum(firsts[:, 0], firsts[:, 1], out=firsts[:, 0])
        held = view < len(self.views)
        view = np.minimum(view, len(self.views) - 1)
        if self.precisions is not None:
            precision = np.where(held, self._known_precision(asked, view), 0.0)
        if self.known_total is not None:
            precision[:, 0] = math.inf
        return precision, view

    def _known_precision(self, asked: Integers, view: Integers) -> Floats:
        """What `precisions` says of each component of many marginals, by the views that hold them,
        shapes as of `holders`."""
        assert self.precisions is not None
        before: Integers = np.cumsum(self.member, axis=1) - self.member
        own = np.zeros_like(view)
        for place in range(asked.shape[1]):
            present = np.arange(view.shape[1]) >> place & 1
            axis = asked[:, place, None]
            own += np.where(present & self.member[view, axis], 1 << before[view, axis], 0)
        starts = np.concatenate([[0], np.cumsum([len(known) for known in self.precisions])[:-1]])
        return np.asarray(np.concatenate(self.precisions)[starts[view] + own])

    def variance(self, axes: Axes) -> float:
        """The variance of each cell of the best linear estimate of a covered marginal; see
        `covered_variances`."""
        return float(self.covered_variances(np.array([axes], dtype=np.int64))[0])

    def covered_variances(self, asked: Integers) -> Floats:
        """The variance of each cell of the best linear estimates of covered marginals of one shape,
        (n, k) to (n,).

        What zeros tell beyond the tables is left out: cells that must be zero have none, and others
        no more than this.

        A marginal on B is the sum over the subsets S of B of its components, so a cell's variance
        is the sum over S of prod_{a in S} (n_a - 1) / precision_S, divided by the square of the
        number of cells of B.
        """
        sizes = np.array(self.sizes)[asked[0]]
        functions = widths(sizes)
        cells = math.prod(sizes.tolist())
        held = functions > 0
        step = max(
            1, (1 << 22) // max(len(self.views), len(functions))
        )  # at most so many numbers at a time
        parts = [
            self.holders(asked[start : start + step])[0] for start in range(0, len(asked), step)
        ]
        return np.asarray((functions[held] / np.concatenate(parts)[:, held]).sum(axis=1) / cells**2)


def _moments(table: Floats) -> Floats:
    basis = transform(table.shape)
    return (basis.analyse(table.reshape(-1)) * math.sqrt(table.size)).reshape(table.shape)
