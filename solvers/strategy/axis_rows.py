"""The linear queries on one axis that answer given queries best, if the total is known.

A table x over one axis of n categories is x = u t + A y, where t is its total, u is a vector with
sum one (the *spread*), y = R x are the answers of n - 1 queries with R u = 0, and A is the
remaining part of the inverse of the square matrix with the rows 1' and R.
"""

from typing import NamedTuple

import numpy as np

from ..threads import single_thread
from ..types import Floats

__all__ = ["AxisRows", "best_rows", "natural_spread"]

_LEAST = 1e-13
"""Smallest eigenvalue that is not rounding, as a share of the largest one."""


class AxisRows(NamedTuple):
    """Result of `best_rows`.

    Attributes
    ----------
    rows
        The queries R, shape (n - 1, n). Every column has Euclidean length at most one.
    cost
        The summed error variance of the given queries if noise of variance one is in y only.
    bound
        A lower bound on the cost of any rows with R u = 0 and such columns.
    """

    rows: Floats
    cost: float
    bound: float


def best_rows(
    gram: Floats,
    spread: Floats,
    *,
    tolerance: float = 1e-4,
    steps: int = 1000,
) -> AxisRows:
    """Find the queries with the smallest total error among those that are zero on the spread.

    The queries W to answer are given by M = W'W. Let B be an orthonormal basis of the vectors
    orthogonal to u, R = C B, and Y = C'C. With F = (I - u 1') B' the cost is tr(F'MF Y^-1), and the
    squared lengths of the columns are the diagonal of B'YB. So the problem is a semidefinite
    programme in Y (Li et al., PODS 2010, on a subspace). Its Lagrangian with multipliers v for the
    lengths is smallest where Y^-1 F'MF Y^-1 = B diag(v) B' = G, that is at
    Y = G^-1/2 (G^1/2 F'MF G^1/2)^1/2 G^-1/2. With r the trace of the inner root, r**2 / sum(v) is a
    lower bound, and Y divided by its longest column has the cost r max_j (B'YB)_jj. Each step
    multiplies v_j by (B'YB)_jj, a fixed point iteration (Denisov et al., NeurIPS 2022). The steps
    end when the two are near.

    Parameters
    ----------
    gram
        W'W, positive definite, shape (n, n) with n >= 2.
    spread
        The vector u, with sum one, shape (n,).
    tolerance
        The relative gap between cost and bound at which the steps end.
    steps
        The largest number of steps.

    Returns
    -------
    AxisRows
        The queries. If the steps did not suffice, the gap is larger than the tolerance.

    Examples
    --------
    >>> found = best_rows(np.eye(2), np.full(2, 0.5))
    >>> abs(found.rows).round(6).tolist(), round(found.cost, 6)
    ([[1.0, 1.0]], 0.5)
    """
    with single_thread():
        return _best_rows(gram, spread, tolerance, steps)


def _best_rows(
    gram: Floats,
    spread: Floats,
    tolerance: float,
    steps: int,
) -> AxisRows:
    """The steps of `best_rows`, in its notation: `basis` is B, `estimate` is F, `wanted` is F'MF,
    `multipliers` is v, `inner` is the inner root and `found` is Y."""
    size = len(spread)
    basis = _orthogonal(spread)
    estimate = basis.T - np.outer(spread, basis.sum(axis=1))
    wanted = estimate.T @ gram @ estimate
    multipliers = np.ones(size)
    best = AxisRows(np.empty(0), np.inf, 0.0)
    for _ in range(steps):
        half, inverse = _roots((basis * multipliers) @ basis.T)
        inner, _ = _roots(half @ wanted @ half)
        found = inverse @ inner @ inverse
        lengths = np.einsum("ij,ij->j", basis, found @ basis)
        trace = float(np.trace(inner))
        cost = trace * float(lengths.max())
        bound = max(best.bound, trace**2 / float(multipliers.sum()))
        best = best._replace(bound=bound)
        if cost < best.cost:
            values, vectors = np.linalg.eigh(found)
            roots = np.sqrt(np.maximum(values, 0.0) / lengths.max())
            best = AxisRows((roots[:, None] * vectors.T) @ basis, cost, bound)
        if best.cost <= (1 + tolerance) * bound:
            break
        multipliers *= lengths
        multipliers /= multipliers.mean()
    return best


def natural_spread(
    gram: Floats,
    *,
    tolerance: float = 1e-4,
    steps: int = 1000,
) -> Floats:
    """The spread of the best queries for one axis by itself, with the total among them.

    Let X be the Gram matrix of the best queries on all vectors, found as in `best_rows`. With
    u = X^-1 1 / (1' X^-1 1), X - 11' / (1' X^-1 1) is positive semidefinite and zero on u. So these
    queries are as good as the total and rows R with R u = 0.

    Parameters
    ----------
    gram, tolerance, steps
        As for `best_rows`.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> natural_spread(np.eye(4)).round(6).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    with single_thread():
        return _natural_spread(gram, tolerance, steps)


def _natural_spread(
    gram: Floats,
    tolerance: float,
    steps: int,
) -> Floats:
    multipliers = np.ones(len(gram))
    found = gram
    for _ in range(steps):
        scale = np.sqrt(multipliers)
        inner, _ = _roots(scale[:, None] * gram * scale)
        found = inner / np.outer(scale, scale)
        lengths = found.diagonal()
        trace = float(np.trace(inner))
        if trace * lengths.max() <= (1 + tolerance) * trace**2 / multipliers.sum():
            break
        multipliers = multipliers * lengths
        multipliers /= multipliers.mean()
    spread = np.linalg.solve(found, np.ones(len(gram)))
    return np.asarray(spread / spread.sum())


def _orthogonal(spread: Floats) -> Floats:
    """An orthonormal basis of the vectors orthogonal to a vector: shape (n - 1, n)."""
    columns = np.column_stack([spread, np.eye(len(spread))[:, :-1]])
    return np.asarray(np.linalg.qr(columns)[0][:, 1:].T)


def _roots(matrix: Floats) -> tuple[Floats, Floats]:
    """The positive semidefinite root of a symmetric matrix, and its inverse."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    roots = np.sqrt(np.maximum(values, _LEAST * values[-1]))
    return (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
