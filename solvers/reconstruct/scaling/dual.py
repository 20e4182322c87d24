"""The dual of a large problem whose penalty splits into blocks."""

import math

import numpy as np

from ...basis import transform
from ...types import Floats
from ..bars import Bars
from ..dual import LargeDual, reached
from ..problem import Problem
from ..sums import covariances, open_variances
from .blocks import Block
from .pairs import PairSweeps
from .relative import Relative
from .sweeps import SWEEPS, Extrapolation, cell_changes, largest_of

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
        self._by_size = np.argsort(problem.shape, kind="stable")
        self._by_place = np.argsort(self._by_size)

    def start(self, tolerance: float) -> Floats:
        """Minimise the dual by sweeps until no entry of its gradient is larger; shape (m,).

        A sweep judges the errors of cells. The error of a moment is a weighted sum of them, so the
        sweeps go on with smaller errors of cells if a moment is not right yet.
        """
        theta = None
        if PairSweeps.is_possible(self.problem, self.blocks):
            theta = PairSweeps(self.problem, self.blocks).minimise(tolerance / 2)
        if theta is None:
            theta = np.zeros(len(self.ridge))
        for accuracy in (tolerance, tolerance / 10, tolerance / 100):
            if reached(self.gradient(theta, self.distribution(theta)), theta, tolerance):
                break
            theta, worst = self._minimise(theta, accuracy, SWEEPS)
            # Further sweeps would not help either.
            if worst > _NEAR:
                break
        return theta

    def near(self) -> Floats:
        """A point near the minimum, by a few sweeps, from which Newton's method ends soon."""
        theta, _ = self._minimise(np.zeros(len(self.ridge)), _NEAR, _NEAR_SWEEPS)
        return theta

    def _minimise(
        self,
        theta: Floats,
        accuracy: float,
        sweeps: int,
    ) -> tuple[Floats, float]:
        """Sweep until the largest error of a cell is at most `accuracy`, or `sweeps` times.

        Returns the dual variables, and the error in the last sweep. Sweeps alone never raise the
        dual. An extrapolation may, as when noise made targets negative: the error grows. Then the
        next sweep starts where the last good one ended.
        """
        past = Extrapolation(len(theta))
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
                past = Extrapolation(len(theta))
                theta, before = good, math.inf
        return theta, worst

    def _sweep(self, theta: Floats) -> tuple[Floats, float]:
        """Minimise the dual over one block after another.

        Returns the new dual variables, and the largest error of a cell before its block's turn.
        """
        table = self.distribution(theta).reshape(self.problem.shape)
        # A copy in which the largest axis is the innermost in memory: its loops are the longest.
        table = table.transpose(self._by_size).copy().transpose(self._by_place)
        swept = np.zeros_like(theta)
        worst = 0.0
        for block in self.blocks:
            dual = block.dual(theta)
            marginal = block.marginal(table)
            error = marginal + block.ridge * dual - block.target
            worst = max(worst, largest_of(error))
            change = cell_changes(marginal, error, block.ridge)
            # A cell without mass has none to be scaled.
            table *= block.spread(np.exp(np.where(marginal > 0, change, 0.0)))
            swept[block.slots] += block.theta(dual + change)
        return swept, worst

    def bars(self, distribution: Floats) -> Bars:
        """The two parts of the uncertainty of each cell; see `Relative`."""
        return self._relative(distribution).bars()

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
