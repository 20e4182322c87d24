"""What zeros imply between views, against brute force over all cells of the array."""

import dataclasses
import itertools

import numpy as np
import pytest
import scipy.linalg
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from margin.solvers import (
    JointProjection,
    Known,
    KnownTable,
    LinkedErrors,
    ProjectionQP,
    ResidualConsistency,
    Tables,
    WeightedSum,
    WholeTables,
    Zeros,
    covered_covariance,
    covered_group_variances,
    linked,
)
from margin.solvers.tables import implied
from margin.solvers.tables.consistency import Components
from margin.solvers.tables.implied import implied_axes
from margin.solvers.zeros import NoCellLeft, links

WORK = (((0, (0,)), (1, (3,))), ((0, (1, 2)), (1, (0, 1, 2))))
"""Exactly those with category 0 of axis 0 (the employed) have one of the first three categories of
axis 1 (occupations)."""

PLACES = (((1, (0, 1)), (2, (1, 2))), ((1, (2,)), (2, (0, 2))), ((1, (3,)), (2, (0, 1))))
"""Axis 1 (places) determines axis 2 (regions)."""

CYCLE = tuple(
    (((one, (code,)), (other, (second,))))
    for one, other, bit, other_bit in ((0, 1, 2, 2), (0, 2, 1, 2), (1, 2, 1, 1))
    for code, second in itertools.product(range(4), repeat=2)
    if bool(code & bit) != bool(second & other_bit)
)
"""Each two of three axes have one of three bits in common: u and v, u and w, v and w."""

SOME = tuple(((0, (0, 1)), (1, (code,)), (2, (1 - code,))) for code in range(2))
"""Axes 1 and 2 are equal in two of three categories of axis 0."""

LINKED = {
    "categories": ((3, 4, 3), WORK, ((0, 2), (1, 2))),
    "totals": ((3, 4, 3), WORK, ((0, 2), (1,))),
    "views of one size": ((3, 4, 3), WORK, ((0, 2), (1, 2), (2,), (0,))),
    "two other axes": ((3, 4, 2, 2), WORK, ((0, 2, 3), (1, 2, 3))),
    "a cycle": ((4, 4, 4), CYCLE, ((0,), (1,), (2,))),
    "only some categories": ((3, 2, 2), SOME, ((0, 1), (0, 2))),
    "determined": ((3, 4, 3), PLACES, ((0, 1), (0, 2))),
    "two parts": ((3, 4, 2, 2, 2), (*WORK, ((2, (0,)), (3, (1,))), ((2, (1,)), (3, (0,)))),
        ((0, 2, 4), (1, 3, 4))),
    "three attributes": ((3, 4, 2), (*WORK, ((1, (3,)), (2, (0,))), ((1, (0, 1, 2)), (2, (1,)))),
        ((0,), (1,), (2,))),
}  # fmt: skip
"""Sizes, boxes and views. No view has a cell that must be zero, and links imply all equalities."""

_SMALL = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def _arrays(draw):
    """Views of a small array in which few combinations are possible, and noisy tables."""
    sizes = tuple(draw(st.lists(st.integers(2, 3), min_size=3, max_size=4)))
    axes = range(len(sizes))
    boxes = set()
    for _ in range(draw(st.integers(1, 2))):
        own = sorted(draw(st.sets(st.sampled_from(axes), min_size=2, max_size=3)))
        every = list(itertools.product(*(range(sizes[axis]) for axis in own)))
        allowed = draw(st.lists(st.sampled_from(every), min_size=2, max_size=4))
        for codes in set(every).difference(allowed):
            boxes.add(tuple((axis, (code,)) for axis, code in zip(own, codes, strict=True)))
    assume(boxes)
    every = [pair for size in (1, 2) for pair in itertools.combinations(axes, size)]
    views = draw(st.lists(st.sampled_from(every), min_size=2, max_size=4, unique=True))
    try:
        zeros = Zeros(sizes, tuple(sorted(boxes)))
    except NoCellLeft:
        assume(False)
    return _noisy(sizes, tuple(views), zeros, draw(st.integers(0, 1000)))


def _noisy(sizes, views, zeros, seed, rows=40.0):
    rng = np.random.default_rng(seed)
    possible = ~zeros.cells(tuple(range(len(sizes))))
    array = rng.exponential(1.0, sizes) * possible
    array *= rows / array.sum()
    values = []
    for view in views:
        others = tuple(axis for axis in range(len(sizes)) if axis not in view)
        table = array.sum(axis=others)
        values.append(table + rng.normal(0.0, 2.0, table.shape))
    variances = tuple(rng.choice([1.0, 3.0], len(views)).tolist())
    return Tables(sizes=sizes, views=views, values=tuple(values), variances=variances, zeros=zeros)


def _sums(tables, views=None):
    """The matrix from all cells of the array to the cells of views, one view below another."""
    codes = np.indices(tables.sizes).reshape(len(tables.sizes), -1)
    blocks = []
    for view in tables.views if views is None else views:
        shape = [tables.sizes[axis] for axis in view]
        cell = np.ravel_multi_index(tuple(codes[list(view)]), shape)
        blocks.append((cell == np.arange(np.prod(shape))[:, None]).astype(float))
    return np.concatenate(blocks)


def _possible(tables):
    return ~tables.zeros.cells(tuple(range(len(tables.sizes)))).ravel()


def _equalities(tables, views=None):
    """All linear equalities between the cells of views: rows of a matrix."""
    return scipy.linalg.null_space(_sums(tables, views)[:, _possible(tables)].T).T


def _flat(tables, rows=None):
    every = range(len(tables.views)) if rows is None else rows
    return np.concatenate([tables.values[row].ravel() for row in every])


@_SMALL
@given(_arrays())
def test_whole_tables_satisfy_every_equality_that_zeros_imply(tables):
    fitted = JointProjection()(ResidualConsistency()(tables))
    assume(fitted.total > 5)
    whole = WholeTables()(fitted, round(fitted.total), seed=0)
    assert np.abs(_equalities(tables) @ _flat(whole)).max(initial=0) < 1e-9
    assert (_flat(whole) == np.rint(_flat(whole))).all()
    assert _flat(whole).min() >= 0


@_SMALL
@given(_arrays())
@pytest.mark.parametrize("fit", [ResidualConsistency(), JointProjection()])
def test_fitted_tables_satisfy_every_equality_between_two_views(fit, tables):
    fitted = fit(tables)
    assume(fitted.total > 1)
    for pair in itertools.combinations(range(len(tables.views)), 2):
        equalities = _equalities(tables, [tables.views[row] for row in pair])
        assert np.abs(equalities @ _flat(fitted, pair)).max(initial=0) < 1e-6


@_SMALL
@given(_arrays())
def test_more_is_implied_just_if_the_dimensions_say_so(tables):
    sums = _sums(tables)
    must = np.concatenate([tables.zeros.cells(view).ravel() for view in tables.views])
    rank = np.linalg.matrix_rank
    consistent = rank(sums) - (rank(sums[must]) if must.any() else 0)
    more = rank(sums[:, _possible(tables)]) < consistent
    assert bool(implied_axes(tables)) == more


def _linked(case, seed=0):
    sizes, boxes, views = LINKED[case]
    return _noisy(sizes, views, Zeros(sizes, boxes), seed, rows=1000.0)


def _generalised_least_squares(tables):
    """The estimate of all cells of the views, and its covariance, by dense algebra."""
    sums = _sums(tables)[:, _possible(tables)]
    cells = [value.size for value in tables.values]
    root = np.repeat(np.sqrt(tables.variances), cells)
    space = scipy.linalg.orth(sums / root[:, None])
    estimate = root * (space @ (space.T @ (_flat(tables) / root)))
    half = root[:, None] * space
    return estimate, half @ half.T


@pytest.mark.parametrize("case", LINKED)
def test_the_estimate_is_that_of_generalised_least_squares(case):
    tables = _linked(case)
    estimate, _ = _generalised_least_squares(tables)
    assert np.abs(_flat(ResidualConsistency()(tables)) - estimate).max() < 1e-8


@pytest.mark.parametrize("case", LINKED)
def test_errors_are_those_of_generalised_least_squares(case):
    tables = ResidualConsistency()(_linked(case))
    _, covariance = _generalised_least_squares(tables)
    errors = LinkedErrors.of(tables)
    start = 0
    for view, value in zip(tables.views, tables.values, strict=True):
        own = covariance[start : start + value.size, start : start + value.size]
        start += value.size
        variances = tables.variance(view) - errors.variances(view)
        np.testing.assert_allclose(variances.ravel(), own.diagonal(), rtol=1e-9)
        # Sums of the first two categories of the first axis, and of all others.
        groups = [np.minimum(np.arange(value.shape[0]) // 2, 1)] + [None] * (value.ndim - 1)
        group_sums = np.stack([groups[0] == group for group in range(groups[0][-1] + 1)]).astype(
            float
        )
        weights = np.kron(group_sums, np.eye(value[0].size))
        before = covered_group_variances(tables, view, groups)
        after = before - errors.variances(view, groups)
        expected = (weights @ own @ weights.T).diagonal()
        np.testing.assert_allclose(after.ravel(), expected, rtol=1e-9)
        sums = [WeightedSum(view, row.reshape(value.shape)) for row in weights]
        found = covered_covariance(tables, sums) - errors.covariance(sums)
        np.testing.assert_allclose(found, weights @ own @ weights.T, rtol=1e-9, atol=1e-9)


def test_what_three_views_imply_together_holds_in_whole_numbers():
    """Category 1 of axis 2 is that one of the other two axes has category 1."""
    allowed = [(0, 0, 0), (1, 0, 1), (0, 1, 1)]
    cells = set(itertools.product(range(2), repeat=3)).difference(allowed)
    boxes = tuple(tuple((axis, (code,)) for axis, code in enumerate(cell)) for cell in cells)
    tables = _noisy((2, 2, 2), ((0,), (1,), (2,)), Zeros((2, 2, 2), boxes), seed=1)
    assert not tables.links
    assert implied_axes(tables) == (0, 1, 2)
    fitted = JointProjection()(tables)
    first, second, third = (value[1] for value in WholeTables()(fitted, 40, seed=0).values)
    assert first + second == third


def test_tables_that_do_not_meet_their_links_are_made_to_do_so():
    tables = _linked("categories")
    assert LinkedErrors.of(tables) is None
    made = linked(tables)
    assert LinkedErrors.of(made) is not None
    assert linked(made) is made
    np.testing.assert_allclose(made.values[0][0], made.values[1][:3].sum(axis=0), rtol=1e-9)


def test_known_tables_stay_and_bind_what_is_linked_to_them():
    tables = _linked("categories")
    sizes = tables.sizes
    array = np.ones(sizes) * ~tables.zeros.cells((0, 1, 2))
    status = array.sum(axis=1)
    known = Known(sizes, [KnownTable((0, 2), (None, None), status)], tables.zeros)
    fitted = JointProjection()(ResidualConsistency()(dataclasses.replace(tables, known=known)))
    np.testing.assert_allclose(fitted.values[0], status, rtol=1e-9)
    np.testing.assert_allclose(fitted.values[1][:3].sum(axis=0), status[0], rtol=1e-9)
    # So their errors are known, too: there are none.
    at_work = WeightedSum((1, 2), np.outer([1.0, 1, 1, 0], [0.0, 1, 0]))
    before = covered_covariance(fitted, [at_work])
    assert before.item() > 0.1
    reduction = LinkedErrors.of(fitted).covariance([at_work])
    np.testing.assert_allclose(reduction, before, rtol=1e-9)


def test_errors_of_sums_leave_out_cells_that_must_be_zero():
    tables = _noisy((3, 4, 2), ((0, 1), (2,)), Zeros((3, 4, 2), LINKED["three attributes"][1]), 0)
    errors = LinkedErrors.of(ResidualConsistency()(tables))
    groups = [np.array([0, 1, 1]), np.array([0, 0, 1, 1])]
    possible = ~tables.zeros.cells((0, 1))
    sums = [
        WeightedSum((0, 1), np.outer(groups[0] == one, groups[1] == other) * possible)
        for one, other in itertools.product(range(2), repeat=2)
    ]
    expected = errors.covariance(sums).diagonal().reshape(2, 2)
    np.testing.assert_allclose(errors.variances((0, 1), groups), expected, atol=1e-12)


RULES_WITHOUT_LINKS = {
    "a child is not married": (((0, (0,)), (1, (1, 2))),),
    "one category alone": (((0, (0,)),),),
    "of three attributes": (((0, (0,)), (1, (1, 2)), (2, (0,))),),
}


@pytest.mark.parametrize("boxes", RULES_WITHOUT_LINKS.values(), ids=RULES_WITHOUT_LINKS)
def test_rules_that_imply_nothing_link_nothing(boxes):
    tables = _noisy((3, 4, 3), ((0, 2), (1, 2), (1,)), Zeros((3, 4, 3), boxes), seed=0)
    assert tables.links == ()
    assert implied_axes(tables) == ()
    assert Components(tables).links is None
    assert linked(tables) is tables


@pytest.mark.parametrize("limit", ["LINKED_GROUPS", "LINKED_NUMBERS"])
def test_beyond_the_limits_whole_numbers_still_agree(limit, monkeypatch):
    monkeypatch.setattr(links, limit, 1)
    tables = _linked("categories")
    assert Components(tables).links is None
    fitted = JointProjection()(ResidualConsistency()(tables))
    whole = WholeTables()(fitted, 1000, seed=0)
    assert np.abs(_equalities(tables) @ _flat(whole)).max() < 1e-9


@pytest.mark.parametrize("limit", ["IMPLIED_ROWS", "IMPLIED_NUMBERS", "IMPLIED_SETS"])
def test_beyond_the_limits_equalities_are_taken_for_granted(limit, monkeypatch):
    # Each category of axis 0 is in a box, and two categories of axis 1 go with all of them.
    boxes = (((0, (0,)), (1, (0,))), ((0, (1, 2)), (1, (1,))))
    tables = _noisy((3, 4, 3), ((0, 2), (1, 2), (2,)), Zeros((3, 4, 3), boxes), seed=0)
    assert implied_axes(tables) == ()
    monkeypatch.setattr(implied, limit, 0)
    assert implied_axes(tables) == (0, 1)


def test_of_many_sets_of_axes_pairs_of_axes_are_linked(monkeypatch):
    tables = _linked("two parts")
    monkeypatch.setattr(links, "LINKED_PAIRS", 0)
    found = links.links_between(tables.zeros, tables.views)
    assert sorted((link.common.one, link.common.other, link.axes) for link in found) == [
        ((0,), (1,), (4,)),
        ((2,), (3,), (4,)),
    ]


def test_the_projection_is_that_of_a_general_solver():
    tables = _noisy((3, 4, 3), LINKED["categories"][2], Zeros((3, 4, 3), WORK), 0, rows=12.0)
    consistent = ResidualConsistency()(tables)
    assert min(value.min() for value in consistent.values) < -1
    found = JointProjection(tolerance=1e-7)(consistent)
    expected = ProjectionQP(solver="CLARABEL")(consistent)
    np.testing.assert_allclose(_flat(found), _flat(expected), atol=1e-3)
