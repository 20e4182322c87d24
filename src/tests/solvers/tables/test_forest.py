"""Least squares on forests, against a dense solve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin.solvers import agreeing


@given(st.integers(1, 25), st.integers(0, 10**6), st.sampled_from([0.2, 1.0, 30.0]))
def test_a_forest_is_fitted_as_by_a_dense_solve(nodes, seed, missing_variance):
    """With one free number a node that has none below it, and a missing one, everything else is a
    sum of these."""
    rng = np.random.default_rng(seed)
    parent = np.array(
        [
            place if place == 0 or rng.random() < 0.2 else rng.integers(0, place)
            for place in range(nodes)
        ]
    )
    depth = np.zeros(nodes, np.int64)
    for place in range(nodes):
        depth[place] = 0 if parent[place] == place else depth[parent[place]] + 1
    level = depth.max() - depth
    values, missing = rng.normal(0, 5, nodes), rng.integers(0, 3, nodes)
    inner = np.isin(np.arange(nodes), parent[parent != np.arange(nodes)])
    free = [(place, 1.0, 0.0) for place in np.flatnonzero(~inner)]
    free += [(place, 0.0, 1.0) for place in np.flatnonzero(inner) for _ in range(missing[place])]
    sums = np.zeros((nodes, len(free)))
    for column, (place, _, _) in enumerate(free):
        sums[place, column] = 1
        while parent[place] != place:
            place = parent[place]
            sums[place, column] = 1
    absent = np.diag([lost for _, _, lost in free])
    system = np.concatenate([sums, absent / np.sqrt(missing_variance)])
    best = np.linalg.lstsq(system, np.concatenate([values, np.zeros(len(free))]), rcond=None)[0]
    fitted = agreeing(
        values, parent, level, missing, variance=1.0, missing_variance=missing_variance
    )
    assert fitted == pytest.approx(sums @ best, abs=1e-8)


def test_no_nodes():
    none = np.empty(0, np.int64)
    assert agreeing(np.empty(0), none, none, none, variance=1.0, missing_variance=1.0).shape == (0,)
