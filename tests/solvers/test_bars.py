"""Error bars: how often they hold the reconstruction without noise."""

import itertools

import numpy as np
import pytest
from cases import tables_of

from margin.solvers import Batch, JointProjection, Newton, ResidualConsistency, Tables

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
        noisy = exact.with_values([value + rng.laplace(0, noise, value.shape) for value in exact.values])
        tables = ResidualConsistency()(noisy)
        found = answers(projection(tables) if projection else tables)
        held.append(np.abs(found.table - truth) <= 1.959964 * np.sqrt(found.variance))
    assert 0.93 <= np.mean(held) <= 0.99
