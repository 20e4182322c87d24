"""The Walsh transform of integers: sums with signs, in the order of how often the signs change."""

import numpy as np
import numpy.typing as npt

__all__ = ["sequency_order", "transform"]


def transform(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """All sums of 2**k values with the signs of a Walsh function, in the order of Hadamard; twice
    gives 2**k times."""
    step = 1
    while step < values.size:
        pairs = values.reshape(-1, 2, step)
        values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(
            -1
        )
        step *= 2
    return values  # type: ignore[return-value]


def sequency_order(size: int) -> npt.NDArray[np.int64]:
    """The places of the sums in the order of how often their function changes sign: array (size,)."""
    bits = (size - 1).bit_length()
    codes = np.arange(size)
    gray = codes ^ (codes >> 1)
    places = np.zeros(size, np.int64)
    for bit in range(bits):
        places |= ((gray >> bit) & 1) << (bits - 1 - bit)
    return places
