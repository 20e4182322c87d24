"""Variances of cells from random errors, if their exact sums would take too long."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..types import Floats
from .problem import Problem

PROBES = 64
"""Number of random errors. A variance is right to about 18 %, the root of 2 / 64."""


def standard_errors(count: int) -> Iterator[Floats]:
    """Random errors of variance one, each of shape (count,); every call gives the same ones."""
    rng = np.random.default_rng(0)
    for _ in range(PROBES):
        yield rng.standard_normal(count)


def sampled_variance(
    problem: Problem,
    distribution: Floats,
    tilt: Floats,
    pushed: Iterable[Floats],
    kept: Sequence[int] | None = None,
) -> Floats:
    """The noise variances of the cells of a marginal: mean squares of their changes.

    Changes follow from errors by the delta method.

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
    dropped: tuple[int, ...] = ()
    if kept is not None:
        dropped = tuple(axis for axis in range(len(problem.shape)) if axis not in kept)

    def summed(table: Floats) -> Floats:
        return np.asarray(table.reshape(problem.shape).sum(axis=dropped).ravel())

    def change(weights: Floats) -> Floats:
        return summed(distribution * (problem.functions(weights) - weights @ mean))

    by_total = summed(distribution) - change(tilt)
    squares = np.zeros(len(by_total))
    for weights in pushed:
        squares += change(weights) ** 2
    squares /= PROBES
    return np.asarray(problem.total**2 * squares + problem.total_variance * by_total**2)
