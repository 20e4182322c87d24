"""Tables of whole numbers: they agree, keep what must be kept, and are near the given tables."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.solvers import (
    JointProjection,
    Known,
    Population,
    ResidualConsistency,
    Tables,
    WholeTables,
    Zeros,
    agree,
)
from margin.solvers.tables import whole

SIZES = (2, 3, 2, 4, 1)
EVERY = [view for size in range(1, 4) for view in itertools.combinations(range(len(SIZES)), size)]
RULES = Zeros(SIZES, (((0, (1,)), (1, (0, 2))), ((2, (0,)), (3, (1,)))))


def noisy_views(cells, views, sd, rng, **known):
    """Consistent non-negative tables near those of an array, which has noise added to each cell."""
    values = []
    for view in views:
        table = cells.sum(axis=tuple(axis for axis in range(cells.ndim) if axis not in view))
        values.append(table + rng.normal(0, sd, table.shape))
    noisy = Tables(
        sizes=cells.shape,
        views=views,
        values=tuple(values),
        variances=(sd**2,) * len(views),
        **known,
    )
    return JointProjection()(ResidualConsistency()(noisy))


@st.composite
def fitted(draw):
    """Consistent non-negative tables near the tables of random rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    views = tuple(draw(st.lists(st.sampled_from(EVERY), min_size=1, max_size=6, unique=True)))
    zeros = RULES if draw(st.booleans()) else None
    rows = draw(st.sampled_from([1, 7, 300]))
    sd = draw(st.sampled_from([0.01, 1.0, 30.0]))
    cells = rng.dirichlet(np.full(SIZES, 0.3).ravel()).reshape(SIZES) * rows
    if zeros is not None:
        cells[zeros.cells(tuple(range(len(SIZES))))] = 0
    known = Known.of_total(SIZES, rows, zeros)
    return noisy_views(cells, views, sd, rng, zeros=zeros, known=known), rows


def check(tables, found, total):
    assert agree(found)
    for row, (view, value) in enumerate(zip(found.views, found.values, strict=True)):
        assert value.shape == tables.values[row].shape
        assert (value >= 0).all() and (value == np.rint(value)).all() and value.sum() == total
        if tables.zeros is not None:
            assert not value[tables.zeros.cells(view)].any()


@given(fitted(), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_tables_are_whole_agree_and_have_the_total_and_the_zeros(given_tables, seed):
    tables, total = given_tables
    found = WholeTables()(tables, total, seed=seed)
    check(tables, found, total)
    again = WholeTables()(tables, total, seed=seed)
    pairs = zip(found.values, again.values, strict=True)
    assert all(np.array_equal(one, other) for one, other in pairs)


@pytest.mark.parametrize("total", [0, 1, 999, 10**6, 10**12])
def test_any_total_takes_the_same_number_of_groups(total, monkeypatch):
    monkeypatch.setattr(whole, "MOST_GROUPS", 2_000)
    rng = np.random.default_rng(0)
    cells = rng.dirichlet(np.ones(24)).reshape(2, 3, 2, 2)
    views = ((0, 1), (1, 2), (2, 3), (0, 3))
    values = [
        cells.sum(axis=tuple(axis for axis in range(4) if axis not in view)) for view in views
    ]
    tables = Tables(sizes=(2, 3, 2, 2), views=views, values=tuple(values), variances=(1e-9,) * 4)
    found = WholeTables()(tables, total, seed=1)
    check(tables, found, total)
    error = max(
        float(np.abs(value - total * goal).max())
        for value, goal in zip(found.values, values, strict=True)
    )
    assert error <= 2


@given(st.integers(0, 2**50), st.integers(1000, 10**5))
@settings(max_examples=200, deadline=None)
def test_groups_add_up(total, most):
    sizes = whole._groups(total, most)
    assert sizes.sum() == total and (sizes >= 1).all() and (sizes % 1 == 0).all()
    assert sizes.size <= most


def test_rounded_tables_are_taken_if_they_agree():
    pair = np.array([[2.2, 2.3], [0.1, 3.4]])
    tables = Tables(
        sizes=(2, 2), views=((0, 1), (1,)), values=(pair, pair.sum(axis=0)), variances=(1.0, 1.0)
    )
    found = WholeTables(sweeps=0)(tables, 8, seed=0)
    assert not agree(tables.with_values([np.rint(value) for value in tables.values]))
    check(tables, found, 8)
    found = WholeTables(sweeps=0)(
        tables.with_values([np.rint(pair), np.array([2.0, 5.0])]), 7, seed=0
    )
    assert found.values[0].tolist() == [[2, 2], [0, 3]]


def least(views, target, total):
    """The smallest squared distance of the tables of any rows of three bits."""
    cells = np.array(list(itertools.product(range(2), repeat=3)))
    best = np.inf
    for rows in itertools.combinations_with_replacement(range(8), total):
        codes = cells[list(rows)]
        distance = 0.0
        for view, goal in zip(views, target, strict=True):
            counts = np.zeros(goal.shape)
            np.add.at(counts, tuple(codes[:, axis] for axis in view), 1)
            distance += ((counts - goal) ** 2).sum()
        best = min(best, distance)
    return best


@pytest.mark.parametrize("views", [((0, 1), (1, 2)), ((0, 1, 2),), ((0,), (1, 2))], ids=str)
def test_near_the_optimum_of_all_rows(views):
    """The views are such that any tables that agree are those of some rows."""
    rng = np.random.default_rng(1)
    ratios = []
    for seed in range(30):
        cells = rng.dirichlet(np.full(8, 0.5)).reshape(2, 2, 2) * 4
        values = [
            cells.sum(axis=tuple(axis for axis in range(3) if axis not in view)) for view in views
        ]
        tables = Tables(
            sizes=(2, 2, 2),
            views=views,
            values=tuple(np.asarray(value) for value in values),
            variances=(1e-6,) * len(views),
        )
        found = WholeTables()(tables, 4, seed=seed)
        pairs = zip(found.values, values, strict=True)
        distance = sum(((mine - goal) ** 2).sum() for mine, goal in pairs)
        best = least(views, values, 4)
        assert distance >= best - 1e-9
        ratios.append(distance / best)
    assert np.median(ratios) <= 1.01 and np.mean(ratios) <= 1.5


def test_exchanges_round_each_table_by_itself():
    """All pairs of four attributes: without noise, each table is rounded nearly as by itself, and
    with large noise it is left as the rows give it."""
    rng = np.random.default_rng(2)
    sizes, views = (4, 5, 6, 5), tuple(itertools.combinations(range(4), 2))
    cells = rng.dirichlet(np.full(600, 0.1)).reshape(sizes) * 900
    values = [
        cells.sum(axis=tuple(axis for axis in range(4) if axis not in view)) for view in views
    ]
    distances = {}
    for variance in (1e-9, 1e9):
        tables = Tables(sizes=sizes, views=views, values=tuple(values), variances=(variance,) * 6)
        found = WholeTables()(tables, 900, seed=0)
        check(tables, found, 900)
        errors = [(mine - goal).ravel() for mine, goal in zip(found.values, values, strict=True)]
        distances[variance] = np.sqrt((np.concatenate(errors) ** 2).mean())
    assert distances[1e-9] < 0.36 < 0.37 < distances[1e9]


WRONG = {
    "view must occur once": {"views": ((0,), (0,)), "values": (np.ones(2),) * 2},
    "must be positive": {"views": ((0,),), "values": (np.zeros(2),)},
    "from 0 to": {"views": ((0,),), "values": (np.ones(2),), "total": -1},
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_refused(message):
    case = dict(WRONG[message])
    total = case.pop("total", 2)
    tables = Tables(sizes=(2,), variances=(1.0,) * len(case["views"]), **case)
    with pytest.raises(ValueError, match=message):
        WholeTables()(tables, total, seed=0)


@pytest.mark.parametrize("parameters", [{"sweeps": -1}, {"gain": 1.0}, {"gain": -0.1}], ids=str)
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(ValueError, match="must be"):
        WholeTables(**parameters)


def test_tables_that_differ_on_what_they_share_do_not_agree():
    pair = np.array([[2.0, 2.0], [1.0, 3.0]])
    for other, expected in (([3.0, 5.0], True), ([4.0, 4.0], False), ([3.0, 4.0], False)):
        tables = Tables(
            sizes=(2, 2),
            views=((0, 1), (1,)),
            values=(pair, np.array(other)),
            variances=(1.0, 1.0),
        )
        assert agree(tables) is expected


@pytest.mark.parametrize("seed", range(2))
def test_tables_with_large_variances_are_not_left_far_from_their_targets(seed):
    """Without the first stage of the descent, some of these tables are 30 to 50 rows a cell away.

    Every table is a marginal of one array, so the objective is small near all of them.
    """
    rng = np.random.default_rng(seed)
    sizes, rows = (3, 2, 4, 2, 5), 20_000
    cells = 0.99 * rng.dirichlet(np.full(240, 0.05)) + 0.01 / 240
    array = rows * cells.reshape(sizes)
    views = tuple(itertools.combinations(range(5), 3))
    kept = [set(range(5)) - set(view) for view in views]
    tables = Tables(
        sizes=sizes,
        views=views,
        values=tuple(array.sum(axis=tuple(others)) for others in kept),
        variances=tuple(0.2 if 0 in view else 4e4 for view in views),
    )
    found = WholeTables()(tables, rows, seed=0)
    check(tables, found, rows)
    pairs = zip(found.values, tables.values, strict=True)
    distances = [np.sqrt(((mine - goal) ** 2).mean()) for mine, goal in pairs]
    assert max(distances) < 10


_CHILDREN = ((1, (0,)), (3, (1, 2, 3, 4)))
_ADULTS = ((1, (1, 2, 3)), (3, (0,)))
_PUPILS = ((1, (0,)), (2, (2, 3, 4, 5)))
LINKS = {
    "two attributes": (_CHILDREN, _ADULTS),
    "three attributes": (_CHILDREN, _ADULTS, _PUPILS),
    "a chain": (_CHILDREN, _ADULTS, ((3, (0,)), (4, (1, 2)))),
    "two sets": (_CHILDREN, _ADULTS, ((0, (0, 1)), (4, (0,))), ((0, (2, 3, 4, 5, 6)), (4, (1, 2)))),
    "three at once": (((1, (0,)), (2, (3, 4, 5)), (3, (1, 2))), _ADULTS),
}
LINKED_SIZES = (7, 4, 6, 5, 3)


@pytest.mark.parametrize("total", [3_000, 300_000])
@pytest.mark.parametrize("rules", LINKS)
def test_tables_with_linked_attributes_stay_near_their_targets(rules, total, monkeypatch):
    """A row can only step from a child to an adult if several of its categories change at once."""
    # Rows are moved in groups if there are many.
    monkeypatch.setattr(whole, "MOST_GROUPS", 5_000)
    rng = np.random.default_rng(0)
    zeros = Zeros(LINKED_SIZES, LINKS[rules])
    cells = rng.dirichlet(np.full(LINKED_SIZES, 0.3).ravel()).reshape(LINKED_SIZES)
    cells[zeros.cells(tuple(range(5)))] = 0
    cells *= total / cells.sum()
    sd = total / 1_000
    views = tuple(itertools.combinations(range(5), 2))
    known = Known.of_total(LINKED_SIZES, total, zeros)
    tables = noisy_views(cells, views, sd, rng, zeros=zeros, known=known)
    found = WholeTables()(tables, total, seed=0)
    check(tables, found, total)
    for value, target in zip(found.values, tables.values, strict=True):
        assert np.sqrt(np.square(value - target).mean()) < 0.5 * sd


def test_linked_attributes_that_no_table_holds_are_left_alone():
    """They have more combinations than are tried for a row."""
    sizes = (2, 40, 40)
    zeros = Zeros(sizes, (((1, (0,)), (2, (1, 2))),))
    table = np.array([1_000_000.4, 2_000_000.6])
    tables = Tables(sizes=sizes, views=((0,),), values=(table,), variances=(1.0,), zeros=zeros)
    rows = Population().fit(tables, 60_000, seed=0)
    assert np.bincount(rows.codes[:, 0]).tolist() == [20_000, 40_000]
    assert not zeros.broken(rows.codes).any()
