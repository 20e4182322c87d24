"""Sweeps over a table of three axes whose known marginals have at most two axes."""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...basis import transform
from ...types import Floats
from ..problem import Problem
from .blocks import Block
from .sweeps import SWEEPS, Extrapolation, cell_changes, largest_of

Pair = tuple[int, int]

_PAIRS: tuple[Pair, ...] = ((0, 1), (0, 2), (1, 2))

_LEAST_TOTAL = 1e-300
"""Smallest sum of a product of matrices that it is divided by."""


class _Place(NamedTuple):
    """Where a block's factor is held.

    Attributes
    ----------
    pair
        The pair of axes whose matrix holds it.
    dropped
        The place in this pair of the axis that the block lacks; empty if it has both.
    spread
        The shape of the block, with an axis of size one for the axis that it lacks.
    """

    pair: Pair
    dropped: tuple[int, ...]
    spread: tuple[int, ...]


class _Holder(NamedTuple):
    """A block that can hold functions of one axis.

    Attributes
    ----------
    number
        The number of the block.
    others
        The place of its other axis, if it has one.
    spread
        The shape of a function of the axis, with an axis of size one for the other axis.
    cells_each
        The number of cells of the block for each category of the axis.
    share
        The share of such a function that it holds at the least penalty; see `Block.dual`.
    """

    number: int
    others: tuple[int, ...]
    spread: tuple[int, ...]
    cells_each: int
    share: float


class PairSweeps:
    """Minimises the dual of `ScaledDual` for three axes without computing the table.

    The table is t(a, b, c) = A(a, b) B(a, c) C(b, c), so its marginal on two axes is A times the
    product of the matrices B and C', cell by cell. A sweep takes the time of a few products of
    matrices.

    The unknowns are the dual variables of the cells of all blocks. Many of them stand for the same
    table: a function of one axis may be held by each block that contains the axis. `_balanced`
    chooses those of the least penalty.

    Parameters
    ----------
    problem
        A problem of three axes, for which `is_possible`.
    blocks
        Its blocks.
    """

    def __init__(
        self,
        problem: Problem,
        blocks: Sequence[Block],
    ) -> None:
        self.shape = problem.shape
        self.blocks = blocks
        ends = np.cumsum([0, *(block.cells for block in blocks)]).tolist()
        self._slices = [slice(*some) for some in itertools.pairwise(ends)]
        self._length = ends[-1]
        self._places = [_place(block) for block in blocks]
        self._holders = [_holders(blocks, axis) for axis in range(3)]

    @staticmethod
    def is_possible(problem: Problem, blocks: Sequence[Block]) -> bool:
        """Whether a problem has three axes, no zeros and no base, and no block has all axes."""
        is_plain = problem.zeros is None and problem.base is None
        return is_plain and len(problem.shape) == 3 and all(len(block.axes) < 3 for block in blocks)

    def minimise(self, accuracy: float) -> Floats | None:
        """The dual variables of the known moments, shape (m,).

        Sweeps are repeated until no cell and no moment of a block has an error above `accuracy`.
        Returns None if the dual variables become so large that products under- or overflow.
        """
        past = Extrapolation(self._length)
        point = np.zeros(self._length)
        swept = point
        for _ in range(SWEEPS):
            duals = self._split(point)
            factors = self._factors(duals)
            if factors is None:
                return None
            # What overflows is not finite afterwards.
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                swept, errors = self._sweep(duals, factors)
                worst = max(map(largest_of, errors))
            if not (math.isfinite(worst) and np.isfinite(swept).all()):
                return None
            if worst <= accuracy and self._largest_moment(errors) <= accuracy:
                break
            point = past.after(point, swept, worst)
        return self._theta(self._split(swept))

    def _split(self, point: Floats) -> list[Floats]:
        """The dual variables of each block, views of one flat array."""
        pairs = zip(self._slices, self.blocks, strict=True)
        return [point[part].reshape(block.shape) for part, block in pairs]

    def _sweep(
        self,
        duals: list[Floats],
        factors: dict[Pair, Floats],
    ) -> tuple[Floats, list[Floats]]:
        """Minimise the dual over one block after another; `factors` are changed.

        Returns the new dual variables, balanced, and the errors of each block's cells before its
        turn.
        """
        swept = []
        errors = []
        for block, place, dual in zip(self.blocks, self._places, duals, strict=True):
            marginal = _marginal(factors, place.pair)
            if place.dropped:
                marginal = np.add.reduce(marginal, axis=place.dropped)
            error = marginal + block.ridge * dual - block.target
            change = cell_changes(marginal, error, block.ridge)
            # A cell without mass has none to be scaled.
            factor = np.exp(np.where(marginal > 0, change, 0.0))
            factors[place.pair] *= factor.reshape(place.spread)
            errors.append(error)
            swept.append(dual + change)
        return self._balanced(swept), errors

    def _factors(self, duals: list[Floats]) -> dict[Pair, Floats] | None:
        """The matrices A, B and C of the table that some dual variables stand for, of sum one."""
        logits = {pair: np.zeros((self.shape[pair[0]], self.shape[pair[1]])) for pair in _PAIRS}
        for place, dual in zip(self._places, duals, strict=True):
            logits[place.pair] += dual.reshape(place.spread)
        factors = {pair: np.exp(table - table.max()) for pair, table in logits.items()}
        total = float(_marginal(factors, _PAIRS[0]).sum())
        if not (total >= _LEAST_TOTAL and math.isfinite(total)):
            return None
        factors[_PAIRS[0]] /= total
        return factors

    def _balanced(self, duals: list[Floats]) -> Floats:
        """The dual variables of the least penalty for the same table, as one flat array.

        Each block holds a share of a function of one axis in proportion to its weight; see
        `Block.dual`.
        """
        duals = [dual - np.add.reduce(dual, axis=None) / dual.size for dual in duals]
        for holders in self._holders:
            # The part of each block that depends on this axis alone, and their sum.
            parts = [
                np.add.reduce(duals[holder.number], axis=holder.others) / holder.cells_each
                for holder in holders
            ]
            whole = sum(parts)
            for holder, part in zip(holders, parts, strict=True):
                change = holder.share * whole - part
                duals[holder.number] = duals[holder.number] + change.reshape(holder.spread)
        return np.concatenate([dual.ravel() for dual in duals])

    def _largest_moment(self, errors: list[Floats]) -> float:
        """The largest error of a moment, from the errors of the blocks' cells."""
        largest = 0.0
        for block, error in zip(self.blocks, errors, strict=True):
            moments = transform(block.shape).analyse(error.ravel())[1:] * math.sqrt(block.cells)
            largest = max(largest, float(np.abs(moments).max()))
        return largest

    def _theta(self, duals: list[Floats]) -> Floats:
        """The dual variables of the known moments that stand for the same table."""
        theta = np.zeros(1 + max(int(block.slots.max()) for block in self.blocks))
        for block, dual in zip(self.blocks, duals, strict=True):
            theta[block.slots] += block.theta(dual)
        return theta


def _marginal(factors: dict[Pair, Floats], pair: Pair) -> Floats:
    """The table's marginal on two axes."""
    first, second, third = (factors[one] for one in _PAIRS)
    if pair == (0, 1):
        return np.asarray(first * (second @ third.T))
    if pair == (0, 2):
        return np.asarray(second * (first @ third))
    return np.asarray(third * (first.T @ second))


def _place(block: Block) -> _Place:
    """Where a block's factor is held: in the first pair of axes that contains its axes."""
    pair = next(pair for pair in _PAIRS if set(block.axes) <= set(pair))
    dropped = tuple(place for place, axis in enumerate(pair) if axis not in block.axes)
    sizes = dict(zip(block.axes, block.shape, strict=True))
    return _Place(pair, dropped, tuple(sizes.get(axis, 1) for axis in pair))


def _holders(blocks: Sequence[Block], axis: int) -> list[_Holder]:
    """The blocks that can hold functions of an axis."""
    numbers = [number for number, block in enumerate(blocks) if axis in block.axes]
    weights = [1 / (blocks[number].cells * blocks[number].ridge) for number in numbers]
    holders = []
    for number, weight in zip(numbers, weights, strict=True):
        block = blocks[number]
        others = tuple(place for place, other in enumerate(block.axes) if other != axis)
        spread = tuple(
            size if other == axis else 1
            for other, size in zip(block.axes, block.shape, strict=True)
        )
        count = block.cells // math.prod(spread)
        holders.append(_Holder(number, others, spread, count, weight / sum(weights)))
    return holders
