"""Covering pairs of many points: transversal designs whose groups are covered in turn."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from .gf import field
from .subsets import Block

Cover = Callable[[int], Sequence[Block]]


def transversal_cover(v: int, k: int, q: int, cover: Cover, *, infinity: bool) -> list[Block]:
    """A (v, k, 2) covering from the transversal design of k groups of q points.

    The points are split evenly into k groups. Point y of group i lies in the block (slope, shift)
    when y = slope * i + shift in GF(q); in the last group, when k = q + 1, y is the slope. Two
    points of different groups share exactly one of these q**2 blocks, and each group is covered
    by itself, together with one more point when `infinity` asks for that.

    Parameters
    ----------
    v, k : int
        Points, and points a block.
    q : int
        A prime power with q >= k - 1 and k * q + infinity >= v.
    cover : callable
        From n to the blocks of an (n, k, 2) covering design on ``range(n)``.
    infinity : bool
        Whether the last point belongs to every group.

    Returns
    -------
    list of tuples of int
        Ascending blocks, q**2 of them and the covers of the groups.

    References
    ----------
    C. Colbourn, J. Dinitz (eds.), Handbook of Combinatorial Designs, 2nd ed. 2007, III.3.

    Examples
    --------
    >>> fano = transversal_cover(7, 3, 2, lambda n: [tuple(range(n))], infinity=True)
    >>> len(fano), max(map(len, fano))
    (7, 3)
    """
    f = field(q)
    edges = [(v - infinity) * i // k for i in range(k + 1)]
    slope, shift = np.divmod(np.arange(q * q), q)
    columns = [f.add[f.multiply[slope, i], shift] if i < q else slope for i in range(k)]
    ends = np.array(edges[1:])
    rows = np.stack(columns, axis=1) + np.array(edges[:-1])
    blocks: list[Block] = [tuple(row[row < ends].tolist()) for row in rows]
    for start, end in pairwise(edges):
        group = [*range(start, end), *([v - 1] if infinity else [])]
        blocks += [tuple(group[i] for i in part) for part in cover(len(group))]
    return blocks
