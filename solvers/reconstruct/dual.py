"""The dual of maximum entropy under noisy moments, in numpy: what `Newton` and the scipy solvers
minimise."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np
import scipy.linalg

from ..basis import transform
from ..status import Status
from ..types import Floats, Integers
from .problem import Problem, Solution
from .sampling import sampled_variance, standard_errors

_EXACT_MISS = 1e-5
"""How far a moment may miss an exact target."""

REUSE = 0.05
"""When a step makes the gradient this small a part of what it was, the factor of the Hessian serves
again."""

_NEAR = 0.4
"""When it makes it this small a part, as steps do where cells go to zero (by e each), the factor
still serves as a preconditioner."""

MANY_UNKNOWNS = 200
"""With fewer unknowns a new factor costs no more than what that saves."""

_AT_ONCE = 1 << 20
"""How many numbers are made at a time."""

_MOST_SUMMED = 1 << 28
"""How many numbers are squared and summed for the variances of cells at most; where there are more
they are sampled."""

_FLOOR = 1e-10
"""The least ridge: keeps the dual strictly convex where constraints are exact or sit on the
boundary."""


@dataclass(frozen=True, kw_only=True)
class Penalised:
    """For solvers of maximum entropy under noisy moments: its parameters and its objective.

    Minimise over distributions p: KL(p || uniform) + sum_S (E_p[f_S] - target_S) ** 2 / (2
    ridge_S), where f_S are the known basis functions and ridge_S = strength * r(|S|) * variance_S,
    with r(1) = 0.01 and r(j) = j ** 2. Where cells must be zero, p and the uniform distribution are
    those on the other cells.

    Parameters
    ----------
    strength
        The factor above, > 0. None takes 1 for binary axes and 10 otherwise.
    tolerance
        Where to stop: the largest entry of the dual's gradient, that is the error of a moment.
    iterations
        How many steps are made at most.
    """

    strength: float | None = None
    tolerance: float = 1e-8
    iterations: int = 100

    def __post_init__(self) -> None:
        if self.strength is not None and not (self.strength > 0 and math.isfinite(self.strength)):
            raise ValueError(f"strength ({self.strength}) must be positive and finite")
        if not self.tolerance > 0:
            raise ValueError(f"tolerance ({self.tolerance}) must be > 0")
        if not self.iterations >= 0:
            raise ValueError(f"iterations ({self.iterations}) must be >= 0")

    def strength_on(self, shape: tuple[int, ...]) -> float:
        """The factor of the ridge on tables of this shape."""
        return (
            self.strength
            if self.strength is not None
            else 1.0
            if max(shape, default=2) <= 2
            else 10.0
        )

    def ridges(self, shape: tuple[int, ...], order: Integers, variance: Floats) -> Floats:
        """The ridges of coefficients of these orders and variances, each at least 1e-10."""
        growth = np.where(order == 1, 0.01, order.astype(np.float64) ** 2)
        return np.asarray(np.maximum(self.strength_on(shape) * growth * variance, _FLOOR))

    def ridge(self, problem: Problem) -> Floats:
        """The ridges of a problem's coefficients, shape (m,)."""
        return self.ridges(problem.shape, problem.order, problem.variance)

    def objective(self, problem: Problem, distribution: Floats) -> float:
        """The value, in nats, of what is minimised, at a distribution of shape (cells,)."""
        misses = problem.moments(distribution) - problem.target
        return divergence(problem, distribution) + float(
            0.5 * (misses**2 / self.ridge(problem)).sum()
        )

    def solved(
        self,
        problem: Problem,
        dual: "Dual",
        theta: Floats,
        steps: int,
        started: float,
        *,
        bars: bool = False,
    ) -> Solution:
        """The solution that these dual variables make: optimal where the gradient is within the
        tolerance."""
        distribution = dual.distribution(theta)
        done = reached(dual.gradient(theta, distribution), theta, self.tolerance)
        status = Status.OPTIMAL if done else Status.ITERATION_LIMIT
        variance = dual.variance(distribution).reshape(problem.shape) if bars else None
        return problem.solution(
            distribution,
            variance=variance,
            status=Status.RELAXED if status.ok and contradicts(problem, distribution) else status,
            objective=math.log(len(problem.possible)) - dual.value(theta),
            iterations=steps,
            seconds=time.process_time() - started,
            relaxation=self.strength_on(problem.shape),
        )


def reached(gradient: Floats, theta: Floats, tolerance: float) -> bool:
    """Whether the gradient is within the tolerance, or within what rounding of very large dual
    variables allows."""
    return bool(
        np.abs(gradient).max(initial=0.0) <= tolerance + 1e-15 * np.abs(theta).max(initial=0.0)
    )


def contradicts(problem: Problem, distribution: Floats) -> bool:
    """Whether a target of variance zero is missed: the exact targets then contradict each other."""
    exact = problem.variance == 0
    return bool(exact.any()) and bool(
        (np.abs(problem.moments(distribution) - problem.target)[exact] > _EXACT_MISS).any()
    )


def divergence(problem: Problem, distribution: Floats) -> float:
    """KL(p || uniform) in nats; infinite where a cell is positive that must be zero."""
    if problem.zeros is not None and (distribution[problem.zeros] > 0).any():
        return math.inf
    positive = distribution[distribution > 0]
    return float(positive @ np.log(positive)) + math.log(len(problem.possible))


class Dual:
    """log sum exp(sum_S theta_S f_S) - theta . target + sum_S ridge_S theta_S ** 2 / 2, and its
    derivatives.

    Its minimum is log(cells) less that of `Penalised.objective`; sum and number are over the cells
    that need not be zero. All vectors have shape (m,), tables shape (cells,).
    """

    def __init__(self, problem: Problem, ridge: Floats) -> None:
        self.problem = problem
        self.ridge = ridge
        # What was computed last, and for which argument: value, distribution, gradient and Hessian
        # are asked for in
        # turn.
        self._weights_of: tuple[Floats | None, Floats, float] = (None, ridge, 0.0)
        self._moments_of: tuple[Floats | None, Floats] = (None, ridge)
        self._solve_last: Callable[[Floats], Floats]

    def value(self, theta: Floats) -> float:
        weights, top = self._weights(theta)
        log_sum = top + math.log(weights.sum())
        return float(log_sum - theta @ self.problem.target + 0.5 * (self.ridge * theta) @ theta)

    def distribution(self, theta: Floats) -> Floats:
        weights, _ = self._weights(theta)
        return np.asarray(weights / weights.sum())

    def gradient(self, theta: Floats, distribution: Floats) -> Floats:
        return self.moments(distribution) - self.problem.target + self.ridge * theta

    def moments(self, distribution: Floats) -> Floats:
        """See `Problem.moments`."""
        if self._moments_of[0] is not distribution:
            self._moments_of = distribution, self.problem.moments(distribution)
        return self._moments_of[1]

    def hessian(self, distribution: Floats) -> Floats:
        """The covariances of the functions plus the ridge, shape (m, m), looked up in one extended
        transform; it lasts until the next call."""
        place, factor = _products(self.problem.shape, self.problem.index.tobytes())
        mean, matrix = self.moments(distribution), self._work[0]
        np.take(transform(self.problem.shape).extend(distribution), place, out=matrix, mode="clip")
        if factor is not None:
            matrix *= factor
        if len(mean):
            scipy.linalg.blas.dger(-1.0, mean, mean, a=matrix.T, overwrite_a=True)
        matrix.flat[:: len(mean) + 1] += self.ridge
        return np.asarray(matrix)

    @cached_property
    def _work(self) -> Floats:
        """Room for two matrices: to ask for it each time takes longer than what is done with it."""
        return np.empty((2, len(self.ridge), len(self.ridge)))

    def solver(self, distribution: Floats) -> Callable[[Floats], Floats]:
        """The map from right-hand sides to solutions of Hessian x solution = right, both of shape
        (m, ...)."""
        if not len(self.ridge):
            return lambda right: right
        factor = self._factor(distribution)
        return lambda right: np.asarray(scipy.linalg.lapack.dpotrs(factor, right, lower=True)[0])

    def inverse(self, distribution: Floats) -> Floats:
        """The inverse of the Hessian, shape (m, m); it lasts until the next call."""
        matrix = self._work[1]
        if len(self.ridge):
            factor = self._factor(distribution, clean=True)
            half = scipy.linalg.lapack.dpotri(factor, lower=True, overwrite_c=True)[0]
            np.add(half, half.T, out=matrix)
            matrix.flat[:: len(matrix) + 1] /= 2
        return np.asarray(matrix)

    def _factor(self, distribution: Floats, *, clean: bool = False) -> Floats:
        """The lower triangular factor of the Hessian; what stands above it is zero if `clean`, or
        of no meaning."""
        # Straight from LAPACK: on small matrices the checks of the usual interface take longer than
        # the work.
        hessian = self.hessian(distribution).T
        factor, failed = scipy.linalg.lapack.dpotrf(
            hessian, lower=True, clean=clean, overwrite_a=True
        )
        if failed:
            raise np.linalg.LinAlgError("the Hessian is not positive definite")
        return np.asarray(factor)

    def direction(self, distribution: Floats, gradient: Floats, fall: float) -> Floats:
        """The solution of Hessian x direction = gradient, or nearly: the step before made the
        gradient `fall` times what it was, and where that is little, the factor of the call before
        serves again."""
        if fall <= _NEAR and len(gradient) > MANY_UNKNOWNS:
            product = partial(self.product, distribution)
            return _conjugate_gradients(product, gradient, self._solve_last, 0.1, iterations=3)
        if fall <= REUSE:
            return self._solve_last(gradient)
        self._solve_last = self.solver(distribution)
        return self._solve_last(gradient)

    def product(self, distribution: Floats, vector: Floats) -> Floats:
        """The Hessian times a vector, without the Hessian."""
        mean = self.moments(distribution)
        moved = self.problem.moments(distribution * self.problem.functions(vector)) - mean * (
            mean @ vector
        )
        return np.asarray(moved + self.ridge * vector)

    def _weights(self, theta: Floats) -> tuple[Floats, float]:
        """The exponentials of the logits less the largest, and that."""
        if self._weights_of[0] is not theta:
            logits = self.problem.functions(theta)
            if self.problem.zeros is not None:
                logits[self.problem.zeros] = -math.inf
            top = float(logits.max())
            self._weights_of = theta, np.exp(logits - top), top
        return self._weights_of[1:]

    def variance(self, distribution: Floats) -> Floats:
        """Cell variances by the delta method: the optimum's derivatives by targets and total, times
        their variances.

        The known quantities that are independent are the coefficients total x target, and the
        total. With centred functions g, the cell p changes by p g' H^-1 per unit of the targets;
        the quadratic form of the derivatives is a sum over pairs of functions, hence one transform
        of the weights of their products. Where there are cells near zero and little noise, H^-1 is
        so large that this sum cancels out but for rounding errors: it is then taken over the
        squares of g' H^-1, which takes longer, or, where these are too many, by `sampled_variance`.
        """
        problem, basis = self.problem, transform(self.problem.shape)
        inverse, mean = self.inverse(distribution), self.moments(distribution)
        pulled, tilt = inverse @ (problem.variance * (inverse @ mean)), inverse @ problem.target
        inverse *= np.sqrt(problem.variance)
        weights = np.matmul(inverse, inverse.T, out=self._work[0])
        squares = float(np.trace(weights))
        place, factor = _products(problem.shape, problem.index.tobytes())
        width = math.prod(basis.width(size) for size in problem.shape)
        if factor is not None:
            weights *= factor
        summed = np.bincount(place.ravel(), weights.ravel(), width).astype(np.float64)
        linear, tilted = problem.functions(np.stack([pulled, tilt]))
        quadratic = np.maximum(basis.narrow(summed) - 2 * linear + mean @ pulled, 0.0)
        if cancels(squares, problem.cells, distribution.max(), (distribution**2 * quadratic).max()):
            if len(tilt) * problem.cells > _MOST_SUMMED:
                pushed = (inverse @ error for error in standard_errors(len(tilt)))
                return sampled_variance(problem, distribution, tilt, pushed)
            quadratic = self._sum_of_squares(inverse.T, mean)
        by_total = 1 + tilt @ mean - tilted
        return np.asarray(
            distribution**2 * (problem.total**2 * quadratic + problem.total_variance * by_total**2)
        )

    def _sum_of_squares(self, weights: Floats, mean: Floats) -> Floats:
        """For each cell the sum of the squares of functions of these weights, shape (n, m), less
        their means."""
        total, step = np.zeros(self.problem.cells), max(1, _AT_ONCE // self.problem.cells)
        for start in range(0, len(weights), step):
            some = weights[start : start + step]
            total += ((self.problem.functions(some) - (some @ mean)[:, None]) ** 2).sum(axis=0)
        return total


def cancels(squares: float, cells: int, peak: float, largest: float) -> bool:
    """Whether rounding errors matter in quadratic forms g' X X' g, where these are the sum of
    squares of X, the number of cells, the largest cell and the largest product of a form and its
    squared cell.

    A form is at most `squares` times `cells`, and rounded by so much times 1e-16.
    """
    return 1e-16 * squares * cells * peak**2 > 1e-4 * largest


class LargeDual(Dual):
    """The same without matrices, for problems whose Hessian is too large to write down."""

    def direction(self, distribution: Floats, gradient: Floats, fall: float) -> Floats:
        """As above, but by conjugate gradients to an error of a tenth, or less as the gradient
        falls: that keeps Newton's convergence fast without wasted work."""
        return self._solve(
            distribution, gradient, min(0.1, math.sqrt(np.abs(gradient).max(initial=0.0)))
        )

    def variance(self, distribution: Floats) -> Floats:
        """As above, but by `sampled_variance`."""
        problem, deviation = self.problem, np.sqrt(self.problem.variance)
        tilt = self._solve(distribution, problem.target, 1e-6)
        pushed = (
            self._solve(distribution, deviation * error, 1e-3)
            for error in standard_errors(len(deviation))
        )
        return sampled_variance(problem, distribution, tilt, pushed)

    def solver(self, distribution: Floats) -> Callable[[Floats], Floats]:
        """As above, for right-hand sides of shape (m, n), to an error of a thousandth."""
        return lambda right: np.stack(
            [self._solve(distribution, one, 1e-3) for one in right.T], axis=1
        )

    def _solve(self, distribution: Floats, right: Floats, accuracy: float) -> Floats:
        mean = self.moments(distribution)
        squares = transform(self.problem.shape).squares(distribution)[self.problem.index]
        diagonal = np.maximum(squares - mean**2, 0.0) + self.ridge
        product = partial(self.product, distribution)
        return _conjugate_gradients(product, right, lambda residual: residual / diagonal, accuracy)


_LARGEST_HESSIAN = 2500
_LARGEST_EXTENDED = 1 << 26
"""Means of products of functions are looked up in a table of up to so many numbers, for a moment
half a gigabyte."""


def is_large(shape: tuple[int, ...], unknowns: int, largest: int = _LARGEST_EXTENDED) -> bool:
    """Whether a problem needs `LargeDual`, where means of products may take up a table of so many
    numbers."""
    width = math.prod(transform(()).width(size) for size in shape)
    return unknowns > _LARGEST_HESSIAN or width > largest


@lru_cache(maxsize=16)
def _products(shape: tuple[int, ...], index: bytes) -> tuple[Integers, Floats | None]:
    return transform(shape).products(np.frombuffer(index, dtype=np.int64))


def _conjugate_gradients(
    matrix: Callable[[Floats], Floats],
    right: Floats,
    precondition: Callable[[Floats], Floats],
    accuracy: float,
    iterations: int = 500,
) -> Floats:
    """Preconditioned conjugate gradients until the residual, in the preconditioner's norm, falls by
    `accuracy`."""
    solution = np.zeros_like(right)
    residual = right.copy()
    scaled = precondition(residual)
    direction = scaled
    norm = goal = float(residual @ scaled)
    for _ in range(iterations):
        if norm <= accuracy**2 * goal:
            break
        product = matrix(direction)
        length = norm / float(direction @ product)
        solution += length * direction
        residual -= length * product
        scaled = precondition(residual)
        norm, last = float(residual @ scaled), norm
        direction = scaled + norm / last * direction
    return solution
