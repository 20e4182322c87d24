"""Bars of large reconstructed tables, in closed form."""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ...basis import transform
from ...types import Floats
from ..bars import Bars
from ..problem import Problem
from .blocks import Block

_LEAST_SHARE = 1e-12
"""Smallest share and ridge of a cell together that is divided by."""


class Relative:
    """Bars in closed form, from relative errors of the known marginals.

    Where the known sets of axes form a tree of cliques, the table is the product of the marginals
    on the cliques over those on their intersections. So a relative change of a cell is

        sum over known sets S of c_S (relative change of the cell's marginal on S),

    where c_S = 1 - (the sum of c_T over known sets T that contain S properly). The same formula is
    exact for independent attributes of uniform marginals, whatever the known sets are. In between
    it is an approximation: the first step of the solution of Hessian x change = errors (Kikuchi,
    1951, has the same coefficients). A marginal with a ridge follows its target by m / (m + ridge).
    """

    def __init__(
        self,
        problem: Problem,
        ridge: Floats,
        blocks: Sequence[Block],
        distribution: Floats,
    ) -> None:
        self.problem = problem
        self.distribution = distribution.reshape(problem.shape)
        self.blocks = blocks
        self.ridges = [float(ridge[block.slots[-1]]) / block.cells for block in blocks]
        # c_S, from the largest sets to the smallest; the blocks come the other way round.
        coefficients: list[float] = []
        for place in reversed(range(len(self.blocks))):
            axes = set(self.blocks[place].axes)
            larger = self.blocks[place + 1 :]
            above = [
                coefficient
                for coefficient, block in zip(reversed(coefficients), larger, strict=True)
                if axes < set(block.axes)
            ]
            coefficients.append(1.0 - sum(above))
        self.coefficients = coefficients[::-1]

    def solve(self, right: Floats) -> Floats:
        """Change the dual variables as errors of the targets do; arrays of shape (m, n).

        The errors `right` are those of a marginal on each known set S. They change the logits by
        c_S (error of the marginal's cell) / (m_S + ridge_S). This is a symmetric approximation of
        the inverse of the Hessian, without any system of equations.
        """
        solution = np.zeros_like(right)
        places = zip(self.blocks, self.ridges, self.coefficients, strict=True)
        for block, ridge, coefficient in places:
            if coefficient == 0.0:
                continue
            weight = coefficient / (block.marginal(self.distribution).ravel() + ridge)
            solution[block.slots] += _scaled(block, weight, right[block.slots].T).T
        return solution

    def precondition(self, right: Floats) -> Floats:
        """Divide moments by their variances on the largest known sets alone; shape (m,).

        It is `solve` with the coefficient 1 for each of these sets, and 0 for the others. So it is
        positive definite, as conjugate gradients need. A part of several sets is counted for each
        of them.
        """
        solution = np.zeros_like(right)
        for block, weight in self._largest:
            solution[block.slots] += _scaled(block, weight, right[None, block.slots])[0]
        return solution

    @cached_property
    def _largest(self) -> list[tuple[Block, Floats]]:
        """The blocks whose axes are not part of another block's, with 1 / (m_S + ridge_S)."""
        chosen = []
        for block, ridge in zip(self.blocks, self.ridges, strict=True):
            if any(set(block.axes) < set(other.axes) for other in self.blocks):
                continue
            marginal = block.marginal(self.distribution).ravel()
            # A cell that must be zero has no variance.
            chosen.append((block, 1 / np.maximum(marginal + ridge, _LEAST_SHARE)))
        return chosen

    def bars(self) -> Bars:
        """Both parts of the uncertainty, each of shape (cells,)."""
        problem = self.problem
        table = self.distribution
        weights = self._weights()
        variance = problem.total**2 * self._noise(weights)
        variance += problem.total_variance * self._by_total(weights) ** 2
        undetermined = np.clip(table - table**2 * self._known(weights), 0.0, table)
        return Bars(
            variance=(table**2 * variance).ravel(),
            undetermined=problem.total**2 * undetermined.ravel(),
        )

    def _weights(self) -> list[Floats]:
        """c_S / (m_S + ridge_S) for each block, with an axis of size one for each dropped axis."""
        weights = []
        for block, ridge, coefficient in zip(
            self.blocks, self.ridges, self.coefficients, strict=True
        ):
            marginal = block.spread(block.marginal(self.distribution))
            weights.append(coefficient / (marginal + ridge))
        return weights

    def _noise(self, weights: list[Floats]) -> Floats:
        """The variance of each cell's relative change by the errors of the targets.

        The errors of the parts S are independent. In the marginal on T, every cell has the n_T-th
        part of what the functions of S make of them.
        """
        problem = self.problem
        total = np.zeros(problem.shape)
        for part in self.blocks:
            functions = math.prod(size - 1 for size in part.shape)
            error = problem.variance[part.slots[-1]] * functions
            change = np.zeros((1,) * len(problem.shape))
            for block, weight in zip(self.blocks, weights, strict=True):
                if set(part.axes) <= set(block.axes):
                    change = change + weight / block.cells
            total += error * change**2
        return total

    def _by_total(self, weights: list[Floats]) -> Floats:
        """The relative change of each cell per relative change of the total.

        The coefficients that were measured are total x target, so a larger total makes the targets
        smaller.
        """
        change = np.zeros(self.problem.shape)
        for block, weight in zip(self.blocks, weights, strict=True):
            change += weight * block.spread(block.target - 1 / block.cells)
        return 1.0 - change + float((self.distribution * change).sum())

    def _known(self, weights: list[Floats]) -> Floats:
        """1 + (f - E f)' H^-1 (f - E f) of each cell; see `Bars.undetermined`."""
        known = np.zeros(self.problem.shape)
        for weight in weights:
            known += weight
        # The coefficients of all sets add up to one, with that of the empty set, whose share is 1.
        return known + (1.0 - sum(self.coefficients))


def _scaled(
    block: Block,
    weight: Floats,
    moments: Floats,
) -> Floats:
    """Multiply the marginals of some moments by weights of its cells, and take their moments.

    The weights have shape (n,), the moments (..., n - 1), without that of the constant function.
    """
    basis = transform(block.shape)
    whole = np.zeros((*moments.shape[:-1], block.cells))
    whole[..., 1:] = moments
    # The marginal of these moments has 1 / sqrt(n) of what `synthesise` gives, and the dual
    # variables of the moments have 1 / sqrt(n) of what `analyse` gives.
    logits = basis.synthesise(whole) * weight
    return np.asarray(basis.analyse(logits)[..., 1:] / block.cells)
