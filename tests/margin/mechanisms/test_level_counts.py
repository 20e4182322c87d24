"""`LevelCounts`: every level of a tree, measured with the best shares."""

import math

import numpy as np
import pytest

import margin
from margin import ZCDP, Domain, DomainError, PureDP, Workload
from margin.mechanisms import LevelCounts
from margin.mechanisms.ordered import level_counts
from margin.testing import check_mechanism

_PATHS = [["A", "a", "1"], ["A", "a", "2"], ["A", "b", "3"], ["B", "c", "4"], ["B", "c", "5"]]
_TREE = {"levels": {"names": ["state", "county", "tract"], "paths": _PATHS}}
_DOMAIN = Domain({"sex": 2, "place": _TREE, "kind": 3})


def _table(rows=400):
    rng = np.random.default_rng(0)
    return {
        "sex": rng.integers(0, 2, rows),
        "place": rng.choice(list("12345"), rows),
        "kind": rng.integers(0, 3, rows),
    }


@pytest.mark.slow
@pytest.mark.parametrize("nonnegative", [False, True])
def test_it_is_private(nonnegative):
    tree = {"levels": {"names": ["top", "low"], "paths": [["x", "0"], ["x", "1"], ["y", "2"]]}}
    domain = Domain({"a": 2, "b": tree})
    check_mechanism(LevelCounts(nonnegative=nonnegative), domain=domain, pairs=12)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_levels_agree_exactly(nonnegative):
    mechanism = LevelCounts(nonnegative=nonnegative)
    synopsis = margin.release(_table(), domain=_DOMAIN, budget=ZCDP(1), mechanism=mechanism)
    tracts = synopsis.marginal(["place", "sex"]).counts
    counties = synopsis.marginal(["place@county", "sex"]).counts
    states = synopsis.marginal(["place@state"]).counts
    assert np.allclose(counties, [tracts[:2].sum(0), tracts[2], tracts[3:].sum(0)])
    assert np.allclose(states, [counties[:2].sum(), counties[2].sum()])
    assert not nonnegative or synopsis.table.min() >= 0


@pytest.mark.parametrize("budget", [ZCDP("0.5"), PureDP(1)], ids=str)
def test_the_shares_are_a_minimum(budget):
    best = LevelCounts().expected_error(_DOMAIN, None, budget)
    names = ("state", "county", "tract")
    levels = _DOMAIN["place"].levels
    power = 2 if isinstance(budget, PureDP) else 1
    shares = np.array(level_counts._best_shares(levels, power))
    rng = np.random.default_rng(1)
    for _ in range(20):
        other = shares * np.exp(rng.normal(0, 0.5, 3))
        mechanism = LevelCounts(shares=dict(zip(names, other.tolist(), strict=True)))
        assert mechanism.expected_error(_DOMAIN, None, budget) >= best * (1 - 1e-4)


def test_stated_errors_are_those_of_generalised_least_squares():
    synopsis = margin.release(
        _table(), domain=_DOMAIN, budget=ZCDP(1), mechanism=LevelCounts(nonnegative=False)
    )
    groups = _DOMAIN["place"].levels.groups
    rows = [(np.arange(group[-1] + 1)[:, None] == group).astype(float) for group in groups]
    precisions = [m.T @ m / v for m, v in zip(rows, synopsis.variances, strict=True)]
    covariance = np.linalg.inv(sum(precisions))
    county = rows[1] @ covariance @ rows[1].T
    # Two values of "kind" are summed in the first, and all cells of other attributes in the second.
    assert np.allclose(
        synopsis.marginal(["sex", "place@county"]).noise_variance, 3 * np.diag(county)
    )
    assert np.allclose(synopsis.marginal(["kind"]).noise_variance, 2 * covariance.sum())
    count = synopsis.count({"place": ["1", "4"], "kind": [0, 2]})
    weights = np.array([1.0, 0, 0, 1, 0])
    assert count.noise_variance == pytest.approx(4 * weights @ covariance @ weights)
    difference = synopsis.difference({"place": "1"}, {"place": "2", "sex": 0})
    one, two = np.eye(5)[0], np.eye(5)[1]
    expected = 6 * one @ covariance @ one + 3 * two @ covariance @ two
    expected -= 2 * 3 * one @ covariance @ two
    assert difference.noise_variance == pytest.approx(expected)


def test_counts_are_within_their_errors_and_are_kept_in_files(tmp_path):
    table = _table(5000)
    workload = Workload.of(_DOMAIN, [["place", "sex"]], asked={"place": "levels"})
    synopsis = margin.release(
        table, domain=_DOMAIN, budget=ZCDP(1), mechanism=LevelCounts(), workload=workload
    )
    path = tmp_path / "levels.margin"
    synopsis.save(path)
    for one in (synopsis, margin.load(path)):
        count = one.count({"place@state": "A", "sex": 1})
        true = (np.isin(table["place"], ["1", "2", "3"]) & (table["sex"] == 1)).sum()
        # A normal error exceeds six standard deviations with a probability of 2e-9.
        assert abs(count.estimate - true) < 6 * math.sqrt(count.variance)
        with pytest.raises(DomainError, match="'kind' was not measured"):
            one.marginal(["kind"])


def test_expected_error_is_the_sum_of_the_variances():
    workload = Workload.of(_DOMAIN, [["place", "kind"], ["sex"]], weights=[1, 3])
    asked = Workload.of(_DOMAIN, workload, asked={"place": "levels"})
    budget = ZCDP(1)
    synopsis = margin.release(
        _table(), domain=_DOMAIN, budget=budget, mechanism=LevelCounts(), workload=workload
    )
    cells = synopsis.marginal(["place", "kind"]).noise_variance.sum()
    cells += 3 * synopsis.marginal(["sex"]).noise_variance.sum()
    found = LevelCounts().expected_error(_DOMAIN, workload, budget)
    assert found == pytest.approx(cells, rel=1e-6)
    for level in ("state", "county"):
        cells += synopsis.marginal([f"place@{level}", "kind"]).noise_variance.sum()
    assert LevelCounts().expected_error(_DOMAIN, asked, budget) == pytest.approx(cells, rel=1e-6)


def test_it_refuses_what_it_cannot_measure():
    flat = Domain({"a": 2})
    with pytest.raises(DomainError, match="those with levels are none"):
        LevelCounts().expected_error(flat, None, ZCDP(1))
    with pytest.raises(DomainError, match="'a' declares none"):
        LevelCounts(attribute="a").expected_error(flat, None, ZCDP(1))
    with pytest.raises(DomainError, match="a positive number for each level"):
        LevelCounts(shares={"state": 1}).expected_error(_DOMAIN, None, ZCDP(1))
    large = Domain({"place": _TREE, "a": 5000, "b": 5000})
    with pytest.raises(DomainError, match="LevelCounts needs"):
        LevelCounts().expected_error(large, None, ZCDP(1))
