"""The optimisation behind strategies: against closed forms, convex programming and brute force."""

import itertools
import math

import cvxpy
import numpy as np
import pytest
from cases import disagreement, random_tables

from margin.solvers import AbsoluteConsistency, MaximumConsistency, Tables
from margin.solvers.strategy.bounded_weights import bounded_weights
from margin.solvers.strategy.low_rank import low_rank
from margin.solvers.strategy.semidefinite import best_gram
from margin.solvers.strategy.sparse_recovery import sparsest
from margin.solvers.strategy.threshold_polynomial import (
    chebyshev_polynomial,
    threshold_polynomial,
)
from margin.solvers.tables.multiplicative import replayed
from margin.solvers.tables.nearest_table import nearest_table


@pytest.mark.parametrize("power", [1.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_bounded_weights_are_those_of_convex_programming(power, seed):
    rng = np.random.default_rng(seed)
    matrix, costs = rng.uniform(0, 1, (5, 8)), rng.uniform(0.1, 10, 8)
    found = bounded_weights(matrix, costs, power=power)
    weights = cvxpy.Variable(8)
    problem = cvxpy.Problem(
        cvxpy.Minimize(costs @ cvxpy.power(weights, -power)), [matrix @ weights <= 1]
    )
    problem.solve()
    assert found.objective == pytest.approx(problem.value, rel=1e-5)
    assert (matrix @ found.weights).max() == pytest.approx(1)
    assert (costs * found.weights**-power).sum() == pytest.approx(found.objective)
    assert found.bound <= found.objective <= (1 + 1e-6) * found.bound


def test_the_best_queries_of_a_symmetric_problem():
    """All coordinates alike: the identity, whose columns have length one."""
    assert best_gram(np.eye(4), np.ones(4)) == pytest.approx(np.eye(4), abs=1e-4)


@pytest.mark.parametrize("order", [1, 2])
def test_low_rank_makes_a_product_of_short_columns(order):
    rng = np.random.default_rng(order)
    matrix = rng.integers(0, 2, (6, 10)).astype(float)
    left, right = low_rank(matrix, 8, order=order)
    assert left @ right == pytest.approx(matrix, abs=1e-4)
    assert np.linalg.norm(right, ord=order, axis=0).max() <= 1 + 1e-9
    start = (
        np.linalg.svd(matrix)[1].sum() ** 2
    )  # of the singular vectors, in the L2 norm, before it is improved
    assert (left**2).sum() < (start if order == 2 else 10 * start)


def test_multiplicative_weights_reach_consistent_marginals():
    rng = np.random.default_rng(1)
    truth = rng.uniform(1, 10, (2, 3, 4))
    truth *= 100 / truth.sum()
    views = [(0, 1), (2, 1), (2,)]
    targets = [truth.sum(axis=2), truth.sum(axis=0).T, truth.sum(axis=(0, 1))]
    found = replayed(np.full(truth.shape, 100 / 24), views, targets, times=500)
    assert found.sum() == pytest.approx(100)
    assert found.sum(axis=2) == pytest.approx(targets[0], abs=0.01)
    assert found.sum(axis=0) == pytest.approx(targets[1].T, abs=0.01)
    start = np.full((2, 2), 25.0)
    once = replayed(start, [(0,)], [np.array([70.0, 30.0])], times=1)
    factors = np.exp(np.array([20, -20]) / 200)
    assert once == pytest.approx(
        100 * (start * factors[:, None]) / (start * factors[:, None]).sum()
    )


def test_the_nearest_table_of_a_contradiction():
    """x + y = 3, x - y = 5: y would be -1; at y = 0 the largest difference is least for x = 4."""
    assert nearest_table(
        np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([3.0, 5.0])
    ) == pytest.approx([4, 0])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_sparsest_solution_is_that_of_the_cone_programme(seed, nonnegative):
    rng = np.random.default_rng(seed)
    matrix = rng.choice([-1.0, 1.0], (14, 30))
    truth = np.zeros(30)
    truth[rng.choice(30, 4, replace=False)] = rng.normal(20, 10, 4)
    measured = matrix @ (np.abs(truth) if nonnegative else truth) + rng.normal(0, 2, 14)
    miss = (2.0, 8.0, 20.0)[seed % 3]
    found = sparsest(matrix, measured, miss, nonnegative=nonnegative)
    entries = cvxpy.Variable(30, nonneg=nonnegative)
    programme = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.norm1(entries)),
        [cvxpy.norm2(matrix @ entries - measured) <= miss],
    )
    best = programme.solve(solver="CLARABEL")
    assert np.abs(found).sum() == pytest.approx(best, rel=1e-5)
    assert np.linalg.norm(matrix @ found - measured) <= miss * (1 + 1e-9)
    assert found.min() >= 0 or not nonnegative


def test_too_few_measurements_end_the_path():
    """Equal columns cannot be told apart, and a zero answer needs nothing."""
    matrix = np.array([[1.0, 1.0, -1.0], [1.0, 1.0, 1.0]])
    assert sparsest(matrix, np.zeros(2), 0.0).tolist() == [0, 0, 0]
    found = sparsest(matrix, np.array([3.0, 3.0]), 0.0)
    assert np.abs(found).sum() == pytest.approx(3)
    assert sparsest(matrix, np.array([-3.0, -3.0]), 0.0, nonnegative=True).tolist() == [0, 0, 0]


@pytest.mark.parametrize("polynomial", [threshold_polynomial, chebyshev_polynomial])
@pytest.mark.parametrize("order", range(1, 9))
@pytest.mark.parametrize("error", [0.5, 0.25, 0.125, 0.01])
def test_threshold_polynomials_are_near_and_of_low_degree(order, error, polynomial):
    coefficients = np.array(polynomial(order, error))
    assert len(coefficients) >= len(threshold_polynomial(order, error))
    # The degree of the paper's lemma.
    lemma = math.ceil(math.sqrt(order) * math.log(2 / error) / 2)
    assert len(coefficients) - 1 <= max(lemma, 1)
    points = np.arange(order + 1)
    binomials = np.array(
        [
            [np.prod((s - np.arange(i)) / (np.arange(i) + 1)) for i in range(len(coefficients))]
            for s in points
        ]
    )
    values = binomials @ coefficients
    assert np.abs(values - (points == order)).max() <= error + 1e-9
    assert 2 <= len(coefficients) <= order + 1 or order == 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("method", "norm"), [(AbsoluteConsistency(), 1), (MaximumConsistency(), np.inf)]
)
def test_linear_consistency_is_consistent_and_optimal(method, norm, seed):
    """Against the same programme in cvxpy, in units of the tables' deviations."""
    tables = random_tables(seed, sizes=(2, 3, 2), count=4)
    found = method(tables)
    assert disagreement(found) < 1e-6
    scales = [variance**-0.5 for variance in tables.variances]
    array = cvxpy.Variable(12)
    cells = np.eye(12).reshape(12, 2, 3, 2)
    gaps = []
    for view, value, scale in zip(tables.views, tables.values, scales, strict=True):
        rows = cells.sum(axis=tuple(a + 1 for a in range(3) if a not in view)).reshape(12, -1).T
        gaps.append(scale * (rows @ array - value.ravel()))
    best = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(cvxpy.hstack(gaps), norm))).solve()
    ours = [
        scale * (f - v).ravel()
        for f, v, scale in zip(found.values, tables.values, scales, strict=True)
    ]
    assert np.linalg.norm(np.concatenate(ours), norm) == pytest.approx(best, rel=1e-5, abs=1e-6)


def test_consistent_tables_are_left_alone():
    array = np.random.default_rng(0).normal(size=(2, 2, 3))
    views = list(itertools.combinations(range(3), 2))
    values = tuple(array.sum(axis=next(a for a in range(3) if a not in view)) for view in views)
    tables = Tables(sizes=array.shape, views=tuple(views), values=values, variances=(1.0,) * 3)
    for method in (AbsoluteConsistency(), MaximumConsistency()):
        for before, after in zip(values, method(tables).values, strict=True):
            assert after == pytest.approx(before, abs=1e-8)


def test_arrays_too_large_for_a_linear_programme_are_refused():
    tables = Tables(sizes=(2,) * 15, views=((0,),), values=(np.zeros(2),), variances=(1.0,))
    with pytest.raises(ValueError, match="but it has 32768; use ResidualConsistency"):
        MaximumConsistency()(tables)
