"""Views of few axes tell less of the pairs of axes that they do not hold."""

import itertools

import numpy as np
import pytest

from margin.solvers import Newton, Structure, Tables
from margin.solvers.reconstruct.missed.unbalance import blurred, unbalance

POINTS = np.linspace(-8, 8, 321)


def star(axes):
    """All pairs with the last axis."""
    return [(axis, axes - 1) for axis in range(axes - 1)]


@pytest.mark.parametrize("axes", [3, 4, 8, 30])
def test_a_star_is_one_piece_of_evidence(axes):
    assert unbalance(star(axes), axes) == pytest.approx(1 + 1 / (axes - 1))


BALANCED = {
    "no pair": ([(0,), (1,), (2,)], 3),
    "a ring": ([(0, 1), (1, 2), (2, 3), (0, 3)], 4),
    "parts": ([(0, 1, 2), (3, 4, 5)], 6),
    "all pairs": ([*itertools.combinations(range(5), 2)], 5),
    "all pairs, some twice": ([(0, 1, 2), (0, 3), (1, 3), (2, 3), (0, 1)], 4),
}


@pytest.mark.parametrize("case", BALANCED)
def test_balanced_views_are_full_evidence(case):
    views, axes = BALANCED[case]
    assert unbalance(views, axes) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("views", [[(0, 1, 2), (2, 3, 4), (2, 5)], [(1, 3)], [(0, 1), (0, 2, 3)]])
def test_it_is_the_variance_between_what_is_held_and_the_rest(views):
    """By the weights of the effects, from the definition."""
    axes = 7
    held = {pair for view in views for pair in itertools.combinations(view, 2)}
    rest = [pair for pair in itertools.combinations(range(axes), 2) if pair not in held]
    weights = np.zeros(axes)
    for chosen, sign in [(list(held), 1), (rest, -1)]:
        for pair in chosen:
            weights[list(pair)] += sign / len(chosen)
    assert unbalance(views, axes) == pytest.approx(weights @ weights)


@pytest.mark.parametrize("variance", [0.05, 1.0])
@pytest.mark.parametrize("own", [0.1, 0.5])
def test_the_blur_adds_its_variance(own, variance):
    """Checked where the grid does not cut off the law."""
    found = blurred(-((POINTS - 1) ** 2) / (2 * own), POINTS, variance)
    expected = -((POINTS - 1) ** 2) / (2 * (own + variance))
    near = np.abs(POINTS) < 3
    shift = (found - expected)[near]
    assert shift == pytest.approx(np.full(near.sum(), shift[0]), abs=1e-3)


def test_a_flat_likelihood_stays_flat():
    assert blurred(np.full(321, 7.0), POINTS, 0.8) == pytest.approx(np.full(321, 7.0))


def structure(views):
    """Six bits that nothing connects, known by exact tables of some views."""
    values = [np.full([2] * len(view), 10_000.0 / 2 ** len(view)) for view in views]
    tables = Tables(
        sizes=(2,) * 6,
        views=tuple(views),
        values=tuple(values),
        variances=(1.0,) * len(views),
    )
    return Structure(tables, Newton())


def test_an_independent_hub_leaves_weight_to_the_prior():
    """Without it, five independent pairs say that all others are independent, too."""
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]
    assert structure(ring).scale(1, 2) < 0.01
    assert 0.03 < structure(star(6)).scale(1, 2) < 0.1


def test_a_triple_beside_all_pairs_changes_nothing():
    """No pair is left about which it could say too little."""
    pairs = list(itertools.combinations(range(6), 2))
    found = structure([*pairs, (0, 1, 2)])
    (likelihood,) = [miss.log_likelihood() for miss in found._misses(1, 3)]
    assert np.array_equal(found._likelihood(1, 3), likelihood)
