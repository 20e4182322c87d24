"""Spherical geometries: designs of strength 3 on the projective line over a finite field."""

import numpy as np

from ..checks import check_int
from ..design import Design
from ..gf import field


def spherical_geometry(q: int, d: int) -> Design:
    """Blocks of q + 1 points of the projective line over GF(q**d); any 3 points lie in one block.

    The points are the elements of GF(q**d) and infinity. One block consists of the elements of
    GF(q) and infinity. The other blocks are its images under the maps x -> (a x + b) / (c x + d).
    For d = 2 the blocks are the circles of an inversive plane.

    Parameters
    ----------
    q : int
        A prime power.
    d : int
        At least 2.

    Returns
    -------
    Design
        A (q**d + 1, q + 1, 3) covering design. Its size equals the Schonheim bound.

    Raises
    ------
    ValueError
        If q is not a prime power or d is less than 2.

    Examples
    --------
    >>> spherical_geometry(3, 3).size
    819
    """
    field(q)  # raises unless q is a prime power
    check_int("d", d, 2)
    f = field(q**d)
    n, infinity = f.q, f.q
    inverse = np.zeros(n, np.int64)
    inverse[f.powers] = f.powers[-np.arange(n - 1) % (n - 1)]
    # The elements of the subfield are 0 and the powers of g ** ((n - 1) / (q - 1)).
    line = np.array([0, *f.powers[:: (n - 1) // (q - 1)], infinity])
    # Up to maps x -> a x + b, a block is the line itself or does not hold infinity. In the second
    # case it is the image of the line under x -> 1 / (x + c) for some c.
    shapes = [line]
    for c in range(n):
        moved = f.add[line[:-1], c]
        if (moved != 0).all():
            shapes.append(np.array([*inverse[moved], 0]))
    # All images of these blocks under the maps x -> a x + b.
    blocks: set[tuple[int, ...]] = set()
    shifts = np.arange(n)
    for shape in shapes:
        finite = shape[shape != infinity]
        for a in range(1, n):
            images = np.sort(f.add[shifts[:, None], f.multiply[a, finite]], axis=1)
            if len(finite) < len(shape):
                images = np.concatenate([images, np.full((n, 1), infinity)], axis=1)
            blocks.update(map(tuple, np.unique(images, axis=0).tolist()))
    name = f"blocks of the spherical geometry of GF({q}**{d})"
    return Design(
        v=n + 1,
        k=q + 1,
        t=3,
        blocks=tuple(sorted(blocks)),
        provenance=name,
    )
