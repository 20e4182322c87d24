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
from ..errors import DomainError

__all__ = ["LARGEST_GAP", "LARGEST_TRUE", "cut_off", "digest", "gaps", "total", "whole", "within"]


LARGEST_TRUE = 1 << 61
"""Cut-off of true answers that get noise: with noise of at most 2**62 they fit into 64 bits."""

LARGEST_GAP = 1 << 40
"""Cut-off of the distances of tables from public answers."""

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
    array: npt.NDArray[Any] = np.array(getattr(value, "counts", value))
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
    numbers = array if kind in "iu" else np.rint(array)
    rounded: Integers = numbers.astype(np.int64, copy=False)
    return rounded


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
