"""The estimate of what reconstruction misses."""

import itertools
import math

import numpy as np
import pytest
from cases import tables_of

from margin.solvers import Newton, Problem, ResidualConsistency, coverage_error

VIEWS = [(0, 1, 2, 3), (2, 3, 4, 5), (0, 1, 4, 5)]
UNCOVERED = [
    axes
    for axes in itertools.combinations(range(6), 3)
    if not any(set(axes) <= set(v) for v in VIEWS)
]


def symmetric(strength):
    """Six exchangeable axes whose parity of any three is biased: pairs say nothing of it."""
    array = np.ones((2,) * 6)
    for axes in itertools.combinations(range(6), 3):
        signs = np.array([1.0, -1.0])
        shape = [2 if axis in axes else 1 for axis in range(6)]
        array = array + strength * np.multiply.outer(
            np.multiply.outer(signs, signs), signs
        ).reshape(shape)
    return array / array.sum() * 64_000


@pytest.mark.parametrize("strength", [0.0, 0.02, 0.04])
@pytest.mark.parametrize("noise", [0.0, 30.0])
def test_it_is_the_true_error_where_all_marginals_are_alike(strength, noise):
    array = symmetric(strength)
    rng = np.random.default_rng(0)
    tables = tables_of(array, VIEWS, variance=max(noise, 1e-3) ** 2)
    noisy = tables.with_values(
        [value + rng.normal(0, noise, value.shape) for value in tables.values]
    )
    noisy = ResidualConsistency()(noisy)
    true = []
    for axes in UNCOVERED:
        exact = array.sum(axis=tuple(axis for axis in range(6) if axis not in axes))
        true.append(((Newton().solve(Problem.of(tables, axes)).table - exact) ** 2).mean())
    estimate = coverage_error(noisy, Newton(), UNCOVERED[0])
    assert estimate == pytest.approx(math.sqrt(np.mean(true)), abs=5 + noise, rel=0.05)


def test_what_is_covered_has_none_and_what_is_too_large_no_estimate():
    tables = tables_of(symmetric(0.02), VIEWS, variance=1.0)
    assert coverage_error(tables, Newton(), (0, 1, 2)) == 0.0
    assert math.isnan(coverage_error(tables, Newton(), (0, 1, 2, 3, 4)))
