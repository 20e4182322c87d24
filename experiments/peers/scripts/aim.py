"""AIM (McKenna, Mullins, Sheldon and Miklau, VLDB 2022) on mbi 2.0, written from their Algorithm 2.
zCDP.

Options: `ways`, the workload is all marginals of that many attributes; `rounds`, how many rounds an
attribute there may be at most (the paper: 16); `megabytes`, the largest junction tree (the paper:
80).
"""

import itertools
import math
from collections.abc import Callable

import numpy as np
from model import Fitted
from task import Axes, Table, Task, main

ALPHA = 0.9
"""The share of the budget that measures; the rest selects."""


def release(task: Task) -> Callable[[Axes], Table]:
    """Measure all single attributes, then in each round the marginal that is answered worst.

    If a round changes the model little, the noise of later rounds is halved.
    """
    attributes, rho = range(len(task.sizes)), task.amount
    workload = list(itertools.combinations(attributes, task.options["ways"]))
    weights = _weights(workload)
    rounds = task.options["rounds"] * len(attributes)
    sigma, epsilon = (
        math.sqrt(rounds / (2 * ALPHA * rho)),
        math.sqrt(8 * (1 - ALPHA) * rho / rounds),
    )
    fitted, used, number, last = Fitted(task), 0.0, 0, False
    truths = {axes: task.counts(axes) for axes in weights}
    for axis in attributes:
        used += _measure(task, fitted, (axis,), sigma)
    fitted.fit()
    while not last:
        number += 1
        if rho - used < 2 * (1 / (2 * sigma**2) + epsilon**2 / 8):
            left, last = rho - used, True
            sigma, epsilon = math.sqrt(1 / (2 * ALPHA * left)), math.sqrt(8 * (1 - ALPHA) * left)
        limit = task.options["megabytes"] * min(
            1.0, (used + 1 / (2 * sigma**2) + epsilon**2 / 8) / rho
        )
        axes = _worst(task, fitted, weights, truths, sigma, epsilon, limit)
        before = fitted.answer(axes)
        used += epsilon**2 / 8 + _measure(task, fitted, axes, sigma)
        fitted.fit()
        if np.abs(fitted.answer(axes) - before).sum() <= math.sqrt(
            2 / math.pi
        ) * sigma * task.cells(axes):
            sigma, epsilon = sigma / 2, 2 * epsilon
        task.note(rounds=number, spent=used / rho, megabytes=fitted.megabytes())
    return fitted.answer


def _weights(workload: list[Axes]) -> dict[Axes, float]:
    """All subsets of the marginals of the workload, each with the size of its overlap with the
    workload.
    """
    subsets = {
        some
        for axes in workload
        for size in range(1, len(axes) + 1)
        for some in itertools.combinations(axes, size)
    }
    sets = np.zeros((len(workload), 1 + max(map(max, workload))))
    for place, axes in enumerate(workload):
        sets[place, list(axes)] = 1
    overlap = sets.sum(axis=0)
    return {some: float(overlap[list(some)].sum()) for some in sorted(subsets)}


def _measure(task: Task, fitted: Fitted, axes: Axes, sigma: float) -> float:
    """Measure a table; return its cost."""
    cost = 1 / (2 * sigma**2)
    fitted.add(axes, *task.noisy(axes, cost / task.amount))
    return cost


def _worst(
    task: Task,
    fitted: Fitted,
    weights: dict[Axes, float],
    truths: dict[Axes, Table],
    sigma: float,
    epsilon: float,
    limit: float,
) -> Axes:
    """Choose a marginal that the model can hold, by the exponential mechanism on the weighted L1
    error minus the expected noise.
    """
    held = [set(clique) for clique in fitted.cliques]
    fits = [
        axes
        for axes in weights
        if any(set(fitted.clique(axes)) <= clique for clique in held)
        or fitted.megabytes(axes) <= limit
    ]
    scores = [
        weights[axes]
        * (
            np.abs(truths[axes] - fitted.answer(axes)).sum()
            - math.sqrt(2 / math.pi) * sigma * truths[axes].size
        )
        for axes in fits
    ]
    return fits[task.pick(np.array(scores) / max(weights[axes] for axes in fits), epsilon)]


if __name__ == "__main__":
    main(release)
