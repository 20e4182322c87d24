"""`agreeing_rows`: random rows are moved until known tables along a tree are kept exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_problems import random_table, tree_of_tables

from margin import Domain
from margin.solvers import Known, KnownTable
from margin.solvers.known.rows import agree_with, agreeing_rows


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=40)
def test_rows_agree_exactly_with_tables_along_a_tree(seed, in_groups):
    rng = np.random.default_rng(seed)
    domain, codes, counts = random_table(rng)
    declared = Domain(domain, known=tree_of_tables(rng, domain, counts))
    known = declared.constraints
    repeats = np.ones(len(codes))
    if in_groups:
        repeats = np.bincount(rng.integers(0, max(1, len(codes) // 5), len(codes))).astype(float)
        repeats = repeats[repeats > 0]
    start = rng.integers(0, domain.sizes, (len(repeats), len(domain))).astype(np.int32)
    if declared.zeros is not None:
        declared.zeros.mend(start, rng)
    found, amounts = agreeing_rows(known, start, repeats, rng)
    assert agree_with(known, found, amounts)
    assert amounts.sum() == len(codes) and amounts.min() >= 1


def test_rows_that_agree_stay():
    known = Known((2, 2), [KnownTable((0,), (None,), np.array([2.0, 1.0]))])
    codes = np.array([[0, 1], [1, 0], [0, 0]], dtype=np.int32)
    found, amounts = agreeing_rows(known, codes, np.ones(3), np.random.default_rng(0))
    assert found.tolist() == codes.tolist() and amounts.tolist() == [1, 1, 1]


def test_no_more_rows_are_moved_than_needed():
    known = Known((2, 2), [KnownTable((0,), (None,), np.array([50.0, 50.0]))])
    codes = np.stack([np.arange(100) < 40, np.arange(100) % 2], axis=1).astype(np.int32)
    found, _ = agreeing_rows(known, codes, np.ones(100), np.random.default_rng(0))
    before, after = (np.bincount(2 * rows[:, 0] + rows[:, 1]) for rows in (codes, found))
    assert np.abs(before - after).sum() == pytest.approx(20)
