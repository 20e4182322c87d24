"""Checks of numbers that a user passes, with the same wording in every error message."""

import math
import operator
from fractions import Fraction
from numbers import Integral, Real

from ._numbers import shown
from .errors import BudgetError, DomainError, MarginError

__all__ = ["check_has_run", "positive_integer", "positive_number", "share", "whole_number"]


def whole_number(
    name: str,
    value: object,
    *,
    least: int = 1,
    most: int | None = None,
    error: type[MarginError] = DomainError,
) -> int:
    """Check that `value` is a whole number from `least` to `most`; return it as a plain int.

    Otherwise raise `error`, whose message calls the value `name`.
    """
    # The plain int is checked, because a user's object may define its own comparisons.
    number = None
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = operator.index(value)
    if number is None or number < least or (most is not None and number > most):
        expected = f">= {least}" if most is None else f"from {least} to {most}"
        raise error(
            f"{name} ({shown(value)}) must be a whole number {expected}; pass such a number"
        )
    return number


def positive_integer(name: str, value: object) -> int:
    """Check that `value` is a whole number >= 1; return it as a plain int.

    Otherwise raise a BudgetError, whose message calls the value `name`.
    """
    return whole_number(name, value, error=BudgetError)


def positive_number(
    name: str,
    value: object,
    *,
    error: type[MarginError] = DomainError,
) -> int | float | Fraction:
    """Check that `value` is a finite number > 0; return it unchanged.

    Otherwise raise `error`, whose message calls the value `name`.
    """
    if not _is_real(value) or not 0 < value < math.inf:  # type: ignore[operator]
        raise error(f"{name} ({shown(value)}) must be a finite number > 0; pass such a number")
    return value  # type: ignore[return-value]


def share(
    name: str,
    value: object,
    *,
    error: type[MarginError] = DomainError,
) -> int | float | Fraction:
    """Check that `value` is a number > 0 and < 1; return it unchanged.

    Otherwise raise `error`, whose message calls the value `name`.
    """
    if not _is_real(value) or not 0 < value < 1:  # type: ignore[operator]
        raise error(f"{name} ({shown(value)}) must be a number > 0 and < 1; pass such a number")
    return value  # type: ignore[return-value]


def check_has_run(mechanism: object) -> None:
    """Raise MarginError unless `mechanism` is an object with a method `run`."""
    if isinstance(mechanism, type):
        name = mechanism.__name__
        raise MarginError(
            f"mechanism must be an object with a method run, but it is the class {name}; call it: "
            f"{name}()"
        )
    if not callable(getattr(mechanism, "run", None)):
        raise MarginError(
            f"mechanism must be an object with a method run, not {mechanism!r}; pass one such as "
            "PriView()"
        )


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
