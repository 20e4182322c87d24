"""The Witt designs on 24, 23 and 22 points.

The blocks on 24 points are the codewords of weight 8 of the extended Golay code. A smaller design
consists of the blocks that hold one point, or two points, without these points.
"""

from functools import cache

from ..checks import check_int
from ..design import Design
from ..subsets import Block


def witt_design(v: int) -> Design:
    """The Steiner system S(v - 19, v - 16, v) for v = 22, 23 or 24.

    Every v - 19 points lie in exactly one block.

    Parameters
    ----------
    v : int
        24 gives S(5, 8, 24) with 759 blocks, 23 gives S(4, 7, 23) with 253 blocks, and 22 gives
        S(3, 6, 22) with 77 blocks.

    Raises
    ------
    ValueError
        If v is another number.

    References
    ----------
    J. Conway, N. Sloane, Sphere Packings, Lattices and Groups, 3rd ed. 1999, chapter 11.

    Examples
    --------
    >>> [witt_design(v).size for v in (22, 23, 24)]
    [77, 253, 759]
    """
    check_int("v", v, 22)
    if v > 24:
        raise ValueError(
            f"v ({v}) must be 22, 23 or 24, because Witt designs have no other size; pass one of "
            "these"
        )
    # Derive the design at the points 23, ..., v: keep the blocks through the point, without it.
    blocks = _octads()
    for point in range(23, v - 1, -1):
        blocks = tuple(block[:-1] for block in blocks if block[-1] == point)
    t = v - 19
    return Design(
        v=v,
        k=v - 16,
        t=t,
        blocks=tuple(sorted(blocks)),
        provenance=f"Witt design S({t}, {v - 16}, {v})",
    )


@cache
def _octads() -> tuple[Block, ...]:
    """The 759 blocks on 24 points: the words of weight 8 of the extended Golay code.

    The code is constructed as the extended quadratic residue code of length 24.
    """
    # Cyclic shifts of the non-residues, with a parity bit, reduced to a basis.
    residues = {x * x % 23 for x in range(1, 23)}
    others = [x for x in range(1, 23) if x not in residues]
    basis: list[int] = []
    for shift in range(23):
        word = sum(1 << (x + shift) % 23 for x in others)
        word |= (word.bit_count() % 2) << 23
        for row in basis:
            word = min(word, word ^ row)
        if word:
            basis.append(word)
    # All words of the code as sums of basis words.
    words = [0]
    for row in basis:
        words += [word ^ row for word in words]
    return tuple(
        tuple(i for i in range(24) if word >> i & 1) for word in words if word.bit_count() == 8
    )
