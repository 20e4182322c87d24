"""Sums over the sparse matrix of views and contrasts."""

from itertools import combinations

import numpy as np
import pytest

from margin.designs.views import shares as shares_module
from margin.designs.views.error import contrast_weights
from margin.designs.views.shares import Contrasts, Holdings, best_shares


@pytest.fixture(scope="module")
def holdings() -> Holdings:
    """The holdings of overlapping views of 12 attributes, out of order."""
    sizes = [2, 3, 5, 10, 16, 4, 7, 25, 9, 42, 2, 3]
    triples = list(combinations(range(12), 3))
    contrasts = Contrasts(sizes, contrast_weights(sizes, triples, [1.0] * len(triples)))
    rng = np.random.default_rng(3)
    wide = [tuple(sorted(rng.choice(12, 6, replace=False).tolist())) for _ in range(40)]
    return contrasts.holdings([*wide, *triples[::-1], ()])


@pytest.mark.parametrize("power", [1, 2])
def test_precisions_are_those_of_a_count_of_all_entries(holdings: Holdings, power: int) -> None:
    """The sums are equal to the last bit, so that the same views are chosen."""
    shares = np.random.default_rng(4).random(len(holdings.cells))
    precisions = shares**power / holdings.cells
    plain = np.bincount(holdings.contrast, precisions[holdings.view], len(holdings.kappa))
    assert np.array_equal(holdings.precision(shares, power), plain)


def test_usefulness_is_that_of_a_count_of_all_entries(holdings: Holdings) -> None:
    """The sums are equal to the last bit, so that the same views are chosen."""
    theta = np.random.default_rng(5).random(len(holdings.kappa)) + 0.1
    values = holdings.kappa / theta**2
    plain = np.bincount(holdings.view, values[holdings.contrast], len(holdings.cells))
    assert np.array_equal(holdings.usefulness(theta), plain / holdings.cells)


def test_a_large_matrix_gets_fewer_steps(
    holdings: Holdings, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = best_shares(holdings, 1, steps=10)
    fewer = best_shares(holdings, 1, steps=5)
    many = best_shares(holdings, 1)
    assert few.bound <= many.bound <= many.error < few.error < fewer.error
    monkeypatch.setattr(shares_module, "FEWEST_STEPS", 5)
    for work, expected in ((10, few), (0, fewer)):
        monkeypatch.setattr(shares_module, "STEPS_WORK", work * holdings.view.size)
        assert np.array_equal(best_shares(holdings, 1).shares, expected.shares)
