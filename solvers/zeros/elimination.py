"""Elimination of the axes of a part, one by one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .factors import Axes, Factor, Step, spread

__all__ = ["Elimination"]


class Elimination:
    """State of variable elimination: the product of its factors is the distribution of a part."""

    def __init__(
        self,
        kinds: Mapping[int, int],
        factors: Sequence[Factor],
        *,
        weighted: bool,
    ) -> None:
        """Start with all axes.

        `kinds` has the number of classes of each axis. The tables of the factors are numbers if
        `weighted`, else flags.
        """
        self._kinds = kinds
        self._weighted = weighted
        self.factors: dict[int, Factor] = dict(enumerate(factors))
        self._next = len(factors)
        # For each axis the numbers of the factors that have it.
        self._holders: dict[int, set[int]] = {axis: set() for axis in kinds}
        for number, (axes, _) in self.factors.items():
            for axis in axes:
                self._holders[axis].add(number)

    def together(self, axis: int) -> Axes:
        """An axis, and all axes with which it shares a factor, ascending."""
        axes = {axis}
        for number in self._holders[axis]:
            axes.update(self.factors[number][0])
        return tuple(sorted(axes))

    def eliminate(
        self,
        axis: int,
        axes: Axes,
    ) -> Step:
        """Replace all factors that have an axis by one: their product, summed over this axis.

        `axes` are `together(axis)`. With flags, the product is a logical and, and the sum a
        logical or.
        """
        kind = np.float64 if self._weighted else np.bool_
        table: NDArray[Any] = np.ones([self._kinds[other] for other in axes], kind)
        for number in sorted(self._holders[axis]):
            own, factor = self.factors.pop(number)
            table = table * spread(factor, own, axes)
            for other in own:
                if other != axis:
                    self._holders[other].discard(number)
        place = axes.index(axis)
        if self._weighted:
            summed = table.sum(axis=place)
            # A common factor does not matter; without it products would underflow.
            if summed.max() > 0:
                summed = summed / summed.max()
        else:
            summed = table.any(axis=place)
        others = tuple(other for other in axes if other != axis)
        self.factors[self._next] = others, np.asarray(summed)
        for other in others:
            self._holders[other].add(self._next)
        self._next += 1
        return axis, axes, table
