"""Designs from maximal arcs in projective planes of even order."""

import numpy as np

from ..checks import check_int
from ..design import Design
from ..gf import field


def maximal_arc(q: int, n: int) -> Design:
    """The lines of Denniston's maximal arc of degree n in PG(2, q).

    A maximal arc is a set of points such that every line holds 0 or n of them. For an irreducible
    form Q(x, y) = x**2 + c x y + y**2, the points (x, y, 1) with Q(x, y) in an additive subgroup of
    n elements are such an arc. Its lines are a (q n - q + n, n, 2) covering design in which each
    pair lies in exactly one block.

    Parameters
    ----------
    q, n : int
        Order of the plane and degree of the arc: powers of 2 with 2 <= n < q.

    Returns
    -------
    Design
        It has v (v - 1) / (n (n - 1)) blocks, equal to the Schonheim bound.

    Raises
    ------
    ValueError
        If q or n is not such a power of 2.

    References
    ----------
    R. Denniston, Some maximal arcs in finite projective planes, J. Combin. Theory 6 (1969),
    317-319.

    Examples
    --------
    >>> arc = maximal_arc(16, 8)
    >>> arc.v, arc.k, arc.size
    (120, 8, 255)
    """
    check_int("q", q, 4)
    check_int("n", n, 2)
    if q & (q - 1) or n & (n - 1) or n >= q:
        raise ValueError(f"q ({q}) and n ({n}) must be powers of 2 with n < q; pass such numbers")
    f = field(q)
    squares = f.multiply[np.arange(q), np.arange(q)]
    # The form is irreducible if x**2 + c x + 1 has no root.
    values = (f.add[f.add[squares, f.multiply[c]], 1] for c in range(1, q))
    c = next(c for c, value in enumerate(values, start=1) if (value != 0).all())
    xs, ys = np.divmod(np.arange(q * q), q)
    products = f.multiply[c, f.multiply[xs, ys]]
    form = f.add[f.add[squares[xs], products], squares[ys]]
    # The points of the arc: the elements 0..n - 1 are an additive subgroup.
    inside = np.flatnonzero(form < n)
    place = np.full(q * q, -1)
    place[inside] = np.arange(len(inside))
    # The points of the arc on each line y = slope x + shift, and on each line x = constant.
    lines: list[list[int]] = []
    every = np.arange(q)
    for slope in range(q):
        for shift in range(q):
            ordinates = f.add[f.multiply[slope, every], shift]
            lines.append(place[every * q + ordinates].tolist())
    lines += [place[x * q + every].tolist() for x in range(q)]
    blocks = {tuple(sorted(p for p in line if p >= 0)) for line in lines}
    blocks.discard(())
    name = f"lines of a maximal arc of degree {n} in PG(2, {q})"
    return Design(
        v=len(inside),
        k=n,
        t=2,
        blocks=tuple(sorted(blocks)),
        provenance=name,
    )
