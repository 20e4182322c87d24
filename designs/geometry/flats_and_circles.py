"""Designs from finite geometry: flats of affine and projective spaces, inversive planes."""

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from ..checks import check_int
from ..design import Design
from ..gf import Field, field
from ..subsets import Block
from ..types import Integers


def affine_geometry(
    m: int,
    q: int,
    s: int,
) -> Design:
    """The s-flats of the affine space AG(m, q) as blocks.

    Any s + 1 points lie on an s-flat, so this is a (q**m, q**s, s + 1) covering design.

    Parameters
    ----------
    m : int
        Dimension of the space, at least 1.
    q : int
        A prime power.
    s : int
        Dimension of the flats, 0 <= s <= m.

    Returns
    -------
    Design
        It has q**(m - s) * [m, s]_q blocks, where [m, s]_q is the number of s-subspaces of
        GF(q)**m.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> affine_geometry(2, 8, 1).size, affine_geometry(5, 2, 3).size
    (72, 620)
    """
    _check_dimensions(m, s)
    f = field(q)
    places = q ** np.arange(m)
    blocks: list[Block] = []
    for basis in subspaces(f, m, s):
        # The translates of a subspace: one for each vector that is 0 at the pivots.
        pivots = np.argmax(basis > 0, axis=1)
        free = np.setdiff1d(np.arange(m), pivots)
        shifts = np.zeros((q ** len(free), m), np.int64)
        shifts[:, free] = vectors(q, len(free))
        elements = combine(f, vectors(q, s), basis)
        flats = f.add[shifts[:, None], elements] @ places
        blocks += _ascending(flats)
    return Design(
        v=q**m,
        k=q**s,
        t=s + 1,
        blocks=tuple(blocks),
        provenance=f"{s}-flats of AG({m}, {q})",
    )


def projective_geometry(
    m: int,
    q: int,
    s: int,
) -> Design:
    """The s-flats of the projective space PG(m, q) as blocks.

    Any s + 1 points lie on an s-flat, so this is a covering design with t = s + 1,
    v = (q**(m + 1) - 1) / (q - 1) and k = (q**(s + 1) - 1) / (q - 1).

    Parameters
    ----------
    m : int
        Dimension of the space, at least 1.
    q : int
        A prime power.
    s : int
        Dimension of the flats, 0 <= s <= m.

    Returns
    -------
    Design
        It has [m + 1, s + 1]_q blocks, the number of (s + 1)-subspaces of GF(q)**(m + 1).

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> plane = projective_geometry(2, 7, 1)
    >>> plane.v, plane.k, plane.size
    (57, 8, 57)
    """
    _check_dimensions(m, s)
    f = field(q)
    places = q ** np.arange(m + 1)
    index = np.full(q ** (m + 1), -1)
    points = normalised(q, m + 1)
    index[points @ places] = np.arange(len(points))
    inside = normalised(q, s + 1)
    flats = [index[combine(f, inside, b) @ places] for b in subspaces(f, m + 1, s + 1)]
    blocks = tuple(_ascending(np.array(flats)))
    provenance = f"{s}-flats of PG({m}, {q})"
    return Design(
        v=len(points),
        k=len(inside),
        t=s + 1,
        blocks=blocks,
        provenance=provenance,
    )


def inversive_plane(q: int) -> Design:
    """The circles of the Miquelian inversive plane of order q: one circle through any 3 points.

    The points are the elements of GF(q**2) and infinity. One circle consists of the elements of
    GF(q) and infinity. The other circles are its images under the maps x -> (a x + b) / (c x + d)
    of GF(q**2). They are a (q**2 + 1, q + 1, 3) covering design.

    Parameters
    ----------
    q : int
        A prime power.

    Returns
    -------
    Design
        It has q * (q**2 + 1) blocks, equal to the Schonheim bound.

    Raises
    ------
    ValueError
        If q is not a prime power.

    References
    ----------
    P. Dembowski, Finite Geometries, Springer 1968, chapter 6.

    Examples
    --------
    >>> inversive_plane(7).size
    350
    """
    field(q)  # raises unless q is a prime power
    f = field(q * q)
    norm, conjugate = _power(f, q + 1), _power(f, q)
    negative = np.argmin(f.add, axis=1)
    circles: set[Block] = set()
    # Circles without infinity: the points at equal norm from a centre.
    for centre in range(f.q):
        circles |= _level_sets(norm[f.add[:, negative[centre]]], at_least=2)
    # Circles through infinity: the lines over GF(q).
    for slope in range(1, f.q):
        scaled = f.multiply[slope]
        lines = _level_sets(f.add[scaled, conjugate[scaled]], at_least=q)
        circles |= {(*line, f.q) for line in lines}
    blocks = tuple(sorted(circles))
    return Design(
        v=f.q + 1,
        k=q + 1,
        t=3,
        blocks=blocks,
        provenance=f"circles of order {q}",
    )


def _check_dimensions(m: int, s: int) -> None:
    check_int("m", m, 1)
    check_int("s", s, 0)
    if s > m:
        raise ValueError(
            f"s ({s}) must be <= m ({m}), because a flat lies within the space; lower s or raise m"
        )


def vectors(q: int, n: int) -> Integers:
    """All vectors over ``range(q)``, shape (q**n, n). Row i holds the base-q digits of i."""
    return np.arange(q**n)[:, None] // q ** np.arange(n) % q


def normalised(q: int, n: int) -> Integers:
    """The vectors whose first nonzero entry is 1: one for each line through 0."""
    every = vectors(q, n)[1:]
    first = np.take_along_axis(every, np.argmax(every > 0, axis=1)[:, None], axis=1)
    return np.compress(first[:, 0] == 1, every, axis=0)


def subspaces(
    f: Field,
    n: int,
    dimension: int,
) -> Iterator[Integers]:
    """Yield a basis of each subspace of GF(q)**n of the given dimension.

    Each basis is in reduced row echelon form, shape (dimension, n).
    """
    rows = np.arange(dimension)
    for pivots in combinations(range(n), dimension):
        free = [(i, j) for i in rows for j in range(pivots[i] + 1, n) if j not in pivots]
        for values in product(range(f.q), repeat=len(free)):
            basis = np.zeros((dimension, n), np.int64)
            basis[rows, pivots] = 1
            for place, value in zip(free, values, strict=True):
                basis[place] = value
            yield basis


def combine(
    f: Field,
    coefficients: Integers,
    basis: Integers,
) -> Integers:
    """Linear combinations of the rows of a basis, shape (r, n).

    The coefficients have the shape (r, len(basis)). If the basis is in echelon form, a coefficient
    vector whose first nonzero entry is 1 gives a combination whose first nonzero entry is 1.
    """
    total = np.zeros((len(coefficients), basis.shape[1]), np.int64)
    for column, row in zip(coefficients.T, basis, strict=True):
        total = f.add[total, f.multiply[column[:, None], row]]
    return total


def _ascending(rows: Integers) -> list[Block]:
    return [tuple(row) for row in np.sort(rows, axis=1).tolist()]


def _power(f: Field, exponent: int) -> Integers:
    """The table of x**exponent over the elements of the field, shape (q,)."""
    table = np.zeros(f.q, np.int64)
    table[f.powers] = f.powers[np.arange(f.q - 1) * exponent % (f.q - 1)]
    return table


def _level_sets(values: Integers, at_least: int) -> set[Block]:
    """The sets of positions with equal values, if they have at least `at_least` positions."""
    levels = (np.flatnonzero(values == value) for value in np.unique(values))
    return {tuple(level.tolist()) for level in levels if len(level) >= at_least}
