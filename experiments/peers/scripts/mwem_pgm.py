"""MWEM+PGM (McKenna, Sheldon and Miklau, ICML 2019) on mbi 2.0. Pure epsilon or zCDP.

As many rounds as attributes; each chooses the marginal of the workload that the model answers
worst, and measures it. `ways`: the workload is all sets of that many attributes. `megabytes`: the
largest junction tree.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np
from model import Fitted
from task import Axes, Table, Task, main

ALPHA = 0.9
"""The share of a round's budget that measures; the rest selects."""


def release(task: Task) -> Callable[[Axes], Table]:
    """Measure the number of rows with the share of one round, then run the rounds."""
    rounds = len(task.sizes) + 1
    fitted = Fitted(task)
    fitted.add((0,), *task.noisy((0,), 1 / rounds))  # a first table, for the number of rows
    fitted.fit()
    epsilon = (
        (1 - ALPHA) * task.amount / rounds
        if task.pure
        else math.sqrt(8 * (1 - ALPHA) * task.amount / rounds)
    )
    workload = itertools.combinations(range(len(task.sizes)), task.options["ways"])
    truths = {axes: task.counts(axes) for axes in workload}
    for number in range(1, rounds):
        limit = task.options["megabytes"] * number / (rounds - 1)
        fits = [axes for axes in truths if fitted.megabytes(axes) <= limit]
        scores = [
            np.abs(truths[axes] - fitted.answer(axes)).sum() - task.cells(axes) for axes in fits
        ]
        axes = fits[task.pick(np.array(scores), epsilon)]
        fitted.add(axes, *task.noisy(axes, ALPHA / rounds))
        fitted.fit()
        task.note(rounds=number, megabytes=fitted.megabytes())
    return fitted.answer


if __name__ == "__main__":
    main(release)
