"""Names for the types of arrays."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Flags", "Floats", "Integers", "Words"]

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
