"""Tables by classes of categories: the factors of a part, and how they are multiplied."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ..types import Floats

__all__ = ["Axes", "Box", "Factor", "Step", "Weights", "spread"]

Axes = tuple[int, ...]
Box = tuple[tuple[int, tuple[int, ...]], ...]
"""Pairs (axis, categories), axes and categories ascending: the cells of all their combinations."""

Factor = tuple[Axes, NDArray[Any]]
"""Some ascending axes, and a table of numbers by the classes of these axes."""

Step = tuple[int, Axes, NDArray[Any]]
"""An eliminated axis, and the product of all factors that had it: its axes and its table."""

Weights = Mapping[int, Floats]
"""For each axis the weights of its categories, > 0."""


def spread(
    table: NDArray[Any],
    own: Axes,
    axes: Axes,
) -> NDArray[Any]:
    """Reshape a table of the axes `own` so that it can be multiplied by a table of `axes`.

    Each axis that is missing in `own` gets the length one.
    """
    sizes = dict(zip(own, table.shape, strict=True))
    return table.reshape([sizes.get(axis, 1) for axis in axes])
