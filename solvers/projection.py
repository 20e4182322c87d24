"""`projection`: from a table to one of its marginals, as a matrix."""

import math
from typing import Any

import numpy as np

__all__ = ["projection"]


def projection(shape: tuple[int, ...], places: tuple[int, ...]) -> Any:
    """The sparse 0-1 matrix from a flattened table to its marginal on some axes."""
    from scipy.sparse import csr_array

    cells = math.prod(shape)
    coordinates = np.unravel_index(np.arange(cells), shape)
    sub = tuple(shape[place] for place in places)
    rows = (
        np.ravel_multi_index([coordinates[place] for place in places], sub)
        if places
        else np.zeros(cells, dtype=int)
    )
    return csr_array((np.ones(cells), (rows, np.arange(cells))), shape=(math.prod(sub), cells))
