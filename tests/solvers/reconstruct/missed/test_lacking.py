"""What axes and pairs miss that no view holds: equal to sums over a basis of functions."""

import itertools

import numpy as np
import pytest

from margin.solvers import Newton, Reconstruction, Structure, Tables
from margin.solvers.reconstruct.missed.lacking import cells_alone, lacking_sets, sums_alone


def functions_of(shares):
    """Functions of one axis of mean 0, mean square 1 and no covariance: (categories, functions)."""
    root = np.sqrt(shares)
    basis, _ = np.linalg.qr(np.column_stack([root, np.eye(len(shares))[:, 1:]]))
    return basis[:, 1:] / root[:, None]


def expected(table, axes, weights):
    """The covariance of sums if each product of such functions has a coefficient of variance 1."""
    result = np.zeros((weights.shape[1],) * 2)
    of_axes = []
    for axis in axes:
        others = tuple(place for place in range(table.ndim) if place != axis)
        shape = [-1 if place == axis else 1 for place in range(table.ndim)]
        functions = functions_of(table.sum(axis=others) / table.sum()).T
        of_axes.append([function.reshape(shape) for function in functions])
    for product in itertools.product(*of_axes):
        effect = table.copy()
        for function in product:
            effect = effect * function
        moved = weights.T @ effect.ravel()
        result += np.outer(moved, moved)
    return result


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)], ids=str)
def test_cells_and_sums_are_those_of_a_basis_of_functions(axes):
    rng = np.random.default_rng(0)
    shape = (2, 3, 4)
    tables = 700 * rng.dirichlet(np.ones(24), 2).reshape(2, *shape)
    weights = rng.normal(size=(24, 5))
    found = cells_alone(tables, axes)
    for table, own in zip(tables, found, strict=True):
        assert own.ravel() == pytest.approx(expected(table, axes, np.eye(24)).diagonal())
        sums = sums_alone(table, axes, weights)
        assert sums == pytest.approx(expected(table, axes, weights), abs=1e-9)


@pytest.mark.parametrize("axes", [(0,), (0, 1)], ids=str)
def test_empty_categories_miss_nothing(axes):
    table = np.zeros((2, 3, 2))
    table[0, 1] = 5.0
    assert cells_alone(table[None], axes) == pytest.approx(0.0)
    assert sums_alone(table, axes, np.eye(12)) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("asked", "lacking"),
    [
        ((0, 1, 3), [(0, 2), (1, 2)]),
        ((0, 1, 2), [(2,)]),
        ((2, 3, 4), [(0,), (2,)]),
        ((1, 3), []),  # the pair is the marginal itself
        ((2, 3), [(0,)]),
    ],
)
def test_sets_are_lacking_if_no_view_holds_them_but_their_parts(asked, lacking):
    views = ((0, 1), (3,))
    tables = Tables(
        sizes=(2,) * 5,
        views=views,
        values=tuple(np.full((2,) * len(view), 5.0 * 2 ** (2 - len(view))) for view in views),
        variances=(1.0, 1.0),
    )
    precision, _ = tables.holders(np.array([asked]))
    assert lacking_sets(precision[0] > 0) == lacking


def test_a_pair_that_no_view_holds_is_as_uncertain_within_larger_marginals():
    """The first and the last of three axes, where pairs miss far more than triples beyond them."""
    rng = np.random.default_rng(3)
    sizes = (6, 2, 7)
    first, second = (700 * rng.dirichlet(np.full(size, 9.0)) for size in (12, 14))
    values = [first.reshape(6, 2), second.reshape(2, 7)]
    # The views agree on what they share.
    values[1] *= (values[0].sum(axis=0) / values[1].sum(axis=1))[:, None]
    tables = Tables(sizes=sizes, views=((0, 1), (1, 2)), values=tuple(values), variances=(4.0, 4.0))
    reconstruction = Reconstruction(tables, Newton())
    learnt = {(1, 2): 0.5, (1, 3): 0.2, (2, 3): 0.01}
    structure = Structure(tables, Newton(), learnt)

    pair, triple = np.array([[0, 2]]), np.array([[0, 1, 2]])
    of_pair = structure.missed_variance(pair, reconstruction.solve(pair))[0]
    of_triple = structure.missed_variance(triple, reconstruction.solve(triple))[0]
    # What the triple says of the pair, if the errors of its parts go in one direction.
    told = np.sqrt(of_triple).sum(axis=1) ** 2
    assert np.median(told / of_pair) >= 0.8

    # The same of sums: each count of the pair, as a sum of two cells of the triple.
    cells = np.arange(84).reshape(sizes).transpose(0, 2, 1).reshape(42, 2)
    weights = np.zeros((84, 42))
    np.put_along_axis(weights.T, cells, 1.0, axis=1)
    sums = reconstruction.sums((0, 1, 2), weights)
    of_sums = structure.missed_covariance((0, 1, 2), weights, sums).diagonal()
    assert np.median(of_sums / of_pair.ravel()) >= 0.8
