import itertools

import numpy as np
import pytest
from cases import random_tables, seeds
from hypothesis import given, settings

from margin.solvers import (
    Batch,
    Evidence,
    JointProjection,
    LatticeConsistency,
    Newton,
    Problem,
    ProjectionQP,
    ResidualConsistency,
    Tables,
)
from margin.solvers.basis import transform


def from_views(tables):
    evidence = Evidence(sizes=tables.sizes)
    for view, value, variance in zip(tables.views, tables.values, tables.variances, strict=True):
        evidence.add_table(view, value, variance)
    return evidence.tables()


@settings(max_examples=40)
@given(seeds)
def test_of_tables_alone_it_is_residual_consistency(seed):
    noisy = random_tables(seed, sizes=(2, 3, 2, 1))
    consistent, found = ResidualConsistency()(noisy), from_views(noisy)
    alone = tuple(axis for axis, size in enumerate(noisy.sizes) if size == 1)
    for row, view in enumerate(found.views):
        held = consistent.covering(tuple(axis for axis in view if axis not in alone))
        axes = tuple(axis for axis in view if axis in consistent.views[held])
        np.testing.assert_allclose(
            found.project(row, axes), consistent.project(held, axes), rtol=1e-9, atol=1e-9
        )
        assert found.variances[row] == pytest.approx(noisy.variance(axes))
    for size in range(len(noisy.sizes) + 1):
        for axes in itertools.combinations(range(len(noisy.sizes)), size):
            real = [place for place, axis in enumerate(axes) if noisy.sizes[axis] > 1]
            masks = [
                mask
                for mask in range(1 << size)
                if all(mask >> p & 1 == 0 or p in real for p in range(size))
            ]
            np.testing.assert_allclose(
                found.component_precision(axes)[masks],
                noisy.component_precision(axes)[masks],
                rtol=1e-9,
            )


def measured(seed, sizes=(2, 3, 2, 4), order=2):
    """All components up to an order, each with its own variance; and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.poisson(20.0, sizes).astype(np.float64)
    evidence = Evidence(sizes=sizes)
    variances = {}
    for size in range(order + 1):
        for axes in itertools.combinations(range(len(sizes)), size):
            table = truth.sum(axis=tuple(axis for axis in range(len(sizes)) if axis not in axes))
            moments = transform(table.shape).analyse(table.reshape(-1)).reshape(
                table.shape
            ) * np.sqrt(table.size)
            part = moments[tuple(slice(1, None) for _ in axes)]
            variances[axes] = float(rng.uniform(0.5, 50.0))
            noise = rng.normal(scale=np.sqrt(variances[axes]), size=part.shape)
            evidence.add_component(axes, part + noise, variances[axes])
    return truth, evidence, variances


@settings(max_examples=25)
@given(seeds)
def test_components_measured_apart_keep_their_own_precision(seed):
    _, evidence, variances = measured(seed)
    tables = evidence.tables()
    assert tables.views == tuple(itertools.combinations(range(4), 2))
    for size in range(4):
        for axes in itertools.combinations(range(4), size):
            precision = tables.component_precision(axes)
            for mask in range(1 << size):
                part = tuple(axis for place, axis in enumerate(axes) if mask >> place & 1)
                assert precision[mask] == pytest.approx(
                    1 / variances[part] if len(part) <= 2 else 0.0
                )
    for row, view in enumerate(tables.views):
        assert tables.variances[row] == pytest.approx(tables.variance(view))
        for other, axes in enumerate(tables.views):
            common = tuple(sorted(set(view) & set(axes)))
            np.testing.assert_allclose(
                tables.project(row, common), tables.project(other, common), atol=1e-8
            )


@settings(max_examples=25)
@given(seeds)
def test_variance_of_tables_of_components_is_that_of_the_estimate(seed):
    """The estimate is linear: its variance follows from its response to each measured number."""
    _, evidence, variances = measured(seed, sizes=(2, 3, 2))
    tables = evidence.tables()
    row, expected = len(tables.views) - 1, 0.0
    for axes, moments in evidence.weighted.items():
        for cell in range(moments.size):
            unit = Evidence(sizes=evidence.sizes)
            for other, like in evidence.weighted.items():
                one = np.zeros_like(like)
                if other == axes:
                    one.flat[cell] = 1.0
                unit.add_component(other, one, variances[other])
            expected += variances[axes] * unit.tables().values[row].flat[0] ** 2
    assert tables.variances[row] == pytest.approx(expected)


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_evidence_of_both_kinds_adds_up(seed):
    """A table says of each of its components what the components measured by themselves would."""
    truth, evidence, variances = measured(seed)
    rng = np.random.default_rng(seed + 1)
    noisy = truth.sum(axis=3) + rng.normal(size=truth.shape[:3])
    evidence.add_table((0, 1, 2), noisy, 1.0)
    tables = evidence.tables()
    assert (0, 1, 2) in tables.views and (2, 3) in tables.views and (0, 1) not in tables.views
    assert tables.component_precision((0, 1))[3] == pytest.approx(
        1 / variances[0, 1] + 1 / noisy.size
    )
    assert tables.component_precision((0, 1, 2))[7] == pytest.approx(1 / noisy.size)
    with_counts = Problem.of(tables, (0, 1, 2, 3))
    np.testing.assert_allclose(Batch.of(tables, [(0, 1, 2, 3)]).target, with_counts.target)


@settings(max_examples=8, deadline=None)
@given(seeds)
def test_projection_weighs_components_by_their_own_precision(seed):
    _, evidence, _ = measured(seed)
    noise = np.random.default_rng(seed).normal
    for axes, moments in evidence.weighted.items():  # enough noise for negative cells
        evidence.weighted[axes] = moments + (
            noise(scale=200.0, size=moments.shape) * evidence.precision[axes] if axes else 0.0
        )
    tables = evidence.tables()
    ours, theirs = (
        JointProjection(tolerance=1e-7, iterations=20_000)(tables),
        ProjectionQP(solver="CLARABEL")(tables),
    )
    scale = max(np.sqrt(tables.variances))
    for one, other in zip(ours.values, theirs.values, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-4 * scale)
        assert one.min() >= 0
    np.testing.assert_array_equal(ours.precisions, tables.precisions)
    for axes in itertools.combinations(range(4), 3):
        assert Newton().solve(Problem.of(ours, axes)).status.ok
    before = LatticeConsistency()(tables)
    for one, other in zip(tables.values, before.values, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_projection_does_not_depend_on_how_tables_were_told(seed):
    """As tables with variances, or as the sum of what they say of each component: the same
    programme."""
    plain = random_tables(seed, sizes=(2, 3, 2, 4), mean=3.0, noise=6.0)
    told = from_views(plain)
    project = JointProjection(tolerance=1e-8, iterations=50_000)
    one, other = project(plain), project(told)
    for row, view in enumerate(told.views):
        np.testing.assert_allclose(
            other.values[row], one.project(one.covering(view), view), atol=1e-4
        )


@pytest.mark.parametrize("count", [0, 1, 2])
def test_components_added_together_are_those_added_one_by_one(count):
    rng = np.random.default_rng(count)
    sets = list(itertools.combinations(range(4), count))
    together, apart = Evidence(sizes=(3, 3, 3, 3)), Evidence(sizes=(3, 3, 3, 3))
    # Each component is measured twice.
    for _ in range(2):
        moments = rng.normal(size=(len(sets), *[2] * count))
        variances = rng.uniform(1.0, 5.0, len(sets))
        together.add_components(sets, moments, variances)
        for axes, own, variance in zip(sets, moments, variances.tolist(), strict=True):
            apart.add_component(axes, own, variance)
    assert together.precision == apart.precision
    for axes in sets:
        assert np.array_equal(together.weighted[axes], apart.weighted[axes])
    nothing = np.where(np.arange(len(sets)) == len(sets) - 1, 0.0, 1.0)
    with pytest.raises(ValueError, match="positive finite variances"):
        together.add_components(sets, moments, nothing)


def test_what_does_not_fit_is_refused():
    evidence = Evidence(sizes=(2, 3))
    with pytest.raises(ValueError, match="nothing was measured"):
        evidence.tables()
    for axes, moments, variance in [((1, 0), np.ones((1, 2)), 1.0), ((0,), np.ones(2), 1.0)]:
        with pytest.raises(ValueError, match="moments of shape"):
            evidence.add_component(axes, moments, variance)
    for moments, variance in [(np.full(1, np.nan), 1.0), (np.ones(1), 0.0), (np.ones(1), np.inf)]:
        with pytest.raises(ValueError, match="positive finite variance"):
            evidence.add_component((0,), moments, variance)
    evidence.add_component((0,), np.ones(1), 1.0)
    with pytest.raises(ValueError, match="must be known"):
        evidence.tables()
    with pytest.raises(ValueError, match="one number for each component"):
        Tables(
            sizes=(2,),
            views=((0,),),
            values=(np.ones(2),),
            variances=(1.0,),
            precisions=(np.ones(1),),
        )
