import itertools
import math

import numpy as np
import pytest
from cases import random_tables, seeds
from hypothesis import given, settings

from margin.solvers import ResidualConsistency, Tables

GOOD = {"sizes": (2, 3), "views": ((0, 1),), "values": (np.ones((2, 3)),), "variances": (1.0,)}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"views": ()}, "must have the same length"),
        ({"variances": (1.0, 1.0)}, "must have the same length"),
        ({"views": ((1, 0),)}, "ascending"),
        ({"views": ((0, 0),)}, "ascending"),
        ({"views": ((0, 2),)}, "must be ascending numbers from 0 to 1"),
        ({"values": (np.ones((3, 2)),)}, "shape"),
        ({"values": (np.full((2, 3), np.nan),)}, "finite"),
        ({"variances": (0.0,)}, "positive"),
        ({"variances": (math.nan,)}, "positive"),
        ({"variances": (math.inf,)}, "finite"),
    ],
)
def test_what_does_not_fit_is_refused(change, says):
    with pytest.raises(ValueError, match=says):
        Tables(**{**GOOD, **change})


@settings(max_examples=40)
@given(seeds)
def test_variance_of_a_covered_marginal_is_that_of_the_estimator(seed):
    """The estimator is linear: its variance follows exactly from its response to each measured
    cell."""
    tables = random_tables(seed, sizes=(2, 3, 2, 1))
    row = 0
    axes = tables.views[row][: max(1, len(tables.views[row]) - 1)]
    variance = 0.0
    for place, value in enumerate(tables.values):
        for cell in range(value.size):
            unit = [np.zeros_like(other) for other in tables.values]
            unit[place].flat[cell] = 1.0
            answer = ResidualConsistency()(tables.with_values(unit)).project(row, axes)
            variance += tables.variances[place] * answer.flat[0] ** 2
    assert tables.variance(axes) == pytest.approx(variance, rel=1e-9)


def test_the_smallest_covering_view_is_read():
    tables = Tables(
        sizes=(2, 2, 2),
        views=((0, 1, 2), (0, 1)),
        values=(np.ones((2, 2, 2)), np.full((2, 2), 2.0)),
        variances=(1.0, 1.0),
    )
    assert tables.covering((0, 1)) == 1
    assert tables.covering((1, 2)) == 0
    assert Tables(**GOOD).covering((0, 1)) == 0


@given(seeds)
def test_component_precision_sums_the_views_that_hold_the_component(seed):
    tables = random_tables(seed)
    axes = tuple(range(len(tables.sizes)))
    precision = tables.component_precision(axes)
    for component in range(1 << len(axes)):
        members = {axis for axis in axes if component >> axis & 1}
        holders = [row for row, view in enumerate(tables.views) if members <= set(view)]
        assert precision[component] == pytest.approx(sum(tables.precision[row] for row in holders))


@given(seeds)
def test_covered_sets_are_those_within_a_view(seed):
    tables = random_tables(seed)
    for size in range(len(tables.sizes) + 1):
        asked = list(itertools.combinations(range(len(tables.sizes)), size))
        expected = [any(set(axes) <= set(view) for view in tables.views) for axes in asked]
        assert tables.covered(asked).tolist() == expected
        assert [tables.covering(axes) is not None for axes in asked] == expected


def test_a_total_that_may_be_a_rounding_error_is_zero():
    counts = np.array([[70.1, -20.3, 4.2], [-50.6, 0.1, -3.5]])
    assert 0 < abs(counts.sum()) < 1e-12
    assert Tables(**{**GOOD, "values": (counts,)}).total == 0
    assert Tables(**{**GOOD, "values": (counts + 1e-5,)}).total == pytest.approx(6e-5)
