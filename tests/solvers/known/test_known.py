"""`Known`: against dense algebra, for random sizes and groups; and what contradicts itself."""

import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from known_problems import random_table, tree_of_tables

from margin import Domain
from margin.solvers import (
    AbsoluteConsistency,
    Contradiction,
    Evidence,
    JointProjection,
    Known,
    KnownTable,
    LatticeConsistency,
    Newton,
    Problem,
    ProjectionQP,
    ResidualConsistency,
    Tables,
    Zeros,
)
from margin.solvers.projection import projection

seeds = st.integers(0, 2**32 - 1)


def problem(seed, views=2):
    """What is known of a random table, and noisy tables of it."""
    rng = np.random.default_rng(seed)
    domain, _, counts = random_table(rng)
    known = tree_of_tables(rng, domain, counts)
    constraints = Domain(domain, known=known).constraints
    chosen = set()
    for _ in range(views):
        size = int(rng.integers(1, len(domain) + 1))
        chosen.add(tuple(sorted(rng.choice(len(domain), size, replace=False).tolist())))
    values = []
    for view in sorted(chosen):
        dropped = tuple(axis for axis in range(len(domain)) if axis not in view)
        table = counts.sum(axis=dropped)
        values.append(table + rng.normal(0, 3.0, table.shape))
    tables = Tables(
        sizes=domain.sizes,
        views=tuple(sorted(chosen)),
        values=tuple(values),
        variances=tuple(rng.uniform(1, 4, len(values)).tolist()),
        zeros=constraints.zeros,
        known=constraints,
    )
    return tables.with_known(), constraints


def misses(tables):
    """The largest difference of some tables from what is known about them."""
    worst = 0.0
    for view, value in zip(tables.views, tables.values, strict=True):
        left, right = tables.known.equations(view)
        worst = max(worst, float(np.abs(left @ value.ravel() - right).max()))
    return worst


@given(seeds)
@settings(max_examples=30)
def test_the_nearest_table_and_what_is_left_open_are_projections(seed):
    tables, known = problem(seed)
    rng = np.random.default_rng(seed)
    axes = tables.views[0]
    shape = tables.values[0].shape
    left, right = known.equations(axes)
    inverse = np.linalg.pinv(left.toarray())
    table, weights = rng.normal(size=(2, math.prod(shape)))
    expected = table + inverse @ (right - left @ table)
    assert known.fixed(axes, table.reshape(shape)).ravel() == pytest.approx(expected, abs=1e-6)
    opened = weights - inverse @ (left @ weights)
    assert known.left_open(axes, weights.reshape(shape)).ravel() == pytest.approx(opened, abs=1e-8)
    empty = rng.random(shape) < 0.2
    kept = left.toarray()[:, ~empty.ravel()]
    within = weights[~empty.ravel()]
    opened = within - np.linalg.pinv(kept) @ (kept @ within)
    found = known.left_open(axes, weights.reshape(shape), empty)
    assert found[~empty] == pytest.approx(opened, abs=1e-6)
    assert not found[empty].any()


@given(seeds)
@settings(max_examples=30)
def test_what_is_told_is_what_the_equations_leave_no_choice_for(seed):
    tables, known = problem(seed)
    axes = tables.views[0]
    shape = tables.values[0].shape
    rng = np.random.default_rng(seed)
    empty = rng.random(shape) < rng.choice([0.0, 0.3, 0.7])
    sums = rng.integers(0, 4, shape) if seed % 2 else np.arange(empty.size).reshape(shape)
    told = known.told(axes, sums, empty)
    # A sum is known if its weights are a combination of the equations, where cells may have rows.
    left = known.equations(axes)[0].toarray()[:, ~empty.ravel()]
    for number in np.unique(sums[~empty]):
        own = sums[~empty] == number
        found = told[~empty][own].all()
        weights = own.astype(float)
        rest = weights - left.T @ np.linalg.lstsq(left.T, weights)[0]
        follows = np.abs(rest).max() < 1e-6
        assert follows or not found
        # What follows from one known table alone is always found.
        assert found or not follows or len(known.equations(axes)[1]) > 1
    assert told[empty].all()


@pytest.mark.parametrize("consistency", [ResidualConsistency(), LatticeConsistency()], ids=repr)
@given(seed=seeds)
@settings(max_examples=15)
def test_consistent_tables_keep_what_is_known(consistency, seed):
    tables, known = problem(seed)
    found = consistency(tables)
    assert misses(found) < 1e-6 * known.total


@given(seeds)
@settings(max_examples=10)
def test_linear_programmes_keep_what_is_known(seed):
    tables, known = problem(seed)
    assert misses(AbsoluteConsistency()(tables)) < 1e-6 * known.total


@pytest.mark.slow
@given(seeds)
@settings(max_examples=25)
def test_the_projection_keeps_what_is_known_and_is_the_nearest(seed):
    tables, known = problem(seed)
    consistent = ResidualConsistency()(tables)
    found = JointProjection(tolerance=1e-7, iterations=20_000)(consistent)
    assert misses(found) < 1e-9 * known.total
    assert min(value.min() for value in found.values) >= 0
    best = ProjectionQP(solver="CLARABEL")(consistent)
    pairs = zip(found.values, best.values, strict=True)
    assert max(np.abs(one - other).max() for one, other in pairs) < 0.02


@given(seeds)
@settings(max_examples=15)
def test_a_consistent_estimate_is_that_of_least_squares_under_constraints(seed):
    tables, known = problem(seed)
    if known.zeros is not None or math.prod(tables.sizes) > 300:
        return
    every = tuple(range(len(tables.sizes)))
    maps, targets, scales = [], [], []
    for view, value, variance in zip(tables.views, tables.values, tables.variances, strict=True):
        # A table that is known has no weight of its own.
        if view in known.views:
            continue
        maps.append(projection(tables.sizes, view).toarray())
        targets.append(value.ravel())
        scales.append(np.full(value.size, variance**-0.5))
    if not maps:
        return
    left, right = known.equations(every)
    base = np.linalg.pinv(left.toarray()) @ right
    free = scipy.linalg.null_space(left.toarray())
    weight = np.concatenate(scales)[:, None]
    stacked = np.concatenate(maps)
    goal = np.concatenate(targets) - stacked @ base
    best = base + free @ np.linalg.lstsq(weight * (stacked @ free), weight[:, 0] * goal, 1e-10)[0]
    for view, value in zip(tables.views, ResidualConsistency()(tables).values, strict=True):
        expected = projection(tables.sizes, view) @ best
        assert value.ravel() == pytest.approx(expected, abs=1e-6)


def test_known_components_have_infinite_precision_and_no_variance():
    known = Known((2, 3, 2), [KnownTable((0, 1), (None, None), np.full((2, 3), 5.0))])
    tables = Tables(
        sizes=(2, 3, 2),
        views=((0, 1, 2),),
        values=(np.full((2, 3, 2), 2.0),),
        variances=(1.0,),
        known=known,
    )
    precision = tables.component_precision((0, 1, 2))
    assert np.isinf(precision[:4]).all() and np.isfinite(precision[4:]).all()
    assert tables.variance((0, 1)) == tables.variance((0,)) == tables.variance(()) == 0
    problem = Problem.of(ResidualConsistency()(tables), (0, 2))
    assert problem.variance[0] < 1 and (problem.variance == 0).sum() == 1


def test_evidence_puts_in_components_that_were_not_measured():
    counts = np.array([[3.0, 1.0], [2.0, 4.0]])
    known = Known((2, 2), [KnownTable((0, 1), (None, None), counts)])
    evidence = Evidence(sizes=(2, 2), known=known)
    (table,) = evidence.tables().values
    assert table == pytest.approx(counts)


def test_maximum_entropy_takes_known_moments_as_they_are():
    known = Known((3, 3), [KnownTable((0,), (None,), np.array([5.0, 3.0, 2.0]))])
    tables = Tables(
        sizes=(3, 3),
        views=((0,), (1,)),
        values=(np.array([5.0, 3.0, 2.0]), np.array([6.0, 2.0, 2.0])),
        variances=(4.0, 4.0),
        known=known,
    )
    solution = Newton().solve(Problem.of(tables, (0, 1)))
    assert solution.table.sum(axis=1) == pytest.approx([5.0, 3.0, 2.0], abs=1e-6)


def test_tables_that_contradict_each_other_or_the_zeros_are_found():
    pairs = np.array([[5.0, 0.0], [0.0, 5.0]]), np.array([[0.0, 5.0], [5.0, 0.0]])
    tables = [
        KnownTable(axes, (None, None), counts)
        for axes, counts in [((0, 1), pairs[0]), ((1, 2), pairs[0]), ((0, 2), pairs[1])]
    ]
    with pytest.raises(Contradiction):
        Known((2, 2, 2), tables).check()
    Known((2, 2, 2), tables[:2]).check()
    zeros = Zeros((2, 2, 2), (((0, (0,)),),))
    with pytest.raises(Contradiction):
        Known((2, 2, 2), tables[:1], zeros).check()


def test_tables_that_connect_too_much_are_refused():
    sizes = (3000, 3000, 3000)
    even = np.full((3000, 1), 1.0)
    tables = [
        KnownTable((axis, axis + 1), (None, np.zeros(3000, np.int64)), even) for axis in (0, 1)
    ]
    with pytest.raises(ValueError, match="at most 4,194,304 combinations"):
        Known(sizes, tables).check()
