"""Moments of a large table by way of its known marginals, which are much smaller."""

import math
from typing import NamedTuple

import numpy as np

from ..basis import transform
from ..limits import MOMENTS_BY_MARGINS, MOST_MARGINS
from ..types import Floats, Integers

__all__ = ["KnownMargins"]


class _Margin(NamedTuple):
    """A largest known set of axes, and the moments that are read from its marginal.

    Attributes
    ----------
    shape
        The sizes of its axes.
    dropped
        The positions of the other axes.
    own
        The positions, among the coefficients of the marginal, of the moments that no earlier
        marginal holds; int array of shape (count,).
    slots
        The positions of these moments among the known ones, int array of shape (count,).
    """

    shape: tuple[int, ...]
    dropped: tuple[int, ...]
    own: Integers
    slots: Integers

    @property
    def cells(self) -> int:
        """The number of cells of the marginal."""
        return math.prod(self.shape)


class KnownMargins:
    """Maps between a table and its known moments, as `Problem.moments` and `Problem.functions`.

    The transform of a whole table would compute all coefficients, most of which are not known. Here
    the table is summed to its largest known marginals, and only these are transformed.

    Parameters
    ----------
    shape
        The sizes of the table's axes.
    index
        The positions of the known coefficients; see `Problem`.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        index: Integers,
    ) -> None:
        self.shape = shape
        self.count = len(index)
        positions = np.arange(math.prod(shape)).reshape(shape)
        taken = np.zeros(self.count, np.bool_)
        margins = []
        for mask in _largest(shape, index):
            axes = [axis for axis in range(len(shape)) if mask >> axis & 1]
            corner = tuple(slice(None) if axis in axes else 0 for axis in range(len(shape)))
            # The constant function, at position 0, is not among the known ones.
            slots = np.searchsorted(index, positions[corner].ravel()[1:])
            new = ~taken[slots]
            taken[slots] = True
            margins.append(
                _Margin(
                    shape=tuple(shape[axis] for axis in axes),
                    dropped=tuple(axis for axis in range(len(shape)) if axis not in axes),
                    own=1 + np.flatnonzero(new),
                    slots=slots[new],
                )
            )
        self.margins = tuple(margins)

    @classmethod
    def worth(
        cls,
        shape: tuple[int, ...],
        index: Integers,
    ) -> "KnownMargins | None":
        """The maps of a table, or None if the transform of the whole table is as fast."""
        cells = math.prod(shape)
        if cells < MOMENTS_BY_MARGINS:
            return None
        if len(_largest(shape, index)) > MOST_MARGINS:
            return None
        margins = cls(shape, index)
        small = 4 * sum(margin.cells for margin in margins.margins) <= cells
        return margins if small else None

    def moments(self, table: Floats) -> Floats:
        """Compute the known moments of a flattened table of sum one, shape (cells,) to (m,)."""
        cube = table.reshape(self.shape)
        moments = np.empty(self.count)
        for margin in self.margins:
            marginal = cube.sum(axis=margin.dropped).ravel()
            coefficients = transform(margin.shape).analyse(marginal)
            moments[margin.slots] = coefficients[margin.own] * math.sqrt(margin.cells)
        return moments

    def functions(self, weights: Floats) -> Floats:
        """Add up the known basis functions with given weights, shape (..., m) to (..., cells)."""
        leading = weights.shape[:-1]
        total = np.zeros((*leading, *self.shape))
        for margin in self.margins:
            coefficients = np.zeros((*leading, margin.cells))
            coefficients[..., margin.own] = weights[..., margin.slots]
            values = transform(margin.shape).synthesise(coefficients) * math.sqrt(margin.cells)
            dropped = tuple(len(leading) + axis for axis in margin.dropped)
            total += np.expand_dims(values.reshape(*leading, *margin.shape), dropped)
        return total.reshape(*leading, -1)


def _largest(shape: tuple[int, ...], index: Integers) -> list[int]:
    """The largest sets of axes among the known components, as bit masks."""
    masks = np.unique(transform(shape).component[index]).tolist()
    return [
        mask for mask in masks if not any(mask != other and mask & other == mask for other in masks)
    ]
