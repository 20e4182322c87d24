"""Covering designs on the vectors of GF(2)**m: the blocks are all translates of some subspaces.

GF(2)**m is the space of m-bit vectors. A vector is stored as an int whose binary digits are its
coordinates, so the sum of two vectors is ``x ^ y``.
"""

import numpy as np

from ..design import Design
from ..gf import field
from ..types import Integers
from .flats_and_circles import combine, subspaces, vectors

RESTARTS = 15  # greedy choices for each random map
ORDERS = range(3, 41)  # orders of the random maps


def linear_cover(
    m: int,
    s: int,
    t: int,
    *,
    tries: int,
    seed: int = 0,
) -> Design:
    """A (2**m, 2**s, t) covering design of all translates of some s-subspaces of GF(2)**m.

    An s-subspace is a subspace of dimension s. The differences of t points span a subspace of
    dimension t - 1 or less. So the blocks cover every t points if every (t - 1)-subspace lies in a
    chosen s-subspace. A greedy search chooses the s-subspaces. To make the search small, it chooses
    whole orbits of subspaces under a random linear map.

    Parameters
    ----------
    m, s, t : int
        Dimension of the space, dimension of the subspaces, strength; 2 <= t <= s <= m.
    tries : int
        Number of random maps to try.
    seed : int
        The same arguments and seed give the same design.

    Returns
    -------
    Design
        It has 2**(m - s) blocks for each chosen subspace.

    References
    ----------
    T. Etzion, Covering of subspaces by subspaces, Des. Codes Cryptogr. 72 (2014), 405-421.

    Examples
    --------
    >>> linear_cover(5, 3, 3, tries=30).size
    108
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2**62, 2**m)
    large, small = _subspaces(m, s), _subspaces(m, t - 1)
    inside = _positions(small, large[:, _subspaces(s, t - 1)], labels)
    best = np.arange(len(large))
    for _ in range(tries):
        image, order = _random_map(m, rng)
        large_orbits = _orbits(_positions(large, image[large], labels), order)
        small_orbits = _orbits(_positions(small, image[small], labels), order)
        for _ in range(RESTARTS):
            chosen = _choose(
                large_orbits,
                small_orbits,
                inside,
                rng,
            )
            best = min(best, chosen, key=len)
    flats = {tuple(sorted((row ^ x).tolist())) for row in large[best] for x in range(2**m)}
    return Design(
        v=2**m,
        k=2**s,
        t=t,
        blocks=tuple(sorted(flats)),
        provenance=f"translates of {len(best)} of the {s}-subspaces of GF(2)**{m}",
    )


def _subspaces(m: int, s: int) -> Integers:
    """List the vectors of each s-subspace of GF(2)**m, shape (subspaces, 2**s).

    Vector i of a row is the sum of the basis vectors at which i has the binary digit 1. So the
    vectors of a row at the positions ``_subspaces(s, r)[j]`` form an r-subspace.
    """
    places = 2 ** np.arange(m)
    coefficients = vectors(2, s)
    return np.array(
        [combine(field(2), coefficients, b) @ places for b in subspaces(field(2), m, s)]
    )


def _positions(
    all_sets: Integers,
    sets: Integers,
    labels: Integers,
) -> Integers:
    """Find each of `sets`, shape (..., size), among `all_sets`, shape (n, size).

    Each vector has a random label. A set is recognised by the sum of its labels modulo 2**64, which
    does not depend on the order of its vectors. The result has the shape of `sets` without the last
    axis.
    """
    keys = labels[all_sets].sum(axis=-1)
    order = np.argsort(keys)
    places: Integers = order[np.searchsorted(keys, labels[sets].sum(axis=-1), sorter=order)]
    return places


def _random_map(m: int, rng: np.random.Generator) -> tuple[Integers, int]:
    """Draw an invertible linear map of small order: the image of each vector, and the order.

    The images have the shape (2**m,). The order is the number of applications that give the
    identity.
    """
    identity = np.arange(2**m)
    while True:
        image = np.zeros(1, np.int64)
        for column in rng.integers(1, 2**m, m):
            image = np.concatenate([image, image ^ column])
        if len(np.unique(image)) < len(image):
            continue
        order, powers = 1, [identity, image]
        while not np.array_equal(powers[-1], identity):
            order += 1
            powers.append(image[powers[-1]])
        choices = [d for d in ORDERS if order % d == 0]
        if choices:
            d = int(rng.choice(choices))
            return powers[order // d], d


def _orbits(permutation: Integers, order: int) -> Integers:
    """Number the orbits of a permutation: the orbit of each position, shape (len(permutation),)."""
    least = current = np.arange(len(permutation))
    for _ in range(order - 1):
        current = permutation[current]
        least = np.minimum(least, current)
    return np.unique(least, return_inverse=True)[1]


def _choose(
    large: Integers,
    small: Integers,
    inside: Integers,
    rng: np.random.Generator,
) -> Integers:
    """Choose orbits of large subspaces greedily until they hold every orbit of small ones.

    Parameters
    ----------
    large, small : array
        The number of the orbit of each large and of each small subspace.
    inside : array, shape (len(large), held)
        The small subspaces within each large subspace.

    Returns
    -------
    array
        The positions of the chosen large subspaces.
    """
    holders = np.zeros((small.max() + 1, large.max() + 1))
    holders[small[inside], large[:, None]] = 1
    price, worth = np.bincount(large), np.bincount(small)
    gain = worth @ holders
    times = np.zeros(len(worth))
    chosen: list[int] = []
    while not times.all():
        noise = 1 + 0.15 * rng.random(len(gain))
        best = int(np.argmax(gain / price * noise))
        chosen.append(best)
        new = np.flatnonzero((holders[:, best] > 0) & (times == 0))
        gain -= worth[new] @ holders[new]
        times += holders[:, best]
    # Drop the orbits that the others make redundant, the largest first.
    for orbit in sorted(chosen, key=lambda i: -int(price[i])):
        if (times > holders[:, orbit])[holders[:, orbit] > 0].all():
            times -= holders[:, orbit]
            chosen.remove(orbit)
    return np.flatnonzero(np.isin(large, chosen))
