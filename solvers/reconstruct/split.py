"""`SplitDual`: the dual where one axis has many categories, with its Hessian eliminated category by
category."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..basis import contrasts, transform
from ..types import Floats, Integers
from .dual import REUSE, Dual, LargeDual, is_large
from .problem import Problem

_MANY_UNKNOWNS = 200
"""With fewer unknowns the whole Hessian is as fast."""

_LARGEST_BORDER = 1500

_LARGEST = 1 << 22
"""On larger tables, in the numbers of `Transform.extend`, the variances would take too much memory.
"""

_LEAST_RIDGE = 1e-8
"""With less, rounding errors of the blocks' inverses spoil the steps where cells are near zero."""

_AT_ONCE = 1 << 20
"""How many numbers are held at a time for the variances."""


class _Layout(NamedTuple):
    """Where the unknowns stand when one axis, of n categories, is taken apart from the others.

    Attributes
    ----------
    axis
        The place of that axis.
    rest
        The sizes of the others.
    common
        The known functions that are constant on the axis, as rows among all known ones, shape (u,).
    bound
        The others are products of a function h of the other axes and one of the n - 1 contrasts:
        their rows, shape (w, n - 1).
    outer
        The functions of the other axes: the constant and those of `common`, as coefficients, shape
        (u + 1,).
    inner
        Which of these are the h, shape (w,).
    """

    axis: int
    rest: tuple[int, ...]
    common: Integers
    bound: Integers
    outer: Integers
    inner: Integers


class SplitDual(Dual):
    """The dual of a problem in which one axis has many categories; for those that `splits` tells.

    Let phi_hc be the weight of function h of the other axes at category c, so that sum_c phi_hc =
    0, and the ridge of its contrasts is ridge_h / n sum_c phi_hc ** 2. Apart from these sums and
    from the functions that are constant on the axis, categories have nothing to do with each other.
    So the Hessian is a small block for each category and a border; to eliminate it takes some n w
    (u + w) ** 2 steps, not (u + n w) ** 3 / 3.
    """

    def direction(self, distribution: Floats, gradient: Floats, fall: float) -> Floats:
        """See `Dual.direction`."""
        if fall > REUSE:
            self._last = _Elimination(self.problem, self.ridge, distribution)
        return self._last.solve(gradient)

    def solver(self, distribution: Floats) -> Callable[[Floats], Floats]:
        """See `Dual.solver`, for right-hand sides of shape (m, n)."""
        elimination = _Elimination(self.problem, self.ridge, distribution)
        return lambda right: np.stack([elimination.solve(one) for one in right.T], axis=1)

    def variance(self, distribution: Floats) -> Floats:
        """See `Dual.variance`."""
        problem = self.problem
        elimination, mean = (
            _Elimination(problem, self.ridge, distribution),
            self.moments(distribution),
        )
        tilt = elimination.solve(problem.target)
        by_total = 1 + tilt @ mean - problem.functions(tilt)
        spread = elimination.spread(problem.variance)
        return np.asarray(
            distribution**2 * (problem.total**2 * spread + problem.total_variance * by_total**2)
        )


class _Elimination:
    """The Hessian at a distribution, eliminated.

    Unknowns of the border are the weights of `_Layout.outer`, where that of the constant makes
    means of products into covariances, and the multipliers of the w sums: q = u + 1 + w in all.
    With D_c the block of category c and K_c what ties it to the border, `inverse` holds D_c^-1,
    shape (n, w, w), and `answer` D_c^-1 K_c, shape (n, w, q).
    """

    def __init__(self, problem: Problem, ridge: Floats, distribution: Floats) -> None:
        layout = _layout(problem.shape, problem.index.tobytes())
        assert layout is not None  # or `splits` had said no
        self.problem, self.layout = problem, layout
        self.size = problem.shape[layout.axis]
        place, factor = _products(layout.rest, layout.outer.tobytes())
        table = np.moveaxis(distribution.reshape(problem.shape), layout.axis, 0).reshape(
            self.size, -1
        )
        means = transform(layout.rest).extend(table)
        tied = means[:, place[layout.inner]]
        shared = means.sum(axis=0)[place]
        if factor is not None:
            tied *= factor[layout.inner]
            shared *= factor
        shared.flat[len(shared) + 1 :: len(shared) + 1] += ridge[layout.common]
        blocks = tied[:, :, layout.inner]
        blocks += np.diag(ridge[layout.bound[:, 0]] / self.size)
        self.inverse = np.linalg.inv(blocks)
        self.tied = np.concatenate(
            [tied, np.broadcast_to(np.eye(len(layout.inner)), blocks.shape)], axis=2
        )
        self.answer = self.inverse @ self.tied
        width = self.tied.shape[2]
        border = -self.tied.reshape(-1, width).T @ self.answer.reshape(-1, width)
        border[: len(shared), : len(shared)] += shared
        self.border = np.linalg.inv(border)
        self.functions = contrasts(self.size)[1:] * math.sqrt(self.size)

    def solve(self, right: Floats) -> Floats:
        """The solution of Hessian x solution = right, both of shape (m,)."""
        layout = self.layout
        own = (right[layout.bound] @ self.functions).T[:, :, None] / self.size
        alone = self.inverse @ own
        outer = len(layout.outer)
        known = -np.tensordot(self.tied, alone[:, :, 0], ((0, 1), (0, 1)))
        known[1:outer] += right[layout.common]
        weights = self.border @ known
        by_category = alone[:, :, 0] - self.answer @ weights
        solution = np.empty_like(right)
        solution[layout.common] = weights[1:outer]
        solution[layout.bound] = (self.functions @ by_category).T / self.size
        return solution

    def spread(self, variance: Floats) -> Floats:
        """The variance of the logit of each cell, less their mean, that errors of the targets of
        this variance make."""
        layout, rest = self.layout, transform(self.layout.rest)
        outer = len(layout.outer)
        chosen = np.zeros((outer, rest.cells))
        chosen[np.arange(outer), layout.outer] = math.sqrt(rest.cells)
        functions = rest.synthesise(chosen)
        inner = functions[layout.inner]
        own = variance[layout.bound[:, 0], None] / self.size
        width = self.answer.shape[2]
        form = self.answer.reshape(-1, width).T @ (own * self.answer).reshape(-1, width)
        form[np.arange(1, outer), np.arange(1, outer)] += variance[layout.common]
        known = np.concatenate([functions, np.zeros((width - outer, rest.cells))])
        spread = np.empty((self.size, rest.cells))
        # A cell's errors are those of its category's block alone, and what they and the rest make
        # in the border.
        form, carried = self.border.T @ form @ self.border, self.answer @ self.border
        step = max(1, _AT_ONCE // (width * rest.cells))
        for start in range(0, self.size, step):
            some = slice(start, start + step)
            right = known - self.answer[some].transpose(0, 2, 1) @ inner
            alone = self.inverse[some] @ inner
            spread[some] = (right * (form @ right)).sum(axis=1)
            spread[some] += (own * alone * (alone - 2 * (carried[some] @ right))).sum(axis=1)
        shape = (self.size, *layout.rest)
        return np.moveaxis(np.maximum(spread, 0.0).reshape(shape), 0, layout.axis).reshape(-1)


def dual_of(problem: Problem, ridge: Floats) -> Dual:
    """The dual of a problem in the form that is fastest."""
    if splits(problem, ridge):
        return SplitDual(problem, ridge)
    return (LargeDual if is_large(problem.shape, len(ridge)) else Dual)(problem, ridge)


def splits(problem: Problem, ridge: Floats) -> bool:
    """Whether `SplitDual` serves a problem, and is faster than `Dual`.

    It needs ridges and variances that are the same for all contrasts with one function.
    """
    if (
        len(ridge) < _MANY_UNKNOWNS
        or is_large(problem.shape, 0, _LARGEST)
        or ridge.min() < _LEAST_RIDGE
    ):
        return False
    layout = _layout(problem.shape, problem.index.tobytes())
    if layout is None:
        return False
    border = len(layout.outer) + len(layout.inner)
    work = (layout.bound.size + border + problem.cells / 4) * border**2
    if border > _LARGEST_BORDER or 8 * work > len(ridge) ** 3:
        return False
    return all(
        (some[layout.bound] == some[layout.bound[:, :1]]).all()
        for some in (ridge, problem.variance)
    )


@lru_cache(maxsize=64)
def _layout(shape: tuple[int, ...], index: bytes) -> _Layout | None:
    """With the axis of most categories taken apart; None when a function is known with some of its
    contrasts only, or not by itself."""
    axis = int(np.argmax(shape))
    size, rest = shape[axis], (*shape[:axis], *shape[axis + 1 :])
    known = np.frombuffer(index, dtype=np.int64)
    digits = list(np.unravel_index(known, shape))
    contrast = digits.pop(axis)
    other = np.ravel_multi_index(digits, rest) if rest else np.zeros(len(known), np.int64)
    common = np.flatnonzero(contrast == 0)
    outer = np.concatenate([[0], other[common]])
    varying = np.flatnonzero(contrast)
    bound = varying[np.lexsort((contrast[varying], other[varying]))]
    functions, counts = np.unique(other[varying], return_counts=True)
    inner = np.searchsorted(outer, functions)
    if (counts != size - 1).any() or not np.array_equal(
        outer[np.minimum(inner, len(outer) - 1)], functions
    ):
        return None
    return _Layout(axis, rest, common, bound.reshape(-1, size - 1), outer, inner)


@lru_cache(maxsize=16)
def _products(shape: tuple[int, ...], index: bytes) -> tuple[Integers, Floats | None]:
    return transform(shape).products(np.frombuffer(index, dtype=np.int64))
