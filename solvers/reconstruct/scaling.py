"""The dual of a large problem, minimised by scaling one known marginal after another.

A table with hundreds of thousands of cells may have tens of thousands of known moments, but these
are the moments of a few marginals, each much smaller than the table. So sums and products over the
table go through these marginals, and the dual is minimised by a relaxed form of proportional
fitting instead of Newton steps.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..basis import transform
from ..fitted import REMEMBERED_SWEEPS
from ..types import Floats, Integers
from .bars import Bars
from .dual import LargeDual, reached
from .problem import Problem

_SWEEPS = 500
"""The largest number of sweeps through all blocks."""

_CELL_STEPS = 60
"""The largest number of Newton steps for the equation of one cell of a block."""

_RESTART = 3.0
"""Earlier sweeps are forgotten if the largest error is this many times the smallest so far."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Block:
    """A set of axes whose marginal is known, as one of the terms into which the penalty is split.

    Let m be the marginal on these axes, of n cells, and t the marginal that the targets give. The
    term is norm(m - t)^2 / (2 ridge). Part S of m, for a subset S of the axes, has the squared norm
    sum_a (E f_Sa)^2 / n, so the term adds 1 / (n ridge) to the weight 1 / ridge_S of every such
    part. The ridges of the blocks are chosen such that these sums are the weights of `Penalised`.

    Attributes
    ----------
    axes
        The positions of the axes, ascending.
    shape
        Their sizes.
    dropped
        The positions of the other axes.
    slots
        The positions of the marginal's moments among the known ones, int array of shape (n - 1,).
    target
        The marginal t, of sum one, of the block's shape.
    ridge
        The tolerance of one cell, > 0.
    """

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    dropped: tuple[int, ...]
    slots: Integers
    target: Floats
    ridge: float

    @property
    def cells(self) -> int:
        """The number of cells of the marginal."""
        return math.prod(self.shape)

    def marginal(self, table: Floats) -> Floats:
        """Sum a table of the problem's shape over the other axes."""
        return np.asarray(table.sum(axis=self.dropped))

    def spread(self, marginal: Floats) -> Floats:
        """Give a marginal's array an axis of size one for each of the other axes."""
        return np.expand_dims(marginal, self.dropped)

    def dual(self, theta: Floats, ridge: Floats) -> Floats:
        """The block's dual variables, one for each cell, that stand for some `theta` at least cost.

        A part S of the logits can be held by every block whose axes contain S. The penalty of the
        dual is least if each holds a share in proportion to its weight, 1 / (n ridge) of the
        1 / ridge_S of all together. `theta` and `ridge` have shape (m,).
        """
        share = ridge[self.slots] / (self.cells * self.ridge)
        coefficients = np.zeros(self.cells)
        coefficients[1:] = theta[self.slots] * share
        logits = transform(self.shape).synthesise(coefficients) * math.sqrt(self.cells)
        return logits.reshape(self.shape)

    def theta(self, dual: Floats) -> Floats:
        """The dual variables of the moments `slots` that give the same logits, shape (n - 1,)."""
        return transform(self.shape).analyse(dual.ravel())[1:] / math.sqrt(self.cells)


def blocks_of(problem: Problem, ridge: Floats) -> tuple[Block, ...] | None:
    """Split the penalty of a problem into blocks, from the smallest sets of axes to the largest.

    Returns None if there is no such split: the moments of one component have different ridges or
    variances, or the blocks above a component give it more weight than it has.
    """
    component = transform(problem.shape).component[problem.index]
    masks, first, part = np.unique(component, return_index=True, return_inverse=True)
    for some in (ridge, problem.variance):
        if (some != some[first][part]).any():
            return None
    ridges = dict(zip(masks.tolist(), ridge[first].tolist(), strict=True))
    positions = np.arange(problem.cells).reshape(problem.shape)
    moments = np.zeros(problem.cells)
    moments[0] = 1.0
    moments[problem.index] = problem.target
    # From the largest sets of axes to the smallest: what the blocks above leave of the weight.
    weights: dict[int, float] = {}
    blocks = []
    for mask in sorted(ridges, key=lambda mask: (-mask.bit_count(), mask)):
        above = sum(weight for other, weight in weights.items() if other & mask == mask)
        weight = 1 / ridges[mask] - above
        if not weight > 0:
            return None
        weights[mask] = weight
        every = range(len(problem.shape))
        axes = tuple(axis for axis in every if mask >> axis & 1)
        shape = tuple(problem.shape[axis] for axis in axes)
        corner = tuple(slice(None) if axis in axes else 0 for axis in every)
        place = positions[corner].ravel()
        target = transform(shape).synthesise(moments[place]) / math.sqrt(len(place))
        blocks.append(
            Block(
                axes=axes,
                shape=shape,
                dropped=tuple(axis for axis in every if axis not in axes),
                slots=np.searchsorted(problem.index, place[1:]),
                target=target.reshape(shape),
                ridge=1 / (weight * len(place)),
            )
        )
    return tuple(reversed(blocks))


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

    def start(self, tolerance: float) -> Floats:
        """Minimise the dual by sweeps until no entry of its gradient is larger; shape (m,).

        A sweep judges the errors of cells. The error of a moment is a weighted sum of them, so the
        sweeps go on with smaller errors of cells if a moment is not right yet.
        """
        theta = np.zeros(len(self.ridge))
        for accuracy in (tolerance, tolerance / 10, tolerance / 100):
            theta = self._minimise(theta, accuracy)
            if reached(self.gradient(theta, self.distribution(theta)), theta, tolerance):
                break
        return theta

    def _minimise(
        self,
        theta: Floats,
        accuracy: float,
    ) -> Floats:
        """Repeat sweeps until the largest error of a cell is at most `accuracy`.

        The sweeps are a fixed-point iteration. Anderson's method (1965) extrapolates from the last
        ones: it takes the combination of their results whose changes, combined alike, are least.
        """
        points: list[Floats] = []
        changes: list[Floats] = []
        smallest = math.inf
        for _ in range(_SWEEPS):
            swept, worst = self._sweep(theta)
            if worst <= accuracy:
                return swept
            if worst > _RESTART * smallest:
                points.clear()
                changes.clear()
            smallest = min(smallest, worst)
            points = [*points[-REMEMBERED_SWEEPS:], theta]
            changes = [*changes[-REMEMBERED_SWEEPS:], swept - theta]
            theta = _extrapolated(points, changes)
        return theta

    def _sweep(self, theta: Floats) -> tuple[Floats, float]:
        """Minimise the dual over one block after another.

        Returns the new dual variables, and the largest error of a cell before its block's turn.
        """
        table = self.distribution(theta).reshape(self.problem.shape).copy()
        swept = np.zeros_like(theta)
        worst = 0.0
        for block in self.blocks:
            dual = block.dual(theta, self.ridge)
            marginal = block.marginal(table)
            error = marginal + block.ridge * dual - block.target
            worst = max(worst, float(np.abs(error).max()))
            change = _cell_changes(marginal, error, block.ridge)
            # A cell without mass has none to be scaled.
            table *= block.spread(np.exp(np.where(marginal > 0, change, 0.0)))
            swept[block.slots] += block.theta(dual + change)
        return swept, worst

    def bars(self, distribution: Floats) -> Bars:
        """The two parts of the uncertainty of each cell; see `_Relative`."""
        return _Relative(self, distribution).bars()


def _extrapolated(points: list[Floats], changes: list[Floats]) -> Floats:
    """The next point of Anderson's method, from points and what a sweep changed at each."""
    if len(points) == 1:
        return points[0] + changes[0]
    between = np.diff(np.stack(changes), axis=0)
    moved = np.diff(np.stack(points), axis=0)
    normal = between @ between.T
    normal.flat[:: len(normal) + 1] += 1e-12 * np.trace(normal)
    weights = np.linalg.lstsq(normal, between @ changes[-1], rcond=None)[0]
    return np.asarray(points[-1] + changes[-1] - weights @ (moved + between))


def _cell_changes(marginal: Floats, error: Floats, ridge: float) -> Floats:
    """Solve the equation of each cell of a block, for the change of its dual variable.

    With the marginal m, the target t and the dual variable y, it is m exp(change) + ridge (y +
    change) = t. Its left side grows with the change and is convex, so that Newton's method always
    converges. `error` is m + ridge y - t.
    """
    # Start where the ridge alone, or the marginal alone, gives the target.
    goal = marginal - error
    by_scaling = np.log(np.maximum(goal, 1e-300)) - np.log(np.maximum(marginal, 1e-300))
    change = np.where(goal > 0, np.clip(by_scaling, -50.0, 50.0), 0.0)
    change = np.where(marginal > 0, change, -error / ridge)
    for _ in range(_CELL_STEPS):
        scaled = marginal * np.exp(np.minimum(change, 700.0))
        step = (scaled - marginal + error + ridge * change) / (scaled + ridge)
        change -= np.clip(step, -2.0, 2.0)
        if np.abs(step).max(initial=0.0) < 1e-13:
            break
    return change


class _Relative:
    """Bars in closed form, from relative errors of the known marginals.

    Where the known sets of axes form a tree of cliques, the table is the product of the marginals
    on the cliques over those on their intersections. So a relative change of a cell is

        sum over known sets S of c_S (relative change of the cell's marginal on S),

    where c_S = 1 - (the sum of c_T over known sets T that contain S properly). The same formula is
    exact for independent attributes of uniform marginals, whatever the known sets are. In between
    it is an approximation: the first step of the solution of Hessian x change = errors (Kikuchi,
    1951, has the same coefficients). A marginal with a ridge follows its target by m / (m + ridge).
    """

    def __init__(self, dual: ScaledDual, distribution: Floats) -> None:
        problem = dual.problem
        self.problem = problem
        self.distribution = distribution.reshape(problem.shape)
        self.blocks = dual.blocks
        self.ridges = [float(dual.ridge[block.slots[-1]]) / block.cells for block in dual.blocks]
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
