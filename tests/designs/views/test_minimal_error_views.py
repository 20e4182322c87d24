"""Views and shares chosen for the error they give."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin import Domain, Workload
from margin.designs import (
    allocate_budget,
    covering_views,
    expected_error,
    least_squares_error,
    select_views,
)
from margin.designs.views.idle import LOSS

ADULT = [10, 9, 16, 7, 15, 6, 5, 2, 10, 10, 10, 42, 2]
RAW_ADULT = [85, 9, 100, 16, 16, 7, 15, 6, 5, 2, 100, 99, 96, 42, 2]


def pairs(d):
    return list(itertools.combinations(range(d), 2))


def error(sizes, plan, workload, power, weights=None):
    return expected_error(
        sizes, plan.views, plan.shares, workload=workload, weights=weights, power=power
    )


@settings(max_examples=25, deadline=None)
@given(data=st.data(), power=st.sampled_from([1, 2]))
def test_views_hold_the_workload_and_the_error_is_as_said(data, power):
    d = data.draw(st.integers(1, 5))
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=d, max_size=d))
    some = st.sets(st.integers(0, d - 1), min_size=1).map(sorted).map(tuple)
    workload = data.draw(st.lists(some, min_size=1, max_size=6))
    weights = data.draw(st.lists(st.floats(0.1, 9), min_size=len(workload), max_size=len(workload)))
    plan = select_views(sizes, workload, weights=weights, power=power, effort=1)
    assert all(any(set(marginal) <= set(view) for view in plan.views) for marginal in workload)
    assert sum(plan.shares) == pytest.approx(1) and min(plan.shares) > 0
    assert plan.expected_error == pytest.approx(
        error(sizes, plan, workload, power, weights), rel=1e-6
    )
    assert plan.bound <= plan.expected_error * (1 + 1e-9)
    equal = expected_error(
        sizes, workload, [1] * len(workload), workload=workload, weights=weights, power=power
    )
    assert plan.expected_error <= equal * (LOSS + 1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("power", [1, 2])
def test_no_random_shares_are_better(seed, power):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, 5).tolist()
    views = [*pairs(5), (0, 1, 2), (2, 3, 4)]
    weights = rng.uniform(0.1, 5, 10).tolist()
    plan = allocate_budget(sizes, views, workload=pairs(5), weights=weights, power=power)
    assert plan.expected_error == pytest.approx(
        error(sizes, plan, pairs(5), power, weights), rel=1e-9
    )
    if power == 1:
        assert plan.expected_error <= plan.bound * (1 + 1.01e-4)
    for _ in range(200):
        shares = np.array(plan.shares) * np.exp(
            rng.normal(0, rng.choice([0.01, 0.1, 1]), len(views))
        )
        other = expected_error(
            sizes, views, shares.tolist(), workload=pairs(5), weights=weights, power=power
        )
        assert other >= plan.bound * (1 - 1e-9)
    for _ in range(100):
        shares = np.array(plan.shares) * np.exp(rng.normal(0, 0.01, len(views)))
        other = expected_error(
            sizes, views, shares.tolist(), workload=pairs(5), weights=weights, power=power
        )
        assert other >= plan.expected_error * (1 - 2e-4)


@pytest.mark.parametrize("power", [1, 2])
def test_shares_of_marginals_that_have_nothing_in_common(power):
    """Section 5 of the closed form: shares ~ (a c) ** (1 / (power + 1)), when the total is left out
    of account."""
    sizes = [5, 50, 500]
    views = [(0,), (1,), (2,)]
    plan = allocate_budget(sizes, views, workload=views, weights=[10.0, 1.0, 0.1], power=power)
    rough = np.array([w * c for w, c in zip([10.0, 1.0, 0.1], sizes, strict=True)]) ** (
        1 / (power + 1)
    )
    assert plan.shares == pytest.approx(rough / rough.sum(), rel=0.35)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "effort", "gain"),
    [(ADULT, 40, 0.2), (RAW_ADULT, 10, 0.3)],
    ids=["13 columns", "15 raw columns"],
)
def test_views_for_adult_are_better_than_any_uniform_cover(sizes, effort, gain):
    """Laplace noise: against the best of greedy covers with one cell limit and equal shares.

    The first needs a long search. The default one gains 19.3 to 20.4 %, by seed and by machine: how
    floats are rounded decides where a local search ends.
    """
    workload = pairs(len(sizes))
    covers = [covering_views(sizes, max_cells=2**power) for power in range(6, 14)]
    uniform = min(
        expected_error(sizes, views, [1] * len(views), workload=workload, power=2)
        for views in covers
    )
    plan = select_views(sizes, workload, power=2, effort=effort)
    assert plan.expected_error <= (1 - gain) * uniform


@pytest.mark.parametrize(
    "sizes", [ADULT, RAW_ADULT, [2] * 20], ids=["13 columns", "15 raw columns", "binary"]
)
def test_views_for_gaussian_noise_are_near_a_certified_optimum(sizes):
    plan = select_views(sizes, pairs(len(sizes)), power=1)
    assert plan.gap <= 1e-3
    assert (
        plan.expected_error
        <= allocate_budget(
            sizes, pairs(len(sizes)), workload=pairs(len(sizes)), power=1
        ).expected_error
    )


def every_set_of_views(d):
    """All sets of views of d attributes, the view of no attributes among them."""
    views = [view for k in range(d + 1) for view in itertools.combinations(range(d), k)]
    for count in range(1, len(views) + 1):
        yield from itertools.combinations(views, count)


@pytest.mark.slow
@pytest.mark.parametrize(("power", "worst"), [(1, 1.001), (2, 1.2)])
@pytest.mark.parametrize("seed", range(40))
def test_no_set_of_views_is_better(seed, power, worst):
    """Against all sets of views: to 0.1 % for power 1, to a fifth in the search for power 2."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 3, 5], rng.integers(1, 4) if power == 1 else 2).tolist()
    d = len(sizes)
    marginals = [view for k in range(d + 1) for view in itertools.combinations(range(d), k)]
    count = int(rng.integers(1, min(4, len(marginals)) + 1))
    workload = [marginals[i] for i in rng.permutation(len(marginals))[:count]]
    weights = rng.choice([0.1, 1.0, 10.0, 100.0], count).tolist()
    plan = select_views(sizes, workload, weights=weights, power=power, effort=1)
    best = min(
        allocate_budget(
            sizes, views, workload=workload, weights=weights, power=power
        ).expected_error
        for views in every_set_of_views(d)
    )
    assert plan.expected_error <= worst * best


def test_the_total_may_have_a_view_of_its_own():
    """The first two attributes have one value each, so their marginals are totals.

    With share a for the view of two cells, the error is 0.5 / a + 2.5 / (2 - a). It is smallest at
    a = 2 / (1 + sqrt(5)).
    """
    plan = select_views([1, 1, 2], [(0, 1, 2), (0,)], weights=[0.5, 1], power=1)
    assert plan.views == ((0, 1), (0, 1, 2))
    assert plan.expected_error == pytest.approx((3 + math.sqrt(5)) / 2, rel=1e-4)


@pytest.mark.parametrize("power", [1, 2])
def test_the_bound_holds_for_other_plans(power):
    """Of the same views; and of smaller ones, since neighbours have been priced."""
    plan = select_views([3, 4, 5, 2], pairs(4), power=power)
    for views in (pairs(4), [(0, 1, 2, 3)], [(0, 1, 2), (0, 3), (1, 3), (2, 3)]):
        assert (
            allocate_budget([3, 4, 5, 2], views, workload=pairs(4), power=power).expected_error
            >= plan.bound
        )


def test_names_are_answered_with_names():
    domain = Domain({"age": 10, "sex": 2, "job": 6})
    workload = Workload.of(domain, [["job", "age"], ["sex"]], weights=[1, 4])
    plan = select_views(domain, workload, power=2)
    assert {name for view in plan.views for name in view} <= {"age", "sex", "job"}
    again = select_views([10, 2, 6], [(2, 0), (1,)], weights=[1, 4], power=2)
    assert plan.expected_error == again.expected_error
    assert error(domain, plan, workload, 2) == pytest.approx(plan.expected_error, rel=1e-6)


def test_same_arguments_and_seed_same_views():
    plans = [select_views(ADULT[:7], pairs(7), power=2, seed=4, effort=1) for _ in range(2)]
    assert plans[0] == plans[1]


def test_views_keep_to_the_cell_limit():
    for power in (1, 2):
        plan = select_views(ADULT, pairs(13), power=power, max_cells=672, effort=1)
        assert max(math.prod(ADULT[j] for j in view) for view in plan.views) <= 672


def test_weights_count():
    sizes, workload = [3, 4], [(0,), (1,)]
    plain = least_squares_error(sizes, workload, [1.0, 2.0], workload=workload)
    heavy = least_squares_error(sizes, workload, [1.0, 2.0], workload=workload, weights=[1, 3])
    only = least_squares_error(sizes, workload, [1.0, 2.0], workload=[(1,)])
    assert heavy == pytest.approx(plain + 2 * only)


@pytest.mark.slow
def test_hundreds_of_attributes_are_planned():
    sizes = np.random.default_rng(3).integers(2, 6, 150).tolist()
    plan = select_views(sizes, pairs(150), power=2, effort=1)
    assert math.isfinite(plan.expected_error)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: select_views([], [(0,)], power=2),
            "sizes must hold at least one size, but it is empty",
        ),
        (lambda: select_views([2, 2], [], power=2), "workload must name at least one marginal"),
        (lambda: select_views([2, 2], [(0, 2)], power=2), r"workload\[0\]"),
        (lambda: select_views([2, 2], [(0, 1)], power=3), "power"),
        (lambda: select_views([2, 2], [(0, 1)], power=2, effort=0), r"effort \(0\)"),
        (
            lambda: select_views([2, 2], [(0, 1)], power=2, max_cells=3),
            r"max_cells \(3\) must be at least 4",
        ),
        (lambda: select_views([2, 2], [(0, 1)], power=2, max_cells=2.5), "max_cells"),
        (lambda: select_views([2, 2], [(0, 1)], weights=[0], power=2), r"weights\[0\] \(0\)"),
        (
            lambda: select_views([2, 2], [(0, 1)], weights=[math.nan], power=2),
            r"weights\[0\] \(nan\)",
        ),
        (
            lambda: select_views([2, 2], [(0, 1)], weights=[1, 2], power=2),
            "weights must hold 1 numbers, but it holds 2",
        ),
        (lambda: select_views(Domain({"a": 2}), [("b",)], power=2), "'b'"),
        (
            lambda: allocate_budget([2, 2], [], workload=[(0,)], power=2),
            "views must hold at least one view, but it is empty",
        ),
        (
            lambda: allocate_budget([2, 2], [(0,)], workload=[(0,)], weights=[-1], power=1),
            r"weights\[0\] \(-1\)",
        ),
    ],
)
def test_bad_arguments_name_themselves(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_shares_of_views_that_do_not_hold_the_workload_have_infinite_error():
    assert allocate_budget([2, 2], [(0,)], workload=[(0, 1)], power=1).expected_error == math.inf
