"""What axes miss that no view holds: equal to sums over an orthonormal basis of functions."""

import itertools

import numpy as np
import pytest

from margin.solvers import Tables
from margin.solvers.reconstruct.lacking import cells_alone, lacking_axes, sums_alone


def functions_of(shares):
    """Functions of one axis of mean 0, mean square 1 and no covariance: (categories, functions)."""
    root = np.sqrt(shares)
    basis, _ = np.linalg.qr(np.column_stack([root, np.eye(len(shares))[:, 1:]]))
    return basis[:, 1:] / root[:, None]


def expected(table, lacking, weights):
    """The covariance of sums if each function of a lacking axis has a coefficient of variance 1."""
    result = np.zeros((weights.shape[1],) * 2)
    for axis in np.flatnonzero(lacking):
        others = tuple(place for place in range(table.ndim) if place != axis)
        functions = functions_of(table.sum(axis=others) / table.sum())
        shape = [-1 if place == axis else 1 for place in range(table.ndim)]
        for function in functions.T:
            moved = weights.T @ (table * function.reshape(shape)).ravel()
            result += np.outer(moved, moved)
    return result


@pytest.mark.parametrize("lacking", list(itertools.product([False, True], repeat=3)), ids=str)
def test_cells_and_sums_are_those_of_a_basis_of_functions(lacking):
    rng = np.random.default_rng(0)
    shape = (2, 3, 4)
    table = 700 * rng.dirichlet(np.ones(24)).reshape(shape)
    weights = rng.normal(size=(24, 5))
    found = cells_alone(table.ravel(), shape, np.array(lacking))
    assert found == pytest.approx(expected(table, lacking, np.eye(24)).diagonal())
    sums = sums_alone(table.ravel(), shape, np.array(lacking), weights)
    assert sums == pytest.approx(expected(table, lacking, weights), abs=1e-9)


def test_axes_are_lacking_if_no_view_holds_them():
    views = ((0, 1), (3,))
    tables = Tables(
        sizes=(2,) * 5,
        views=views,
        values=tuple(np.full((2,) * len(view), 5.0) for view in views),
        variances=(1.0, 1.0),
    )
    asked = np.array(list(itertools.combinations(range(5), 3)))
    precision, _ = tables.holders(asked)
    found = lacking_axes(precision > 0)
    assert found.tolist() == [[axis in (2, 4) for axis in axes] for axes in asked.tolist()]
