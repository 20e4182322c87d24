"""Designs that are known by name and given by a formula: what they cover, their sizes, and what
builds them."""

from collections.abc import Callable
from functools import cache, partial
from itertools import count
from math import comb

from ..design import Design
from ..geometry.arcs import maximal_arc
from ..geometry.flats_and_circles import affine_geometry, inversive_plane, projective_geometry
from ..geometry.linear import linear_cover
from ..geometry.nearby_designs import subspace_count
from ..geometry.spherical import spherical_geometry
from ..geometry.witt import witt_design
from ..gf import prime_power

MOST_POINTS = 820
MOST_BLOCKS = 120_000

SPHERES = ((3, 3), (4, 3))
LINEAR = (
    (4, 3, 2, 10, 3),
    (5, 3, 2, 30, 5),
    (5, 3, 3, 30, 27),
    (6, 3, 3, 30, 107),
)  # m, s, t, tries and what they give

Named = tuple[int, int, int, int, str, Callable[[], Design]]  # v, k, t, size, words, builder


def _geometries() -> list[Named]:
    found: list[Named] = []
    for q in filter(prime_power, range(2, MOST_POINTS)):
        for m in count(2):
            if q**m > MOST_POINTS:
                break
            for s in range(1, m):
                size = q ** (m - s) * subspace_count(m, s, q)
                found.append(
                    (q**m, q**s, s + 1, size, f"A {m} {q} {s}", partial(affine_geometry, m, q, s))
                )
                points, width = (q ** (m + 1) - 1) // (q - 1), (q ** (s + 1) - 1) // (q - 1)
                if points <= MOST_POINTS:
                    size = subspace_count(m + 1, s + 1, q)
                    found.append(
                        (
                            points,
                            width,
                            s + 1,
                            size,
                            f"P {m} {q} {s}",
                            partial(projective_geometry, m, q, s),
                        )
                    )
        if q * q + 1 <= MOST_POINTS:
            found.append(
                (q * q + 1, q + 1, 3, q * (q * q + 1), f"M {q}", partial(inversive_plane, q))
            )
        for n in (2, 4, 8, 16):
            if (
                prime_power(q) == (2, q.bit_length() - 1)
                and 2 * n <= q
                and (v := q * n - q + n) <= MOST_POINTS
            ):
                found.append(
                    (
                        v,
                        n,
                        2,
                        v * (v - 1) // (n * (n - 1)),
                        f"D {q} {n}",
                        partial(maximal_arc, q, n),
                    )
                )
    for v in (22, 23, 24):
        size = {22: 77, 23: 253, 24: 759}[v]
        found += [
            (v, v - 16, t, size, f"W {v} {t}", partial(witt_design, v)) for t in range(2, v - 18)
        ]
    for q, d in SPHERES:
        size = comb(q**d + 1, 3) // comb(q + 1, 3)
        found.append((q**d + 1, q + 1, 3, size, f"S {q} {d}", partial(spherical_geometry, q, d)))
    for m, s, t, tries, chosen in LINEAR:
        size = chosen * 2 ** (m - s)
        found.append(
            (2**m, 2**s, t, size, f"L {m} {s} {t}", partial(linear_cover, m, s, t, tries=tries))
        )
    return [entry for entry in found if entry[3] <= MOST_BLOCKS]


NAMED = _geometries()


@cache
def base(words: str) -> Design:
    """The design with this short name, such as ``A 2 8 1`` for the lines of AG(2, 8)."""
    return next(entry[5]() for entry in NAMED if entry[4] == words)


def points(words: str) -> int:
    """The number of points of the design with this short name."""
    return next(entry[0] for entry in NAMED if entry[4] == words)


def described(words: str) -> str:
    """A short name in words.

    >>> described("A 2 8 1")
    '1-flats of AG(2, 8)'
    """
    letter, *numbers = words.split(" ")
    return _WORDS[letter].format(*numbers)


_WORDS = {
    "A": "{2}-flats of AG({0}, {1})",
    "P": "{2}-flats of PG({0}, {1})",
    "M": "circles of order {0}",
    "D": "lines of a maximal arc of degree {1} in PG(2, {0})",
    "W": "Witt design of {0} points",
    "S": "blocks of the spherical geometry of GF({0}**{1})",
    "L": "translates of {1}-subspaces of GF(2)**{0}",
}
