"""Variances of cells by random errors of what is known, where their exact sums would take too long."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..types import Floats
from .problem import Problem

PROBES = 64
"""How many random errors there are: a variance is right to about 18 %."""


def standard_errors(count: int) -> Iterator[Floats]:
    """Random errors of variance one of so many numbers; always the same."""
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
    """The noise variances of the cells of a marginal by the delta method: mean squares of their
    changes.

    Parameters
    ----------
    problem, distribution
        What was solved, and its optimum, shape (cells,).
    tilt
        The inverse of the dual's Hessian there times the targets, shape (m,).
    pushed
        That times errors of the targets of their variances, made of `standard_errors`.
    kept
        The axes of the marginal; None for all.
    """
    mean = problem.moments(distribution)
    axes = range(len(problem.shape))
    dropped = () if kept is None else tuple(axis for axis in axes if axis not in kept)

    def summed(table: Floats) -> Floats:
        return np.asarray(table.reshape(problem.shape).sum(axis=dropped).ravel())

    def change(weights: Floats) -> Floats:
        return summed(distribution * (problem.functions(weights) - weights @ mean))

    by_total = summed(distribution) - change(tilt)
    squares = sum((change(weights) ** 2 for weights in pushed), np.zeros(len(by_total))) / PROBES
    return np.asarray(problem.total**2 * squares + problem.total_variance * by_total**2)
