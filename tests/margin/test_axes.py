"""Products along an axis of a table."""

import numpy as np
import pytest

from margin._axes import times_along


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kind", [np.float64, np.int64, object])
def test_a_product_is_that_of_numpy(axis, kind):
    rng = np.random.default_rng(axis)
    table = rng.integers(-9, 10, (3, 4, 5)).astype(kind)
    matrix = rng.integers(-9, 10, (2, table.shape[axis])).astype(kind)
    expected = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
    found = times_along(matrix, table, axis)
    assert found.dtype == kind
    assert (found == expected).all()
