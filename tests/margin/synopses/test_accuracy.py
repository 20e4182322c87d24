"""What answers say of their own error, and that many are answered as one by one."""

import itertools
import pickle
from statistics import NormalDist

import numpy as np
import pytest

import margin
from margin import Domain, DomainError, Marginal, PriView, PureDP
from margin.solvers import IPF, Newton
from margin.testing import check_solver

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 2, "e": 3})
VIEWS = [["a", "b", "c"], ["c", "d"], ["d", "e"], ["b", "e"]]


@pytest.fixture(scope="module")
def codes():
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 4, 40_000)
    return np.column_stack(
        [
            (
                kind
                + rng.integers(
                    0,
                    3,
                    40_000,
                )
            )
            % size
            for size in DOMAIN.sizes
        ]
    )


def simulated(codes, seed=0, **options):
    mechanism = PriView(views=VIEWS, **options)
    return margin.simulate(
        codes,
        domain=DOMAIN,
        budget=PureDP("0.5"),
        mechanism=mechanism,
        seed=seed,
    )


def test_interval_is_the_normal_quantile_around_the_count():
    marginal = Marginal(
        Domain({"x": 3}),
        np.array([100.0, 5.0, 50.0]),
        np.array([16.0, 100.0, np.nan]),
    )
    low, high = marginal.interval(0.9)
    half = NormalDist().inv_cdf(0.95)
    assert low[:2] == pytest.approx([100 - 4 * half, 0.0])
    assert high[:2] == pytest.approx([100 + 4 * half, 5 + 10 * half])
    assert np.isnan(low[2]) and np.isnan(high[2])
    exact = Marginal(
        Domain({"x": 1}),
        np.array([7.0]),
        np.array([0.0]),
    )
    assert exact.interval() == (pytest.approx([7.0]), pytest.approx([7.0]))


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95, float("nan")])
def test_a_level_is_a_probability(level):
    with pytest.raises(DomainError, match="level"):
        Marginal(
            Domain({"x": 1}),
            np.ones(1),
            np.ones(1),
        ).interval(level)


def test_many_marginals_are_those_asked_one_by_one(codes):
    synopsis = simulated(codes)
    asked = [
        list(view)
        for size in (1, 2, 3, 4)
        for view in itertools.permutations(DOMAIN.attributes, size)
    ]
    together = synopsis.marginals(asked)
    for view, answer in zip(asked[::7], together[::7], strict=True):
        alone = synopsis.marginal(view)
        assert answer.attributes == alone.attributes == tuple(view)
        assert answer.counts == pytest.approx(alone.counts, rel=1e-7, abs=1e-4)
        assert answer.variance == pytest.approx(alone.variance, rel=1e-5)
        assert np.isfinite(answer.variance).all()


def test_a_solver_without_bars_leaves_the_variance_unknown(codes):
    for solver in (IPF(), Newton(bars=False)):
        assert np.isnan(simulated(codes, reconstruction=solver).marginal(["a", "e"]).variance).all()


def test_context_is_used_by_the_synopsis():
    """a and d share no view, but c follows a and d follows c."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (20_000, 5))
    codes[:, 2] = codes[:, 0] ^ (rng.random(20_000) < 0.1)
    codes[:, 3] = codes[:, 2] ^ (rng.random(20_000) < 0.1)
    local = simulated(codes, reconstruction=Newton())
    joint = simulated(codes)
    truth = local.truths([["a", "d"]])[0]
    errors = [np.linalg.norm(s.marginal(["a", "d"]).counts - truth.counts) for s in (local, joint)]
    assert errors[1] < 0.1 * errors[0]


@pytest.mark.slow
def test_bars_of_a_release_hold_the_reconstruction_without_noise(codes):
    """At 95 %, over views and reconstructions and 60 seeds: between 93 and 99 %, and the truth
    where views cover."""
    asked = [["a", "b"], ["d", "e"], ["a", "d"], ["a", "b", "e"], ["c", "d", "e"]]
    exact = margin.simulate(
        codes,
        domain=DOMAIN,
        budget=PureDP(10**6),
        mechanism=PriView(views=VIEWS),
        seed=0,
    )
    truths = exact.marginals(asked)
    held = []
    for seed in range(60):
        for answer, truth in zip(simulated(codes, seed).marginals(asked), truths, strict=True):
            low, high = answer.interval(0.95)
            held += ((low <= truth.counts) & (truth.counts <= high)).ravel().tolist()
    assert 0.93 <= np.mean(held) <= 0.99


def test_the_battery_is_public():
    check_solver(Newton())


def test_a_reconstructed_marginal_has_two_parts_of_variance():
    domain = Domain({"a": 2})
    counts, noise, missed = np.array([40.0, 60.0]), np.full(2, 9.0), np.full(2, 16.0)
    both = Marginal(domain, counts, noise, missed_variance=missed)
    assert both.reconstructed and both.variance.tolist() == [25.0, 25.0]
    assert both.interval()[1] == pytest.approx(counts + 1.959964 * 5)
    measured = Marginal(domain, counts, noise)
    assert not measured.reconstructed and measured.missed_variance.tolist() == [0.0, 0.0]
    assert measured.variance is measured.noise_variance
    again = pickle.loads(pickle.dumps(both))
    assert again.missed_variance.tolist() == missed.tolist()
    assert "reconstructed" in repr(both) and "reconstructed" not in repr(measured)
    assert both.project(["a"]).reconstructed and not measured.project(["a"]).reconstructed


def test_answers_that_no_view_holds_say_that_they_were_reconstructed():
    rng = np.random.default_rng(0)
    table = {name: rng.integers(0, 2, 3000) for name in "abcde"}
    domain = Domain(dict.fromkeys("abcde", 2))
    mechanism = PriView(views=[["a", "b", "c"], ["c", "d", "e"], ["a", "e"]])
    settings = {"domain": domain, "budget": PureDP(1), "mechanism": mechanism}
    synopsis = margin.simulate(table, **settings, seed=0).synopsis
    held, missed, turned = synopsis.marginals([["c", "a"], ["a", "b", "e"], ["e", "a", "b"]])
    assert not held.reconstructed and missed.reconstructed
    assert missed.missed_variance.min() > 0
    assert (missed.variance == missed.noise_variance + missed.missed_variance).all()
    assert turned.missed_variance == pytest.approx(missed.missed_variance.transpose(2, 0, 1))
