"""The errors of tables that were estimated from components measured in bases of their own."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..types import Floats, Integers
from .covered_sums import WeightedSum
from .tables import Tables

__all__ = ["ComponentErrors", "errors_of_components"]

_Axes = tuple[int, ...]


@dataclass(
    frozen=True,
    eq=False,
)
class ComponentErrors:
    """The covariance of the errors in the tables of an array, by its components.

    The table on the axes V is the sum over the subsets S of V of independent parts. The part of S
    has errors with the covariance ``variances[S] * kron(K_i for i in S, u_i u_i' for i in V - S)``.

    Attributes
    ----------
    sizes
        The number of categories of every axis.
    inverses
        For some axes the square matrix whose first column is u_i, and whose other columns A_i make
        K_i = A_i A_i'; shape (size, size). Any other axis has a uniform u_i, and K_i = s C with
        C = I - 11' / size, where s is 1 / 2 for two categories and 1 / size**2 for more.
    variances
        For each component, by its ascending axes, the error variance of its measured answers.
    """

    sizes: tuple[int, ...]
    inverses: Mapping[int, Floats]
    variances: Mapping[_Axes, float]

    def covariance(self, sums: Sequence[WeightedSum]) -> Floats:
        """The covariance of the errors of q weighted sums of cells, shape (q, q)."""
        result = np.zeros((len(sums), len(sums)))
        for row in range(len(sums)):
            for column in range(row + 1):
                result[row, column] = self._shared(sums[row], sums[column])
                result[column, row] = result[row, column]
        return result

    def covariance_on(
        self,
        axes: _Axes,
        weights: Floats,
    ) -> Floats:
        """The same for q sums of the cells of one marginal, much faster.

        `weights` are those of the cells, shape (cells, q).
        """
        shape = tuple(self.sizes[axis] for axis in axes)
        # The sums are one more axis of the weights.
        together = WeightedSum(axes, weights.reshape(*shape, -1))
        count = together.weights.shape[-1]
        result = np.zeros((count, count))
        for component in self._components(axes):
            reduced = self._reduced(together, component).reshape(-1, count)
            result += self.variances[component] * (reduced.T @ reduced)
        return result

    def cell_variances(
        self,
        axes: _Axes,
        groups: Sequence[Integers | None] | None = None,
    ) -> Floats:
        """The error variance of each cell of the table on some ascending axes.

        With `groups`, it is that of each product of groups of categories: they give for each axis
        the group of each category, ascending from 0, or None if each category is a group.
        """
        return self._powers(axes, groups, 2)

    def concentration(
        self,
        axes: _Axes,
        groups: Sequence[Integers | None] | None = None,
    ) -> Floats:
        """How far the error of each cell of a table is the error of few measured answers.

        It is the sum of the squares of the shares that measured answers have in the variance: 1 if
        the error is that of one answer, and 1 / m if it is the sum of m independent errors of one
        variance; 0 for a cell without error. Fourth cumulants of independent errors add up, so the
        excess kurtosis of the cell is that of an answer times this number.

        The parameters and the shape are those of `cell_variances`.
        """
        squares = self._powers(axes, groups, 2) ** 2
        fourth = self._powers(axes, groups, 4)
        return np.divide(fourth, squares, out=np.zeros(squares.shape), where=squares > 0)

    def concentration_of(self, one: WeightedSum) -> float:
        """The same for a weighted sum of cells."""
        variance = fourth = 0.0
        for component in self._components(one.axes):
            weights = self._reduced(one, component)
            variance += self.variances[component] * float((weights**2).sum())
            fourth += self.variances[component] ** 2 * float((weights**4).sum())
        return fourth / variance**2 if variance > 0 else 0.0

    def mean_precisions(self, axes: _Axes) -> Floats:
        """For each component of the table on some axes, one divided by the mean error variance of
        its moments times the total (see `margin.solvers.basis`), by bit masks: shape
        (2 ** len(axes),)."""
        precisions = np.empty(1 << len(axes))
        for mask in range(len(precisions)):
            component = tuple(axis for bit, axis in enumerate(axes) if mask >> bit & 1)
            varying = tuple(axis for axis in component if self.sizes[axis] > 1)
            # The contrasts of the table on the component, in orthonormal coordinates.
            summed = 0.0
            for inner in self._components(varying):
                uneven = [axis for axis in varying if axis not in inner]
                own = math.prod(float(self._group_powers(axis, None, 2)[0].sum()) for axis in inner)
                mixed = math.prod(
                    float((self.spread(axis) ** 2).sum()) - 1 / self.sizes[axis] for axis in uneven
                )
                summed += self.variances[inner] * own * max(mixed, 0.0)
            functions = math.prod(self.sizes[axis] - 1 for axis in varying)
            cells = math.prod(self.sizes[axis] for axis in varying)
            precisions[mask] = functions / (cells * summed)
        return precisions

    def spread(self, axis: int) -> Floats:
        """The vector u of an axis."""
        if axis in self.inverses:
            return self.inverses[axis][:, 0]
        return np.full(self.sizes[axis], 1 / self.sizes[axis])

    def pack(self) -> tuple[list[list[int]], dict[str, Floats]]:
        """The content for a file: the components, and arrays by name."""
        arrays = {f"inverse{axis}": inverse for axis, inverse in self.inverses.items()}
        arrays["component_variances"] = np.array(list(self.variances.values()))
        return [list(axes) for axes in self.variances], arrays

    @classmethod
    def room(
        cls,
        sizes: tuple[int, ...],
        components: Sequence[Sequence[int]],
    ) -> dict[str, int]:
        """The largest number of entries of each array of a file, by name."""
        if not components:
            return {}
        inverses = {f"inverse{axis}": size**2 for axis, size in enumerate(sizes)}
        return {"component_variances": len(components), **inverses}

    @classmethod
    def unpack(
        cls,
        sizes: tuple[int, ...],
        components: Sequence[Sequence[int]],
        arrays: Mapping[str, Any],
    ) -> Self:
        """Make the object from the content of a file; ValueError if it does not fit."""
        known = arrays["component_variances"]
        inverses = {
            int(name.removeprefix("inverse")): np.asarray(array, np.float64)
            for name, array in arrays.items()
            if name != "component_variances"
        }
        fits = all(array.shape == (sizes[axis],) * 2 for axis, array in inverses.items())
        if known.shape != (len(components),) or not fits:
            raise ValueError(
                "the errors of components must have one variance for each component, and square "
                "matrices of the sizes of the attributes, but an array has another shape; get a "
                "fresh copy of the file"
            )
        variances = dict(zip(map(tuple, components), known.tolist(), strict=True))
        return cls(sizes, inverses, variances)

    def _components(self, axes: Sequence[int]) -> Iterator[_Axes]:
        """The measured components within some axes."""
        for count in range(len(axes) + 1):
            for component in itertools.combinations(axes, count):
                if component in self.variances:
                    yield component

    def _shared(self, one: WeightedSum, other: WeightedSum) -> float:
        """The covariance of two sums: over the components of their common axes."""
        common = tuple(axis for axis in one.axes if axis in other.axes)
        covariance = 0.0
        for component in self._components(common):
            first = self._reduced(one, component)
            second = self._reduced(other, component)
            covariance += self.variances[component] * float((first * second).sum())
        return covariance

    def _reduced(self, one: WeightedSum, component: _Axes) -> Floats:
        """The weight of each measured number of a component in a sum.

        Weights may have further axes, which stay the last ones.
        """
        weights = np.asarray(one.weights, dtype=np.float64)
        # From the last axis to the first, so that the places of earlier axes stay.
        for place in reversed(range(len(one.axes))):
            axis = one.axes[place]
            if axis not in component:
                weights = np.tensordot(weights, self.spread(axis), axes=(place, 0))
            elif axis in self.inverses:
                moved = np.tensordot(weights, self.inverses[axis][:, 1:], axes=(place, 0))
                weights = np.moveaxis(moved, -1, place)
            elif self.sizes[axis] == 2:
                # One answer: the difference of the two categories.
                weights = -np.diff(weights, axis=place) / 2
            else:
                centred = weights - weights.mean(axis=place, keepdims=True)
                weights = centred / self.sizes[axis]
        return np.asarray(weights)

    def _powers(
        self,
        axes: _Axes,
        groups: Sequence[Integers | None] | None,
        power: int,
    ) -> Floats:
        """For each product of groups of categories, the sum over all measured answers of their
        weights in it to an even power, each times the same power of its standard deviation."""
        chosen = [None] * len(axes) if groups is None else groups
        pairs = zip(axes, chosen, strict=True)
        found = [self._group_powers(axis, group, power) for axis, group in pairs]
        total = np.zeros([spread.size for _, spread in found])
        for component in self._components(axes):
            part = np.full((), self.variances[component] ** (power // 2))
            for axis, (own, spread) in zip(axes, found, strict=True):
                part = np.multiply.outer(part, own if axis in component else spread)
            total += part
        return total

    def _group_powers(
        self,
        axis: int,
        group: Integers | None,
        power: int,
    ) -> tuple[Floats, Floats]:
        """For sums over groups of categories of an axis, the sums of the weights of the axis'
        answers to an even power, and the sums of u to this power."""
        size = self.sizes[axis]
        starts = np.arange(size) if group is None else np.flatnonzero(np.diff(group, prepend=-1))
        spread = np.add.reduceat(self.spread(axis), starts)
        if axis in self.inverses:
            rows = np.add.reduceat(self.inverses[axis][:, 1:], starts, axis=0)
            return np.asarray((rows**power).sum(axis=1)), spread**power
        widths = np.diff(np.append(starts, size)).astype(np.float64)
        if size == 2:
            # The only answer is the difference of the categories.
            return np.asarray((1 - widths / 2) ** power), spread**power
        inside = widths * (1 - widths / size) ** power
        outside = (size - widths) * (widths / size) ** power
        return np.asarray((inside + outside) / float(size) ** power), spread**power


def errors_of_components(tables: Tables, axes: _Axes) -> ComponentErrors:
    """The errors of the table on some axes, whose components were measured with the answers that
    `ComponentErrors` describes for axes without bases of their own.

    They follow from the precision of each component: that of its moments.

    Parameters
    ----------
    tables
        Tables that were estimated from components (`Tables.by_components`).
    axes
        The axes of the table, ascending.
    """
    precision = tables.component_precision(axes)
    variances = {}
    for mask, known in enumerate(precision.tolist()):
        component = tuple(axis for bit, axis in enumerate(axes) if mask >> bit & 1)
        sizes = [tables.sizes[axis] for axis in component]
        # No component contains an axis of one category.
        if 1 not in sizes:
            variances[component] = math.prod(size for size in sizes if size > 2) / known
    return ComponentErrors(tables.sizes, {}, variances)
