"""The compiled loops of choices among millions; numba is needed, so this is imported only when
used."""

import math

import numba
import numpy as np
import numpy.typing as npt

from .._types import Integers

__all__ = ["classes", "order"]


@numba.njit(cache=True, nogil=True)
def classes(
    scores: Integers, top: int, rate: float, b: npt.NDArray[np.uint8], members: Integers
) -> None:
    """Fill `b` and `members` as `selection._classes` does, in the same floats."""
    cap = members.size - 1
    for candidate in range(scores.size):
        x = rate * (top - scores[candidate])
        power = min(max(math.floor(min(x, 1e3) * 1.4426950) - 1, 0), cap)
        b[candidate] = power
        members[power] += 1


@numba.njit(cache=True, nogil=True)
def order(b: npt.NDArray[np.uint8], place: Integers, ordered: npt.NDArray[np.int64]) -> None:
    """Counting sort; `place` holds where each power begins, and is used up."""
    for candidate in range(b.size):
        power = b[candidate]
        ordered[place[power]] = candidate
        place[power] += 1
