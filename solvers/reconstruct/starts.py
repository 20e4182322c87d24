"""Starting points of Newton's method: dual variables of simple distributions, in closed form."""

import itertools
import math

import numpy as np

from ..basis import transform
from ..fitted import MANY_UNKNOWNS, PAIR_ROOM, STRONGEST_PAIR
from ..types import Floats, Integers
from .problem import Problem

_LEAST_SHARE = 1e-6
"""Smallest share of a category in the start; it keeps logarithms finite."""


def start(problem: Problem) -> Floats:
    """Choose the dual variables at which Newton's method starts on one problem, shape (m,).

    They come from `tree` if more than `MANY_UNKNOWNS` moments are known and an axis has more than
    two categories. Otherwise they come from `pairwise`.
    """
    if problem.base is not None:
        return np.zeros(len(problem.index))
    if len(problem.index) > MANY_UNKNOWNS and max(problem.shape) > 2:
        return tree(problem)
    return pairwise(problem.shape, problem.index, problem.target)


def independent(
    shape: tuple[int, ...],
    index: Integers,
    target: Floats,
) -> Floats:
    """Compute the dual variables of the product of the known one-way marginals, shape (m,).

    The arrays may be the concatenation of those of many problems of one shape.
    """
    theta = np.zeros(len(index))
    basis = transform(shape)
    if max(shape, default=2) <= 2:
        # On a binary axis: half the logarithm of the odds.
        single = basis.order[index] == 1
        moment = target[single]
        first = np.maximum((1 + moment) / 2, _LEAST_SHARE)
        second = np.maximum((1 - moment) / 2, _LEAST_SHARE)
        theta[single] = 0.5 * np.log(first / second)
        return theta
    component = basis.component[index]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        rows = np.flatnonzero(component == 1 << axis).reshape(-1, size - 1)
        if len(rows):
            one_axis = transform((size,))
            moments = np.concatenate([np.ones((len(rows), 1)), target[rows]], axis=1)
            marginals = one_axis.synthesise(moments) / math.sqrt(size)
            logits = one_axis.analyse(np.log(np.maximum(marginals, _LEAST_SHARE)))
            theta[rows] = logits[:, 1:] / math.sqrt(size)
    return theta


def pairwise(
    shape: tuple[int, ...],
    index: Integers,
    target: Floats,
    owner: Integers | int = 0,
) -> Floats:
    """Compute dual variables that fit the one-way marginals and, on binary axes, nearly the pairs.

    It adds a first-order approximation to `independent`. If the dual variable t of a pair is small,
    the moment of the pair is m_i m_j + t (1 - m_i^2) (1 - m_j^2), and the dual variables of the two
    axes change by t m_j and t m_i. Large t are reduced to a limit. This start saves a fifth of the
    Newton steps. The result has shape (m,).

    Parameters
    ----------
    shape, index, target
        As for `independent`.
    owner
        The number of the problem to which each entry belongs.
    """
    theta = independent(shape, index, target)
    if max(shape, default=2) > 2:
        return theta
    # The place of each component of each problem in the arrays.
    component = transform(shape).component[index] + (np.asarray(owner) << len(shape))
    places = np.zeros(int(component.max(initial=0)) + 1, dtype=np.int64)
    places[component] = np.arange(len(index))
    # The two single axes of each pair.
    pairs = np.flatnonzero(transform(shape).order[index] == 2)
    masks = component[pairs] & ((1 << len(shape)) - 1)
    low = masks & -masks
    first = places[component[pairs] ^ low]
    second = places[component[pairs] ^ masks ^ low]
    one = target[first]
    other = target[second]
    free = (1 - one**2) * (1 - other**2) + PAIR_ROOM
    strength = np.clip((target[pairs] - one * other) / free, -STRONGEST_PAIR, STRONGEST_PAIR)
    theta[pairs] = strength
    shifts = np.bincount(first, strength * other, len(theta))
    theta -= shifts + np.bincount(second, strength * one, len(theta))
    return theta


def tree(problem: Problem) -> Floats:
    """Compute the dual variables of a tree distribution that fits known pairs, shape (m,).

    The nodes of the tree are the axes. Its edges (a, b) are pairs of axes whose marginal p_ab is
    known. log p is the sum of log p_a over the nodes and of log (p_ab / (p_a p_b)) over the edges.
    The tree has the largest sum of mutual information (Chow and Liu, IEEE Transactions on
    Information Theory 14, 1968). With axes of more than two categories, Newton's method takes a
    quarter fewer steps from this start.
    """
    shape = problem.shape
    axes = range(len(shape))
    basis = transform(shape)
    moments = np.zeros(problem.cells)
    moments[0] = 1.0
    moments[problem.index] = problem.target
    array = moments.reshape(shape)
    known = set(basis.component[problem.index].tolist())

    def marginal(*kept: int) -> Floats:
        """A known marginal, with length one on the other axes.

        Cells below 0.001 of an equal share are raised to this number.
        """
        part = array[tuple(slice(None) if axis in kept else slice(1) for axis in axes)]
        shares = transform(part.shape).synthesise(part.ravel()) / math.sqrt(part.size)
        return np.maximum(shares, 1e-3 / part.size).reshape(part.shape)

    # The known pairs, each with its mutual information.
    single = [marginal(axis) for axis in axes]
    edges = []
    for one, other in itertools.combinations(axes, 2):
        if 1 << one | 1 << other in known:
            both = marginal(one, other)
            link = np.log(both / (single[one] * single[other]))
            edges.append((float((both * link).sum()), one, other, link))
    # Kruskal's algorithm: the strongest edges that close no cycle.
    logits = sum(map(np.log, single), np.zeros(shape))
    group = list(axes)
    for _, one, other, link in sorted(edges, key=lambda edge: -edge[0]):
        if group[one] != group[other]:
            logits = logits + link
            joined = group[other]
            group = [group[one] if number == joined else number for number in group]
    coefficients = basis.analyse(logits.ravel())
    return np.asarray(coefficients[problem.index] / math.sqrt(problem.cells))
