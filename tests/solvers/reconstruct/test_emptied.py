"""What is missed in categories that noise made empty."""

import numpy as np
import pytest

from margin.solvers import Newton, Reconstruction, Structure, Tables
from margin.solvers.reconstruct.emptied import emptied_covariance, emptied_variance

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
