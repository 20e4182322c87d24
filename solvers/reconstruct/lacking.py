"""What single axes miss that no view holds."""

import numpy as np
from numpy.typing import NDArray

from ..types import Floats

__all__ = ["cells_alone", "lacking_axes", "sums_alone"]


def lacking_axes(known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which axes no view holds, shape (n, k), from the components that they hold."""
    axes = known.shape[1].bit_length() - 1
    return np.asarray(~known[:, 1 << np.arange(axes)])


def cells_alone(
    table: Floats,
    shape: tuple[int, ...],
    lacking: NDArray[np.bool_],
) -> Floats:
    """The part of the cells' variance that belongs to functions of one lacking axis, (cells,).

    It is the sum of total ** 2 * p ** 2 * (1 / q - 1) over the lacking axes, in squared counts,
    where q is the share of the cell's category of this axis.
    """
    total = max(float(table.sum()), 1e-300)
    share = (table / total).reshape(shape)
    parts = np.zeros(shape)
    for axis in np.flatnonzero(lacking):
        others = tuple(place for place in range(len(shape)) if place != axis)
        alone = share.sum(axis=others, keepdims=True)
        parts += share**2 * (1 / np.maximum(alone, 1e-300) - 1)
    return np.asarray(total**2 * parts.ravel())


def sums_alone(
    table: Floats,
    shape: tuple[int, ...],
    lacking: NDArray[np.bool_],
    weights: Floats,
) -> Floats:
    """The same part of weighted sums of cells: their covariance, (q, q), in squared counts."""
    total = max(float(table.sum()), 1e-300)
    share = table / total
    parts = (weights * share[:, None]).reshape(*shape, -1)
    mean = parts.reshape(len(share), -1).sum(axis=0)
    covariance = np.zeros((len(mean), len(mean)))
    for axis in np.flatnonzero(lacking):
        others = tuple(place for place in range(len(shape)) if place != axis)
        alone = share.reshape(shape).sum(axis=others)
        # The sums within each category of this axis.
        within = parts.sum(axis=others)
        scaled = within / np.maximum(alone, 1e-300)[:, None]
        covariance += scaled.T @ within - np.outer(mean, mean)
    return np.asarray(total**2 * covariance)
