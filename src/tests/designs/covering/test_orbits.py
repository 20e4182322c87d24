"""Covers made of whole orbits of blocks, and the groups they are made with."""

import itertools
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.design_search.kramer_mesner import orbit_cover
from experiments.design_search.offline import kept, main
from experiments.design_search.offline_copies import annealed, orbits
from experiments.design_search.permutations import (
    _closure,
    affine_line,
    affine_space,
    mathieu_group,
    projective_line,
    projective_maps,
    random_subgroup,
    whole_groups,
    wreath_product,
)
from experiments.design_search.set_orbits import Cover, light_cover, set_orbits
from margin.designs import projective_geometry
from margin.designs.covering.search_results import (
    StarterDesign,
    read_induced_design,
    read_starter_design,
)
from margin.designs.covering.smallest_designs import smallest_designs
from margin.designs.groups import Permutations
from margin.designs.subsets import coverage


@pytest.mark.parametrize(
    ("generators", "maps"),
    [
        (affine_line(7, 1), 42),
        (affine_line(7, 2), 21),
        (affine_line(9, 2), 36),
        (affine_line(16, 3), 80),
        (projective_line(9, 1), 720),
        (projective_line(11, 2), 660),
        (projective_line(8, 1), 504),
        (affine_space(3, 2), 1344),
        (affine_space(2, 3), 432),
        (affine_space(1, 9), 144),
        (wreath_product(3, 3), 1296),
        (wreath_product(2, 4), 384),
    ],
)
def test_groups_have_as_many_maps_as_they_should(generators, maps):
    assert all(sorted(images) == list(range(len(images))) for images in generators)
    assert len(_closure(generators)) == maps


def test_the_mathieu_group_keeps_a_steiner_system():
    """The words of weight 8 of the code of the residues: M24 makes all 759 of one."""
    residues = {x * x % 23 for x in range(1, 23)}
    group = Permutations(generators=tuple(mathieu_group()))
    words = [{(x + shift) % 23 for x in residues | {0}} for shift in range(23)]
    octads = [
        one ^ other for one, other in itertools.combinations(words, 2) if len(one ^ other) == 8
    ]
    octads += [
        one
        for pair in itertools.combinations(words, 3)
        if len(one := pair[0] ^ pair[1] ^ pair[2]) == 8
    ]
    assert len(group.expand([tuple(sorted(octads[0]))])) == 759


@pytest.mark.parametrize(("m", "q", "s"), [(2, 4, 1), (2, 5, 1), (3, 2, 1), (3, 3, 2)])
def test_random_maps_of_a_projective_space_keep_its_flats(m, q, s):
    flats = set(projective_geometry(m, q, s).blocks)
    for images in projective_maps(m, q, Random(m * q)):
        assert {tuple(sorted(images[p] for p in flat)) for flat in flats} == flats


@pytest.mark.slow
@pytest.mark.parametrize("words", ["P 2 4 1", "P 3 2 2"])
def test_annealed_copies_cost_what_is_said(words):
    """In orbits and in single points; the cost of a block is the square of the points it comes to
    hold."""
    blocks = projective_geometry(*map(int, words.split()[1:])).blocks
    orbit = orbits(words, Random(1))
    costs = np.arange(200.0) ** 2
    points = np.array([point for block in blocks for point in block])
    owners = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    assert orbit.max() + 1 < len(orbit)
    for numbers in (orbit, np.arange(len(orbit))):
        copies = np.arange(numbers.max() + 1) % 3
        before = copies[numbers].sum()
        cost, found = annealed(points, owners, numbers, copies, costs, (50.0, 1.0), Random(0))
        assert found[numbers].sum() == before and found.min() >= 0
        assert cost == sum(found[numbers][list(block)].sum() ** 2 for block in blocks)


@pytest.mark.parametrize("v", [8, 12, 24])
def test_groups_to_try_move_all_points(v):
    random = Random(0)
    for group in [*whole_groups(v), *(random_subgroup(v, random) for _ in range(10))]:
        assert all(sorted(images) == list(range(v)) for images in group.generators)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_orbits_of_sets_are_those_of_the_group(data):
    v = data.draw(st.integers(3, 8))
    k = data.draw(st.integers(1, v))
    generators = data.draw(st.lists(st.permutations(range(v)), min_size=1, max_size=2))
    binomials = np.array(
        [
            [len(list(itertools.combinations(range(n), r))) for r in range(v + 1)]
            for n in range(v + 1)
        ]
    )
    numbers, leaders, sizes = set_orbits(np.array(generators), k, binomials, 10**6)
    group = Permutations(generators=tuple(map(tuple, generators)))
    assert numbers.min() == 0 and sizes.sum() == len(numbers) == binomials[v, k]
    for leader, size in zip(leaders.tolist(), sizes.tolist(), strict=True):
        assert len(group.expand([tuple(p for p in range(v) if leader >> p & 1)])) == size
    _, few, small = set_orbits(np.array(generators), k, binomials, 2)
    assert small.tolist() == [size for size in sizes.tolist() if size <= 2]
    assert len(few) == len(small)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000))
def test_light_covers_are_about_as_light_as_can_be(seed):
    rng = np.random.default_rng(seed)
    rows, columns = 6, 9
    sets = [{*rng.choice(rows, rng.integers(1, 4), replace=False).tolist()} for _ in range(columns)]
    costs = rng.integers(1, 6, columns)
    starts = np.cumsum([0, *map(len, sets)])
    held = np.array([row for one in sets for row in sorted(one)], np.int32)
    cost, found = light_cover(Cover(starts, held, costs), rows, 3000, seed)
    covers = [
        costs[list(chosen)].sum()
        for size in range(1, columns + 1)
        for chosen in itertools.combinations(range(columns), size)
        if len(set().union(*(sets[i] for i in chosen))) == rows
    ]
    assert min(covers) <= cost <= 1.25 * min(covers) if covers else cost == -1
    assert not covers or (
        costs[found].sum() == cost and len(set().union(*(sets[i] for i in found))) == rows
    )


@pytest.mark.parametrize(
    ("generators", "k", "t", "size"),
    [
        (projective_line(11, 2), 6, 5, 132),
        (affine_line(23, 2), 5, 4, 1771),
        (projective_line(7, 2), 4, 3, 14),
    ],
)
def test_steiner_systems_are_made_of_orbits(generators, k, t, size):
    group = Permutations(generators=tuple(generators))
    found = orbit_cover(group, k, t, below=size + 1, steps=500, seed=0)
    assert found.size == size == len(found.blocks)
    assert coverage(found.blocks, group.v, t).all()
    assert read_starter_design(found.line()) == found


def test_what_no_orbits_cover_is_not_found():
    group = Permutations(generators=tuple(projective_line(7, 1)))
    assert orbit_cover(group, 4, 3, below=14, steps=100, seed=0) is None
    assert (
        orbit_cover(
            Permutations(generators=(tuple(range(70)),)), 4, 3, below=10**6, steps=1, seed=0
        )
        is None
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["orbits", "blocks", "copies", "classes"])
def test_the_long_searches_write_what_covers(kind, tmp_path):
    file = tmp_path / "found.txt"
    numbers = ["--k", "5", "5", "--v", "13", "14", "--tries", "3", "--moves", "1e4", "--seed", "2"]
    main([str(file), "--search", kind, "--t", "3", *numbers])
    for line in file.read_text().splitlines() if file.exists() else []:
        if kind in ("orbits", "blocks"):
            assert coverage(
                read_starter_design(line).blocks, read_starter_design(line).group.v, 3
            ).all()
        elif kind == "copies":
            copies = read_induced_design(line)
            assert sum(copies.copies) == copies.v
            assert copies.size < smallest_designs().sizes[3, copies.k, copies.v]


def test_the_smallest_line_of_a_cell_is_kept_whatever_its_group():
    group = Permutations(generators=((1, 2, 3, 4, 5, 6, 0),))
    fano = StarterDesign(group=group, k=3, t=2, size=7, starters=((0, 1, 3),))
    other = StarterDesign(group=group, k=3, t=2, size=14, starters=((0, 1, 3), (0, 1, 2)))
    assert kept([other.line(), fano.line()]) == [fano.line()]
