"""`digest`: a short text that tells whether two problems are the same."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["digest"]

_STEPS = 314159.2653
"""Number of steps between zero and the largest number of an array of floats. It is no power of ten,
so that round numbers do not lie between two steps."""


def digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """A text of 16 characters for named arrays, as `Family.pack` makes them.

    Integers count exactly. Floats count to about six digits of the largest one, because the last
    bits of a sum differ from one processor to another.

    Examples
    --------
    >>> digest({"a": np.array([1, 2])}) == digest({"a": np.array([1, 3])})
    False
    """
    text = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        if array.dtype.kind == "f":
            finite = np.nan_to_num(array, posinf=np.finfo(float).max, neginf=np.finfo(float).min)
            top = float(np.abs(finite).max(initial=0.0)) or 1.0
            # The shift keeps zeros away from the edge between two steps.
            array = np.floor(finite / top * _STEPS + 0.37)
        text.update(f"{name}{array.shape}".encode())
        text.update(array.astype(np.int64).astype("<i8").tobytes())
    return text.hexdigest()[:16]
