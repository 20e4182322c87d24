"""Expected error of marginals that are answered from measured views, in closed form."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import inf, prod
from numbers import Real

from ..subsets import Block, members_within
from .attributes import Domain, Sets, checked_sizes, numbered

Weights = Mapping[Block, float]


def expected_error(
    domain: Domain,
    views: Sets,
    shares: Sequence[float],
    *,
    workload: Sets,
    weights: Sequence[float] | None = None,
    power: int,
) -> float:
    """Expected squared error, summed over all cells of all marginals of a workload.

    Each view is a table of counts. Its cells are measured with independent errors of mean 0 and
    variance ``share ** -power``, where the shares of all views add to 1. The marginals are answered
    by generalised least squares, the best linear unbiased estimate from all views together. The
    error does not account for later steps, such as the removal of negative counts.

    With c_i cells and cell variance s_i**2 in view i, the error is::

        sum over A of  kappa_A / sum over views i that hold A of 1 / (c_i s_i**2)
        kappa_A = prod over j in A of (n_j - 1) * sum over B in the workload that hold A
                  of w_B / prod over j in B of n_j

    where A runs over all subsets of the marginals, including the empty set. The reason: the
    contrasts of order A are an orthogonal part of each table. Every view that holds A measures them
    with variance c_i s_i**2, up to a factor that depends on A only, and independently of all other
    contrasts. In this folder the *contrast* A means these contrasts together. kappa_A is called the
    weight of the contrast, 1 / (c_i s_i**2) the precision of view i, and the inner sum theta_A.

    Parameters
    ----------
    domain : sequence of int, length d, or an object with `attributes` and `sizes`
        Number of values n_j of each attribute. If it has names, give sets by name.
    views : sequence of sets
        Attributes of each view.
    shares : sequence of float, one for each view
        Positive numbers. They are divided by their sum.
    workload : sequence of sets
        Attributes of each marginal to be answered.
    weights : sequence of float, one for each marginal, optional
        Weight of its squared error. The default is the `weights` of the workload if it has any,
        else 1.
    power : int
        1 or 2: the variance of a cell is ``share ** -power``.

    Returns
    -------
    float
        In squared counts; ``inf`` if the views do not determine every marginal.

    Raises
    ------
    ValueError
        If an attribute is unknown or repeated, a share or weight is not a finite number > 0, or
        power is not 1 or 2.

    Examples
    --------
    One attribute of three values is measured directly: three cells of variance 1.

    >>> expected_error([3], [(0,)], [1.0], workload=[(0,)], power=2)
    3.0

    Two views with half of the total each both determine the sum of all counts.

    >>> expected_error([2, 2], [(0,), (1,)], [0.5, 0.5], workload=[(0,)], power=1)
    3.0
    """
    check_power(power)
    checked_numbers("shares", shares, len(views), "view")
    total = sum(shares)
    variances = [(share / total) ** -power for share in shares]
    return least_squares_error(
        domain,
        views,
        variances,
        workload=workload,
        weights=weights,
    )


def least_squares_error(
    domain: Domain,
    views: Sets,
    variances: Sequence[float],
    *,
    workload: Sets,
    weights: Sequence[float] | None = None,
) -> float:
    """The expected error of a workload for given cell variances of the views.

    Parameters
    ----------
    domain, views, workload, weights
        As in `expected_error`.
    variances : sequence of float, one for each view
        Variance of each cell of the view, in squared counts; > 0.

    Returns
    -------
    float
        In squared counts; ``inf`` if the views do not determine every marginal.

    Raises
    ------
    ValueError
        If an attribute is unknown or repeated, or if a variance or weight is not a finite number
        > 0.

    Examples
    --------

    >>> least_squares_error([3], [(0,)], [4.0], workload=[(0,)])
    12.0
    """
    sizes = checked_sizes(domain)
    checked_views = numbered("views", views, domain)
    marginals = numbered("workload", workload, domain)
    checked_numbers("variances", variances, len(views), "view")
    cells = [_cells(sizes, view) for view in checked_views]
    precisions = [1 / (c * s) for c, s in zip(cells, variances, strict=True)]
    kappa = contrast_weights(sizes, marginals, marginal_weights(workload, weights))
    return weighted_error(kappa, checked_views, precisions)


def marginal_weights(workload: Sets, weights: Sequence[float] | None) -> list[float]:
    """The weight of each marginal: the given weights, else the workload's own weights, else 1."""
    given = getattr(workload, "weights", None) if weights is None else weights
    if given is None:
        return [1.0] * len(workload)
    checked_numbers("weights", given, len(workload), "marginal")
    return [float(weight) for weight in given]


def contrast_weights(
    sizes: Sequence[int],
    workload: Iterable[Block],
    weights: Iterable[float],
) -> dict[Block, float]:
    """The weight kappa_A in `expected_error`, for every subset A of every marginal."""
    return dict(_contrast_weights(tuple(sizes), tuple(workload), tuple(weights)))


@lru_cache(maxsize=1)
def _contrast_weights(
    sizes: tuple[int, ...],
    workload: tuple[Block, ...],
    weights: tuple[float, ...],
) -> dict[Block, float]:
    """`contrast_weights`, kept for the last workload: a plan asks for it several times."""
    kappa: dict[Block, float] = {}
    for marginal, weight in zip(workload, weights, strict=True):
        share = weight / _cells(sizes, marginal)
        for order in range(len(marginal) + 1):
            for subset in combinations(marginal, order):
                kappa[subset] = kappa.get(subset, 0.0) + share
    return {a: w * prod(sizes[j] - 1 for j in a) for a, w in kappa.items()}


def weighted_error(
    kappa: Weights,
    views: Sequence[Block],
    precisions: Sequence[float],
) -> float:
    """The expected error from weights and precisions: the sum over A of kappa_A / theta_A.

    theta_A is the sum of the precisions of the views that hold A; see `expected_error`.

    Parameters
    ----------
    kappa : mapping
        kappa_A by ascending A.
    views : sequence of ascending tuples
        The attributes of each view.
    precisions : sequence of float
        1 / (c_i s_i**2) of each view.
    """
    theta = dict.fromkeys(kappa, 0.0)
    orders = range(max(map(len, kappa), default=0) + 1)
    for view, precision in zip(views, precisions, strict=True):
        for a in members_within(view, theta, orders):
            theta[a] += precision
    if any(w > 0 and not theta[a] for a, w in kappa.items()):
        return inf
    return sum(w / theta[a] for a, w in kappa.items() if w > 0)


def check_power(power: int) -> None:
    """Raise ValueError unless power is 1 or 2."""
    if power not in (1, 2) or type(power) is not int:
        raise ValueError(
            f"power ({power!r}) must be 1 or 2; pass 1 if the variance of a cell is 1 / share, and "
            "2 if it is 1 / share**2"
        )


def checked_numbers(
    name: str,
    numbers: Sequence[float],
    count: int,
    what: str,
) -> None:
    """Raise ValueError unless there are `count` finite numbers > 0."""
    if len(numbers) != count:
        raise ValueError(
            f"{name} must hold {count} numbers, but it holds {len(numbers)}; give one number for "
            f"each {what}"
        )
    for i, number in enumerate(numbers):
        is_real = isinstance(number, Real) and not isinstance(number, bool)
        if not is_real or not 0 < float(number) < inf:
            raise ValueError(
                f"{name}[{i}] ({number!r}) must be a finite number > 0; change it or drop the "
                f"{what}"
            )


def _cells(sizes: Sequence[int], view: Block) -> int:
    return prod(sizes[j] for j in view)
