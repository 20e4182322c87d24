"""The Walsh transform of integers, and the order of its functions by their changes of sign."""

import numpy as np
import numpy.typing as npt

__all__ = ["sequency_order", "transform"]


def transform(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Compute the Walsh transform of 2**k values, in Hadamard's order: shape (2**k,).

    Entry j is the sum of the values with the signs of the j-th Walsh function. Transforming twice
    multiplies the values by 2**k.
    """
    step = 1
    while step < values.size:
        # One butterfly: the sum and the difference of each pair of values `step` apart.
        pairs = values.reshape(-1, 2, step)
        sums = pairs[:, 0] + pairs[:, 1]
        differences = pairs[:, 0] - pairs[:, 1]
        values = np.stack([sums, differences], axis=1).reshape(-1)
        step *= 2
    return values  # type: ignore[return-value]


def sequency_order(size: int) -> npt.NDArray[np.int64]:
    """The positions in `transform` of the Walsh functions with 0, 1, ..., size - 1 changes of sign:
    shape (size,).

    The position is the Gray code of the number of changes with its bits reversed.
    """
    bits = (size - 1).bit_length()
    codes = np.arange(size)
    gray = codes ^ (codes >> 1)
    places = np.zeros(size, np.int64)
    for bit in range(bits):
        value = (gray >> bit) & 1
        places |= value << (bits - 1 - bit)
    return places
