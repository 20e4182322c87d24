"""MST (McKenna, Miklau and Sheldon, JPC 2021) on mbi 2.0, written from their section 4. zCDP.

A third of the budget measures all single attributes, a third chooses a tree of pairs, a third
measures its edges. The merging of rare values, which makes the model smaller, is left out.
"""

import math
from collections.abc import Callable

import numpy as np
from model import Fitted, pairs
from scipy.cluster.hierarchy import DisjointSet
from task import Axes, Table, Task, main


def release(task: Task) -> Callable[[Axes], Table]:
    """Measure single attributes, choose edges by the exponential mechanism, and measure their
    tables.
    """
    attributes = range(len(task.sizes))
    fitted = Fitted(task, iterations=5000)
    for axis in attributes:
        fitted.add((axis,), *task.noisy((axis,), 1 / 3 / len(attributes)))
    fitted.fit()
    for axes in _tree(task, fitted):
        fitted.add(axes, *task.noisy(axes, 1 / 3 / (len(attributes) - 1)))
    fitted.fit()
    return fitted.answer


def _tree(task: Task, fitted: Fitted) -> list[Axes]:
    """A spanning tree whose edges join strongly dependent attributes."""
    gain = {axes: np.abs(task.counts(axes) - fitted.answer(axes)).sum() for axes in pairs(task)}
    parts, edges = DisjointSet(range(len(task.sizes))), []
    epsilon = math.sqrt(8 * task.amount / 3 / (len(task.sizes) - 1))
    while parts.n_subsets > 1:
        open_pairs = [axes for axes in gain if not parts.connected(*axes)]
        edges.append(open_pairs[task.pick(np.array([gain[axes] for axes in open_pairs]), epsilon)])
        parts.merge(*edges[-1])
    return edges


if __name__ == "__main__":
    main(release)
