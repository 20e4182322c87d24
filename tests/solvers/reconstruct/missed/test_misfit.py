"""How far reconstructions are from the views: equal to loops over cells, and 0 where they fit."""

import itertools

import numpy as np
import pytest

from margin.solvers import Newton, Reconstruction, Structure, Tables
from margin.solvers.reconstruct.missed.misfit import (
    largest_sets,
    misfit_covariance,
    misfit_variance,
)

SIZES = (2, 3, 2, 2)
VIEWS = ((0, 1, 2), (1, 3), (2, 3))
ROWS = 1000.0
ALL = np.array([[0, 1, 2, 3]])


def _tables(truth, deviation=3.0):
    """The exact views of a table, with a variance."""
    values = []
    for view in VIEWS:
        values.append(truth.sum(axis=tuple(set(range(4)) - set(view))))
    return Tables(
        sizes=SIZES, views=VIEWS, values=tuple(values), variances=(deviation**2,) * len(VIEWS)
    )


def _truth(seed):
    return ROWS * np.random.default_rng(seed).dirichlet(np.ones(24)).reshape(SIZES)


def _known(tables, asked=ALL):
    return tables.holders(asked)[0] > 0


def _expected(tables, fitted):
    """The definition, cell by cell."""
    result = np.zeros(SIZES)
    for view, held in zip(tables.views, tables.values, strict=True):
        noise = tables.covered_variances(np.array([view]))[0]
        own = fitted.sum(axis=tuple(set(range(4)) - set(view)))
        for cell in itertools.product(*map(range, SIZES)):
            place = tuple(cell[axis] for axis in view)
            excess = max((held[place] - own[place]) ** 2 - noise, 0.0)
            result[cell] += excess * (fitted[cell] / own[place]) ** 2
    return result


@pytest.mark.parametrize("seed", range(3))
def test_cells_and_sums_are_those_of_the_definition(seed):
    tables = _tables(_truth(seed))
    fitted = _truth(seed + 100)
    expected = _expected(tables, fitted)
    assert expected.any()
    both = misfit_variance(
        tables, ALL.repeat(2, axis=0), _known(tables).repeat(2, axis=0), np.stack([fitted, fitted])
    )
    assert both[0] == pytest.approx(expected)
    assert both[1] == pytest.approx(expected)
    sums = misfit_covariance(tables, (0, 1, 2, 3), _known(tables)[0], np.eye(24), fitted.ravel())
    assert sums.diagonal() == pytest.approx(expected.ravel())
    assert np.linalg.eigvalsh(sums).min() >= -1e-6 * sums.trace()


def test_marginals_with_other_known_sets_are_told_apart():
    tables = _tables(_truth(0))
    asked = np.array([[0, 2, 3], [0, 2, 3]])
    known = _known(tables, asked)
    known[1] = False
    fitted = _truth(5).sum(axis=1)[None].repeat(2, axis=0)
    found = misfit_variance(tables, asked, known, fitted)
    assert found[0].any()
    assert not found[1].any()


def test_reconstructions_that_fit_have_no_misfit():
    truth = _truth(1)
    tables = _tables(truth)
    assert not misfit_variance(tables, ALL, _known(tables), truth[None]).any()
    weights = np.random.default_rng(0).normal(size=(24, 3))
    covariance = misfit_covariance(tables, (0, 1, 2, 3), _known(tables)[0], weights, truth.ravel())
    assert not covariance.any()


def test_too_many_sets_are_not_looked_at(monkeypatch):
    """Three sets of a marginal of 24 cells."""
    tables = _tables(_truth(0))
    fitted = _truth(100)[None]
    for most, looked in ((72, True), (71, False)):
        monkeypatch.setattr("margin.solvers.reconstruct.missed.misfit.MISFIT_NUMBERS", most)
        assert misfit_variance(tables, ALL, _known(tables), fitted).any() == looked


def test_the_sum_of_all_cells_has_no_misfit():
    """Reconstructions have the total of the views, whatever their cells."""
    tables = _tables(_truth(0))
    covariance = misfit_covariance(
        tables, (0, 1, 2, 3), _known(tables)[0], np.ones((24, 1)), _truth(2).ravel()
    )
    assert covariance == pytest.approx(0.0, abs=1e-6)


def test_misfits_have_signs():
    """A sum and its negative err by as much, in opposite directions."""
    tables = _tables(_truth(0))
    own = np.random.default_rng(1).normal(size=24)
    weights = np.stack([own, -own], axis=1)
    found = misfit_covariance(tables, (0, 1, 2, 3), _known(tables)[0], weights, _truth(100).ravel())
    assert found[0, 0] > 0
    assert found[0, 1] == pytest.approx(-found[0, 0])
    assert found[1, 1] == pytest.approx(found[0, 0])


@pytest.mark.parametrize(
    ("held", "largest"),
    [
        ([()], []),
        ([(), (0,), (1,), (0, 1), (2,)], [(0, 1), (2,)]),
        ([(), (0,), (1,), (2,), (0, 1), (1, 2), (0, 2)], [(0, 1), (0, 2), (1, 2)]),
    ],
)
def test_the_largest_sets_lie_in_no_other(held, largest):
    known = np.zeros(8, np.bool_)
    known[[sum(1 << place for place in one) for one in held]] = True
    assert sorted(largest_sets(known)) == largest


def test_cells_that_never_occur_are_held_by_intervals():
    """Follow-ups that are not asked: triples tell it, and relaxation leaves rows in empty cells."""
    rng = np.random.default_rng(4)
    rows = 40_000
    gate, other, last = (rng.integers(0, size, rows) for size in (2, 2, 3))
    asked = (gate == 1) & (other == 1)
    first, second = (np.where(asked, 1 + rng.integers(0, 2, rows), 0) for _ in range(2))
    truth = np.zeros((2, 2, 3, 3, 3))
    np.add.at(truth, (gate, other, first, second, last), 1.0)
    views = tuple(itertools.combinations(range(5), 3))
    values = tuple(truth.sum(axis=tuple(set(range(5)) - set(view))) for view in views)
    tables = Tables(sizes=truth.shape, views=views, values=values, variances=(60.0,) * len(views))
    solver = Newton(context=12)
    asked_axes = np.array([[0, 1, 2, 3]])
    solutions = Reconstruction(tables, solver).solve(asked_axes)
    structure = Structure(tables, solver, dict.fromkeys([(2, 4), (3, 4)], 1e-4))
    missed = structure.missed_variance(asked_axes, solutions)[0]
    error = np.abs(solutions.table[0] - truth.sum(axis=4))
    assert solutions.variance is not None
    spread = 1.96 * np.sqrt(solutions.variance[0] + missed)
    assert (error <= spread + 0.5).mean() >= 0.95
