"""Estimates of the variances of cells by sampling, if exact sums would take too long."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..types import Floats
from .problem import Problem

PROBES = 64
"""Number of random errors. A variance is right to about 18 %, the root of 2 / 64."""


def standard_errors(count: int) -> Iterator[Floats]:
    """Yield random errors of variance one, each of shape (count,), the same in every call."""
    rng = np.random.default_rng(0)
    for _ in range(PROBES):
        yield rng.standard_normal(count)


def random_structure(
    problem: Problem,
    distribution: Floats,
    ridge: Floats,
) -> Iterator[tuple[Floats, Floats]]:
    """Random changes of the cells of covariance diag(p) - p p', and their moments with errors.

    The errors have the ridge as their variance, shape (m,). Every call gives the same changes.

    Yields
    ------
    change, moments
        Arrays of shape (cells,) and (m,).
    """
    rng = np.random.default_rng(1)
    for _ in range(PROBES):
        change = np.sqrt(distribution) * rng.standard_normal(len(distribution))
        change -= distribution * change.sum()
        error = np.sqrt(ridge) * rng.standard_normal(len(ridge))
        yield change, problem.moments(change) + error


def sampled_undetermined(
    problem: Problem,
    distribution: Floats,
    explained: Iterable[tuple[Floats, Floats]],
    kept: Sequence[int] | None = None,
) -> Floats:
    """`Bars.undetermined` of the cells of a marginal, as mean squares of random changes.

    Parameters
    ----------
    problem, distribution
        The problem and its optimum, shape (cells,).
    explained
        The changes of `random_structure`, each with the inverse of the dual's Hessian times its
        moments, shape (m,).
    kept
        The axes of the marginal; None for all.

    Returns
    -------
    ndarray of shape (cells of the marginal,), in squared counts
    """
    mean = problem.moments(distribution)
    squares: Floats = np.zeros(1)
    for change, weights in explained:
        known = distribution * (problem.functions(weights) - weights @ mean)
        squares = squares + _marginal(problem, change - known, kept) ** 2
    return np.asarray(problem.total**2 * squares / PROBES)


def _marginal(
    problem: Problem,
    table: Floats,
    kept: Sequence[int] | None,
) -> Floats:
    """The marginal of a flattened table on some axes, flattened; None keeps all axes."""
    if kept is None:
        return table
    dropped = tuple(axis for axis in range(len(problem.shape)) if axis not in kept)
    return np.asarray(table.reshape(problem.shape).sum(axis=dropped).ravel())


def sampled_variance(
    problem: Problem,
    distribution: Floats,
    tilt: Floats,
    pushed: Iterable[Floats],
    kept: Sequence[int] | None = None,
) -> Floats:
    """Estimate the noise variance of each cell of a marginal from random errors of the targets.

    The change of each cell is computed for each random error, by the delta method. The variance is
    the mean square of these changes, plus the part that comes from the total.

    Parameters
    ----------
    problem, distribution
        The problem and its optimum, shape (cells,).
    tilt
        The inverse of the dual's Hessian at the optimum times the targets, shape (m,).
    pushed
        The inverse of the Hessian times random errors of the targets, each of shape (m,). The
        errors are `standard_errors` times the targets' standard deviations.
    kept
        The axes of the marginal; None for all.

    Returns
    -------
    ndarray of shape (cells of the marginal,), in squared counts
    """
    mean = problem.moments(distribution)

    def change(weights: Floats) -> Floats:
        changed = distribution * (problem.functions(weights) - weights @ mean)
        return _marginal(problem, changed, kept)

    by_total = _marginal(problem, distribution, kept) - change(tilt)
    squares = np.zeros(len(by_total))
    for weights in pushed:
        squares += change(weights) ** 2
    squares /= PROBES
    return np.asarray(problem.total**2 * squares + problem.total_variance * by_total**2)
