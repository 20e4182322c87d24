"""The dual of a problem with one axis of many categories: its Hessian has a block per category."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..basis import contrasts, transform
from ..fitted import REUSE, SPLIT_UNKNOWNS, SWEPT_UNKNOWNS
from ..limits import (
    BORDER_UNKNOWNS,
    NUMBERS_AT_ONCE,
    SCALED_BLOCKS,
    SCALED_CELLS,
    SCALED_UNKNOWNS,
    SPLIT_NUMBERS,
)
from ..types import Floats, Integers
from .bars import Bars
from .dual import Dual, LargeDual, is_large
from .problem import Problem
from .products import extended_numbers, whole_products
from .scaling.blocks import blocks_of
from .scaling.dual import ScaledDual

_LEAST_RIDGE = 1e-8
"""Smallest ridge. With less, rounding errors of the inverses spoil steps near zero cells."""


class _Layout(NamedTuple):
    """The positions of the unknowns if one axis, of n categories, is separated from the others.

    Attributes
    ----------
    axis
        The position of that axis.
    rest
        The sizes of the other axes.
    common
        The known functions that are constant on the axis, as rows among all known ones, shape (u,).
    bound
        The rows of the other known functions, shape (w, n - 1). Each is the product of a function h
        of the other axes and one of the n - 1 contrasts.
    outer
        The positions, among the coefficients of the table over the other axes, of the constant
        function and of the functions of `common`, shape (u + 1,).
    inner
        The positions of the w functions h in `outer`, shape (w,).
    """

    axis: int
    rest: tuple[int, ...]
    common: Integers
    bound: Integers
    outer: Integers
    inner: Integers


class SplitDual(Dual):
    """The dual of a problem in which one axis has many categories; faster Newton steps than `Dual`.

    `splits` tells for which problems it can be used. Let phi_hc be the dual variable of function h
    of the other axes at category c of this axis. Then sum_c phi_hc = 0, and the ridge adds
    ridge_h / n sum_c phi_hc ** 2. The categories interact only through these sums and through the
    functions that are constant on the axis. So the Hessian has a small block for each category, and
    a border. With u functions that are constant on the axis and w functions h, block elimination
    takes about n w (u + w) ** 2 steps, where a Cholesky factorisation takes (u + n w) ** 3 / 3.
    """

    def direction(
        self,
        distribution: Floats,
        gradient: Floats,
        fall: float,
    ) -> Floats:
        """Compute the Newton direction by block elimination, anew or with the last elimination."""
        if fall > REUSE:
            self._last = _Elimination(self.problem, self.ridge, distribution)
        return self._last.solve(gradient)

    def solver(self, distribution: Floats) -> Callable[[Floats], Floats]:
        """Make a function that solves with the Hessian by block elimination; see `Dual.solver`.

        Right-hand sides have shape (m, n).
        """
        elimination = _Elimination(self.problem, self.ridge, distribution)

        def solve(right: Floats) -> Floats:
            return np.stack([elimination.solve(one) for one in right.T], axis=1)

        return solve

    def bars(self, distribution: Floats) -> Bars:
        """Compute both parts of the uncertainty of each cell; see `Dual.bars`."""
        problem = self.problem
        elimination = _Elimination(problem, self.ridge, distribution)
        mean = self.moments(distribution)
        tilt = elimination.solve(problem.target)
        by_total = 1 + tilt @ mean - problem.functions(tilt)
        spread, known = elimination.spread(problem.variance)
        variance = problem.total**2 * spread + problem.total_variance * by_total**2
        free = np.clip(distribution - distribution**2 * known, 0.0, distribution)
        return Bars(
            variance=np.asarray(distribution**2 * variance),
            undetermined=np.asarray(problem.total**2 * free),
        )


class _Elimination:
    """Block elimination of the Hessian at one distribution; see `SplitDual`.

    The border has q = u + 1 + w unknowns: the dual variables of the functions `_Layout.outer`, and
    the multipliers of the w conditions sum_c phi_hc = 0. The unknown of the constant function turns
    means of products into covariances. Let D_c be the block of category c, and K_c its coupling to
    the border. `inverse` holds D_c^-1, shape (n, w, w), and `answer` holds D_c^-1 K_c, shape (n, w,
    q).
    """

    def __init__(
        self,
        problem: Problem,
        ridge: Floats,
        distribution: Floats,
    ) -> None:
        layout = _layout(problem.shape, problem.index.tobytes())
        assert layout is not None  # `splits` has checked this
        self.problem = problem
        self.layout = layout
        self.size = problem.shape[layout.axis]
        # Means of products of the outer functions, category by category.
        products = whole_products(layout.rest, layout.outer)
        place, factor = products.place, products.factor
        by_category = np.moveaxis(distribution.reshape(problem.shape), layout.axis, 0)
        means = products.means(by_category.reshape(self.size, -1))
        tied = means[:, place[layout.inner]]
        shared = means.sum(axis=0)[place]
        if factor is not None:
            tied *= factor[layout.inner]
            shared *= factor
        shared.flat[len(shared) + 1 :: len(shared) + 1] += ridge[layout.common]
        # The blocks, and their coupling to the border.
        blocks = tied[:, :, layout.inner]
        blocks += np.diag(ridge[layout.bound[:, 0]] / self.size)
        self.inverse = np.linalg.inv(blocks)
        multipliers = np.broadcast_to(np.eye(len(layout.inner)), blocks.shape)
        self.tied = np.concatenate([tied, multipliers], axis=2)
        self.answer = self.inverse @ self.tied
        # The border less the parts of all blocks (the Schur complement).
        width = self.tied.shape[2]
        border = -self.tied.reshape(-1, width).T @ self.answer.reshape(-1, width)
        border[: len(shared), : len(shared)] += shared
        self.border = np.linalg.inv(border)
        self.functions = contrasts(self.size)[1:] * math.sqrt(self.size)

    def solve(self, right: Floats) -> Floats:
        """Solve Hessian x solution = right, both of shape (m,)."""
        layout = self.layout
        outer = len(layout.outer)
        # Each block by itself.
        own = (right[layout.bound] @ self.functions).T[:, :, None] / self.size
        alone = self.inverse @ own
        # The border, given the blocks.
        known = -np.tensordot(self.tied, alone[:, :, 0], ((0, 1), (0, 1)))
        known[1:outer] += right[layout.common]
        weights = self.border @ known
        # The blocks, given the border.
        by_category = alone[:, :, 0] - self.answer @ weights
        solution = np.empty_like(right)
        solution[layout.common] = weights[1:outer]
        solution[layout.bound] = (self.functions @ by_category).T / self.size
        return solution

    def spread(self, variance: Floats) -> tuple[Floats, Floats]:
        """Two quadratic forms of each cell, both of shape (cells,).

        The first is the variance of the cell's logit less the mean logit, if the targets have
        errors of this variance, shape (m,). The second is 1 + (f - E f)' H^-1 (f - E f).
        """
        layout = self.layout
        rest = transform(layout.rest)
        outer = len(layout.outer)
        # The outer functions on the cells of the other axes.
        chosen = np.zeros((outer, rest.cells))
        chosen[np.arange(outer), layout.outer] = math.sqrt(rest.cells)
        functions = rest.synthesise(chosen)
        inner = functions[layout.inner]
        # The covariance of the border's right-hand side.
        own = variance[layout.bound[:, 0], None] / self.size
        width = self.answer.shape[2]
        form = self.answer.reshape(-1, width).T @ (own * self.answer).reshape(-1, width)
        form[np.arange(1, outer), np.arange(1, outer)] += variance[layout.common]
        form = self.border.T @ form @ self.border
        carried = self.answer @ self.border
        known = np.concatenate([functions, np.zeros((width - outer, rest.cells))])
        # A cell's error is the error of its category's block alone, and what the border adds.
        spread = np.empty((self.size, rest.cells))
        known_part = np.empty((self.size, rest.cells))
        step = max(1, NUMBERS_AT_ONCE // (width * rest.cells))
        for start in range(0, self.size, step):
            some = slice(start, start + step)
            right = known - self.answer[some].transpose(0, 2, 1) @ inner
            alone = self.inverse[some] @ inner
            spread[some] = (right * (form @ right)).sum(axis=1)
            spread[some] += (own * alone * (alone - 2 * (carried[some] @ right))).sum(axis=1)
            # The same two steps for the inverse of the Hessian itself.
            known_part[some] = (inner * alone).sum(axis=1)
            known_part[some] += (right * (self.border @ right)).sum(axis=1)
        return self._cells(np.maximum(spread, 0.0)), self._cells(known_part)

    def _cells(self, by_category: Floats) -> Floats:
        """A flattened table of the problem from one with the separate axis first."""
        shape = (self.size, *self.layout.rest)
        return np.moveaxis(by_category.reshape(shape), 0, self.layout.axis).reshape(-1)


def dual_of(problem: Problem, ridge: Floats) -> Dual:
    """Choose the fastest class: `ScaledDual`, `SplitDual`, `LargeDual` or `Dual`."""
    too_large = is_large(problem)
    if len(ridge) > SCALED_UNKNOWNS or problem.cells > SCALED_CELLS:
        blocks = blocks_of(problem, ridge)
        if blocks is not None and (len(blocks) <= SCALED_BLOCKS or too_large):
            return ScaledDual(problem, ridge, blocks)
    if splits(problem, ridge):
        return SplitDual(problem, ridge)
    if too_large:
        return LargeDual(problem, ridge)
    return Dual(problem, ridge)


def start_of(dual: Dual, tolerance: float) -> Floats:
    """Choose the dual variables at which Newton's method starts, shape (m,).

    If there are many unknowns, a few sweeps of `ScaledDual` come first. They cost much less than
    the Newton steps that they save. The result is the same, since the dual is strictly convex.
    """
    is_small = dual.problem.cells <= SCALED_CELLS and not isinstance(dual, LargeDual)
    if is_small and len(dual.ridge) >= SWEPT_UNKNOWNS:
        blocks = blocks_of(dual.problem, dual.ridge)
        if blocks is not None and len(blocks) <= SCALED_BLOCKS:
            return ScaledDual(dual.problem, dual.ridge, blocks).near()
    return dual.start(tolerance)


def stepping(dual: Dual) -> Dual:
    """Choose the dual whose Newton steps end a minimisation: `Dual` where sweeps were not enough.

    It is the same function of the same dual variables.
    """
    if isinstance(dual, ScaledDual) and not is_large(dual.problem):
        return Dual(dual.problem, dual.ridge)
    return dual


def splits(problem: Problem, ridge: Floats) -> bool:
    """Whether `SplitDual` can be used for a problem and is faster than `Dual`.

    It can be used only if, for each function of the other axes, the products with all contrasts of
    the separated axis have the same ridge and the same variance.
    """
    if len(ridge) < SPLIT_UNKNOWNS or extended_numbers(problem.shape) > SPLIT_NUMBERS:
        return False
    if ridge.min() < _LEAST_RIDGE:
        return False
    layout = _layout(problem.shape, problem.index.tobytes())
    if layout is None:
        return False
    border = len(layout.outer) + len(layout.inner)
    work = (layout.bound.size + border + problem.cells / 4) * border**2
    if border > BORDER_UNKNOWNS or 8 * work > len(ridge) ** 3:
        return False
    for some in (ridge, problem.variance):
        by_function = some[layout.bound]
        if (by_function != by_function[:, :1]).any():
            return False
    return True


@lru_cache(maxsize=64)
def _layout(shape: tuple[int, ...], index: bytes) -> _Layout | None:
    """Make the layout that separates the axis with the most categories.

    None if a function of the other axes is known with only some contrasts of this axis, or if it is
    not known by itself.
    """
    axis = int(np.argmax(shape))
    size = shape[axis]
    rest = (*shape[:axis], *shape[axis + 1 :])
    # Each known function is one of the axis times one of the others.
    known = np.frombuffer(index, dtype=np.int64)
    digits = list(np.unravel_index(known, shape))
    contrast = digits.pop(axis)
    other = np.ravel_multi_index(digits, rest) if rest else np.zeros(len(known), np.int64)
    common = np.flatnonzero(contrast == 0)
    outer = np.concatenate([[0], other[common]])
    # The others, by function and then by contrast.
    varying = np.flatnonzero(contrast)
    bound = varying[np.lexsort((contrast[varying], other[varying]))]
    functions, counts = np.unique(other[varying], return_counts=True)
    inner = np.searchsorted(outer, functions)
    complete = (counts == size - 1).all()
    alone = np.array_equal(outer[np.minimum(inner, len(outer) - 1)], functions)
    if not complete or not alone:
        return None
    return _Layout(axis, rest, common, bound.reshape(-1, size - 1), outer, inner)
