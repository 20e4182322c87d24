"""Helpers for exact integers: rounding public arrays, distances between tables, and cutting off.

**Cut-off.** A true number that would not fit into 64 bits is cut off at a public bound b. It is
never refused, because a refusal that depends on the rows would reveal something about them without
a charge. The cut-off is x -> min(max(x, -b), b). It does not increase the distance between two
numbers. So neither the L1 nor the L2 distance of two true answers grows, nor does the change of any
one score. Each use states why this is sufficient.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Integers
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..errors import DomainError

__all__ = [
    "LARGEST_ANSWERS",
    "LARGEST_GAP",
    "LARGEST_TRUE",
    "LARGEST_WEIGHT",
    "cut_off",
    "digest",
    "gaps",
    "public_tables",
    "total",
    "view_weights",
    "whole",
    "within",
]


LARGEST_TRUE = 1 << 61
"""Cut-off of true answers that get noise: with noise of at most 2**62 they fit into 64 bits."""

LARGEST_GAP = 1 << 40
"""Cut-off of the distances of tables from public answers."""

LARGEST_ANSWERS = 1 << 39
"""Largest sum of the absolute values of all public answers of a call."""

LARGEST_WEIGHT = 1 << 20
"""Largest weight of a view; where distances are added up, largest sum of all weights."""

_LARGEST = 1 << 40  # largest absolute value of a public number


def whole(
    name: str,
    value: object,
    shape: tuple[int, ...],
) -> Integers:
    """Copy a public array, round it to integers, and check its shape and size.

    The copy is made before the check. So later changes of the original have no effect.

    Raises
    ------
    DomainError
        When `value` has another shape, or holds other things than finite numbers of at most 2**40
        in absolute value. The message names it as `name`.
    """
    return _rounded(_numbers(name, value, shape))


def public_tables(
    public: Sequence[object],
    views: Sequence[View],
    domain: Domain,
) -> list[Integers]:
    """Copy the public answers of views, rounded to integers, and check them.

    Raises
    ------
    DomainError
        When there is not one answer for each view, an answer is not as described in `whole` or is
        the Marginal of another view, or the absolute values sum to more than `LARGEST_ANSWERS`.
    """
    if len(public) != len(views):
        raise DomainError(
            f"{len(public)} public answers are given for {len(views)} views; give one for each"
        )
    tables = []
    for answer, view in zip(public, views, strict=True):
        if isinstance(answer, Marginal) and answer.attributes != view:
            raise DomainError(
                f"the public answer of view {view} must be a marginal of the same attributes in "
                f"the same order, but it is one of {answer.attributes}; pass the view's own"
            )
        tables.append(whole("a public answer", answer, domain.shape(view)))
    if sum(total(np.abs(table)) for table in tables) > LARGEST_ANSWERS:
        raise DomainError(
            "the absolute values of public answers must sum to at most 2**39, but their sum is "
            "larger; pass smaller answers"
        )
    return tables


def view_weights(weights: Sequence[int] | None, views: int) -> Integers:
    """Copy the weights of views, and check them; None gives each view the weight 1: (views,).

    Raises
    ------
    DomainError
        When they are not whole numbers from 0 to `LARGEST_WEIGHT`, one for each view, or all are
        zero.
    """
    given = _numbers("weights", [1] * views if weights is None else weights, (views,))
    checked = _rounded(given)
    if (checked != given).any():
        raise DomainError(
            "weights must be whole numbers, but they hold fractions; multiply them by a common "
            "denominator"
        )
    if checked.min() < 0 or not 1 <= checked.max() <= LARGEST_WEIGHT:
        raise DomainError(
            "weights must be whole numbers from 0 to 2**20, not all zero, but they go from "
            f"{int(checked.min())} to {int(checked.max())}; pass other weights"
        )
    return checked


def within(array: npt.NDArray[Any], largest: int) -> bool:
    """True if all finite numbers of an array are from -largest to largest.

    Absolute values are not enough: in 64 bits the absolute value of -2**63 is -2**63.
    """
    if not array.size:
        return True
    return int(array.max()) <= largest and int(array.min()) >= -largest


def cut_off(true: npt.NDArray[Any]) -> Integers:
    """Limit true answers to the range from -`LARGEST_TRUE` to `LARGEST_TRUE`, as 64-bit integers.

    The arguments may be integers of any length.
    """
    cut = true if within(true, LARGEST_TRUE) else np.clip(true, -LARGEST_TRUE, LARGEST_TRUE)
    return cut.astype(np.int64, copy=False)


def total(counts: Integers) -> int:
    """The exact sum of counts >= 0, as an int of any length."""
    # The upper and the lower 31 bits are summed apart, so that no sum overflows.
    upper = int((counts >> 31).sum())
    lower = int((counts & ((1 << 31) - 1)).sum())
    return (upper << 31) + lower


def gaps(tables: Sequence[Integers], public: Sequence[Integers]) -> Integers:
    """The L1 distance of each true table from its public answer, at most `LARGEST_GAP`:
    (views,)."""
    distances = []
    for table, answer in zip(tables, public, strict=True):
        distance = int(np.abs(table - answer).sum())
        distances.append(min(distance, LARGEST_GAP))
    return np.array(distances, np.int64)


def digest(*arrays: Integers) -> str:
    """The SHA-256 of public arrays, as hexadecimal digits, which identifies them in events."""
    hashed = hashlib.sha256()
    for array in arrays:
        hashed.update(np.ascontiguousarray(array, np.int64).data)
    return hashed.hexdigest()


def _numbers(
    name: str,
    value: object,
    shape: tuple[int, ...],
) -> npt.NDArray[Any]:
    """Copy a public array of numbers, and check its shape and size: see `whole`."""
    try:
        array: npt.NDArray[Any] = np.array(getattr(value, "counts", value))
    except ValueError:
        raise DomainError(
            f"{name} must have shape {shape}, but its parts have different lengths; reshape it"
        ) from None
    if array.shape != shape:
        raise DomainError(
            f"{name} must have shape {shape}, but it has shape {array.shape}; reshape it"
        )
    kind = array.dtype.kind
    if kind not in "iuf" or not np.isfinite(array).all() or not within(array, _LARGEST):
        found = "other numbers" if kind in "iuf" else f"values of type {array.dtype}"
        raise DomainError(
            f"{name} must hold finite numbers of at most 2**40 in absolute value, but it holds "
            f"{found}; replace them"
        )
    return array


def _rounded(array: npt.NDArray[Any]) -> Integers:
    numbers = array if array.dtype.kind in "iu" else np.rint(array)
    rounded: Integers = numbers.astype(np.int64, copy=False)
    return rounded
