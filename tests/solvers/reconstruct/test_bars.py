"""Error bars: how often they hold the reconstruction without noise."""

import itertools

import numpy as np
import pytest
from cases import tables_of

from margin.solvers import Batch, JointProjection, Newton, Problem, ResidualConsistency, Tables
from margin.solvers.basis import transform
from margin.solvers.reconstruct import dual as dual_module
from margin.solvers.reconstruct import newton, sampling

VIEWS = [(0, 1, 2), (0, 3, 4), (1, 3, 5), (2, 4, 5), (0, 5), (1, 4), (2, 3)]
ASKED = list(itertools.combinations(range(6), 4))


def answers(tables: Tables):
    return Newton().solve(Batch.of(tables, ASKED))


@pytest.mark.slow
@pytest.mark.parametrize("projection", [None, JointProjection()], ids=["none", "joint"])
def test_ninety_five_percent_bars_hold_the_reconstruction_without_noise(projection):
    """Over 100 draws of noise that is small beside most cells: between 93 and 99 %."""
    rng = np.random.default_rng(4)
    array = rng.dirichlet(np.full(64, 2.0)).reshape((2,) * 6) * 200_000
    noise = 60.0
    exact = tables_of(array, VIEWS, variance=2 * noise**2)
    truth = answers(exact).table
    held = []
    for _ in range(100):
        noisy = exact.with_values(
            [value + rng.laplace(0, noise, value.shape) for value in exact.values]
        )
        tables = ResidualConsistency()(noisy)
        found = answers(projection(tables) if projection else tables)
        held.append(np.abs(found.table - truth) <= 1.959964 * np.sqrt(found.variance))
    assert 0.93 <= np.mean(held) <= 0.99


@pytest.mark.parametrize(
    "way", ["numpy", pytest.param("sampled", marks=pytest.mark.slow), "compiled"]
)
@pytest.mark.parametrize("noise", [300.0, 10.0, 1.0])
@pytest.mark.parametrize("shape", [(20,), (12, 2), (8, 5), (2,) * 5, (40, 6)], ids=str)
def test_variances_are_right_where_cells_are_near_zero(shape, noise, way, monkeypatch):
    """Little noise and rare cells make H^-1 huge, and sums over its entries nothing but rounding
    errors. Against solving for each cell, where nothing cancels out."""
    rng = np.random.default_rng(7)
    cells, rows = int(np.prod(shape)), 1e7
    share = rng.dirichlet(np.full(cells, 0.05))
    basis = transform(shape)
    index = np.flatnonzero((basis.order > 0) & (basis.order <= 2))
    variance = np.full(len(index), cells * noise**2 / rows**2)
    target = basis.analyse(share)[index] * np.sqrt(cells) + rng.normal(size=len(index)) * np.sqrt(
        variance
    )
    problem = Problem(
        shape=shape,
        index=index,
        target=target,
        variance=variance,
        total=rows,
        total_variance=cells * noise**2,
    )
    if way == "sampled":
        monkeypatch.setattr(dual_module, "SUMMED_NUMBERS", 0)
        monkeypatch.setattr(sampling, "PROBES", 50_000)  # deviations are right to 0.3 %
    if way == "compiled":
        loops = pytest.importorskip("margin.solvers.reconstruct.newton_loops")
        monkeypatch.setattr(newton, "_compiled_loops", lambda seconds: loops)
        solution = Newton().solve(Batch.pack([problem]))[0]
    else:
        solution = Newton().solve(problem)
    assert solution.status.ok
    found = solution.table.ravel() / rows
    functions = basis.synthesise(np.eye(cells))[index] * np.sqrt(cells)
    mean = functions @ found
    centred = (functions - mean[:, None]) * found
    hessian = centred @ (functions - mean[:, None]).T + np.diag(Newton().ridge(problem))
    changes = np.linalg.solve(hessian, centred)
    expected = (
        rows**2 * (variance @ changes**2) + problem.total_variance * (found - target @ changes) ** 2
    )
    deviation = np.sqrt(expected)
    assert np.sqrt(solution.variance.ravel()) == pytest.approx(
        deviation, abs=1e-2 * deviation.max()
    )
