"""Compiled loops for choices among many candidates, in a module that is imported only when used."""

import math

import numba
import numpy as np
import numpy.typing as npt

from .._types import Integers

__all__ = ["classes", "order"]


@numba.njit(
    cache=True,
    nogil=True,
)
def classes(
    scores: Integers,
    top: int,
    rate: float,
    b: npt.NDArray[np.uint8],
    members: Integers,
) -> None:
    """Compute for each candidate the exponent b of its proposal probability 2**-b.

    See `selection.ExponentialMechanism`. `b` receives the exponents, shape (candidates,), and
    `members` the number of candidates with each exponent. The floats are the same as in
    `selection._classes`.
    """
    cap = members.size - 1
    for candidate in range(scores.size):
        # floor(x / ln 2) - 1, limited to 0, ..., cap.
        x = rate * (top - scores[candidate])
        power = min(max(math.floor(min(x, 1e3) * 1.4426950) - 1, 0), cap)
        b[candidate] = power
        members[power] += 1


@numba.njit(
    cache=True,
    nogil=True,
)
def order(
    b: npt.NDArray[np.uint8],
    place: Integers,
    ordered: npt.NDArray[np.int64],
) -> None:
    """Fill `ordered` with the candidates, sorted by ascending exponent `b` (counting sort).

    `place` holds the first position in `ordered` of each exponent; the loop overwrites it.
    """
    for candidate in range(b.size):
        power = b[candidate]
        ordered[place[power]] = candidate
        place[power] += 1
