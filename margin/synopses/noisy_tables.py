"""Noisy tables of views of a domain, in the form that the solvers take, the excess kurtosis of
their noise in files, and a check of the numbers of a synopsis: those that no file can hold."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import Floats, Integers
from ..domain.bounds import LAPLACE_KURTOSIS
from ..domain.domain import Domain, View
from ..errors import DomainError
from ..solvers import Tables

__all__ = [
    "LEAST_VARIANCE",
    "check_finite",
    "check_kurtosis",
    "check_variances",
    "in_view_order",
    "negative_left",
    "packed_kurtosis",
    "read_kurtosis",
    "tables_of",
]

LEAST_VARIANCE = 1e-12
"""Smallest variance that tables are given, in squared rows.

Noise of a smaller variance is almost surely zero, and weights by its inverse would overflow.
"""


def negative_left(tables: Iterable[Floats | Integers]) -> dict[str, str]:
    """What a summary says if some noisy counts are negative, by its title; empty if none is.

    >>> list(negative_left([np.array([3.0, -1.0])])), negative_left([np.array([3.0])])
    (['negative'], {})
    """
    if all(table.min(initial=0.0) >= 0 for table in tables):
        return {}
    return {
        "negative": "counts may be below zero, because negative counts were not removed; such a "
        "count is the low bound of its own interval"
    }


def in_view_order(table: Floats, axes: Iterable[int]) -> Floats:
    """Turn the axes of a table from the order of the domain to the order of a view.

    Parameters
    ----------
    table
        One axis for each attribute of the view, in the order of the domain.
    axes
        The places of the attributes in the domain, in the order of the view.
    """
    # The rank of each attribute is its axis in the table.
    ranks = np.argsort(np.argsort(list(axes)))
    return table.transpose(ranks)


def tables_of(
    domain: Domain,
    views: Sequence[View],
    values: Iterable[Floats],
    variances: Iterable[float],
) -> Tables:
    """Collect noisy tables of views as the `Tables` that the solvers take.

    Their axes are brought into the order of the domain. Its rules, its number of rows and its known
    tables are added; a known table that lies in no view comes after the views.

    Parameters
    ----------
    domain
        The attributes.
    views
        Views of the domain.
    values
        The table of each view, with axes in the order of its names.
    variances
        The variance of the independent noise in each cell of each table, in squared rows.
    """
    axes = [domain.axes(view) for view in views]
    turned = [
        value.transpose(np.argsort(view))
        for value, view in zip(
            values,
            axes,
            strict=True,
        )
    ]
    return Tables(
        sizes=domain.sizes,
        views=tuple(tuple(sorted(view)) for view in axes),
        values=tuple(turned),
        variances=tuple(max(float(variance), LEAST_VARIANCE) for variance in variances),
        zeros=domain.zeros,
        known=domain.constraints,
    ).with_known()


def packed_kurtosis(kurtosis: float) -> dict[str, float]:
    """The field of a file; none for a kurtosis of 0, as in older files."""
    return {"kurtosis": kurtosis} if kurtosis else {}


def read_kurtosis(fields: Mapping[str, Any]) -> float:
    """The kurtosis from the fields of a file: 0 if there is none."""
    return float(fields.get("kurtosis", 0.0))


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


def check_kurtosis(form: object, parts: Iterable[ArrayLike]) -> None:
    """Refuse numbers that are no excess kurtosis of noise: a DomainError. Rounding is allowed."""
    for part in parts:
        kurtosis = np.asarray(part, np.float64)
        fits = (kurtosis >= 0) & (kurtosis <= LAPLACE_KURTOSIS * (1 + 1e-9))
        if not fits.all():
            raise DomainError(
                f"the kurtosis of a {type(form).__name__} must be from 0 to {LAPLACE_KURTOSIS:g}, "
                "but one is not; take that of private.events[-1].noise"
            )
