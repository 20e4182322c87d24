"""How little the views say about the pairs of axes that they do not hold."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ...tables.tables import Axes
from ...types import Floats

__all__ = ["blurred", "unbalance"]


def unbalance(views: Sequence[Axes], axes: int) -> float:
    """How unequally the pairs of axes that views hold, and the other pairs, use the axes.

    Suppose that the logarithm of the scale of a pair is a common number, plus the effects of its
    two axes. The effects are independent, with the variance v. The mean over the pairs that views
    hold has the effect of axis i with the weight a_i: the share of these pairs that have axis i.
    The mean over the other pairs has it with the weight b_i. So the two means differ by a random
    number with the variance v sum_i (a_i - b_i) ** 2. This function returns the sum.

    It is 0 if all axes are in equally many pairs, as in a balanced design. It is 1 + 1 / (n - 1)
    for all pairs of n axes that have one axis in common, a star: the effect of this axis is in all
    pairs of the views, and in no other pair. Such pairs are about one piece of evidence, however
    many they are.

    Parameters
    ----------
    views
        The views, each of ascending axes.
    axes
        The number of axes that views could hold.

    Returns
    -------
    float
        The sum; 0 if the views hold no pair, or all pairs.
    """
    held = {pair for view in views for pair in combinations(view, 2)}
    possible = math.comb(axes, 2)
    if not held or len(held) >= possible:
        return 0.0
    _, uses = np.unique([*held], return_counts=True)
    shares = np.zeros(axes)
    shares[: len(uses)] = uses / len(held)

    # The weights of all pairs are a mean of those of the held pairs and of the others.
    of_all = 2 / axes
    differences = (shares - of_all) * possible / (possible - len(held))
    return float(differences @ differences)


def blurred(likelihood: Floats, points: Floats, variance: float) -> Floats:
    """The log-likelihood of a number that differs from the observed one by a normal error.

    Parameters
    ----------
    likelihood
        The log-likelihood of the observed number, shape (points,).
    points
        The values of the number, at equal distances, shape (points,).
    variance
        The variance of the error, > 0.
    """
    kernel = -((points[:, None] - points) ** 2) / (2 * variance)
    together = np.logaddexp.reduce(kernel + likelihood, axis=1)
    # At the ends of the points a part of the law is cut off.
    return np.asarray(together - np.logaddexp.reduce(kernel, axis=1))
