"""The error of answering marginals from measured views, in closed form."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import inf, prod

from .checks import check_ints
from .subsets import Block, members_within

Weights = Mapping[Block, float]


def expected_error(
    sizes: Sequence[int],
    views: Sequence[Sequence[int]],
    shares: Sequence[float],
    *,
    workload: Sequence[Sequence[int]],
    power: int,
) -> float:
    """The summed expected squared error of all cells of all marginals of a workload.

    Each view is a table of counts, measured with independent errors of mean 0 and, in every
    cell, of variance ``share ** -power``, where the shares of all views add to 1. The marginals
    are answered by generalised least squares: the best linear unbiased estimate from all views
    together. No other use of the views, such as making counts non-negative, is accounted for.

    With c_i cells and cell variance s_i**2 in view i, the error is::

        sum over A of  kappa_A / sum over views i that hold A of 1 / (c_i s_i**2)
        kappa_A = prod over j in A of (n_j - 1) * sum over B in the workload that hold A
                  of 1 / prod over j in B of n_j

    where A runs over all subsets of the marginals, the empty set included. It holds because the
    contrasts of order A, an orthogonal part of each table, are measured by every view that holds
    A with the variance c_i s_i**2, up to one factor, and independently of all other contrasts.

    Parameters
    ----------
    sizes : sequence of int, length d
        Number of values n_j of each attribute.
    views : sequence of sequences of int
        Attributes of each view.
    shares : sequence of float, one for each view
        More than 0; they are divided by their sum.
    workload : sequence of sequences of int
        Attributes of each marginal to be answered.
    power : int
        1 or 2: how fast the variance falls as the share grows.

    Returns
    -------
    float
        In squared counts; ``inf`` when the views do not determine every marginal.

    Raises
    ------
    ValueError
        If an attribute is unknown or repeated, a share is not positive, or power is not 1 or 2.

    Examples
    --------
    One attribute of three values, measured directly: three cells of variance 1.

    >>> expected_error([3], [(0,)], [1.0], workload=[(0,)], power=2)
    3.0

    Two views of half a share each determine the total twice over.

    >>> expected_error([2, 2], [(0,), (1,)], [0.5, 0.5], workload=[(0,)], power=1)
    3.0
    """
    check_ints("sizes", sizes, 1)
    checked_views = checked_sets("views", views, len(sizes))
    checked_workload = checked_sets("workload", workload, len(sizes))
    check_power(power)
    if len(shares) != len(views):
        raise ValueError(f"shares has length {len(shares)}: give one for each of {len(views)} views")
    for i, share in enumerate(shares):
        if not 0 < share < inf:
            raise ValueError(f"shares[{i}] ({share}) must be a finite number > 0: drop the view")
    total = sum(shares)
    precisions = [
        (share / total) ** power / _cells(sizes, view) for share, view in zip(shares, checked_views, strict=True)
    ]
    return weighted_error(contrast_weights(sizes, checked_workload), checked_views, precisions)


def contrast_weights(sizes: Sequence[int], workload: Iterable[Block]) -> dict[Block, float]:
    """kappa_A for every subset A of every marginal of the workload."""
    weights: dict[Block, float] = {}
    for marginal in workload:
        share = 1 / _cells(sizes, marginal)
        for order in range(len(marginal) + 1):
            for subset in combinations(marginal, order):
                weights[subset] = weights.get(subset, 0.0) + share
    return {a: w * prod(sizes[j] - 1 for j in a) for a, w in weights.items()}


def weighted_error(weights: Weights, views: Sequence[Block], precisions: Sequence[float]) -> float:
    """The sum over A of kappa_A / theta_A, theta_A summing the precisions of the views that hold A.

    Parameters
    ----------
    weights : mapping
        kappa_A by ascending A.
    views : sequence of ascending tuples
    precisions : sequence of float
        1 / (c_i s_i**2) of each view.
    """
    theta = dict.fromkeys(weights, 0.0)
    orders = range(max(map(len, weights), default=0) + 1)
    for view, precision in zip(views, precisions, strict=True):
        for a in members_within(view, theta, orders):
            theta[a] += precision
    if any(w > 0 and not theta[a] for a, w in weights.items()):
        return inf
    return sum(w / theta[a] for a, w in weights.items() if w > 0)


def check_power(power: int) -> None:
    """Raise ValueError unless power is 1 or 2."""
    if power not in (1, 2) or type(power) is not int:
        raise ValueError(f"power ({power!r}) must be 1 or 2")


def checked_sets(name: str, sets: Sequence[Sequence[int]], d: int) -> list[Block]:
    """The sets as ascending tuples; ValueError unless they hold distinct ints of ``range(d)``."""
    checked: list[Block] = []
    for i, members in enumerate(sets):
        check_ints(f"{name}[{i}]", members, 0)
        if any(j >= d for j in members):
            raise ValueError(f"{name}[{i}] {tuple(members)} must hold attributes of 0..{d - 1} only")
        if len(set(members)) < len(members):
            raise ValueError(f"{name}[{i}] {tuple(members)} repeats an attribute: name it once")
        checked.append(tuple(sorted(members)))
    return checked


def _cells(sizes: Sequence[int], view: Block) -> int:
    return prod(sizes[j] for j in view)
