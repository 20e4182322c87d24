import itertools
import math

import numpy as np
import pytest
from cases import disagreement, random_tables, seeds, tables_of
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.solvers import (
    LatticeConsistency,
    ResidualConsistency,
    Tables,
    intersection_lattice,
)
from margin.solvers.tables.consistency import Components, intersections

METHODS = [LatticeConsistency(), ResidualConsistency()]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_the_papers_worked_example(method):
    """PriView, section 4.4."""
    tables = Tables(
        sizes=(2, 2, 2),
        views=((0, 1), (0, 2)),
        values=(np.array([[0.3, 0.3], [0.3, 0.1]]), np.array([[0.2, 0.3], [0.1, 0.4]])),
        variances=(1.0, 1.0),
    )
    first, second = method(tables).values
    assert first.ravel() == pytest.approx([0.275, 0.275, 0.325, 0.125])
    assert second.ravel() == pytest.approx([0.225, 0.325, 0.075, 0.375])
    assert first.sum(axis=0) == pytest.approx([0.6, 0.4])
    assert second.sum(axis=0) == pytest.approx([0.3, 0.7])


@given(seeds)
def test_lattice_and_residual_consistency_are_equal(seed):
    tables = random_tables(seed)
    lattice, residual = (method(tables) for method in METHODS)
    for one, other in zip(lattice.values, residual.values, strict=True):
        assert np.abs(one - other).max() <= 1e-9 * max(1.0, np.abs(one).max())
    assert disagreement(residual) < 1e-9


@settings(max_examples=30)
@given(seeds)
def test_it_is_the_generalised_least_squares_estimate(seed):
    """Against dense least squares over the full array, with unequal noise."""
    tables = random_tables(seed, sizes=(2, 3, 2, 2))
    cells = np.indices(tables.sizes).reshape(len(tables.sizes), -1)
    designs, targets, weights = [], [], []
    for view, value, variance in zip(tables.views, tables.values, tables.variances, strict=True):
        rows = np.ravel_multi_index([cells[axis] for axis in view], value.shape)
        designs.append(np.eye(value.size)[rows].T)
        targets.append(value.ravel())
        weights.append(np.full(value.size, 1 / math.sqrt(variance)))
    scale = np.concatenate(weights)
    fitted = np.linalg.lstsq(
        np.concatenate(designs) * scale[:, None], np.concatenate(targets) * scale, rcond=None
    )[0]
    for design, value in zip(designs, ResidualConsistency()(tables).values, strict=True):
        assert design @ fitted == pytest.approx(value.ravel(), abs=1e-7)


@given(seeds)
def test_consistent_tables_stay_as_they_are(seed):
    once = ResidualConsistency()(random_tables(seed))
    twice = ResidualConsistency()(once)
    for one, other in zip(once.values, twice.values, strict=True):
        assert other == pytest.approx(one, abs=1e-9)


@given(seeds)
def test_intersections_are_complete_and_smaller_sets_come_first(seed):
    views = random_tables(seed, count=5).views
    found = intersections(views)
    expected = {frozenset()} | {
        frozenset.intersection(*map(frozenset, some))
        for size in range(1, len(views) + 1)
        for some in itertools.combinations(views, size)
    }
    assert set(found) == expected and len(found) == len(expected)
    for place, one in enumerate(found):
        assert not any(later < one for later in found[place:])


@pytest.mark.parametrize("seed", range(20))
def test_holders_are_the_views_that_no_other_contains(seed):
    rng = np.random.default_rng(seed)
    sizes = (2, 1, 3, 2)
    views = [tuple(np.flatnonzero(rng.random(4) < 0.6).tolist()) for _ in range(6)]
    components = Components(tables_of(rng.random(sizes), views, variance=1.0))
    axes = [frozenset(axis for axis in view if sizes[axis] > 1) for view in views]
    largest = {view for view in axes if not any(view < other for other in axes)}
    held = {
        frozenset(part)
        for view in axes
        for n in range(len(view) + 1)
        for part in itertools.combinations(view, n)
    }
    expected = []
    for part in held:
        functions = math.prod(sizes[axis] - 1 for axis in part)
        expected += [sum(part <= view for view in largest)] * functions
    assert sorted(components.holders.tolist()) == sorted(expected)


@given(
    views=st.lists(st.sets(st.integers(0, 6), max_size=5).map(sorted), max_size=6),
)
@settings(max_examples=60)
def test_the_intersection_lattice_equals_brute_force(views):
    """All intersections of one or more views and the empty set; edges to maximal proper subsets."""
    sets = {frozenset()}
    for size in range(1, len(views) + 1):
        for some in itertools.combinations(views, size):
            sets.add(frozenset.intersection(*map(frozenset, some)))
    edges = set()
    for larger in sets:
        below = [smaller for smaller in sets if smaller < larger]
        for smaller in below:
            if not any(smaller < other for other in below):
                edges.add((tuple(sorted(larger)), tuple(sorted(smaller))))
    lattice = intersection_lattice(views)
    assert set(lattice.nodes) == {tuple(sorted(members)) for members in sets}
    assert set(lattice.edges) == edges
    for members, facts in lattice.nodes.items():
        chains = [facts["level"] > lattice.nodes[b]["level"] for b in lattice.successors(members)]
        assert all(chains) and (facts["level"] == 0) == (members == ())
        assert facts["holders"] == sum(set(members) <= set(view) for view in views)


def test_intersections_come_after_their_subsets():
    order = intersections(((0, 1, 2), (1, 2, 3), (2, 4), (0, 5)))
    for place, members in enumerate(order):
        assert not any(later < members for later in order[place:])
