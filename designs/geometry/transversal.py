"""Transversal designs, and the coverings of pairs that result when their groups are covered too."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ..checks import check_int
from ..design import Design
from ..gf import field
from ..subsets import Block

Cover = Callable[[int], Sequence[Block]]


def transversal_design(k: int, q: int) -> Design:
    """A transversal design: two points of different groups share exactly one block.

    There are k groups of q points and q**2 blocks. Each block holds one point of each group. Point
    y of group i has the number ``q * i + y``; `transversal_cover` gives the blocks. The returned
    `Design` has t = 1, because no block holds two points of one group.

    Parameters
    ----------
    k : int
        Number of groups, equal to the points per block; 2 <= k <= q + 1.
    q : int
        A prime power.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> transversal_design(4, 3).size
    9
    """
    check_int("k", k, 2)
    field(q)  # raises unless q is a prime power
    if k > q + 1:
        raise ValueError(f"k ({k}) must be <= q + 1 ({q + 1}); lower k or raise q")
    blocks = transversal_cover(
        k * q,
        k,
        q,
        lambda _: (),
    )
    return Design(
        v=k * q,
        k=k,
        t=1,
        blocks=tuple(sorted(blocks)),
        provenance=f"transversal design of order {q}",
    )


def transversal_cover(
    v: int,
    k: int,
    q: int,
    cover: Cover,
    *,
    shared: int = 0,
) -> list[Block]:
    """A (v, k, 2) covering from the transversal design of k groups of q points.

    The points are split evenly into k groups. Point y of group i lies in the block (slope, shift)
    if y = slope * i + shift in GF(q). If k = q + 1, a point y of the last group lies in the blocks
    with slope y. Two points of different groups share exactly one of these q**2 blocks. Each group
    is covered by itself, together with the shared points.

    Parameters
    ----------
    v, k : int
        Number of points; points per block.
    q : int
        A prime power with q >= k - 1 and k * q + shared >= v.
    cover : callable
        Takes n and returns the blocks of an (n, k, 2) covering design on ``range(n)``.
    shared : int
        Number of points, the last ones, that belong to every group.

    Returns
    -------
    list of tuples of int
        Ascending blocks: q**2 of the transversal design, then the covers of the groups.

    References
    ----------
    C. Colbourn, J. Dinitz (eds.), Handbook of Combinatorial Designs, 2nd ed. 2007, III.3.

    Examples
    --------
    >>> fano = transversal_cover(7, 3, 2, lambda n: [tuple(range(n))], shared=1)
    >>> len(fano), max(map(len, fano))
    (7, 3)
    """
    f = field(q)
    edges = [(v - shared) * i // k for i in range(k + 1)]
    # The block (slope, shift) holds one point of each group; places beyond its end are left out.
    slope, shift = np.divmod(np.arange(q * q), q)
    columns = [f.add[f.multiply[slope, i], shift] if i < q else slope for i in range(k)]
    ends = np.array(edges[1:])
    rows = np.stack(columns, axis=1) + np.array(edges[:-1])
    blocks: list[Block] = [tuple(row[row < ends].tolist()) for row in rows]
    for start, end in pairwise(edges):
        group = [*range(start, end), *range(v - shared, v)]
        blocks += [tuple(group[i] for i in part) for part in cover(len(group))]
    return blocks
