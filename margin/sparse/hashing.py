"""Hash functions of cells into buckets, each with a sign."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Integers

__all__ = ["buckets"]


_PRIME = (1 << 31) - 1  # above every code, and its square fits into 64 bits


def buckets(
    columns: Sequence[npt.NDArray[Any]], width: int, row: int, key: int
) -> tuple[Integers, Integers]:
    """The bucket and the sign of cells in one row of a sketch: arrays (cells,) for a column an
    attribute.

    h = (b + sum of a_i x_i) mod p mod width, the a_i and b drawn from the key: pairwise independent
    but for the last step, which favours a bucket by width / p at most (Carter and Wegman 1979). The
    sign has a hash of its own.
    """
    draw = np.random.Generator(np.random.Philox(key=[key, row]))
    factors = draw.integers(1, _PRIME, (2, len(columns) + 1))
    hashed = []
    for constant, *factor in factors.tolist():
        total = np.full(len(columns[0]), constant, np.int64)
        for a, column in zip(factor, columns, strict=True):
            total = (total + a * column.astype(np.int64)) % _PRIME
        hashed.append(total)
    return hashed[0] % width, 1 - 2 * (hashed[1] & 1)
