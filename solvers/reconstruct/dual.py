"""The dual problem of maximum entropy under noisy moments: value, gradient, Hessian, variances.

`Penalised` states the primal problem. `Newton` and the solvers that use scipy minimise the dual.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy

from ..basis import transform
from ..fitted import (
    BINARY_STRENGTH,
    MANY_UNKNOWNS,
    MIXED_STRENGTH,
    NEAR,
    SINGLE_AXIS_GROWTH,
)
from ..limits import EXTENDED_NUMBERS, HESSIAN_UNKNOWNS, NUMBERS_AT_ONCE, SUMMED_NUMBERS
from ..status import Status
from ..types import Floats, Integers
from .bars import Bars
from .batch import Batch
from .problem import Problem, Solution
from .products import Products, products_of
from .rules import PRECONDITIONER, SAME, cancels, converged, use_of_factor
from .sampling import (
    random_structure,
    sampled_undetermined,
    sampled_variance,
    standard_errors,
)
from .starts import start

_EXACT_MISS = 1e-5
"""If a moment with an exact target has a larger error, the targets contradict each other."""

_FLOOR = 1e-10
"""Smallest ridge. It keeps the dual strictly convex if constraints are exact or on the boundary."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Penalised:
    """Base class of solvers that maximise entropy with a penalty for missed moments.

    The problem is to minimise over distributions p: KL(p || uniform) + sum_S (E_p[f_S] -
    target_S) ** 2 / (2 ridge_S). f_S are the known basis functions, and the ridge is the tolerance
    of a moment: ridge_S = strength * r(|S|) * variance_S, with r(1) = 0.01 and r(j) = j ** 2. If
    some cells must be zero, p and the uniform distribution are zero there. `Problem.base` takes the
    place of the uniform distribution.

    Parameters
    ----------
    strength
        The factor above, > 0. None takes 1 for binary axes and 10 otherwise.
    tolerance
        The solver stops when no entry of the gradient of the dual is larger. An entry is the error
        of a moment.
    iterations
        The largest number of steps.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    strength: float | None = None
    tolerance: float = 1e-8
    iterations: int = 100

    def __post_init__(self) -> None:
        if self.strength is not None and not (self.strength > 0 and math.isfinite(self.strength)):
            raise ValueError(
                f"strength ({self.strength}) must be positive and finite; pass such a number"
            )
        if not self.tolerance > 0:
            raise ValueError(f"tolerance ({self.tolerance}) must be > 0; pass a larger number")
        if not self.iterations >= 0:
            raise ValueError(f"iterations ({self.iterations}) must be >= 0; pass a larger number")

    def strength_on(self, shape: tuple[int, ...]) -> float:
        """The strength for a table of this shape."""
        if self.strength is not None:
            return self.strength
        binary = max(shape, default=2) <= 2
        return BINARY_STRENGTH if binary else MIXED_STRENGTH

    def ridges_of(self, batch: Batch) -> Floats:
        """The ridges of the coefficients of a batch, shape (entries,)."""
        if batch.ridge is not None:
            return np.asarray(np.maximum(batch.ridge, _FLOOR))
        return self.ridges(batch.shape, batch.order, batch.variance)

    def ridges(
        self,
        shape: tuple[int, ...],
        order: Integers,
        variance: Floats,
    ) -> Floats:
        """Compute the ridge of each coefficient from its order and variance; at least 1e-10."""
        growth = np.where(order == 1, SINGLE_AXIS_GROWTH, order.astype(np.float64) ** 2)
        return np.asarray(np.maximum(self.strength_on(shape) * growth * variance, _FLOOR))

    def ridge(self, problem: Problem) -> Floats:
        """The ridges of a problem's coefficients, shape (m,)."""
        if problem.ridge is not None:
            return np.asarray(np.maximum(problem.ridge, _FLOOR))
        return self.ridges(problem.shape, problem.order, problem.variance)

    def objective(
        self,
        problem: Problem,
        distribution: Floats,
    ) -> float:
        """The value of the objective, in nats, at a distribution of shape (cells,)."""
        misses = problem.moments(distribution) - problem.target
        penalty = float(0.5 * (misses**2 / self.ridge(problem)).sum())
        return divergence(problem, distribution) + penalty

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
        """Make the `Solution` that belongs to some dual variables.

        Its status is optimal if the gradient of the dual is within the tolerance.

        Parameters
        ----------
        problem, dual
            The problem, and its dual.
        theta
            The dual variables, shape (m,).
        steps
            The number of steps that were made.
        started
            The process time when the solve began, in seconds.
        bars
            Whether the variance of each cell is computed.
        """
        distribution = dual.distribution(theta)
        done = reached(dual.gradient(theta, distribution), theta, self.tolerance)
        status = Status.OPTIMAL if done else Status.ITERATION_LIMIT
        if done and contradicts(problem, distribution):
            status = Status.RELAXED
        return problem.solution(
            distribution,
            bars=dual.bars(distribution) if bars else None,
            status=status,
            objective=_log_cells(problem) - dual.value(theta),
            iterations=steps,
            seconds=time.process_time() - started,
            relaxation=self.strength_on(problem.shape),
        )


def reached(
    gradient: Floats,
    theta: Floats,
    tolerance: float,
) -> bool:
    """Whether the gradient of the dual is so small that the solver may stop.

    `gradient` and the dual variables `theta` have shape (m,). The rule is `rules.converged`.
    """
    worst = float(np.abs(gradient).max(initial=0.0))
    largest = float(np.abs(theta).max(initial=0.0))
    return converged(worst, largest, tolerance)


def contradicts(problem: Problem, distribution: Floats) -> bool:
    """Whether a target of variance zero is missed: the exact targets then contradict each other."""
    exact = problem.variance == 0
    if not exact.any():
        return False
    misses = np.abs(problem.moments(distribution) - problem.target)
    return bool((misses[exact] > _EXACT_MISS).any())


def divergence(problem: Problem, distribution: Floats) -> float:
    """KL(p || reference) in nats; infinite if a cell is positive that must be zero."""
    if problem.zeros is not None and (distribution[problem.zeros] > 0).any():
        return math.inf
    held = distribution > 0
    positive = distribution[held]
    entropy = float(positive @ np.log(positive))
    if problem.log_base is not None:
        return entropy - float(positive @ problem.log_base[held])
    return entropy + math.log(len(problem.possible))


def _log_cells(problem: Problem) -> float:
    """The logarithm of the number of cells that need not be zero; zero if a base is given."""
    return math.log(len(problem.possible)) if problem.base is None else 0.0


class Dual:
    """The dual function of the problem of `Penalised`, with gradient, Hessian and Newton steps.

    The dual is to minimise, over the m dual variables theta (one for each known moment),

        log sum exp(sum_S theta_S f_S) - theta . target + sum_S ridge_S theta_S ** 2 / 2,

    where the first sum runs over the cells that need not be zero. Its minimum is log(number of
    these cells) minus the minimum of `Penalised.objective`. Theta stands for the distribution p in
    proportion to exp(sum_S theta_S f_S). Vectors have shape (m,), tables shape (cells,).
    """

    def __init__(
        self,
        problem: Problem,
        ridge: Floats,
    ) -> None:
        self.problem = problem
        self.ridge = ridge
        # The last results with their arguments. The methods are called one after another for the
        # same point, so these results are used again.
        self._weights_of: tuple[Floats | None, Floats, float] = (None, ridge, 0.0)
        self._moments_of: tuple[Floats | None, Floats] = (None, ridge)
        self._means_of: tuple[Floats | None, Floats] = (None, ridge)
        self._solve_last: Callable[[Floats], Floats]

    def start(self, tolerance: float) -> Floats:
        """Choose the dual variables at which a minimisation starts, shape (m,)."""
        return start(self.problem)

    def value(self, theta: Floats) -> float:
        """Compute the dual function at `theta`, in nats."""
        weights, top = self._weights(theta)
        log_sum = top + math.log(weights.sum())
        return float(log_sum - theta @ self.problem.target + 0.5 * (self.ridge * theta) @ theta)

    def distribution(self, theta: Floats) -> Floats:
        """Compute the distribution in proportion to exp(sum_S theta_S f_S), shape (cells,)."""
        weights, _ = self._weights(theta)
        return np.asarray(weights / weights.sum())

    def gradient(
        self,
        theta: Floats,
        distribution: Floats,
    ) -> Floats:
        """Compute the gradient of the dual at `theta`, shape (m,).

        It is E_p[f_S] - target_S + ridge_S theta_S, where p is `distribution`, the result of
        `Dual.distribution` for the same `theta`.
        """
        return self.moments(distribution) - self.problem.target + self.ridge * theta

    def moments(self, distribution: Floats) -> Floats:
        """Compute the known moments of a distribution, shape (m,); the last result is kept."""
        if self._moments_of[0] is not distribution:
            if max(self.problem.shape, default=2) <= 2 and not self.problem.by_margins:
                # On binary axes the means of products hold all moments, and the Hessian needs them.
                moments = self._means(distribution)[self.problem.index]
            else:
                moments = self.problem.moments(distribution)
            self._moments_of = distribution, moments
        return self._moments_of[1]

    @property
    def _products(self) -> Products:
        """The products of each pair of known functions."""
        return products_of(self.problem.shape, self.problem.index)

    def _means(self, distribution: Floats) -> Floats:
        """Compute `Products.means` of a distribution; the last result is kept."""
        if self._means_of[0] is not distribution:
            self._means_of = distribution, self._products.means(distribution)
        return self._means_of[1]

    def hessian(self, distribution: Floats) -> Floats:
        """Compute the Hessian of the dual at a distribution, shape (m, m).

        It is the covariance matrix of the known functions plus the diagonal matrix of the ridges.
        The means of products are looked up (`Products`). The next call overwrites the array.
        """
        products = self._products
        mean = self.moments(distribution)
        matrix = self._work[0]
        np.take(
            self._means(distribution),
            products.place,
            out=matrix,
            mode="clip",
        )
        if products.factor is not None:
            matrix *= products.factor
        if len(mean):
            # matrix -= outer(mean, mean), in place
            scipy.linalg.blas.dger(
                -1.0,
                mean,
                mean,
                a=matrix.T,
                overwrite_a=True,
            )
        matrix.flat[:: len(mean) + 1] += self.ridge
        return np.asarray(matrix)

    @cached_property
    def _work(self) -> Floats:
        """Work space for two matrices, kept because allocation takes longer than filling it."""
        return np.empty((2, len(self.ridge), len(self.ridge)))

    def solver(self, distribution: Floats) -> Callable[[Floats], Floats]:
        """Factor the Hessian; returns a function that solves Hessian x solution = right-hand side.

        It takes and returns arrays of shape (m, ...).
        """
        if not len(self.ridge):
            return lambda right: right
        factor = self._factor(distribution)
        return lambda right: np.asarray(scipy.linalg.lapack.dpotrs(factor, right, lower=True)[0])

    def inverse(self, distribution: Floats) -> Floats:
        """Compute the inverse of the Hessian, shape (m, m); the next call overwrites it."""
        matrix = self._work[1]
        if len(self.ridge):
            factor = self._factor(distribution, clean=True)
            half = scipy.linalg.lapack.dpotri(
                factor,
                lower=True,
                overwrite_c=True,
            )[0]
            np.add(half, half.T, out=matrix)
            matrix.flat[:: len(matrix) + 1] /= 2
        return np.asarray(matrix)

    def _factor(
        self,
        distribution: Floats,
        *,
        clean: bool = False,
    ) -> Floats:
        """Compute the Cholesky factor of the Hessian, a lower triangular matrix.

        The entries above the diagonal are zero if `clean`; otherwise they have no meaning.
        """
        # LAPACK is called directly. On small matrices the checks of scipy's usual interface take
        # longer than the work.
        hessian = self.hessian(distribution).T
        factor, failed = scipy.linalg.lapack.dpotrf(
            hessian,
            lower=True,
            clean=clean,
            overwrite_a=True,
        )
        if failed:
            raise np.linalg.LinAlgError(
                "the Hessian must be positive definite, but it is not; use a larger strength"
            )
        return np.asarray(factor)

    def direction(
        self,
        distribution: Floats,
        gradient: Floats,
        fall: float,
    ) -> Floats:
        """Compute the Newton direction, exactly or nearly: Hessian x direction = gradient.

        `fall` is the ratio of the largest entry of this gradient to that of the step before. It
        decides whether the factor of an earlier Hessian is used; see `rules.use_of_factor`.
        """
        # Where the table is much larger than the Hessian, products with vectors take longer than a
        # new factor.
        many = MANY_UNKNOWNS if self.problem.cells <= len(gradient) ** 2 else len(gradient)
        use = use_of_factor(fall, len(gradient), NEAR, many)
        if use == PRECONDITIONER:
            product = partial(self.product, distribution)
            return conjugate_gradients(product, gradient, self._solve_last, 0.1, iterations=3)
        if use != SAME:
            self._solve_last = self.solver(distribution)
        return self._solve_last(gradient)

    def product(
        self,
        distribution: Floats,
        vector: Floats,
    ) -> Floats:
        """Multiply the Hessian by a vector without computing the Hessian, by two transforms."""
        mean = self.moments(distribution)
        weighted = distribution * self.problem.functions(vector)
        moved = self.problem.moments(weighted) - mean * (mean @ vector)
        return np.asarray(moved + self.ridge * vector)

    def _weights(self, theta: Floats) -> tuple[Floats, float]:
        """exp(logit - largest logit) for each cell, shape (cells,), and the largest logit.

        The logit of a cell is sum_S theta_S f_S.
        """
        if self._weights_of[0] is not theta:
            logits = self.problem.functions(theta)
            if self.problem.log_base is not None:
                logits += self.problem.log_base
            if self.problem.zeros is not None:
                logits[self.problem.zeros] = -math.inf
            top = float(logits.max())
            self._weights_of = theta, np.exp(logits - top), top
        return self._weights_of[1:]

    def bars(self, distribution: Floats) -> Bars:
        """The two parts of the uncertainty of each cell, both of shape (cells,)."""
        inverse = self.inverse(distribution)
        # The variance overwrites the inverse.
        undetermined = self._undetermined(distribution, inverse)
        variance = self._variance(distribution, inverse)
        return Bars(variance=variance, undetermined=undetermined)

    def _undetermined(
        self,
        distribution: Floats,
        inverse: Floats,
    ) -> Floats:
        """See `Bars.undetermined`; shape (cells,).

        Before anything is known, the cells have the covariance diag(p) - p p'. The moments have the
        covariance H with their errors, so the cell has the variance p - p ** 2 - p ** 2 (f - E f)'
        H^-1 (f - E f) when they are known.
        """
        mean = self.moments(distribution)
        known = self._quadratic(inverse, inverse @ mean, mean)
        free = distribution - distribution**2 * (1 + known)
        return np.asarray(self.problem.total**2 * np.clip(free, 0.0, distribution))

    def _quadratic(
        self,
        weights: Floats,
        pulled: Floats,
        mean: Floats,
    ) -> Floats:
        """The quadratic form (f - E f)' M (f - E f) of each cell, shape (cells,).

        `weights` is M, shape (m, m), and `pulled` is M E f.
        """
        linear = self.problem.functions(pulled)
        return np.asarray(self._products.form(weights) - 2 * linear + mean @ pulled)

    def _variance(
        self,
        distribution: Floats,
        inverse: Floats,
    ) -> Floats:
        """Variances of the cells by the delta method, shape (cells,); `inverse` is overwritten.

        They are the squared derivatives of the optimum by the targets and the total, times the
        variances of these. The known quantities that are independent are the coefficients, total x
        target, and the total. With centred functions g, the cell p changes by p g' H^-1 per unit of
        the targets.

        Where cells are near zero and the noise is small, H^-1 is so large that the quadratic form
        of these derivatives is nothing but rounding errors. The squares of g' H^-1 are then summed
        instead, which takes longer. If there are too many of them, the variance comes from
        `sampled_variance`.
        """
        problem = self.problem
        mean = self.moments(distribution)
        pulled = inverse @ (problem.variance * (inverse @ mean))
        tilt = inverse @ problem.target
        inverse *= np.sqrt(problem.variance)
        weights = np.matmul(inverse, inverse.T, out=self._work[0])
        squares = float(np.trace(weights))
        quadratic = np.maximum(self._quadratic(weights, pulled, mean), 0.0)
        largest = (distribution**2 * quadratic).max()
        if cancels(squares, problem.cells, distribution.max(), largest):
            if len(tilt) * problem.cells > SUMMED_NUMBERS:
                pushed = (inverse @ error for error in standard_errors(len(tilt)))
                return sampled_variance(problem, distribution, tilt, pushed)
            quadratic = self._sum_of_squares(inverse.T, mean)
        by_total = 1 + tilt @ mean - problem.functions(tilt)
        variance = problem.total**2 * quadratic + problem.total_variance * by_total**2
        return np.asarray(distribution**2 * variance)

    def _sum_of_squares(
        self,
        weights: Floats,
        mean: Floats,
    ) -> Floats:
        """For each cell, the sum over i of (weights_i . (f - E f))**2, shape (cells,).

        `weights` has shape (n, m), and f are the m known functions at the cell.
        """
        total = np.zeros(self.problem.cells)
        step = max(1, NUMBERS_AT_ONCE // self.problem.cells)
        for first in range(0, len(weights), step):
            some = weights[first : first + step]
            centred = self.problem.functions(some) - (some @ mean)[:, None]
            total += (centred**2).sum(axis=0)
        return total


class LargeDual(Dual):
    """The dual of a problem whose Hessian is too large to store; it uses conjugate gradients."""

    def direction(
        self,
        distribution: Floats,
        gradient: Floats,
        fall: float,
    ) -> Floats:
        """Compute the Newton direction by conjugate gradients: Hessian x direction = gradient.

        The relative error is at most 0.1, and smaller when the gradient is small. This keeps the
        convergence of Newton's method fast (an inexact Newton method).
        """
        accuracy = min(0.1, math.sqrt(np.abs(gradient).max(initial=0.0)))
        return self._solve(distribution, gradient, accuracy)

    def bars(self, distribution: Floats) -> Bars:
        """The two parts of the uncertainty of each cell, from random errors; shape (cells,)."""
        problem = self.problem
        deviation = np.sqrt(problem.variance)
        tilt = self._solve(distribution, problem.target, 1e-6)
        pushed = (
            self._solve(distribution, deviation * error, 1e-3)
            for error in standard_errors(len(deviation))
        )
        structures = random_structure(problem, distribution, self.ridge)
        explained = (
            (table, self._solve(distribution, moments, 1e-3)) for table, moments in structures
        )
        return Bars(
            variance=sampled_variance(problem, distribution, tilt, pushed),
            undetermined=sampled_undetermined(problem, distribution, explained),
        )

    def solver(self, distribution: Floats) -> Callable[[Floats], Floats]:
        """Make a function that solves with the Hessian, by conjugate gradients; see `Dual.solver`.

        Right-hand sides have shape (m, n). The relative error is a thousandth.
        """

        def solve(right: Floats) -> Floats:
            if not len(right):
                return right  # nothing is known, so there is no system
            columns = [self._solve(distribution, one, 1e-3) for one in right.T]
            return np.stack(columns, axis=1)

        return solve

    def _solve(
        self,
        distribution: Floats,
        right: Floats,
        accuracy: float,
    ) -> Floats:
        """Solve Hessian x solution = right by diagonally preconditioned conjugate gradients."""
        mean = self.moments(distribution)
        squares = transform(self.problem.shape).squares(distribution)[self.problem.index]
        diagonal = np.maximum(squares - mean**2, 0.0) + self.ridge
        product = partial(self.product, distribution)
        return conjugate_gradients(product, right, lambda residual: residual / diagonal, accuracy)


def is_large(problem: Problem) -> bool:
    """Whether the Hessian of a problem, or what it is made from, is too large to store.

    The limits are `HESSIAN_UNKNOWNS` unknowns and `EXTENDED_NUMBERS` means of products. Larger
    problems use `LargeDual`.
    """
    if len(problem.index) > HESSIAN_UNKNOWNS:
        return True
    return products_of(problem.shape, problem.index).numbers > EXTENDED_NUMBERS


def conjugate_gradients(
    matrix: Callable[[Floats], Floats],
    right: Floats,
    precondition: Callable[[Floats], Floats],
    accuracy: float,
    iterations: int = 500,
) -> Floats:
    """Solve matrix x solution = right by preconditioned conjugate gradients.

    The iteration stops when the norm of the residual is `accuracy` times the first one. The norm is
    that of the preconditioner.
    """
    solution = np.zeros_like(right)
    residual = right.copy()
    scaled = precondition(residual)
    direction = scaled
    norm = float(residual @ scaled)
    goal = norm
    for _ in range(iterations):
        if norm <= accuracy**2 * goal:
            break
        product = matrix(direction)
        length = norm / float(direction @ product)
        solution += length * direction
        residual -= length * product
        scaled = precondition(residual)
        last = norm
        norm = float(residual @ scaled)
        direction = scaled + norm / last * direction
    return solution
