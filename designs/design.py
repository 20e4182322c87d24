"""Covering designs as records of blocks, with a check that they cover every t points."""

from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np

from .checks import check_parameters
from .subsets import Block, coverage, unranked
from .types import Flags, Integers


@dataclass(
    frozen=True,
    kw_only=True,
)
class Design:
    """A covering design: blocks of at most k of v points, with every t points in some block.

    Making a `Design` only checks its form. `verify` checks that it covers.

    Parameters
    ----------
    v : int
        Number of points. The points are ``range(v)``.
    k : int
        Largest number of points in a block. It may exceed v.
    t : int
        Strength: every t points lie together in a block; 1 <= t <= min(v, k).
    blocks : tuple of tuples of int
        Each block is an ascending tuple of distinct points.
    provenance : str
        The construction or search that the blocks come from, in words.

    Raises
    ------
    ValueError
        If a parameter is out of range or a block does not have this form.

    Examples
    --------
    >>> fano = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]
    >>> design = Design(v=7, k=3, t=2, blocks=tuple(fano), provenance="the Fano plane")
    >>> design.size, design.verify()
    (7, True)
    """

    v: int
    k: int
    t: int
    blocks: tuple[Block, ...]
    provenance: str

    def __post_init__(self) -> None:
        check_parameters(self.v, self.k, self.t)
        if not isinstance(self.blocks, tuple):
            raise ValueError(
                f"blocks must be a tuple of blocks, but its type is {type(self.blocks).__name__}; "
                "pass tuple(blocks)"
            )
        for i, block in enumerate(self.blocks):
            self._check_block(i, block)

    def _check_block(
        self,
        i: int,
        block: Block,
    ) -> None:
        if not isinstance(block, tuple) or any(type(point) is not int for point in block):
            raise ValueError(
                f"blocks[{i}] ({block!r}) must be a tuple of ints; convert it with "
                "tuple(int(point) for point in block)"
            )
        if any(a >= b for a, b in pairwise(block)):
            raise ValueError(
                f"blocks[{i}] {block} must be ascending; pass tuple(sorted(set(block)))"
            )
        if block and not 0 <= block[0] <= block[-1] < self.v:
            raise ValueError(
                f"blocks[{i}] {block} must hold points of 0..{self.v - 1} only; raise v, or remove "
                "the other points"
            )
        if len(block) > self.k:
            raise ValueError(
                f"blocks[{i}] must hold at most k ({self.k}) points, but it holds {len(block)}; "
                "raise k, or remove points"
            )

    @property
    def size(self) -> int:
        """Number of blocks."""
        return len(self.blocks)

    def verify(self) -> bool:
        """Check that every t points lie together in some block, by enumeration of all t-subsets."""
        return bool(self._covered().all())

    def uncovered(self) -> Integers:
        """List the t-subsets that lie in no block, shape (number, t), each row ascending.

        >>> Design(v=3, k=2, t=2, blocks=((0, 1),), provenance="half done").uncovered().tolist()
        [[0, 2], [1, 2]]
        """
        return unranked(np.flatnonzero(~self._covered()), self.t, self.v)

    def _covered(self) -> Flags:
        """Mark the t-subsets that lie in some block, by rank, shape (comb(v, t),)."""
        if any(len(block) == self.v for block in self.blocks):
            return np.ones(comb(self.v, self.t), np.bool_)
        return coverage(self.blocks, self.v, self.t) > 0
