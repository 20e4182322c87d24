"""Public arrays as whole numbers, how far true tables are from them, and where true numbers are cut
off.

**Cutting off.** True numbers that would not fit into 64 bits are cut off at a public bound; they
are never refused, because a refusal that depends on the rows would tell something about them for
nothing. To cut off is x -> min(max(x, -b), b). It never moves two numbers further apart, so neither
the L1 nor the L2 distance of two true answers grows, nor does the change of any one score. Each use
states why that suffices for it.
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
"""Where the true answers that noise is added to are cut off: with noise of at most 2**62 they fit
into 64 bits."""

LARGEST_GAP = 1 << 40
"""Where the distances of tables from public answers are cut off."""

_LARGEST = 1 << 40


def whole(name: str, value: object, shape: tuple[int, ...]) -> Integers:
    """A public array of that shape, rounded to integers; DomainError naming it when it is not one.

    It is copied before it is checked, so that what is used is what was checked, whatever becomes of
    the original.
    """
    array: npt.NDArray[Any] = np.array(getattr(value, "counts", value))
    if array.shape != shape:
        raise DomainError(f"{name} has shape {array.shape}, but the view's table has {shape}")
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all() or not within(array, _LARGEST):
        raise DomainError(f"{name} must hold finite numbers of at most 2**40 in size")
    rounded: Integers = (array if array.dtype.kind in "iu" else np.rint(array)).astype(
        np.int64, copy=False
    )
    return rounded


def within(array: npt.NDArray[Any], largest: int) -> bool:
    """Whether all finite numbers of an array are from -largest to largest.

    The absolute values of an integer array would not tell: that of -2**63 is -2**63 in 64 bits.
    """
    return not array.size or (int(array.max()) <= largest and int(array.min()) >= -largest)


def cut_off(true: npt.NDArray[Any]) -> Integers:
    """True answers, of 64 bits or of any length, cut off at +-`LARGEST_TRUE`."""
    cut = true if within(true, LARGEST_TRUE) else np.clip(true, -LARGEST_TRUE, LARGEST_TRUE)
    return cut.astype(np.int64, copy=False)


def total(counts: Integers) -> int:
    """The sum of counts, none below zero, of any length."""
    upper, lower = int((counts >> 31).sum()), int((counts & ((1 << 31) - 1)).sum())
    return (upper << 31) + lower


def gaps(tables: Sequence[Integers], public: Sequence[Integers]) -> Integers:
    """The L1 distance of each table from the public one, cut off at `LARGEST_GAP`: array (views,)."""
    distances = [int(np.abs(t - p).sum()) for t, p in zip(tables, public, strict=True)]
    return np.array([min(distance, LARGEST_GAP) for distance in distances], np.int64)


def digest(*arrays: Integers) -> str:
    """A text that stands for public arrays."""
    hashed = hashlib.sha256()
    for array in arrays:
        hashed.update(np.ascontiguousarray(array, np.int64).data)
    return hashed.hexdigest()
