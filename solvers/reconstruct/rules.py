"""The rules of Newton's method, stated once for numpy (`newton`, `dual`) and compiled loops.

`newton_loops` compiles these same functions. Both ways follow one loop:

1. Stop if the gradient is small enough (`converged`).
2. Take a direction: the solution of Hessian x direction = gradient. A new factor of the Hessian
   is the expensive part, so `use_of_factor` says whether the factor of an earlier point serves.
3. Halve the step until the dual's value falls enough (`falls_enough`), and move.
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
"""Solve with the last factor as it stands."""

PRECONDITIONER: Final = 2
"""Take a few conjugate gradients with this point's Hessian, preconditioned by the last factor."""

SHORTEST: Final = 1e-12
"""Step length at which the line search gives up; a full step has length one."""


def converged(
    largest: float,
    dual_variable: float,
    tolerance: float,
) -> bool:
    """Whether the gradient is within the tolerance.

    Rounding of very large dual variables allows a little more.

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
    """How the factor of an earlier Hessian serves for the next step.

    Where the last step made the gradient small, the Hessian has changed little, and its factor is
    nearly right. Where it helped less, the factor is still a good preconditioner; with few unknowns
    a new factor costs no more than what that saves.

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
    """Whether a step lowers the dual's value by a quarter of what its slope promises.

    Very close to the optimum, rounding hides the fall of the value. Full steps converge there.

    Parameters
    ----------
    value, new
        The dual's value before and after the step.
    length
        The step's length, at most one.
    decrease
        gradient . direction.
    """
    hidden = decrease <= 1e-10 * (1 + abs(value))
    return hidden or new <= value - 0.25 * length * decrease


def cancels(
    squares: float,
    cells: int,
    peak: float,
    largest: float,
) -> bool:
    """Whether rounding errors matter in the quadratic forms g' X X' g of the cells.

    A form is at most `squares` times `cells`, and is rounded by 1e-16 of that.

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
