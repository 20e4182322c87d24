"""`projection`: the matrix from a table to one of its marginals."""

import math
from typing import Any

import numpy as np

__all__ = ["projection"]


def projection(shape: tuple[int, ...], places: tuple[int, ...]) -> Any:
    """The sparse matrix of zeros and ones that maps a flattened table to one of its marginals.

    Parameters
    ----------
    shape
        The sizes of the table's axes.
    places
        The axes of the marginal, in its own order.

    Returns
    -------
    scipy.sparse.csr_array of shape (cells of the marginal, cells of the table)
    """
    from scipy.sparse import csr_array

    cells = math.prod(shape)
    columns = np.arange(cells)
    coordinates = np.unravel_index(columns, shape)
    kept = [coordinates[place] for place in places]
    sizes = tuple(shape[place] for place in places)
    # Each cell of the table is counted in one cell of the marginal.
    rows = np.ravel_multi_index(kept, sizes) if places else np.zeros(cells, dtype=int)
    return csr_array((np.ones(cells), (rows, columns)), shape=(math.prod(sizes), cells))
