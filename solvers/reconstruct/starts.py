"""Where Newton's method starts: dual variables of simple distributions, in closed form."""

import itertools
import math

import numpy as np

from ..basis import transform
from ..types import Floats, Integers
from .dual import MANY_UNKNOWNS
from .problem import Problem


def start(problem: Problem) -> Floats:
    """Where Newton's method starts on a single problem: `pairwise`, or, where there is much to
    solve, `tree`."""
    if len(problem.index) > MANY_UNKNOWNS and max(problem.shape) > 2:
        return tree(problem)
    return pairwise(problem.shape, problem.index, problem.target)


def independent(shape: tuple[int, ...], index: Integers, target: Floats) -> Floats:
    """The dual variables of the product of the known one-way marginals: where to start.

    The arrays may be those of many problems of one shape one after the other.
    """
    theta = np.zeros(len(index))
    component = transform(shape).component[index]
    if max(shape, default=2) <= 2:
        single = transform(shape).order[index] == 1
        moment = target[single]
        theta[single] = 0.5 * np.log(
            np.maximum((1 + moment) / 2, 1e-6) / np.maximum((1 - moment) / 2, 1e-6)
        )
        return theta
    for axis, size in enumerate(shape):
        rows = (
            np.flatnonzero(component == 1 << axis).reshape(-1, size - 1)
            if size > 1
            else np.empty((0, 0), np.int64)
        )
        if len(rows):
            basis = transform((size,))
            moments = np.concatenate([np.ones((len(rows), 1)), target[rows]], axis=1)
            marginals = basis.synthesise(moments) / math.sqrt(size)
            theta[rows] = basis.analyse(np.log(np.maximum(marginals, 1e-6)))[:, 1:] / math.sqrt(
                size
            )
    return theta


def pairwise(
    shape: tuple[int, ...], index: Integers, target: Floats, owner: Integers | int = 0
) -> Floats:
    """Where Newton's method starts: `independent` and, on binary axes, the known pairs to first
    order.

    A pair of weak dual variable t has moment m_i m_j + t (1 - m_i^2) (1 - m_j^2), and shifts the
    single ones by t m_j and t m_i; strong pairs are cut off. Saves a fifth of the steps. `owner`
    numbers the problem that an entry belongs to.
    """
    theta = independent(shape, index, target)
    if max(shape, default=2) > 2:
        return theta
    component = transform(shape).component[index] + (np.asarray(owner) << len(shape))
    places = np.zeros(int(component.max(initial=0)) + 1, dtype=np.int64)
    places[component] = np.arange(len(index))
    pairs = np.flatnonzero(transform(shape).order[index] == 2)
    masks = component[pairs] & ((1 << len(shape)) - 1)
    low = masks & -masks
    first, second = places[component[pairs] ^ low], places[component[pairs] ^ masks ^ low]
    one, other = target[first], target[second]
    strength = np.clip(
        (target[pairs] - one * other) / ((1 - one**2) * (1 - other**2) + 0.05), -0.3, 0.3
    )
    theta[pairs] = strength
    theta -= np.bincount(first, strength * other, len(theta)) + np.bincount(
        second, strength * one, len(theta)
    )
    return theta


def tree(problem: Problem) -> Floats:
    """The dual variables of the best distribution in which the axes depend on each other along a
    tree of known pairs: log p = sum of log p_a over axes and of log (p_ab / p_a p_b) over edges,
    those of the largest mutual information (Chow and Liu, IEEE Transactions on Information Theory
    14, 1968). Saves a quarter of the steps on mixed axes.
    """
    axes = range(len(problem.shape))
    moments = np.zeros(problem.cells)
    moments[0], moments[problem.index] = 1.0, problem.target
    array, known = (
        moments.reshape(problem.shape),
        set(transform(problem.shape).component[problem.index].tolist()),
    )

    def marginal(*kept: int) -> Floats:
        """A table shaped like all, of size one on the other axes; no cell is below a thousandth of
        an equal share."""
        part = array[tuple(slice(None) if axis in kept else slice(1) for axis in axes)]
        shares = transform(part.shape).synthesise(part.ravel()) / math.sqrt(part.size)
        return np.maximum(shares, 1e-3 / part.size).reshape(part.shape)

    single = [marginal(axis) for axis in axes]
    edges = []
    for one, other in itertools.combinations(axes, 2):
        if 1 << one | 1 << other in known:
            both = marginal(one, other)
            link = np.log(both / (single[one] * single[other]))
            edges.append((float((both * link).sum()), one, other, link))
    logits = sum(map(np.log, single), np.zeros(problem.shape))
    group = list(axes)
    for _, one, other, link in sorted(edges, key=lambda edge: -edge[0]):
        if group[one] != group[other]:
            logits = logits + link
            group = [group[one] if number == group[other] else number for number in group]
    return np.asarray(
        transform(problem.shape).analyse(logits.ravel())[problem.index] / math.sqrt(problem.cells)
    )
