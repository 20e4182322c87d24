"""Classical designs that a formula gives: their short names, sizes, and builders."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import count
from math import comb
from typing import NamedTuple

from ..design import Design
from ..geometry.arcs import maximal_arc
from ..geometry.binary_subspaces import linear_cover
from ..geometry.flats_and_circles import affine_geometry, inversive_plane, projective_geometry
from ..geometry.nearby_designs import subspace_count
from ..geometry.spherical import spherical_geometry
from ..geometry.witt import witt_design
from ..gf import prime_power

MOST_POINTS = 820
MOST_BLOCKS = 120_000

WITT_SIZES = {22: 77, 23: 253, 24: 759}  # blocks by points
SPHERES = ((3, 3), (4, 3))  # q, d
LINEAR = (
    (4, 3, 2, 10, 3),
    (5, 3, 2, 30, 5),
    (5, 3, 3, 30, 27),
    (6, 3, 3, 30, 107),
)  # m, s, t, number of random maps to try, number of subspaces that result


class ClassicalDesign(NamedTuple):
    """Parameters, short name and builder of one design.

    Parameters
    ----------
    v, k, t, size : int
        Points, points per block, strength, blocks.
    short_name : str
        A letter and numbers, such as ``A 2 8 1`` for the lines of AG(2, 8).
    build : callable
        Makes the design.
    """

    v: int
    k: int
    t: int
    size: int
    short_name: str
    build: Callable[[], Design]


def _all_designs() -> Iterator[ClassicalDesign]:
    """Yield all designs of at most `MOST_POINTS` points that the modules of geometry can make."""
    for q in filter(prime_power, range(2, MOST_POINTS)):
        for m in count(2):
            if q**m > MOST_POINTS:
                break
            for s in range(1, m):
                yield from _flats(m, q, s)
        if q * q + 1 <= MOST_POINTS:
            size = q * (q * q + 1)
            build = partial(inversive_plane, q)
            yield ClassicalDesign(q * q + 1, q + 1, 3, size, f"M {q}", build)
        if q & (q - 1) == 0:
            yield from _arcs(q)
    for v, size in WITT_SIZES.items():
        for t in range(2, v - 18):
            yield ClassicalDesign(v, v - 16, t, size, f"W {v} {t}", partial(witt_design, v))
    for q, d in SPHERES:
        size = comb(q**d + 1, 3) // comb(q + 1, 3)
        sphere = partial(spherical_geometry, q, d)
        yield ClassicalDesign(q**d + 1, q + 1, 3, size, f"S {q} {d}", sphere)
    for m, s, t, tries, subspaces in LINEAR:
        size = subspaces * 2 ** (m - s)
        linear = partial(linear_cover, m, s, t, tries=tries)
        yield ClassicalDesign(2**m, 2**s, t, size, f"L {m} {s} {t}", linear)


def _flats(
    m: int,
    q: int,
    s: int,
) -> Iterator[ClassicalDesign]:
    """The s-flats of the affine space and, if it is small enough, of the projective space."""
    size = q ** (m - s) * subspace_count(m, s, q)
    affine = partial(affine_geometry, m, q, s)
    yield ClassicalDesign(q**m, q**s, s + 1, size, f"A {m} {q} {s}", affine)
    points = (q ** (m + 1) - 1) // (q - 1)
    width = (q ** (s + 1) - 1) // (q - 1)
    if points <= MOST_POINTS:
        size = subspace_count(m + 1, s + 1, q)
        projective = partial(projective_geometry, m, q, s)
        yield ClassicalDesign(points, width, s + 1, size, f"P {m} {q} {s}", projective)


def _arcs(q: int) -> Iterator[ClassicalDesign]:
    """The lines of maximal arcs of degree n in PG(2, q), q a power of 2."""
    for n in (2, 4, 8, 16):
        v = q * n - q + n
        if 2 * n <= q and v <= MOST_POINTS:
            size = v * (v - 1) // (n * (n - 1))
            yield ClassicalDesign(v, n, 2, size, f"D {q} {n}", partial(maximal_arc, q, n))


CLASSICAL_DESIGNS = [design for design in _all_designs() if design.size <= MOST_BLOCKS]

_BY_NAME = {design.short_name: design for design in reversed(CLASSICAL_DESIGNS)}


@cache
def classical_design(short_name: str) -> Design:
    """The design with this short name, such as ``A 2 8 1`` for the lines of AG(2, 8)."""
    return _BY_NAME[short_name].build()


def classical_points(short_name: str) -> int:
    """The number of points of the design with this short name."""
    return _BY_NAME[short_name].v


def long_name(short_name: str) -> str:
    """The description of a design in words.

    >>> long_name("A 2 8 1")
    '1-flats of AG(2, 8)'
    """
    letter, *numbers = short_name.split(" ")
    return _LONG_NAMES[letter].format(*numbers)


_LONG_NAMES = {
    "A": "{2}-flats of AG({0}, {1})",
    "P": "{2}-flats of PG({0}, {1})",
    "M": "circles of order {0}",
    "D": "lines of a maximal arc of degree {1} in PG(2, {0})",
    "W": "Witt design of {0} points",
    "S": "blocks of the spherical geometry of GF({0}**{1})",
    "L": "translates of {1}-subspaces of GF(2)**{0}",
}
