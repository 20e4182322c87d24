"""Groups of permutations under which good designs are found.

They are affine groups, projective groups, a Mathieu group, wreath products and random subgroups.
A group is given by generators, and a generator by its images of the points 0, 1, 2, ...
"""

from collections.abc import Iterator, Sequence
from math import lcm
from random import Random

import numpy as np

from margin.designs.geometry.flats_and_circles import combine, normalised
from margin.designs.gf import field, prime_power
from margin.designs.groups import Permutations
from margin.designs.types import Integers

Images = tuple[int, ...]

LETTERS = 60  # length of a random word in the generators
LARGEST_PERIOD = 31  # largest period of a random element
FEWEST, MOST = 4, 3000  # smallest and largest number of maps of a subgroup that is tried
MOST_ADDED = 3  # largest number of points that a group leaves fixed


def affine_line(q: int, step: int) -> list[Images]:
    """Generators of the maps x -> a x + b over GF(q), a running through the powers of g**step.

    Here g generates the non-zero elements of the field.
    """
    f = field(q)
    shifts = [tuple(f.add[:, f.p**i].tolist()) for i in range(f.degree)]
    return [*shifts, tuple(f.multiply[:, f.powers[step % (q - 1)]].tolist())]


def projective_line(q: int, step: int) -> list[Images]:
    """Generators of PGL(2, q), or of PSL(2, q) for step 2, on q + 1 points.

    They are the maps of `affine_line`, which fix the last point (infinity), and x -> -1 / x.
    """
    f = field(q)
    minus = np.argmax(f.add == 0, axis=1)
    inverse = np.zeros(q, np.int64)
    inverse[f.powers] = f.powers[-np.arange(q - 1) % (q - 1)]
    inversion = minus[inverse]
    inversion[0] = q
    return [*((*images, q) for images in affine_line(q, step)), (*inversion.tolist(), 0)]


def affine_space(m: int, q: int) -> list[Images]:
    """Generators of the affine maps of GF(q)**m and of the automorphisms of the field."""
    f = field(q)
    places = q ** np.arange(m)
    points = np.arange(q**m)[:, None] // places % q
    moved = [points.copy() for _ in range(3)]
    moved[0][:, 0] = f.multiply[points[:, 0], f.powers[1 % (q - 1)]]
    moved[1] = np.roll(points, 1, axis=1)
    if m > 1:
        moved[2][:, 0] = f.add[points[:, 0], points[:, 1]]
    for i in range(f.degree):
        moved.append(points.copy())
        moved[-1][:, 0] = f.add[points[:, 0], f.p**i]
    frobenius = np.zeros(q, np.int64)
    frobenius[f.powers] = f.powers[np.arange(q - 1) * f.p % (q - 1)]
    moved.append(frobenius[points])
    return [tuple((rows @ places).tolist()) for rows in moved]


def projective_maps(m: int, q: int, random: Random) -> list[Images]:
    """Two random collineations of PG(m, q), with points numbered as in `projective_geometry`."""
    return [_collineation(m, q, random) for _ in range(2)]


def _collineation(m: int, q: int, random: Random) -> Images:
    f = field(q)
    points, places = normalised(q, m + 1), q ** np.arange(m + 1)
    inverse = np.argmax(f.multiply == 1, axis=1)
    index = np.zeros(q ** (m + 1), np.int64)
    index[points @ places] = np.arange(len(points))
    while True:
        matrix = [[random.randrange(q) for _ in range(m + 1)] for _ in range(m + 1)]
        rows = combine(f, points, np.array(matrix))
        # The matrix is invertible if it maps no point to 0.
        if rows.any(axis=1).all():
            # Divide each image by its first non-zero entry.
            leading = np.argmax(rows > 0, axis=1)[:, None]
            first = np.take_along_axis(rows, leading, axis=1)
            images = f.multiply[rows, inverse[first]]
            return tuple(index[images @ places].tolist())


def mathieu_group() -> list[Images]:
    """Generators of M24 on 24 points.

    J. Conway, N. Sloane, Sphere Packings, Lattices and Groups, 3rd ed. 1999, chapter 10.
    """
    residues = {x * x % 23 for x in range(1, 23)}
    ninth = pow(9, -1, 23)
    cubes = tuple(pow(x, 3, 23) * (ninth if x in residues else 9) % 23 for x in range(23))
    return [*projective_line(23, 2), (*cubes, 23)]


def wreath_product(a: int, b: int) -> list[Images]:
    """Generators of all permutations within each of b rows of a points, and of the rows."""
    points = range(a * b)
    rotation = tuple((x + 1) % a if x < a else x for x in points)
    exchange = tuple(1 - x if x < 2 <= a else x for x in points)
    rows = tuple((x + a) % (a * b) for x in points)
    two_rows = rows
    if b > 1:
        # Exchange the first two rows.
        two_rows = (*range(a, 2 * a), *range(a), *range(2 * a, a * b))
    return [rotation, exchange, rows, two_rows]


def whole_groups(v: int) -> Iterator[Permutations]:
    """Affine and projective lines on v points or a few fewer; the other points are fixed."""
    for q in range(v - MOST_ADDED - 1, v + 1):
        if q > 4 and prime_power(q):
            for step in (1, 2):
                yield Permutations(generators=_with_fixed(affine_line(q, step), v))
                if q < v:
                    yield Permutations(generators=_with_fixed(projective_line(q, step), v))


def random_subgroup(v: int, random: Random) -> Permutations:
    """A group on v points, generated by a few random elements of a random large group."""
    families = list(_large_groups(v))
    while True:
        generators = random.choice(families)
        number = random.choice((1, 1, 2, 2, 2, 3))
        elements = [random_element(generators, random) for _ in range(number)]
        if FEWEST <= len(_closure(elements)) <= MOST:
            return Permutations(generators=_with_fixed(elements, v))


def _large_groups(v: int) -> Iterator[list[Images]]:
    for n in range(max(4, v - MOST_ADDED), v + 1):
        for q in range(2, n + 1):
            m = next((m for m in range(1, 7) if q**m == n), 0)
            if m and prime_power(q):
                yield affine_space(m, q)
            if n % q == 0:
                yield wreath_product(n // q, q)
        if prime_power(n - 1):
            yield projective_line(n - 1, 1)
        if n == 24:
            yield mathieu_group()


def random_element(generators: Sequence[Images], random: Random) -> Images:
    """A random word in the generators, raised to a power that makes its period small."""
    while True:
        images: Images = tuple(range(len(generators[0])))
        for _ in range(LETTERS):
            images = _product(images, random.choice(generators))
        period = _period(images)
        periods = [d for d in range(2, LARGEST_PERIOD + 1) if period % d == 0]
        if periods:
            power = images
            for _ in range(period // random.choice(periods) - 1):
                power = _product(power, images)
            return power


def _product(first: Images, second: Images) -> Images:
    return tuple(second[x] for x in first)


def _period(images: Images) -> int:
    array: Integers = np.array(images)
    lengths = []
    for start in range(len(array)):
        length, at = 1, array[start]
        while at != start:
            length, at = length + 1, array[at]
        lengths.append(length)
    return lcm(*lengths)


def _closure(generators: Sequence[Images]) -> set[Images]:
    """All maps of the group; if there are more than MOST, only somewhat more than MOST of them."""
    start = tuple(range(len(generators[0])))
    found, todo = {start}, [start]
    while todo and len(found) <= MOST:
        images = todo.pop()
        new = {_product(images, generator) for generator in generators} - found
        found |= new
        todo += new
    return found


def _with_fixed(generators: Sequence[Images], v: int) -> tuple[Images, ...]:
    return tuple((*images, *range(len(images), v)) for images in generators)
