"""Designs from geometry with parameters near given ones, as bases of induced designs.

See `induced_designs`: each point of a base design is replaced by some number of points.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import combinations, count
from math import comb

from ..bounds import schonheim_bound
from ..design import Design
from ..gf import prime_power
from .binary_subspaces import linear_cover
from .flats_and_circles import affine_geometry, inversive_plane, projective_geometry

LARGEST_INCIDENCE = 4_000_000  # largest product of points and blocks
LINEAR_TRIES = {3: 30, 4: 30, 5: 30, 6: 30, 7: 3}  # number of random maps to try, by dimension

Base = tuple[int, int, int, Callable[[], Design]]


def near_designs(
    v: int,
    k: int,
    t: int,
) -> Iterator[Design]:
    """Designs of strength t that may induce a (v, k, t) covering design.

    Suppose that each point of such a design stands for the same number of points, v in total. A
    block then holds between 0.5 k and 1.35 k of them. Designs with too many blocks are left out.
    """
    limit = 2 * schonheim_bound(v, k, t) + 3
    for points, width, blocks, build in _all_bases(2 * v, k, t):
        fits = 0.5 * k <= v * width / points <= 1.35 * k
        if fits and blocks <= limit and points * blocks <= LARGEST_INCIDENCE:
            yield build()


def _all_bases(
    most: int,
    k: int,
    t: int,
) -> Iterator[Base]:
    """List possible base designs of strength t with at most `most` points, without making them.

    Each is given by its number of points, points per block, a lower bound on its number of blocks,
    and the function that makes it.
    """
    for n in range(t + 1, min(most, 12) + 1):
        yield n, t, comb(n, t), partial(_complete, n, t)
    for q in filter(prime_power, range(2, most + 1)):
        for m in count(t):
            if q**m > most:
                break
            points = (q ** (m + 1) - 1) // (q - 1)
            width = (q**t - 1) // (q - 1)
            flats = q ** (m - t + 1) * subspace_count(m, t - 1, q)
            yield (
                q**m,
                q ** (t - 1),
                flats,
                partial(
                    _affine,
                    m,
                    q,
                    t - 1,
                ),
            )
            if points <= most:
                yield (
                    points,
                    width,
                    subspace_count(m + 1, t, q),
                    partial(
                        _projective,
                        m,
                        q,
                        t - 1,
                    ),
                )
        if t == 3 and q * q + 1 <= most:
            yield q * q + 1, q + 1, q * (q * q + 1), partial(_inversive, q)
    for m, tries in LINEAR_TRIES.items():
        s = min(k.bit_length() - 1, m)
        if t <= s and 2**m <= most:
            least = schonheim_bound(2**m, 2**s, t)
            yield (
                2**m,
                2**s,
                least,
                partial(
                    _linear,
                    m,
                    s,
                    t,
                    tries,
                ),
            )


@cache
def _complete(n: int, t: int) -> Design:
    blocks = tuple(combinations(range(n), t))
    return Design(
        v=n,
        k=t,
        t=t,
        blocks=blocks,
        provenance=f"{t}-subsets of {n} points",
    )


@cache
def _linear(
    m: int,
    s: int,
    t: int,
    tries: int,
) -> Design:
    return linear_cover(
        m,
        s,
        t,
        tries=tries,
    )


_affine = cache(affine_geometry)
_projective = cache(projective_geometry)
_inversive = cache(inversive_plane)


def subspace_count(
    n: int,
    r: int,
    q: int,
) -> int:
    """The number of r-dimensional subspaces of GF(q)**n, a Gaussian binomial coefficient."""
    above = below = 1
    for i in range(r):
        above *= q ** (n - i) - 1
        below *= q ** (i + 1) - 1
    return above // below
