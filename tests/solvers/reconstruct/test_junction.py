"""`JunctionTree`: exact marginals of tables whose views have a small junction tree."""

import itertools
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin.solvers import Newton, Problem, Reconstruction, Tables, Zeros
from margin.solvers.reconstruct.scaling import junction
from margin.solvers.reconstruct.scaling.junction import JunctionTree, has_junction_tree

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
    tree = JunctionTree.of(held(array, [*pairs, *alone]))
    for count in range(8):
        for asked in itertools.combinations(range(7), count):
            dropped = tuple(axis for axis in range(7) if axis not in asked)
            expected = array.sum(axis=dropped) / 1000
            assert tree.marginal(asked) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("limit", ["_KEPT_CELLS", "_SMALL_PRODUCT"])
def test_marginals_do_not_depend_on_what_is_kept_or_on_how_products_are_summed(limit, monkeypatch):
    tables = held(joint(FORESTS["a tree"]), FORESTS["a tree"])
    tree, slow = JunctionTree.of(tables), JunctionTree.of(tables)
    for asked in itertools.permutations(range(6), 3):
        found = tree.marginal(tuple(sorted(asked)))
        with monkeypatch.context() as patch:
            patch.setattr(junction, limit, -1)
            assert slow.marginal(tuple(sorted(asked))) == pytest.approx(found, rel=1e-12)
    assert tree._passed and bool(slow._passed) == (limit != "_KEPT_CELLS")


def test_categories_without_rows_do_no_harm():
    array = joint(FORESTS["a chain"])
    array[:, 1] = 0
    tree = JunctionTree.of(held(array, FORESTS["a chain"]))
    assert tree.marginal((0, 1, 2))[:, 1] == pytest.approx(0)
    assert tree.marginal((0, 5)).sum() == pytest.approx(1)


CYCLES = {
    "a ring": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)],
    "a triangle with tails": [(0, 1), (0, 2), (1, 2), (2, 3), (0, 4)],
    "two triangles": [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)],
    "all pairs of four axes": list(itertools.combinations(range(4), 2)),
}


def fitted(array, views, sweeps=2000):
    """The distribution of maximum entropy over the whole array, by proportional fitting."""
    table = np.full(array.shape, array.sum() / array.size)
    for _ in range(sweeps):
        for view in views:
            dropped = tuple(axis for axis in range(array.ndim) if axis not in view)
            goal = array.sum(axis=dropped, keepdims=True)
            table = table * (goal / table.sum(axis=dropped, keepdims=True))
    return table


@pytest.mark.parametrize("views", CYCLES.values(), ids=CYCLES)
def test_with_cycles_every_marginal_is_that_of_maximum_entropy(views):
    array = np.random.default_rng(3).random(SIZES)
    array *= 1000 / array.sum()
    whole = fitted(array, views)
    tree = JunctionTree.of(held(array, views))
    for count in range(1, 5):
        for asked in itertools.combinations(range(7), count):
            dropped = tuple(axis for axis in range(7) if axis not in asked)
            expected = whole.sum(axis=dropped) / 1000
            assert tree.marginal(asked) == pytest.approx(expected, abs=2e-7)


def relaxed(views):
    """Tables of which only what they say about both axes of a pair has noise."""
    array = np.random.default_rng(4).random(SIZES)
    precisions = []
    for view in views:
        own = np.full((2,) * len(view), 1e12)
        # Axis 6 has one category: the last places of the array belong to the other axes.
        own[tuple(slice(None) if axis == 6 else 1 for axis in reversed(view))] = 1e-3
        if 6 in view:
            own[1] = 1e12
        precisions.append(own.ravel())
    return held(1000 * array / array.sum(), views, precisions=tuple(precisions))


@pytest.mark.parametrize("strength", [3.0, 300.0])
@pytest.mark.parametrize(
    "views", [*CYCLES.values(), [(0, 1, 6), (1, 2), (0, 2, 6)]], ids=[*CYCLES, "an axis of one"]
)
def test_a_strength_relaxes_tables_of_pairs_as_the_ridge_of_newton_does(views, strength):
    """One-way tables are as good as known here."""
    tables = relaxed(views)
    tree = JunctionTree.of(tables, strength=strength)
    problem = Problem.of(tables, tuple(range(6)))
    expected = Newton(strength=strength, bars=False, tolerance=1e-9).solve(problem).table / 1000
    exact = JunctionTree.of(tables).marginal(tuple(range(6)))
    found = tree.marginal(tuple(range(6)))
    assert np.abs(found - expected).max() < 0.1 * np.abs(exact - expected).max()


def test_variances_of_cells_relax_as_the_precisions_of_moments_do():
    views = CYCLES["two triangles"]
    plain = held(np.random.default_rng(4).random(SIZES), views)
    cells = [value.size for value in plain.values]
    same = replace(plain, precisions=tuple(np.full(4, 1 / count) for count in cells))
    one, other = (JunctionTree.of(each, strength=1e3).marginal((0, 1)) for each in (plain, same))
    assert one == pytest.approx(other, rel=1e-9)
    assert np.abs(one - JunctionTree.of(plain).marginal((0, 1))).max() > 1e-4


def test_tables_that_are_met_slowly_are_met_in_the_end():
    """Strong dependence: 46 sweeps."""
    views = CYCLES["two triangles"]
    tables = held(joint(views, seed=1) ** 3, views)
    tree = JunctionTree.of(tables)
    for view, value in zip(views, tables.values, strict=True):
        distance = np.abs(tree.marginal(view) - value / value.sum()).sum() / 2
        assert distance <= 2 * junction._TOLERANCE


@pytest.mark.parametrize("strength", [0.0, 3.0])
def test_neighbours_in_the_tree_agree_even_if_sweeps_end_early(strength, monkeypatch):
    monkeypatch.setattr(junction, "_SWEEPS", 1)
    # A triangle with a triangle on two of its sides: one clique has two children.
    views = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (0, 4), (2, 4)]
    array = np.random.default_rng(5).random(SIZES) ** 4
    tree = JunctionTree.of(held(array, views), strength=strength)
    pairs = [clique for clique in enumerate(tree.cliques) if clique[1].parent is not None]
    assert pairs
    for place, clique in pairs:
        parent = tree.cliques[clique.parent]
        own = junction._margin(tree.shares[place], clique.axes, clique.shared).ravel()
        above = junction._margin(tree.shares[clique.parent], parent.axes, clique.shared).ravel()
        assert own == pytest.approx(above, abs=1e-12)


@pytest.mark.parametrize("strength", [0.0, 3.0])
def test_categories_without_rows_do_no_harm_in_cycles(strength):
    array = np.random.default_rng(6).random(SIZES)
    array[:, 1] = 0
    tree = JunctionTree.of(held(array, CYCLES["two triangles"]), strength=strength)
    found = tree.marginal((0, 1, 2, 3))
    assert np.isfinite(found).all() and found.sum() == pytest.approx(1)
    assert not found[:, 1].any()


def test_noisy_tables_that_no_distribution_has_are_met_as_nearly_as_possible():
    """Three axes, each of which must differ from both others: that is impossible for bits."""
    differ = np.array([[0.0, 500.0], [500.0, 0.0]])
    views = ((0, 1), (0, 2), (1, 2))
    tables = Tables(sizes=(2, 2, 2), views=views, values=(differ,) * 3, variances=(1e4,) * 3)
    tree = JunctionTree.of(tables, strength=1.0)
    differing = 0.0
    for view in views:
        found = tree.marginal(view)
        assert found.sum() == pytest.approx(1)
        assert found.sum(axis=0) == pytest.approx([0.5, 0.5], abs=1e-6)
        differing += found[0, 1] + found[1, 0]
    # In each row at most two of the three pairs of bits differ.
    assert 1.8 < differing <= 2 + 1e-9


@given(
    st.sets(
        st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda pair: pair[0] < pair[1]),
        max_size=16,
    )
)
def test_cliques_hold_all_views_and_share_axes_along_the_tree(pairs):
    views = sorted(pairs)
    cliques = junction._cliques((2,) * 9, views)
    assert {axis for clique in cliques for axis in clique.axes} == set(range(9))
    assert all(any(set(view) <= set(clique.axes) for clique in cliques) for view in views)
    tree = nx.Graph()
    tree.add_nodes_from(range(len(cliques)))
    for place, clique in enumerate(cliques):
        if clique.parent is not None:
            assert clique.parent < place
            assert set(clique.shared) == set(clique.axes) & set(cliques[clique.parent].axes)
            assert set(clique.shared) not in (set(), set(clique.axes))
            tree.add_edge(place, clique.parent)
    assert nx.is_forest(tree)
    # The cliques that hold an axis are connected.
    for axis in range(9):
        holders = [place for place, clique in enumerate(cliques) if axis in clique.axes]
        assert nx.is_connected(tree.subgraph(holders))


@pytest.mark.parametrize("name", ["CLIQUE_CELLS", "JUNCTION_CELLS"])
def test_cliques_that_are_too_large_make_no_tree(name, monkeypatch):
    ring = CYCLES["a ring"]
    tables = held(joint(ring), ring)
    assert has_junction_tree(SIZES, ring)
    assert JunctionTree.of(tables) is not None
    monkeypatch.setattr(junction, name, 20)
    assert not has_junction_tree(SIZES, ring)
    assert JunctionTree.of(tables) is None


def test_the_cells_of_all_cliques_are_limited_together(monkeypatch):
    ring = CYCLES["a ring"]
    cliques = junction._cliques(SIZES, ring)
    cells = [np.prod([SIZES[axis] for axis in clique.axes]) for clique in cliques]
    assert max(cells) < sum(cells) - 1
    monkeypatch.setattr(junction, "JUNCTION_CELLS", sum(cells))
    assert has_junction_tree(SIZES, ring)
    monkeypatch.setattr(junction, "JUNCTION_CELLS", sum(cells) - 1)
    assert not has_junction_tree(SIZES, ring)


def test_empty_tables_make_no_tree():
    assert JunctionTree.of(held(np.zeros(SIZES), [(0, 1)])) is None


def test_views_of_three_axes_make_no_tree():
    assert JunctionTree.of(held(joint([(0, 1), (1, 2)]), [(0, 1, 2), (2, 3)])) is None


def test_negative_counts_make_no_tree():
    table = np.array([[-1.0, 5.0], [3.0, 4.0]])
    tables = Tables(sizes=(2, 2), views=((0, 1),), values=(table,), variances=(1.0,))
    assert JunctionTree.of(tables) is None


def test_cells_that_must_be_zero_make_no_tree():
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
