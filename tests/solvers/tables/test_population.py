import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.solvers import Population, Tables

VIEWS = ((0, 1, 2), (1, 3), (2, 3, 4))
SIZES = (2, 3, 2, 4, 2, 3)


def tables_of(codes, sizes=SIZES, views=VIEWS, variances=None):
    values = []
    for view in views:
        table = np.zeros([sizes[axis] for axis in view])
        np.add.at(table, tuple(codes[:, axis] for axis in view), 1)
        values.append(table)
    return Tables(
        sizes=sizes,
        views=views,
        values=tuple(values),
        variances=variances or tuple(1.0 + row for row in range(len(views))),
    )


def objective(tables, codes):
    fitted = tables_of(codes, tables.sizes, tables.views)
    scale = len(codes) / tables.total
    parts = zip(fitted.values, tables.values, tables.variances, strict=True)
    return sum(((mine - scale * given) ** 2).sum() / variance for mine, given, variance in parts)


def random_rows(seed, rows, sizes=SIZES):
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, rows)
    return np.stack(
        [
            (rng.integers(0, size, rows) * (hidden + axis) // 2) % size
            for axis, size in enumerate(sizes)
        ],
        1,
    )


@given(st.integers(0, 2**32), st.integers(1, 300), st.integers(1, 300))
@settings(max_examples=40, deadline=None)
def test_no_change_of_one_category_is_better(seed, rows, wanted):
    """What coordinate descent promises, once it has ended by itself."""
    tables = tables_of(random_rows(seed, rows))
    found = Population(sweeps=200, gain=0).fit(tables, wanted, seed=seed)
    assert found.codes.shape == (wanted, len(SIZES))
    assert (found.codes >= 0).all() and (found.codes < SIZES).all()
    least = objective(tables, found.codes)
    for row, axis in itertools.product(range(min(wanted, 5)), range(len(SIZES))):
        for code in range(SIZES[axis]):
            other = found.codes.copy()
            other[row, axis] = code
            assert objective(tables, other) >= least - 1e-6


@given(st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_never_below_the_optimum_of_all_rows_and_seldom_far_above(seed):
    """Against every multiset of three rows of three binary attributes."""
    sizes, views = (2, 2, 2), ((0, 1), (1, 2), (0, 2))
    tables = tables_of(random_rows(seed, 50, sizes), sizes, views)
    cells = np.array(list(itertools.product(range(2), repeat=3)))
    all_rows = itertools.combinations_with_replacement(range(8), 3)
    best = min(objective(tables, cells[list(rows)]) for rows in all_rows)
    found = min(
        objective(tables, Population(gain=0).fit(tables, 3, seed=s).codes) for s in range(10)
    )
    assert best - 1e-9 <= found <= 1.5 * best + 1e-9


@pytest.mark.parametrize("rows", [1, 777, 20_000])
def test_the_gaps_are_those_of_the_rows(rows):
    tables = tables_of(random_rows(1, 5_000))
    found = Population().fit(tables, rows, seed=2)
    again = tables_of(found.codes)
    for gap, mine, given_ in zip(found.gaps, again.values, tables.values, strict=True):
        assert gap == pytest.approx(np.linalg.norm(mine / rows - given_ / 5_000), abs=1e-12)


def test_as_many_rows_as_were_counted_fit_closely():
    tables = tables_of(random_rows(3, 20_000))
    found = Population().fit(tables, 20_000, seed=0)
    assert found.gaps.max() < 1e-3
    assert found.sweeps >= 1


def test_an_axis_that_no_view_holds_is_uniform():
    found = Population().fit(tables_of(random_rows(4, 1_000)), 30_000, seed=0)
    counts = np.bincount(found.codes[:, 5], minlength=3)
    assert abs(counts - 10_000).max() < 500  # six standard deviations


def test_equal_seeds_give_equal_rows():
    tables = tables_of(random_rows(5, 500))
    first, second, third = (Population().fit(tables, 400, seed=seed).codes for seed in (1, 1, 2))
    assert (first == second).all() and (first != third).any()


def test_more_sweeps_never_fit_worse():
    tables = tables_of(random_rows(6, 3_000))
    worth = [
        objective(tables, Population(sweeps=n, gain=0).fit(tables, 3_000, seed=0).codes)
        for n in (0, 1, 5, 20)
    ]
    assert worth == sorted(worth, reverse=True) and worth[0] > worth[-1]


def test_many_equal_rows_fit_as_closely_as_few():
    """The equal rows of a piece move together. If a piece is too large, a move takes too many rows
    from one cell to another."""
    sizes = (2,) * 6
    views = tuple(itertools.combinations(range(6), 3))
    tables = tables_of(random_rows(8, 100_000, sizes), sizes, views)
    found = Population().fit(tables, 100_000, seed=0)
    assert len(np.unique(found.codes, axis=0)) <= 64
    # If all equal rows move at once, the objective ends at 11 after 25 sweeps.
    assert objective(tables, found.codes) <= 4
    assert found.sweeps <= 10


def test_equal_rows_do_not_follow_each_other():
    found = Population().fit(tables_of(random_rows(9, 5_000)), 5_000, seed=0)
    neighbours = (found.codes[1:] == found.codes[:-1]).all(axis=1).mean()
    shares = np.unique(found.codes, axis=0, return_counts=True)[1] / 5_000
    assert neighbours < 2 * (shares**2).sum()


def test_a_precise_view_is_fitted_better():
    """Two views that contradict each other: the one of less variance prevails."""
    views, values = (
        ((0, 1), (0, 1)),
        (np.array([[50.0, 0], [0, 50]]), np.array([[0, 50.0], [50, 0]])),
    )
    tables = Tables(sizes=(2, 2), views=views, values=values, variances=(1.0, 100.0))
    assert np.diff(Population().fit(tables, 100, seed=0).gaps)[0] > 0.5


@pytest.mark.parametrize("rows", [0, -1, 10**8 + 1])
def test_a_number_of_rows_out_of_range_is_refused(rows):
    with pytest.raises(ValueError, match="rows"):
        Population().fit(tables_of(random_rows(7, 10)), rows, seed=0)


def test_tables_of_nothing_are_refused():
    empty = tables_of(np.zeros((0, len(SIZES)), int))
    with pytest.raises(ValueError, match="total"):
        Population().fit(empty, 10, seed=0)


@pytest.mark.parametrize("wrong", [{"sweeps": -1}, {"gain": 1.0}, {"gain": float("nan")}])
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Population(**wrong)


def test_rows_are_no_independent_draws():
    """Counts in the tables vary between seeds far less than those of draws from the tables would,
    as docs/howto/records.md says."""
    tables = tables_of(random_rows(4, 3_000))
    first, second = VIEWS[1]
    cells = SIZES[first] * SIZES[second]
    counts = []
    for seed in range(5):
        codes = Population().fit(tables, 3_000, seed=seed).codes
        places = SIZES[second] * codes[:, first] + codes[:, second]
        counts.append(np.bincount(places, minlength=cells))
    mean = np.mean(counts, axis=0)
    of_draws = (mean * (1 - mean / 3_000)).mean()
    assert np.var(counts, axis=0, ddof=1).mean() < of_draws / 25
