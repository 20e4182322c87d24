"""`Compressive` and `SparseProjection`: contracts, accuracy, and the stated errors."""

import math

import numpy as np
import pytest
from ordered_axes import ordered_axes

import margin
from margin import ZCDP, ApproxDP, BudgetError, Domain, DomainError, PureDP
from margin.audit import BlackBox
from margin.mechanisms import Compressive, Flat, SparseProjection
from margin.mechanisms.tables.compressive import _haar
from margin.privacy.budget import Neighbours
from margin.testing import check_mechanism

FEW = Domain(ordered_axes(a=3, b=4))


def released(codes, domain, mechanism, budget, seed=1):
    simulated = margin.simulate(codes, domain=domain, budget=budget, mechanism=mechanism, seed=seed)
    return simulated.synopsis


MECHANISMS = [
    Compressive(sparsity=3),
    Compressive.paper(sparsity=2),
    Compressive(sparsity=4, wavelet=True),
    SparseProjection(dimensions=8),
    SparseProjection(dimensions=7, ones=None),
]


def short(mechanism):
    return repr(mechanism)[:50]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=short)
def test_the_contract(mechanism):
    budgets = (PureDP(1), ZCDP("0.5", neighbours=Neighbours.REPLACE_ROW, rows_per_person=2))
    check_mechanism(mechanism, domain=FEW, budgets=budgets, pairs=4)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=short)
def test_the_contract_under_all_budgets(mechanism):
    check_mechanism(mechanism, domain=FEW, pairs=12)
    check_mechanism(mechanism, pairs=6)
    certified = (ApproxDP(2, "1e-5", neighbours=Neighbours.REPLACE_ROW, rows_per_person=2),)
    check_mechanism(mechanism, domain=FEW, budgets=certified, pairs=12)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [MECHANISMS[0], MECHANISMS[3]], ids=short)
def test_many_runs_show_no_more_than_the_budget_allows(mechanism):
    black_box = BlackBox(runs=3000, output=lambda found: found.marginal(["a", "b"]).counts.ravel())
    check_mechanism(mechanism, domain=FEW, budgets=(PureDP(1),), pairs=2, black_box=black_box)


# The compressive mechanism


def spikes(cells, few, rows=100_000, seed=0):
    rng = np.random.default_rng(seed)
    places = rng.choice(cells, few, replace=False)
    codes = rng.choice(places, rows, p=rng.dirichlet(np.ones(few)))[:, None]
    return codes, np.bincount(codes[:, 0], minlength=cells)


def test_a_sparse_table_is_found_with_less_noise_than_a_count_of_every_cell():
    codes, truth = spikes(2048, 8)
    domain = Domain({"x": 2048})
    errors = {}
    for mechanism in (Flat(), Compressive(sparsity=8), Compressive.paper(sparsity=8)):
        table = released(codes, domain, mechanism, PureDP("0.1")).table
        errors[repr(mechanism)] = np.linalg.norm(table - truth)
    flat, ours, paper = errors.values()
    assert ours < 0.3 * flat and ours < 0.3 * paper


@pytest.mark.parametrize("mechanism", [Compressive(sparsity=6), Compressive.paper(sparsity=6)])
def test_without_noise_the_table_is_found(mechanism):
    codes, truth = spikes(600, 6, rows=5000)
    table = released(codes, Domain({"x": 600}), mechanism, PureDP(10**5)).table
    assert table.ravel() == pytest.approx(truth, abs=1)


def test_without_noise_a_table_of_steps_is_found():
    """Steps at halves and quarters are few wavelets of each attribute."""
    domain = Domain(ordered_axes(x=16, y=12))
    counts = np.kron(np.array([[40, 0], [10, 10]]), np.ones((8, 6), np.int64))
    codes = np.stack(np.nonzero(counts), axis=1).repeat(counts[counts > 0], axis=0)
    table = released(codes, domain, Compressive(sparsity=4, wavelet=True), PureDP(10**5)).table
    assert table == pytest.approx(counts, abs=0.5)


def test_excluded_cells_stay_empty():
    domain = Domain({"a": 3, "b": 4}, impossible=[{"a": 0, "b": [1, 2]}])
    codes = np.array([[1, 1]] * 300 + [[2, 0]] * 200)
    table = released(codes, domain, Compressive(sparsity=3), PureDP(10)).marginal(["a", "b"])
    assert (table.counts[0, 1:3] == 0).all()
    assert table.counts[1, 1] == pytest.approx(300, abs=30)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
def test_wavelets_are_orthonormal(size):
    basis = _haar(size)
    assert basis @ basis.T == pytest.approx(np.eye(size))


def test_a_large_matrix_is_refused():
    domain = Domain({"x": 10**6})
    with pytest.raises(DomainError, match="entries of the matrix"):
        released(np.zeros((2, 1), int), domain, Compressive(), PureDP(1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Compressive(sparsity=0),
        lambda: Compressive(ones=0),
        lambda: Compressive(measurements=1.5),
        lambda: Compressive(key=-1),
        lambda: SparseProjection(dimensions=0),
        lambda: SparseProjection(dimensions=3, ones=4),
        lambda: SparseProjection.paper(ZCDP(1), rows=10),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises((BudgetError, DomainError)):
        make()


# Projections for counts of few cells

HUGE = Domain({"a": 1000, "b": 1000, "c": 1000})


def people(rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.zipf(1.5, (rows, 3)).clip(1, 1000) - 1).astype(np.int64)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        SparseProjection(dimensions=256),
        SparseProjection(dimensions=256, ones=8),
        SparseProjection(dimensions=64, ones=None),
    ],
    ids=["one", "eight", "all"],
)
def test_stated_errors_are_those_of_many_projections(mechanism):
    """200 draws of the key and the noise. A z-score beyond 1.5 in root mean square has probability
    below 1e-6: its square sums to 450 of 200 terms of mean at most 1, for near-normal errors."""
    codes = people()
    where = {"a": [3, 5, 700], "b": [0, 2], "c": 1}
    truth = (
        np.isin(codes[:, 0], where["a"])
        & (codes[:, 1] < 3)
        & (codes[:, 1] != 1)
        & (codes[:, 2] == 1)
    ).sum()
    scores = []
    for key in range(200):
        keyed = SparseProjection(dimensions=mechanism.dimensions, ones=mechanism.ones, key=key)
        count = released(codes, HUGE, keyed, PureDP(1), seed=key).count(where)
        spread = math.sqrt(count.noise_variance + count.missed_variance)
        scores.append((count.estimate - truth) / spread)
    assert 0.5 < np.sqrt(np.mean(np.square(scores))) < 1.5


def test_differences_and_single_cells_agree_with_counts():
    synopsis = released(people(), HUGE, SparseProjection(dimensions=4096, ones=2), PureDP(1))
    cell = {"a": 0, "b": 1, "c": 2}
    assert synopsis.count(cell).estimate == pytest.approx(synopsis.point(cell))
    same = synopsis.difference(cell, cell)
    assert same.estimate == 0 and same.noise_variance == pytest.approx(0)
    two = synopsis.count({"a": [0, 9], "b": 1, "c": 2})
    other = synopsis.point({"a": 9, "b": 1, "c": 2})
    assert two.estimate == pytest.approx(synopsis.point(cell) + other)


def test_a_condition_of_many_cells_is_refused():
    synopsis = released(people(), HUGE, SparseProjection(dimensions=64), PureDP(1))
    with pytest.raises(DomainError, match="this condition selects 1,000,000,000"):
        synopsis.count({})


def test_excluded_cells_are_not_counted():
    domain = Domain({"a": 3, "b": 4}, impossible=[{"a": 0, "b": [1, 2]}])
    synopsis = released(np.array([[1, 1]] * 50), domain, SparseProjection(), PureDP(1))
    count = synopsis.count({"a": 0, "b": [1, 2]})
    assert count.estimate == 0 and count.noise_variance == 0


def test_a_median_has_no_stated_error():
    mechanism = margin.mechanisms.CountSketch(width=64, rows=5)
    count = released(people(), HUGE, mechanism, PureDP(1)).count({"a": 0, "b": 0, "c": [0, 1]})
    assert math.isnan(count.noise_variance)
