"""`Evidence`: noisy tables and noisy components of tables, added up to consistent tables."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..basis import transform, widths
from ..types import Floats
from ..zeros import Zeros
from .tables import Axes, Tables

_AT_ONCE = 1 << 22
"""How many cells are made at a time."""


@dataclass(kw_only=True, eq=False)
class Evidence:
    """What independent noisy measurements say about the components of an array, and how precisely.

    Errors of different coefficients of a component are independent and of one variance, in a table
    as in a component that was measured by itself. The best linear unbiased estimate of each
    component is therefore the mean of all that was said about it, weighted by precision, whatever
    was said about others (generalised least squares decouples).

    Attributes
    ----------
    sizes
        The number of categories of every axis of the array.
    zeros, known_total
        See `Tables`, which get them.
    precision
        For each component, by its ascending axes, the sum of the precisions of total times moment.
    weighted
        The sum of total times moment (see `basis`) times precision, of shape ``[sizes[a] - 1 for a
        in component]``.
    """

    sizes: tuple[int, ...]
    zeros: Zeros | None = None
    known_total: float | None = None
    precision: dict[Axes, float] = field(default_factory=dict)
    weighted: dict[Axes, Floats] = field(default_factory=dict)

    def add_component(self, axes: Axes, moments: Floats, variance: float) -> None:
        """A component on ascending axes of two or more categories: total times moment, each with an
        independent error of this variance, > 0."""
        if list(axes) != sorted(set(axes)) or moments.shape != tuple(
            self.sizes[axis] - 1 for axis in axes
        ):
            raise ValueError(f"the component on {axes} has moments of shape {moments.shape}")
        if not (np.isfinite(moments).all() and 0 < variance < math.inf):
            raise ValueError(
                f"the component on {axes} needs finite moments and a positive finite variance"
            )
        self.precision[axes] = self.precision.get(axes, 0.0) + 1 / variance
        self.weighted[axes] = self.weighted.get(axes, 0.0) + moments / variance

    def add_table(self, axes: Axes, table: Floats, variance: float) -> None:
        """A table on ascending axes, each cell with an independent error of this variance, > 0."""
        moments = transform(table.shape).analyse(table.reshape(-1)).reshape(
            table.shape
        ) * math.sqrt(table.size)
        for places in _subsets([place for place, size in enumerate(table.shape) if size > 1]):
            part = tuple(slice(1, None) if place in places else 0 for place in range(len(axes)))
            self.add_component(
                tuple(axes[place] for place in places), moments[part], table.size * variance
            )

    def tables(self) -> Tables:
        """The consistent tables of the largest sets of axes whose components are all known.

        Axes of one category are in all of them.

        Raises
        ------
        ValueError
            When a component is known, and one on some of its axes is not, or nothing is.
        """
        views = self._largest()
        values: list[Floats] = [np.empty(0)] * len(views)
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for row, view in enumerate(views):
            by_shape.setdefault(tuple(self.sizes[axis] for axis in view), []).append(row)
        for shape, rows in by_shape.items():
            step = max(1, _AT_ONCE // math.prod(shape))
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                for row, value in zip(
                    some, self._synthesised(shape, [views[row] for row in some]), strict=True
                ):
                    values[row] = value
        precisions = tuple(self._precisions(view) for view in views)
        variances = tuple(map(self._variance, views, precisions))
        return Tables(
            sizes=self.sizes,
            views=tuple(views),
            values=tuple(values),
            variances=variances,
            precisions=precisions,
            zeros=self.zeros,
            known_total=self.known_total,
        )

    def _largest(self) -> list[Axes]:
        """The sets that no other known component contains, with all axes of one category."""
        inner = {
            part
            for axes in self.precision
            if axes
            for part in itertools.combinations(axes, len(axes) - 1)
        }
        if not self.precision or not inner <= self.precision.keys():
            raise ValueError("with a component all components on some of its axes must be known")
        alone = tuple(axis for axis, size in enumerate(self.sizes) if size == 1)
        return sorted(tuple(sorted(axes + alone)) for axes in self.precision.keys() - inner)

    def _synthesised(self, shape: tuple[int, ...], views: list[Axes]) -> Floats:
        """Tables of one shape from their components."""
        moments = np.empty((len(views), *shape))
        varying = [place for place, size in enumerate(shape) if size > 1]
        for row, view in enumerate(views):
            for places in _subsets(varying):
                axes = tuple(view[place] for place in places)
                part = tuple(
                    slice(1, None) if place in places else 0 for place in range(len(shape))
                )
                moments[row][part] = self.weighted[axes] / self.precision[axes]
        cells = math.prod(shape)
        return (
            transform(shape)
            .synthesise(moments.reshape(-1, cells) / math.sqrt(cells))
            .reshape(-1, *shape)
        )

    def _precisions(self, view: Axes) -> Floats:
        """The precision of each component of a view, by bit masks; an axis of one category has no
        part in it."""
        sets: list[Axes] = [()]
        for axis in view:
            sets += [(*some, axis) if self.sizes[axis] > 1 else some for some in sets]
        return np.array([self.precision[axes] for axes in sets])

    def _variance(self, view: Axes, precisions: Floats) -> float:
        """That of each cell of a view's estimate; see `Tables.covered_variances`."""
        sizes = np.array([self.sizes[axis] for axis in view], dtype=np.int64)
        return float((widths(sizes) / precisions).sum() / math.prod(sizes.tolist()) ** 2)


def _subsets(items: list[int]) -> Iterator[Axes]:
    return itertools.chain.from_iterable(
        itertools.combinations(items, size) for size in range(len(items) + 1)
    )
