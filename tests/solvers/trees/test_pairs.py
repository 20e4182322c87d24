"""`Forest`: exact marginals of tables of pairs without a cycle."""

import itertools

import numpy as np
import pytest

from margin.solvers import Newton, Reconstruction, Tables, Zeros
from margin.solvers.trees.junction import JunctionTree

SIZES = (2, 3, 4, 2, 3, 2, 1)

FORESTS = {
    "a star and a pair": [(0, 2), (1, 2), (2, 4), (3, 5)],
    "a chain": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
    "a tree": [(0, 3), (1, 3), (3, 5), (2, 5), (4, 5)],
}


def joint(pairs, seed=0):
    """A random distribution of 1,000 rows that is a product of functions of pairs."""
    rng = np.random.default_rng(seed)
    array = np.ones(SIZES)
    for pair in pairs:
        shape = [size if axis in pair else 1 for axis, size in enumerate(SIZES)]
        array = array * rng.random(shape)
    return 1000 * array / array.sum()


def held(array, views, **more):
    def marginal(view):
        return array.sum(axis=tuple(axis for axis in range(array.ndim) if axis not in view))

    return Tables(
        sizes=array.shape,
        views=tuple(views),
        values=tuple(map(marginal, views)),
        variances=(1.0,) * len(views),
        **more,
    )


@pytest.mark.parametrize("pairs", FORESTS.values(), ids=FORESTS)
def test_every_marginal_is_that_of_the_whole_distribution(pairs):
    array = joint(pairs)
    alone = [(axis,) for axis in range(6) if not any(axis in pair for pair in pairs)]
    forest = JunctionTree.of(held(array, [*pairs, *alone]))
    for count in range(8):
        for asked in itertools.combinations(range(7), count):
            dropped = tuple(axis for axis in range(7) if axis not in asked)
            expected = array.sum(axis=dropped) / 1000
            assert forest.marginal(asked) == pytest.approx(expected, abs=1e-12)


def test_categories_without_rows_do_no_harm():
    array = joint(FORESTS["a chain"])
    array[:, 1] = 0
    forest = JunctionTree.of(held(array, FORESTS["a chain"]))
    assert forest.marginal((0, 1, 2))[:, 1] == pytest.approx(0)
    assert forest.marginal((0, 5)).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "views",
    [[(0, 1), (1, 2), (0, 2)], [(0, 1, 2), (2, 3)]],
    ids=["a cycle", "three axes"],
)
def test_other_views_are_no_forest(views):
    assert JunctionTree.of(held(joint([(0, 1), (1, 2)]), views)) is None


def test_cells_that_must_be_zero_make_no_forest():
    zeros = Zeros(SIZES, (((0, (0,)), (1, (1,))),))
    assert JunctionTree.of(held(joint([(0, 1)]), [(0, 1)], zeros=zeros)) is None


def test_a_chain_too_long_for_any_context_is_followed_to_its_ends():
    """Thirty axes in a row: a context of four holds no way from one end to the other."""
    step = np.array([[0.97, 0.03], [0.02, 0.98]])
    start = np.array([0.4, 0.6])
    tables, shares = [], start
    for _ in range(29):
        tables.append(1e4 * shares[:, None] * step)
        shares = shares @ step
    views = Tables(
        sizes=(2,) * 30,
        views=tuple((axis, axis + 1) for axis in range(29)),
        values=tuple(tables),
        variances=(1.0,) * 29,
    )
    made = Reconstruction(views, Newton(context=4))
    truth = 1e4 * start[:, None] * np.linalg.matrix_power(step, 29)
    (found,) = made.solve([(0, 29)])
    assert found.table == pytest.approx(truth, rel=1e-9)
    assert found.status.ok and (found.variance > 0).all() and (found.undetermined > 0).all()
    (quick,) = Reconstruction(views, Newton(context=4, bars=False)).solve([(0, 29)])
    assert quick.table == pytest.approx(truth, rel=1e-9) and quick.variance is None
    sums = made.sums((0, 29), np.array([[1.0, 0], [0, 1], [0, 1], [0, 0]]))
    assert sums.estimate == pytest.approx([truth[0, 0], truth[0, 1] + truth[1, 0]], rel=1e-9)
