"""The sparsest way to explain a few linear measurements: L1 minimisation by homotopy."""

import math

import numpy as np

from ..types import Flags, Floats

__all__ = ["sparsest"]

_TINY = 1e-9
"""Smallest step along the path, as a share of the largest correlation."""

_MOST_CONDITION = 1e10
"""Largest condition number of the active columns' products; beyond it they are dependent."""


def sparsest(
    matrix: Floats,
    measured: Floats,
    miss: float,
    *,
    nonnegative: bool = False,
) -> Floats:
    """Minimise the sum of absolute values of s, subject to |matrix @ s - measured|_2 <= miss.

    This is the decoder of compressed sensing with noise (Candes, Romberg and Tao, 2006). The
    solutions of

        minimise  |matrix @ s - measured|_2 ** 2 / 2  +  penalty * sum |s|

    for falling penalties form a path that is linear between breakpoints. The path starts at zero.
    The method goes from breakpoint to breakpoint (the homotopy of Osborne, Presnell and Turlach,
    2000) and stops where the residual is as long as `miss`. By duality, this point solves the
    problem above. It stops earlier if the columns of the entries that are not zero become
    dependent, which happens with too few measurements, or after 8 times as many breakpoints as
    measurements.

    Parameters
    ----------
    matrix
        Shape (measurements, n), with columns that are not zero.
    measured
        Shape (measurements,).
    miss
        The length of the residual that is accepted, >= 0.
    nonnegative
        Whether s must have no negative entry.

    Returns
    -------
    numpy.ndarray
        s, of shape (n,).

    Examples
    --------
    >>> matrix = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1]])
    >>> sparsest(matrix, np.array([5.0, -5, 5]), 0.0).round(6).tolist()
    [0.0, 5.0, 0.0, 0.0]
    """
    solution = np.zeros(matrix.shape[1])
    residual = np.asarray(measured, np.float64)
    correlation = matrix.T @ residual
    entering = int(np.argmax(correlation if nonnegative else np.abs(correlation)))
    penalty = float(correlation[entering] if nonnegative else abs(correlation[entering]))
    least = _TINY * penalty
    active: list[int] = []
    left = -1
    for _ in range(8 * len(matrix)):
        if penalty <= least or residual @ residual <= miss**2:
            break
        if left < 0:
            active.append(entering)
        columns = matrix[:, active]
        gram = columns.T @ columns
        if np.linalg.cond(gram) > _MOST_CONDITION:
            break
        # Along the path all active correlations are +-penalty, and fall at the same rate.
        direction = np.asarray(np.linalg.solve(gram, np.sign(correlation[active])), np.float64)
        change = columns @ direction
        falling = matrix.T @ change
        # The next event: the residual is short enough, an entry becomes zero, or one enters. An
        # entry that has just become zero still has the correlation of the active ones.
        idle = np.ones(len(solution), np.bool_)
        idle[active if left < 0 else [*active, left]] = False
        stop = _shortening(residual, change, miss)
        dropped, drop = _crossing(solution[active], direction)
        entering, join = _joining(correlation, falling, penalty, idle, nonnegative)
        step = min(stop, drop, join, penalty)
        solution[active] += step * direction
        residual = residual - step * change
        correlation = correlation - step * falling
        if step in (stop, penalty):
            break
        penalty -= step
        left = active.pop(dropped) if step == drop else -1
        solution[left if left >= 0 else entering] = 0.0
    return solution


def _shortening(
    residual: Floats,
    change: Floats,
    miss: float,
) -> float:
    """The smallest step >= 0 after which residual - step * change has the length `miss`."""
    square = float(change @ change)
    half = float(residual @ change)
    rest = float(residual @ residual) - miss**2
    root = half**2 - square * rest
    if root < 0 or square <= 0:
        return math.inf
    return max((half - math.sqrt(root)) / square, 0.0)


def _crossing(values: Floats, direction: Floats) -> tuple[int, float]:
    """The first active entry that becomes zero, and the step; an infinite step if none does."""
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(values * direction < 0, -values / direction, math.inf)
    place = int(np.argmin(steps))
    return place, float(steps[place])


def _joining(
    correlation: Floats,
    falling: Floats,
    penalty: float,
    idle: Flags,
    nonnegative: bool,
) -> tuple[int, float]:
    """The first idle entry whose correlation reaches the penalty, and the step."""
    with np.errstate(divide="ignore", invalid="ignore"):
        above = (penalty - correlation) / (1 - falling)
        below = (penalty + correlation) / (1 + falling)
    above = np.where(idle & (falling < 1), np.maximum(above, 0.0), math.inf)
    below = np.where(idle & (falling > -1), np.maximum(below, 0.0), math.inf)
    steps = above if nonnegative else np.minimum(above, below)
    place = int(np.argmin(steps))
    return place, float(steps[place])
