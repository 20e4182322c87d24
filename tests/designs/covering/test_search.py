"""The searches behind covering_design, each on its own."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.design_search.offline import kept, main
from margin.designs import affine_geometry
from margin.designs.covering.annealing import anneal
from margin.designs.covering.annealing_trials import smaller_by_annealing
from margin.designs.covering.greedy import greedy_cover, wanted_sets, wanted_subsets
from margin.designs.covering.induced_designs import induce
from margin.designs.covering.redundant_blocks import drop_redundant, fill
from margin.designs.covering.search_results import (
    InducedDesign,
    StarterDesign,
    read_induced_design,
    read_starter_design,
)
from margin.designs.geometry.nearby_designs import near_designs
from margin.designs.groups import Group, orbits
from margin.designs.subsets import coverage, ranks, subsets, unranked


def missed(blocks, v, t):
    held = {one for block in blocks for one in itertools.combinations(block, t)}
    return [one for one in itertools.combinations(range(v), t) if one not in held]


def greedy(v, k, t, *, seed=0):
    rng = np.random.default_rng(seed)
    return greedy_cover(
        wanted_subsets(v, t), lambda block: np.full(v, len(block) < k), np.ones(v), rng
    )


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


@pytest.mark.parametrize(
    ("v", "k", "t"), [(9, 3, 1), (12, 5, 2), (30, 8, 2), (12, 6, 3), (11, 6, 4), (9, 6, 5)]
)
def test_greedy_covers(v, k, t):
    blocks = greedy(v, k, t)
    assert missed(blocks, v, t) == []
    assert max(map(len, blocks)) <= k
    assert blocks == greedy(v, k, t)


def test_greedy_covers_sets_of_several_lengths():
    sets = [(0,), (1, 2), (0, 3, 5), (2, 4), (1, 2, 3, 4)]
    rng = np.random.default_rng(0)
    blocks = greedy_cover(
        wanted_sets(sets, 6), lambda block: np.full(6, len(block) < 4), np.ones(6), rng
    )
    assert all(any(set(one) <= set(block) for block in blocks) for one in sets)


def test_redundant_blocks_are_dropped():
    lines = sorted(affine_geometry(2, 3, 1).blocks)
    assert sorted(drop_redundant([(0, 1), *lines, (2, 5), (7,), ()], 9, 2)) == lines


@pytest.mark.parametrize(("v", "k", "t"), [(13, 5, 2), (10, 5, 3)])
def test_filled_blocks_still_cover(v, k, t):
    blocks = [block[: k - 1] for block in greedy(v, k, t)]
    blocks += missed(blocks, v, t)
    filled = fill(blocks, v, k, t)
    assert all(
        set(block) <= set(new) and len(new) <= k for block, new in zip(blocks, filled, strict=True)
    )
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


@pytest.mark.parametrize(
    ("v", "t", "order", "multiplier"),
    [(7, 2, 7, 1), (8, 2, 3, 1), (11, 3, 5, 4), (9, 3, 1, 1), (14, 2, 7, 2), (8, 4, 7, 2)],
)
def test_orbits_are_those_of_the_group(v, t, order, multiplier):
    group = Group(v=v, order=order, multiplier=multiplier)
    table, sizes = orbits(group, t)
    table = table.reshape((v,) * t)
    for one in itertools.combinations(range(v), t):
        orbit = group.expand([one])
        assert sizes[table[one]] == len(orbit)
        assert {
            int(table[image]) for other in orbit for image in itertools.permutations(other)
        } == {table[one]}


@pytest.mark.parametrize(
    ("v", "k", "t", "order", "widths"),
    [
        (7, 3, 2, 7, [1]),
        (13, 4, 2, 13, [1]),
        (24, 8, 2, 6, [1, 1]),
        (24, 8, 2, 12, [2, 2]),
        (10, 4, 3, 10, [1] * 3),
        (10, 5, 4, 10, [1] * 6),
    ],
)
def test_annealing_finds_known_designs(v, k, t, order, widths):
    group = Group(v=v, order=order)
    for seed in range(5):
        uncovered, starters, moves = anneal(group, k, t, widths=widths, moves=40_000, seed=seed)
        if not uncovered:
            break
    assert 0 < moves < 40_000
    blocks = group.expand(starters)
    assert len(blocks) <= sum(order // width for width in widths)
    assert missed(blocks, v, t) == []


def test_annealing_says_what_it_left_uncovered():
    uncovered, starters, moves = anneal(
        Group(v=7, order=1), 3, 2, widths=[1] * 6, moves=500, seed=0
    )
    assert moves == 500
    assert uncovered == len(missed(Group(v=7, order=1).expand(starters), 7, 2)) > 0


def test_annealing_gives_up_on_what_cannot_be():
    assert smaller_by_annealing(7, 3, 2, above=7, below=7, effort=1, seed=0) is None
    assert smaller_by_annealing(7, 3, 2, above=4, below=7, effort=0, seed=0) is None


def test_shipped_lines_are_read_as_they_were_written():
    group = Group(v=9, order=4, multiplier=3)
    design = StarterDesign(
        group=group, k=3, t=2, size=14, starters=((0, 1, 8), (2, 5, 7)), loose=((0, 8),)
    )
    assert read_starter_design(design.line()) == design
    for numbers in [(0, 1, 11, *[0] * 10), (1,) * 12 + (0,), (0,) * 12 + (35,)]:
        copies = InducedDesign(
            v=sum(numbers), k=4, t=2, size=20, base_name="P 2 3 1", copies=numbers
        )
        assert read_induced_design(copies.line()) == copies
    large = StarterDesign(
        group=Group(v=99, order=1), k=93, t=2, size=1, starters=(tuple(range(6, 99)),)
    )
    assert read_starter_design(large.line()) == large and len(large.line().split()) == 7


@pytest.mark.slow
def test_the_long_search_writes_designs_that_cover(tmp_path):
    file = tmp_path / "found.txt"
    main(
        [str(file), "--t", "3", "--k", "5", "6", "--v", "17", "22", "--moves", "3e6", "--seed", "1"]
    )
    lines = file.read_text().splitlines() if file.exists() else []
    for design in map(read_starter_design, lines):
        assert missed(design.blocks, design.group.v, 3) == []
        assert len(design.blocks) == design.size
    assert kept([*lines, *lines]) == kept(lines)
    assert len(kept(lines)) == len({tuple(line.split()[:3]) for line in lines})
