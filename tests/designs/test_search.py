"""The searches behind covering_design, each on its own."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin.designs import affine_geometry
from margin.designs.annealing import smaller_by_annealing
from margin.designs.bases import near_designs
from margin.designs.cyclic import anneal, expand, orbits
from margin.designs.greedy import greedy_cover, wanted_sets, wanted_subsets
from margin.designs.induced import induce
from margin.designs.reduction import drop_redundant, fill
from margin.designs.subsets import coverage, ranks, subsets, unranked


def missed(blocks, v, t):
    held = {one for block in blocks for one in itertools.combinations(block, t)}
    return [one for one in itertools.combinations(range(v), t) if one not in held]


def greedy(v, k, t, *, seed=0):
    rng = np.random.default_rng(seed)
    return greedy_cover(wanted_subsets(v, t), lambda block: np.full(v, len(block) < k), np.ones(v), rng)


@given(n=st.integers(1, 12), t=st.integers(1, 5))
def test_ranks_number_the_subsets(n, t):
    rows = subsets(n, t)
    numbers = ranks(rows, n)
    assert sorted(numbers.tolist()) == list(range(len(rows)))
    assert np.array_equal(unranked(numbers, t, n), rows)


def test_coverage_counts_blocks_of_any_length():
    blocks = [(0, 1, 2), (0, 1), (1, 2, 3, 4), (4,), ()]
    counts = coverage(blocks, 5, 2)
    for one, number in zip(subsets(5, 2).tolist(), ranks(subsets(5, 2), 5), strict=True):
        assert counts[number] == sum(set(one) <= set(block) for block in blocks)


@pytest.mark.parametrize(("v", "k", "t"), [(9, 3, 1), (12, 5, 2), (30, 8, 2), (12, 6, 3), (11, 6, 4), (9, 6, 5)])
def test_greedy_covers(v, k, t):
    blocks = greedy(v, k, t)
    assert missed(blocks, v, t) == []
    assert max(map(len, blocks)) <= k
    assert blocks == greedy(v, k, t)


def test_greedy_covers_sets_of_several_lengths():
    sets = [(0,), (1, 2), (0, 3, 5), (2, 4), (1, 2, 3, 4)]
    rng = np.random.default_rng(0)
    blocks = greedy_cover(wanted_sets(sets, 6), lambda block: np.full(6, len(block) < 4), np.ones(6), rng)
    assert all(any(set(one) <= set(block) for block in blocks) for one in sets)


def test_redundant_blocks_are_dropped():
    lines = sorted(affine_geometry(2, 3, 1).blocks)
    assert sorted(drop_redundant([(0, 1), *lines, (2, 5), (7,), ()], 9, 2)) == lines


@pytest.mark.parametrize(("v", "k", "t"), [(13, 5, 2), (10, 5, 3)])
def test_filled_blocks_still_cover(v, k, t):
    blocks = [block[: k - 1] for block in greedy(v, k, t)]
    blocks += missed(blocks, v, t)
    filled = fill(blocks, v, k, t)
    assert all(set(block) <= set(new) and len(new) <= k for block, new in zip(blocks, filled, strict=True))
    smaller = drop_redundant(filled, v, t)
    assert missed(smaller, v, t) == []
    assert len(smaller) < len(blocks)


@pytest.mark.parametrize(("v", "k", "t"), [(20, 8, 2), (33, 8, 2), (30, 7, 3), (18, 12, 2)])
def test_induced_designs_cover(v, k, t):
    found = 0
    for base in near_designs(v, k, t):
        blocks = induce(base, v, k, lambda n: greedy(n, k, t), np.random.default_rng(0))
        if blocks is not None:
            found += 1
            assert missed(blocks, v, t) == []
            assert max(map(len, blocks)) <= k
    assert found >= 3


@pytest.mark.parametrize(("v", "t", "order"), [(7, 2, 7), (8, 2, 3), (11, 3, 5), (9, 3, 1)])
def test_orbits_are_those_of_the_group(v, t, order):
    table, sizes = orbits(v, t, order)
    for one in itertools.combinations(range(v), t):
        orbit = expand([one], v, order)
        assert sizes[table[one]] == len(orbit)
        assert {int(table[image]) for other in orbit for image in itertools.permutations(other)} == {table[one]}


@pytest.mark.parametrize(
    ("v", "k", "t", "order", "starters"), [(7, 3, 2, 7, 1), (13, 4, 2, 13, 1), (24, 8, 2, 6, 2), (10, 4, 3, 10, 3)]
)
def test_annealing_finds_known_designs(v, k, t, order, starters):
    for seed in range(5):
        blocks, moves = anneal(v, k, t, order=order, starters=starters, moves=40_000, seed=seed)
        if blocks is not None:
            break
    assert blocks is not None
    assert 0 <= moves < 40_000
    assert len(blocks) <= order * starters
    assert missed(blocks, v, t) == []


def test_annealing_gives_up_on_what_cannot_be():
    assert anneal(7, 3, 2, order=1, starters=6, moves=500, seed=0) == (None, 500)
    assert smaller_by_annealing(7, 3, 2, above=7, below=7, effort=1, seed=0) is None
    assert smaller_by_annealing(7, 3, 2, above=4, below=7, effort=0, seed=0) is None
