"""The total of noisy tables with a base."""

import math

import numpy as np
import pytest

from margin.solvers import CountedBase, Evidence, ResidualConsistency, Tables, learnt, with_total
from margin.solvers.based.total import _by_cells, own_total, total_with
from margin.solvers.zeros import Zeros

SIZES = (8,) * 12
DRAWS = 12


def skewed(rows, seed, shift=0.0):
    """Rows of twelve independent attributes whose first category most rows have."""
    rng = np.random.default_rng(seed)
    is_rare = rng.random((rows, 12)) < np.linspace(0.02, 0.1, 12) + shift
    return np.where(is_rare, rng.integers(1, 8, (rows, 12)), 0)


def deviations_of_the_total(base_rows, shift=0.0):
    """The error of the total with a base, and its standard deviation, for 12 draws: arrays."""
    found = []
    for seed in range(DRAWS):
        truth = skewed(20_000, 2 * seed)
        rows = skewed(base_rows, 2 * seed + 1, shift)
        codes, weights = np.unique(rows, axis=0, return_counts=True)
        rng = np.random.default_rng(seed)
        evidence = Evidence(sizes=SIZES)
        for axis in range(12):
            counts = np.bincount(truth[:, axis], minlength=8)
            evidence.add_table((axis,), counts + rng.normal(0, 500.0, 8), 500.0**2)
        tables = ResidualConsistency()(evidence.tables())
        total, variance = learnt(tables, CountedBase(SIZES, codes, weights)).total
        found.append((total - 20_000, math.sqrt(variance), tables.total - 20_000))
    return np.array(found).T


def test_categories_that_most_rows_have_tell_the_total():
    errors, stated, own = deviations_of_the_total(5_000)
    assert np.sqrt((errors**2).mean()) < 0.8 * np.sqrt((own**2).mean())
    # The mean of 12 squares of normal numbers exceeds 4.1 with a probability below 1e-6.
    assert ((errors / stated) ** 2).mean() < 4.1


@pytest.mark.parametrize("shift", [0.05, 0.5])
def test_another_population_hardly_changes_the_total(shift):
    """A base with fewer rows in the main categories of all axes looks like a larger total."""
    errors, _, own = deviations_of_the_total(5_000, shift)
    assert np.sqrt((errors**2).mean()) < 1.1 * np.sqrt((own**2).mean())


def tilted():
    """A table, and a base in which large cells are larger: also 1 / (the rows it is worth)."""
    truth = np.exp(-np.arange(400) / 40)
    truth /= truth.sum()
    shares = truth**1.2
    shares /= shares.sum()
    trust = float(((truth - shares) ** 2 / shares).mean())
    tables = Tables(sizes=(400,), views=((0,),), values=(20_000 * truth,), variances=(100.0,))
    rows = np.maximum(np.round(1e7 * shares), 1).astype(np.int64)
    return tables, CountedBase((400,), np.arange(400)[:, None], rows), trust


def test_cells_that_deviate_in_one_direction_are_stated():
    tables, base, trust = tilted()
    total, variance = _by_cells(tables, base, trust)
    # 1.9 stated standard deviations; 5.9 if the cells were taken to deviate independently.
    assert abs(total - 20_000) < 3 * math.sqrt(variance)


def test_a_base_that_contradicts_the_total_counts_less():
    tables, base, _ = tilted()
    own, variance = own_total(tables)
    # The base is trusted far too much.
    fitted, error = _by_cells(tables, base, 1e-7)
    assert abs(fitted - own) > 5 * math.sqrt(variance + error)
    found, _ = total_with(tables, base, 1e-7)
    assert abs(found - own) < math.sqrt(variance)


def test_a_small_base_of_many_cells_does_not_lower_the_total():
    """Chance in the shares of the base dilutes the regression of counts on shares."""
    cells = 400
    law = np.random.default_rng(1).dirichlet(np.full(cells, 0.5))
    found = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        truth, rows = (rng.choice(cells, n, p=law) for n in (20_000, 300))
        # Noise that the estimate has to allow for, but that does not blur the test.
        counts = np.bincount(truth, minlength=cells).astype(float)
        tables = Tables(sizes=(cells,), views=((0,),), values=(counts,), variances=(1e6,))
        codes, weights = np.unique(rows, return_counts=True)
        base = CountedBase((cells,), codes[:, None], weights)
        found.append(_by_cells(tables, base, 1 / 300)[0] / 20_000)
    # Without the correction it is 0.66. A ratio has a bias of its own.
    assert 0.9 < np.mean(found) < 1.15


@pytest.mark.parametrize("zeros", [None, Zeros((2, 2), (((0, (1,)), (1, (0,))),))])
@pytest.mark.parametrize("total", [5.0, 40.0])
def test_another_total_makes_no_count_negative_or_possible(total, zeros):
    values = np.array([[0.0, 9.0], [0.0, 1.0]])
    tables = Tables(sizes=(2, 2), views=((0, 1),), values=(values,), variances=(1.0,), zeros=zeros)
    (found,) = with_total(tables, total, 1.0).values
    assert found.min() >= 0 and found.sum() == pytest.approx(total)
    assert zeros is None or found[1, 0] == 0


def test_negative_counts_that_were_left_stay():
    values = np.array([[-3.0, 9.0], [0.0, 4.0]])
    tables = Tables(sizes=(2, 2), views=((0, 1),), values=(values,), variances=(1.0,))
    (found,) = with_total(tables, 14.0, 1.0).values
    assert found == pytest.approx(values + 1)
