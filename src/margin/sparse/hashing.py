"""Hash functions that map cells to buckets and to signs, for sketches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Integers

__all__ = ["buckets"]


_PRIME = (1 << 31) - 1
"""The modulus: it is above every code, and its square fits into 64 bits."""


def buckets(
    columns: Sequence[npt.NDArray[Any]],
    width: int,
    row: int,
    key: int,
) -> tuple[Integers, Integers]:
    """The bucket and the sign of each cell in one row of a sketch: two arrays of shape (cells,).

    The bucket is h = ((b + sum of a_i x_i) mod p) mod width, with a_i and b drawn from the key.
    Modulo p the hashes are pairwise independent; the last step favours a bucket by at most width /
    p (Carter and Wegman 1979). The sign comes from a second hash of the same form.

    Parameters
    ----------
    columns
        The codes of the cells, one array of shape (cells,) for each attribute.
    width
        The number of buckets in a row of the sketch.
    row
        The row of the sketch; every row has its own hashes.
    key
        The key from which the hashes are drawn.
    """
    draw = np.random.Generator(np.random.Philox(key=[key, row]))
    factors = draw.integers(1, _PRIME, (2, len(columns) + 1))
    hashed = []
    for constant, *factor in factors.tolist():
        total = np.full(len(columns[0]), constant, np.int64)
        for a, column in zip(factor, columns, strict=True):
            total = (total + a * column.astype(np.int64)) % _PRIME
        hashed.append(total)
    bucket, sign = hashed
    return bucket % width, 1 - 2 * (sign & 1)
