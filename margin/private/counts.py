"""Public arrays as whole numbers, and how far true tables are from them."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DomainError

__all__ = ["digest", "gaps", "whole"]

Integers = npt.NDArray[np.int64]

_LARGEST = 1 << 40


def whole(name: str, value: object, shape: tuple[int, ...]) -> Integers:
    """A public array of that shape, rounded to integers; DomainError naming it when it is not one."""
    array: npt.NDArray[Any] = np.asarray(getattr(value, "counts", value))
    if array.shape != shape:
        raise DomainError(f"{name} has shape {array.shape}, but the view's table has {shape}")
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all() or np.abs(array).max(initial=0) > _LARGEST:
        raise DomainError(f"{name} must hold finite numbers of at most 2**40 in size")
    rounded: Integers = (array if array.dtype.kind in "iu" else np.rint(array)).astype(np.int64, copy=False)
    return rounded


def gaps(tables: Sequence[Integers], public: Sequence[Integers]) -> Integers:
    """The L1 distance of each table from the public one: array (views,)."""
    return np.array([np.abs(t - p).sum() for t, p in zip(tables, public, strict=True)], np.int64)


def digest(*arrays: Integers) -> str:
    """A text that stands for public arrays."""
    hashed = hashlib.sha256()
    for array in arrays:
        hashed.update(np.ascontiguousarray(array, np.int64).data)
    return hashed.hexdigest()
