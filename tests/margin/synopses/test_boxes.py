"""`BoxSynopsis`: answers and variances against dense matrices, files, refusals."""

import dataclasses

import numpy as np
import pytest
from ordered_axes import ordered_axes

import margin
from margin import Domain, DomainError, PureDP
from margin.mechanisms import AdaptiveGrid, QuadTree
from margin.solvers import Tree
from margin.synopses import BoxSynopsis
from margin.synopses.boxes import box_of_cells
from margin.synopses.synopsis import Packed

DOMAIN = Domain(ordered_axes(x=5, y=3, z=2))
BOXES = np.array(
    [
        [[0, 5], [0, 3]],
        [[0, 2], [0, 3]],
        [[2, 5], [0, 3]],
        [[2, 3], [0, 3]],
        [[3, 5], [0, 1]],
        [[3, 5], [1, 3]],
    ]
)
PARENTS = np.array([-1, 0, 0, 2, 2, 2])
VALUES = np.array([40.0, 12.0, 35.0, 16.0, 25.0, -15.0])
VARIANCES = np.array([2.0, 1.0, np.inf, 3.0, 1.0, 2.0])


def made(domain=DOMAIN, **settings):
    settings = {"nonnegative": False, **settings}
    return BoxSynopsis.of(domain, ("x", "y"), Tree(PARENTS), BOXES, VALUES, VARIANCES, **settings)


def leaves_covariance():
    """The covariance of the leaves 1, 3, 4, 5 by normal equations."""
    table = np.array([[1, 1, 1, 1], [1, 0, 0, 0], [0, 1, 1, 1], *np.eye(4)[1:]])
    weights = np.where(np.isfinite(VARIANCES), 1 / VARIANCES, 0)
    return np.linalg.inv(table.T @ (weights[:, None] * table))


def share_of_leaves(cells):
    """The share of each leaf in a set of cells, by counting."""
    leaf = box_of_cells(BOXES[[1, 3, 4, 5]], (5, 3))
    return np.array([cells[leaf == place].mean() for place in range(4)])


def test_a_rectangle_is_a_sum_of_shares_of_leaves():
    synopsis = made()
    counts = synopsis.counts[synopsis.leaves]
    for where in ({}, {"x": range(1, 4)}, {"y": 2}, {"x": [0, 3], "y": [1, 2]}):
        shares = share_of_leaves(chosen_cells(where))
        found = synopsis.count(where)
        assert found.estimate == pytest.approx(shares @ counts)
        assert found.noise_variance == pytest.approx(shares @ leaves_covariance() @ shares)
        # What the even spread within a leaf misses is not known.
        whole = np.isin(shares.round(9), [0, 1]).all()
        assert found.reconstructed != whole and np.isnan(found.variance) != whole


def test_two_rectangles_share_noise():
    synopsis = made()
    one, other = {"x": [0, 1]}, {"x": [1, 2], "y": [0, 1]}
    first, second = (share_of_leaves(chosen_cells(where)) for where in (one, other))
    found = synopsis.difference(one, other)
    expected = (first - second) @ leaves_covariance() @ (first - second)
    assert found.noise_variance == pytest.approx(expected)


def chosen_cells(where):
    """One in each cell that a condition selects, otherwise zero."""
    cells = np.zeros((5, 3))
    wanted = [np.atleast_1d(where.get(name, range(size))) for name, size in (("x", 5), ("y", 3))]
    cells[np.ix_(*wanted)] = 1
    return cells


@pytest.mark.parametrize("view", [("x",), ("y",), ("x", "y"), ("y", "x")])
def test_marginals_are_rectangles(view):
    synopsis = made()
    marginal = synopsis.marginal(view)
    for cell in np.ndindex(*marginal.counts.shape):
        ranges = dict(zip(view, cell, strict=True))
        found = synopsis.count(ranges)
        assert marginal.counts[cell] == pytest.approx(found.estimate)
        assert marginal.noise_variance[cell] == pytest.approx(found.noise_variance)
        assert np.isnan(marginal.variance[cell]) == np.isnan(found.variance)


def test_levels_agree():
    synopsis = made()
    assert synopsis.counts[0] == pytest.approx(synopsis.counts[1] + synopsis.counts[2])
    assert synopsis.counts[2] == pytest.approx(synopsis.counts[3:].sum())


def test_a_declared_number_of_rows_is_kept():
    synopsis = made(Domain(ordered_axes(x=5, y=3, z=2), rows=50))
    assert synopsis.count({}).estimate == pytest.approx(50)
    assert synopsis.count({}).variance == pytest.approx(0)


def test_impossible_cells_are_zero_and_their_rows_go_to_the_others():
    rules = [{"x": [3, 4], "y": 0}, {"x": 0, "y": 2}]
    domain = Domain(ordered_axes(x=5, y=3, z=2), impossible=rules)
    synopsis = made(domain)
    marginal = synopsis.marginal(["x", "y"])
    possible = domain.possible(["x", "y"])
    assert not marginal.counts[~possible].any() and not marginal.variance[~possible].any()
    assert synopsis.counts[4] == 0
    assert marginal.counts.sum() == pytest.approx(synopsis.counts[0])
    assert synopsis.count({"x": [0, 1]}).estimate == pytest.approx(synopsis.counts[1])


def test_boxes_below_few_rows_are_left_out():
    whole, pruned = made(), made(least_rows=30)
    assert pruned.boxes.tolist() == BOXES[:3].tolist()
    np.testing.assert_allclose(pruned.counts, whole.counts[:3])
    found = pruned.count({"x": range(2, 5)})
    assert found.variance == pytest.approx(whole.count({"x": range(2, 5)}).variance)


def test_no_count_is_negative():
    assert made().counts.min() < 0
    assert made(nonnegative=True).counts.min() >= 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.count({"x": range(1, 6)}), "codes from 0 to 4"),
        (lambda s: s.count({"z": 0}), "attributes x, y, but it is about 'z'"),
        (lambda s: s.count({"w": 0}), "unknown attribute 'w'"),
        (lambda s: s.marginal(["x", "z"]), "but it has 'z'"),
    ],
)
def test_what_the_boxes_do_not_have_is_refused(call, message):
    with pytest.raises(DomainError, match=message):
        call(made())


@pytest.fixture(scope="module")
def released():
    points = np.random.default_rng(1).integers(0, [5, 3, 2], (400, 3))
    mechanism = AdaptiveGrid(attributes=["y", "x"])
    return margin.release(points, domain=DOMAIN, budget=PureDP(1), mechanism=mechanism)


def test_a_file_gives_the_same_answers(released, tmp_path):
    released.save(tmp_path / "map.margin")
    again = margin.load(tmp_path / "map.margin")
    assert again.view == ("y", "x")
    for ranges in ({}, {"x": range(1, 4), "y": range(2)}):
        assert repr(again.count(ranges)) == repr(released.count(ranges))  # NaN equals NaN
    assert "leaves over y, x" in again.summary()["boxes"]


@pytest.mark.parametrize(
    "change",
    [
        lambda packed: packed.arrays.update(counts=packed.arrays["counts"][:-1]),
        lambda packed: packed.arrays.update(boxes=packed.arrays["boxes"].astype(float)),
        lambda packed: packed.arrays.update(boxes=packed.arrays["boxes"] + 1),
        lambda packed: packed.arrays.update(boxes=packed.arrays["boxes"] * 0),
        lambda packed: packed.arrays.update(parents=packed.arrays["parents"] * 0),
        lambda packed: packed.arrays.update(variances=packed.arrays["variances"] * 0 - 1),
        lambda packed: packed.fields.update(view=["x", "w"]),
        lambda packed: packed.fields.update(view=["x"]),
    ],
)
def test_files_that_do_not_divide_the_cells_are_refused(released, change):
    packed = released.pack()
    packed = Packed(dict(packed.fields), dict(packed.arrays))
    change(packed)
    with pytest.raises((ValueError, margin.MarginError)):
        BoxSynopsis.unpack(packed, domain=DOMAIN, provenance=released.provenance)


def test_there_is_room_for_every_tree():
    domain = Domain(ordered_axes(x=9, y=1))
    rows = np.zeros((5, 2), np.int64)
    synopsis = margin.simulate(
        rows, domain=domain, budget=PureDP(1), mechanism=QuadTree(), seed=1
    ).synopsis
    packed = synopsis.pack()
    room = BoxSynopsis.room(packed.fields, domain=domain)
    assert all(array.size <= room[name] for name, array in packed.arrays.items())
    huge = BoxSynopsis.room({**packed.fields, "number": 10**12}, domain=domain)
    assert max(huge.values()) < 1000


def test_no_variance_needs_a_provenance():
    synopsis = dataclasses.replace(made(), variances=VARIANCES * 4)
    assert synopsis.count({}).variance == pytest.approx(4 * made().count({}).variance)
