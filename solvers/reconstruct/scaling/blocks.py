"""Blocks: the known marginals into which the penalty of a large problem is split."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...basis import Transform, transform
from ...types import Floats, Integers
from ..problem import Problem


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
    share
        The part of the weight 1 / ridge_S of the moments `slots` that is the block's, shape (n -
        1,).
    """

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    dropped: tuple[int, ...]
    slots: Integers
    target: Floats
    ridge: float
    share: Floats

    @cached_property
    def cells(self) -> int:
        """The number of cells of the marginal."""
        return math.prod(self.shape)

    def marginal(self, table: Floats) -> Floats:
        """Sum a table of the problem's shape over the other axes."""
        return np.asarray(np.add.reduce(table, axis=self.dropped))

    def spread(self, marginal: Floats) -> Floats:
        """Give a marginal's array an axis of size one for each of the other axes."""
        return marginal.reshape(self._spread_shape)

    def dual(self, theta: Floats) -> Floats:
        """The block's dual variables, one for each cell, that stand for some `theta` at least cost.

        A part S of the logits can be held by every block whose axes contain S. The penalty of the
        dual is least if each holds a share in proportion to its weight: `share`, of all `theta` of
        shape (m,).
        """
        coefficients = np.zeros(self.cells)
        coefficients[1:] = theta[self.slots] * (self.share * math.sqrt(self.cells))
        return self._basis.synthesise(coefficients).reshape(self.shape)

    def theta(self, dual: Floats) -> Floats:
        """The dual variables of the moments `slots` that give the same logits, shape (n - 1,)."""
        return self._basis.analyse(dual.ravel())[1:] / math.sqrt(self.cells)

    @cached_property
    def _basis(self) -> Transform:
        return transform(self.shape)

    @cached_property
    def _spread_shape(self) -> tuple[int, ...]:
        sizes = iter(self.shape)
        every = range(len(self.axes) + len(self.dropped))
        return tuple(1 if axis in self.dropped else next(sizes) for axis in every)


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
        slots = np.searchsorted(problem.index, place[1:])
        blocks.append(
            Block(
                axes=axes,
                shape=shape,
                dropped=tuple(axis for axis in every if axis not in axes),
                slots=slots,
                target=target.reshape(shape),
                ridge=1 / (weight * len(place)),
                share=ridge[slots] * weight,
            )
        )
    return tuple(reversed(blocks))
