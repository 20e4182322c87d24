"""Factorisation of a matrix as B L, where the columns of L have norm at most one and B is small."""

import numpy as np

from ..types import Floats


def low_rank(
    matrix: Floats,
    rank: int,
    *,
    order: int,
    iterations: int = 100,
    tolerance: float = 1e-6,
) -> tuple[Floats, Floats]:
    """Minimise the sum of the squares of B over B L = matrix, where each column of L has norm at
    most one.

    Yuan et al., VLDB 2012, Algorithm 1: an augmented Lagrangian in which B has a closed form and L
    is found by Nesterov's projected gradient method. The problem is convex in B and convex in L,
    but not in both together. So the result is a local solution, which need not be the best one.
    The penalty starts small and grows slowly; otherwise L stays near its start.

    Parameters
    ----------
    matrix
        Shape (m, n).
    rank
        The number of columns of B, at least the rank of the matrix.
    order
        The order of the norm: 1 or 2.
    iterations
        The largest number of rounds of the outer loop.
    tolerance
        The relative size of matrix - B L at which the rounds end.

    Returns
    -------
    B, L
        Shapes (m, rank) and (rank, n).
    """
    left, right = _start(matrix, rank, order)
    scale = float(np.linalg.norm(left))
    target: Floats = matrix / scale
    size = float(np.linalg.norm(target))
    multiplier = np.zeros_like(target)
    penalty = 1 / size**2
    for _ in range(iterations):
        for _ in range(10):
            left = (penalty * target + multiplier) @ right.T
            left = np.asarray(
                np.linalg.solve(penalty * right @ right.T + np.eye(rank), left.T).T, np.float64
            )
            right = _columns(left, target + multiplier / penalty, right, order)
        gap = target - left @ right
        if np.linalg.norm(gap) < tolerance * size:
            break
        multiplier = multiplier + penalty * gap
        penalty *= 1.2
    return scale * left, right


def _start(
    target: Floats,
    rank: int,
    order: int,
) -> tuple[Floats, Floats]:
    """Compute the first B and L from the singular value decomposition.

    The rows of L are the right singular vectors times the roots of the singular values. If `rank`
    is larger, copies of these rows with a tenth of the size follow. L is scaled so that its largest
    column has norm one.
    """
    _, values, right = np.linalg.svd(target, full_matrices=False)
    rows = np.sqrt(values)[:, None] * right
    factors = np.where(np.arange(rank) < len(rows), 1.0, 0.1)
    rows = np.resize(rows, (rank, target.shape[1])) * factors[:, None]
    rows /= np.linalg.norm(
        rows,
        ord=order,
        axis=0,
    ).max()
    return target @ np.linalg.pinv(rows), rows


def _columns(
    left: Floats,
    target: Floats,
    right: Floats,
    order: int,
    steps: int = 20,
) -> Floats:
    """Minimise |target - left right|**2 over matrices `right` with columns of norm at most one.

    Takes a few accelerated projected gradient steps (Nesterov) from the given `right`.
    """
    gram = left.T @ left
    pull = left.T @ target
    rate = 1 / max(float(np.linalg.norm(gram, 2)), 1e-300)
    ahead = right
    momentum = 1.0
    for _ in range(steps):
        moved = _project(ahead - rate * (gram @ ahead - pull), order)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / following * (moved - right)
        right = moved
        momentum = following
    return right


def _project(columns: Floats, order: int) -> Floats:
    """Project each column onto the unit ball of the norm of this order, 1 or 2."""
    if order == 2:
        return np.asarray(columns / np.maximum(np.linalg.norm(columns, axis=0), 1.0))
    sizes = np.abs(columns)
    falling = -np.sort(-sizes, axis=0)
    excess = (np.cumsum(falling, axis=0) - 1) / np.arange(1, len(columns) + 1)[:, None]
    kept = (falling > excess).sum(axis=0) - 1
    level = np.maximum(np.take_along_axis(excess, np.maximum(kept, 0)[None], axis=0), 0.0)
    inside = sizes.sum(axis=0) <= 1
    return np.asarray(np.where(inside, columns, np.sign(columns) * np.maximum(sizes - level, 0.0)))
