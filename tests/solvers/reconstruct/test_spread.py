"""The factors of missed variances, averaged over the cells that unknown moments connect."""

import itertools

import numpy as np
import pytest

from margin.solvers.basis import transform
from margin.solvers.reconstruct.structure import _spread


@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2), (4, 1, 3), (5,)])
def test_the_average_has_the_squares_of_the_projection_as_weights(shape):
    rng = np.random.default_rng(0)
    cells = int(np.prod(shape))
    basis = transform(shape)
    components = 1 << len(shape)
    for pattern in itertools.islice(itertools.product([False, True], repeat=components - 1), 40):
        unknown = np.array([False, *pattern])
        functions = basis.synthesise(np.eye(cells)[unknown[basis.component]])
        weights = (functions.T @ functions) ** 2
        tilts = rng.random((2, cells)) + 0.1
        found = _spread(tilts, shape, np.stack([unknown, unknown]))
        if len(functions):
            whole = weights.sum(axis=1)
            assert found == pytest.approx(tilts @ weights / whole)


def test_one_unknown_moment_of_bits_spreads_evenly():
    tilts = np.arange(1.0, 17.0)[None]
    unknown = np.zeros((1, 16), np.bool_)
    unknown[0, -1] = True
    assert _spread(tilts, (2, 2, 2, 2), unknown) == pytest.approx(np.full((1, 16), 8.5))


def test_without_known_moments_nothing_is_averaged():
    tilts = np.arange(1.0, 7.0)[None]
    assert _spread(tilts, (2, 3), np.ones((1, 4), np.bool_)) == pytest.approx(tilts)


def test_where_nothing_is_unknown_the_factors_stay():
    tilts = np.arange(1.0, 7.0)[None]
    assert (_spread(tilts, (2, 3), np.zeros((1, 4), np.bool_)) == tilts).all()
