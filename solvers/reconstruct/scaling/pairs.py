"""Sweeps over a table of three axes whose known marginals have at most two axes."""

import math
from collections.abc import Sequence

import numpy as np

from ...basis import transform
from ...types import Floats
from ..problem import Problem
from .blocks import Block
from .sweeps import SWEEPS, Extrapolation, cell_changes

Pair = tuple[int, int]

_PAIRS: tuple[Pair, ...] = ((0, 1), (0, 2), (1, 2))

_LEAST_TOTAL = 1e-300
"""Smallest sum of a product of matrices that it is divided by."""


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
        ends = np.cumsum([block.cells for block in blocks])
        self._starts = ends[:-1].tolist()
        self._length = int(ends[-1])

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
            factors = self._factors(self._split(point))
            if factors is None:
                return None
            # What overflows is not finite afterwards.
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                swept, errors = self._sweep(self._split(point), factors)
                worst = max(float(np.abs(error).max()) for error in errors)
            if not (math.isfinite(worst) and np.isfinite(swept).all()):
                return None
            if worst <= accuracy and self._largest_moment(errors) <= accuracy:
                break
            point = past.after(point, swept, worst)
        return self._theta(self._split(swept))

    def _split(self, point: Floats) -> list[Floats]:
        """The dual variables of each block, views of one flat array."""
        parts = np.split(point, self._starts)
        return [part.reshape(block.shape) for part, block in zip(parts, self.blocks, strict=True)]

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
        for block, dual in zip(self.blocks, duals, strict=True):
            pair = _pair_with(block.axes)
            marginal = _marginal(factors, pair)
            if len(block.axes) == 1:
                marginal = marginal.sum(axis=_other_place(pair, block.axes[0]))
            error = marginal + block.ridge * dual - block.target
            change = cell_changes(marginal, error, block.ridge)
            # A cell without mass has none to be scaled.
            factor = np.exp(np.where(marginal > 0, change, 0.0))
            if len(block.axes) == 1:
                factor = np.expand_dims(factor, _other_place(pair, block.axes[0]))
            factors[pair] *= factor
            errors.append(error)
            swept.append(dual + change)
        return self._balanced(swept), errors

    def _factors(self, duals: list[Floats]) -> dict[Pair, Floats] | None:
        """The matrices A, B and C of the table that some dual variables stand for, of sum one."""
        logits = {pair: np.zeros((self.shape[pair[0]], self.shape[pair[1]])) for pair in _PAIRS}
        for block, dual in zip(self.blocks, duals, strict=True):
            pair = _pair_with(block.axes)
            if len(block.axes) == 1:
                dual = np.expand_dims(dual, _other_place(pair, block.axes[0]))
            logits[pair] += dual
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
        duals = [dual - dual.mean() for dual in duals]
        for axis in range(3):
            holders = [place for place, block in enumerate(self.blocks) if axis in block.axes]
            parts = []
            for place in holders:
                block, dual = self.blocks[place], duals[place]
                if len(block.axes) == 2:
                    dual = dual.mean(axis=_other_place(block.axes, axis))
                parts.append(dual)
            whole = sum(parts, np.zeros(self.shape[axis]))
            weights = [
                1 / (self.blocks[place].cells * self.blocks[place].ridge) for place in holders
            ]
            for place, part, weight in zip(holders, parts, weights, strict=True):
                change = weight / sum(weights) * whole - part
                if len(self.blocks[place].axes) == 2:
                    other = _other_place(self.blocks[place].axes, axis)
                    change = np.expand_dims(change, other)
                duals[place] = duals[place] + change
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


def _pair_with(axes: tuple[int, ...]) -> Pair:
    """The pair of axes whose matrix holds a block's factor."""
    return next(pair for pair in _PAIRS if set(axes) <= set(pair))


def _other_place(pair: tuple[int, ...], axis: int) -> int:
    """The position, in a pair of axes, of the axis that is not the given one."""
    return 1 - pair.index(axis)
