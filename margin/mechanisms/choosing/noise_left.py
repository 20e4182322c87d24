"""How much noise is left in a table when negative counts are removed."""

import math

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats
from ..fitted import LEAST_LEFT, SPREAD_BY_NOISE, SPREAD_CELLS

__all__ = ["noise_left", "share_left"]

_LEAST_DEVIATION = 1e-6
"""Smallest standard deviation of a cell that a mean count is divided by, in rows."""

_STEPS = 60
"""Largest number of Newton steps for the cut."""

_TOLERANCE = 1e-9
"""Newton steps end when none is larger, in standard deviations of the noise, but for rounding."""

_LARGEST_CUT = 12.0
"""Largest cut that is considered, in standard deviations of the noise."""

_GRID = np.linspace(-_LARGEST_CUT, _LARGEST_CUT, 4801)
"""Arguments for which the normal distribution function is tabulated."""

_BELOW = np.array([math.erfc(-point / math.sqrt(2)) / 2 for point in _GRID.tolist()])
"""The normal distribution function at `_GRID`."""


def share_left(
    cells: NDArray[np.int64],
    variances: Floats,
    rows: float | Floats,
    spread: float,
) -> Floats:
    """The share of the squared noise that is left in the tables of a release.

    Parameters
    ----------
    cells
        The number of cells of each table, shape (n,).
    variances
        The variance of the noise of a cell of each table, in squared rows, shape (n,).
    rows
        The approximate number of rows, > 0: one number, or one for each table.
    spread
        See `Strength`.

    Returns
    -------
    The shares, shape (n,), each > 0 and <= 1.
    """
    deviations = np.maximum(np.sqrt(variances), _LEAST_DEVIATION)
    means = rows / cells / deviations
    # The less noise, the more of the smaller counts stand out from it.
    empty_power = (1 - spread) / (1 + means) ** SPREAD_BY_NOISE
    occupied = np.minimum(cells, SPREAD_CELLS) ** -empty_power
    return noise_left(means, occupied)


def noise_left(
    means: Floats,
    occupied: Floats,
) -> Floats:
    """The share of the squared noise that is left in tables without negative counts.

    A share a of the cells of a table have equal true counts, and all others are empty. All have
    independent normal noise. The nearest table with the same total and without negative counts
    subtracts a cut t from each cell and sets negative cells to zero. Let Z be standard normal and m
    the mean of the occupied cells in standard deviations of the noise. Then t solves

        a E[(m + Z - t)+] + (1 - a) E[(Z - t)+] = a m,

    and the mean squared error of a cell, in variances of the noise, is

        a E[((m + Z - t)+ - m)^2] + (1 - a) E[((Z - t)+)^2].

    It is near 1 if all cells are occupied by many rows. It falls with the share of empty cells and
    with the noise. True counts are not equal, and the cut is a systematic error that sums of cells
    keep. So a share `LEAST_LEFT` of the noise is left in any case.

    Parameters
    ----------
    means
        The mean count of all cells of each table, divided by the standard deviation of the noise of
        a cell; shape (n,), >= 0.
    occupied
        The share of the cells of each table that are occupied, shape (n,), > 0 and <= 1.

    Returns
    -------
    The shares, shape (n,), each > 0 and <= 1.
    """
    filled = means / occupied
    cut = _cut(means, occupied)
    full = filled - cut
    # Counts far above the noise: their error is that of the noise and of the cut.
    far = 1 + cut**2
    near = _positive_square(full) - 2 * filled * _positive_mean(full)[0] + filled**2
    of_occupied = np.where(full > _LARGEST_CUT / 2, far, near)
    error = occupied * of_occupied + (1 - occupied) * _positive_square(-cut)
    return np.asarray(LEAST_LEFT + (1 - LEAST_LEFT) * np.clip(error, 0.0, 1.0))


def _cut(
    means: Floats,
    occupied: Floats,
) -> Floats:
    """The cut t of `noise_left`, at most `_LARGEST_CUT`.

    The left side of its equation is convex and decreasing in t, and too large at t = 0. So Newton
    steps from 0 never go beyond the solution.
    """
    filled = means / occupied
    tolerance = _TOLERANCE + 4 * np.spacing(filled)
    cut = np.zeros_like(means)
    for _ in range(_STEPS):
        of_occupied, above_of_occupied = _positive_mean(filled - cut)
        of_empty, above_of_empty = _positive_mean(-cut)
        total = occupied * of_occupied + (1 - occupied) * of_empty
        slope = occupied * above_of_occupied + (1 - occupied) * above_of_empty
        following = np.minimum(cut + (total - means) / slope, _LARGEST_CUT)
        steps = np.abs(following - cut)
        cut = following
        if (steps <= tolerance).all():
            break
    return cut


def _positive_mean(shift: Floats) -> tuple[Floats, Floats]:
    """E[(Z + shift)+] for a standard normal Z, and its derivative P(Z + shift > 0)."""
    below = np.interp(shift, _GRID, _BELOW)
    return np.asarray(_density(shift) + shift * below), below


def _positive_square(shift: Floats) -> Floats:
    """E[((Z + shift)+)^2] for a standard normal Z."""
    below = np.interp(shift, _GRID, _BELOW)
    return np.asarray((1 + shift**2) * below + shift * _density(shift))


def _density(points: Floats) -> Floats:
    inside = np.clip(points, -_LARGEST_CUT, _LARGEST_CUT)
    return np.asarray(np.exp(-(inside**2) / 2) / math.sqrt(2 * math.pi))
