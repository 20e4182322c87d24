"""Covariances of sums of covered cells are those of least squares on the whole array."""

import itertools
import math

import numpy as np
import pytest

from margin.solvers import (
    Known,
    Tables,
    WeightedSum,
    Zeros,
    covered_covariance,
    covered_group_variances,
)

SIZES = (2, 3, 1, 4)
VIEWS = ((0, 1), (1, 2, 3), (0, 3), (1,))
VARIANCES = (3.0, 5.0, 0.5, 2.0)


def _tables(**options):
    values = tuple(np.ones([SIZES[axis] for axis in view]) for view in VIEWS)
    return Tables(sizes=SIZES, views=VIEWS, values=values, variances=VARIANCES, **options)


def _row(axes, weights):
    """The weights of the cells of the whole array in a weighted sum of a marginal's cells."""
    narrow = [size if axis in axes else 1 for axis, size in enumerate(SIZES)]
    return np.broadcast_to(weights.reshape(narrow), SIZES).ravel()


def _least_squares(functionals):
    """The covariance of the best linear estimates of functionals of the whole array."""
    information = np.zeros((math.prod(SIZES), math.prod(SIZES)))
    for view, variance in zip(VIEWS, VARIANCES, strict=True):
        shape = [SIZES[axis] for axis in view]
        for cell in range(math.prod(shape)):
            one = np.zeros(math.prod(shape))
            one[cell] = 1.0
            row = _row(view, one)
            information += np.outer(row, row) / variance
    return functionals @ np.linalg.pinv(information) @ functionals.T


def _sums(rng):
    """Weighted sums of marginals inside views: general weights, and boxes of cells."""
    sums = [WeightedSum((), np.array(1.0))]
    for axes in [(0,), (1,), (3,), (0, 1), (1, 3), (1, 2, 3), (0, 3), (2,)]:
        shape = [SIZES[axis] for axis in axes]
        sums.append(WeightedSum(axes, rng.normal(size=shape)))
        sums.append(WeightedSum(axes, (rng.random(shape) < 0.5).astype(np.float64)))
    return sums


@pytest.mark.parametrize("seed", range(3))
def test_covariances_are_those_of_least_squares(seed):
    sums = _sums(np.random.default_rng(seed))
    functionals = np.stack([_row(*one) for one in sums])
    found = covered_covariance(_tables(), sums)
    assert found == pytest.approx(_least_squares(functionals), rel=1e-9, abs=1e-9)


def test_the_variance_of_one_cell_is_that_of_its_marginal():
    tables = _tables()
    for axes in [(0, 1), (1, 2, 3), (3,), (2,)]:
        one = np.zeros([SIZES[axis] for axis in axes])
        one.flat[-1] = 1.0
        found = covered_covariance(tables, [WeightedSum(axes, one)])
        assert found[0, 0] == pytest.approx(tables.variance(axes))


def test_the_variance_of_a_box_is_the_product_formula():
    tables = _tables()
    axes, picked = (1, 3), ((0, 2), (1, 2, 3))
    weights = np.zeros((3, 4))
    weights[np.ix_(*picked)] = 1.0
    precision = tables.component_precision(axes)
    expected = 0.0
    for mask in range(4):
        term = 1.0
        for place, codes in enumerate(picked):
            size = SIZES[axes[place]]
            square = len(codes) ** 2
            term *= size * len(codes) - square if mask >> place & 1 else square
        expected += term / precision[mask] / 12**2
    assert covered_covariance(tables, [WeightedSum(axes, weights)])[0, 0] == pytest.approx(expected)


def test_a_known_total_has_no_error_and_a_category_and_the_others_have_opposite_errors():
    tables = _tables(known=Known.of_total(SIZES, 10.0))
    one, others = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0])
    sums = [WeightedSum((), np.array(1.0)), WeightedSum((1,), one), WeightedSum((1,), others)]
    found = covered_covariance(tables, sums)
    assert found[0] == pytest.approx(np.zeros(3))
    assert found[1, 1] == pytest.approx(found[2, 2]) == pytest.approx(-found[1, 2])


def test_the_covariance_matrix_has_no_negative_eigenvalue():
    rng = np.random.default_rng(5)
    sums = list(itertools.chain.from_iterable(_sums(rng) for _ in range(3)))
    assert np.linalg.eigvalsh(covered_covariance(_tables(), sums)).min() > -1e-9


GROUPS = {0: None, 1: np.array([0, 1, 1]), 2: np.array([0]), 3: np.array([0, 0, 0, 1])}
ZEROS = Zeros(SIZES, (((0, (1,)), (1, (0, 1))), ((1, (2,)), (3, (0, 3)))))


@pytest.mark.parametrize("zeros", [None, ZEROS], ids=["free", "zeros"])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2, 3), (0, 3), (2, 3)])
def test_variances_of_groups_are_those_of_their_sums(axes, zeros):
    tables = _tables(zeros=zeros)
    shape = [SIZES[axis] for axis in axes]
    groups = [GROUPS[axis] for axis in axes]
    found = covered_group_variances(tables, axes, groups)
    members = [np.arange(SIZES[axis]) if GROUPS[axis] is None else GROUPS[axis] for axis in axes]
    possible = np.ones(shape) if zeros is None else 1.0 - zeros.cells(axes)
    assert found.shape == tuple(group.max() + 1 for group in members)
    for cell in np.ndindex(found.shape):
        inside = [group == place for group, place in zip(members, cell, strict=True)]
        weights = possible.copy()
        for axis, own in enumerate(inside):
            weights *= own.reshape([-1 if axis == other else 1 for other in range(len(axes))])
        expected = covered_covariance(tables, [WeightedSum(axes, weights)])[0, 0]
        assert found[cell] == pytest.approx(expected, abs=1e-12)
