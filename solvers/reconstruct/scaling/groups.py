"""Groups of blocks that are scaled together, on a marginal that is smaller than the table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...fitted import GROUP_TURNS, GROUPED_CELLS, TABLE_PER_GROUP
from ...types import Floats
from .blocks import Block
from .sweeps import cell_changes, largest_of

_ENOUGH = 0.1
"""Turns end when the largest error of a cell is at most this share of that of the first turn."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class _Member:
    """A block of a group.

    Attributes
    ----------
    block
        The block.
    place
        Its position among all blocks.
    dropped
        The positions, among the axes of the group, of the axes that the block lacks.
    spread
        The shape of the block's marginal, with an axis of size one for each of them.
    """

    block: Block
    place: int
    dropped: tuple[int, ...]
    spread: tuple[int, ...]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Group:
    """Blocks that lie within a set of axes: their errors are those of the marginal on these axes.

    Scaling a table to a block goes through all its cells twice: to sum them, and to multiply them.
    The blocks of a group are scaled on the marginal of the group, several times in turn. Then the
    table is multiplied once by all the factors together.

    Attributes
    ----------
    shape
        The sizes of the table's axes.
    axes
        The positions of the group's axes, ascending.
    members
        Its blocks, from the smallest sets of axes to the largest.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    members: tuple[_Member, ...]

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        axes: tuple[int, ...],
        blocks: Sequence[tuple[int, Block]],
    ) -> "Group":
        """The group of some blocks, with their positions among all blocks."""
        members = []
        for place, block in blocks:
            lacks = tuple(i for i, axis in enumerate(axes) if axis not in block.axes)
            spread = tuple(shape[axis] if axis in block.axes else 1 for axis in axes)
            members.append(_Member(block=block, place=place, dropped=lacks, spread=spread))
        return cls(shape=shape, axes=axes, members=tuple(members))

    @cached_property
    def dropped(self) -> tuple[int, ...]:
        """The positions of the table's other axes."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.axes)

    @cached_property
    def _spread(self) -> tuple[int, ...]:
        """The shape of the group's marginal, with an axis of size one for each other axis."""
        return tuple(1 if axis in self.dropped else size for axis, size in enumerate(self.shape))

    def add_logits(self, logits: Floats, duals: Sequence[Floats]) -> None:
        """Add the dual variables of the group's blocks to the logits of the table."""
        # The same order of axes in memory makes the last sum several times as fast.
        corner = tuple(0 if axis in self.dropped else slice(None) for axis in range(logits.ndim))
        own = np.zeros_like(logits[corner])
        for member in self.members:
            own += duals[member.place].reshape(member.spread)
        logits += own.reshape(self._spread)

    def scale(self, table: Floats, duals: list[Floats]) -> float:
        """Scale a table to one block of the group after another; table and `duals` are changed.

        Returns the largest error of a cell before its block's first turn.
        """
        if not self.dropped:
            return self._turn([table], duals)
        # The marginal of the group, and what the table will be multiplied by.
        marginal = np.add.reduce(table, axis=self.dropped)
        factor = np.ones_like(marginal)
        worst = self._turn([marginal, factor], duals)
        for _ in range(GROUP_TURNS - 1):
            if len(self.members) == 1 or self._turn([marginal, factor], duals) <= _ENOUGH * worst:
                break
        table *= factor.reshape(self._spread)
        return worst

    def _turn(self, scaled: Sequence[Floats], duals: list[Floats]) -> float:
        """Minimise the dual over one block of the group after another.

        All arrays of `scaled` are multiplied; the first is the marginal on the axes of the group.
        Returns the largest error of a cell before its block's turn.
        """
        worst = 0.0
        for member in self.members:
            block = member.block
            dual = duals[member.place]
            marginal = np.add.reduce(scaled[0], axis=member.dropped)
            error = marginal + block.ridge * dual - block.target
            worst = max(worst, largest_of(error))
            change = cell_changes(marginal, error, block.ridge)
            duals[member.place] = dual + change
            # A cell without mass has none to be scaled.
            factor = np.exp(np.where(marginal > 0, change, 0.0)).reshape(member.spread)
            for one in scaled:
                one *= factor
        return worst


def groups_of(shape: tuple[int, ...], blocks: Sequence[Block]) -> tuple[Group, ...]:
    """Divide blocks into groups, those of dependent axes together where there is room.

    Sweeps converge faster if a group holds most of what depends on each other. A group begins with
    the largest block that says most. It takes in the block that lets in most others, until it would
    have too many cells, and then all blocks that lie within it. A small table is one group.
    """
    if math.prod(shape) < GROUPED_CELLS:
        return (Group.of(shape, tuple(range(len(shape))), list(enumerate(blocks))),)
    sets = [sum(1 << axis for axis in block.axes) for block in blocks]
    told = [_dependence(block) for block in blocks]
    cells = {mask: block.cells for mask, block in zip(sets, blocks, strict=True)}
    most = math.prod(shape) // TABLE_PER_GROUP

    def size(mask: int) -> int:
        if mask not in cells:
            cells[mask] = math.prod(size for axis, size in enumerate(shape) if mask >> axis & 1)
        return cells[mask]

    def within(union: int) -> float:
        return sum(told[place] for place in left if not sets[place] & ~union)

    groups = []
    left = list(range(len(blocks)))
    while left:
        union = sets[max(left, key=lambda place: (sets[place].bit_count(), told[place]))]
        while True:
            wider = {union | sets[place] for place in left} - {union}
            possible = sorted(mask for mask in wider if size(mask) <= most)
            if not possible:
                break
            union = max(possible, key=lambda mask: (within(mask), -size(mask)))
        own = [(place, blocks[place]) for place in left if not sets[place] & ~union]
        axes = tuple(axis for axis in range(len(shape)) if union >> axis & 1)
        groups.append(Group.of(shape, axes, own))
        left = [place for place in left if sets[place] & ~union]
    return tuple(groups)


def _dependence(block: Block) -> float:
    """The total correlation of a block's target, in nats: 0 if its axes are independent.

    Negative cells, which come from noise, count as empty.
    """
    table = np.maximum(block.target, 0.0)
    table /= table.sum()
    every = range(table.ndim)
    alone = [table.sum(axis=tuple(axis for axis in every if axis != own)) for own in every]
    return sum(map(_entropy, alone), -_entropy(table))


def _entropy(shares: Floats) -> float:
    """The entropy of a distribution, in nats."""
    positive = shares[shares > 0]
    return -float(positive @ np.log(positive))
