"""The decisions in Newton's method, as functions that numpy code and compiled loops share.

`newton` and `dual` call them in numpy, and `newton_loops` compiles them. The loop is:

1. Stop if the gradient is small enough (`converged`).
2. Compute a direction: the solution of Hessian x direction = gradient. Factoring the Hessian is
   the expensive part, so `use_of_factor` decides whether an earlier factor is good enough.
3. Line search: halve the step until the dual falls enough (`falls_enough`). Then move.
"""

from typing import Final

from ..fitted import REUSE

__all__ = [
    "NEW",
    "PRECONDITIONER",
    "SAME",
    "SHORTEST",
    "cancels",
    "converged",
    "falls_enough",
    "use_of_factor",
]

NEW: Final = 0
"""Factor the Hessian at this point."""

SAME: Final = 1
"""Solve with the factor of an earlier Hessian as if it were this one's."""

PRECONDITIONER: Final = 2
"""Take a few conjugate gradient steps with this Hessian, preconditioned by the last factor."""

SHORTEST: Final = 1e-12
"""Step length at which the line search gives up; a full step has length one."""


def converged(
    largest: float,
    dual_variable: float,
    tolerance: float,
) -> bool:
    """Whether the gradient is within the tolerance, plus rounding errors of the dual variables.

    Parameters
    ----------
    largest, dual_variable
        The largest absolute entries of the gradient and of the dual variables.
    tolerance
        The largest error of a moment.
    """
    return largest <= tolerance + 1e-15 * dual_variable


def use_of_factor(
    fall: float,
    unknowns: int,
    near: float,
    many: int,
) -> int:
    """Decide whether to use the factor of an earlier Hessian for the next step.

    If the last step made the gradient much smaller, the Hessian has changed little, and the factor
    can be used as it is. Otherwise it may still be a good preconditioner. With few unknowns this
    saves nothing, because a new factor is cheap.

    Parameters
    ----------
    fall
        The largest entry of the gradient over that of the step before; infinite at the first step.
    unknowns
        The number of dual variables.
    near, many
        `NEAR` and `MANY_UNKNOWNS` of `fitted` for numpy, `COMPILED_NEAR` and `COMPILED_MANY` for
        compiled loops.

    Returns
    -------
    int
        `NEW`, `SAME` or `PRECONDITIONER`.
    """
    if unknowns > many and fall <= near:
        return PRECONDITIONER
    if fall <= REUSE:
        return SAME
    return NEW


def falls_enough(
    value: float,
    new: float,
    length: float,
    decrease: float,
) -> bool:
    """Whether a step lowers the dual by at least a quarter of slope x length (Armijo's rule).

    Very close to the optimum, the decrease is smaller than rounding errors. Every step is accepted
    there.

    Parameters
    ----------
    value, new
        The dual's value before and after the step.
    length
        The step's length, at most one.
    decrease
        The slope: the product gradient . direction.
    """
    hidden = decrease <= 1e-10 * (1 + abs(value))
    return hidden or new <= value - 0.25 * length * decrease


def cancels(
    squares: float,
    cells: int,
    peak: float,
    largest: float,
) -> bool:
    """Whether rounding errors are too large in the quadratic forms g' X X' g of the cells.

    Each cell has a vector g of centred functions; see `Dual.variance`. A form is at most `squares`
    times `cells`. Its rounding error is about 1e-16 of that.

    Parameters
    ----------
    squares
        The sum of the squares of X.
    cells
        The number of cells.
    peak
        The largest cell.
    largest
        The largest product of a form and the square of its cell.
    """
    return 1e-16 * squares * cells * peak**2 > 1e-4 * largest
