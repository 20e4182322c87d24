"""The programmes of section 4.3 as printed, against the same programmes in cvxpy."""

import cvxpy
import numpy as np
import pytest

from experiments.priview._printed import least_norm, linear_programme
from margin.solvers import Clip, LatticeConsistency, Tables

VIEWS = ((0, 1, 2), (1, 2, 3), (0, 3, 4), (2, 4))
AXES = (0, 2, 3)


def noisy(seed):
    rng = np.random.default_rng(seed)
    shapes = [(2,) * len(view) for view in VIEWS]
    values = tuple(
        rng.poisson(80 / 2 ** len(shape), shape) + rng.normal(0, 6, shape) for shape in shapes
    )
    return Tables(sizes=(2,) * 5, views=VIEWS, values=values, variances=(36.0,) * 4)


def constraints(tables, cells):
    """The gaps between a table and the views, as expressions of cvxpy."""
    gaps = []
    places = np.arange(8).reshape(2, 2, 2)
    for row, view in enumerate(tables.views):
        common = tuple(axis for axis in AXES if axis in view)
        known = tables.project(row, common)
        for cell in np.ndindex(known.shape):
            index = [slice(None)] * 3
            for axis, code in zip(common, cell, strict=True):
                index[AXES.index(axis)] = code
            gaps.append(cvxpy.sum(cells[places[tuple(index)].ravel()]) - known[cell])
    return cvxpy.hstack(gaps)


@pytest.mark.parametrize("seed", range(3))
def test_the_linear_programme_is_solved(seed):
    tables = noisy(seed)
    cells = cvxpy.Variable(8, nonneg=True)
    best = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm_inf(constraints(tables, cells)))).solve()
    found = cvxpy.Constant(linear_programme(tables, AXES).ravel())
    assert found.value.min() >= -1e-9
    assert cvxpy.norm_inf(constraints(tables, found)).value == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_the_table_of_least_norm_is_found(seed):
    tables = LatticeConsistency()(Clip()(LatticeConsistency()(noisy(seed))))
    cells = cvxpy.Variable(8, nonneg=True)
    programme = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.sum_squares(cells)), [constraints(tables, cells) == 0]
    )
    programme.solve(solver="CLARABEL")
    assert least_norm(tables, AXES).ravel() == pytest.approx(cells.value, abs=1e-3)
