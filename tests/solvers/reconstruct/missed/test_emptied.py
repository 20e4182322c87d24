"""What is missed in categories that noise made empty."""

from dataclasses import replace

import numpy as np
import pytest

from margin.solvers import Known, KnownTable, Newton, Reconstruction, Structure, Tables
from margin.solvers.reconstruct.missed.emptied import emptied_covariance, emptied_variance

COUNTS = (np.array([900.0, 100.0, 0.0]), np.array([300.0, 700.0]), np.array([500.0, 500.0]))
DEVIATION = 50.0


def _tables(counts=COUNTS, deviation=DEVIATION):
    """Counts of single axes, of which one category is empty."""
    return Tables(
        sizes=tuple(len(table) for table in counts),
        views=tuple((axis,) for axis in range(len(counts))),
        values=counts,
        variances=(deviation**2,) * len(counts),
    )


def _independent(counts=COUNTS):
    first, second, third = (table / table.sum() for table in counts)
    return 1000 * np.einsum("a,b,c->abc", first, second, third)


def test_cells_of_an_empty_category_miss_its_rows():
    tables = _tables()
    asked = np.array([[0, 1, 2]])
    found = emptied_variance(tables, asked, _independent()[None])[0]
    variance = tables.variance((0,))
    # All of the variance, times the squared share of the cell in its category.
    expected = variance * np.outer([0.3, 0.7], [0.5, 0.5]) ** 2
    assert found[2] == pytest.approx(expected)
    assert not found[:2].any()


def test_where_no_category_is_empty_nothing_is_missed():
    asked = np.array([[0, 1, 2]])
    assert not emptied_variance(_tables(deviation=1e-6), asked, _independent()[None]).any()
    full = (np.array([700.0, 200.0, 100.0]), *COUNTS[1:])
    assert not emptied_variance(_tables(full), asked, _independent(full)[None]).any()


def test_sums_of_one_cell_are_the_cells():
    tables = _tables()
    table = _independent()
    covariance = emptied_covariance(tables, (0, 1, 2), np.eye(table.size), table.ravel())
    cells = emptied_variance(tables, np.array([[0, 1, 2]]), table[None])
    assert covariance.diagonal() == pytest.approx(cells.ravel())


def test_the_sum_of_an_empty_category_misses_its_variance():
    tables = _tables()
    weights = np.zeros((3, 2, 2, 1))
    weights[2] = 1.0
    flat = weights.reshape(12, 1)
    covariance = emptied_covariance(tables, (0, 1, 2), flat, _independent().ravel())
    assert covariance[0, 0] == pytest.approx(tables.variance((0,)))


def random_tables(seed):
    """Four axes of three categories, of which views hold three, with noise as large as counts."""
    rng = np.random.default_rng(seed)
    return Tables(
        sizes=(3,) * 4,
        views=((0,), (1,), (3,)),
        values=tuple(100 * rng.dirichlet(np.ones(3)) for _ in range(3)),
        variances=tuple(rng.uniform(100, 2000, 3).tolist()),
    )


def missed_by_shifts(tables, axes, table, weights):
    """The same covariance: each category of each axis gets rows of its own, spread evenly."""
    total = table.sum()
    result = np.zeros((weights.shape[1],) * 2)
    for place, axis in enumerate(axes):
        others = tuple(other for other in range(table.ndim) if other != place)
        counts = table.sum(axis=others)
        variance = 0.0 if axis == 2 else tables.variance((axis,))
        for category, count in enumerate(counts):
            left = max(0.0, 1 - count / np.sqrt(variance)) * variance if variance else 0.0
            factors = [
                np.eye(3)[category]
                if other == place
                else table.sum(axis=tuple(o for o in range(table.ndim) if o != other)) / total
                for other in range(table.ndim)
            ]
            row = np.ones(())
            for factor in factors:
                row = np.multiply.outer(row, factor)
            moved = weights.T @ row.ravel()
            result += left * np.outer(moved, moved)
    return result


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("asked", [[[0, 1, 3], [1, 2, 3]], [[0, 3], [2, 3], [0, 1]]], ids=str)
def test_cells_and_sums_miss_what_rows_in_their_categories_would_add(asked, seed):
    tables, rng = random_tables(seed), np.random.default_rng(seed)
    shape = (3,) * len(asked[0])
    found = rng.dirichlet(np.full(3 ** len(shape), 0.2), len(asked)).reshape(-1, *shape)
    found *= rng.uniform(50, 200, len(asked)).reshape(-1, *[1] * len(shape))
    cells = emptied_variance(tables, np.array(asked), found)
    assert cells.any()
    weights = rng.normal(size=(3 ** len(shape), 4))
    for axes, table, one in zip(asked, found, cells, strict=True):
        expected = missed_by_shifts(tables, axes, table, np.eye(table.size)).diagonal()
        assert one.ravel() == pytest.approx(expected)
        sums = emptied_covariance(tables, tuple(axes), weights, table.ravel())
        assert sums == pytest.approx(missed_by_shifts(tables, axes, table, weights))


def test_impossible_cells_miss_nothing():
    tables = _tables()

    class Zeros:
        def cells_of_many(self, asked):
            empty = np.zeros((len(asked), 12), dtype=bool)
            empty[:, 8] = True
            return empty

    object.__setattr__(tables, "zeros", Zeros())
    table = _independent()
    found = emptied_variance(tables, np.array([[0, 1, 2]]), table[None]).ravel()
    assert found[8] == 0
    assert found[9] > 0
    one = np.eye(12)[:, [8]]
    assert emptied_covariance(tables, (0, 1, 2), one, table.ravel())[0, 0] == 0


def test_known_sums_miss_nothing():
    # A category of the axis that is not known is empty.
    counts = (*COUNTS[:2], np.array([1000.0, 0.0]))
    table = _independent(counts)
    pair = KnownTable((0, 1), (None, None), table.sum(axis=2))
    tables = replace(_tables(counts), known=Known((3, 2, 2), (pair,)))
    rng = np.random.default_rng(0)
    # Functions of the known table, of the third axis, and of all axes.
    known = np.repeat(rng.normal(size=(6, 2)), 2, axis=0)
    free = np.tile([[0.0], [1.0]], (6, 1))
    weights = np.column_stack([known, free, rng.normal(size=12)])
    found = emptied_covariance(tables, (0, 1, 2), weights, table.ravel())
    plain = emptied_covariance(_tables(counts), (0, 1, 2), weights, table.ravel())
    assert (plain.diagonal()[:2] > 0).all()
    assert np.abs(found[:2]).max() < 1e-9 * plain.max()
    # What is known of a sum does not count.
    shifted = weights + known[:, :1]
    other = emptied_covariance(tables, (0, 1, 2), shifted, table.ravel())
    assert other[2:, 2:] == pytest.approx(found[2:, 2:], abs=1e-9 * plain.max())


def test_intervals_hold_the_rows_of_emptied_categories():
    rng = np.random.default_rng(0)
    truth = rng.multinomial(1000, np.full(40, 1 / 40))
    halves = rng.multinomial(1000, [0.5, 0.5])
    noisy = np.maximum(truth + rng.normal(0, DEVIATION, 40), 0.0)
    noisy *= 1000 / noisy.sum()
    tables = _tables((noisy, halves.astype(float)))
    reconstruction = Reconstruction(tables, Newton())
    asked = np.array([[0, 1]])
    solutions = reconstruction.solve(asked)
    missed = Structure(tables, reconstruction.solver).missed_variance(asked, solutions)[0]
    empty = noisy == 0
    assert empty.sum() > 5
    # About half of a category's rows are in a cell.
    assert (np.sqrt(missed[empty]) > truth[empty, None] / 2).all()
