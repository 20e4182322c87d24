"""A check of the numbers of a synopsis: those that no .margin file can hold are refused at once."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from ..domain.bounds import LAPLACE_KURTOSIS
from ..errors import DomainError

__all__ = ["check_finite", "check_kurtosis_of", "check_variances"]


def check_finite(form: object, *names: str) -> None:
    """Refuse fields of a synopsis that hold NaN or an infinite number: a DomainError."""
    for name in names:
        if not np.isfinite(np.asarray(getattr(form, name), np.float64)).all():
            raise DomainError(
                f"{name} of a {type(form).__name__} must hold finite numbers, but one is NaN or "
                "infinite, which no file can hold; put 0 for what was not measured"
            )


def check_variances(
    form: object,
    parts: Iterable[ArrayLike],
    *,
    name: str = "variance",
    say: str = "",
    nan: bool = False,
    inf: bool = False,
) -> None:
    """Refuse variances that are no numbers >= 0: a DomainError.

    Parameters
    ----------
    form
        The synopsis.
    parts
        The variances.
    name
        The field that holds them.
    say
        What to put instead, for the message.
    nan, inf
        Whether NaN and infinite variances have a meaning in this form.
    """
    for part in parts:
        variances = np.asarray(part, np.float64)
        # A comparison with NaN is False.
        fits = (variances >= 0) & (variances < np.inf)
        if nan:
            fits |= np.isnan(variances)
        if inf:
            fits |= variances == np.inf
        if not fits.all():
            raise DomainError(
                f"{name} of a {type(form).__name__} must hold finite variances >= 0, but one is "
                f"not, so no file can hold it; {say or 'put the variance of the noise'}"
            )


def check_kurtosis_of(form: object, parts: Iterable[ArrayLike]) -> None:
    """Refuse numbers that are no excess kurtosis of noise: a DomainError. Rounding is allowed."""
    for part in parts:
        kurtosis = np.asarray(part, np.float64)
        fits = (kurtosis >= 0) & (kurtosis <= LAPLACE_KURTOSIS * (1 + 1e-9))
        if not fits.all():
            raise DomainError(
                f"the kurtosis of a {type(form).__name__} must be from 0 to {LAPLACE_KURTOSIS:g}, "
                "but one is not; take that of private.events[-1].noise"
            )
