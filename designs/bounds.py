"""Lower bounds on the size of a covering design."""

from math import comb

from .checks import check_parameters


def schonheim_bound(
    v: int,
    k: int,
    t: int,
) -> int:
    """Schonheim's lower bound on the number of blocks of a (v, k, t) covering design.

    The bound L is defined by recursion: L(v, k, 0) = 1 and
    L(v, k, t) = ceil(v / k * L(v - 1, k - 1, t - 1)). The reason: the blocks that hold one point,
    without that point, cover the (t - 1)-subsets of the other points. So every point lies in at
    least L(v - 1, k - 1, t - 1) blocks, and a block holds k points.

    Parameters
    ----------
    v, k, t : int
        Number of points, points per block, strength; 1 <= t <= min(v, k).

    Returns
    -------
    int
        The bound, computed in exact integer arithmetic.

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
    # Unroll the recursion from L(v - t, k - t, 0) = 1.
    for i in reversed(range(t)):
        bound = -(-(v - i) * bound // (k - i))
    return bound


def de_caen_bound(
    v: int,
    k: int,
    t: int,
) -> int:
    """De Caen's lower bound on the size of a (v, k, t) covering design.

    The bound is the ceiling of
    ``(t + 1) (v - t) / ((k + 1) (v - k)) * comb(v, t) / comb(k, t)``. It follows from a bound on
    Turan numbers for the complements of the blocks. For some parameters it is larger than
    `schonheim_bound`, for others smaller.

    Parameters
    ----------
    v, k, t : int
        Number of points, points per block, strength; 1 <= t <= min(v, k).

    Returns
    -------
    int
        The bound, computed in exact integer arithmetic.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    D. de Caen, Extension of a theorem of Moon and Moser on complete subgraphs, Ars Combin. 16
    (1983), 5-10.

    Examples
    --------
    >>> de_caen_bound(9, 5, 4), schonheim_bound(9, 5, 4)
    (27, 26)
    """
    check_parameters(v, k, t)
    if k >= v:
        return 1
    numerator = (t + 1) * (v - t) * comb(v, t)
    denominator = (k + 1) * (v - k) * comb(k, t)
    return -(-numerator // denominator)
