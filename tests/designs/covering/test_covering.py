import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.designs import best_known, covering_design, de_caen_bound, schonheim_bound
from margin.designs.covering import covering_design as covering_design_module
from margin.designs.covering.best_known import published_sizes
from margin.designs.covering.classical_designs import CLASSICAL_DESIGNS
from margin.designs.covering.design_table import MOST_POINTS, STRONGEST, WIDEST
from margin.designs.covering.pair_coverings import pair_coverings
from margin.designs.covering.search_results import shipped_designs, shipped_induced_designs
from margin.designs.covering.smallest_designs import smallest_designs
from margin.designs.subsets import coverage

EXACT = {
    (1, 1, 1): 1,
    (5, 8, 2): 1,
    (10, 3, 1): 4,
    (6, 3, 3): 20,
    (9, 6, 2): 3,
    (16, 8, 2): 6,
    (20, 8, 2): 9,
    (24, 8, 2): 12,
    (32, 8, 2): 20,
    (57, 8, 2): 57,
    (64, 8, 2): 72,
    (32, 8, 4): 620,
    (120, 8, 2): 255,
    (128, 8, 2): 304,
    (256, 8, 2): 1184,
}
AT_MOST = {
    (45, 8, 2): 44,
    (32, 8, 3): 108,
    (64, 8, 3): 856,
    (45, 8, 3): 330,
    (100, 8, 2): 200,
    (50, 8, 3): 350,
    (23, 7, 4): 253,
}


def covers(design):
    held = {one for block in design.blocks for one in itertools.combinations(block, design.t)}
    return len(held) == math.comb(design.v, design.t)


@pytest.mark.parametrize("case", EXACT)
def test_known_sizes_are_reached(case):
    design = covering_design(*case)
    assert (design.v, design.k, design.t, design.size) == (*case, EXACT[case])
    assert covers(design)


@pytest.mark.parametrize("case", AT_MOST)
def test_other_sizes_are_near_the_best_known(case):
    design = covering_design(*case)
    assert schonheim_bound(*case) <= design.size <= AT_MOST[case]
    assert covers(design)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "size"), [((1000, 8, 2), 18100), ((999, 12, 2), 7900), ((99, 5, 3), 26000)]
)
def test_large_designs(case, size):
    design = covering_design(*case)
    assert design.size <= size
    assert covers(design)


@settings(max_examples=60)
@given(data=st.data())
def test_any_small_design_covers(data):
    v = data.draw(st.integers(1, 14), "v")
    t = data.draw(st.integers(1, v), "t")
    k = data.draw(st.integers(t, 16), "k")
    design = covering_design(v, k, t, effort=1)
    assert (design.v, design.k, design.t) == (v, k, t)
    assert covers(design)
    assert design.size >= schonheim_bound(v, k, t)


@pytest.mark.parametrize("case", [(11, 5, 2), (13, 6, 3), (28, 8, 2), (40, 6, 2), (12, 6, 5)])
@pytest.mark.parametrize("seed", [0, 7])
def test_same_arguments_and_seed_same_design(case, seed):
    designs = []
    for _ in range(2):
        covering_design_module._covering.cache_clear()
        designs.append(covering_design(*case, seed=seed, effort=1 + int(case == (11, 5, 2))))
    assert designs[0] == designs[1]
    assert designs[0].verify()


def test_more_effort_never_gives_more_blocks():
    assert covering_design(23, 8, 2, effort=2).size <= covering_design(23, 8, 2, effort=1).size


def test_the_provenance_says_where_a_design_is_from():
    assert covering_design(64, 8, 2).provenance == "1-flats of AG(2, 8)"
    assert "PG(2, 16)" in covering_design(119, 8, 2).provenance
    assert "search under a group" in covering_design(24, 8, 2).provenance


@pytest.mark.parametrize(
    ("v", "k", "t", "bound"),
    [
        (9, 6, 2, 3),
        (32, 8, 2, 20),
        (32, 8, 3, 92),
        (32, 8, 4, 532),
        (1000, 8, 2, 17875),
        (7, 7, 3, 1),
        (9, 2, 1, 5),
    ],
)
def test_schonheim_bound(v, k, t, bound):
    assert schonheim_bound(v, k, t) == bound


@pytest.mark.parametrize("call", [covering_design, schonheim_bound])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0, 3, 2), r"v \(0\) must be >= 1"),
        ((8.0, 3, 2), r"v \(8\.0\) must be an int"),
        ((8, "3", 2), r"k \('3'\) must be an int"),
        ((8, 3, True), r"t \(True\) must be an int"),
        ((8, 3, 0), r"t \(0\) must be >= 1"),
        ((8, 3, 4), r"t \(4\) must be <= k \(3\)"),
        ((2, 4, 3), r"t \(3\) must be <= v \(2\)"),
    ],
)
def test_bad_arguments_name_themselves(call, arguments, says):
    with pytest.raises(ValueError, match=says):
        call(*arguments)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seed": -1}, r"seed \(-1\) must be >= 0"),
        ({"seed": None}, r"seed \(None\) must be an int"),
        ({"effort": 0.5}, r"effort \(0\.5\) must be an int"),
        ({"effort": -2}, r"effort \(-2\) must be >= 1"),
        ({"effort": 0}, r"effort \(0\) must be >= 1"),
    ],
)
def test_bad_options_name_themselves(options, says):
    with pytest.raises(ValueError, match=says):
        covering_design(9, 6, 2, **options)


@pytest.mark.parametrize("case", [(10**4, 8, 2), (3000, 5, 2)])
def test_designs_of_too_many_blocks_are_refused_with_the_bound(case):
    with pytest.raises(
        ValueError, match=rf"it has {schonheim_bound(*case)} or more; lower v or t, or raise k"
    ):
        covering_design(*case)


@pytest.mark.parametrize("case", [(10**5, 8, 2), (1000, 8, 3), (200, 8, 4), (40, 9, 8)])
def test_designs_too_large_to_enumerate_are_refused(case):
    with pytest.raises(ValueError, match=r"too many to enumerate; lower v or t"):
        covering_design(*case)


def is_a_cover(blocks, v, k, t):
    return max(map(len, blocks)) <= k and bool(coverage(blocks, v, t).all())


def test_every_shipped_design_covers():
    assert len(shipped_designs()) > 100
    for (v, k, t), design in shipped_designs().items():
        assert (design.group.v, design.k, design.t) == (v, k, t)
        assert len(design.blocks) == design.size >= schonheim_bound(v, k, t)
        assert is_a_cover(design.blocks, v, k, t), (v, k, t)


def test_every_shipped_induced_design_covers():
    assert len(shipped_induced_designs()) > 100
    for (v, k, t), design in shipped_induced_designs().items():
        assert sum(design.copies) == v
        recipe = smallest_designs().recipes[v, k, t]
        if "induced" in recipe.provenance and design.size <= 3000:
            blocks = recipe.build(smallest_designs())
            assert len(blocks) <= design.size and is_a_cover(blocks, v, k, t), (v, k, t)


def test_every_named_design_of_moderate_size_is_what_it_says():
    for v, k, t, size, words, build in CLASSICAL_DESIGNS:
        if size <= 1000 and math.comb(v, t) <= 10**5:
            blocks = build().blocks
            assert len(blocks) == size and is_a_cover(blocks, v, k, t), words


def test_no_size_of_the_table_is_below_a_bound():
    for t in range(2, STRONGEST + 1):
        for k in range(t, WIDEST + 1):
            for v in range(k, MOST_POINTS + 1):
                assert smallest_designs().sizes[t, k, v] >= max(
                    schonheim_bound(v, k, t), de_caen_bound(v, k, t)
                ), (v, k, t)


@pytest.mark.parametrize("t", [2, 3, 4])
def test_the_table_keeps_its_word(t):
    """Every fifth cell or so of moderate size is built and checked."""
    for k in range(5, WIDEST + 1):
        for v in range(k + 1, MOST_POINTS + 1, 5 + k % 3):
            size = smallest_designs().sizes[t, k, v]
            if size <= 400:
                blocks = smallest_designs().build(v, k, t)
                assert len(blocks) <= size and is_a_cover(blocks, v, k, t), (v, k, t)


@pytest.mark.parametrize("k", [5, 8])
@pytest.mark.parametrize("v", [100, 113, 160, 173, 231, 281, 457])
def test_large_coverings_of_pairs_keep_their_word(v, k):
    found = pair_coverings(v, k)
    blocks = found.build(v)
    assert (
        schonheim_bound(v, k, 2) <= len(blocks) <= found.sizes[v] <= 1.15 * schonheim_bound(v, k, 2)
    )
    assert is_a_cover(blocks, v, k, 2)


@pytest.mark.parametrize(
    ("t", "cells", "equal", "near", "median", "worst"),
    [
        (2, 724, 0.58, (1.05, 0.86), 1.0, 1.13),
        (3, 724, 0.21, (1.1, 0.77), 1.05, 1.26),
        (4, 626, 0.07, (1.3, 0.93), 1.15, 1.43),
    ],
)
def test_sizes_against_the_best_known(t, cells, equal, near, median, worst):
    known = {
        cell: entry.size
        for cell, entry in published_sizes().items()
        if cell[2] == t and 5 <= cell[1] <= 12
    }
    ratios = np.array(
        [smallest_designs().sizes[t, k, v] / size for (v, k, _), size in known.items()]
    )
    assert len(ratios) == cells
    assert (ratios <= 1).mean() >= equal
    assert (ratios <= near[0]).mean() >= near[1]
    assert np.median(ratios) <= median
    assert ratios.max() <= worst


def test_some_sizes_are_below_the_best_known():
    for cell, size in {
        (92, 12, 2): 72,
        (89, 11, 3): 788,
        (95, 12, 3): 812,
        (64, 8, 3): 856,
    }.items():
        design = covering_design(*cell)
        assert design.size <= size < best_known(*cell).size
        assert design.verify()


@pytest.mark.parametrize("k", [8])
def test_large_coverings_of_pairs_against_the_bound(k):
    sizes = pair_coverings(1000, k).sizes
    ratios = [sizes[v] / schonheim_bound(v, k, 2) for v in range(100, 1001)]
    assert sum(ratio <= 1.1 for ratio in ratios) >= 0.97 * len(ratios)
    assert max(ratios) <= 1.15


def test_best_known_sizes_say_where_they_are_from():
    assert (best_known(32, 8, 3).size, best_known(32, 8, 3).optimal) == (106, False)
    assert "La Jolla" in best_known(32, 8, 3).source and "2017" in best_known(32, 8, 3).source
    assert "2026" in best_known(15, 5, 4).source
    assert best_known(5, 8, 2).size == 1
    assert best_known(100, 8, 2) is None
    assert all(
        known.size >= max(schonheim_bound(*cell), de_caen_bound(*cell))
        for cell, known in published_sizes().items()
    )


def test_de_caens_bound_is_sometimes_better():
    better = [cell for cell in published_sizes() if de_caen_bound(*cell) > schonheim_bound(*cell)]
    assert better


@pytest.mark.parametrize(
    ("parameters", "size"),
    [((6, 3, 2), 6), ((9, 4, 2), 8), ((11, 4, 2), 12), ((13, 3, 2), 26), ((11, 6, 4), 36)],
)
def test_greedy_covers_compete_with_the_table(parameters, size):
    """The table has larger designs for these."""
    assert covering_design(*parameters).size <= size
