"""Least squares over the levels of trees, against dense linear algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from margin.solvers import LevelTree


def _groups(draw_sizes, leaves):
    """Groups of a tree with the given numbers of nodes, from the leaves up."""
    groups = [np.arange(leaves)]
    for size in draw_sizes:
        nodes = int(groups[0][-1]) + 1
        size = min(size, nodes)
        groups.insert(0, (np.arange(nodes) * size // nodes)[groups[0]])
    return groups


def _dense(groups, variances):
    """The measured sums of all levels, each divided by its standard deviation."""
    indicators = [(np.arange(group[-1] + 1)[:, None] == group).astype(float) for group in groups]
    scaled = [one / np.sqrt(v) for one, v in zip(indicators, variances, strict=True)]
    return indicators, np.concatenate(scaled)


@given(
    leaves=st.integers(1, 12),
    sizes=st.lists(st.integers(1, 6), max_size=3),
    seed=st.integers(0, 1000),
)
@settings(max_examples=30, deadline=None)
def test_estimates_and_variances_are_those_of_dense_least_squares(leaves, sizes, seed):
    rng = np.random.default_rng(seed)
    groups = _groups(sorted(sizes, reverse=True), leaves)
    tree = LevelTree(groups)
    variances = rng.uniform(0.2, 5, len(groups)).tolist()
    indicators, matrix = _dense(groups, variances)
    values = [rng.normal(0.5, 2, (len(one), 3)) for one in indicators]
    scaled = np.concatenate([y / np.sqrt(v) for y, v in zip(values, variances, strict=True)])
    covariance = np.linalg.inv(matrix.T @ matrix)
    kept = [y.copy() for y in values]
    assert np.allclose(tree.least_squares(values, variances), covariance @ matrix.T @ scaled)
    assert all(np.array_equal(y, was) for y, was in zip(values, kept, strict=True))
    for one, found in zip(indicators, tree.node_variances(variances), strict=True):
        assert np.allclose(found, np.einsum("ij,jk,ik->i", one, covariance, one))
    weights = rng.normal(size=leaves)
    assert tree.variance_of(variances, weights) == pytest.approx(weights @ covariance @ weights)
    leaf_sums = tree.sums(values[-1])
    for one, found in zip(indicators, leaf_sums, strict=True):
        assert np.allclose(found, one @ values[-1])


@pytest.mark.slow  # compiles
@given(
    leaves=st.integers(1, 12),
    sizes=st.lists(st.integers(1, 6), max_size=3),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_non_negative_estimates_are_those_of_dense_nnls(leaves, sizes, seed):
    rng = np.random.default_rng(seed)
    groups = _groups(sorted(sizes, reverse=True), leaves)
    variances = rng.uniform(0.2, 5, len(groups)).tolist()
    indicators, matrix = _dense(groups, variances)
    values = [rng.normal(0.3, 2, (len(one), 2)) for one in indicators]
    scaled = np.concatenate([y / np.sqrt(v) for y, v in zip(values, variances, strict=True)])
    expected = np.stack([nnls(matrix, scaled[:, column])[0] for column in range(2)], axis=1)
    assert np.allclose(LevelTree(groups).nonnegative(values, variances), expected, atol=1e-9)


def test_the_last_level_must_be_the_leaves():
    with pytest.raises(ValueError, match="the last level must be the leaves"):
        LevelTree([np.array([0, 0, 1])])
