"""Lower bounds on the size of a covering design."""

from .checks import check_parameters


def schonheim_bound(v: int, k: int, t: int) -> int:
    """The least number of blocks that any (v, k, t) covering design could have.

    L(v, k, t) = ceil(v / k * L(v - 1, k - 1, t - 1)) and L(v, k, 0) = 1: the blocks through a
    point, less that point, cover the (t - 1)-subsets of the others.

    Parameters
    ----------
    v, k, t : int
        Points, points a block, points that must meet; 1 <= t <= min(v, k).

    Returns
    -------
    int
        In exact integer arithmetic.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    J. Schonheim, On coverings, Pacific J. Math. 14 (1964), 1405-1411.

    Examples
    --------
    >>> schonheim_bound(32, 8, 2), schonheim_bound(64, 8, 2), schonheim_bound(32, 8, 4)
    (20, 72, 532)
    """
    check_parameters(v, k, t)
    if k >= v:
        return 1
    bound = 1
    for i in reversed(range(t)):
        bound = -(-(v - i) * bound // (k - i))
    return bound
