"""Tests of `solvers.based.likeness`."""

import dataclasses

import numpy as np
import pytest

from margin.solvers import CountedBase, Tables
from margin.solvers.based.likeness import _interactions, _moments, _noise, likeness
from margin.solvers.basis import transform

SIZES = (3, 2, 4)


def table(seed: int, effects: float = 1.0) -> np.ndarray:
    """A table of sum one with interactions on two and three axes; `effects` multiplies them."""
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=SIZES)
    order = transform(SIZES).order.reshape(SIZES)
    scale = np.where(order >= 2, effects, 0.5)
    log = transform(SIZES).synthesise((coefficients * scale).ravel())
    shares = np.exp(log)
    return (shares / shares.sum()).reshape(SIZES)


def without_triples(shares: np.ndarray) -> np.ndarray:
    """Lancaster's table without an interaction of three axes, cell by cell."""
    single = [shares.sum(axis=(1, 2)), shares.sum(axis=(0, 2)), shares.sum(axis=(0, 1))]
    pair = [shares.sum(axis=axis) for axis in range(3)]
    found = np.zeros(shares.shape)
    for a, b, c in np.ndindex(*shares.shape):
        one, two, three = single[0][a], single[1][b], single[2][c]
        pairs = pair[2][a, b] * three + pair[1][a, c] * two + pair[0][b, c] * one
        found[a, b, c] = pairs - 2 * one * two * three
    return found


def test_interactions_are_what_fewer_axes_do_not_tell():
    shares = table(0)
    order = transform(SIZES).order.reshape(SIZES)
    found = _interactions(_moments(shares))
    product = np.einsum(
        "a,b,c->abc", shares.sum(axis=(1, 2)), shares.sum(axis=(0, 2)), shares.sum(axis=(0, 1))
    )
    assert found[order < 2] == pytest.approx(0.0, abs=1e-12)
    pairs = _moments(shares) - _moments(product)
    assert found[order == 2] == pytest.approx(pairs[order == 2])
    triples = _moments(shares) - _moments(without_triples(shares))
    assert found[order == 3] == pytest.approx(triples[order == 3])


def test_the_noise_of_interactions_is_that_of_their_derivatives():
    moments = _moments(table(1))
    variance = np.random.default_rng(2).uniform(0.5, 2.0, SIZES)
    variance.flat[0] = 0.0
    expected = np.zeros(SIZES)
    step = 1e-6
    for place in range(1, moments.size):
        changed = moments.copy()
        changed.flat[place] += step
        slope = (_interactions(changed) - _interactions(moments)) / step
        expected += slope**2 * variance.flat[place]
    several = transform(SIZES).order.reshape(SIZES) >= 2
    assert _noise(moments, variance)[several] == pytest.approx(expected[several], rel=1e-4)


def found_likeness(shares: np.ndarray, of_base: np.ndarray, deviation: float) -> np.ndarray:
    """The likeness for a noisy table of 100,000 rows and a base of 50,000."""
    rows = 100_000
    counts = rows * shares + np.random.default_rng(3).normal(0, deviation, SIZES)
    tables = Tables(
        sizes=SIZES,
        views=((0, 1, 2),),
        values=(np.maximum(counts, 0.0),),
        variances=(deviation**2,),
    )
    codes = np.argwhere(of_base > 0)
    weights = np.random.default_rng(4).multinomial(50_000, of_base.ravel()) + 1
    base = CountedBase(SIZES, codes, weights)
    return likeness(dataclasses.replace(tables, unbiased=(counts,)), base, 3)


def test_the_same_interactions_are_alike():
    shares = table(5)
    found = found_likeness(shares, shares, 100.0)
    assert found[:2].tolist() == [1.0, 1.0]
    assert (found[2:] > 0.8).all() and (found[2:] <= 1).all()


@pytest.mark.parametrize("deviation", [10.0, 100.0, 10_000.0])
def test_a_base_without_interactions_is_not_alike(deviation):
    product = np.einsum(
        "a,b,c->abc", *(table(5).sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1)))
    )
    assert (found_likeness(table(5), product, deviation)[2:] < 0.1).all()


def test_weaker_and_stronger_interactions_are_not_alike():
    """The slope of one on the other is too large in one of both cases."""
    for effects in (0.3, 1.5):
        found = found_likeness(table(5, 0.7), table(5, effects), 30.0)
        assert (found[2:] < 0.75).all()


def test_a_table_of_no_positive_sum_tells_nothing():
    tables = Tables(
        sizes=SIZES,
        views=((0, 1, 2),),
        values=(np.full(SIZES, -1.0),),
        variances=(1.0,),
    )
    base = CountedBase(SIZES, np.argwhere(np.ones(SIZES)), np.ones(24, int))
    assert likeness(tables, base, 3).tolist() == [1.0, 1.0, 0.0, 0.0]
