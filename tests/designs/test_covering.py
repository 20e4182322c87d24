import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.designs import covering, covering_design, schonheim_bound

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
}
AT_MOST = {(45, 8, 2): 46, (32, 8, 3): 108, (100, 8, 2): 205, (50, 8, 3): 350}


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
@pytest.mark.parametrize(("case", "size"), [((256, 8, 2), 1184), ((1000, 8, 2), 18100), ((64, 8, 3), 900)])
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
    design = covering_design(v, k, t, effort=0)
    assert (design.v, design.k, design.t) == (v, k, t)
    assert covers(design)
    assert design.size >= schonheim_bound(v, k, t)


@pytest.mark.parametrize("case", [(11, 5, 2), (13, 6, 3), (28, 8, 2), (40, 6, 2), (12, 6, 5)])
@pytest.mark.parametrize("seed", [0, 7])
def test_same_arguments_and_seed_same_design(case, seed):
    designs = []
    for _ in range(2):
        covering._covering.cache_clear()
        designs.append(covering_design(*case, seed=seed, effort=int(case == (11, 5, 2))))
    assert designs[0] == designs[1]
    assert designs[0].verify()


def test_more_effort_never_gives_more_blocks():
    assert covering_design(23, 8, 2, effort=1).size <= covering_design(23, 8, 2, effort=0).size


def test_the_provenance_says_where_a_design_is_from():
    assert "AG(2, 8)" in covering_design(64, 8, 2).provenance
    assert "cyclic group" in covering_design(24, 8, 2).provenance


@pytest.mark.parametrize(
    ("v", "k", "t", "bound"),
    [(9, 6, 2, 3), (32, 8, 2, 20), (32, 8, 3, 92), (32, 8, 4, 532), (1000, 8, 2, 17875), (7, 7, 3, 1), (9, 2, 1, 5)],
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
        ({"effort": -2}, r"effort \(-2\) must be >= 0"),
    ],
)
def test_bad_options_name_themselves(options, says):
    with pytest.raises(ValueError, match=says):
        covering_design(9, 6, 2, **options)


@pytest.mark.parametrize("case", [(1000, 8, 3), (200, 8, 4), (40, 9, 8)])
def test_designs_too_large_to_enumerate_are_refused(case):
    with pytest.raises(ValueError, match=r"too many to enumerate: lower v or t"):
        covering_design(*case)
