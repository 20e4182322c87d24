"""`Sums`: weighted sums of the cells of a reconstructed table, with their covariances."""

import math
from dataclasses import dataclass, replace

import numpy as np

from ..basis import transform
from ..status import Status
from ..types import Floats
from .problem import Problem, Solution

__all__ = [
    "Sums",
    "covariances",
    "left_open",
    "no_sums",
    "open_variances",
    "sums_of",
    "sums_of_marginal",
    "without_covariance",
]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Sums:
    """Weighted sums of the cells of a reconstructed marginal.

    Attributes
    ----------
    table
        The marginal's cells, shape (cells,).
    status
        How the solve ended.
    estimate
        The sums, shape (q,).
    variance
        The covariance of the errors that noise causes in the sums, shape (q, q), in squared counts.
        NaN if the solver is not `Newton`.
    undetermined
        The covariance of the sums that the known moments leave open, per unit of structure, shape
        (q, q); see `Bars.undetermined`. NaN if the solver is not `Newton`.
    """

    table: Floats
    status: Status
    estimate: Floats
    variance: Floats
    undetermined: Floats


def sums_of(
    problem: Problem,
    solution: Solution,
    ridge: Floats,
    changes: Floats,
    weights: Floats,
) -> Sums:
    """Compute weighted sums of the cells of a solution of `Newton`, by the delta method.

    Let f be the vector of the m known functions, p the distribution, H the Hessian of the dual at
    it, and w the weights of the q sums. A change t of the targets changes E[w] by c' H^-1 t, with
    c = E[f w'] - E[f] E[w]'. If the weights are the indicators of cells, the diagonals of the
    covariances are `Solution.variance` and `Solution.undetermined`.

    What the known functions leave open of the sums has the covariance of w - f x, plus x' ridge x,
    for x = H^-1 c. Any other x gives more.

    Parameters
    ----------
    problem, solution
        The problem and its solution.
    ridge
        The ridges of the known moments, shape (m,).
    changes
        x = H^-1 c or nearly, the derivatives of the sums by the targets, shape (m, q).
    weights
        The weights of the cells, shape (q, cells).
    """
    total = problem.total
    share = solution.table.ravel() / total
    mean = weights @ share
    return Sums(
        table=solution.table.ravel(),
        status=solution.status,
        estimate=np.asarray(total * mean),
        variance=_of_noise(problem, mean, changes),
        undetermined=np.asarray(total**2 * left_open(problem, share, ridge, changes, weights)),
    )


def sums_of_marginal(
    problem: Problem,
    table: Floats,
    status: Status,
    covariances: Floats,
    changes: Floats,
    weights: Floats,
) -> Sums:
    """`sums_of`, for sums of the cells of one marginal of a larger table.

    The work depends on the size of the marginal, not on that of the table. What is left open has
    the covariance of the weights, less c' H^-1 c.

    Parameters
    ----------
    problem
        The problem of the larger table.
    table, status
        The cells of the marginal, shape (cells,), and how the solve ended.
    covariances, changes
        c and H^-1 c for the indicators of the marginal's cells, both of shape (m, cells).
    weights
        The weights of the marginal's cells, shape (q, cells).
    """
    total = problem.total
    share = table / total
    mean = weights @ share
    of_sums = changes @ weights.T
    spread = (weights * share) @ weights.T - np.outer(mean, mean)
    explained = (covariances @ weights.T).T @ of_sums
    return Sums(
        table=table,
        status=status,
        estimate=np.asarray(total * mean),
        variance=_of_noise(problem, mean, of_sums),
        undetermined=np.asarray(total**2 * (spread - explained)),
    )


def _of_noise(
    problem: Problem,
    mean: Floats,
    changes: Floats,
) -> Floats:
    """The covariance that noise causes in sums with some means, in the targets and in the total."""
    by_targets = problem.total**2 * (changes.T * problem.variance) @ changes
    by_total = mean - problem.target @ changes
    return np.asarray(by_targets + problem.total_variance * np.outer(by_total, by_total))


def covariances(
    problem: Problem,
    share: Floats,
    weights: Floats,
) -> Floats:
    """The covariances c of the known functions and of weights, under the shares p; shape (m, q)."""
    moments = transform(problem.shape).analyse(share * weights)[:, problem.index]
    centred = moments.T * math.sqrt(problem.cells)
    centred -= np.outer(problem.moments(share), weights @ share)
    return np.asarray(centred)


def left_open(
    problem: Problem,
    share: Floats,
    ridge: Floats,
    changes: Floats,
    weights: Floats,
) -> Floats:
    """The covariance of what the known functions leave open of weighted sums, shape (q, q)."""
    rest, mean = _rest(problem, share, changes, weights)
    return np.asarray(
        (share * rest) @ rest.T - np.outer(mean, mean) + (changes.T * ridge) @ changes
    )


def open_variances(
    problem: Problem,
    share: Floats,
    ridge: Floats,
    changes: Floats,
    weights: Floats,
) -> Floats:
    """The diagonal of `left_open`, shape (q,), without the other entries."""
    rest, mean = _rest(problem, share, changes, weights)
    rest *= rest
    return np.asarray(rest @ share - mean**2 + ridge @ changes**2)


def _rest(
    problem: Problem,
    share: Floats,
    changes: Floats,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """w - f x for each cell, shape (q, cells), and its means, shape (q,); see `sums_of`."""
    rest = weights - problem.functions(np.ascontiguousarray(changes.T))
    return rest, rest @ share


def without_covariance(solution: Solution, weights: Floats) -> Sums:
    """Weighted sums of the cells of any solver's solution; their covariances are NaN."""
    unknown = no_sums(solution.status, len(weights))
    table = solution.table.ravel()
    return replace(unknown, table=table, estimate=np.asarray(weights @ table))


def no_sums(status: Status, count: int) -> Sums:
    """The answer for `count` sums if the solver found none: NaN, and a table without cells."""
    return Sums(
        table=np.empty(0),
        status=status,
        estimate=np.full(count, math.nan),
        variance=np.full((count, count), math.nan),
        undetermined=np.full((count, count), math.nan),
    )
