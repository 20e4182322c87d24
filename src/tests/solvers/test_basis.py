import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin.solvers.basis import contrasts, transform


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_contrasts_are_orthonormal_and_the_first_is_constant(size):
    basis = contrasts(size)
    assert np.allclose(basis @ basis.T, np.eye(size), atol=1e-12)
    assert np.allclose(basis[0], 1 / math.sqrt(size))


def test_binary_basis_is_walsh_hadamard():
    shape = (2, 2, 2)
    signs = transform(shape).synthesise(np.eye(8)) * math.sqrt(8)
    for mask in range(8):
        for cell, bits in enumerate(itertools.product((0, 1), repeat=3)):
            parity = sum(
                bit
                for place, bit in enumerate(bits)
                if transform(shape).component[mask] >> place & 1
            )
            assert signs[mask, cell] == pytest.approx((-1) ** parity)


shapes = st.lists(st.integers(1, 6), max_size=4) | st.lists(
    st.sampled_from([1, 2, 65, 70]), max_size=2
)


@given(shapes, st.integers(0, 2**32 - 1))
def test_transform_equals_the_kronecker_product_and_inverts(shape, seed):
    """Axes above 64 categories go by running sums, smaller ones by matrices."""
    basis = transform(tuple(shape))
    tables = np.random.default_rng(seed).normal(size=(3, basis.cells))
    coefficients, squares = tables.reshape(3, *shape), tables.reshape(3, *shape)
    for axis, size in enumerate(shape, start=1):
        matrix = contrasts(size)
        coefficients = np.moveaxis(np.tensordot(matrix, coefficients, (1, axis)), 0, axis)
        squares = np.moveaxis(np.tensordot(size * matrix**2, squares, (1, axis)), 0, axis)
    assert np.allclose(basis.analyse(tables), coefficients.reshape(3, -1), atol=1e-9)
    assert np.allclose(basis.squares(tables), squares.reshape(3, -1), atol=1e-8)
    assert np.allclose(basis.synthesise(basis.analyse(tables)), tables, atol=1e-9)
    assert basis.order.tolist() == [bin(mask).count("1") for mask in basis.component.tolist()]
