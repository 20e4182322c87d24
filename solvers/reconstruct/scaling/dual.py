"""The dual of a large problem whose penalty splits into blocks."""

import math
from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np

from ...basis import transform
from ...fitted import FEW_SWEEPS
from ...types import Floats
from ..bars import Bars
from ..dual import LargeDual, conjugate_gradients, is_large, reached
from ..problem import Problem
from ..sums import covariances, open_variances
from .blocks import Block
from .groups import groups_of
from .pairs import PairSweeps
from .relative import Relative
from .sweeps import SWEEPS, Extrapolation

_NEAR = 1e-3
"""Largest error of a cell, as a share of the total, at which Newton's method takes over."""

_NEAR_SWEEPS = 20
"""Largest number of sweeps before it takes over; four are usual."""

_GROWTH = 4
"""An extrapolation went too far if the largest error of a cell has grown by more than this factor.
"""


class ScaledDual(LargeDual):
    """The dual of a large problem whose penalty splits into blocks.

    `start` minimises it without the Hessian, and the bars are in closed form.
    """

    def __init__(
        self,
        problem: Problem,
        ridge: Floats,
        blocks: tuple[Block, ...],
    ) -> None:
        super().__init__(problem, ridge)
        self.blocks = blocks
        self.groups = groups_of(problem.shape, blocks)

    def start(self, tolerance: float) -> Floats:
        """Minimise the dual by sweeps until no entry of its gradient is larger; shape (m,).

        A sweep judges the errors of cells. The error of a moment is a weighted sum of them, so the
        sweeps go on with smaller errors of cells if a moment is not right yet. Where the Hessian
        can be stored, only a few sweeps are made: Newton's method ends what they leave.
        """
        sweeps = SWEEPS if is_large(self.problem) else FEW_SWEEPS
        theta = None
        if PairSweeps.is_possible(self.problem, self.blocks):
            theta = PairSweeps(self.problem, self.blocks).minimise(tolerance / 2)
        if theta is None:
            theta = np.zeros(len(self.ridge))
        past = Extrapolation(len(theta))
        for accuracy in (tolerance, tolerance / 10, tolerance / 100):
            if reached(self.gradient(theta, self.distribution(theta)), theta, tolerance):
                break
            theta, worst = self._minimise(theta, accuracy, sweeps, past)
            # Further sweeps would not help either.
            if worst > _NEAR:
                break
        return theta

    def near(self) -> Floats:
        """A point near the minimum, by a few sweeps, from which Newton's method ends soon."""
        past = Extrapolation(len(self.ridge))
        theta, _ = self._minimise(np.zeros(len(self.ridge)), _NEAR, _NEAR_SWEEPS, past)
        return theta

    def _minimise(
        self,
        theta: Floats,
        accuracy: float,
        sweeps: int,
        past: Extrapolation,
    ) -> tuple[Floats, float]:
        """Sweep until the largest error of a cell is at most `accuracy`, or `sweeps` times.

        Returns the dual variables, and the error in the last sweep. Sweeps alone never raise the
        dual. An extrapolation may, as when noise made targets negative: the error grows. Then the
        next sweep starts where the last good one ended.
        """
        good = theta
        before = worst = math.inf
        for _ in range(sweeps):
            swept, worst = self._sweep(theta)
            if worst <= accuracy:
                return swept, worst
            if worst <= _GROWTH * before:
                good, before = swept, worst
                theta = past.after(theta, swept, worst)
            else:
                past.restart()
                theta, before = good, math.inf
        return good, worst

    def _sweep(self, theta: Floats) -> tuple[Floats, float]:
        """Minimise the dual over one block after another.

        Returns the new dual variables, and the largest error of a cell before its block's turn.
        """
        duals = [block.dual(theta) for block in self.blocks]
        table = self._table(duals)
        worst = max(group.scale(table, duals) for group in self.groups)
        swept = np.zeros_like(theta)
        for block, dual in zip(self.blocks, duals, strict=True):
            swept[block.slots] += block.theta(dual)
        return swept, worst

    def _table(self, duals: Sequence[Floats]) -> Floats:
        """The distribution that the dual variables of all blocks stand for; the next call
        overwrites it."""
        problem = self.problem
        logits = self._space
        logits.fill(0.0)
        for group in self.groups:
            group.add_logits(logits, duals)
        if problem.log_base is not None:
            logits += problem.log_base.reshape(problem.shape)
        if problem.zeros is not None:
            logits[problem.zeros.reshape(problem.shape)] = -math.inf
        logits -= logits.max()
        table = np.exp(logits, out=logits)
        table /= table.sum()
        return table

    @cached_property
    def _space(self) -> Floats:
        """Work space for a table, kept because allocation takes longer than filling it.

        The largest axis is the innermost in memory: its loops are the longest.
        """
        by_size = np.argsort(self.problem.shape, kind="stable")
        space = np.empty([self.problem.shape[axis] for axis in by_size])
        return space.transpose(np.argsort(by_size))

    def bars(self, distribution: Floats) -> Bars:
        """The two parts of the uncertainty of each cell; see `Relative`."""
        return self._relative(distribution).bars()

    def _solve(
        self,
        distribution: Floats,
        right: Floats,
        accuracy: float,
    ) -> Floats:
        """Solve Hessian x solution = right by conjugate gradients; see `Relative.precondition`."""
        product = partial(self.product, distribution)
        precondition = self._relative(distribution).precondition
        return conjugate_gradients(product, right, precondition, accuracy)

    def changes(self, distribution: Floats, weights: Floats) -> Floats:
        """The derivatives of weighted sums of the cells by the targets, nearly; shape (m, q).

        They are x = H^-1 c of `sums_of`. The inverse is applied to c, or only to what is left of it
        without the known part of the weights: f a, where a are the known coefficients of the
        weights, has the covariances (H - ridge) a. The way that leaves less open is taken, for each
        sum. The weights have shape (q, cells).
        """
        problem = self.problem
        solve = self._relative(distribution).solve
        direct = solve(covariances(problem, distribution, weights))
        coefficients = transform(problem.shape).analyse(weights)[:, problem.index]
        known = coefficients.T / math.sqrt(problem.cells)
        rest = weights - problem.functions(np.ascontiguousarray(known.T))
        by_rest = covariances(problem, distribution, rest) - self.ridge[:, None] * known
        split = known + solve(by_rest)
        left = [
            open_variances(problem, distribution, self.ridge, one, weights)
            for one in (direct, split)
        ]
        return np.where(left[0] < left[1], direct, split)

    def _relative(self, distribution: Floats) -> Relative:
        return Relative(self.problem, self.ridge, self.blocks, distribution)
