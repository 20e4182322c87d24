"""What sweeps share: the equation of one cell of a block, and extrapolation from earlier sweeps."""

import math

import numpy as np

from ...fitted import REMEMBERED_SWEEPS
from ...types import Floats

SWEEPS = 500
"""The largest number of sweeps through all blocks."""

_CELL_STEPS = 60
"""The largest number of Newton steps for the equation of one cell of a block."""

_SMALL = 0.1
"""Newton's method for a cell starts at a change of zero if no first step is larger."""

_ENOUGH = 1e-2
"""Error of a solution of these equations, as a share of the largest change."""

_RESTART = 3.0
"""Earlier sweeps are forgotten if the largest error is this many times the smallest so far."""


class Extrapolation:
    """Anderson's method (1965) for a fixed-point iteration, such as repeated sweeps.

    The next point is the combination of the results of the last sweeps whose changes, combined
    alike, are least.

    Parameters
    ----------
    length
        The number of entries of a point.
    """

    def __init__(self, length: int) -> None:
        # Differences between successive changes, and between successive results of sweeps. A row
        # is overwritten when it is the oldest one.
        self._changes = np.empty((REMEMBERED_SWEEPS, length))
        self._results = np.empty((REMEMBERED_SWEEPS, length))
        self._products = np.empty((REMEMBERED_SWEEPS, REMEMBERED_SWEEPS))
        self.restart()

    def restart(self) -> None:
        """Forget all sweeps."""
        self._smallest = math.inf
        self._forget()

    def _forget(self) -> None:
        self._count = 0
        self._last: tuple[Floats, Floats] | None = None

    def after(
        self,
        point: Floats,
        result: Floats,
        worst: float,
    ) -> Floats:
        """The point for the next sweep.

        Parameters
        ----------
        point, result
            Where the last sweep began, and what it led to, both of shape (length,).
        worst
            The largest error of a cell that the sweep met.
        """
        if worst > _RESTART * self._smallest:
            self._forget()
        self._smallest = min(self._smallest, worst)
        change = result - point
        if self._last is not None:
            self._remember(change - self._last[0], result - self._last[1])
        self._last = change, result
        known = min(self._count, REMEMBERED_SWEEPS)
        if known == 0:
            return result
        normal = self._products[:known, :known].copy()
        normal.flat[:: known + 1] += 1e-12 * np.trace(normal)
        right = self._changes[:known] @ change
        weights = np.linalg.lstsq(normal, right, rcond=None)[0]
        return np.asarray(result - weights @ self._results[:known])

    def _remember(self, change: Floats, result: Floats) -> None:
        """Keep the differences of one sweep from the one before it."""
        row = self._count % REMEMBERED_SWEEPS
        self._count += 1
        known = min(self._count, REMEMBERED_SWEEPS)
        self._changes[row] = change
        self._results[row] = result
        products = self._changes[:known] @ change
        self._products[row, :known] = products
        self._products[:known, row] = products


def cell_changes(marginal: Floats, error: Floats, ridge: float) -> Floats:
    """Solve the equation of each cell of a block, for the change of its dual variable.

    With the marginal m, the target t and the dual variable y, it is m exp(change) + ridge (y +
    change) = t. Its left side grows with the change and is convex, so that Newton's method always
    converges. `error` is m + ridge y - t. The solution is only as exact as the next sweep needs.
    """
    change = -error / (marginal + ridge)
    largest = largest_of(change)
    if largest > _SMALL:
        # Start where the ridge alone, or the marginal alone, gives the target.
        goal = marginal - error
        held = marginal > 0
        can_scale = held & (goal > 0)
        log_goal = np.log(goal, out=np.zeros_like(goal), where=can_scale)
        log_marginal = np.log(marginal, out=np.zeros_like(goal), where=can_scale)
        by_scaling = np.clip(log_goal - log_marginal, -50.0, 50.0)
        change = np.where(held, by_scaling, -error / ridge)
        largest = math.inf
    # The error after a step of Newton's method is about the square of the step.
    for _ in range(_CELL_STEPS):
        if largest**2 <= _ENOUGH * largest_of(change):
            break
        scaled = marginal * np.exp(np.minimum(change, 700.0))
        step = (scaled - marginal + error + ridge * change) / (scaled + ridge)
        np.minimum(step, 2.0, out=step)
        np.maximum(step, -2.0, out=step)
        change -= step
        largest = largest_of(step)
    return change


def largest_of(values: Floats) -> float:
    """The largest absolute value."""
    return float(np.maximum.reduce(np.abs(values), axis=None))
