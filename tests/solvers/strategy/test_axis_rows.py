"""The best queries on one axis, against a semidefinite programme and against brute force."""

import numpy as np
import pytest

from margin.solvers.strategy.axis_rows import best_rows, natural_spread

_PREFIXES = np.tril(np.ones((7, 7)))
_RANGES = np.array([[i <= c <= j for c in range(7)] for i in range(7) for j in range(i, 7)], float)


@pytest.mark.parametrize(
    "queries", [np.eye(7), _PREFIXES, _RANGES], ids=["cells", "prefixes", "ranges"]
)
@pytest.mark.parametrize("natural", [False, True])
def test_rows_are_zero_on_the_spread_and_have_the_stated_cost(queries, natural):
    gram = queries.T @ queries
    spread = natural_spread(gram) if natural else np.full(7, 1 / 7)
    found = best_rows(gram, spread)
    assert np.allclose(found.rows @ spread, 0, atol=1e-9)
    assert (found.rows**2).sum(axis=0).max() == pytest.approx(1)
    # The inverse of the total and the rows, written out.
    inverse = np.linalg.inv(np.concatenate([np.ones((1, 7)), found.rows]))
    assert ((queries @ inverse[:, 1:]) ** 2).sum() == pytest.approx(found.cost)
    assert found.bound <= found.cost <= 1.0001 * found.bound


def test_the_bound_holds_for_random_rows():
    rng = np.random.default_rng(0)
    gram = _PREFIXES.T @ _PREFIXES
    spread = np.full(7, 1 / 7)
    found = best_rows(gram, spread)
    for _ in range(100):
        rows = rng.normal(size=(6, 7))
        rows -= np.outer(rows @ spread, np.ones(7))
        inverse = np.linalg.inv(np.concatenate([np.ones((1, 7)), rows]))
        cost = ((_PREFIXES @ inverse[:, 1:]) ** 2).sum() * (rows**2).sum(axis=0).max()
        assert cost >= found.bound


@pytest.mark.slow
@pytest.mark.parametrize("queries", [_PREFIXES, _RANGES], ids=["prefixes", "ranges"])
def test_the_natural_spread_reaches_the_semidefinite_optimum_of_one_attribute(queries):
    pytest.importorskip("cvxpy")
    from margin.solvers.strategy.semidefinite import best_gram

    gram = queries.T @ queries
    values, vectors = np.linalg.eigh(gram)
    best = best_gram(vectors.T, values)
    optimum = float((values * np.linalg.inv(best).diagonal()).sum())
    spread = natural_spread(gram, tolerance=1e-6)
    found = best_rows(gram, spread, tolerance=1e-6)
    total = float(spread @ gram @ spread)
    # The best division of the budget between the total and the rows.
    assert (np.sqrt(total) + np.sqrt(found.cost)) ** 2 == pytest.approx(optimum, rel=1e-4)
