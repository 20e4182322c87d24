"""What makes single problems of many unknowns fast: the Hessian eliminated category by category,
the start."""

import dataclasses
import itertools

import numpy as np
import pytest
from cases import random_tables, tables_of

from margin.solvers import (
    JointProjection,
    Newton,
    Problem,
    ResidualConsistency,
    Status,
    TrustExact,
    Zeros,
)
from margin.solvers.reconstruct import newton
from margin.solvers.reconstruct.dual import Dual
from margin.solvers.reconstruct.split import SplitDual, dual_of
from margin.solvers.reconstruct.starts import pairwise, tree


def problem(sizes, seed, **options) -> Problem:
    tables = JointProjection()(ResidualConsistency()(random_tables(seed, sizes=sizes, **options)))
    return Problem.of(tables, tuple(range(len(sizes))))


SHAPES = [(2, 20, 3), (30, 4), (3, 2, 4, 12), (1, 9, 1, 2), (2, 2, 2, 2, 11), (7,)]


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_directions_and_variances_are_those_of_the_whole_hessian(sizes, seed):
    one = problem(sizes, seed, count=4, mean=30.0)
    ridge = Newton().ridge(one)
    whole, split = Dual(one, ridge), SplitDual(one, ridge)
    distribution = whole.distribution(pairwise(one.shape, one.index, one.target))
    gradient = np.random.default_rng(seed).normal(size=len(ridge))
    for fall in (1.0, 0.01):
        expected = whole.direction(distribution, gradient, fall)
        assert split.direction(distribution, gradient, fall) == pytest.approx(
            expected, rel=1e-8, abs=1e-9
        )
    variance = whole.bars(distribution).variance
    assert split.bars(distribution).variance == pytest.approx(
        variance, rel=1e-7, abs=1e-9 * variance.max()
    )


WIDE = (40, 5, 4, 3)
PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2, 3)]


def wide() -> Problem:
    """Few attributes beside one of forty categories, which every pair with it is known of."""
    tables = tables_of(np.random.default_rng(0).gamma(1.0, 10.0, WIDE), PAIRS, variance=400.0)
    return Problem.of(tables, (0, 1, 2, 3))


def test_it_is_chosen_where_one_axis_has_many_categories_and_gives_the_same_answer():
    one = wide()
    assert type(dual_of(one, Newton().ridge(one))) is SplitDual
    solution, other = Newton().solve(one), TrustExact().solve(one)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(other.objective, abs=1e-9)
    assert solution.table == pytest.approx(other.table, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("what", ["zeros", "exact"])
def test_empty_cells_and_exact_targets(what):
    one = wide()
    if what == "zeros":
        zeros = Zeros(sizes=WIDE, boxes=(((0, (3, 4)), (1, (0,))),)).cells((0, 1, 2, 3)).ravel()
        one = dataclasses.replace(one, zeros=zeros)
    else:
        variance = one.variance.copy()
        variance[one.order == 1] = 0.0
        one = dataclasses.replace(one, variance=variance)
    ridge = Newton().ridge(one)
    assert type(dual_of(one, ridge)) is (
        SplitDual if what == "zeros" else Dual
    )  # which is safer with little noise
    solution = Newton().solve(one)
    assert solution.status is Status.OPTIMAL
    found = solution.table.ravel() / one.total
    whole = Dual(one, ridge).bars(found).variance
    assert SplitDual(one, ridge).bars(found).variance == pytest.approx(
        whole, rel=1e-5, abs=1e-7 * whole.max()
    )


def test_uneven_ridges_and_functions_known_in_part_need_the_whole_hessian():
    one = wide()
    uneven = Newton().ridge(one)
    uneven[-1] *= 2
    assert type(dual_of(one, uneven)) is Dual
    kept = np.arange(len(one.index)) != len(one.index) - 1
    part = dataclasses.replace(
        one, index=one.index[kept], target=one.target[kept], variance=one.variance[kept]
    )
    assert type(dual_of(part, Newton().ridge(part))) is Dual


def many() -> Problem:
    """More than two hundred unknowns, and no axis that is worth taking apart."""
    rng = np.random.default_rng(1)
    array = 1e4 * rng.dirichlet(np.full(4 * 9 * 9 * 8, 0.02)).reshape(4, 9, 9, 8)
    views = [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)]
    noisy = random_noise(tables_of(array, views, variance=100.0), rng)
    return Problem.of(JointProjection()(ResidualConsistency()(noisy)), (0, 1, 2, 3))


def random_noise(tables, rng):
    return tables.with_values([value + rng.normal(0, 10.0, value.shape) for value in tables.values])


def test_many_unknowns_take_a_start_along_a_tree_and_factors_that_serve_again():
    one = many()
    assert len(one.index) > 200 and type(dual_of(one, Newton().ridge(one))) is Dual
    solution, other = Newton().solve(one), TrustExact().solve(one)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(other.objective, abs=1e-8)
    assert solution.table == pytest.approx(other.table, abs=1e-3)


def test_the_start_along_a_tree_is_exact_where_axes_form_one():
    rng = np.random.default_rng(0)
    first, second, third = (
        rng.dirichlet(np.full(size, 9.0), count) for count, size in ((1, 3), (3, 4), (4, 2))
    )
    share = first[0][:, None, None] * second[:, :, None] * third[None]
    problem = Problem.of(tables_of(1e3 * share, [(0, 1), (1, 2)], variance=1.0), (0, 1, 2))
    dual = Dual(problem, Newton().ridge(problem))
    assert dual.distribution(tree(problem)) == pytest.approx(share.ravel(), abs=1e-12)


@pytest.mark.parametrize("sizes", [(5, 6, 10, 6), (4, 3, 10, 12)], ids=str)
def test_sweeps_before_newtons_method_change_no_answer(sizes, monkeypatch):
    """With 899 and 845 unknowns; both answers are as near the minimum as the tolerance says."""
    table = np.random.default_rng(1).gamma(1.0, 30.0, sizes)
    triples = list(itertools.combinations(range(4), 3))
    one = Problem.of(tables_of(table, triples, variance=100.0), (0, 1, 2, 3))
    solver = Newton(tolerance=1e-11)
    swept = solver.solve(one)
    monkeypatch.setattr(newton, "start_of", lambda dual, tolerance: dual.start(tolerance))
    plain = solver.solve(one)
    assert swept.iterations < plain.iterations
    largest = plain.table.max()
    assert swept.table == pytest.approx(plain.table, rel=1e-7, abs=1e-9 * largest)
    assert swept.variance == pytest.approx(plain.variance, rel=1e-6)
    assert swept.undetermined == pytest.approx(plain.undetermined, rel=1e-5)


def test_newtons_method_takes_over_where_sweeps_have_many_blocks():
    """Each of 120 blocks would be a pass over the whole table of 32,768 cells."""
    table = np.random.default_rng(0).gamma(1.0, 10.0, (2,) * 15)
    pairs = list(itertools.combinations(range(15), 2))
    one = Problem.of(tables_of(table, pairs), tuple(range(15)))
    assert type(dual_of(one, Newton().ridge(one))) is Dual
