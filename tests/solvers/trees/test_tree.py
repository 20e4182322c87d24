"""`Tree`: least squares, variances and non-negativity against dense matrices."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.solvers import Tree, agreeing


@st.composite
def trees(draw):
    """Parents of a random tree of up to 30 nodes, level by level."""
    parents = [-1]
    node = 0
    while len(parents) < 30 and node < len(parents):
        parents += [node] * draw(st.integers(0, 4))
        node += 1
    return Tree(np.array(parents))


def incidence(tree):
    """Which leaves are below each node: shape (nodes, leaves)."""
    table = np.zeros((len(tree.parents), len(tree.leaves)))
    for place, leaf in enumerate(tree.leaves.tolist()):
        node = leaf
        while node >= 0:
            table[node, place] = 1
            node = int(tree.parents[node])
    return table


def measurements(tree, seed):
    """Random values and variances; some inner nodes are not measured."""
    rng = np.random.default_rng(seed)
    variances = rng.uniform(0.1, 5, len(tree.parents))
    inner = np.setdiff1d(np.arange(len(tree.parents)), tree.leaves)
    variances[inner[rng.random(len(inner)) < 0.3]] = np.inf
    return rng.normal(0, 10, len(tree.parents)), variances


def dense(tree, values, variances):
    """The estimate of all nodes by normal equations, and the covariance of the leaves."""
    table = incidence(tree)
    weights = np.where(np.isfinite(variances), 1 / variances, 0.0)
    covariance = np.linalg.inv(table.T @ (weights[:, None] * table))
    known = np.where(np.isfinite(variances), values, 0.0)
    return table @ covariance @ table.T @ (weights * known), covariance


@settings(max_examples=150)
@given(trees(), st.integers(0, 10**6))
def test_it_is_the_solution_of_the_normal_equations(tree, seed):
    values, variances = measurements(tree, seed)
    expected, _ = dense(tree, values, variances)
    found = tree.least_squares(values, variances)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found, incidence(tree) @ found[tree.leaves], atol=1e-9)


@settings(max_examples=150)
@given(trees(), st.integers(0, 10**6))
def test_variances_of_sums_are_those_of_the_covariance(tree, seed):
    values, variances = measurements(tree, seed)
    _, covariance = dense(tree, values, variances)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(4, len(tree.leaves)))
    weights[:, rng.random(len(tree.leaves)) < 0.4] = 0
    weights[3, 0] = 1
    queries, places = np.nonzero(weights)
    found = tree.variance_of(variances, tree.leaves[places], queries, weights[queries, places])
    expected = np.einsum("qi,ij,qj->q", weights, covariance, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_the_variance_of_no_query():
    nothing = np.zeros(0, np.int64)
    found = Tree(np.array([-1, 0])).variance_of(np.ones(2), nothing, nothing, np.zeros(0))
    assert found.shape == (0,)


@settings(max_examples=60)
@given(trees(), st.integers(0, 10**6))
def test_equal_variances_agree_with_the_forest(tree, seed):
    values, _ = measurements(tree, seed)
    height = np.zeros(len(tree.parents), np.int64)
    for node in reversed(range(1, len(tree.parents))):
        parent = tree.parents[node]
        height[parent] = max(height[parent], height[node] + 1)
    parents = np.maximum(tree.parents, 0)
    none = np.zeros(len(parents), np.int64)
    expected = agreeing(values, parents, height, none, variance=1.0, missing_variance=1.0)
    found = tree.least_squares(values, np.ones(len(parents)))
    np.testing.assert_allclose(found, expected, atol=1e-9)


@settings(max_examples=100)
@given(trees(), st.integers(0, 10**6))
def test_known_nodes_keep_their_values(tree, seed):
    """A known root, and a known leaf that is consistent with it."""
    values, variances = measurements(tree, seed)
    variances[0] = 0.0
    if len(tree.leaves) > 1:
        variances[tree.leaves[0]] = 0.0
    found = tree.least_squares(values, variances)
    assert found[0] == pytest.approx(values[0])
    if len(tree.leaves) > 1:
        assert found[tree.leaves[0]] == pytest.approx(values[tree.leaves[0]])
    ones = np.ones(len(tree.leaves))
    whole = tree.variance_of(variances, tree.leaves, np.zeros(len(ones), np.int64), ones)
    assert whole[0] == pytest.approx(0, abs=1e-9)


def best_shares(offered, spread, total):
    """The nearest non-negative children with a sum, by trying all sets of children at zero."""
    best, least = None, np.inf
    for active in itertools.product([False, True], repeat=len(offered)):
        some = np.array(active)
        if not some.any():
            continue
        shift = (offered[some].sum() - total) / spread[some].sum()
        shares = np.where(some, offered - shift * spread, 0.0)
        cost = ((shares - offered) ** 2 / spread).sum()
        if shares.min() >= -1e-12 and cost < least:
            best, least = shares, cost
    return best


@settings(max_examples=150)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_without_negative_counts_each_family_has_the_nearest_shares(children, seed):
    rng = np.random.default_rng(seed)
    tree = Tree(np.array([-1, *[0] * children]))
    values = rng.normal(0, 10, children + 1)
    variances = rng.uniform(0.1, 5, children + 1)
    found = tree.least_squares(values, variances, nonnegative=True)
    total = max(0.0, tree.least_squares(values, variances)[0])
    expected = best_shares(values[1:], variances[1:], total)
    np.testing.assert_allclose(found[1:], expected, atol=1e-9)


@settings(max_examples=100)
@given(trees(), st.integers(0, 10**6))
def test_no_node_is_negative_and_all_levels_agree(tree, seed):
    values, variances = measurements(tree, seed)
    found = tree.least_squares(values, variances, nonnegative=True)
    assert found.min() >= 0
    np.testing.assert_allclose(found, incidence(tree) @ found[tree.leaves], atol=1e-9)
    root = tree.least_squares(values, variances)[0]
    assert found[0] == pytest.approx(max(root, 0.0), abs=1e-9)


@settings(max_examples=60)
@given(trees(), st.integers(0, 10**6))
def test_what_is_not_negative_stays(tree, seed):
    _, variances = measurements(tree, seed)
    leaves = np.random.default_rng(seed).uniform(1, 9, len(tree.leaves))
    true = incidence(tree) @ leaves
    found = tree.least_squares(true, variances, nonnegative=True)
    np.testing.assert_allclose(found, true, rtol=1e-9)


@settings(max_examples=100)
@given(trees(), st.integers(0, 10**6))
def test_a_smaller_tree_keeps_the_estimates_of_its_nodes(tree, seed):
    values, variances = measurements(tree, seed)
    is_divided = np.random.default_rng(seed).random(len(values)) < 0.6
    smaller, kept = tree.above(is_divided)
    below = tree.below(values, variances)
    ends = kept[smaller.leaves]
    fewer_values, fewer_variances = values.copy(), variances.copy()
    fewer_values[ends] = below.values[ends]
    fewer_variances[ends] = below.variances[ends]
    found = smaller.least_squares(fewer_values[kept], fewer_variances[kept])
    expected = tree.least_squares(values, variances)[kept]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "parents", [[], [0], [-1, 1], [-1, 0, 2], [-1, 0, 1, 0], [-1, -1], [[-1, 0]], [-1.0, 0.0]]
)
def test_parents_that_make_no_tree_are_refused(parents):
    with pytest.raises(ValueError, match="parent"):
        Tree(np.array(parents))
