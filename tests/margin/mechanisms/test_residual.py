"""`Residual`: components measured separately, and the tables made of them."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import margin
from margin import (
    ZCDP,
    Domain,
    DomainError,
    MatrixMechanism,
    Neighbours,
    PureDP,
    Residual,
    Workload,
)
from margin.mechanisms.components import Components
from margin.private.linear import linear_events
from margin.testing import check_mechanism

DOMAIN = Domain({"a": 2, "b": 3, "one": 1, "c": 2, "d": 4})
BUDGETS = [PureDP(1), ZCDP("0.5"), ZCDP("0.5", neighbours=Neighbours.REPLACE_ROW)]
FALSE_ALARM = 1e-6


@pytest.fixture(scope="module")
def codes():
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 4, 3000)
    return np.column_stack(
        [
            (kind * (1 + axis) + rng.integers(0, 2, 3000)) % size
            for axis, size in enumerate(DOMAIN.sizes)
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [Residual(), Residual(order=3, largest=True), Residual(order=1)],
    ids=repr,
)
def test_it_is_private(mechanism):
    check_mechanism(mechanism, pairs=8)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("largest", [False, True])
def test_errors_are_those_of_the_optimal_plan(budget, largest):
    views = Workload.of(
        DOMAIN,
        [("a", "b"), ("c", "d", "b"), ("d",)],
        weights=[1, 2, 5],
    )
    strategy = margin.mechanisms.strategies.OptimisedMarginals(largest=largest)
    expected = MatrixMechanism(strategy=strategy).expected_error(
        DOMAIN,
        views,
        budget,
    )
    for order in (3, 4):
        assert Residual(order=order, largest=largest).expected_error(
            DOMAIN,
            views,
            budget,
        ) == pytest.approx(expected)
    shared = Residual(order=3, workload=views, largest=largest)
    assert shared.expected_error(DOMAIN, views, budget) == pytest.approx(expected)
    # The shares are best for the views they are made for, so no better for others.
    other = Workload.of(DOMAIN, [("c", "b")])
    own = Residual(order=3).expected_error(DOMAIN, other, budget)
    assert shared.expected_error(DOMAIN, other, budget) > own


@pytest.mark.parametrize("budget", BUDGETS[:2], ids=repr)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_all_kway_costs_are_those_of_the_listed_views(budget, k):
    every, listed = Workload.all_kway(DOMAIN, k), Workload(Workload.all_kway(DOMAIN, k).views)
    assert every.kway == k and listed.kway is None
    for order in (1, 2, 3):
        found, expected = (
            Residual(order=order).precisions(
                DOMAIN,
                work,
                budget,
            )
            for work in (every, listed)
        )
        assert found.keys() == expected.keys()
        for view, precision in found.items():
            assert precision == pytest.approx(expected[view], rel=1e-6)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("kind", [PureDP, ZCDP])
@pytest.mark.parametrize(
    "views",
    [Workload.all_kway(DOMAIN, 2), [("d", "b"), ("a", "c", "d"), ("one",)]],
    ids=["all pairs", "some"],
)
def test_bounds_of_components_are_those_of_their_strategies(views, kind, neighbours, rows):
    budget = kind("0.5", neighbours=neighbours, rows_per_person=rows)
    components = Components("Residual", DOMAIN, Workload.of(DOMAIN, views))
    expected = [strategy.sensitivity(budget) for strategy in components.strategies]
    assert components.bounds(budget) == expected
    assert len(set(expected)) > 2
    shared = components.with_shares(tuple(range(1, 1 + len(expected))))
    for some in (components, shared):
        events = linear_events(
            budget,
            some.strategies,
            shares=some.shares,
            units=budget.units,
            together=True,
        )
        assert some.variances(budget) == [event.noise.variance for event in events]


def test_a_workload_of_a_smaller_domain_is_not_all_of_a_larger_one():
    inner = Workload.all_kway(Domain({"a": 2, "b": 3}), 1)
    assert Workload.of(DOMAIN, inner).kway is None
    assert Workload.of(DOMAIN, Workload.all_kway(DOMAIN, 2)).kway == 2


@pytest.mark.parametrize("budget", BUDGETS[:2], ids=repr)
def test_measured_errors_are_the_predicted(budget, codes):
    """Each squared error over all cells has mean `expected_error`; 200 releases, normal
    approximation of their mean."""
    runs, views = 200, Workload.of(DOMAIN, [("a", "b"), ("c", "d")])
    mechanism = Residual(nonnegativity=None)
    squares = []
    for seed in range(runs):
        made = margin.simulate(
            codes,
            domain=DOMAIN,
            budget=budget,
            mechanism=mechanism,
            workload=views,
            seed=seed,
        )
        pairs = zip(
            made.marginals(views),
            made.truths(views),
            strict=True,
        )
        squares.append(sum(((found.counts - true.counts) ** 2).sum() for found, true in pairs))
    deviation = np.std(squares, ddof=1) / math.sqrt(runs)
    expected = mechanism.expected_error(DOMAIN, views, budget)
    assert abs(np.mean(squares) - expected) < stats.norm.isf(FALSE_ALARM / 2) * deviation
    assert deviation < 0.1 * expected


@pytest.mark.parametrize("budget", BUDGETS[:2], ids=repr)
def test_variances_are_those_of_the_answers(budget, codes):
    mechanism, runs = Residual(nonnegativity=None), 200
    asked = [("d", "b"), ("c",), ("a", "one")]
    found = [
        margin.simulate(
            codes,
            domain=DOMAIN,
            budget=budget,
            mechanism=mechanism,
            seed=seed,
        ).marginals(asked)
        for seed in range(runs)
    ]
    low, high = (stats.chi2.ppf(q, runs - 1) / (runs - 1) for q in (1e-9, 1 - 1e-9))
    for answers in zip(*found, strict=True):
        cells = np.array([answer.counts.ravel()[0] for answer in answers])
        ratio = cells.var(ddof=1) / answers[0].variance.ravel()[0]
        # Laplace noise has heavier tails than the chi-square law of normal noise allows for: twice
        # as much.
        assert 1 - 2 * (1 - low) < ratio < 1 + 2 * (high - 1)


@pytest.mark.parametrize("budget", BUDGETS[:2], ids=repr)
def test_answers_agree_and_are_not_negative(budget, codes):
    made = margin.simulate(
        codes,
        domain=DOMAIN,
        budget=budget,
        mechanism=Residual(),
        seed=1,
    ).synopsis
    pairs = {view: made.marginal(view) for view in itertools.combinations(DOMAIN, 2)}
    for first, one in pairs.items():
        assert one.counts.min() >= 0
        assert np.isfinite(one.variance).all()
        for second, other in pairs.items():
            for name in set(first) & set(second):
                np.testing.assert_allclose(
                    one.counts.sum(axis=1 - first.index(name)),
                    other.counts.sum(axis=1 - second.index(name)),
                    atol=1e-6,
                )
    wide = made.marginal(("a", "b", "c", "d"))
    assert wide.counts.min() >= 0 and wide.counts.sum() == pytest.approx(
        pairs["a", "b"].counts.sum()
    )
    assert made.population(500, seed=1).codes.shape == (500, 5)


def test_shares_that_are_best_for_the_largest_variance_make_it_smaller():
    views = Workload.of(DOMAIN, [("a", "b"), ("c", "d", "b")])
    budget = ZCDP("0.5")

    def worst(mechanism):
        known = mechanism.precisions(DOMAIN, views, budget)
        return max(
            sum(
                math.prod(DOMAIN[name].size - 1 for name in part) / known[part]
                for size in range(len(view) + 1)
                for part in itertools.combinations([name for name in DOMAIN if name in view], size)
            )
            / DOMAIN.cells(view) ** 2
            for view in views
        )

    assert worst(Residual(order=3, largest=True)) < 0.99 * worst(Residual(order=3))


def test_a_file_holds_all_of_it(tmp_path, codes):
    table = {name: codes[:, axis] for axis, name in enumerate(DOMAIN)}
    made = margin.release(
        table,
        domain=DOMAIN,
        budget=ZCDP("0.5"),
        mechanism=Residual(),
    )
    made.save(tmp_path / "r.margin")
    again = margin.load(tmp_path / "r.margin")
    assert again.provenance == made.provenance
    for view in [("a", "b"), ("a", "b", "d")]:
        np.testing.assert_array_equal(again.marginal(view).counts, made.marginal(view).counts)
        np.testing.assert_array_equal(again.marginal(view).variance, made.marginal(view).variance)
    np.testing.assert_array_equal(
        np.concatenate(again.held.precisions),
        np.concatenate(made.held.precisions),
    )


def test_what_no_component_says_anything_about_is_even(codes):
    made = margin.simulate(
        codes,
        domain=DOMAIN,
        budget=ZCDP(1),
        mechanism=Residual(workload=[["a", "b"]]),
        seed=0,
    ).synopsis
    counts = made.marginal(("a", "d")).counts
    np.testing.assert_allclose(
        counts,
        np.broadcast_to(counts.mean(axis=1, keepdims=True), counts.shape),
    )


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"order": -1}, "order"),
        ({"order": 1.5}, "order"),
        ({"order": True}, "order"),
        ({"workload": "ab"}, "list of views"),
        ({"workload": 3}, "list of views"),
    ],
)
def test_bad_parameters_are_refused(parameters, says):
    with pytest.raises(DomainError, match=says):
        Residual(**parameters)


def test_bad_workloads_are_refused(codes):
    with pytest.raises(DomainError, match="unknown attribute"):
        margin.simulate(
            codes,
            domain=DOMAIN,
            budget=ZCDP(1),
            mechanism=Residual(workload=[["x"]]),
            seed=0,
        )
    with pytest.raises(
        DomainError,
        match=r"only for views that are measured, but some .* are not; raise order",
    ):
        Residual().expected_error(DOMAIN, [("a", "b", "c")], ZCDP(1))
    with pytest.raises(
        DomainError,
        match=r"only for views that are measured, but some .* are not; raise order",
    ):
        Residual(workload=[("a", "b")]).expected_error(
            DOMAIN,
            [("a", "c")],
            ZCDP(1),
        )
    many = Domain({f"x{axis}": 2 for axis in range(600)})
    with pytest.raises(DomainError, match="Residual needs"):
        Residual(order=3).expected_error(many, None, ZCDP(1))
