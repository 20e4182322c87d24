"""Combination of noisy tables and of noisy components of tables into consistent tables."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..basis import transform, widths
from ..known.known import Known
from ..limits import EVIDENCE_CELLS_AT_ONCE
from ..types import Floats
from ..zeros import Zeros
from .tables import Axes, Tables


@dataclass(
    kw_only=True,
    eq=False,
)
class Evidence:
    """Collects independent noisy measurements of an array, and estimates tables from all of them.

    A measurement is a noisy table or a noisy residual component (see `basis`). In both, the errors
    of the coefficients of one component are independent and have equal variances. So the best
    linear unbiased estimate of a component is the mean of all its measurements, weighted by
    precision (1 / variance). Measurements of other components give no information about it.

    Attributes
    ----------
    sizes
        The number of categories of every axis of the array.
    zeros, known
        As in `Tables`; the tables get them. A known component need not be measured.
    precision
        For each component, by its ascending axes, the sum of the precisions of total times moment.
    weighted
        For each component, the sum over its measurements of total times moment times precision, of
        shape ``[sizes[a] - 1 for a in component]``.
    measured
        The axes and the cell variance of each table that was added; see `Tables`.

    Examples
    --------
    >>> evidence = Evidence(sizes=(2, 2))
    >>> evidence.add_table((0,), np.array([6.0, 2.0]), 1.0)
    >>> evidence.add_table((1,), np.array([3.0, 9.0]), 1.0)
    >>> [value.round(6).tolist() for value in evidence.tables().values]
    [[7.0, 3.0], [2.0, 8.0]]
    """

    sizes: tuple[int, ...]
    zeros: Zeros | None = None
    known: Known | None = None
    precision: dict[Axes, float] = field(default_factory=dict)
    weighted: dict[Axes, Floats] = field(default_factory=dict)
    measured: list[tuple[Axes, float]] = field(default_factory=list)

    def add_component(
        self,
        axes: Axes,
        moments: Floats,
        variance: float,
    ) -> None:
        """Add a measurement of one component.

        Parameters
        ----------
        axes
            Its axes, ascending, each of two or more categories.
        moments
            Total times moment, of shape ``[sizes[a] - 1 for a in axes]``.
        variance
            The variance of the independent error of each entry, > 0.

        Raises
        ------
        ValueError
            If the axes do not ascend, the shape does not fit, or a number is not finite.
        """
        self.add_components([axes], moments[None], np.array([variance]))

    def add_components(
        self,
        components: Sequence[Axes],
        moments: Floats,
        variances: Floats,
    ) -> None:
        """Add a measurement of each of n components of one shape.

        Parameters
        ----------
        components
            The axes of each, as for `add_component`.
        moments
            Total times moment, shape (n, ...).
        variances
            For each component the variance of the independent error of each entry, > 0, shape
            (n,).

        Raises
        ------
        ValueError
            As for `add_component`.
        """
        for axes in components:
            expected = tuple([self.sizes[axis] - 1 for axis in axes])
            if list(axes) != sorted(set(axes)) or moments.shape[1:] != expected:
                raise ValueError(
                    f"the component on axes {axes} must have ascending axes and moments of shape "
                    f"{expected}, but its moments have shape {moments.shape[1:]}; sort the axes or "
                    "reshape the moments"
                )
        positive = (variances > 0) & np.isfinite(variances)
        if not (np.isfinite(moments).all() and positive.all()):
            raise ValueError(
                f"the components on axes {components[0]} and others of one shape must have finite "
                "moments and positive finite variances, but one of these numbers is not; correct it"
            )
        precisions = 1 / variances
        # One array for all of them, so that its memory goes back to the system as a whole.
        weighted = moments / variances.reshape(-1, *[1] * (moments.ndim - 1))
        for axes, own, precision in zip(components, weighted, precisions.tolist(), strict=True):
            if axes in self.precision:
                own = self.weighted[axes] + own
                precision += self.precision[axes]
            self.weighted[axes] = own
            self.precision[axes] = precision

    def add_table(
        self,
        axes: Axes,
        table: Floats,
        variance: float,
    ) -> None:
        """Add a measurement of the table on some axes: it measures each of its components.

        Parameters
        ----------
        axes
            The axes of the table, ascending.
        table
            The measured cells, of shape ``[sizes[a] for a in axes]``.
        variance
            The variance of the independent error of each cell, > 0.

        Raises
        ------
        ValueError
            As for `add_component`.
        """
        coefficients = transform(table.shape).analyse(table.reshape(-1))
        moments = coefficients.reshape(table.shape) * math.sqrt(table.size)
        varying = [place for place, size in enumerate(table.shape) if size > 1]
        for places in _subsets(varying):
            part = moments[_part(places, len(axes))]
            own = tuple(axes[place] for place in places)
            self.add_component(own, part, table.size * variance)
        self.measured.append((axes, variance))

    def add_evidence(self, other: "Evidence") -> None:
        """Add all measurements that another object collected of the same array."""
        for axes, precision in other.precision.items():
            self.precision[axes] = self.precision.get(axes, 0.0) + precision
            self.weighted[axes] = self.weighted.get(axes, 0.0) + other.weighted[axes]
        self.measured += other.measured

    def empty(self) -> "Evidence":
        """A collection without measurements, of the same array."""
        return Evidence(
            sizes=self.sizes,
            zeros=self.zeros,
            known=self.known,
        )

    def joined(self, *others: "Evidence") -> "Evidence":
        """All measurements of this and of other collections of the same array, in a new one."""
        together = self.empty()
        for part in (self, *others):
            together.add_evidence(part)
        return together

    def tables(self) -> Tables:
        """Estimate consistent tables from all measurements.

        There is one table for each set of axes whose component was measured, except sets inside
        larger such sets. Axes of one category are in all tables.

        Raises
        ------
        ValueError
            If nothing is known, or a component is known but a component on some of its axes is not.
        """
        precision = self._with_known()
        views = self._largest(precision)
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for row, view in enumerate(views):
            shape = tuple(self.sizes[axis] for axis in view)
            by_shape.setdefault(shape, []).append(row)
        # Tables of one shape are made together, a bounded number of cells at a time.
        values: list[Floats] = [np.empty(0)] * len(views)
        precisions: list[Floats] = [np.empty(0)] * len(views)
        variances = np.empty(len(views))
        for shape, rows in by_shape.items():
            step = max(1, EVIDENCE_CELLS_AT_ONCE // math.prod(shape))
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                asked = [views[row] for row in some]
                made, known = self._estimated(shape, asked, precision)
                # See `Tables.covered_variances`.
                parts = widths(np.array(shape, dtype=np.int64)) / known
                variances[some] = parts.sum(axis=1) / math.prod(shape) ** 2
                for row, value, own in zip(some, made, known, strict=True):
                    values[row] = value
                    precisions[row] = own
        if self.known is not None:
            pairs = zip(views, values, strict=True)
            values = [self.known.fixed(view, value) for view, value in pairs]
        # A table that is known has the weight of the most precise other one.
        least = float(variances[variances > 0].min(initial=math.inf))
        usual = least if least < math.inf else 1.0
        return Tables(
            sizes=self.sizes,
            views=tuple(views),
            values=tuple(values),
            variances=tuple(variance or usual for variance in variances.tolist()),
            precisions=tuple(precisions),
            zeros=self.zeros,
            known=self.known,
            measured=tuple(self.measured),
        )

    def _with_known(self) -> dict[Axes, float]:
        """The precision of each component, measured or known; it is infinite if it is known."""
        precision = dict(self.precision)
        known = [] if self.known is None else [(), *self.known.views]
        for axes in known:
            varying = [axis for axis in axes if self.sizes[axis] > 1]
            precision |= dict.fromkeys(_subsets(varying), math.inf)
        return precision

    def _largest(self, precision: Mapping[Axes, float]) -> list[Axes]:
        """The axes of the tables: measured components that lie in no other one.

        All axes of one category are added to each.
        """
        inner: set[Axes] = set()
        for axes in precision:
            if axes:
                inner.update(itertools.combinations(axes, len(axes) - 1))
        if not precision:
            raise ValueError(
                "at least one table or component must be known, but nothing was measured; add a "
                "table or a component first"
            )
        missing = sorted(inner - precision.keys())
        if missing:
            raise ValueError(
                "with a component, all components on fewer of its axes must be known, but the "
                f"component on axes {missing[0]} is not; add it"
            )
        alone = tuple(axis for axis, size in enumerate(self.sizes) if size == 1)
        return sorted(tuple(sorted(axes + alone)) for axes in precision.keys() - inner)

    def _estimated(
        self,
        shape: tuple[int, ...],
        views: list[Axes],
        precision: Mapping[Axes, float],
    ) -> tuple[Floats, Floats]:
        """Make tables of one shape from estimated components, shape (views, *shape).

        The second result is the precision of each of their components, by bit masks: shape (views,
        masks). An axis of one category is not part of any component.
        """
        moments = np.zeros((len(views), *shape))
        precisions = np.empty((len(views), 1 << len(shape)))
        columns = list(zip(*views, strict=True))
        for mask in range(1 << len(shape)):
            places = [place for place, size in enumerate(shape) if mask >> place & 1 and size > 1]
            # The component on these places of each view.
            chosen = [columns[place] for place in places]
            parts: list[Axes] = list(zip(*chosen, strict=True)) if places else [()] * len(views)
            precisions[:, mask] = [precision[axes] for axes in parts]
            # A component that was not measured is known: it is put in later.
            rows = [row for row, axes in enumerate(parts) if axes in self.weighted]
            if rows:
                weighted = np.array([self.weighted[parts[row]] for row in rows])
                measured = np.array([self.precision[parts[row]] for row in rows])
                estimates = weighted / measured.reshape(-1, *[1] * len(places))
                moments[(rows, *_part(places, len(shape)))] = estimates
        cells = math.prod(shape)
        coefficients = moments.reshape(-1, cells) / math.sqrt(cells)
        tables = transform(shape).synthesise(coefficients).reshape(-1, *shape)
        return tables, precisions


def _subsets(items: Sequence[int]) -> Iterator[Axes]:
    """All subsets, smaller ones first."""
    for size in range(len(items) + 1):
        yield from itertools.combinations(items, size)


def _part(places: Sequence[int], count: int) -> tuple[slice | int, ...]:
    """The index of the component on these places, in a table of coefficients of `count` axes."""
    return tuple(slice(1, None) if place in places else 0 for place in range(count))
