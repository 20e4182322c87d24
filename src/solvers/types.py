"""Names for the types of arrays."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Flags", "Floats", "Integers"]

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
