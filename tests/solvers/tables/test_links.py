"""What zeros imply between views, against brute force over all cells of the array."""

import itertools

import numpy as np
import pytest
import scipy.linalg
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from margin.solvers import (
    JointProjection,
    LinkedErrors,
    ResidualConsistency,
    Tables,
    WeightedSum,
    WholeTables,
    Zeros,
    linked,
)
from margin.solvers.tables.consistency import Components
from margin.solvers.tables.implied import implied_axes
from margin.solvers.zeros import NoCellLeft

_SMALL = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def _arrays(draw, most_boxes=5):
    """Views of a small array with random zeros, and noisy tables of a random population."""
    sizes = tuple(draw(st.lists(st.integers(2, 3), min_size=3, max_size=4)))
    axes = range(len(sizes))
    boxes = []
    for _ in range(draw(st.integers(1, most_boxes))):
        own = sorted(draw(st.sets(st.sampled_from(axes), min_size=2, max_size=3)))
        codes = [
            sorted(draw(st.sets(st.integers(0, sizes[axis] - 1), min_size=1, max_size=2)))
            for axis in own
        ]
        boxes.append(tuple((axis, tuple(some)) for axis, some in zip(own, codes, strict=True)))
    every = [pair for size in (1, 2) for pair in itertools.combinations(axes, size)]
    views = draw(st.lists(st.sampled_from(every), min_size=2, max_size=4, unique=True))
    try:
        zeros = Zeros(sizes, tuple(boxes))
    except NoCellLeft:
        assume(False)
    return _noisy(sizes, tuple(views), zeros, draw(st.integers(0, 1000)))


def _noisy(sizes, views, zeros, seed, rows=40.0):
    rng = np.random.default_rng(seed)
    possible = ~zeros.cells(tuple(range(len(sizes))))
    array = rng.exponential(1.0, sizes) * possible
    array *= rows / array.sum()
    values = []
    for view in views:
        others = tuple(axis for axis in range(len(sizes)) if axis not in view)
        table = array.sum(axis=others)
        values.append(table + rng.normal(0.0, 2.0, table.shape))
    variances = tuple(rng.choice([1.0, 3.0], len(views)).tolist())
    return Tables(sizes=sizes, views=views, values=tuple(values), variances=variances, zeros=zeros)


def _sums(tables, views=None):
    """The matrix from all cells of the array to the cells of views, one view below another."""
    codes = np.indices(tables.sizes).reshape(len(tables.sizes), -1)
    blocks = []
    for view in tables.views if views is None else views:
        shape = [tables.sizes[axis] for axis in view]
        cell = np.ravel_multi_index(tuple(codes[list(view)]), shape)
        blocks.append((cell == np.arange(np.prod(shape))[:, None]).astype(float))
    return np.concatenate(blocks)


def _possible(tables):
    return ~tables.zeros.cells(tuple(range(len(tables.sizes)))).ravel()


def _equalities(tables, views=None):
    """All linear equalities between the cells of views: rows of a matrix."""
    return scipy.linalg.null_space(_sums(tables, views)[:, _possible(tables)].T).T


def _flat(tables, rows=None):
    every = range(len(tables.views)) if rows is None else rows
    return np.concatenate([tables.values[row].ravel() for row in every])


@_SMALL
@given(_arrays())
def test_whole_tables_satisfy_every_equality_that_zeros_imply(tables):
    fitted = JointProjection()(ResidualConsistency()(tables))
    assume(fitted.total > 5)
    whole = WholeTables()(fitted, round(fitted.total), seed=0)
    assert np.abs(_equalities(tables) @ _flat(whole)).max(initial=0) < 1e-9
    assert (_flat(whole) == np.rint(_flat(whole))).all()
    assert _flat(whole).min() >= 0


@_SMALL
@given(_arrays())
@pytest.mark.parametrize("fit", [ResidualConsistency(), JointProjection()])
def test_fitted_tables_satisfy_every_equality_between_two_views(fit, tables):
    fitted = fit(tables)
    assume(fitted.total > 1)
    for pair in itertools.combinations(range(len(tables.views)), 2):
        equalities = _equalities(tables, [tables.views[row] for row in pair])
        assert np.abs(equalities @ _flat(fitted, pair)).max(initial=0) < 1e-6


@_SMALL
@given(_arrays(most_boxes=3))
def test_more_is_implied_just_if_the_dimensions_say_so(tables):
    sums = _sums(tables)
    must = np.concatenate([tables.zeros.cells(view).ravel() for view in tables.views])
    rank = np.linalg.matrix_rank
    consistent = rank(sums) - (rank(sums[must]) if must.any() else 0)
    more = rank(sums[:, _possible(tables)]) < consistent
    assert bool(implied_axes(tables)) == more
    if tables.links:
        assert more
